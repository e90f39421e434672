package chat

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"runpython/internal/excerpt"
	"runpython/internal/fault"
	"runpython/internal/kernel"
	"runpython/internal/pypi"
	"runpython/internal/pypi/names"
	"runpython/internal/pypi/requirement"
)

// Packages installs packages into the environment of a chat's interpreter; *pypi.Installer is
// one. It bounds its own time.
type Packages interface {
	Install(ctx context.Context, r pypi.Request) (pypi.Report, error)
}

// Bounds of what a turn installs and tells of it.
const (
	broughtPackages = 32   // that imports of one run may ask for
	toldPackages    = 10   // that the text names
	toldReasons     = 5    // why packages are not there
	progressBytes   = 200  // of a line about packages
	reasonBytes     = 1000 // of one reason
	buildLogBytes   = 2000 // of the end of what a build printed
)

// shipment is what a turn has installed.
type shipment struct {
	packages []Package // new ones and other versions
	removed  []string
	present  []string // asked for by name, and there already
	warnings []string
	reasons  int      // why something is not installed
	untold   int      // of these reasons, too many to be told
	untried  []string // that code imports, after something that ended the tries
	buildLog string   // the end of what the last build has printed that failed

	done    bool     // something was installed before the run
	changed []string // import names of what got another version then
}

// A Package is something that a turn has installed.
type Package struct {
	Name    string // normal form (PEP 503)
	Version string
	Was     string // the version before, "" for a new one
}

// refusedError is why nothing was run: what the message asks for, a package or a Python, is not there.
type refusedError struct{ reason string }

// Error returns the reason.
func (e *refusedError) Error() string { return e.reason }

// canInstall reports whether the chat's interpreter can have packages.
func (x *execution) canInstall() bool {
	return x.service.options.Packages != nil && x.chat.kernel.Environment() != ""
}

// putBack gives a new interpreter the packages that the chat has. Code can do without: what
// it imports is then asked for again.
func (x *execution) putBack(ctx context.Context) error {
	if len(x.chat.lock.Packages) == 0 || !x.canInstall() {
		return nil
	}
	_, err := x.install(ctx, nil)
	switch {
	case err == nil:
		x.shipment.done = true
	case ctx.Err() != nil:
		return x.stopped(ctx, err)
	default:
		x.problem("The packages of this chat could not be put back into its new interpreter: " + x.reason(ctx, err) + ".")
	}
	return nil
}

// installAsked installs what the message asks for by name. Its error says why nothing runs.
func (x *execution) installAsked(ctx context.Context) error {
	asked := x.message.Requirements
	if len(asked) == 0 {
		return nil
	}
	if !x.canInstall() {
		return &refusedError{"this server installs no packages (--packages off), only Python's standard library is there"}
	}
	r, err := x.install(ctx, asked)
	switch {
	case err == nil:
		x.shipment.done, x.shipment.changed, x.shipment.present = true, outdated(r), r.Present
		return nil
	case ctx.Err() != nil:
		return x.stopped(ctx, err)
	}
	return &refusedError{x.reason(ctx, err)}
}

// refuse answers a message whose packages cannot be installed: nothing was run.
func (x *execution) refuse(e *refusedError) *Reply {
	x.reply.IsError = true
	var b blocks
	b.text("Nothing was run, since what the message asks for is not there: " + escaped(e.reason) + ".")
	x.wordProblems(&b)
	b.notes(x.message.Notes)
	x.reply.Text = b.String()
	if x.chat.saved {
		x.reply.ChatID = x.chat.id
	}
	return &x.reply
}

// supply returns what installs the modules that code needs, nil where nothing can be installed.
func (x *execution) supply() func(ctx context.Context, missing []string) (changed []string, err error) {
	if !x.canInstall() {
		return nil
	}
	return func(ctx context.Context, missing []string) ([]string, error) {
		defer x.problemsLeftOut()
		wanted := x.distributions(missing)
		if len(wanted) == 0 {
			return nil, nil
		}
		defer x.report(Progress{Step: "running"})
		changed := x.installImported(ctx, wanted)
		if x.unfit() {
			return nil, errUnfit
		}
		return changed, nil
	}
}

// installImported installs what it can of the packages that code imports, and returns the import names of what
// has another version now.
func (x *execution) installImported(ctx context.Context, wanted []string) (changed []string) {
	r, err := x.install(ctx, wanted)
	kind, _ := fault.Shown(err)
	switch {
	case err == nil || ctx.Err() != nil:
	case kind == fault.Invalid && len(wanted) > 1: // one that cannot be had is no reason to go without the others
		return x.installEach(ctx, wanted)
	default:
		x.notImported(ctx, err)
	}
	return outdated(r)
}

