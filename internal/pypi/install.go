package pypi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"runpython/internal/fault"
	"runpython/internal/pypi/build"
	"runpython/internal/pypi/cache"
	"runpython/internal/pypi/environment"
	"runpython/internal/pypi/policy"
	"runpython/internal/pypi/requirement"
	"runpython/internal/pypi/source"
	"runpython/internal/pypi/wheel"
)

// maxDownloads bounds how many wheels of one install are fetched or unpacked at once.
const maxDownloads = 4

// A Request is packages for one environment.
type Request struct {
	Folder       string   // of the environment; made if needed. A guest may have it mounted
	Requirements []string // what is asked for, besides what is there (PEP 508)
	Constraints  []string // versions that must be kept to, whatever is asked for (PEP 508)
	Installed    Lock     // what the environment has, or had; if nothing, that of Shared
	// Shared is what the interpreter has beside the environment, read-only. It counts as installed, and is not
	// put into Folder unless other versions of it are.
	Shared Lock

	// Progress, if not nil, gets short lines for people, such as "resolving" and
	// "downloading pandas 3.0.1 (12 MB)"; never two at once.
	Progress func(line string) `json:"-"`
}

// A Report is what an install did.
type Report struct {
	Lock     Lock      // what the environment holds now; keep it with the chat
	Added    []Package // new ones, what others need included
	Changed  []Change  // in another version than before
	Removed  []Package // that nothing needs any more
	Present  []string  // what was asked for and was there already
	Warnings []string  // for whoever asked

	Resolved         bool  // uv was asked; false when the answer was known
	Compiled         bool  // all that is in the folder has its bytecode; else it comes in the background
	DownloadedBytes  int64 // of wheels
	EnvironmentBytes int64 // of the files of all packages, bytecode apart
	Resolving        time.Duration
	Fetching         time.Duration // and unpacking
	Linking          time.Duration
}

// A Change is a package in another version. A living interpreter that has imported one
// of Imports goes on with the old version until it is started anew.
type Change struct {
	Package
	From string // the version before
}

// errTime is why an install ends at its time limit.
var errTime = errors.New("time limit of an install")

// Install makes the environment hold what it had and what is asked for. Without
// Requirements it makes the environment of a lock again. A failure leaves the
// environment as it was or, if the machine fails while names are exchanged, with whole
// packages, some of them new; the same Install again finishes it.
func (in *Installer) Install(ctx context.Context, r Request) (Report, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, in.config.Time, errTime)
	defer cancel()
	j := &job{in: in, request: r}
	err := j.read()
	for _, step := range []func(context.Context) error{j.resolve, j.install} {
		if err == nil {
			err = step(ctx)
		}
	}
	if err != nil {
		err = in.told(ctx, err)
		in.logRefusal(ctx, err)
		return Report{}, err
	}
	return j.report, nil
}

// logRefusal keeps what only the log may have of an error whose message goes to whoever
// asked: the words of uv, of the network, of the disk. Who handles an internal one logs
// it as such.
func (in *Installer) logRefusal(ctx context.Context, err error) {
	refusal, ok := errors.AsType[*fault.Error](err)
	if !ok || refusal.Unwrap() == nil {
		return
	}
	level := slog.LevelInfo
	switch refusal.Kind {
	case fault.Internal:
		return
	case fault.Unsupported:
		level = slog.LevelWarn // the operator's matter
	default:
	}
	in.config.Log.Log(ctx, level, "packages are not installed", slog.Any("error", err))
}

// told gives an error that nobody has worded yet its words.
func (in *Installer) told(ctx context.Context, err error) error {
	if _, ok := errors.AsType[*fault.Error](err); ok {
		return err
	}
	switch {
	case errors.Is(context.Cause(ctx), errTime):
		return fault.New(fault.Unsupported, err, fmt.Sprintf("stopped after %v s: that is the time limit of an install (--install-timeout); try again, what was downloaded is kept", in.config.Time.Seconds()))
	case ctx.Err() != nil:
		return fault.New(fault.Canceled, err, "the install was stopped")
	case fault.IsDiskFull(err):
		return fault.New(fault.Unsupported, err, "the disk of the server's data folder is full, so no package can be installed; nothing that was stored is damaged")
	}
	return fault.New(fault.Internal, err, "the packages could not be installed; the operator's log has the reason")
}

