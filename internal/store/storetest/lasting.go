package storetest

import (
	"io"
	"testing"
)

// Lasting takes what opening something gives, and closes it at the end of the test.
func Lasting[T io.Closer](t testing.TB) func(opened T, err error) T {
	return func(opened T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := opened.Close(); err != nil {
				t.Errorf("close %T: %v", opened, err)
			}
		})
		return opened
	}
}
