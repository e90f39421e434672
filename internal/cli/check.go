package cli

import (
	"bytes"
	"context"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"runpython/internal/check"
	"runpython/internal/check/dnssec"
	"runpython/internal/check/report"
	"runpython/internal/config"
	"runpython/internal/fault"
)

// The exit codes of check, a contract of its own: those who put it into a pipeline tell a gate from a server that is away.
const (
	ExitCheckUsage   = 1 // wrong usage
	ExitCheckConnect = 2 // there is no MCP server to judge
	ExitCheckGate    = 3 // the score is below --min-score
	ExitCheckPartial = 4 // with --require-full: not everything could be measured
)

const checkHelp = `Scans the MCP endpoint at URL and scores it: TLS, authorization, transport, what its tools say and cost,
whether texts try to steer a model, how recent its protocol is. No tool of it is called, and nothing is sent to
anybody but the endpoint, the authorization servers that it names, and the resolver. docs/check.md tells what each signal means,
and has the form of the JSON report.

The flags of check are no variables and no keys of --config. Exit codes of check, in place of those below:
0 done; 1 wrong usage; 2 there is no MCP server to judge; 3 the score is below --min-score; 4 with --require-full,
not everything could be measured; 130 interrupted. The report goes to standard output or --output in any case but 1.`

const checkExamples = `  runpython check https://example.com/mcp
  TOKEN=… runpython check --token-env TOKEN --format json https://example.com/mcp
  runpython check --profile verifymcp --min-score 80 https://example.com/mcp`

// What check reads at most, and its default.
const (
	checkTimeout   = time.Minute
	longestCheck   = time.Hour
	maxHeaders     = 20
	maxBundleBytes = 4 << 20
)

// checkFlags are those of check.
type checkFlags struct {
	token, tokenEnv string
	headers         []string
	profile, format string
	output, state   string
	minScore        int
	timeout         time.Duration
	only, skip      []string
	allowPrivate    bool
	resolver        string
	requireFull     bool
}

func (c *command) checkCommand() *cobra.Command {
	f := &checkFlags{}
	cmd := &cobra.Command{
		Use:     checkName + " URL",
		Short:   "Score any MCP endpoint",
		Long:    checkHelp,
		Example: checkExamples,
		Args:    c.oneArgument("URL", ""),
	}
	c.add(cmd, true, func(ctx context.Context, cfg config.Config, args []string) error {
		if len(args) == 0 {
			return usagef("check takes the URL of an endpoint, such as https://example.com/mcp")
		}
		return c.check(ctx, cfg, f, args[0])
	})
	fs := cmd.Flags()
	fs.StringVar(&f.token, "token", "", "bearer `TOKEN` for the endpoint; others see it in the list of processes")
	fs.StringVar(&f.tokenEnv, "token-env", "", "`VARIABLE` that has the bearer token")
	fs.StringArrayVar(&f.headers, "header", nil, "`HEADER` for the endpoint, as in 'X-Key: secret'; may be repeated")
	fs.StringVar(&f.profile, "profile", string(check.Local), "how signals count: local, verifymcp or strict, a `WORD`")
	fs.StringVar(&f.format, "format", "text", "form of the report: text or json, a `WORD`")
	fs.StringVar(&f.output, "output", "", "write the report to this `FILE`")
	fs.IntVar(&f.minScore, "min-score", 0, "exit with 3 when the score is lower than `N`, 0 to 100")
	fs.DurationVar(&f.timeout, "timeout", checkTimeout, "longest `TIME` of the scan")
	fs.StringSliceVar(&f.only, "only", nil, "judge the signals with such names alone, a `LIST`: 'tls.*,hsts.present'")
	fs.StringSliceVar(&f.skip, "skip", nil, "do not judge the signals with such names, a `LIST`")
	fs.BoolVar(&f.allowPrivate, "allow-private", false, "follow documents of the endpoint to private addresses that are not its own")
	fs.StringVar(&f.resolver, "resolver", "", "`ADDRESS` of the resolver that is asked about DNSSEC, in place of that of /etc/resolv.conf")
	fs.BoolVar(&f.requireFull, "require-full", false, "exit with 4 when not everything could be measured")
	fs.StringVar(&f.state, "state", "", "keep what was seen in this `DIR`, and tell what has changed since")
	return cmd
}

