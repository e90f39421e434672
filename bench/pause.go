package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"runpython/internal/kernel"
)

const (
	// What guests hold.
	holdNothing = "1+1"
	holdMuch    = "import os; held = os.urandom(200_000_000)"
	// The moments after the begin of a checkpoint at which a run comes: one is the worst.
	pauseEvery   = 4 * time.Millisecond
	pauseMoments = 25
	// pauseRest is what a guest has between two checkpoints.
	pauseRest = 150 * time.Millisecond
)

// pauses measures how long a run takes that comes while a checkpoint is made in the background.
func (b *bench) pauses(ctx context.Context) (_ []row, err error) {
	var open closers
	defer open.close(&err)
	var rows []row
	for _, of := range []struct{ name, code string }{{"bare", holdNothing}, {"200 MB of random numbers", holdMuch}} {
		w, err := startWorker(newChild(ctx, b.self, guestCommand, b.program, b.data, filepath.Join(b.dir, "bare"), of.code))
		if err != nil {
			return rows, err
		}
		open.add(w.close)
		s := newSeries(w.batch(""), pauseMoments)
		rounds(ctx, b.times(10), s)
		if s.err != nil {
			return rows, s.err
		}
		rows = append(rows, s.row("run that comes in the middle of a background checkpoint, "+of.name).wants(atMost("p99", 50)).
			noted(fmt.Sprintf("at %d moments, %v apart, after its begin", pauseMoments, pauseEvery)))
	}
	return rows, nil
}

// disturbing returns a batch of runs, each a little later after the begin of a checkpoint than the one before.
func disturbing(k *kernel.Kernel, dir string) batch {
	after := time.Duration(0)
	return each(func(ctx context.Context) (time.Duration, error) {
		after = (after + pauseEvery) % (pauseMoments * pauseEvery)
		if err := pause(ctx, pauseRest); err != nil {
			return 0, err
		}
		made := make(chan error, 1)
		go func() { made <- k.CheckpointBeside(ctx, dir) }()
		err := pause(ctx, after)
		spent, runErr := evaluate(ctx, k)
		checkpointErr := <-made
		if errors.Is(checkpointErr, kernel.ErrDisturbed) {
			checkpointErr = nil // as is meant
		}
		return spent, errors.Join(err, runErr, checkpointErr)
	})
}
