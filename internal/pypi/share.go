package pypi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"runpython/internal/pypi/flock"
	"runpython/internal/pypi/requirement"
)

// Names in the folder of shared environments.
const (
	sharedTurn   = ".lock"    // locked by who is at work in the folder
	sharedDraft  = ".draft-"  // begins the names of what is made to be thrown away
	lockSuffix   = ".lock"    // ends the name of the Lock that answers a list of requirements
	packagesName = "packages" // in a shared environment: its packages
)

// sharedDigits is how many digits of a digest are a name in that folder.
const sharedDigits = 32

// sharedKept is how long a shared environment is kept that nobody uses.
const sharedKept = 7 * 24 * time.Hour

// A Shared is an environment for all guests of a program. Close it when none of them lives.
type Shared struct {
	Folder  string   // with packages; what is under this name never changes, bytecode apart
	Lock    Lock     // what it holds
	Modules []string // import names of what was asked for, what that needs left out
	// Compiled says that it has its bytecode; else that comes in the background, and with Compile.
	Compiled bool
	held     *os.File
}

// Close lets the environment be removed once it was not used for long.
func (s *Shared) Close() error { return s.held.Close() }

// Share returns the shared environment of requirements (PEP 508). What belongs to them is chosen once, and kept
// in the folder of the Installer: the next Share of the same list asks no index, and gets the same versions. The
// operator's rules are applied each time. Errors are those of Install.
func (in *Installer) Share(ctx context.Context, requirements []string) (*Shared, error) {
	s, err := in.share(ctx, requirements)
	if err != nil {
		return nil, in.told(ctx, err)
	}
	return s, nil
}

func (in *Installer) share(ctx context.Context, requirements []string) (*Shared, error) {
	all, err := parseAll(requirements)
	if err != nil {
		return nil, err
	}
	all = ordered(all)
	warnings, err := in.gate.Asked(all)
	if err != nil {
		return nil, err
	}
	for _, w := range warnings {
		in.config.Log.Warn("shared packages", slog.String("warning", w))
	}
	dir := filepath.Join(in.config.Dir, "shared")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("folder of shared packages: %w", err)
	}
	turn, err := flock.Open(ctx, filepath.Join(dir, sharedTurn))
	if err != nil {
		return nil, fmt.Errorf("folder of shared packages: %w", err)
	}
	defer turn.Close() // unlocks
	lock, err := in.sharedLock(ctx, dir, texts(all))
	if err != nil {
		return nil, err
	}
	s, err := in.sharedFolder(ctx, filepath.Join(dir, digestOf(lock)[:sharedDigits]), lock)
	if err != nil {
		return nil, err
	}
	s.Modules = modulesOf(lock, all)
	if err := removeUnusedShared(dir); err != nil {
		in.config.Log.Warn("remove unused shared packages", slog.Any("error", err))
	}
	return s, nil
}

// sharedLock returns the lock that was kept for a list of requirements. If there is none, or it is of another
// interpreter, it is made.
func (in *Installer) sharedLock(ctx context.Context, dir string, requirements []string) (Lock, error) {
	place := filepath.Join(dir, digestOf([]any{requirements, target(in.config.PythonVersion)})[:sharedDigits]+lockSuffix)
	if text, err := os.ReadFile(place); err == nil {
		var kept Lock
		// One that is damaged is made anew.
		if json.Unmarshal(text, &kept) == nil && kept.check() == nil && len(kept.Packages) > 0 {
			return kept, nil
		}
	}
	// The folder is named by the answer, so that its first one has another name.
	draft, err := os.MkdirTemp(dir, sharedDraft)
	if err != nil {
		return Lock{}, fmt.Errorf("folder of shared packages: %w", err)
	}
	report, err := in.Install(ctx, Request{Folder: filepath.Join(draft, packagesName), Requirements: requirements})
	if err != nil {
		return Lock{}, errors.Join(err, os.RemoveAll(draft))
	}
	text, err := json.Marshal(report.Lock)
	if err == nil {
		err = os.WriteFile(filepath.Join(draft, packagesName+lockSuffix), text, 0o600)
	}
	if err == nil {
		err = os.Rename(filepath.Join(draft, packagesName+lockSuffix), place)
	}
	return report.Lock, errors.Join(err, os.RemoveAll(draft))
}

// sharedFolder makes the environment of a lock in dir, or finds it there, and holds it.
func (in *Installer) sharedFolder(ctx context.Context, dir string, lock Lock) (*Shared, error) {
	s := &Shared{Folder: filepath.Join(dir, packagesName), Lock: lock}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("folder of shared packages: %w", err)
	}
	var err error
	if s.held, err = os.Open(dir); err != nil {
		return nil, fmt.Errorf("folder of shared packages: %w", err)
	}
	now := time.Now()
	report, err := in.Install(ctx, Request{Folder: s.Folder, Installed: lock})
	s.Compiled = report.Compiled
	err = errors.Join(err, flock.Share(s.held), os.Chtimes(dir, now, now))
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// removeUnusedShared removes what nobody has used for long and nobody holds, and drafts of who was killed. Its
// caller has the folder's lock.
func removeUnusedShared(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		info, infoErr := e.Info()
		switch {
		case strings.HasPrefix(e.Name(), sharedDraft):
			err = errors.Join(err, os.RemoveAll(name))
		case infoErr == nil && info.IsDir() && time.Since(info.ModTime()) > sharedKept:
			err = errors.Join(err, removeUnheld(name))
		}
	}
	return err
}

// removeUnheld removes a folder unless somebody holds it.
func removeUnheld(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close() // unlocks
	if err := flock.Try(f); errors.Is(err, flock.ErrBusy) {
		return nil
	} else if err != nil {
		return err
	}
	return os.RemoveAll(dir)
}

// modulesOf returns what "import" finds because of the distributions that are asked for: the module that is
// called like the distribution, else all that do not begin with an underscore.
func modulesOf(lock Lock, asked []requirement.Requirement) []string {
	var modules []string
	for _, r := range asked {
		p, ok := lock.find(r.Name)
		if !ok {
			continue // left out by its marker
		}
		names := p.Imports
		if i := slices.IndexFunc(names, func(n string) bool { return requirement.Normalize(n) == p.Name }); i >= 0 {
			names = names[i : i+1]
		}
		for _, name := range names {
			if !strings.HasPrefix(name, "_") && !slices.Contains(modules, name) {
				modules = append(modules, name)
			}
		}
	}
	return modules
}
