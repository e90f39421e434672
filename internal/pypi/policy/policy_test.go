package policy_test

import (
	"strings"
	"testing"

	"runpython/internal/fault"
	"runpython/internal/pypi/policy"
	"runpython/internal/pypi/requirement"
	"runpython/internal/pypi/wheel"
)

func gate(t *testing.T, c policy.Config) *policy.Gate {
	t.Helper()
	c.WheelBytes, c.EnvironmentBytes = 1000, 5000
	c.LookAlike = func(name string) (string, bool) { return "requests", name == "reqeusts" }
	g, err := policy.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// Each refusal is one line that names the rule and the flag.
func TestAsked(t *testing.T) {
	for name, test := range map[string]struct {
		config policy.Config
		ask    string
		refuse string // a part of the message, "" for none
		warn   string
	}{
		"auto":                  {policy.Config{}, "six", "", ""},
		"denied":                {policy.Config{Deny: []string{"Six"}}, "six>=1", "six is refused: it is on this server's list of denied packages (--deny-package)", ""},
		"denied in other words": {policy.Config{Deny: []string{"zope_interface"}}, "Zope.Interface", "--deny-package", ""},
		"off":                   {policy.Config{Mode: policy.Off}, "six", "(--packages off)", ""},
		"listed":                {policy.Config{Mode: policy.Listed, Allow: []string{"six"}}, "six", "", ""},
		"not listed":            {policy.Config{Mode: policy.Listed, Allow: []string{"six"}}, "requests", "--allow-package requests", ""},
		"listed and denied":     {policy.Config{Mode: policy.Listed, Allow: []string{"six"}, Deny: []string{"six"}}, "six", "--deny-package", ""},
		"look-alike":            {policy.Config{}, "reqeusts", "", "reqeusts looks like requests"},
		"look-alike allowed":    {policy.Config{Allow: []string{"reqeusts"}}, "reqeusts", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := requirement.Parse(test.ask)
			if err != nil {
				t.Fatal(err)
			}
			warnings, err := gate(t, test.config).Asked([]requirement.Requirement{r})
			_, message := fault.Shown(err)
			if test.refuse == "" && err != nil || test.refuse != "" && !strings.Contains(message, test.refuse) {
				t.Errorf("Asked(%s): %q, want %q", test.ask, message, test.refuse)
			}
			if got := strings.Join(warnings, ";"); !strings.Contains(got, test.warn) || test.warn == "" && got != "" {
				t.Errorf("warnings %q, want %q", got, test.warn)
			}
		})
	}
}

func TestResolved(t *testing.T) {
	g := gate(t, policy.Config{Deny: []string{"bad"}})
	pin := func(name string, bytes int64) wheel.Pin {
		return wheel.Pin{Name: name, Version: "1.0", File: name + "-1.0-py3-none-any.whl", Bytes: bytes}
	}
	source := wheel.Pin{Name: "s", Version: "1.0", File: "s-1.0.tar.gz", Bytes: 1001}
	six := make([]wheel.Pin, 6)
	for i := range six {
		six[i] = pin("x", 1000)
	}
	for name, test := range map[string]struct {
		pins []wheel.Pin
		want string
	}{
		"fine":        {[]wheel.Pin{pin("a", 1000), pin("b", 0)}, ""},
		"dependency":  {[]wheel.Pin{pin("a", 1), pin("bad", 1)}, "bad is refused"},
		"large":       {[]wheel.Pin{pin("a", 1001)}, "a 1.0 is refused: its wheel is larger than 1.0 kB (--package-size)"},
		"source":      {[]wheel.Pin{source}, "s 1.0 is refused: its source is larger than 1.0 kB (--package-size)"},
		"together":    {six, "together they have 6.0 kB, and an environment may have 5.0 kB (--environment-size)"},
		"none at all": {nil, ""},
	} {
		_, message := fault.Shown(g.Resolved(test.pins))
		if test.want == "" && g.Resolved(test.pins) != nil || !strings.Contains(message, test.want) {
			t.Errorf("%s: %q, want %q", name, message, test.want)
		}
	}
}

func TestSize(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "1.0 kB", 12_300_000: "12 MB", 1 << 40: "1.1 TB", 5e15: "5000 TB"} {
		if got := policy.Size(n); got != want {
			t.Errorf("Size(%d) = %q, want %q", n, got, want)
		}
	}
}
