package console

import (
	"bytes"
	"io"
	"unicode/utf8"
)

// An ending is how the newest line came to its end.
type ending int

const (
	typed       ending = iota // the person pressed Enter
	pasted                    // the newline is inside a paste
	interrupted               // the person pressed Ctrl-C; the line is empty
	declined                  // the person pressed Ctrl-D instead of answering; the line is empty
)

// keys stands between a terminal in raw mode and the line editor. It hands on the
// keys that the editor knows, in the form that it knows, and remembers what the
// editor does not tell: how a line ended. Everything else is dropped: other
// sequences, controls, and in a paste all controls but newline and tab.
//
// A Read returns no byte beyond the end of a line, so ended belongs to the line
// that the editor returns next.
type keys struct {
	tty   io.Reader
	raw   []byte // read but not understood yet
	ready []byte // understood but not handed on yet
	ended ending

	answer bool // the line is an answer, for which Ctrl-D is an ending: after its own the editor reads nothing more
	paste  bool // between the markers of a paste
	cr     bool // the newest key was a carriage return

	limit int // bytes of a line after which no more are handed on
	line  int // bytes of the line under way
}

const (
	keyCtrlA  = 0x01
	keyCtrlC  = 0x03
	keyCtrlD  = 0x04
	keyCtrlE  = 0x05
	keyCtrlW  = 0x17
	keyEscape = 0x1b
	keyDelete = 0x7f

	// editing are the control keys that the editor knows: ^A ^B ^D ^E ^F ^H ^K ^L ^N ^P ^T ^U ^W.
	editing = "\x01\x02\x04\x05\x06\x08\x0b\x0c\x0e\x10\x14\x15\x17"

	empty = "\x05\x15\r" // to the end, delete to the beginning, Enter

	pasteStart = "200~"
	pasteEnd   = "\x1b[201~"

	maxSequence = 32 // bytes of an escape sequence; a longer one is none
)

// Read gives the editor its next keys.
func (k *keys) Read(p []byte) (int, error) {
	for len(k.ready) == 0 {
		if k.next() {
			continue
		}
		var chunk [1024]byte
		n, err := k.tty.Read(chunk[:])
		k.raw = append(k.raw, chunk[:n]...)
		if n == 0 && err != nil {
			return 0, err
		}
	}
	// More keys of the same line, if they are there.
	for !bytes.HasSuffix(k.ready, []byte{'\r'}) && len(k.ready) < len(p) && k.next() {
	}
	n := copy(p, k.ready)
	k.ready = k.ready[n:]
	return n, nil
}

// next understands one key of raw; false means that it is not complete.
func (k *keys) next() bool {
	if len(k.raw) == 0 {
		return false
	}
	c := k.raw[0]
	wasCR := k.cr
	k.cr = c == '\r'
	switch {
	case c == '\n' && wasCR: // the second half of a line end
		k.take(1, "")
	case c == '\r' || c == '\n':
		how := typed
		if k.paste {
			how = pasted
		}
		k.end(how, "\r")
	case c == keyEscape:
		return k.escape()
	case c >= utf8.RuneSelf:
		return k.character()
	case c >= ' ' && c != keyDelete || c == '\t' && k.paste:
		k.add(string(c))
	case k.paste:
		k.take(1, "")
	default:
		k.control(c)
	}
	return true
}

// control understands a control key.
func (k *keys) control(c byte) {
	switch {
	case c == keyCtrlC:
		k.end(interrupted, empty)
	case c == keyCtrlD && k.answer:
		k.end(declined, empty)
	case c == '\t':
		k.take(1, "    ")
	case c == keyDelete || bytes.IndexByte([]byte(editing), c) >= 0:
		k.take(1, string(c))
	default:
		k.take(1, "")
	}
}

// end ends the line.
func (k *keys) end(how ending, keys string) {
	k.ended, k.line = how, 0
	k.take(1, keys)
}

// add hands on a character of raw. Beyond the limit of a line it does not, so that
// a paste without end costs no memory; the line is then too long for a message.
func (k *keys) add(character string) {
	if k.line > k.limit {
		k.take(len(character), "")
		return
	}
	k.line += len(character)
	k.take(len(character), character)
}

// take moves on by n bytes of raw, for which the editor gets key.
func (k *keys) take(n int, key string) {
	k.raw = k.raw[n:]
	k.ready = append(k.ready, key...)
}

// character understands one character beyond ASCII.
func (k *keys) character() bool {
	if !utf8.FullRune(k.raw) {
		return false
	}
	r, n := utf8.DecodeRune(k.raw)
	switch {
	case r == utf8.RuneError: // the editor would wait for the rest of it
		k.take(n, "?")
	case obeyed(r):
		k.take(n, "")
	default:
		k.add(string(k.raw[:n]))
	}
	return true
}

// escape understands a sequence that begins with the escape key.
func (k *keys) escape() bool {
	if k.paste {
		n := min(len(k.raw), len(pasteEnd))
		switch {
		case string(k.raw[:n]) != pasteEnd[:n]:
			k.take(1, "")
		case n < len(pasteEnd):
			return false
		default:
			k.paste = false
			k.take(n, pasteEnd)
		}
		return true
	}
	if len(k.raw) < 2 {
		return false
	}
	switch k.raw[1] {
	case '[':
		return k.sequence()
	case 'O': // the keypad's form of the arrows
		if len(k.raw) < 3 {
			return false
		}
		k.take(3, cursorKey(string(k.raw[2])))
	case 'b':
		k.take(2, cursorKey("1;3D"))
	case 'f':
		k.take(2, cursorKey("1;3C"))
	case keyDelete:
		k.take(2, string(rune(keyCtrlW)))
	default:
		k.take(1, "")
	}
	return true
}

// sequence understands escape, bracket, parameters and a final letter.
func (k *keys) sequence() bool {
	for i := 2; i < len(k.raw) && i < maxSequence; i++ {
		switch c := k.raw[i]; {
		case c >= 0x40 && c <= 0x7e:
			name := string(k.raw[2 : i+1])
			k.paste = name == pasteStart
			k.take(i+1, cursorKey(name))
			return true
		case c < 0x20 || c > 0x3f: // no sequence after all
			k.take(2, "")
			return true
		}
	}
	if len(k.raw) < maxSequence {
		return false
	}
	k.take(2, "")
	return true
}

// cursorKey returns the editor's form of a sequence, "" when it has none.
func cursorKey(name string) string {
	switch name {
	case "A", "B", "C", "D", "H", "F", "3~", pasteStart:
		return "\x1b[" + name
	case "1;3C", "1;5C": // a word to the right with Alt or Ctrl
		return "\x1b[1;3C"
	case "1;3D", "1;5D":
		return "\x1b[1;3D"
	case "1~", "7~": // Home
		return string(rune(keyCtrlA))
	case "4~", "8~": // End
		return string(rune(keyCtrlE))
	}
	return ""
}
