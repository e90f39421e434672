package uv

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"runpython/internal/fault"
	"runpython/internal/pattern"
	"runpython/internal/pypi/requirement"
	"runpython/internal/pypi/wheel"
)

// Parts of uv's sentences. Only what these match reaches a message: names, versions and
// tags, nothing that somebody wrote into an index as free text.
const (
	nameExp = `([A-Za-z0-9][A-Za-z0-9._-]{0,99})`
	specExp = `([A-Za-z0-9._-]{1,100}(?:\[[A-Za-z0-9._,-]{1,100}\])?(?:[<>=!~]{1,3}[A-Za-z0-9.*+!_-]{1,50},?){0,8})`
)

// frame is what older versions draw around their sentences.
var frame = strings.NewReplacer("×", " ", "╰─▶", " ", "├─▶", " ", "│", " ")

// An explanation is one kind of failure.
type explanation struct {
	match func() *regexp.Regexp
	kind  fault.Kind
	say   func(c *complaint, m []string) string // "" passes on to the next one
}

// A complaint is what uv says of a query.
type complaint struct {
	text   string // in one line
	q      Query
	python string // "3.14"
}

func newComplaint(q Query, printed, python string) *complaint {
	return &complaint{text: strings.Join(strings.Fields(frame.Replace(printed)), " "), q: q, python: python}
}

// explanation returns the first one that has words for c, with what it matched.
func (c *complaint) explanation() (kind fault.Kind, message string, matched string) {
	for _, e := range explanations {
		if m := e.match().FindStringSubmatch(c.text); m != nil {
			if message := e.say(c, m); message != "" {
				return e.kind, message, m[0]
			}
		}
	}
	return fault.Unsupported, "the packages could not be resolved; the operator's log has the reason", ""
}

// explain turns what uv has printed into an error with one line for whoever asked.
func (p *Program) explain(ctx context.Context, q Query, printed string, err error) error {
	cause := fmt.Errorf("%w: %s", err, p.config.Sources.Redact(strings.TrimSpace(printed)))
	c := newComplaint(q, printed, wheel.MinorVersion(p.config.PythonVersion))
	kind, message, matched := c.explanation()
	if kind == fault.Invalid {
		cause = errors.Join(ErrConflict, cause)
		if names := c.withoutWheel(); len(names) > 0 {
			cause = errors.Join(&NoWheelError{Names: names, SourceOnly: unusable().MatchString(matched)}, cause)
		}
		message += p.other(ctx, q, matched)
	}
	return fault.New(kind, cause, message)
}

