package sandbox

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"runpython/internal/fault"
)

// A Program is what runs in every guest: the command, and how to know that it is ready.
type Program struct {
	Dir       string   // folder of the host that the guest sees at GuestPrograms
	Arguments []string // of the Python interpreter; the limits follow as NAME=NUMBER
	Key       string   // changes when the interpreter or the program changes
	// Ready is called once for each guest, after a start or a restore, before
	// anybody gets it. Its deadline is that of ctx.
	Ready func(ctx context.Context, s *Sandbox) error
	// Preload imports modules in a guest that is ready and that nobody has used, and tells of each that
	// could not be imported. Its deadline is that of ctx. It is needed for Host.Preload only.
	Preload func(ctx context.Context, s *Sandbox, modules []string) (problems []string, err error)
	// Resume is Ready's counterpart for a guest of Host.Restore, in which code of a chat has run.
	Resume func(ctx context.Context, s *Sandbox) error
}

// Config is what a Host needs. All folders are absolute.
type Config struct {
	Data        string // folder of the product's data; the host uses run/, images/ and rootfs/ in it
	Runsc       string // program that becomes gVisor under the name runsc: this program or an official binary
	Interpreter string // folder with bin/python3, seen by guests at GuestPython
	Program     Program
	Limits      Limits
	Pool        int  // guests kept ahead
	HostTools   bool // whether guests see the host's /bin and /usr/bin
	Log         *slog.Logger

	// AwaitPreload keeps the pool empty until Preload is called.
	AwaitPreload bool

	// ImageBytes is what a guest may hold of which an image is made in memory; 0 for 512 MiB. Each such
	// image takes up to so much until it is stored.
	ImageBytes int64

	// Environment is a folder of installed packages that all guests share in place
	// of Sandbox.Environment, for tests; "" for none.
	Environment string

	// Egress gives guests a way out: a forwarder, variables that tell clients of it, and the
	// folder Sandbox.Egress. Without a socket in there nothing can be reached still.
	Egress bool

	// Keeper is the command line of a process that runs KeeperMain; empty for none.
	Keeper []string
	// KeeperFiles are inherited by the keeper and stay open as long as it lives.
	KeeperFiles []*os.File
	// Rescue is how long guests outlive a killed host.
	Rescue time.Duration
	// AwaitRescue leaves guests of killed hosts to Host.Rescue, which is called soon; otherwise Open removes them.
	AwaitRescue bool
}

// Stats counts what a host has done since it was opened.
type Stats struct {
	Started  int64 // guests started from nothing
	Restored int64 // guests restored from an image
	Failed   int64 // starts and restores that were given up or tried again
	Live     int64 // guests that exist now, the pool's included
	Pooled   int64 // guests that wait in the pool
	Waiting  int64 // starts that wait for other starts
}

// Host starts guests. It is safe for concurrent use. Close it.
type Host struct {
	config   Config
	runsc    runsc
	root     *rootfs
	instance *instance
	groups   *groups
	plain    *image        // of guests without a Preload
	starts   chan struct{} // one token for each start under way

	started, restored, failed, waiting atomic.Int64

	mu     sync.Mutex // guards what follows; a Sandbox's is taken after it
	live   map[string]*Sandbox
	image  *image     // of the guests of the pool
	pooled []*Sandbox // guests that came from it
	filled bool       // the pool may be filled
	closed bool

	wake chan struct{} // tells the filler that the pool may be short
	// stop ends the filler and the starts under way, which Close waits for. A start is added while
	// mu is held and closed is false.
	stop    context.CancelFunc
	stopped func(then func()) (undo func() bool) // calls then when stop is called
	filler  sync.WaitGroup
	taking  sync.WaitGroup
}

const (
	// startDeadline bounds one start or restore, from the start of runsc until the
	// program is ready: some 0.2 s on an idle machine, a few seconds with many at once.
	startDeadline = 10 * time.Second
	// startAttempts is how often a start is tried before it is an error.
	startAttempts = 3
	// defaultImageBytes is Config.ImageBytes where nothing is said.
	defaultImageBytes = 512 << 20
	// fillPause is how long the pool waits after somebody took a guest, so that
	// the next start does not compete with that guest's first run.
	fillPause = 30 * time.Millisecond
	// fillRetry is the pause after a failed start in the pool.
	fillRetry = 5 * time.Second
)

