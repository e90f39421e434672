// Package pattern compiles regular expressions when they are first used.
//
// The program is also the gVisor of its guests: each chat has two processes of it, which would compile, and keep
// in memory, all expressions that stand in package variables. Together they took 4 MB of each process.
//
// # Trust
//
// Expressions are written in the source.
//
// # Failure
//
// The first use of a wrong expression panics.
package pattern

import (
	"regexp"
	"sync"
)

// New returns a function that returns the compiled expression. It is safe for concurrent use.
func New(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
