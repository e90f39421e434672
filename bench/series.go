package main

import (
	"context"
	"errors"
	"time"
)

// A batch does some work n times and returns how long each time took.
type batch func(ctx context.Context, n int) ([]time.Duration, error)

// each makes a batch of a function that does the work once.
func each(work func(ctx context.Context) (time.Duration, error)) batch {
	return func(ctx context.Context, n int) ([]time.Duration, error) {
		spent := make([]time.Duration, 0, n)
		for range n {
			d, err := work(ctx)
			if err != nil {
				return spent, err
			}
			spent = append(spent, d)
		}
		return spent, nil
	}
}

// A series is work that is measured in turn with other work, so that what else the
// machine does meanwhile falls on all of them.
type series struct {
	sample
	do  batch
	per int // times in a round
	err error
}

func newSeries(do batch, per int) *series {
	return &series{sample: sample{unit: "ms"}, do: do, per: per}
}

// row makes a row of what was measured, with the reason where that is not all.
func (s *series) row(name string) row {
	r := measured(name, &s.sample)
	if s.err != nil {
		return r.noted("not measured in full: " + firstLine(s.err))
	}
	return r
}

// compared makes a row with the median of reference, which is described by what, beside it.
func (s *series) compared(name string, reference *series, what string) row {
	r := s.row(name)
	switch {
	case len(reference.values) > 0:
		return r.against(what, reference.quantile(0.5))
	case reference.err != nil:
		return r.without(reference.err)
	}
	return r
}

// floor has the sum of the medians of two series as its only value.
func floor(a, b *series) *series {
	sum := newSeries(nil, 0)
	sum.err = errors.Join(a.err, b.err)
	if len(a.values) > 0 && len(b.values) > 0 {
		sum.values = []float64{a.quantile(0.5) + b.quantile(0.5)}
	}
	return sum
}

// warmUp is how many times a series does its work before it counts.
const warmUp = 5

// rounds measures the series in turn. A series that fails is left out from then on.
func rounds(ctx context.Context, n int, all ...*series) {
	for i := range n + 1 {
		for _, s := range all {
			if s.err != nil {
				continue
			}
			times := s.per
			if i == 0 {
				times = min(s.per, warmUp)
			}
			spent, err := s.do(ctx, times)
			s.err = err
			if i > 0 {
				s.add(spent...)
			}
		}
	}
}
