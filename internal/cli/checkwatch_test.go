package cli_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"runpython/internal/cli"
)

// check watch scans at once and then at each tick; a gate that closes ends nothing, a wrong state file does.
func TestRepeat(t *testing.T) {
	gate, broken := cli.SaidError(cli.ExitCheckGate), errors.New("the state cannot be written")
	for name, c := range map[string]struct {
		count  int
		errs   []error // of each time, nil after them
		ends   time.Duration
		called int
		want   error
	}{
		"counted":      {count: 3, called: 3},
		"last is told": {count: 2, errs: []error{nil, gate}, called: 2, want: gate},
		"gate":         {count: 3, errs: []error{gate, gate}, called: 3},
		"broken":       {count: 3, errs: []error{nil, broken}, called: 2, want: broken},
		"interrupted":  {ends: 25 * time.Hour, called: 2, want: context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if c.ends > 0 {
					time.AfterFunc(c.ends, cancel)
				}
				called := 0
				began := time.Now()
				err := cli.Repeat(ctx, 24*time.Hour, c.count, func() error {
					if at := time.Since(began); at != time.Duration(called)*24*time.Hour {
						t.Errorf("time %d is at %v", called, at)
					}
					called++
					if called <= len(c.errs) {
						return c.errs[called-1]
					}
					return nil
				})
				if !errors.Is(err, c.want) || called != c.called {
					t.Errorf("called %d times, error %v; want %d, %v", called, err, c.called, c.want)
				}
			})
		})
	}
}

// A plan lasts as long as check watch does: signatures are judged by the time of each scan, not of the first.
func TestSignaturesAreJudgedWhenTheyAreSeen(t *testing.T) {
	if at, err := cli.ValidatorTime("192.0.2.1"); err != nil || !at.IsZero() {
		t.Errorf("every scan takes %v for now (%v)", at, err)
	}
}
