package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"runpython/internal/config"
	"runpython/internal/fault"
)

// The exit codes, a contract; check has its own. exitCodes is their text in help.
const (
	ExitOK          = 0   // done
	ExitCode        = 1   // the code failed, hit a limit, or there was nothing to run; there is no such chat; the audit log does not hold; of eval, too little has passed or is proved
	ExitUsage       = 2   // wrong usage: arguments, settings, the file of settings
	ExitMachine     = 3   // the machine or the build lacks something that is needed
	ExitFailure     = 4   // the program itself failed, or is too busy; of eval, an attempt could not be played
	ExitInterrupted = 130 // Ctrl-C, or a signal to end, before it was done
)

const exitCodes = `Exit codes:
  0    done
  1    the code failed, hit a limit, or there was nothing to run; there is no such chat; the audit
       log does not hold; eval: too little has passed
  2    wrong usage: arguments, settings, the file of settings
  3    the machine or the build lacks something that is needed
  4    the program itself failed, or is too busy; eval: an attempt could not be played
  130  interrupted before it was done
check has codes of its own, which its help tells.
`

// saidError ends a command with a code when everything has been said already.
type saidError struct{ code int }

// Error is seen only if the code is lost, which would be a mistake.
func (e saidError) Error() string { return fmt.Sprintf("exit with code %d", e.code) }

// usageError is a wrong call.
type usageError string

// Error says what is wrong.
func (e usageError) Error() string { return string(e) }

func usagef(format string, args ...any) error { return usageError(fmt.Sprintf(format, args...)) }

// interruptError is why a command ended that was told to.
type interruptError struct{ signal os.Signal }

// Error names the signal.
func (i interruptError) Error() string { return "interrupted by " + i.signal.String() }

// exit says what err is on standard error and returns the exit code.
func (c *command) exit(err error) int {
	code := c.code(err)
	if _, said := err.(saidError); said || err == nil { //nolint:errorlint // what is joined to it was not said
		return code
	}
	if code == ExitInterrupted {
		c.say("interrupted")
		return code
	}
	c.say(err.Error())
	if code == c.usageExit() {
		fmt.Fprintf(c.status, "Run '%s --help' for what can be said.\n", c.usage)
	}
	return code
}

// code maps an error to an exit code, in one place.
func (c *command) code(err error) int {
	if err == nil {
		return ExitOK
	}
	if said, ok := errors.AsType[saidError](err); ok {
		return said.code
	}
	if _, ok := errors.AsType[interruptError](err); ok || errors.Is(err, context.Canceled) {
		return ExitInterrupted
	}
	_, usage := errors.AsType[usageError](err)
	_, setting := errors.AsType[*config.Error](err)
	if usage || setting || !c.runs {
		return c.usageExit()
	}
	switch kind, _ := fault.Shown(err); kind {
	case fault.Invalid:
		return c.usageExit()
	case fault.NotFound:
		return ExitCode
	case fault.Unsupported:
		return ExitMachine
	case fault.Canceled:
		return ExitInterrupted
	case fault.Busy, fault.Internal:
	}
	return ExitFailure
}

// wrongFlag makes a usage error of what the parser of flags says, with a guess at
// what was meant.
func (c *command) wrongFlag(cmd *cobra.Command, err error) error {
	c.usage = cmd.CommandPath()
	text := err.Error()
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		var known []string
		collect := func(f *pflag.Flag) { known = append(known, f.Name) }
		cmd.Flags().VisitAll(collect)
		text += config.Suggest(unknown.GetSpecifiedName(), known)
	}
	return usageError(text)
}

// interruptible returns a context that ends with the first SIGINT, SIGTERM or
// SIGHUP. A second one ends the program at once.
func interruptible(ctx context.Context) (context.Context, context.CancelFunc) {
	return endedBy(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
}

// endedBy returns a context that ends with the first of some signals, with an
// interruptError as its cause. After that the signals do what they do by default. One
// that is ignored, as under nohup, stays so. The caller must call stop.
func endedBy(parent context.Context, signals ...os.Signal) (ctx context.Context, stop context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	arrived := make(chan os.Signal, 1)
	if signals = slices.DeleteFunc(signals, signal.Ignored); len(signals) > 0 {
		signal.Notify(arrived, signals...) // with none, Notify would take all
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		defer signal.Stop(arrived)
		select {
		case s := <-arrived:
			cancel(interruptError{s})
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil); <-gone }
}
