// Package extent says how much of the tests is played.
//
// "go test ./..." is for those who have just changed something: it takes about a minute, and plays what tells most. The gate plays
// everything, and where tests are ten times slower, all but the longest.
//
// # Trust
//
// It is part of tests only.
//
// # Failure
//
// It skips tests, with a message that says how they are played.
package extent

import (
	"os"
	"testing"
)

// Variable says what is played: tests of a blink and samples of the collections when it is not set; with "sample" the slow ones as
// well; with anything else every test, and the whole of each collection.
const Variable = "RUNPYTHON_TEST_EVERY"

const sample = "sample"

// PlaysAll reports whether every test is played.
func PlaysAll() bool {
	extent := os.Getenv(Variable)
	return extent != "" && extent != sample
}

// PlaysSlow reports whether tests are played that take a second.
func PlaysSlow() bool { return os.Getenv(Variable) != "" }

// Slow skips a test that takes a second, unless those are played.
func Slow(t testing.TB) {
	t.Helper()
	if !PlaysSlow() {
		t.Skipf("takes a second or more; %s=%s plays it", Variable, sample)
	}
}

// Long skips a test that takes many seconds, unless every test is played.
func Long(t testing.TB) {
	t.Helper()
	if !PlaysAll() {
		t.Skipf("takes many seconds; %s=1 plays it", Variable)
	}
}