// installEach installs what it can of the packages that code imports, until something else
// than the packages stands in the way.
func (x *execution) installEach(ctx context.Context, wanted []string) (changed []string) {
	for i, name := range wanted {
		r, err := x.install(ctx, []string{name})
		if ctx.Err() != nil {
			break
		}
		changed = append(changed, outdated(r)...)
		if err == nil {
			continue
		}
		x.notImported(ctx, err)
		if kind, _ := fault.Shown(err); kind != fault.Invalid {
			x.shipment.untried = wanted[i+1:]
			break
		}
	}
	return changed
}

// distributions returns what may bring modules, and says which cannot be brought.
func (x *execution) distributions(missing []string) []string {
	var wanted []string
	for _, module := range missing {
		name, _ := names.Distribution(module)
		if why, ok := names.Unavailable(module); ok {
			x.problem("Not installed: " + why + ".")
		}
		if name != "" && !slices.Contains(wanted, name) {
			wanted = append(wanted, name)
		}
	}
	if left := len(wanted) - broughtPackages; left > 0 {
		x.problem(fmt.Sprintf("The code imports more packages than are installed for one run (%d): %d of them are left out.", broughtPackages, left))
		wanted = wanted[:broughtPackages]
	}
	return wanted
}

// notImported tells why what code imports is not there.
func (x *execution) notImported(ctx context.Context, err error) {
	x.problem("Not installed, although the code imports it: " + x.reason(ctx, err) + ".")
}

// problem adds a sentence, unless there are enough.
func (x *execution) problem(sentence string) {
	x.shipment.reasons++
	switch {
	case slices.Contains(x.problems, sentence):
	case x.shipment.reasons > toldReasons:
		x.shipment.untold++
	default:
		x.problems = append(x.problems, sentence)
	}
}

// problemsLeftOut tells what the sentences about missing packages are silent about.
func (x *execution) problemsLeftOut() {
	s := &x.shipment
	if list := listed(s.untried, toldPackages, asItIs); list != "" {
		x.problems = append(x.problems, "Not tried after that: "+list+"; leave out what cannot be installed, or send the code again.")
	}
	if s.untold > 0 {
		x.problems = append(x.problems, fmt.Sprintf("There are more packages that are not installed; %d reasons are left out here.", s.untold))
	}
	s.untried, s.untold = nil, 0
}

// reason returns what may be told of a failed install.
func (x *execution) reason(ctx context.Context, err error) string {
	kind, text := fault.Shown(err)
	if kind == fault.Internal {
		x.service.options.Log.ErrorContext(ctx, "install packages", "chat", x.chat.id, "error", err)
	}
	if log := pypi.BuildLog(err); log != "" {
		x.shipment.buildLog = excerpt.Tail(log, buildLogBytes)
	}
	return excerpt.Middle(strings.TrimRight(text, ". "), reasonBytes)
}

// install installs requirements into the environment of the chat's interpreter, beside what
// it has. Without any it puts back what the chat has.
func (x *execution) install(ctx context.Context, requirements []string) (pypi.Report, error) {
	what := strings.Join(requirements, ", ")
	if len(requirements) == 0 {
		what = "the packages of this chat"
	}
	x.report(Progress{Step: excerpt.Begin("installing "+what, progressBytes)})
	r, err := x.installInto(ctx, x.chat.kernel.Environment(), x.chat.kernel.Preloaded(), requirements)
	if err != nil {
		return pypi.Report{}, err
	}
	record, err := writeLock(r.Lock)
	if err != nil {
		return pypi.Report{}, err
	}
	x.chat.lock, x.chat.packages = r.Lock, record
	s := &x.shipment
	s.warnings = append(s.warnings, r.Warnings...)
	for _, p := range askedFirst(r.Added, requirements) {
		s.packages = append(s.packages, Package{Name: p.Name, Version: p.Version})
	}
	for _, p := range r.Changed {
		s.packages = append(s.packages, Package{Name: p.Name, Version: p.Version, Was: p.From})
	}
	for _, p := range r.Removed {
		s.removed = append(s.removed, p.Name)
	}
	return r, nil
}

