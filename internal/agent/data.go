package agent

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// keyBytes is the length of the key of a mark, which is written with twice as many characters.
const keyBytes = 6

// A marker puts what code has printed between marks, so that a model can tell it from what it was told.
//
// A mark has a key that is made of the text between the marks and a secret of this process. Whoever writes
// the text, in a file, on a page or in code, can neither know the key nor put the mark of the end into the
// text, which would change the key. The same text always has the same marks, so that the conversation
// that a vendor has in its cache begins alike in each request.
type marker struct{ secret []byte }

// mark returns text between marks.
func (m marker) mark(text string) string {
	key := m.key(text)
	for strings.Contains(text, key) { // once in many lives of the universe, unless somebody knows the secret
		key = m.key(key + text)
	}
	return "--- output " + key + " ---\n" + strings.TrimRight(text, "\n") + "\n--- end of output " + key + " ---"
}

func (m marker) key(text string) string {
	mac := hmac.New(sha256.New, m.secret)
	mac.Write([]byte(text))
	return hex.EncodeToString(mac.Sum(nil)[:keyBytes])
}