// explanations are tried in this order: what keeps an answer from being had, then why
// the answer is no.
var explanations = []explanation{
	{pattern.New(`invalid peer certificate|UnknownIssuer|certificate verify failed`), fault.Unsupported, say(
		"the certificate of the package index is not trusted by this server; the operator can name the authority's certificate with --ca-bundle")},
	{pattern.New(`401 Unauthorized`), fault.Unsupported, say(
		"the package index wants credentials that this server does not have (401); nothing is taken from another index instead")},
	{pattern.New(`403 Forbidden`), fault.Unsupported, say(
		"the package index refuses this server (403); nothing is taken from another index instead")},
	{pattern.New(`HTTP status (?:server|client) error \(([0-9]{3})`), fault.Unsupported, func(_ *complaint, m []string) string {
		return fmt.Sprintf("the package index answers with an error (%s); try again later", m[1])
	}},
	{pattern.New("Failed to read `--find-links`"), fault.Unsupported, say(
		"the folder of wheels cannot be read; the operator has set it with --find-links")},
	{pattern.New(`Failed to fetch|error sending request|Request failed after|Network connectivity is disabled|operation timed out`), fault.Unsupported, say(
		"the package index cannot be reached, so no package can be installed now; code that needs none works")},

	{pattern.New(`Failed to [a-z ]*(?:wheel|metadata)[a-z ]*[^A-Za-z0-9]+` + nameExp + `\.whl`), fault.Invalid, func(_ *complaint, m []string) string {
		return fmt.Sprintf("%s.whl is not as wheels must be, so it is not installed; another version may be", m[1])
	}},
	{pattern.New(specExp + ` (?:has|have) (?:an invalid package format|invalid metadata|inconsistent metadata)`), fault.Invalid, func(_ *complaint, m []string) string {
		return spaced(m[1]) + " is not as wheels must be, so it is not installed; another version may be"
	}},
	{pattern.New("Package `" + nameExp + "` was included as a URL dependency"), fault.Invalid, func(_ *complaint, m []string) string {
		return "what was asked for needs " + m[1] + " from an address of its own, and packages come only from the package index here"
	}},
	{pattern.New(nameExp + ` was not found in the (?:package registry|provided package locations)`), fault.Invalid, noSuchProject},
	{pattern.New(specExp + ` was yanked`), fault.Invalid, func(_ *complaint, m []string) string {
		return fmt.Sprintf("%s was withdrawn by its authors (yanked); ask for another version, or for exactly that one", spaced(m[1]))
	}},
	{pattern.New("`" + nameExp + "` was filtered by `exclude-newer`"), fault.Invalid, tooNew},
	{unusable, fault.Invalid, func(c *complaint, m []string) string {
		if c.contradicts(m[1]) {
			return ""
		}
		return fmt.Sprintf("%s comes as source only, and only wheels are installed here", spaced(m[1]))
	}},
	{unfitting, fault.Invalid, noWheel},
	{pattern.New(specExp + ` depends on Python`), fault.Invalid, func(c *complaint, m []string) string {
		return fmt.Sprintf("%s does not support Python %s", spaced(m[1]), c.python)
	}},
	{pattern.New(`there is no version of ` + specExp), fault.Invalid, func(c *complaint, m []string) string {
		return fmt.Sprintf("there is no version of %s", spaced(m[1])) + c.neededBy(m[1])
	}},
	{pattern.New(`there are no versions of ` + nameExp), fault.Invalid, func(c *complaint, m []string) string {
		return fmt.Sprintf("the package index has no version of %s", m[1]) + c.neededBy(m[1])
	}},
	{pattern.New(`only ` + specExp + ` (?:is|are) available and you require ` + specExp), fault.Invalid, func(_ *complaint, m []string) string {
		if !strings.ContainsAny(m[2], "<>=!~") {
			return "" // any version would do, so something else stands in the way
		}
		return fmt.Sprintf("no version of the package fits %s: only %s is available", spaced(m[2]), spaced(m[1]))
	}},
	{pattern.New(`No solution found|unsatisfiable|incompatible`), fault.Invalid, conflict},
}

// What uv says of a package whose versions have no wheels at all, or none for this machine.
var (
	unusable  = pattern.New(specExp + ` (?:has|have) no usable wheels`)
	unfitting = pattern.New(specExp + ` (?:has|have) no wheels with a matching (?:Python|platform)`)
)

// maxWithoutWheel bounds the packages that are named as such.
const maxWithoutWheel = 20

// withoutWheel returns the names of all packages of which uv says that.
func (c *complaint) withoutWheel() []string {
	var names []string
	for _, m := range append(unusable().FindAllStringSubmatch(c.text, -1), unfitting().FindAllStringSubmatch(c.text, -1)...) {
		if name := nameOf(m[1]); requirement.IsName(name) && !slices.Contains(names, name) && len(names) < maxWithoutWheel {
			names = append(names, name)
		}
	}
	return names
}

// say returns a fixed sentence.
func say(text string) func(*complaint, []string) string {
	return func(*complaint, []string) string { return text }
}

// spaced separates a name from its versions: "pandas >=2".
func spaced(spec string) string {
	i := strings.IndexAny(spec, "<>=!~")
	if i < 0 {
		return spec
	}
	return spec[:i] + " " + strings.TrimRight(strings.TrimPrefix(spec[i:], "=="), ",.")
}

// nameOf returns the name in "pandas[x]>=2", normalised.
func nameOf(spec string) string {
	if i := strings.IndexAny(spec, "<>=!~["); i >= 0 {
		spec = spec[:i]
	}
	return requirement.Normalize(spec)
}

// neededBy says who needs a package that nobody asked for.
func (c *complaint) neededBy(spec string) string {
	name := nameOf(spec)
	if slices.ContainsFunc(c.q.Requirements, func(r requirement.Requirement) bool { return r.Name == name }) {
		return ""
	}
	for _, m := range dependency().FindAllStringSubmatch(c.text, -1) {
		if nameOf(m[2]) == name {
			return ", which " + spaced(m[1]) + " needs"
		}
	}
	return ""
}