// A job is one Install.
type job struct {
	in      *Installer
	request Request
	asked   []requirement.Requirement // that are not there
	fixed   []requirement.Requirement // constraints
	wanted  []requirement.Requirement // all, when something is asked for
	pins    []wheel.Pin
	report  Report

	wheelsOnly bool // it is for a build: nothing is built for it

	progress sync.Mutex // held while Progress runs
}

// say tells about progress.
func (j *job) say(format string, args ...any) {
	if j.request.Progress == nil {
		return
	}
	j.progress.Lock()
	defer j.progress.Unlock()
	j.request.Progress(fmt.Sprintf(format, args...))
}

// read reads what is asked for and applies the rules that need no index.
func (j *job) read() error {
	if len(j.request.Installed.Packages) == 0 {
		j.request.Installed = j.request.Shared
	}
	if err := errors.Join(j.request.Installed.check(), j.request.Shared.check()); err != nil {
		return fault.New(fault.Internal, err, "the list of this chat's packages is damaged; start a new chat")
	}
	if n := len(j.request.Requirements) + len(j.request.Installed.Requirements); n > maxRequirements {
		return fault.New(fault.Invalid, nil, fmt.Sprintf("%d packages are asked for in this chat, at most %d can be", n, maxRequirements))
	}
	var err error
	if j.fixed, err = parseAll(j.request.Constraints); err != nil {
		return err
	}
	all, err := parseAll(j.request.Requirements)
	if err != nil {
		return err
	}
	for _, r := range all {
		if j.fits() && j.request.Installed.has(r) {
			j.report.Present = append(j.report.Present, r.String())
		} else {
			j.asked = append(j.asked, r)
		}
	}
	j.report.Warnings, err = j.in.gate.Asked(j.asked)
	return err
}