// Open prepares the data folder, removes what killed hosts have left there, and
// begins to fill the pool in the background. It takes some milliseconds.
func Open(ctx context.Context, config Config) (*Host, error) {
	if strings.ContainsAny(config.Data, ",:") {
		return nil, fault.New(fault.Unsupported, nil, "the path of the data folder "+config.Data+" has a comma or a colon in it, which gVisor cannot take: choose another with --data")
	}
	path, err := filepath.EvalSymlinks(config.Runsc)
	if err != nil {
		return nil, fault.New(fault.Unsupported, err, "the program for gVisor (--runsc) is not there")
	}
	content, err := contentOf(path)
	if err != nil {
		return nil, fault.New(fault.Unsupported, err, "the program for gVisor (--runsc) cannot be read")
	}
	config.Runsc = path
	if config.ImageBytes == 0 {
		config.ImageBytes = defaultImageBytes
	}
	h := &Host{
		config: config,
		runsc:  runsc{path: path, content: content, workBytes: config.Limits.WorkBytes, processors: config.Limits.processors(), egress: config.Egress},
		starts: make(chan struct{}, max(2, runtime.NumCPU())),
		live:   make(map[string]*Sandbox),
		wake:   make(chan struct{}, 1),
	}
	if h.root, err = openRootfs(config.Data, config.Interpreter, config.HostTools); err != nil {
		return nil, err
	}
	becomeSubreaper()
	if err := removeUnused(filepath.Dir(h.root.dir), filepath.Base(h.root.dir)); err != nil {
		config.Log.Warn("remove unused roots of guests", "error", err)
	}
	if !config.AwaitRescue {
		if err := RemoveDead(config.Data); err != nil {
			config.Log.Warn("remove what a killed process left", "error", err)
		}
	}
	if h.instance, err = newInstance(config); err != nil {
		return nil, errors.Join(err, h.root.close())
	}
	h.groups = newGroups(h.instance.name, config.Limits)
	h.plain = newImage(h, Preload{})
	h.image, h.filled = h.plain, !config.AwaitPreload
	fill, stop := context.WithCancel(context.WithoutCancel(ctx))
	h.stop, h.stopped = stop, func(then func()) func() bool { return context.AfterFunc(fill, then) }
	h.filler.Go(func() { h.fill(fill) })
	h.wakeFiller()
	return h, nil
}

// Missing names the limits that this machine does not let us hold, for the
// operator; empty when there are none.
func (h *Host) Missing() []string { return h.groups.missing() }

// Stats returns the counts so far.
func (h *Host) Stats() Stats {
	h.mu.Lock()
	defer h.mu.Unlock()
	return Stats{
		Started: h.started.Load(), Restored: h.restored.Load(), Failed: h.failed.Load(),
		Live: int64(len(h.live)), Pooled: int64(len(h.pooled)), Waiting: h.waiting.Load(),
	}
}

// Take returns a guest that nobody has used: one of the pool, else a new one. It
// may be stopped. The caller closes it. Once Close has begun it is refused as busy, also when
// it is under way.
func (h *Host) Take(ctx context.Context) (*Sandbox, error) { return h.taken(ctx, h.take) }

// TakePlain is Take for a guest without a Preload.
func (h *Host) TakePlain(ctx context.Context) (*Sandbox, error) {
	if h.imageOfPool() == h.plain {
		return h.Take(ctx)
	}
	return h.taken(ctx, func(ctx context.Context) (*Sandbox, error) { return h.start(ctx, h.plain) })
}

// taken calls take, which ends when the host closes.
func (h *Host) taken(ctx context.Context, take func(context.Context) (*Sandbox, error)) (*Sandbox, error) {
	if !h.beginTaking() {
		return nil, shuttingDown(nil)
	}
	defer h.taking.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer h.stopped(cancel)()
	s, err := take(ctx)
	if err != nil && h.isClosed() {
		return nil, shuttingDown(err)
	}
	return s, err
}

