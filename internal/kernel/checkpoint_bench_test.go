package kernel_test

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"runpython/internal/guesttest"
	"runpython/internal/kernel"
	"runpython/internal/sandbox"
)

const (
	// smallFrame is what most chats with pandas hold, largeFrame 200 MB that nothing makes shorter.
	smallFrame = "import numpy as np, pandas as pd\ndf = pd.DataFrame({'a': range(1000), 'b': np.random.random(1000)})"
	largeFrame = smallFrame + "\nbig = pd.DataFrame(np.random.random((250_000, 100)))"
)

// The moments after the begin of a checkpoint at which a run comes: one is the worst.
const (
	disturbEvery = 4 * time.Millisecond
	disturbances = 20
)

// BenchmarkCheckpoint tells, beside the time of a checkpoint in all, for how long a run that comes in the middle of
// it has to wait, how long a restore takes until the first value, and what is on the disk. Use -benchtime 20x.
func BenchmarkCheckpoint(b *testing.B) {
	for _, of := range []struct {
		name, code string
		preload    bool
	}{
		{"bare", "x = 1", false},
		{"pandas", smallFrame, false},
		{"pandas preloaded", smallFrame, true},
		{"200 MB preloaded", largeFrame, true},
	} {
		b.Run(of.name, func(b *testing.B) {
			s := guesttest.NewSetup(b)
			s.Config.Pool, s.Config.AwaitPreload, s.Config.Limits.MemoryBytes = 1, of.preload, 1<<30
			if of.code != "x = 1" && !of.preload {
				s.Config.Environment = guesttest.Wheels(b)
			}
			h := s.Open(b)
			if of.preload {
				h.Preload(sandbox.Preload{Dir: guesttest.Wheels(b), Modules: []string{"numpy", "pandas"}})
			}
			awaitPool(b, h)
			k := s.Kernel(b, h, 0)
			dir := filepath.Join(s.Config.Data, "stored")
			answer(b, k, of.code)
			var checkpoints, pauses, restores []time.Duration
			for i := range b.N {
				pauses = append(pauses, disturbOnce(b, k, dir, time.Duration(i%disturbances)*disturbEvery))
				begun := time.Now()
				if err := k.CheckpointBeside(b.Context(), dir); err != nil {
					b.Fatal(err)
				}
				checkpoints = append(checkpoints, time.Since(begun))
				restores = append(restores, restoreOnce(b, s, h, dir))
			}
			b.ReportMetric(0, "ns/op")
			report(b, "checkpoint", checkpoints)
			report(b, "pause", pauses)
			report(b, "restore", restores)
			b.ReportMetric(float64(diskBytes(b, dir))/1e6, "MB")
		})
	}
}

func awaitPool(b *testing.B, h *sandbox.Host) {
	b.Helper()
	for look := time.Tick(5 * time.Millisecond); h.Stats().Pooled < 1; {
		<-look
	}
}

// answer runs code that is known to work.
func answer(b *testing.B, k *kernel.Kernel, code string) {
	b.Helper()
	r, err := k.Run(b.Context(), kernel.Request{Candidates: []kernel.Candidate{{Code: code}}})
	if err != nil || r.Status != kernel.OK {
		b.Fatalf("%s: %+v, %v", code, r, err)
	}
}

// disturbOnce returns how long a run takes that comes so long after the begin of a checkpoint.
func disturbOnce(b *testing.B, k *kernel.Kernel, dir string, after time.Duration) time.Duration {
	b.Helper()
	done := make(chan error, 1)
	go func() { done <- k.CheckpointBeside(b.Context(), dir) }()
	if after > 0 {
		<-time.After(after)
	}
	asked := time.Now()
	answer(b, k, "1+1")
	spent := time.Since(asked)
	if err := <-done; err != nil && !errors.Is(err, kernel.ErrDisturbed) {
		b.Fatal(err)
	}
	return spent
}

func restoreOnce(b *testing.B, s *guesttest.Setup, h *sandbox.Host, dir string) time.Duration {
	b.Helper()
	begun := time.Now()
	guest, note, err := h.Restore(b.Context(), dir, nil)
	if err != nil {
		b.Fatal(err)
	}
	k, err := kernel.Resume(guest, note, kernel.Config{RunTimeout: time.Minute, Limits: s.Config.Limits, Log: s.Config.Log}, s.Key)
	if err != nil {
		b.Fatal(err)
	}
	answer(b, k, "1+1")
	spent := time.Since(begun)
	if err := k.Close(); err != nil {
		b.Fatal(err)
	}
	return spent
}

// report tells the median and the 99th percentile, which is the longest of fewer than 100.
func report(b *testing.B, what string, of []time.Duration) {
	b.Helper()
	slices.Sort(of)
	for name, q := range map[string]float64{"p50": 0.5, "p99": 0.99} {
		at := of[max(1, int(math.Ceil(q*float64(len(of)))))-1]
		b.ReportMetric(float64(at.Microseconds())/1000, what+"-"+name+"-ms")
	}
}

// diskBytes is what the folder takes on the disk, without what has other links.
func diskBytes(b *testing.B, dir string) (sum int64) {
	b.Helper()
	err := filepath.WalkDir(dir, func(name string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := os.Lstat(name)
		if err != nil {
			return err
		}
		if stat, ok := info.Sys().(*syscall.Stat_t); ok && (info.IsDir() || stat.Nlink == 1) {
			sum += stat.Blocks * 512
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	return sum
}
