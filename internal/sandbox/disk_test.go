package sandbox_test

import (
	"os"
	"path/filepath"
	"testing"

	"runpython/internal/extent"
	"runpython/internal/guesttest"
	"runpython/internal/store/storetest"
)

// CHT-13: a disk that was too full for the image of the pool is no reason to do without one when there is room.
func TestRoomForTheImageComesBack(t *testing.T) {
	extent.Slow(t)
	s := guesttest.NewSetup(t)
	s.Config.Data, s.Config.Pool = storetest.SmallDisk(t, 48<<20), 1
	ballast := filepath.Join(s.Config.Data, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 42<<20), 0o600); err != nil { // a guest has room, an image of 10 MB has not
		t.Fatal(err)
	}
	h := s.Open(t)
	takeOne := func() {
		t.Helper()
		await(t, "the pool", func() bool { return h.Stats().Pooled == 1 })
		guest, err := h.Take(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := guest.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		takeOne()
	}
	if stats := h.Stats(); stats.Restored != 0 {
		t.Fatalf("%+v: there was room for an image", stats)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		takeOne()
	}
	await(t, "a guest of an image", func() bool { return h.Stats().Restored > 0 })
}
