package cli

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"runpython/internal/config"
	"runpython/internal/eval"
)

const evalHelp = `Puts tasks to the model that is configured, as a person would in a chat, lets the Python of each
task judge what came of it, and prints how many have passed and what they took: runs, tokens, time.
FILE is a YAML list of tasks, docs/eval.md says of what form; without it those that are inside are
played. A check runs in a guest of its own, which gets copies of the files.

With --one-shot the same model is asked once for each turn, without tools, results or repairs, and its
code runs as a script: what the loop is worth is the difference. With --prove no model takes part: the
right and the wrong solution of each task run, and its check must tell them apart.

With --json it is one object on standard output:

  {"model", "mode", "passed", "attempts", "broken", "pass_rate", "runs", "requests", "input_tokens",
   "output_tokens", "estimated", "cost", "unfounded", "duration_ms",
   "tasks": [{"name", "passed", "attempts": [{"passed", "broken", "why", "runs", …}]}]}

or, with --prove, {"ok", "proofs": [{"task", "problem"}]}. An attempt is broken when the model or the
program fails: it counts neither way, three in a row end the command, and its exit code is 4.`

const evalExamples = `  runpython eval --model ollama/qwen2.5-coder
  runpython eval --only 'csv-*' --repeat 3 tasks.yaml
  runpython eval --min-pass 0.8 --json > report.json
  runpython eval --prove tasks.yaml`

func (c *command) evalCommand() *cobra.Command {
	return c.add(&cobra.Command{
		Use:     "eval [FILE]",
		Short:   "Measure how well a model answers",
		Long:    evalHelp,
		Example: evalExamples,
		Args:    c.oneArgument("file of tasks", ""),
	}, true, c.eval)
}

func (c *command) eval(ctx context.Context, cfg config.Config, args []string) error {
	tasks, err := readTasks(args)
	if err == nil {
		tasks, err = eval.Select(tasks, cfg.Only)
	}
	if err != nil {
		return usageError(err.Error())
	}
	ctx, stop := interruptible(ctx)
	defer stop()
	c.status.Start("starting")
	defer c.status.Stop()
	return c.with(ctx, cfg, func(app App) error {
		switch {
		case cfg.Prove:
			return c.prove(ctx, cfg, app, tasks)
		case app.Model() == nil:
			return usagef("there is no model to ask: name one with --model, as in --model ollama/qwen2.5-coder")
		}
		return c.evaluate(ctx, cfg, app, tasks)
	})
}

// readTasks returns the tasks of the file that args name, or those that are inside.
func readTasks(args []string) ([]eval.Task, error) {
	if len(args) == 0 {
		return eval.Starter() //nolint:wrapcheck // it says all
	}
	f, err := os.Open(args[0])
	if err != nil {
		return nil, err //nolint:wrapcheck // it names the file
	}
	defer func() { _ = f.Close() }() // only read from
	text, err := io.ReadAll(io.LimitReader(f, eval.MaxSetBytes+1))
	if err != nil {
		return nil, err //nolint:wrapcheck // it names the file
	}
	tasks, err := eval.Read(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", args[0], err)
	}
	return tasks, nil
}

// evaluate plays tasks and prints what came of them, also when it is stopped before the end.
func (c *command) evaluate(ctx context.Context, cfg config.Config, app App, tasks []eval.Task) error {
	table := newTaskTable(tasks)
	show := func(text string) {
		if !cfg.JSON {
			_ = c.print(text) // that nobody reads it stops nothing
		}
	}
	show(table.head())
	report, stopped := eval.Run(ctx, app, tasks, eval.Options{
		Repeat: cfg.Repeat, Parallel: cfg.Parallel, OneShot: cfg.OneShot,
		Begun: func(task string) { c.status.Step(task) },
		Done:  func(t eval.TaskReport) { show(table.row(t)) },
	})
	c.status.Stop()
	total := report.Total()
	show(table.foot(report, total))
	if cfg.JSON {
		if err := c.printJSON("report", reportForm(report, total)); err != nil {
			return err
		}
	}
	switch {
	case stopped != nil:
		return stopped
	case total.Broken > 0:
		c.say(counted(total.Broken, "attempt") + " could not be played to the end")
		return saidError{ExitFailure}
	case total.Rate() < cfg.MinPass:
		c.say(fmt.Sprintf("the pass rate %.3f is below --min-pass %g", total.Rate(), cfg.MinPass))
		return saidError{ExitCode}
	}
	return nil
}

// prove proves checks and prints which are not.
func (c *command) prove(ctx context.Context, cfg config.Config, app App, tasks []eval.Task) error {
	table := newTaskTable(tasks)
	c.status.Step("proving")
	proved := 0
	proofs, stopped := eval.Prove(ctx, app, tasks, func(p eval.Proof) {
		if p.Problem == "" {
			proved++
		}
		if !cfg.JSON {
			_ = c.print(table.proof(p)) // that nobody reads it stops nothing
		}
	})
	c.status.Stop()
	if cfg.JSON {
		if err := c.printJSON("report", proofsForm(proofs, proved == len(tasks))); err != nil {
			return err
		}
	} else if err := c.print(fmt.Sprintf("\n%d of %s proved\n", proved, counted(len(tasks), "check"))); err != nil {
		return err
	}
	if stopped == nil && proved < len(tasks) {
		return saidError{ExitCode}
	}
	return stopped
}

// counted is a number of things.
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
