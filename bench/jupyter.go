package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

//go:embed jupyter.py
var jupyterProgram []byte

//go:embed requirements.txt
var jupyterRequirements []byte

// installLimit bounds the installation of the references, which is done once on a machine.
const installLimit = 10 * time.Minute

// A jupyter is the installed references, or why there are none.
type jupyter struct {
	bin         string   // folder of their programs
	work        string   // folder of all that they write
	environment []string // added to that of the benchmark
	err         error
}

// jupyter installs the references, the first time that it is called.
func (b *bench) jupyter(ctx context.Context) *jupyter {
	if b.references != nil {
		return b.references
	}
	work := filepath.Join(b.dir, "jupyter")
	j := &jupyter{work: work, environment: []string{
		"JUPYTER_CONFIG_DIR=" + filepath.Join(work, "config"), "JUPYTER_DATA_DIR=" + filepath.Join(work, "data"),
		"JUPYTER_RUNTIME_DIR=" + filepath.Join(work, "runtime"), "IPYTHONDIR=" + filepath.Join(work, "ipython"),
	}}
	b.references = j
	j.err = os.MkdirAll(work, 0o700)
	if j.err == nil {
		j.bin, j.err = b.install(ctx)
	}
	if j.err != nil {
		fmt.Fprintf(b.log, "ipykernel and jupyter-mcp-server: %v\n", j.err)
	}
	return j
}

// install makes the virtual environment in the cache, unless it is there, and
// returns the folder of its programs. Only one process does it at a time.
func (b *bench) install(ctx context.Context) (string, error) {
	python, err := exec.LookPath("python3")
	if err != nil {
		return "", errors.New("there is no python3")
	}
	digest := sha256.Sum256(jupyterRequirements)
	home := filepath.Join(b.cache, "jupyter-"+hex.EncodeToString(digest[:6]))
	lock, err := os.OpenFile(home+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return "", err
	}
	defer func() { _ = lock.Close() }() // unlocks
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", fmt.Errorf("lock %s: %w", home, err)
	}
	bin, ready := filepath.Join(home, "bin"), filepath.Join(home, ".ready")
	if _, err := os.Stat(ready); err == nil {
		return bin, nil
	}
	fmt.Fprintln(b.log, "installing ipykernel and jupyter-mcp-server, once, about a minute")
	ctx, cancel := context.WithTimeout(ctx, installLimit)
	defer cancel()
	if err := b.say(exec.CommandContext(ctx, python, "-m", "venv", "--clear", home)); err != nil {
		return "", errors.New("python3 -m venv does not work (python3-venv is missing?)")
	}
	requirements := filepath.Join(home, "requirements.txt")
	if err := os.WriteFile(requirements, jupyterRequirements, 0o600); err != nil {
		return "", err
	}
	pip := exec.CommandContext(ctx, filepath.Join(bin, "python"), "-m", "pip", "install", "--quiet",
		"--disable-pip-version-check", "--no-input", "--only-binary=:all:", "--requirement", requirements)
	if err := b.say(pip); err != nil {
		return "", errors.New("pip could not install bench/requirements.txt (is there an index?)")
	}
	return bin, os.WriteFile(ready, nil, 0o600)
}

// say runs a command whose words are for the person who waits.
func (b *bench) say(command *exec.Cmd) error {
	command.Stdout, command.Stderr = b.log, b.log
	return command.Run()
}

// openKernel starts jupyter.py, a worker with a living kernel of ipykernel; the error says why there is
// no such reference.
func (b *bench) openKernel(ctx context.Context) (*worker, error) {
	j := b.jupyter(ctx)
	if j.err != nil {
		return nil, j.err
	}
	program := filepath.Join(j.work, "jupyter.py")
	if err := os.WriteFile(program, jupyterProgram, 0o600); err != nil {
		return nil, fmt.Errorf("ipykernel: %w", err)
	}
	c := newChild(ctx, filepath.Join(j.bin, "python"), program)
	c.command.Env, c.command.Dir = append(c.command.Environ(), j.environment...), j.work
	return startWorker(c)
}

// A lab is a Jupyter server with jupyter-mcp-server as its extension, the faster of
// the two ways to run it. Stop it.
type lab struct {
	*child
	url    string
	header http.Header
}

func (b *bench) openLab(ctx context.Context) (*lab, error) {
	j := b.jupyter(ctx)
	if j.err != nil {
		return nil, j.err
	}
	port, err := freePort(ctx)
	if err != nil {
		return nil, err
	}
	notebooks := filepath.Join(j.work, "notebooks")
	if err := os.MkdirAll(notebooks, 0o700); err != nil {
		return nil, fmt.Errorf("jupyter-mcp-server: %w", err)
	}
	token := rand.Text()
	l := &lab{
		child: newChild(ctx, filepath.Join(j.bin, "jupyter-lab"), "--no-browser", "--allow-root", "--ip=127.0.0.1",
			"--port="+strconv.Itoa(port), "--ServerApp.port_retries=0", "--IdentityProvider.token="+token,
			"--ServerApp.root_dir="+notebooks, "--LabApp.extension_manager=readonly", "--LabApp.news_url=None"),
		url:    fmt.Sprintf("http://127.0.0.1:%d/mcp", port),
		header: http.Header{"Authorization": {"token " + token}},
	}
	l.command.Env, l.command.Dir = append(l.command.Environ(), j.environment...), j.work
	err = l.start()
	if err == nil {
		err = l.awaitListener(ctx, "127.0.0.1:"+strconv.Itoa(port))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("jupyter-mcp-server: %w", err), l.stop())
	}
	return l, nil
}

// freePort returns a port that nobody listens on just now.
func freePort(ctx context.Context) (int, error) {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		return 0, errors.Join(err, l.Close())
	}
	n, err := strconv.Atoi(port)
	return n, errors.Join(err, l.Close())
}

// A notebook is a session with jupyter-mcp-server and a kernel of its own. Close it.
type notebook struct {
	*client
	name  string
	wrong int // answers that were not 2
}

// openNotebook begins the n-th session and evaluates 1+1 in it.
func (l *lab) openNotebook(ctx context.Context, n int) (*notebook, error) {
	c, err := connect(ctx, target{url: l.url, header: l.header, noStream: true})
	if err != nil {
		return nil, fmt.Errorf("jupyter-mcp-server: %w", err)
	}
	book := &notebook{client: c, name: "n" + strconv.Itoa(n)}
	_, _, err = c.call(ctx, "use_notebook", map[string]any{
		"notebook_name": book.name, "notebook_path": book.name + ".ipynb", "mode": "create", "kernel_id": "NEW",
	})
	if err == nil {
		_, err = book.evaluate(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("jupyter-mcp-server: %w", err), c.close())
	}
	return book, nil
}

// evaluate evaluates 1+1. Now and then the answer is empty; that is counted.
func (n *notebook) evaluate(ctx context.Context) (time.Duration, error) {
	result, spent, err := n.call(ctx, "execute_code", map[string]any{"code": "1+1", "timeout": int(callLimit / time.Second)})
	if err != nil {
		return 0, err
	}
	if !answersTwo(textOf(result)) {
		n.wrong++
	}
	return spent, nil
}

// close ends the kernel and the session.
func (n *notebook) close(ctx context.Context) error {
	_, _, err := n.call(ctx, "unuse_notebook", map[string]any{"notebook_name": n.name})
	return errors.Join(err, n.client.close())
}
