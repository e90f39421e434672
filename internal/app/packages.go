package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"runpython/internal/config"
	"runpython/internal/fault"
	"runpython/internal/kernel/guest"
	"runpython/internal/metrics"
	"runpython/internal/pypi"
	"runpython/internal/pypi/build"
	"runpython/internal/sandbox"
	"runpython/internal/sandbox/interpreter"
	"runpython/internal/span"
)

// packagesConfig is what the installer is told. Its folder is on the file system of the
// guests, so that wheels are linked.
func packagesConfig(c config.Config, python *interpreter.Interpreter, environ []string) pypi.Config {
	extra := make([]string, len(c.ExtraIndexURLs))
	for i, u := range c.ExtraIndexURLs {
		extra[i] = u.Reveal()
	}
	age := c.ExcludeNewer
	if age == 0 {
		age = -1
	}
	return pypi.Config{
		Dir: filepath.Join(c.Data, "packages"), Python: python.Executable(), PythonVersion: python.Version,
		GuestPython: sandbox.GuestPython + "/bin/python3", GuestDir: sandbox.GuestPackages,
		Environ: environ, UV: c.UV, IndexURL: c.IndexURL.Reveal(), ExtraIndexURLs: extra,
		FindLinks: c.FindLinks, NoIndex: c.NoIndex, CABundle: c.CABundle,
		Mode: c.Packages, Allow: c.AllowPackages, Deny: c.DenyPackages,
		Age: age, Time: c.InstallTimeout, WheelBytes: c.PackageBytes, EnvironmentBytes: c.EnvironmentBytes, CacheBytes: c.PackageCacheBytes,
	}
}

// openPackages opens the installer. It asks nobody: the first install does.
func (a *App) openPackages(ctx context.Context, python *interpreter.Interpreter, build Build) error {
	if a.config.Packages == config.PackagesOff || build.Environment != "" {
		return nil
	}
	c := packagesConfig(a.config, python, build.Environ)
	c.Log = a.log
	if a.config.SourceBuilds {
		c.Guests = a.guestForBuild(python.Key)
	}
	installer, err := pypi.Open(ctx, c)
	if err != nil {
		return badSetting(err)
	}
	a.onClose("packages", func() error { installer.Close(); return nil })
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	a.packages = &installs{installer: installer, metrics: a.metrics, spans: a.spans, life: life, cancel: cancel}
	return nil
}

// badSetting is for whoever started the program: the installer names the setting, without secrets.
func badSetting(err error) error {
	if fault.IsDiskFull(err) {
		return err
	}
	return fault.New(fault.Invalid, nil, err.Error())
}

// installs are the installs under way, which end before the installer is closed.
type installs struct {
	installer *pypi.Installer
	metrics   *metrics.Metrics
	spans     *span.Tracer
	life      context.Context //nolint:containedctx // ends with close
	cancel    context.CancelFunc

	mu     sync.Mutex // guards closed, and that no work is added after it
	closed bool
	work   sync.WaitGroup
}

// Install installs packages; see pypi.Installer.
func (i *installs) Install(ctx context.Context, r pypi.Request) (pypi.Report, error) {
	if !i.begin() {
		return pypi.Report{}, fault.New(fault.Canceled, nil, "the server is shutting down")
	}
	defer i.work.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(i.life, cancel)() //nolint:contextcheck // the end of the program ends every install
	ctx, s := i.spans.Begin(ctx, "install", span.Internal)
	begun := time.Now()
	report, err := i.installer.Install(ctx, r)
	s.Number("runpython.packages", int64(len(report.Added)+len(report.Changed)))
	s.End(err != nil)
	countInstall(i.metrics, report, err, time.Since(begun))
	return report, err //nolint:wrapcheck // the same contract
}

func (i *installs) begin() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if !i.closed {
		i.work.Add(1)
	}
	return !i.closed
}

// close ends what is under way, waits for it and refuses what comes. Nothing is put into environments
// any more, which are removed next.
func (i *installs) close() error {
	i.mu.Lock()
	i.closed = true
	i.mu.Unlock()
	i.cancel()
	i.work.Wait()
	i.installer.Close()
	return nil
}

// packagesTime bounds what the doctor does about packages: the index may not answer.
const packagesTime = 30 * time.Second

// packages tells where packages come from, and whether that answers: it is asked for one
// that does not exist.
func packages(ctx context.Context, c config.Config, build Build) (f Finding) {
	f.Name = "packages"
	if c.Packages == config.PackagesOff {
		f.Detail = "none are installed (--packages off)"
		return f
	}
	ctx, cancel := context.WithTimeout(ctx, packagesTime)
	defer cancel()
	detail, err := tryIndex(ctx, c, build)
	f.Detail = detail
	if err != nil {
		_, shown := fault.Shown(err)
		f.Level, f.Remedy = Less, "code that needs no package works; see --index-url, --find-links, --ca-bundle and --uv, or set --packages off"
		f.Detail = strings.TrimPrefix(detail+"; "+shown, "; ")
	}
	return f
}

// tryIndex describes the sources of packages. The error is of whatever keeps them from being used.
func tryIndex(ctx context.Context, c config.Config, build Build) (detail string, err error) {
	c.Packages = config.PackagesAuto // the operator's list is no matter of the index
	installer, end, err := openInstaller(ctx, c, build)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, end()) }()
	d, err := installer.Describe(ctx)
	detail = fmt.Sprintf("from %s, by %s", d.Sources, d.UV)
	if err != nil {
		return "from " + d.Sources, err
	}
	folder, err := os.MkdirTemp("", "runpython-doctor-")
	if err != nil {
		return detail, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	_, err = installer.Install(ctx, pypi.Request{Folder: folder, Requirements: []string{"runpython-doctor-" + strings.ToLower(rand.Text())}})
	if kind, _ := fault.Shown(err); kind == fault.Invalid {
		return detail + "; it answers", nil
	}
	return detail, err
}

// openInstaller opens an installer for the doctor, which has no program and so no guests to build in: what would need
// one ends with errNotBuilt. The caller calls end.
func openInstaller(ctx context.Context, c config.Config, program Build) (in *pypi.Installer, end func() error, err error) {
	python, err := interpreter.Open(ctx, filepath.Join(c.Data, "interpreter"), guest.Files())
	if err != nil {
		return nil, nil, err
	}
	settings := packagesConfig(c, python, program.Environ)
	settings.Log = slog.New(slog.DiscardHandler)
	if c.SourceBuilds {
		settings.Guests = func(context.Context, func(string) error) (build.Guest, error) { return nil, errNotBuilt }
	}
	if in, err = pypi.Open(ctx, settings); err != nil {
		return nil, nil, errors.Join(badSetting(err), python.Close())
	}
	return in, func() error { in.Close(); return python.Close() }, nil
}
