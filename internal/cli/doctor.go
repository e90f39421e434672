package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"runpython/internal/cli/console"
	"runpython/internal/config"
)

// A Status is the outcome of a check.
type Status string

// The outcomes.
const (
	StatusOK   Status = "ok"
	StatusWarn Status = "warn" // works, but less well
	StatusFail Status = "fail" // guests cannot run, or not as they should
	StatusSkip Status = "skip" // could not be examined, Detail says why
)

// A Check is one thing that doctor examined.
type Check struct {
	Name   string `json:"name"` // two or three words
	Status Status `json:"status"`
	Detail string `json:"detail"`           // what was found, one line
	Remedy string `json:"remedy,omitempty"` // what to do, for warn and fail
}

func (c *command) doctorCommand() *cobra.Command {
	return c.add(&cobra.Command{
		Use:   "doctor",
		Short: "Examine what this machine has and lacks, with remedies",
		Long: "Examines everything that the program needs of the machine, starts a guest and evaluates 1+1 in it.\n" +
			"Exits with 3 when something fails. With --json: {\"ok\", \"checks\": [{\"name\", \"status\", \"detail\", \"remedy\"}]},\n" +
			"where status is ok, warn, fail or skip.",
		Args: c.noArguments,
	}, true, c.doctor)
}

func (c *command) doctor(ctx context.Context, cfg config.Config, _ []string) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	c.status.Start("examining")
	found, err := c.program.Doctor(ctx, cfg)
	c.status.Stop()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return err
	}
	checks := append([]Check{buildCheck(cfg)}, found...)
	count := make(map[Status]int)
	for _, check := range checks {
		count[check.Status]++
	}
	if err := c.report(checks, count, cfg.JSON); err != nil {
		return err
	}
	if count[StatusFail] > 0 {
		return saidError{ExitMachine}
	}
	return nil
}

// report prints the checks.
func (c *command) report(checks []Check, count map[Status]int, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(c.Out).Encode(struct {
			OK     bool    `json:"ok"`
			Checks []Check `json:"checks"`
		}{count[StatusFail] == 0, checks})
	}
	width := 0
	for _, check := range checks {
		width = max(width, len(check.Name))
	}
	var b strings.Builder
	for _, check := range checks {
		fmt.Fprintf(&b, "%-4s  %-*s  %s\n", check.Status, width, check.Name, check.Detail)
		if check.Remedy != "" {
			fmt.Fprintf(&b, "%*s  → %s\n", 4+2+width, "", check.Remedy)
		}
	}
	fmt.Fprintf(&b, "\n%d checks: %d ok, %d warn, %d fail, %d skip\n", len(checks),
		count[StatusOK], count[StatusWarn], count[StatusFail], count[StatusSkip])
	text := b.String()
	if _, terminal := console.Terminal(c.Out); terminal {
		text = console.Clean(text)
	}
	_, err := fmt.Fprint(c.Out, text)
	return err
}
