package pypi

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"runpython/internal/fault"
	"runpython/internal/pypi/build"
	"runpython/internal/pypi/cache"
	"runpython/internal/pypi/environment"
	"runpython/internal/pypi/flock"
	"runpython/internal/pypi/requirement"
	"runpython/internal/pypi/source"
	"runpython/internal/pypi/uv"
	"runpython/internal/pypi/wheel"
)

// Bounds of builds.
const (
	maxBuilds   = 2                // at once; each has a guest
	maxFailures = 100              // that are remembered
	failureTime = 10 * time.Minute // so long, since what failed fails again
	staleTime   = 2 * time.Hour    // age of a file that no living process uses: beyond any time of an install
)

// builds is what the builds of an Installer share.
type builds struct {
	dir   string // what is in there is of builds under way, and locks
	slots chan struct{}

	mu       sync.Mutex         // guards failures
	failures map[string]failure // by the digest of the source
}

// A failure is a build that has failed.
type failure struct {
	err  error
	when time.Time
}

// openBuilds makes the folder and removes what killed processes left there.
func openBuilds(dir string) (*builds, error) {
	b := &builds{dir: dir, slots: make(chan struct{}, maxBuilds), failures: map[string]failure{}}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("folder of builds: %w", err)
	}
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		info, infoErr := e.Info()
		if infoErr != nil || !e.IsDir() || time.Since(info.ModTime()) < staleTime {
			continue // gone meanwhile, a lock, or in use
		}
		err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
	}
	return b, err
}

// failed returns why the build of a source has failed a short time ago, nil if it has not.
func (b *builds) failed(sum string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	f, ok := b.failures[sum]
	if !ok || time.Since(f.when) > failureTime {
		return nil
	}
	return f.err
}

// remember keeps a failure. When there are many, all older ones are forgotten.
func (b *builds) remember(sum string, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.failures) == maxFailures {
		clear(b.failures)
	}
	b.failures[sum] = failure{err, time.Now()}
}