// checkName is the command's, which has exit codes of its own.
const checkName = "check"

// usageExit is the exit code of wrong usage, of the command that was called.
func (c *command) usageExit() int {
	if c.usage == name+" "+checkName {
		return ExitCheckUsage
	}
	return ExitUsage
}

func (c *command) check(ctx context.Context, cfg config.Config, f *checkFlags, url string) error {
	options, err := c.checkOptions(cfg, f)
	if err != nil {
		return err
	}
	interrupted, stop := interruptible(ctx)
	defer stop()
	ctx, cancel := context.WithTimeout(interrupted, f.timeout)
	defer cancel()
	if f.state != "" {
		if options.Past, err = check.ReadState(f.state, url); err != nil {
			return usageError(err.Error())
		}
	}
	c.status.Start("scanning")
	defer c.status.Stop()
	options.Step = c.status.Step
	r, seen, err := check.Scan(ctx, url, options)
	c.status.Stop()
	switch kind, _ := fault.Shown(err); {
	case interrupted.Err() != nil:
		return context.Cause(interrupted)
	case err != nil && kind == fault.NotFound:
		c.say(err.Error())
		return saidError{ExitCheckConnect}
	case err != nil:
		return err
	}
	if err := c.writeReport(f, r); err != nil {
		return err
	}
	if f.state != "" && r.Era != "" {
		if err := check.WriteState(f.state, url, options.Past, seen); err != nil {
			return err //nolint:wrapcheck // it names the file
		}
	}
	return c.gate(f, r)
}

// checkOptions reads the flags.
func (c *command) checkOptions(cfg config.Config, f *checkFlags) (check.Options, error) {
	o := check.Options{Version: c.program.Versions.Program, Profile: check.Profile(f.profile), AllowPrivate: f.allowPrivate}
	switch {
	case !slices.Contains(check.Profiles(), o.Profile):
		return o, usagef("--profile %q: must be one of local, verifymcp, strict", f.profile)
	case f.format != "text" && f.format != "json":
		return o, usagef("--format %q: must be one of text, json", f.format)
	case f.minScore < 0 || f.minScore > 100:
		return o, usagef("--min-score %d: must be a whole number from 0 to 100", f.minScore)
	case f.timeout < time.Second || f.timeout > longestCheck:
		return o, usagef("--timeout %v: must be from 1s to 1h", f.timeout)
	}
	var err error
	if o.Headers, err = c.checkHeaders(f); err != nil {
		return o, err
	}
	if o.Wanted, err = f.wanted(); err != nil {
		return o, err
	}
	if o.DNSSEC, err = f.validator(); err != nil {
		return o, err
	}
	o.Roots, err = roots(cfg.CABundle)
	return o, err
}

// validator returns what validates DNSSEC, or nil where no resolver is known.
func (f *checkFlags) validator() (*dnssec.Validator, error) {
	server, err := dnssec.System()
	if f.resolver != "" {
		if server, err = dnssec.ParseServer(f.resolver); err != nil {
			return nil, usageError("--resolver: " + err.Error())
		}
	}
	if err != nil {
		return nil, nil //nolint:nilerr,nilnil // a machine without a resolver does not measure it, which the report says
	}
	return &dnssec.Validator{Resolver: server, Anchors: dnssec.RootAnchors(), Now: time.Now()}, nil
}

