package lint

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"runpython/internal/pattern"
)

// folded returns what a decomposed letter looks like; marks above and below letters are left out.
func folded(r rune) (rune, bool) {
	if unicode.Is(unicode.Mn, r) {
		return 0, false
	}
	if latin, ok := lookalikes[r]; ok {
		return latin, true
	}
	return r, true
}

// A normalized text has in place of every character what it looks like.
type normalized struct {
	text   string
	source []int // of each byte of text, the byte of the source
	end    int   // of the source
	hidden int   // the byte of the source with a character that nobody sees, or -1
	far    int   // the byte of the source at which text begins that stands far from the rest, or -1
}

func (n *normalized) at(i int) int {
	if i >= len(n.source) {
		return n.end
	}
	return n.source[i]
}

// leastScattered is how many single characters that nobody sees may stand between the letters of words. A few come with
// text that was copied.
const leastScattered = 3

// normalize decomposes characters (NFKD), folds look-alikes, reads tags as what they spell, leaves out what is not shown, makes small
// letters of capitals and one space of many. A line that goes on in small letters goes on in its sentence; "_" and a capital within a word begin a word.
func normalize(text string) *normalized {
	n := &normalized{end: len(text), hidden: -1, far: -1}
	w := writer{n: n, rtl: strings.ContainsFunc(text, rightToLeft)}
	var it norm.Iter
	it.InitString(norm.NFKD, text)
	for !it.Done() {
		at := it.Pos()
		for _, r := range string(it.Next()) {
			w.add(r, at, text)
		}
	}
	n.text = w.b.String()
	return n
}

// farSpaces is how many spaces and ends of lines in a row push what follows out of sight.
const farSpaces = 80

// A writer builds a normalized text.
type writer struct {
	n         *normalized
	b         strings.Builder
	rtl       bool // the text has letters that are written from right to left
	last      rune // that was shown
	unseen    rune // the character before, if it was not shown
	run       int  // characters in a row that were not
	scattered int  // between letters
	flag      int  // tags that may follow a flag
	spaces    int  // in a row
}

func (w *writer) add(r rune, at int, text string) {
	switch {
	case r >= 0xE0020 && r <= 0xE007F:
		w.tag(at)
		if r == 0xE007F {
			return
		}
		r -= 0xE0000
	case unseen(r):
		w.hidden(r, at)
		return
	}
	if r == 0x1F3F4 {
		w.flag = 6
	}
	w.run, w.unseen = 0, 0
	if letter, shown := folded(r); shown {
		w.shown(r, letter, at, text)
	}
}

// tag notes a character that spells a flag, as those of England, Scotland and Wales are, or else a text that nobody sees.
func (w *writer) tag(at int) {
	if w.flag--; w.flag < 0 {
		w.n.hide(at)
	}
}

// shown writes the letter that a character looks like.
func (w *writer) shown(r, letter rune, at int, text string) {
	before := w.last
	w.last = r
	switch {
	case unicode.IsSpace(letter):
		w.spaces++
	default:
		if w.spaces >= farSpaces && w.n.far < 0 {
			w.n.far = at
		}
		w.spaces = 0
	}
	switch {
	case letter == '\n' && goesOn(text[min(len(text), at+1):]), letter == '_', letter == '\t', letter == '\r', unicode.Is(unicode.Zs, letter):
		w.last = ' '
		if before != ' ' {
			w.write(' ', at)
		}
	case unicode.IsUpper(letter) && unicode.IsLower(before):
		w.write(' ', at)
		w.write(unicode.ToLower(letter), at)
	default:
		w.write(unicode.ToLower(letter), at)
	}
}

func (w *writer) write(r rune, at int) {
	size := w.b.Len()
	w.b.WriteRune(r)
	for range w.b.Len() - size {
		w.n.source = append(w.n.source, at)
	}
}

// hidden notes a character that is not shown. One alone may be a joiner within an emoji, the mark before a text, or
// where a long word may break.
func (w *writer) hidden(r rune, at int) {
	if w.unseen != 0xFE0F || r != '\u200d' { // an emoji's form, and what joins it to the next
		w.run++
	}
	w.unseen = r
	if w.last < utf8.RuneSelf && unicode.IsLetter(w.last) && r != '\u00ad' {
		w.scattered++
	}
	if w.run > 1 || w.scattered >= leastScattered || r == 0x1b || overrides(r) || !w.rtl && turns(r) {
		w.n.hide(at)
	}
}

func (n *normalized) hide(at int) {
	if n.hidden < 0 {
		n.hidden = at
	}
}

// goesOn reports whether what follows the end of a line goes on with its sentence, and is not the name before a colon.
func goesOn(rest string) bool {
	rest = strings.TrimLeft(rest, " \t\r")
	end := strings.IndexFunc(rest, func(r rune) bool { return !unicode.IsLetter(r) })
	r, _ := utf8.DecodeRuneInString(rest)
	return end > 0 && unicode.IsLower(r) && rest[end] != ':'
}