// built returns the wheel of a source distribution, which is built if nobody has done so: by
// one process and one chat while the others wait. Closing what is returned is the caller's.
func (j *job) built(ctx context.Context, pin wheel.Pin) (*cache.Held, error) {
	h, err := j.in.cache.Find(pin)
	if !errors.Is(err, fs.ErrNotExist) {
		return h, err
	}
	if !j.builds() {
		return nil, fault.New(fault.Invalid, nil, fmt.Sprintf("%s comes as source only, and only wheels are installed here (--source-builds)", pin))
	}
	lock, err := flock.Open(ctx, filepath.Join(j.in.builds.dir, lockPrefix+pin.SHA256[:lockDigits]))
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	if h, err := j.in.cache.Find(pin); !errors.Is(err, fs.ErrNotExist) {
		return h, err
	}
	if err := j.in.builds.failed(pin.SHA256); err != nil {
		return nil, err
	}
	select {
	case j.in.builds.slots <- struct{}{}:
		defer func() { <-j.in.builds.slots }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	h, err = j.build(ctx, pin)
	if err != nil && errors.Is(context.Cause(ctx), errTime) {
		// Kept as well: what goes on without this package shall not wait for it a second time.
		err = fault.New(fault.Invalid, err, fmt.Sprintf("%s has no wheel, and building it from its source was stopped after %v s: that is the time limit of an install (--install-timeout)", pin, j.in.config.Time.Seconds()))
		j.in.builds.remember(pin.SHA256, err)
		return nil, err
	}
	if isLasting(err) && ctx.Err() == nil {
		err = j.in.refused(pin, err)
		j.in.builds.remember(pin.SHA256, err)
	}
	return h, err
}

// isLasting reports whether another build of the same source would end like this as well. What has its words
// already is about something else, such as what the build needs.
func isLasting(err error) bool {
	if _, worded := errors.AsType[*fault.Error](err); worded {
		return false
	}
	_, failed := errors.AsType[*build.FailedError](err)
	_, bad := errors.AsType[*wheel.BadError](err)
	_, filesTooLarge := errors.AsType[*wheel.TooLargeError](err)
	return failed || bad || filesTooLarge || errors.Is(err, build.ErrTooLarge)
}

// build fetches a source, builds it and puts the wheel into the cache.
func (j *job) build(ctx context.Context, pin wheel.Pin) (h *cache.Held, err error) {
	dir, err := os.MkdirTemp(j.in.builds.dir, "build-")
	if err != nil {
		return nil, err
	}
	defer func() {
		if rmErr := os.RemoveAll(dir); rmErr != nil {
			j.in.config.Log.Warn("a folder of a build could not be removed", slog.Any("error", rmErr))
		}
	}()
	archive := filepath.Join(dir, "source")
	if err := j.fetchSource(ctx, pin, archive); err != nil {
		return nil, err
	}
	made, err := os.OpenFile(filepath.Join(dir, "wheel"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	defer made.Close()
	j.say("building %s from its source", pin)
	began := time.Now()
	file, err := build.Build(ctx, j.in.config.Guests, build.Order{
		Pin: pin, Archive: archive, Wheel: made, Bytes: j.in.config.WheelBytes,
		Provide: func(ctx context.Context, folder string, list []string) error {
			return j.provide(ctx, pin, folder, list)
		},
	})
	if err != nil {
		return nil, err
	}
	if err := wheel.CheckBuilt(file, pin, wheel.MinorVersion(j.in.config.PythonVersion)); err != nil {
		return nil, err
	}
	if _, err := made.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	j.in.config.Log.Info("a package was built from its source", slog.String("package", pin.String()), slog.String("wheel", file), slog.Duration("time", time.Since(began)))
	return j.in.cache.Ensure(ctx, pin, func(_ context.Context, w io.Writer, most int64) (int64, error) {
		return source.CopyBounded(w, made, most)
	})
}

// fetchSource downloads a source distribution and compares its digest.
func (j *job) fetchSource(ctx context.Context, pin wheel.Pin, name string) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	sum := sha256.New()
	_, err = j.download(ctx, pin, io.MultiWriter(f, sum), j.in.config.WheelBytes)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	if hex.EncodeToString(sum.Sum(nil)) != pin.SHA256 {
		return &cache.MismatchError{Pin: pin}
	}
	return nil
}

// provide installs what a build needs into the folder that its guest imports from: wheels
// only, by the rules for whatever a package needs.
func (j *job) provide(ctx context.Context, pin wheel.Pin, folder string, list []string) error {
	needs, err := parseAll(list)
	if err == nil {
		sub := &job{in: j.in, wheelsOnly: true, request: Request{Folder: folder, Progress: func(line string) { j.say("%s", line) }}}
		err = sub.installAll(ctx, needs)
	}
	refusal, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return err
	}
	return fault.New(refusal.Kind, err, fmt.Sprintf("%s cannot be built from its source, because of what its build needs: %s", pin, refusal.Message))
}

// installAll makes a folder hold what the requirements need and nothing else.
func (j *job) installAll(ctx context.Context, needs []requirement.Requirement) error {
	if len(needs) > 0 {
		found, err := j.ask(ctx, uv.Query{Requirements: ordered(needs), Before: j.in.before()})
		if err != nil {
			return err
		}
		j.pins = found.Pins
	}
	if err := j.in.gate.Resolved(j.pins); err != nil {
		return err
	}
	held, err := j.ensure(ctx, j.pins)
	defer closeAll(held)
	if err != nil {
		return err
	}
	_, err = environment.Apply(ctx, j.request.Folder, partsOf(held))
	for _, p := range j.pins {
		j.in.late.forget(p.SHA256, j.request.Folder) // the folder is gone before any bytecode comes
	}
	return err
}

// BuildLog returns the end of what a build has printed whose failure is err, "" when there is
// none. It is text of the package: valid UTF-8 of at most 4 KiB, without control characters
// but line ends and tabs.
func BuildLog(err error) string {
	if f, ok := errors.AsType[*build.FailedError](err); ok {
		return f.Log
	}
	return ""
}

// noteBuilt says that a package was built.
func (j *job) noteBuilt(p Package) {
	if p.IsSource() {
		j.report.Warnings = messages(j.report.Warnings, []string{fmt.Sprintf("%s has no wheel that fits, so it was built from its source in a sandbox of its own", p)})
	}
}
