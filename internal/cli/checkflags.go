package cli

import (
	"crypto/x509"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"runpython/internal/check"
	"runpython/internal/check/dnssec"
	"runpython/internal/check/process"
	"runpython/internal/check/report"
	"runpython/internal/check/triage"
	"runpython/internal/config"
)

// What check reads and does at most, and its default.
const (
	checkTimeout   = time.Minute
	longestCheck   = time.Hour
	maxHeaders     = 20
	maxBundleBytes = 4 << 20
	maxTargets     = 100
)

// checkFlags are those of check.
type checkFlags struct {
	token, tokenEnv string
	headers         []string
	profile         string
	formats         []string
	output, badge   string
	anchor, state   string
	minScore        int
	min             []string
	failOn          string
	baseline        string
	writeBaseline   string
	suppress        string
	timeout         time.Duration
	only, skip      []string
	allowPrivate    bool
	resolver        string
	requireFull     bool
	config          string
	stdio, yes      bool
}

// add adds the flags to a command.
func (f *checkFlags) add(fs *pflag.FlagSet) {
	fs.StringVar(&f.token, "token", "", "bearer `TOKEN` for the one endpoint; others see it in the list of processes")
	fs.StringVar(&f.tokenEnv, "token-env", "", "`VARIABLE` that has the bearer token")
	fs.StringArrayVar(&f.headers, "header", nil, "`HEADER` for the one endpoint, as in 'X-Key: secret'; may be repeated")
	fs.StringVar(&f.profile, "profile", string(check.Local), "how signals count: local, verifymcp or strict, a `WORD`")
	fs.StringArrayVar(&f.formats, "format", nil, "text (the default), json, sarif, html, markdown or junit, as `WORD[=FILE]`; may be repeated")
	fs.StringVar(&f.output, "output", "", "write the format that has no file of its own to this `FILE`")
	fs.StringVar(&f.badge, "badge", "", "write the score as a picture, SVG, to this `FILE`")
	fs.StringVar(&f.anchor, "sarif-anchor", "", "`FILE` of the repository at which SARIF shows findings, as code scanning wants one")
	fs.IntVar(&f.minScore, "min-score", 0, "exit with 3 when the score is lower than `N`, 0 to 100")
	fs.StringArrayVar(&f.min, "min", nil, "the same of one category, as in `CATEGORY=N`; may be repeated")
	fs.StringVar(&f.failOn, "fail-on", "", "exit with 3 when a finding is of this `SEVERITY` or worse: low, medium, high, critical; low with --baseline")
	fs.StringVar(&f.baseline, "baseline", "", "compare with this `FILE`: only what is new closes a gate of --fail-on")
	fs.StringVar(&f.writeBaseline, "write-baseline", "", "write what was found as a baseline to this `FILE`")
	fs.StringVar(&f.suppress, "suppress", "", "`FILE` of findings that are accepted, each with a reason and a last day")
	fs.DurationVar(&f.timeout, "timeout", checkTimeout, "longest `TIME` of the scan of one endpoint")
	fs.StringSliceVar(&f.only, "only", nil, "judge the signals with such names alone, a `LIST`: 'tls.*,hsts.present'")
	fs.StringSliceVar(&f.skip, "skip", nil, "do not judge the signals with such names, a `LIST`")
	fs.BoolVar(&f.allowPrivate, "allow-private", false, "follow documents of the endpoint to private addresses that are not its own")
	fs.StringVar(&f.resolver, "resolver", "", "`ADDRESS` of the resolver that is asked about DNSSEC, in place of that of /etc/resolv.conf, or the https URL of one")
	fs.BoolVar(&f.requireFull, "require-full", false, "exit with 4 when not everything could be measured")
	fs.StringVar(&f.config, "config", "", "scan the servers in the configuration of a client, a `FILE` as of Claude, Cursor, VS Code, Codex, Gemini")
	fs.BoolVar(&f.stdio, "stdio", false, "with --config: also start the servers that are started, each after its command was shown and confirmed")
	fs.BoolVar(&f.yes, "yes", false, "with --stdio: start them without being asked; their commands are shown")
	fs.StringVar(&f.state, "state", "", "keep what was seen in this `DIR`, and tell what has changed since")
}

// A checkPlan is what flags and arguments ask for.
type checkPlan struct {
	targets       []checkTarget
	failures      []report.Failure // servers that a configuration names and nobody could scan
	many          bool             // more than one target may be there
	options       check.Options
	timeout       time.Duration
	state         string
	outputs       []checkOutput
	anchor        string
	gate          triage.Gate
	requireFull   bool
	suppressions  *triage.Suppressions // nil without a file of them
	compared      bool                 // with baseline
	baseline      []check.Baseline
	writeBaseline string
}

// A checkTarget is one endpoint and what is sent to it.
type checkTarget struct {
	name    string // in a client's configuration, else ""
	url     string
	shown   string // the URL without what may be secret in it
	headers http.Header
	secrets []string
	command *process.Command // nil unless it is started
}

func (t *checkTarget) title() string {
	if t.name != "" {
		return t.name
	}
	return t.shown
}

