// Package app builds the program from its settings, runs it, and stops it in
// reverse order. It joins the packages that do the work and does none itself.
//
// # Trust
//
// The settings are the operator's and are believed. Callers meet mcpserver first.
//
// # Failure
//
// [Open] undoes what it has begun when a part does not start. What the machine
// lacks is a [fault.Error] of kind Unsupported with what to do.
package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"runpython/internal/agent"
	"runpython/internal/audit"
	"runpython/internal/chat"
	"runpython/internal/config"
	"runpython/internal/egress"
	"runpython/internal/fault"
	"runpython/internal/kernel"
	"runpython/internal/kernel/guest"
	"runpython/internal/llm"
	"runpython/internal/mcpserver"
	"runpython/internal/metrics"
	"runpython/internal/sandbox"
	"runpython/internal/sandbox/interpreter"
	"runpython/internal/span"
	"runpython/internal/trace"
)

// App is the built program. It is safe for concurrent use. Close it.
type App struct {
	config   config.Config
	version  string
	log      *slog.Logger
	metrics  *metrics.Metrics
	audit    *auditor
	limits   *limits
	spans    *span.Tracer  // nil: none are sent
	egress   *egress.Proxy // nil: guests have no way out
	host     *sandbox.Host
	chats    *chat.Service
	packages *installs // nil: none are installed
	preload  *preload  // nil: nothing is
	model    llm.Model // nil: none is configured
	access   *access   // nil: nobody signs in
	mcp      *mcpserver.Server
	closers  []closer // run in reverse by Close

	draining atomic.Bool // Serve is ending
}

// Build is what the program knows of itself.
type Build struct {
	Version string // told to clients
	Program string // path of the static program, which is started again as gVisor and as keeper

	// Environ are the variables of the process, of which those of uv and pip and of proxies matter.
	Environ []string

	// Environment is a folder of installed packages for every guest, for tests; see sandbox.Config.
	Environment string
}

// closer ends one part.
type closer struct {
	name  string
	close func() error
}

const (
	// rescueTime is how long guests outlive a killed process.
	rescueTime = 2 * time.Minute
	// workFiles bounds the entries in a chat's /work.
	workFiles = 10_000
)

// Open builds the program. The first time on a machine it unpacks the interpreter,
// some 2 s; after that it takes some 50 ms.
func Open(ctx context.Context, c config.Config, log *slog.Logger, build Build) (_ *App, err error) {
	log = slog.New(trace.Handler(log.Handler()))
	a := &App{config: c, version: build.Version, log: log}
	a.metrics = newMetrics(a, build)
	a.limits = newLimits(c, a.metrics)
	defer func() {
		if err != nil {
			err = errors.Join(err, a.Close())
		}
	}()
	if err := os.MkdirAll(c.Data, 0o700); err != nil {
		return nil, fault.New(fault.Unsupported, err, "the data folder "+c.Data+" cannot be made: choose another with --data")
	}
	if a.audit, err = openAudit(c, a.metrics, log); err != nil {
		return nil, lacking(err, c.Data)
	}
	a.onClose("audit log", a.audit.events.Close)
	if err := a.openSpans(c, build); err != nil {
		return nil, err
	}
	python, err := interpreter.Open(ctx, filepath.Join(c.Data, "interpreter"), guest.Files())
	if err != nil {
		return nil, lacking(fmt.Errorf("open the interpreter: %w", err), c.Data)
	}
	a.onClose("interpreter", python.Close)
	for _, w := range python.Warnings {
		log.Warn("interpreter", "warning", w)
	}
	a.openEgress()
	if err := a.openHost(ctx, python, build); err != nil {
		return nil, lacking(err, c.Data)
	}
	if err := a.openPackages(ctx, python, build); err != nil {
		return nil, lacking(err, c.Data)
	}
	if err := a.openPreload(ctx); err != nil {
		return nil, lacking(err, c.Data)
	}
	agentOptions, err := newModel(ctx, c, log, build.Environ)
	if err != nil {
		return nil, err
	}
	a.model = agentOptions.Model
	if err := a.openChats(ctx, python, agentOptions); err != nil {
		return nil, lacking(err, c.Data)
	}
	a.mcp = mcpserver.New(mcpserver.Options{
		Chat: a.observed(false), Version: build.Version, NeedsCode: a.model == nil, Packages: a.packages != nil,
		KeepFor: c.Keep, OpenWorld: a.egress != nil, AllowedHosts: a.hosts(), Shared: a.access == nil && !config.IsLoopback(c.Listen),
		Access: a.access.guard(c.Discovery == config.DiscoveryPrivate), Log: log,
	})
	a.onClose("MCP server", a.mcp.Close)
	return a, nil
}