// beginTaking makes Close wait until taking is done, unless Close has begun.
func (h *Host) beginTaking() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.closed {
		h.taking.Add(1)
	}
	return !h.closed
}

func (h *Host) isClosed() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.closed
}

func shuttingDown(cause error) error {
	return fault.New(fault.Busy, cause, "the server is shutting down; try again in a moment")
}

func (h *Host) take(ctx context.Context) (*Sandbox, error) {
	for {
		s := h.takePooled()
		if s == nil {
			break
		}
		if s.alive() {
			h.wakeFiller()
			return s, nil
		}
		err := s.Close() // not this caller's affair: Close of the host removes what is left
		h.config.Log.Warn("a guest of the pool has ended", "guest", s.ID, "error", err)
	}
	h.wakeFiller()
	return h.start(ctx, h.imageOfPool())
}

// takePooled returns a guest of the pool, nil when there is none.
func (h *Host) takePooled() *Sandbox {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.pooled) == 0 {
		return nil
	}
	s := h.pooled[0]
	h.pooled = h.pooled[1:]
	return s
}

// start starts or restores a guest of an image, with several attempts.
func (h *Host) start(ctx context.Context, of *image) (*Sandbox, error) {
	release, err := h.awaitStart(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	var last, imageErr error
	for attempt := range startAttempts {
		image := ""
		if imageErr == nil {
			image = of.use()
		}
		s, err := h.startOnce(ctx, beginning{of: of, from: image, base: of.dir, ready: h.config.Program.Ready})
		switch {
		case err == nil:
			of.tried(image != "", imageErr)
			if last != nil {
				h.config.Log.Warn("a guest did not start at once", "attempts", attempt+1, "error", last)
			}
			return s, nil
		case ctx.Err() != nil || h.isClosed():
			return nil, err
		case image != "":
			imageErr = err
		}
		h.failed.Add(1)
		last = err
	}
	// One cause is enough: all attempts that matter were made in the same way.
	if errors.Is(last, errUnmeasured) {
		return nil, fault.New(fault.Unsupported, last,
			"no sandbox is given out whose memory cannot be measured: /proc must be readable, and --runsc of a version that this program knows")
	}
	if hasNoRoom(h.config.Data) { // gVisor's words for it do not tell a disk from namespaces
		last = fmt.Errorf("%w: %w", syscall.ENOSPC, last)
	}
	return nil, fault.New(fault.Unsupported, last, "no sandbox could be started on this machine; `runpython doctor` says why")
}

// leastRoom is how many bytes a start needs on the disk of the data folder.
const leastRoom = 1 << 20

// hasNoRoom reports whether the disk of a folder has less than leastRoom.
func hasNoRoom(folder string) bool {
	var s syscall.Statfs_t
	return syscall.Statfs(folder, &s) == nil && s.Bavail < leastRoom/uint64(s.Bsize)
}

// errUnmeasured says that a living guest has no memory file, so its limit would not hold.
var errUnmeasured = errors.New("the memory of the guest cannot be measured")

// A beginning is what a guest begins with.
type beginning struct {
	of   *image // whose binding is the guest's too
	from string // folder of the image that it is restored from, "" to start it
	base string // folder of the image that its checkpoints are stored as a difference from; none has to be there
	// rescued says that a Stranded one made the checkpoint.
	rescued bool
	// prepare, if not nil, puts files into the guest's folders before its processes exist.
	prepare func(s *Sandbox) error
	ready   func(ctx context.Context, s *Sandbox) error // of the Program
	within  time.Duration                               // 0 for startDeadline
}

// startOnce makes one attempt.
func (h *Host) startOnce(ctx context.Context, b beginning) (*Sandbox, error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(b.within, startDeadline))
	defer cancel()
	s, err := h.launch(ctx, b)
	if err != nil {
		return nil, err
	}
	if err = b.ready(ctx, s); err == nil {
		err = s.measure()
	}
	if err != nil {
		said := make([]byte, complaintBytes)
		if e := s.Stderr.SetReadDeadline(time.Now().Add(10 * time.Millisecond)); e == nil {
			n, _ := s.Stderr.Read(said)
			said = said[:n]
		}
		return nil, errors.Join(fmt.Errorf("guest %s is not ready: %w: %s", s.ID, err, said), s.Close())
	}
	if b.from == "" {
		h.started.Add(1)
	} else {
		h.restored.Add(1)
	}
	return s, nil
}

