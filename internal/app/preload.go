package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"runpython/internal/config"
	"runpython/internal/fault"
	"runpython/internal/pypi"
	"runpython/internal/sandbox"
)

// preloadAgain is the time between attempts to get what is to be preloaded, when the index cannot be reached.
const preloadAgain = time.Minute

// A preload brings the packages that new chats have imported already.
type preload struct {
	wanted    []string
	installer *pypi.Installer
	host      *sandbox.Host
	log       *slog.Logger

	shared atomic.Pointer[pypi.Shared] // nil as long as they are not there
	cancel context.CancelFunc
	work   sync.WaitGroup
}

// openPreload gets the packages, which the first start with them waits for, and lets the image be made of them
// in the background. What is wrong with the setting, or against the operator's rules, is an error; an index that
// does not answer is not: guests are without them until it does.
func (a *App) openPreload(ctx context.Context) error {
	if len(a.config.Preload) == 0 {
		return nil
	}
	if a.packages == nil {
		return fault.New(fault.Invalid, nil, "--preload: this server installs no packages (--packages off)")
	}
	p := &preload{wanted: a.config.Preload, installer: a.packages.installer, host: a.host, log: a.log}
	shared, err := p.get(ctx)
	switch kind, shown := fault.Shown(err); {
	case err == nil:
	case kind == fault.Invalid || ctx.Err() != nil:
		return fault.New(kind, nil, "--preload: "+shown) // one line; the installer has logged the cause
	default:
		a.log.Warn("nothing is preloaded yet; it is tried again in the background", "reason", shown, "again", preloadAgain)
		a.host.Preload(sandbox.Preload{})
	}
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	p.cancel = cancel
	a.preload = p
	a.onClose("preload", p.close)
	if shared != nil && shared.Compiled {
		p.give(shared)
		return nil
	}
	p.work.Go(func() { p.bring(life, shared) })
	return nil
}

// give lets new guests have the packages.
func (p *preload) give(shared *pypi.Shared) {
	p.shared.Store(shared)
	p.host.Preload(sandbox.Preload{Dir: shared.Folder, Modules: shared.Modules})
}

// get returns the packages. Of an internal error the installer leaves the log to its caller.
func (p *preload) get(ctx context.Context) (*pypi.Shared, error) {
	shared, err := p.installer.Share(ctx, p.wanted)
	if kind, _ := fault.Shown(err); err != nil && kind == fault.Internal {
		p.log.Error("get what is preloaded", "error", err)
	}
	return shared, err //nolint:wrapcheck // worded for people
}

// bring gives the packages to new guests once they are there, unless ctx ends before. shared is nil if they must
// be asked for again.
func (p *preload) bring(ctx context.Context, shared *pypi.Shared) {
	again := time.NewTicker(preloadAgain)
	defer again.Stop()
	for shared == nil {
		select {
		case <-again.C:
		case <-ctx.Done():
			return
		}
		var err error
		if shared, err = p.get(ctx); err == nil || ctx.Err() != nil {
			continue
		}
		if kind, shown := fault.Shown(err); kind == fault.Invalid {
			p.log.Error("nothing is preloaded", "reason", shown)
			return
		}
	}
	// Compiled first: imports from source take so long that guests are better off without them until then.
	if err := p.installer.Compile(ctx, shared.Lock); err != nil && ctx.Err() == nil {
		p.log.Warn("compile what is preloaded", "error", err)
	}
	p.give(shared)
}

// lock is what guests have of it; see chat.Options.
func (p *preload) lock() pypi.Lock {
	if shared := p.shared.Load(); shared != nil {
		return shared.Lock
	}
	return pypi.Lock{}
}

// close ends the work and lets go of the packages.
func (p *preload) close() error {
	p.cancel()
	p.work.Wait()
	if shared := p.shared.Load(); shared != nil {
		return shared.Close()
	}
	return nil
}

// preloaded tells what new chats have imported already, and gets it if need be.
func preloaded(ctx context.Context, c config.Config, build Build) (f Finding) {
	f.Name, f.Detail = "preload", "nothing"
	if len(c.Preload) == 0 {
		return f
	}
	f.Detail = strings.Join(c.Preload, ", ")
	if c.Packages == config.PackagesOff {
		f.Level, f.Remedy = Broken, "leave out --preload, or --packages off, with which nothing is installed"
		return f
	}
	ctx, cancel := context.WithTimeout(ctx, c.InstallTimeout)
	defer cancel()
	detail, err := tryPreload(ctx, c, build)
	if err == nil {
		f.Detail = detail
		return f
	}
	if errors.Is(err, errNotBuilt) {
		f.Detail += "; installed when the server starts, since some of it has no wheel and is built then"
		return f
	}
	kind, shown := fault.Shown(err)
	f.Level, f.Detail = Less, f.Detail+"; "+shown
	f.Remedy = "the server starts without it and tries again each minute; see packages above"
	if kind == fault.Invalid {
		f.Level, f.Remedy = Broken, "the server does not start with it: change --preload"
	}
	return f
}

// errNotBuilt says that a package would have to be built, for which the doctor has no guests.
var errNotBuilt = errors.New("the doctor builds nothing")

// tryPreload gets the packages as the program does, as far as nothing has to be built, and names them.
func tryPreload(ctx context.Context, c config.Config, build Build) (detail string, err error) {
	installer, end, err := openInstaller(ctx, c, build)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, end()) }()
	shared, err := installer.Share(ctx, c.Preload)
	if err != nil {
		return "", err //nolint:wrapcheck // worded for people
	}
	return fmt.Sprintf("imports %s in the image of the pool, of %s", strings.Join(shared.Modules, ", "), shared.Lock), shared.Close()
}
