package pypi_test

import (
	"fmt"
	"os"
	"testing"

	"runpython/internal/pypi"
)

// BenchmarkKnownSet is a new chat that imports pandas, whose packages are known.
func BenchmarkKnownSet(b *testing.B) { benchmarkInstall(b, false) }

// BenchmarkKnownWheels is one whose wheels are known, but not which belong together.
func BenchmarkKnownWheels(b *testing.B) { benchmarkInstall(b, true) }

func benchmarkInstall(b *testing.B, resolve bool) {
	dir := b.TempDir()
	c := config(b, dir, nil)
	c.Environ = os.Environ()
	in, err := pypi.Open(b.Context(), c)
	if err != nil {
		b.Fatal(err)
	}
	defer in.Close()
	install := func(n int, lock pypi.Lock) pypi.Report {
		r, err := in.Install(b.Context(), pypi.Request{Folder: fmt.Sprintf("%s/env%d", dir, n), Requirements: []string{"pandas"}, Installed: lock})
		if err != nil {
			b.Skipf("pandas cannot be installed here: %v", err)
		}
		return r
	}
	if err := in.Compile(b.Context(), install(-1, pypi.Lock{}).Lock); err != nil {
		b.Fatal(err)
	}
	for n := 0; b.Loop(); n++ {
		if resolve {
			if err := os.RemoveAll(c.Dir + "/answers"); err != nil {
				b.Fatal(err)
			}
			if err := os.Mkdir(c.Dir+"/answers", 0o700); err != nil {
				b.Fatal(err)
			}
		}
		if r := install(n, pypi.Lock{}); r.Resolved != resolve {
			b.Fatalf("resolved: %v", r.Resolved)
		}
	}
}
