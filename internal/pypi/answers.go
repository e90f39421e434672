package pypi

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"runpython/internal/pypi/flock"
	"runpython/internal/pypi/uv"
)

// Bounds of the kept answers.
const (
	maxAnswers     = 1000
	maxAnswerBytes = 4 << 20
)

// answers are resolutions that were made before, by what was asked. A process that is
// killed leaves a whole file or one that has no name yet.
type answers struct{ dir string }

// key returns the name under which the answer to q is kept. The sources and the target
// count, the operator's rules do not: they are applied to each answer again.
func (a answers) key(q uv.Query, sources, target string) string {
	return digestOf(struct {
		Query           uv.Query
		Sources, Target string
	}{q, sources, target})
}

// digestOf names what can be written as JSON, by 64 hex digits.
func digestOf(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // a programmer's mistake: all of it can be written
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// lock lets one at a time look for an answer, so that many chats that ask the same at
// once cost one resolution. Closing it unlocks.
func (a answers) lock(ctx context.Context, key string) (*os.File, error) {
	return flock.Open(ctx, filepath.Join(a.dir, lockPrefix+key[:lockDigits]))
}

// lockPrefix and some digits of a key are the names of files to lock.
const (
	lockPrefix = ".lock-"
	lockDigits = 2
)

// get returns a kept answer. One that cannot be read is none.
func (a answers) get(key string) (r uv.Resolution, ok bool) {
	name := filepath.Join(a.dir, key)
	f, err := os.Open(name)
	if err != nil {
		return r, false
	}
	defer f.Close()
	if err := json.NewDecoder(io.LimitReader(f, maxAnswerBytes)).Decode(&r); err != nil {
		return uv.Resolution{}, false
	}
	for _, p := range r.Pins {
		if p.Check() != nil {
			return uv.Resolution{}, false
		}
	}
	now := time.Now()
	return r, os.Chtimes(name, now, now) == nil
}

// put keeps an answer.
func (a answers) put(key string, r uv.Resolution) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(a.dir, ".new-")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), filepath.Join(a.dir, key))
	}
	if err != nil {
		return errors.Join(fmt.Errorf("keep a resolution: %w", err), os.Remove(f.Name()))
	}
	return nil
}

// prune removes the answers that were not used longest.
func (a answers) prune() error {
	entries, err := os.ReadDir(a.dir)
	if err != nil || len(entries) <= maxAnswers {
		return err
	}
	type kept struct {
		name string
		used time.Time
	}
	var all []kept
	for _, e := range entries {
		if info, err := e.Info(); err == nil && !strings.HasPrefix(e.Name(), lockPrefix) {
			all = append(all, kept{e.Name(), info.ModTime()})
		}
	}
	slices.SortFunc(all, func(x, y kept) int { return cmp.Or(x.used.Compare(y.used), cmp.Compare(x.name, y.name)) })
	for _, k := range all[:max(0, len(all)-maxAnswers)] {
		if rmErr := os.Remove(filepath.Join(a.dir, k.name)); rmErr != nil && !errors.Is(rmErr, fs.ErrNotExist) {
			err = errors.Join(err, rmErr)
		}
	}
	return err
}
