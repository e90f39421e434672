package interpreter

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sync/errgroup"

	"runpython/internal/sandbox"
)

// errNotExecutable says that the unpacked interpreter cannot be started at all.
var errNotExecutable = errors.New("start the unpacked interpreter")

// maxCompilers bounds the processes that compile at once; each needs some 40 MB.
const maxCompilers = 4

// maxCompilerOutput bounds what is kept of a compiler's complaints.
const maxCompilerOutput = 2048

// compile byte-compiles the library and the programs in root. The bytecode is not
// checked against its source when it is loaded, which saves a guest 200 ms; -B
// keeps a compiler from writing another kind of what it imports itself. The
// processes inherit lock: should this one be killed, nobody takes
// the folder for abandoned while they still write into it.
func compile(ctx context.Context, root string, lock *os.File) error {
	c := compiler{root: root, lock: lock}
	tasks := []struct{ dir, guest string }{
		{filepath.Join(root, pythonDir), sandbox.GuestPython},
		{filepath.Join(root, programsDir), sandbox.GuestPrograms},
	}
	parts := min(runtime.GOMAXPROCS(0), maxCompilers)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parts)
	for _, t := range tasks {
		sources, err := pythonFiles(t.dir)
		if err != nil {
			return errors.Join(err, group.Wait())
		}
		for _, list := range deal(sources, parts) {
			group.Go(func() error { return c.run(ctx, list, t.dir, t.guest) })
		}
	}
	return group.Wait()
}

// pythonFiles returns the paths of the Python files in dir.
func pythonFiles(dir string) (names []string, err error) {
	err = walk(dir, func(f found) error {
		if strings.HasSuffix(f.path, ".py") {
			names = append(names, f.host)
		}
		return nil
	})
	return names, err
}

// deal splits names into at most n lists, neighbors into different ones, since
// large files come together. No list is empty.
func deal(names []string, n int) [][]string {
	lists := make([][]string, min(n, len(names)))
	for i, name := range names {
		lists[i%len(lists)] = append(lists[i%len(lists)], name)
	}
	return lists
}

// A compiler runs the unpacked interpreter as a compiler.
type compiler struct {
	root string
	lock *os.File // inherited by each process
}

// run compiles files, which are in dir; the bytecode names them as they are
// named in a guest, where dir is mounted at guest.
func (c compiler) run(ctx context.Context, files []string, dir, guest string) error {
	exe := filepath.Join(c.root, pythonDir, "bin", "python3")
	cmd := exec.CommandContext(ctx, exe, "-I", "-B", "-m", "compileall", "-q",
		"--invalidation-mode", "unchecked-hash", "-s", dir, "-p", guest, "-i", "-")
	cmd.Stdin = strings.NewReader(strings.Join(files, "\n") + "\n")
	var out bytes.Buffer
	w := &head{buf: &out}
	cmd.Stdout, cmd.Stderr = w, w
	cmd.Env = []string{} // not nil: nothing is inherited
	cmd.Dir = c.root
	cmd.ExtraFiles = []*os.File{c.lock}
	err := cmd.Start()
	if err == nil {
		err = cmd.Wait()
	} else if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
		return errors.Join(errNotExecutable, err)
	}
	if err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return fmt.Errorf("compile for Python: %w: %s", err, bytes.TrimSpace(out.Bytes()))
	}
	return nil
}

// A head keeps the first maxCompilerOutput bytes that are written to it.
type head struct{ buf *bytes.Buffer }

// Write never fails, so that the writing process is not disturbed.
func (h *head) Write(p []byte) (int, error) {
	h.buf.Write(p[:min(len(p), maxCompilerOutput-h.buf.Len())])
	return len(p), nil
}