// checkHeaders returns the credentials that the flags name.
func (c *command) checkHeaders(f *checkFlags) (http.Header, error) {
	h := http.Header{}
	token := f.token
	if f.tokenEnv != "" {
		if token != "" {
			return nil, usagef("--token and --token-env are two ways to give one token; use one")
		}
		if token, _ = c.Env(f.tokenEnv); token == "" {
			return nil, usagef("--token-env %s: the variable is not set", f.tokenEnv)
		}
	}
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, usagef("the token has spaces or characters that no header may have")
	}
	if token != "" {
		h.Set("Authorization", "Bearer "+token)
	}
	if len(f.headers) > maxHeaders {
		return nil, usagef("--header: more than %d", maxHeaders)
	}
	for _, line := range f.headers {
		key, value, ok := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		wrong := func(r rune) bool { return r < ' ' || r > '~' }
		if !ok || key == "" || strings.ContainsAny(key, " \t()<>@,;\\\"/[]?={}") || strings.ContainsFunc(key+value, wrong) {
			return nil, usagef("--header: must be a name, a colon and a value, as in 'X-Key: secret'")
		}
		h.Add(key, value)
	}
	return h, nil
}

// wanted returns which signals --only and --skip leave.
func (f *checkFlags) wanted() (func(string) bool, error) {
	for _, pattern := range slices.Concat(f.only, f.skip) {
		if !slices.ContainsFunc(check.SignalIDs(), func(id string) bool { return matches(pattern, id) }) {
			return nil, usagef("no signal matches %q; there are: %s", pattern, strings.Join(check.SignalIDs(), ", "))
		}
	}
	return func(id string) bool {
		match := func(pattern string) bool { return matches(pattern, id) }
		return (len(f.only) == 0 || slices.ContainsFunc(f.only, match)) && !slices.ContainsFunc(f.skip, match)
	}, nil
}

func matches(pattern, id string) bool {
	ok, err := path.Match(pattern, id)
	return ok && err == nil
}

// roots returns those of a PEM file, or nil for those of the system.
func roots(bundle string) (*x509.CertPool, error) {
	if bundle == "" {
		return nil, nil //nolint:nilnil // which is what x509 takes for the system's
	}
	file, err := os.Open(bundle)
	if err != nil {
		return nil, usageError(err.Error())
	}
	defer file.Close()
	pem, err := io.ReadAll(io.LimitReader(file, maxBundleBytes))
	if err != nil {
		return nil, usageError(err.Error())
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, usagef("--ca-bundle %s: has no certificate", bundle)
	}
	return pool, nil
}

// writeReport writes the report where the flags say.
func (c *command) writeReport(f *checkFlags, r *check.Report) error {
	var b bytes.Buffer
	var err error
	if f.format == "json" {
		err = report.JSON(&b, r)
	} else {
		err = report.Text(&b, r, f.output == "" && c.colours(c.Out))
	}
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	if f.output == "" {
		c.print(b.String())
		return nil
	}
	if err := os.WriteFile(f.output, b.Bytes(), 0o644); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

// gate returns how check ends.
func (c *command) gate(f *checkFlags, r *check.Report) error {
	switch {
	case r.Era == "":
		why := ""
		if s, ok := r.Signal("transport.handshake"); ok {
			why = ": " + s.Summary
		}
		c.say("no MCP server at " + r.Target + why)
		return saidError{ExitCheckConnect}
	case f.minScore > 0 && r.Score == nil:
		c.say("nothing was measured that could be held against --min-score")
		return saidError{ExitCheckGate}
	case f.minScore > 0 && *r.Score < f.minScore:
		c.say(fmt.Sprintf("the score %d is below --min-score %d: %s", *r.Score, f.minScore, losses(r)))
		return saidError{ExitCheckGate}
	case f.requireFull && r.Coverage.Measured < r.Coverage.Total:
		c.say(fmt.Sprintf("%d of %d signals could be measured", r.Coverage.Measured, r.Coverage.Total))
		return saidError{ExitCheckPartial}
	}
	return nil
}

// losses names the signals that cost something.
func losses(r *check.Report) string {
	var all []string
	for _, category := range r.Categories {
		for _, s := range category.Signals {
			if s.Scored && s.Credit < 1 {
				all = append(all, fmt.Sprintf("%s %s", s.ID, s.Status))
			}
		}
	}
	return strings.Join(all, ", ")
}