// launch creates the folder and the processes of a guest.
func (h *Host) launch(ctx context.Context, b beginning) (*Sandbox, error) {
	s, p, err := h.newSandbox(b)
	if err != nil {
		return nil, err
	}
	command := []string{"run"}
	if b.from != "" {
		command = []string{"restore", "--image-path", b.from}
	}
	if err = h.runsc.launch(ctx, s.dir, s.ID, p, command...); err == nil {
		err = s.readState()
	}
	if err == nil {
		err = h.groups.add(s.ID, s.pid)
	}
	if err != nil {
		err = errors.Join(err, killProcesses(s.dir))
		reapOrphans(h.processes())
		return nil, errors.Join(err, p.close(), h.groups.remove(s.ID), removeGuest(s.dir))
	}
	err = errors.Join(p.closeGuest(), h.remember(s))
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// newSandbox makes all of a guest but its processes.
func (h *Host) newSandbox(b beginning) (*Sandbox, *pipes, error) {
	id := "g" + randomName()
	dir := filepath.Join(h.instance.dir, id)
	s := &Sandbox{
		ID: id, Uploads: filepath.Join(dir, "work"), Preloaded: b.of.preload.Dir != "", Rescued: b.rescued, host: h, dir: dir,
	}
	if h.config.Environment == "" {
		s.Environment = filepath.Join(dir, environmentName)
	}
	if h.config.Egress {
		s.Egress = filepath.Join(dir, egressName)
	}
	err := h.writeBundle(dir, b.of.preload)
	if err == nil {
		err = s.writeOrigin(b)
	}
	if err == nil && b.prepare != nil {
		err = b.prepare(s)
	}
	var p *pipes
	if err == nil {
		p, err = newPipes()
	}
	if err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(dir))
	}
	s.Channel, s.Stdout, s.Stderr = p.channel, p.stdout, p.stderr
	return s, p, nil
}

func (h *Host) remember(s *Sandbox) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return errors.New("the host is closed")
	}
	h.live[s.ID] = s
	return nil
}

// processes returns the numbers that living guests still use.
func (h *Host) processes() map[int]bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := make(map[int]bool, 2*len(h.live))
	for _, s := range h.live {
		s.mu.Lock()
		all[s.pid], all[s.gofer] = true, true
		s.mu.Unlock()
	}
	return all
}

// forget removes a closed guest from the host's books.
func (h *Host) forget(s *Sandbox) error {
	h.mu.Lock()
	delete(h.live, s.ID)
	h.mu.Unlock()
	return h.groups.remove(s.ID)
}

// Close ends all guests and the starts under way, and removes the host's folder. Nothing is
// left of the guests when it returns without an error.
func (h *Host) Close() error {
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return nil
	}
	h.closed = true
	h.mu.Unlock()
	h.stop()
	for _, s := range h.guests() {
		s.Kill() // all at once; Close below waits for each
	}
	h.filler.Wait()
	h.taking.Wait()
	var err error
	for _, s := range h.guests() {
		err = errors.Join(err, s.Close())
	}
	return errors.Join(err, killProcesses(h.instance.dir), h.groups.close(), h.instance.close(), h.root.close())
}

// guests returns those that exist now.
func (h *Host) guests() []*Sandbox {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Values(h.live))
}

// randomName returns 50 random bits as 10 lower-case letters and digits.
func randomName() string { return strings.ToLower(rand.Text()[:10]) }

// Dir returns the host's folder. What is put there is removed with the host, also
// when the process is killed.
func (h *Host) Dir() string { return h.instance.dir }
