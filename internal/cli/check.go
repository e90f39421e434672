package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"runpython/internal/check"
	"runpython/internal/check/process"
	"runpython/internal/check/report"
	"runpython/internal/check/triage"
	"runpython/internal/config"
	"runpython/internal/fault"
)

// The exit codes of check, a contract of its own: those who put it into a pipeline tell a gate from a server that is away.
const (
	ExitCheckUsage   = 1 // wrong usage, or what was asked for could not be written
	ExitCheckConnect = 2 // there is no MCP server to judge, or one of several
	ExitCheckGate    = 3 // a score or a finding has closed a gate
	ExitCheckPartial = 4 // with --require-full: not everything could be measured
)

const checkHelp = `Scans the MCP endpoint at each URL and scores it: TLS, authorization, transport, what its tools say and cost,
whether texts try to steer a model, how recent its protocol is. No tool of it is called, and nothing is sent to
anybody but the endpoint, the authorization servers that it names, and the resolver. docs/check.md begins at the beginning, and
tells what each signal means and how to make a gate of it.

A format goes to standard output, or to a file as in --format sarif=check.sarif; --format may be repeated. Findings that are
in the file of --suppress, each with a reason and a last day, close no gate; they are shown in every format and count in the score.
With --baseline only findings that are new close one.

--config scans the servers in the configuration of a client, each with its own headers. Servers that such a client would start are
started only with --stdio, and after their command was shown and confirmed.

The flags of check are no variables and no keys of the file of settings, which for this command only RUNPYTHON_CONFIG names. Exit
codes of check, in place of those below: 0 done; 1 wrong usage, or something could not be written; 2 there is no MCP server to judge;
3 a gate is closed; 4 with --require-full, not everything could be measured; 130 interrupted. Reports are written in any case but 1 and 130.`

const checkExamples = `  runpython check https://example.com/mcp
  TOKEN=… runpython check --token-env TOKEN --format json https://example.com/mcp
  runpython check --min-score 80 --fail-on high --format text --format sarif=check.sarif https://example.com/mcp
  runpython check --write-baseline check-baseline.json https://example.com/mcp
  runpython check --baseline check-baseline.json https://example.com/mcp
  runpython check --config ~/.cursor/mcp.json
  runpython check --config .mcp.json --stdio`

// checkName is the command's, which has exit codes of its own.
const checkName = "check"

// usageExit is the exit code of wrong usage, of the command that was called.
func (c *command) usageExit() int {
	if own := name + " " + checkName; c.usage == own || strings.HasPrefix(c.usage, own+" ") {
		return ExitCheckUsage
	}
	return ExitUsage
}

func (c *command) checkCommand() *cobra.Command {
	f := &checkFlags{}
	cmd := &cobra.Command{
		Use:     checkName + " [URL...]",
		Short:   "Score any MCP endpoint",
		Long:    checkHelp,
		Example: checkExamples,
		Args:    c.anyArguments,
	}
	c.add(cmd, true, func(ctx context.Context, cfg config.Config, urls []string) error {
		p, err := c.checkPlan(cfg, f, urls)
		if err != nil {
			return err
		}
		interrupted, stop := interruptible(ctx)
		defer stop()
		result, err := c.runPlan(interrupted, p)
		if err != nil {
			return err
		}
		return c.finish(p, result)
	})
	f.add(cmd.Flags())
	cmd.AddCommand(c.watchCommand())
	return cmd
}

// A checkResult is what a plan has found.
type checkResult struct {
	set  *report.Set
	seen []check.Baseline // of each report
	lost error            // what --state could not keep
}

// runPlan scans all targets, one after the other. An error is one of usage, or that the scan was interrupted; a target that cannot be
// scanned is part of the result.
func (c *command) runPlan(ctx context.Context, p *checkPlan) (*checkResult, error) {
	result := &checkResult{set: &report.Set{Tool: check.Tool{Name: check.ProgramName, Version: c.program.Versions.Program, Rubric: check.Rubric}, Many: p.many}}
	result.set.Failures = slices.Clone(p.failures)
	c.status.Start("scanning")
	defer c.status.Stop()
	for i := range p.targets {
		t := &p.targets[i]
		prefix := ""
		if p.many {
			prefix = fmt.Sprintf("%d of %d, %s: ", i+1, len(p.targets), t.title())
		}
		err := c.runTarget(ctx, p, t, result, func(step string) { c.status.Step(prefix + step) })
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err == nil:
			continue
		}
		kind, problem := fault.Shown(err)
		switch {
		case kind == fault.NotFound || t.name != "" && kind == fault.Invalid: // what is wrong in a configuration is wrong with one server
			result.set.Failures = append(result.set.Failures, report.NewFailure(t.name, t.shown, problem))
		default:
			return nil, err
		}
	}
	return result, nil
}

