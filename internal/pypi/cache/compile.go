package cache

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"runpython/internal/pypi/flock"
)

// Bounds of compiling one wheel.
const (
	maxQueue       = 1024 // wheels that wait; more are compiled when they are asked for again
	compileTime    = 5 * time.Minute
	compileCPU     = 240     // seconds
	compileMemory  = 2 << 30 // bytes of address space
	compileFile    = 256 << 20
	compileNice    = 19
	compilerOutput = 4096
	compilersLock  = "compile-" // before a shard: who compiles a wheel of it
)

// enqueue lets a wheel be compiled in the background.
func (k *Cache) enqueue(sum string) {
	select {
	case k.queue <- sum:
	default:
	}
}

// compileAll compiles one wheel after the other until ctx ends.
func (k *Cache) compileAll(ctx context.Context) {
	for {
		select {
		case sum := <-k.queue:
			if err := k.Compile(ctx, sum); err != nil && ctx.Err() == nil {
				k.config.Log.Warn("a wheel was not byte-compiled", slog.String("wheel", sum), slog.Any("error", err))
			}
		case <-ctx.Done():
			return
		}
	}
}

// Compile byte-compiles a wheel of the cache, unless it was; it waits, until ctx ends,
// for another one that is at it. Environments that are made later have the bytecode.
func (k *Cache) Compile(ctx context.Context, sum string) error {
	lock, err := flock.Open(ctx, filepath.Join(k.config.Dir, locksDir, compilersLock+sum[:2]))
	if err != nil {
		return err
	}
	defer lock.Close()
	h, err := k.hold(sum)
	if err != nil {
		return err
	}
	defer h.Close()
	if !h.Compiled {
		if err := k.compile(ctx, h); err != nil {
			return err
		}
	}
	if k.config.Compiled != nil {
		k.config.Compiled(ctx, h)
	}
	return nil
}

// compile compiles a wheel in a place of its own and moves the bytecode into it.
func (k *Cache) compile(ctx context.Context, h *Held) error {
	dir := k.path(h.Content.Pin.SHA256)
	done := filepath.Join(dir, doneName)
	stage, err := k.stage()
	if err != nil {
		return err
	}
	defer stage.remove(k.config.Log)
	sources, err := linkSources(h, stage.dir)
	if err != nil || len(sources) == 0 {
		return errors.Join(err, touch(done))
	}
	if err := k.runCompiler(ctx, stage.dir, sources); err != nil {
		return err
	}
	n, err := takeBytecode(stage.dir, h.Tree)
	if err != nil {
		return err
	}
	return errors.Join(writeSize(dir, h.Content.Bytes+n), touch(done))
}

func touch(name string) error { return os.WriteFile(name, nil, 0o600) }

// linkSources puts the Python files of a wheel into dir as well, where the compiler may
// write beside them without anybody seeing what is half done.
func linkSources(h *Held, dir string) (sources []string, err error) {
	for _, f := range h.Content.Files {
		if !strings.HasSuffix(f.Path, ".py") || strings.HasPrefix(f.Path, "bin/") || strings.ContainsAny(f.Path, "\r\n") {
			continue
		}
		to := filepath.Join(dir, f.Path)
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return nil, err
		}
		if err := os.Link(filepath.Join(h.Tree, f.Path), to); err != nil {
			return nil, err
		}
		sources = append(sources, to)
	}
	return sources, nil
}

// runCompiler compiles what is in dir. Files with mistakes are left out, as happens with
// examples for other versions; only a compiler that cannot start is an error, or ctx.
// The bytecode is not checked against its source when it is loaded: neither of them
// ever changes.
func (k *Cache) runCompiler(ctx context.Context, dir string, sources []string) error {
	limited, cancel := context.WithTimeout(ctx, compileTime)
	defer cancel()
	// -I and -S: nothing of the folder, of the variables or of a site is imported or run.
	cmd := exec.CommandContext(limited, k.config.Python, "-I", "-S", "-B", "-m", "compileall", "-qq",
		"--invalidation-mode", "unchecked-hash", "-s", dir, "-p", k.config.GuestDir, "-i", "-")
	cmd.Stdin = strings.NewReader(strings.Join(sources, "\n") + "\n")
	cmd.Env = []string{} // not nil: nothing is inherited
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out := &head{}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the compiler: %w", err)
	}
	k.confine(cmd.Process.Pid)
	if err := cmd.Wait(); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		k.config.Log.Debug("files of a wheel were not byte-compiled", slog.Any("error", err), slog.String("output", string(out.text)))
	}
	return nil
}

// confine bounds a compiler that has begun to read its list.
func (k *Cache) confine(pid int) {
	err := unix.Setpriority(unix.PRIO_PROCESS, pid, compileNice)
	for resource, limit := range map[int]uint64{
		unix.RLIMIT_AS: compileMemory, unix.RLIMIT_CPU: compileCPU, unix.RLIMIT_FSIZE: compileFile, unix.RLIMIT_CORE: 0,
	} {
		err = errors.Join(err, unix.Prlimit(pid, resource, &unix.Rlimit{Cur: limit, Max: limit}, nil))
	}
	if err != nil {
		k.config.Log.Debug("limits of a compiler", slog.Any("error", err))
	}
}

// takeBytecode moves the folders with bytecode from one tree into the other, each at
// once, and returns their bytes.
func takeBytecode(from, to string) (bytes int64, err error) {
	err = filepath.WalkDir(from, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() || d.Name() != "__pycache__" {
			return err
		}
		n, err := tidyBytecode(name)
		if err != nil {
			return err
		}
		bytes += n
		rel, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		// One of a compiler that was killed: as good as ours.
		if err := os.Rename(name, target); err != nil && !errors.Is(err, fs.ErrExist) && !errors.Is(err, unix.ENOTEMPTY) { //nolint:gosec // both trees are ours and have no links
			return err
		}
		return fs.SkipDir
	})
	return bytes, err
}

// tidyBytecode removes what a compiler left half written and makes the rest readable.
func tidyBytecode(dir string) (bytes int64, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, err
	}
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		if !strings.HasSuffix(e.Name(), ".pyc") || !e.Type().IsRegular() {
			if err := os.Remove(name); err != nil {
				return 0, err
			}
			continue
		}
		info, err := e.Info()
		if err != nil {
			return 0, err
		}
		bytes += info.Size()
		if err := os.Chmod(name, 0o444); err != nil {
			return 0, err
		}
	}
	return bytes, nil
}

// A head keeps the first compilerOutput bytes that are written to it.
type head struct{ text []byte }

// Write never fails, so that the writing process is not disturbed.
func (h *head) Write(p []byte) (int, error) {
	h.text = append(h.text, p[:min(len(p), compilerOutput-len(h.text))]...)
	return len(p), nil
}