// contradicts reports whether a version without a wheel is a detail only: uv says so of withdrawn versions
// as well, where what rules the others out is that they need another version of something that was asked for.
func (c *complaint) contradicts(spec string) bool {
	return slices.ContainsFunc(dependency().FindAllStringSubmatch(c.text, -1), func(m []string) bool {
		needed := nameOf(m[2])
		return nameOf(m[1]) == nameOf(spec) && needed != nameOf(spec) && slices.ContainsFunc(c.q.Requirements, func(r requirement.Requirement) bool {
			return r.Name == needed && len(r.Clause) > 0
		})
	})
}

var dependency = pattern.New(specExp + ` depends? on ` + specExp)

func noSuchProject(c *complaint, m []string) string {
	where := "package index has"
	if strings.Contains(m[0], "locations") {
		where = "folders of wheels have"
	}
	return fmt.Sprintf("the %s no package named %q%s; look at the spelling, the name to install can differ from the name to import", where, m[1], c.neededBy(m[1]))
}

var published = pattern.New(`latest version satisfying the requirement is v([A-Za-z0-9.+!_-]+), published at ([0-9-]{10})`)

func tooNew(c *complaint, m []string) string {
	version, when := "", ""
	if p := published().FindStringSubmatch(c.text); p != nil {
		version, when = " "+p[1], " on "+p[2]
	}
	return fmt.Sprintf("%s%s was published%s, too short a time ago to be installed: this server takes only what was uploaded before %s (--exclude-newer); ask for an older version",
		m[1], version, when, c.q.Before.UTC().Format("2006-01-02"))
}

var tags = pattern.New("(?i:wheels) (?:for|are available for) `" + nameExp + "` \\(v([A-Za-z0-9.+!_-]+)\\).{0,60}?: ((?:`[A-Za-z0-9_]+`(?:, | and )?)+)")

func noWheel(c *complaint, m []string) string {
	if c.contradicts(m[1]) {
		return ""
	}
	text := fmt.Sprintf("%s has no wheel for Python %s on this machine", spaced(m[1]), c.python)
	if t := tags().FindStringSubmatch(c.text); t != nil {
		text += fmt.Sprintf(" (version %s has some for %s)", t[2], strings.ReplaceAll(t[3], "`", ""))
	}
	return text
}

// maxReasons bounds the dependencies that a message about a conflict names.
const maxReasons = 4

// conflict says which requirements exclude each other.
func conflict(c *complaint, _ []string) string {
	var reasons []string
	for _, m := range dependency().FindAllStringSubmatch(c.text, -1) {
		reason := fmt.Sprintf("%s needs %s", spaced(m[1]), spaced(strings.TrimRight(m[2], ".,")))
		if !slices.Contains(reasons, reason) && len(reasons) < maxReasons {
			reasons = append(reasons, reason)
		}
	}
	var asked []string
	for _, m := range required().FindAllStringSubmatch(c.text, -1) {
		for _, spec := range []string{m[1], m[2]} {
			if spec = spaced(strings.TrimRight(spec, ".,")); spec != "" && !slices.Contains(asked, spec) && len(asked) < maxReasons {
				asked = append(asked, spec)
			}
		}
	}
	switch {
	case len(reasons) > 0 && len(asked) == 1:
		return fmt.Sprintf("%s cannot be installed, since no versions go together: %s", asked[0], strings.Join(reasons, ", "))
	case len(asked) == 1:
		return asked[0] + " cannot be installed: none of its versions will do"
	case len(reasons) > 0 && len(asked) > 0:
		return fmt.Sprintf("%s do not go together: %s", strings.Join(asked, " and "), strings.Join(reasons, ", "))
	case len(asked) > 0:
		return fmt.Sprintf("%s do not go together", strings.Join(asked, " and "))
	}
	return "these packages do not go together in any of their versions"
}

var required = pattern.New(`you require ` + specExp + `(?:,? and ` + specExp + `)?`)

// other tells which version of a package would do, when the one that was asked for has
// no wheel.
func (p *Program) other(ctx context.Context, q Query, matched string) string {
	if q.NoDeps || !strings.Contains(matched, "no wheels with") && !strings.Contains(matched, "no usable wheels") {
		return ""
	}
	for _, r := range q.Requirements {
		if len(r.Clause) == 0 || !strings.Contains(matched, r.Name) {
			continue
		}
		bare := Query{Requirements: []requirement.Requirement{{Name: r.Name}}, Before: q.Before, NoDeps: true}
		if found, err := p.Resolve(ctx, bare); err == nil && len(found.Pins) == 1 {
			return fmt.Sprintf("; version %s has one", found.Pins[0].Version)
		}
	}
	return ""
}
