// Package triage decides which findings of a scan matter to whoever asked for it: which are accepted for some time
// and why, which were there before, and whether what is left closes a gate.
//
// A score is never changed by it. What is accepted still costs what it costs, and every report shows it with
// its reason.
//
// # Trust
//
// Files of suppressions and baselines are written by the operator, but whoever sends a change of a repository can edit them:
// they are bounded, and texts of them are made harmless before they are shown.
//
// # Failure
//
// A file that has not its form is an error that names the file and the entry, and nothing of it is used.
package triage

import (
	"errors"
	"fmt"
	"strings"

	"runpython/internal/check/lint"
)

// maxFileBytes is how long a file of suppressions or a baseline may be.
const maxFileBytes = 16 << 20

// wrong returns an error about an entry of a file, in which no text of the file can disturb.
func wrong(name, format string, args ...any) error {
	return errors.New(lint.Plain(name + ": " + fmt.Sprintf(format, args...)))
}

// Matches reports whether a text is what a pattern says, in which * stands for any characters, slashes too.
func Matches(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	last := len(parts) - 1
	if last == 0 {
		return pattern == text
	}
	if !strings.HasPrefix(text, parts[0]) {
		return false
	}
	text = text[len(parts[0]):]
	for _, part := range parts[1:last] {
		i := strings.Index(text, part)
		if i < 0 {
			return false
		}
		text = text[i+len(part):]
	}
	return strings.HasSuffix(text, parts[last])
}