// hosts returns the names under which clients may reach the endpoint, beside those of loopback.
func (a *App) hosts() []string {
	hosts := slices.Concat(a.config.AllowHosts, a.config.Domains)
	if public := a.config.PublicHost(); public != "" {
		hosts = append(hosts, public)
	}
	return hosts
}

// lacking says what to do when the program cannot be built because something of the machine is used up.
func lacking(err error, data string) error {
	message := ""
	kind, _ := fault.Shown(err)
	switch {
	case kind != fault.Internal: // somebody has said so already, and knows more
		return err
	case fault.IsDiskFull(err):
		message = "the disk of the data folder " + data + " is full: free some space, or choose another folder with --data"
	case errors.Is(err, syscall.EMFILE):
		message = fmt.Sprintf("this process may not open enough files: raise the limit (ulimit -n) to %d or more; `runpython doctor` says what there is", filesLeast)
	case errors.Is(err, syscall.ENFILE):
		message = "the whole machine may not open more files: raise fs.file-max"
	case errors.Is(err, syscall.EAGAIN):
		message = "no process can be started: raise the limit on processes (ulimit -u, or that of the container); `runpython doctor` says what there is"
	default:
		return err
	}
	return fault.New(fault.Unsupported, err, message)
}

func (a *App) onClose(name string, end func() error) {
	a.closers = append(a.closers, closer{name, end})
}

func limitsOf(c config.Config) sandbox.Limits {
	return sandbox.Limits{
		MemoryBytes: c.MemoryBytes, WorkBytes: c.WorkBytes, WorkFiles: workFiles,
		Processes: c.Processes, OpenFiles: c.OpenFiles, CPUs: c.CPUs,
	}
}

func (a *App) openHost(ctx context.Context, python *interpreter.Interpreter, build Build) error {
	runsc := a.config.Runsc
	if runsc == "" {
		runsc = build.Program
	}
	held, err := python.Hold()
	if err != nil {
		return fmt.Errorf("hold the interpreter: %w", err)
	}
	a.onClose("hold on the interpreter", held.Close)
	limits := limitsOf(a.config)
	a.host, err = sandbox.Open(ctx, sandbox.Config{
		Data: a.config.Data, Runsc: runsc, Interpreter: python.Home,
		Program: kernel.Program(python.Programs, python.Key, limits),
		Limits:  limits, Pool: a.config.Pool, AwaitPreload: len(a.config.Preload) > 0, HostTools: a.config.HostTools, Egress: a.egress != nil, Log: a.log,
		Keeper: []string{build.Program}, KeeperFiles: []*os.File{held}, Rescue: rescueTime, Environment: build.Environment,
		AwaitRescue: true, ImageBytes: imageBytes(),
	})
	if err != nil {
		return fmt.Errorf("open the sandbox: %w", err)
	}
	a.onClose("sandbox", a.host.Close)
	for _, m := range a.host.Missing() {
		a.log.Info("a limit is not held by this machine", "limit", m)
	}
	return nil
}

func (a *App) openChats(ctx context.Context, python *interpreter.Interpreter, asks agent.Options) error {
	records, files, err := a.openRecords(ctx)
	if err != nil {
		return err
	}
	if err := a.openAccess(records); err != nil { //nolint:contextcheck // it lives longer than the call
		return err
	}
	limits := limitsOf(a.config)
	sleep, err := a.openCheckpoints(python.Key)
	if err != nil {
		return err
	}
	options := chat.Options{
		Start: func(ctx context.Context, start chat.Start, fill func(dir string) error) (chat.Interpreter, error) {
			s, err := a.takeGuest(ctx, start.Plain, fill)
			if err != nil {
				return nil, err
			}
			i, err := a.kernelOf(s, start, func(c kernel.Config) (*kernel.Kernel, error) { return kernel.New(ctx, s, c, python.Key) }) //nolint:contextcheck // a way out lives longer than the call
			return i, ofDisk(err, noStart)
		},
		Checkpoints: countedCheckpoints{sleep, a.metrics, a.spans}, Store: records, Content: files, Log: a.log, Python: python.Version,
		Deleted: a.audit.deleted,
		Limits: chat.Limits{
			RunTimeout: a.config.RunTimeout, MemoryBytes: limits.MemoryBytes, WorkBytes: limits.WorkBytes, WorkFiles: workFiles,
			Processes: limits.Processes, OpenFiles: limits.OpenFiles,
			Egress: a.config.Egress.String(), Kernels: livingKernels(kernelBytes(a.config)), Chats: a.config.MaxChats, Idle: a.config.Idle, Keep: a.config.Keep,
			Storage: a.config.MaxStorage, OwnerChats: a.config.UserChats, OwnerStorage: a.config.UserStorage,
		},
	}
	if a.packages != nil {
		options.Packages = a.packages
	}
	if a.preload != nil {
		options.Preload = a.preload.lock
	}
	if asks.Model != nil {
		asks.Model = countedModel{asks.Model, a.metrics, a.spans}
		options.Agent = agent.New(asks)
	}
	a.chats = chat.NewService(options) //nolint:contextcheck // it lives longer than the call
	a.onClose("chats", a.chats.Close)
	if a.packages != nil { // no turn waits for one that goes on
		a.onClose("installs", a.packages.close)
	}
	a.rescue(ctx)
	return nil
}

