package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"runpython/internal/check"
	"runpython/internal/check/report"
	"runpython/internal/config"
)

const watchHelp = `Scans as check does, again and again, and keeps what it saw in the folder of --state: the window of stability counts days only between
scans that are at most 48 hours apart. Each scan is a line on standard output for each endpoint, and below it what has changed since the
last one; --format writes files, each time anew. A scan that fails is told and does not end it. It exits as the last scan would, once --count scans
are done, or with 130 when it is interrupted.`

const watchExamples = `  runpython check watch --state seen https://example.com/mcp
  runpython check watch --every 6h --state seen --format html=check.html https://example.com/mcp`

// How often check watch scans.
const (
	watchEvery   = 24 * time.Hour
	soonestWatch = time.Minute
	latestWatch  = 48 * time.Hour // more, and no day counts
)

func (c *command) watchCommand() *cobra.Command {
	f := &checkFlags{}
	every, count := watchEvery, 0
	cmd := &cobra.Command{
		Use:     "watch URL...",
		Short:   "Scan again and again, and tell what changes",
		Long:    watchHelp,
		Example: watchExamples,
		Args:    c.anyArguments,
	}
	c.add(cmd, true, func(ctx context.Context, cfg config.Config, urls []string) error {
		switch {
		case every < soonestWatch || every > latestWatch:
			return usagef("--every %v: must be from 1m to 48h", every)
		case count < 0:
			return usagef("--count %d: must be 0 or more", count)
		case f.state == "":
			return usagef("check watch needs --state DIR, where it keeps what it saw")
		case f.output != "":
			return usagef("check watch prints lines: name the file in --format, as in --format html=FILE")
		}
		p, err := c.checkPlan(cfg, f, urls)
		if err != nil {
			return err
		}
		if len(f.formats) == 0 {
			p.outputs = p.outputs[1:] // without the text
		}
		for _, out := range p.outputs {
			if out.file == "" {
				return usagef("check watch prints lines: name the file in --format, as in --format %s=FILE", out.format)
			}
		}
		interrupted, stop := interruptible(ctx)
		defer stop()
		return repeat(interrupted, every, count, func() error { return c.watchOnce(interrupted, p) })
	})
	f.add(cmd.Flags())
	cmd.Flags().DurationVar(&every, "every", watchEvery, "`TIME` from the beginning of one scan to that of the next")
	cmd.Flags().IntVar(&count, "count", 0, "end after `N` scans; 0: when it is interrupted")
	return cmd
}

// repeat calls once at once and then each time that every has passed, count times or, with 0, until ctx ends. An error of one
// time that exit codes tell ends nothing; any other does. It returns the last one, or why ctx has ended.
func repeat(ctx context.Context, every time.Duration, count int, once func() error) error {
	t := time.NewTicker(every)
	defer t.Stop()
	for n := 1; ; n++ {
		err := once()
		if _, told := errors.AsType[saidError](err); err != nil && !told || ctx.Err() != nil || n == count {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-t.C:
		}
	}
}

// watchOnce scans once and prints what was seen.
func (c *command) watchOnce(ctx context.Context, p *checkPlan) error {
	result, err := c.runPlan(ctx, p)
	if err != nil {
		return err
	}
	c.status.Stop()
	for _, r := range result.set.Reports {
		result.lost = errors.Join(result.lost, c.print(watchLines(r)))
	}
	return c.finish(p, result)
}

// watchLines are a line about a scan and those about what has changed since the one before.
func watchLines(r *check.Report) string {
	points := "-"
	if r.Score != nil {
		points = fmt.Sprint(*r.Score)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %3s  %s  findings: %s\n", r.StartedAt.Format(time.RFC3339), points, r.Target, report.Tally(r))
	for _, ch := range r.Changes {
		if ch.Time.Truncate(time.Second).Equal(r.StartedAt) {
			fmt.Fprintf(&b, "  %s: %s\n", ch.Class, ch.What)
		}
	}
	return b.String()
}
