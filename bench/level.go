package main

import (
	"context"
	"fmt"
	"time"
)

// A level is what the product holds when nothing is under way.
type level struct {
	bytes       int64 // anonymous memory of the server alone
	descriptors int
	goroutines  int
	guests      int
}

func (l level) mib() float64 { return float64(l.bytes) / (1 << 20) }

const (
	// restLimit bounds the wait until the server is what it was: a connection that nobody closes is the server's to
	// close, after two minutes at the latest, and so long the memory of what is gone may stay.
	restLimit = 4 * time.Minute
	restEvery = time.Second
	// restTurns is how many looks in a row must find it so.
	restTurns = 3
	// What the server may have more than before: streams of clients come and go, and its heap may grow to nine times
	// what is in use before it is collected, of which the system has some back only later.
	spareDescriptors = 8
	spareGoroutines  = 16
	spareBytes       = 128 << 20
)

// within reports whether l is what before was.
func (l level) within(before level) bool {
	return l.descriptors <= before.descriptors+spareDescriptors && l.goroutines <= before.goroutines+spareGoroutines &&
		l.guests == before.guests && l.bytes <= before.bytes+spareBytes
}

// rest waits until the server is at rest: at the level of before, or, without one, until descriptors, goroutines and guests
// stay as they are.
func (s *server) rest(ctx context.Context, before *level) (level, error) {
	last, err := s.level(ctx)
	turns := 0
	for begun := time.Now(); err == nil && time.Since(begun) < restLimit; {
		if err := pause(ctx, restEvery); err != nil {
			return level{}, err
		}
		var now level
		if now, err = s.level(ctx); err != nil {
			break
		}
		still := now.descriptors == last.descriptors && now.goroutines == last.goroutines && now.guests == last.guests
		if before != nil {
			still = now.within(*before)
		}
		if turns++; !still {
			turns = 0
		}
		if last = now; turns == restTurns {
			return now, nil
		}
	}
	if err != nil {
		return level{}, err
	}
	if before == nil {
		return level{}, fmt.Errorf("the server does not come to rest: %+v", last)
	}
	return level{}, fmt.Errorf("the server had %+v before and has %+v after %v", *before, last, restLimit)
}

// level looks what the server holds now.
func (s *server) level(ctx context.Context) (l level, err error) {
	for _, g := range []struct {
		name string
		of   *int
	}{{"process_open_fds", &l.descriptors}, {"go_goroutines", &l.goroutines}, {"runpython_guests", &l.guests}} {
		if *g.of, err = s.gauge(ctx, g.name); err != nil {
			return level{}, err
		}
	}
	l.bytes, err = anonymousBytes(s.command.Process.Pid)
	return l, err
}