// installInto installs requirements, and what the chat has, into the environment of an interpreter.
func (x *execution) installInto(ctx context.Context, environment string, preloaded bool, requirements []string) (pypi.Report, error) {
	r, err := x.service.options.Packages.Install(ctx, pypi.Request{
		Folder: environment, Requirements: requirements, Installed: x.chat.lock, Shared: x.service.shared(preloaded),
		Progress: func(line string) { x.report(Progress{Step: excerpt.Begin(line, progressBytes)}) },
	})
	if err != nil {
		return pypi.Report{}, fmt.Errorf("install packages: %w", err)
	}
	return r, nil
}

// restock fills the environment of an interpreter that will be restored with what the chat has. Without it what code has
// imported would not be there.
func (x *execution) restock(ctx context.Context, environment string, preloaded bool) error {
	if len(x.chat.lock.Packages) == 0 || x.service.options.Packages == nil || environment == "" {
		return nil
	}
	x.report(Progress{Step: "installing the packages of this chat"})
	if _, err := x.installInto(ctx, environment, preloaded, nil); err != nil {
		if ctx.Err() != nil {
			return err
		}
		return fault.New(fault.Unsupported, err, "its packages could not be put back: "+x.reason(ctx, err))
	}
	return nil
}

// outdated returns the import names of what had another version before an install, or is gone.
func outdated(r pypi.Report) []string {
	var modules []string
	for _, p := range r.Changed {
		modules = append(modules, p.Imports...)
	}
	for _, p := range r.Removed {
		modules = append(modules, p.Imports...)
	}
	return modules
}

// askedFirst returns packages in an order for people: what was asked for, then what that needs.
func askedFirst(packages []pypi.Package, requirements []string) []pypi.Package {
	place := make(map[string]int, len(requirements))
	for i, text := range requirements {
		if r, err := requirement.Parse(text); err == nil { // else nothing was installed for it
			place[r.Name] = i - len(requirements)
		}
	}
	packages = slices.Clone(packages)
	slices.SortStableFunc(packages, func(p, q pypi.Package) int { return cmp.Compare(place[p.Name], place[q.Name]) })
	return packages
}

// readLock reads what a chat has installed from its record.
func readLock(text string) (lock pypi.Lock, err error) {
	if text == "" {
		return lock, nil
	}
	if err := json.Unmarshal([]byte(text), &lock); err != nil {
		return lock, fmt.Errorf("packages of a chat: %w", err)
	}
	return lock, nil
}

// writeLock is the counterpart of readLock.
func writeLock(lock pypi.Lock) (string, error) {
	if len(lock.Packages) == 0 && len(lock.Requirements) == 0 {
		return "", nil
	}
	text, err := json.Marshal(lock)
	if err != nil {
		return "", fmt.Errorf("packages of a chat: %w", err)
	}
	return string(text), nil
}

// wordPackages says in one line what was installed, "" for nothing.
func (s *shipment) wordPackages() string {
	var parts []string
	if list := listed(s.packages, toldPackages, func(p Package) string {
		if p.Was == "" {
			return p.Name + " " + p.Version
		}
		return fmt.Sprintf("%s %s (it was %s)", p.Name, p.Version, p.Was)
	}); list != "" {
		parts = append(parts, "installed "+list)
	}
	if list := listed(s.removed, toldPackages, asItIs); list != "" {
		parts = append(parts, "removed "+list)
	}
	if list := listed(s.present, toldPackages, asItIs); list != "" {
		parts = append(parts, "there already: "+list)
	}
	text := strings.Join(parts, "; ")
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

// listed joins the first of some things, and tells how many there are beside.
func listed[T any](all []T, most int, word func(T) string) string {
	words := make([]string, 0, min(len(all), most))
	for _, one := range all[:min(len(all), most)] {
		words = append(words, word(one))
	}
	text := strings.Join(words, ", ")
	if more := len(all) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

func asItIs(name string) string { return name }

// missingHint says how to get what an import has not found, "" when there is nothing to add.
func (x *execution) missingHint(e *kernel.Exception) string {
	switch {
	case e.Type == "ModuleNotFoundError" && (strings.Contains(e.Message, "'tkinter'") || strings.Contains(e.Message, "'turtle'")):
		return "The sandbox has no display, so what draws on one (tkinter, turtle) is left out."
	case e.Type != "ModuleNotFoundError" && e.Type != "ImportError" || x.shipment.reasons > 0:
		return ""
	case x.service.options.Packages == nil:
		return "Only Python's standard library is there: this server installs no packages (--packages off)."
	case e.Type == "ModuleNotFoundError" || strings.Contains(e.Message, "install"):
		return "A package that nothing in the code imports by name is installed by a line such as !pip install NAME."
	}
	return ""
}
