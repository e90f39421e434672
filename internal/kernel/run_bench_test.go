package kernel_test

import (
	"testing"

	"runpython/internal/guesttest"
)

// BenchmarkRun is one run after the other in a living interpreter.
func BenchmarkRun(b *testing.B) {
	s := guesttest.NewSetup(b)
	k := s.Kernel(b, s.Open(b), 0)
	answer(b, k, "1 + 1")
	for b.Loop() {
		answer(b, k, "1 + 1")
	}
}