func parseAll(list []string) ([]requirement.Requirement, error) {
	all := make([]requirement.Requirement, 0, len(list))
	for _, text := range list {
		r, err := requirement.Parse(text)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

// fits reports whether the lock is for the interpreter of today.
func (j *job) fits() bool {
	t := j.request.Installed.Target
	return t == target(j.in.config.PythonVersion) || t == "" && len(j.request.Installed.Packages) == 0
}

// install fetches the wheels and links them.
func (j *job) install(ctx context.Context) error {
	began := time.Now()
	held, err := j.hold(ctx)
	defer closeAll(held)
	j.report.Fetching = time.Since(began)
	if err != nil {
		return err
	}
	parts := partsOf(held)
	j.report.Compiled = true
	for _, h := range held {
		j.report.Compiled = j.report.Compiled && h.Compiled
		j.report.EnvironmentBytes += h.Content.Bytes
		j.report.DownloadedBytes += h.Bytes
	}
	if err := j.in.gate.Environment(j.report.EnvironmentBytes); err != nil {
		return err
	}
	began = time.Now()
	if len(parts) > 0 {
		j.say("installing %d packages", len(parts))
	}
	change, err := environment.Apply(ctx, j.request.Folder, parts)
	if err != nil {
		return err
	}
	j.report.Linking = time.Since(began)
	if change.Copied {
		j.in.config.Log.Debug("an environment is on another file system than the cache: files are copied", slog.String("folder", j.request.Folder))
	}
	j.compare(j.packages(held))
	if j.report.DownloadedBytes > 0 || j.report.Resolved {
		select {
		case j.in.tidy <- struct{}{}:
		default: // one look is due anyway
		}
	}
	return nil
}

// closeAll lets go of wheels; those that were not had are nil.
func closeAll(held []*cache.Held) {
	for _, h := range held {
		if h != nil {
			h.Close()
		}
	}
}

// partsOf returns what an environment is made of.
func partsOf(held []*cache.Held) []environment.Part {
	parts := make([]environment.Part, len(held))
	for i, h := range held {
		parts[i] = environment.Part{Content: h.Content, Tree: h.Tree}
	}
	return parts
}

// ensure returns wheels, held, in the order of the pins; also with an error those
// that are held must be closed.
func (j *job) ensure(ctx context.Context, pins []wheel.Pin) ([]*cache.Held, error) {
	held := make([]*cache.Held, len(pins))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxDownloads)
	for i, pin := range pins {
		group.Go(func() error {
			j.in.late.add(pin.SHA256, j.request.Folder)
			h, err := j.fetch(ctx, pin)
			if err != nil || h.Compiled {
				j.in.late.forget(pin.SHA256, j.request.Folder)
			}
			if err != nil {
				return j.in.refused(pin, err)
			}
			held[i] = h
			return nil
		})
	}
	return held, group.Wait()
}

// fetch returns one wheel, which is downloaded or built if it is not there.
func (j *job) fetch(ctx context.Context, pin wheel.Pin) (*cache.Held, error) {
	if pin.IsSource() {
		return j.built(ctx, pin)
	}
	return j.in.cache.Ensure(ctx, pin, func(ctx context.Context, w io.Writer, most int64) (int64, error) {
		return j.download(ctx, pin, w, most)
	})
}

func (j *job) download(ctx context.Context, pin wheel.Pin, w io.Writer, most int64) (int64, error) {
	if pin.Bytes > 0 {
		j.say("downloading %s (%s)", pin, policy.Size(pin.Bytes))
	} else {
		j.say("downloading %s", pin)
	}
	return j.in.files.Get(ctx, pin.URL, "", w, most)
}

// refused words what was wrong with a wheel.
func (in *Installer) refused(pin wheel.Pin, err error) error {
	if _, worded := errors.AsType[*fault.Error](err); worded { // of a build, and maybe of what it needs
		return err
	}
	status, isStatus := errors.AsType[*source.StatusError](err)
	failed, isFailed := errors.AsType[*build.FailedError](err)
	_, isBad := errors.AsType[*wheel.BadError](err)
	_, isMismatch := errors.AsType[*cache.MismatchError](err)
	_, filesTooLarge := errors.AsType[*wheel.TooLargeError](err)
	switch {
	case isMismatch:
		return fault.New(fault.Unsupported, err, fmt.Sprintf("%s is not installed: what came is not what the package index announced (its digest differs)", pin))
	case isFailed: // its log goes to the operator's log, and with BuildLog to whoever asked
		return fault.New(fault.Invalid, err, fmt.Sprintf("%s has no wheel and cannot be built from its source: %s", pin, failed.Reason))
	case isBad && pin.IsSource():
		return fault.New(fault.Invalid, err, fmt.Sprintf("%s is not installed: what its build made of its source is not as a wheel of it must be", pin))
	case isBad:
		return fault.New(fault.Invalid, err, fmt.Sprintf("%s is not installed: its wheel is not as wheels must be; another version may be", pin))
	case errors.Is(err, build.ErrTooLarge):
		return fault.New(fault.Invalid, err, fmt.Sprintf("%s is refused: the wheel that its build made is larger than %s (--package-size)", pin, policy.Size(in.config.WheelBytes)))
	case errors.Is(err, source.ErrTooLarge):
		return in.gate.TooLarge(pin)
	case filesTooLarge:
		return fault.New(fault.Invalid, err, fmt.Sprintf("%s is refused: its files have more than %s, which an environment may have (--environment-size)", pin, policy.Size(in.config.EnvironmentBytes)))
	case isStatus:
		return fault.New(fault.Unsupported, err, fmt.Sprintf("%s cannot be downloaded: the package index answers %d for it", pin, status.Code))
	case errors.Is(err, source.ErrUnreachable):
		return fault.New(fault.Unsupported, err, fmt.Sprintf("%s cannot be downloaded: the package index cannot be reached, or broke off; try again later", pin))
	}
	return err
}

// compare says what changed for people and for the interpreter.
func (j *job) compare(packages []Package) {
	now := Lock{Target: target(j.in.config.PythonVersion), Packages: packages}
	before := j.request.Installed
	now.Requirements = slices.Clone(before.Requirements)
	if j.wanted != nil {
		now.Requirements = texts(j.wanted)
	}
	for _, p := range packages {
		old, was := before.find(p.Name)
		switch {
		case !was:
			j.report.Added = append(j.report.Added, p)
			j.noteBuilt(p)
		case old.Version != p.Version || old.SHA256 != p.SHA256:
			j.report.Changed = append(j.report.Changed, Change{Package: p, From: old.Version})
			j.noteBuilt(p)
		}
	}
	for _, p := range before.Packages {
		if _, still := now.find(p.Name); !still {
			j.report.Removed = append(j.report.Removed, p)
		}
	}
	j.report.Lock = now
}