// unseen reports whether r is not shown: controls but those of lines, joiners, directions, fillers, and selectors of forms.
func unseen(r rune) bool {
	switch {
	case r == '\n' || r == '\t' || r == '\r':
		return false
	case r >= 0xFE00 && r <= 0xFE0F, r >= 0xE0100 && r <= 0xE01EF:
		return true
	case r == 0x115F || r == 0x1160 || r == 0x3164 || r == 0x2800 || r == 0x034F || r == 0x17B4 || r == 0x17B5:
		return true
	}
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r)
}

// overrides reports whether r makes text be shown in another order than it is read.
func overrides(r rune) bool { return r >= 0x202a && r <= 0x202e }

// turns reports whether r is of use only in text that is written from right to left.
func turns(r rune) bool {
	return r >= 0x2066 && r <= 0x2069 || r == 0x200e || r == 0x200f || r == 0x061c
}

func rightToLeft(r rune) bool {
	return unicode.In(r, unicode.Hebrew, unicode.Arabic, unicode.Syriac, unicode.Thaana, unicode.Nko)
}

// lookalikes are letters of other scripts, and signs, that look like Latin ones.
var lookalikes = map[rune]rune{
	'а': 'a', 'в': 'b', 'с': 'c', 'ԁ': 'd', 'е': 'e', 'һ': 'h', 'і': 'i', 'ј': 'j', 'к': 'k', 'м': 'm', 'н': 'h', 'о': 'o', 'р': 'p', 'ԛ': 'q', 'ѕ': 's', 'т': 't', 'ѵ': 'v', 'ԝ': 'w', 'у': 'y', 'х': 'x',
	'А': 'A', 'В': 'B', 'С': 'C', 'Е': 'E', 'Н': 'H', 'І': 'I', 'Ј': 'J', 'К': 'K', 'М': 'M', 'О': 'O', 'Р': 'P', 'Ѕ': 'S', 'Т': 'T', 'У': 'Y', 'Х': 'X',
	'α': 'a', 'ε': 'e', 'ι': 'i', 'κ': 'k', 'ν': 'v', 'ο': 'o', 'ρ': 'p', 'τ': 't', 'υ': 'u', 'χ': 'x', 'ϲ': 'c',
	'Α': 'A', 'Β': 'B', 'Ε': 'E', 'Ζ': 'Z', 'Η': 'H', 'Ι': 'I', 'Κ': 'K', 'Μ': 'M', 'Ν': 'N', 'Ο': 'O', 'Ρ': 'P', 'Τ': 'T', 'Υ': 'Y', 'Χ': 'X',
	'ı': 'i', 'ɑ': 'a', 'ɡ': 'g', 'ɩ': 'i', 'ʏ': 'y', 'օ': 'o', 'ս': 'u', 'հ': 'h', 'ց': 'g', 'ո': 'n', 'ᴀ': 'a', 'ᴄ': 'c', 'ᴅ': 'd', 'ᴇ': 'e', 'ᴏ': 'o', 'ᴛ': 't', 'ɪ': 'i', 'ɴ': 'n', 'ʀ': 'r', 'ꜱ': 's',
}

// mixed finds words of Latin letters in which some are of another alphabet. Greek ones alone, as in μs, are usual.
var mixed = pattern.New(`[A-Za-z]\p{Cyrillic}[A-Za-z\p{Cyrillic}]{2}|\p{Cyrillic}[A-Za-z][A-Za-z\p{Cyrillic}]{2}|[A-Za-z]{2,}\p{Greek}[A-Za-z]{2}`)

// leastCoded is how many characters of encoded text are decoded.
const leastCoded = 40

// encoded returns where text in base64 or in hexadecimal digits stands, or 0, 0.
func encoded(text string) (start, end int) {
	for start < len(text) {
		end = start
		for end < len(text) && strings.IndexByte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_", text[end]) >= 0 {
			end++
		}
		if end-start >= leastCoded && isEncoded(text[start:end]) {
			return start, end
		}
		start = end + 1
	}
	return 0, 0
}

func isEncoded(word string) bool {
	plain, err := base64.RawStdEncoding.DecodeString(strings.NewReplacer("-", "+", "_", "/").Replace(word))
	if err == nil && prose(plain) {
		return true
	}
	plain, err = hex.DecodeString(word)
	return err == nil && prose(plain)
}

// prose reports whether decoded bytes are words.
func prose(b []byte) bool {
	spaces := 0
	for _, c := range b {
		switch {
		case c == ' ':
			spaces++
		case c < ' ' && c != '\n' || c > '~':
			return false
		}
	}
	return spaces >= 2
}
