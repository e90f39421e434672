// Package console is the terminal of a person: it reads messages with a line
// editor, shows what a run is doing, and writes Markdown for the eye.
//
// # Trust
//
// The person is trusted. Text that comes from a run is not: [Clean] and
// [Markdown] leave nothing in it that a terminal would obey, so a program cannot
// move the cursor, set the title or hide what it printed. The keys that arrive are
// taken apart strictly, since a paste may carry anything.
//
// # Failure
//
// A terminal that goes away ends reading with an error. Drawing never fails: what
// cannot be drawn is left out.
package console

import (
	"os"

	"golang.org/x/term"
)

// The size of a terminal that does not tell.
const (
	defaultWidth  = 80
	defaultHeight = 24
)

// Terminal returns v as a file if it is one that is a terminal.
func Terminal(v any) (f *os.File, ok bool) {
	f, ok = v.(*os.File)
	return f, ok && f != nil && term.IsTerminal(int(f.Fd()))
}

// Size returns columns and rows of the terminal f, 80 and 24 if it does not tell.
func Size(f *os.File) (width, height int) {
	width, height, err := term.GetSize(int(f.Fd()))
	if err != nil || width <= 0 || height <= 0 {
		return defaultWidth, defaultHeight
	}
	return width, height
}