// runTarget scans one target and adds its report to the result.
func (c *command) runTarget(ctx context.Context, p *checkPlan, t *checkTarget, result *checkResult, step func(string)) error {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	o := p.options
	o.Headers, o.Secrets, o.Step = t.headers, t.secrets, step
	var err error
	if p.state != "" {
		if o.Past, err = check.ReadState(p.state, t.url); err != nil {
			return usageError(err.Error())
		}
	}
	r, seen, err := c.scan(ctx, t, o)
	if err != nil {
		return err
	}
	r.Name = t.name
	if p.state != "" && r.Era != "" {
		if err := check.WriteState(p.state, t.url, r.Target, o.Past, seen); err != nil {
			result.lost = errors.Join(result.lost, err) // the scan is worth telling all the same
		}
	}
	if p.suppressions != nil {
		p.suppressions.Apply(r)
	}
	if p.compared {
		triage.Compare(p.baseline, r, seen)
	}
	result.set.Reports = append(result.set.Reports, r)
	result.seen = append(result.seen, r.AsBaseline(seen))
	return nil
}

// scan scans one target, of whatever kind.
func (c *command) scan(ctx context.Context, t *checkTarget, o check.Options) (*check.Report, check.Observation, error) {
	if t.command == nil {
		return check.Scan(ctx, t.url, o) //nolint:wrapcheck // it says all
	}
	open := func(ctx context.Context) (io.ReadWriteCloser, error) { return process.Start(ctx, *t.command, c.Env) }
	return check.ScanPipe(ctx, t.url, open, o) //nolint:wrapcheck // the same
}

// finish writes what was found where the plan says, and returns how check ends. What cannot be written hides nothing else, and comes before
// all that is found.
func (c *command) finish(p *checkPlan, result *checkResult) error {
	c.status.Stop()
	lost := errors.Join(result.lost, c.writeReports(p, result.set))
	if p.suppressions != nil {
		for _, note := range p.suppressions.Notes() {
			c.say(note)
		}
	}
	ending := c.judge(p, result.set)
	if p.writeBaseline != "" {
		if said, ok := errors.AsType[saidError](ending); ok && said.code == ExitCheckConnect {
			c.say("the baseline is not written, since not every target could be scanned")
		} else {
			lost = errors.Join(lost, triage.WriteBaseline(p.writeBaseline, result.seen))
		}
	}
	if lost == nil {
		return ending
	}
	c.say(lost.Error())
	return saidError{ExitCheckUsage}
}

// writeReports writes each format. One that cannot be written keeps none from being so.
func (c *command) writeReports(p *checkPlan, set *report.Set) error {
	var lost error
	for _, out := range p.outputs {
		var b strings.Builder
		o := report.Options{Colours: out.file == "" && c.colours(c.Out), Anchor: p.anchor}
		err := report.Write(&b, out.format, set, o)
		switch {
		case err != nil:
		case out.file == "":
			err = c.print(b.String())
		default:
			err = os.WriteFile(out.file, []byte(b.String()), 0o644)
		}
		if err != nil {
			lost = errors.Join(lost, fmt.Errorf("the report is not written: %w", err))
		}
	}
	return lost
}

// judge says on standard error what does not pass, and returns how check ends. That there is nothing to judge comes before a
// gate, and a gate before what was not measured.
func (c *command) judge(p *checkPlan, set *report.Set) error {
	unreachable, closed, partial := false, false, false
	for _, f := range set.Failures {
		c.say(p.about(f.Name, f.Target, f.Problem))
		unreachable = true
	}
	for _, r := range set.Reports {
		if r.Era == "" {
			why := ""
			if s, ok := r.Signal("transport.handshake"); ok {
				why = ": " + s.Summary
			}
			c.say("no MCP server at " + r.Target + why)
			unreachable = true
			continue
		}
		if why := p.gate.Judge(r); len(why) > 0 {
			c.say(p.about(r.Name, r.Target, strings.Join(why, "\n")))
			closed = true
		}
		if p.requireFull && r.Coverage.Measured < r.Coverage.Total {
			c.say(p.about(r.Name, r.Target, fmt.Sprintf("%d of %d signals could be measured", r.Coverage.Measured, r.Coverage.Total)))
			partial = true
		}
	}
	switch {
	case unreachable:
		return saidError{ExitCheckConnect}
	case closed:
		return saidError{ExitCheckGate}
	case partial:
		return saidError{ExitCheckPartial}
	}
	return nil
}

// about says of which of several targets a message is.
func (p *checkPlan) about(name, target, message string) string {
	if !p.many {
		return message
	}
	if name != "" {
		target = name
	}
	return target + ": " + message
}