// takeGuest takes a guest, one without preloaded packages if plain, and puts the chat's files into place.
func (a *App) takeGuest(ctx context.Context, plain bool, fill func(dir string) error) (_ *sandbox.Sandbox, err error) {
	ctx, taking := a.spans.Begin(ctx, "start guest", span.Internal)
	defer func() { taking.End(err != nil) }()
	take := a.host.Take
	if plain {
		take = a.host.TakePlain
	}
	s, err := take(ctx)
	if err != nil {
		return nil, ofDisk(fmt.Errorf("take a sandbox: %w", err), noStart)
	}
	if err := fill(s.Uploads); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// What cannot be done while the disk takes nothing, for ofDisk.
const (
	noStart   = "no interpreter can be started"
	noRestore = "the chat cannot be restored"
)

// ofDisk says so where err is that the server's disk takes nothing.
func ofDisk(err error, what string) error {
	if trouble := fault.DiskTrouble(err); trouble != "" {
		return fault.New(fault.Busy, err, "the server's disk is "+trouble+": "+what+" until that is mended; tell the operator")
	}
	return err
}

// kernelOf has begin make a kernel of a guest. On an error the guest is closed.
func (a *App) kernelOf(s *sandbox.Sandbox, start chat.Start, begin func(c kernel.Config) (*kernel.Kernel, error)) (chat.Interpreter, error) {
	gate, err := a.gateOf(s, start.ChatID)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	k, err := begin(kernel.Config{RunTimeout: a.config.RunTimeout, Limits: limitsOf(a.config), Log: a.log, Label: start.Label})
	switch {
	case err != nil && gate != nil:
		return nil, errors.Join(fmt.Errorf("begin an interpreter: %w", err), gate.Close())
	case err != nil:
		return nil, fmt.Errorf("begin an interpreter: %w", err)
	case gate != nil:
		return countedInterpreter{networked{k, gate}, a.metrics, a.spans}, nil
	}
	return countedInterpreter{k, a.metrics, a.spans}, nil
}

// Turn runs a turn for the local user, observed like those of clients; but the cause of an error is the
// caller's to show.
func (a *App) Turn(ctx context.Context, r chat.Request) (*chat.Reply, error) {
	return a.observed(true).Turn(ctx, r)
}

// OpenFile opens a file of a chat; see chat.Service.
func (a *App) OpenFile(ctx context.Context, owner, uri string) (chat.File, io.ReadCloser, error) {
	return a.chats.OpenFile(ctx, owner, uri) //nolint:wrapcheck // the same contract
}

// PutFile puts a file into a chat; see chat.Service.
func (a *App) PutFile(ctx context.Context, owner, chatID, path string, r io.Reader) (string, error) {
	id, err := a.chats.PutFile(ctx, owner, chatID, path, r)
	a.audit.record(ctx, audit.Event{Kind: audit.FileAdded, Subject: owner, Chat: id, Outcome: outcomeOf(nil, err)})
	return id, err //nolint:wrapcheck // the same contract
}

// Model is the model that answers messages in plain language, nil where none is configured.
func (a *App) Model() llm.Model { return a.model }

// ServeStdio serves one MCP client over in and out until in ends or ctx does.
func (a *App) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	return a.mcp.ServeStdio(ctx, in, out) //nolint:wrapcheck // the same contract
}

// Close ends all parts, the last one opened first. Nothing of a guest is left when
// it returns without an error.
func (a *App) Close() error {
	var err error
	for _, c := range slices.Backward(a.closers) {
		if e := c.close(); e != nil {
			a.log.Error("stop a part", "part", c.name, "error", e)
			err = errors.Join(err, fmt.Errorf("stop %s: %w", c.name, e))
		}
	}
	a.closers = nil
	return err
}
