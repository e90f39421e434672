package console

import "io"

// NewKeys returns the filter of keys alone, for the fuzzer.
func NewKeys(tty io.Reader, limit int) io.Reader { return &keys{tty: tty, limit: limit} }

// Unfinished is what decides whether Enter sends.
func Unfinished(text string, whole bool) bool { return unfinished(text, whole) }

// Cut is what keeps a line of the status on one row.
func Cut(line string, width int) string { return cut(line, width) }
