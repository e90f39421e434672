package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"runpython/internal/audit"
	"runpython/internal/config"
)

const auditHelp = `Shows and checks the audit log of --data: who did what kind of thing, when and from where, never what was in it. It may be
called while a server runs.`

const auditTailHelp = `Prints lines of the audit log, oldest first, each one JSON object.`

const auditVerifyHelp = `Checks that no line of the audit log was changed, taken out or put in, and exits with 1 and the first place at which
that shows. It prints the hash of the last line: kept elsewhere, and given with --known later, it also tells whether the end
was taken off.`

func (c *command) auditCommand() *cobra.Command {
	cmd := c.group("audit", "Show or check the audit log", auditHelp, "tail or verify")
	cmd.AddCommand(
		c.add(&cobra.Command{Use: "tail", Short: "Print the last lines, as JSON", Long: auditTailHelp, Args: c.noArguments}, true, c.auditTail),
		c.add(&cobra.Command{Use: "verify", Short: "Check that nothing was changed", Long: auditVerifyHelp, Args: c.noArguments}, true, c.auditVerify),
	)
	return cmd
}

func (c *command) auditTail(ctx context.Context, cfg config.Config, _ []string) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	err := audit.Tail(ctx, audit.Dir(cfg.Data), cfg.Lines, cfg.Follow, func(line []byte) error { return c.show(string(line)) })
	if err == nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

func (c *command) auditVerify(ctx context.Context, cfg config.Config, _ []string) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	report, err := audit.Verify(ctx, audit.Dir(cfg.Data), cfg.Known)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if broken, ok := errors.AsType[*audit.BrokenError](err); ok {
		c.say("the audit log does not hold: " + broken.Error())
		return saidError{ExitCode}
	}
	if err != nil {
		return err
	}
	if report.Lines == 0 {
		return c.show("the audit log has no lines yet\n")
	}
	text := fmt.Sprintf("%d lines hold, %d to %d, in %d files\n", report.Lines, report.First, report.Last, report.Files)
	if report.First > 1 {
		text += fmt.Sprintf("lines before %d were removed with the oldest files\n", report.First)
	}
	if report.Lost > 0 {
		text += fmt.Sprintf("%d events could not be written when they happened\n", report.Lost)
	}
	if report.Torn > 0 || report.TornBytes > 0 {
		text += fmt.Sprintf("%d lines were left unfinished by a process that was killed, %d bytes of one at the end\n", report.Torn, report.TornBytes)
	}
	return c.show(text + "the last line has the hash " + report.Head + "\n")
}
