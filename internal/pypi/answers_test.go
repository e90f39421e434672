package pypi_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"runpython/internal/extent"
	"runpython/internal/pypi"
)

// The answers that were not used longest go; files to lock stay.
func TestAnswersAreBounded(t *testing.T) {
	dir := t.TempDir()
	for i := range 1005 {
		name := filepath.Join(dir, fmt.Sprintf("%04d", i))
		used := time.Unix(int64(1_000_000+i), 0)
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(name, used, used); err != nil {
			t.Fatal(err)
		}
	}
	lock := filepath.Join(dir, ".lock-00")
	if err := os.WriteFile(lock, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := pypi.PruneAnswers(dir); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1001 || entries[0].Name() != ".lock-00" || entries[1].Name() != "0005" {
		t.Errorf("left %d, %v", len(entries), err)
	}
}

// An answer that is damaged is asked for anew.
func TestDamagedAnswer(t *testing.T) {
	extent.Slow(t)
	b := open(t, from(shop(t)))
	b.install(t, "a", pypi.Lock{}, "top")
	kept, err := filepath.Glob(filepath.Join(b.dir, "packages", "answers", "[0-9a-f]*"))
	if err != nil || len(kept) != 1 {
		t.Fatalf("answers %v, %v", kept, err)
	}
	for _, text := range []string{"", "{", `{"Pins":[{"name":"../x"}]}`} {
		if err := os.WriteFile(kept[0], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if r := b.install(t, "b", pypi.Lock{}, "top"); !r.Resolved || r.Lock.String() != "leaf 2.0, top 1.0" {
			t.Errorf("with %q: %s, resolved %v", text, r.Lock, r.Resolved)
		}
	}
}