// checkPlan reads flags and arguments.
func (c *command) checkPlan(cfg config.Config, f *checkFlags, urls []string) (*checkPlan, error) {
	p := &checkPlan{timeout: f.timeout, state: f.state, anchor: f.anchor, requireFull: f.requireFull, writeBaseline: f.writeBaseline}
	if f.timeout < time.Second || f.timeout > longestCheck {
		return nil, usagef("--timeout %v: must be from 1s to 1h", f.timeout)
	}
	for _, step := range []func() error{
		func() error { return c.planTargets(p, f, urls) },
		func() error { return f.planOptions(p, cfg, c.program.Versions.Program) },
		func() error { return f.planOutputs(p) },
		func() error { return f.planGate(p) },
		func() error { return f.planTriage(p) },
		p.planState,
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// planTargets fills in what is scanned.
func (c *command) planTargets(p *checkPlan, f *checkFlags, urls []string) error {
	headers, err := c.checkHeaders(f)
	if err != nil {
		return err
	}
	if err := f.agree(len(urls), len(headers) > 0); err != nil {
		return err
	}
	p.many = len(urls) > 1 || f.config != ""
	for _, u := range urls {
		shown, err := check.Shown(u)
		if err != nil {
			return err //nolint:wrapcheck // it says all
		}
		p.targets = append(p.targets, checkTarget{url: u, shown: shown, headers: headers})
	}
	if f.config == "" {
		return nil
	}
	return c.planConfig(p, f)
}

// agree refuses flags that do not go together with so many URLs, or with credentials for one of them.
func (f *checkFlags) agree(urls int, credentials bool) error {
	switch {
	case urls == 0 && f.config == "":
		return usagef("check takes the URL of an endpoint, such as https://example.com/mcp")
	case urls > maxTargets:
		return usagef("check takes %d URLs at most", maxTargets)
	case credentials && (urls > 1 || f.config != ""):
		return usagef("--token, --token-env and --header are for one endpoint: several would all be sent them; scan that one alone")
	case f.stdio && f.config == "":
		return usagef("--stdio is about the servers of --config")
	case f.yes && !f.stdio:
		return usagef("--yes is about the servers of --stdio")
	}
	return nil
}

// planOptions fills in how targets are scanned.
func (f *checkFlags) planOptions(p *checkPlan, cfg config.Config, version string) error {
	o := check.Options{Version: version, Profile: check.Profile(f.profile), AllowPrivate: f.allowPrivate}
	if !slices.Contains(check.Profiles(), o.Profile) {
		return usagef("--profile %q: must be one of local, verifymcp, strict", f.profile)
	}
	var err error
	if o.Wanted, err = f.wanted(); err != nil {
		return err
	}
	if o.DNSSEC, err = f.validator(); err != nil {
		return err
	}
	o.Roots, err = roots(cfg.CABundle)
	p.options = o
	return err
}

// planGate fills in what must be reached.
func (f *checkFlags) planGate(p *checkPlan) error {
	if f.minScore < 0 || f.minScore > 100 {
		return usagef("--min-score %d: must be a whole number from 0 to 100", f.minScore)
	}
	p.gate = triage.Gate{MinScore: f.minScore, MinCategory: map[string]int{}, FailOn: check.Severity(f.failOn)}
	for _, text := range f.min {
		id, number, _ := strings.Cut(text, "=")
		n, err := strconv.Atoi(number)
		switch {
		case !slices.Contains(check.CategoryIDs(), id):
			return usagef("--min %q: there is no category %q; there are: %s", text, id, strings.Join(check.CategoryIDs(), ", "))
		case err != nil || n < 0 || n > 100:
			return usagef("--min %q: must be a category and a whole number from 0 to 100, as in %s=80", text, id)
		}
		p.gate.MinCategory[id] = n
	}
	if f.failOn == "" && f.baseline != "" {
		p.gate.FailOn = check.Low
	}
	if f.failOn != "" && !p.gate.FailOn.AtLeast(check.Low) {
		return usagef("--fail-on %q: must be one of low, medium, high, critical", f.failOn)
	}
	return nil
}

// planTriage reads what is accepted.
func (f *checkFlags) planTriage(p *checkPlan) error {
	var err error
	if f.suppress != "" {
		if p.suppressions, err = triage.ReadSuppressions(f.suppress, time.Now()); err != nil {
			return usageError(err.Error())
		}
	}
	if f.baseline != "" {
		p.compared = true
		if p.baseline, err = triage.ReadBaseline(f.baseline); err != nil {
			return usageError(err.Error() + "; write one with --write-baseline")
		}
	}
	return nil
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
	return &dnssec.Validator{Resolver: server, Anchors: dnssec.RootAnchors()}, nil
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
		if !ok || !isHeader(key, value) {
			return nil, usagef("--header: must be a name, a colon and a value, as in 'X-Key: secret'")
		}
		h.Add(key, value)
	}
	return h, nil
}

// isHeader reports whether name and value may stand in a request (RFC 9110, 5.1 and 5.5).
func isHeader(name, value string) bool {
	wrong := func(r rune) bool { return r < ' ' || r > '~' }
	return name != "" && !strings.ContainsAny(name, " \t()<>@,;:\\\"/[]?={}") && !strings.ContainsFunc(name+value, wrong)
}

// wanted returns which signals --only and --skip leave.
func (f *checkFlags) wanted() (func(string) bool, error) {
	for _, pattern := range slices.Concat(f.only, f.skip) {
		if !slices.ContainsFunc(check.SignalIDs(), func(id string) bool { return triage.Matches(pattern, id) }) {
			return nil, usagef("no signal matches %q; there are: %s", pattern, strings.Join(check.SignalIDs(), ", "))
		}
	}
	return func(id string) bool {
		match := func(pattern string) bool { return triage.Matches(pattern, id) }
		return (len(f.only) == 0 || slices.ContainsFunc(f.only, match)) && !slices.ContainsFunc(f.skip, match)
	}, nil
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
