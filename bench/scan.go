package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"time"
)

// errNoScore is what a report without a score is.
var errNoScore = errors.New("the report has no score")

// scans measures the command check, a process each time, against a server of the product on loopback.
func (b *bench) scans(ctx context.Context) (rows []row, err error) {
	var open closers
	defer open.close(&err)
	s, err := b.serve(ctx, 0)
	if err != nil {
		return nil, err
	}
	open.add(s.stop)
	scan := newSeries(each(func(ctx context.Context) (time.Duration, error) { return b.scan(ctx, s.url) }), 2)
	rounds(ctx, b.times(20), scan)
	return []row{scan.row("runpython check, a server on loopback").wants(atMost("p50", 1000))}, scan.err
}

// scan scans an endpoint once.
func (b *bench) scan(ctx context.Context, url string) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	begun := time.Now()
	out, err := exec.CommandContext(ctx, b.program, "check", "--format", "json", url).Output()
	spent := time.Since(begun)
	if err != nil {
		return 0, fmt.Errorf("check: %w", err)
	}
	var report struct {
		Score *int `json:"score"`
	}
	if err := json.Unmarshal(out, &report); err != nil {
		return 0, fmt.Errorf("check: %w", err)
	}
	if report.Score == nil {
		return 0, errNoScore
	}
	return spent, nil
}
