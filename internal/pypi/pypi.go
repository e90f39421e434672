package pypi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"runpython/internal/pypi/build"
	"runpython/internal/pypi/cache"
	"runpython/internal/pypi/names"
	"runpython/internal/pypi/policy"
	"runpython/internal/pypi/source"
	"runpython/internal/pypi/uv"
)

// What a Config has where it says nothing.
const (
	DefaultTime             = 120 * time.Second
	DefaultAge              = 3 * 24 * time.Hour
	DefaultWheelBytes       = 512 << 20
	DefaultEnvironmentBytes = 4 << 30
	DefaultCacheBytes       = 20 << 30
)

// Config is what an Installer needs. The first group is required.
type Config struct {
	Dir           string // of this package alone; on the file system of the environments, if wheels are to be linked
	Python        string // interpreter of the guests, as a path of the host
	PythonVersion string // "3.14.6"
	GuestPython   string // the same interpreter as guests see it, for scripts
	GuestDir      string // an environment as guests see it, for tracebacks
	Log           *slog.Logger

	Environ        []string // of the process: the variables of uv, pip and proxies are read
	UV             string   // path of uv; "" looks for one
	IndexURL       string   // "" is what the variables say, else uv's default
	ExtraIndexURLs []string // asked before it
	FindLinks      []string // folders of wheels
	NoIndex        bool     // only FindLinks
	CABundle       string   // PEM file

	Mode             string // auto, listed, off; "" is auto
	Allow, Deny      []string
	Age              time.Duration // packages younger than this are not installed; negative: all are
	Time             time.Duration // of one install
	WheelBytes       int64         // of one wheel
	EnvironmentBytes int64         // of one environment
	CacheBytes       int64         // of the cache; what environments link stays beyond it

	// Guests, if not nil, gives a guest of its own to each build of a source distribution;
	// without, only wheels are installed.
	Guests build.Start `json:"-"`
}

// withDefaults fills what is zero.
func (c Config) withDefaults() Config {
	fill := func(n *int64, value int64) {
		if *n == 0 {
			*n = value
		}
	}
	fill((*int64)(&c.Age), int64(DefaultAge))
	fill((*int64)(&c.Time), int64(DefaultTime))
	fill(&c.WheelBytes, DefaultWheelBytes)
	fill(&c.EnvironmentBytes, DefaultEnvironmentBytes)
	fill(&c.CacheBytes, DefaultCacheBytes)
	return c
}

// An Installer installs packages into environments. It is safe for concurrent use, and
// several processes may use one folder.
type Installer struct {
	config  Config
	sources *source.Sources
	files   *source.Downloader
	gate    *policy.Gate
	cache   *cache.Cache
	answers answers
	late    late
	builds  *builds

	uvTurn chan struct{} // one at a time looks for uv, or reads the next field
	uv     *uv.Program

	saidUntimed sync.Once
	tidy        chan struct{} // asks for a look at the sizes of the caches
	cancel      context.CancelFunc
	work        sync.WaitGroup
}

// Open returns an Installer, or an error which names the setting that is wrong. It asks
// no index and starts no program, and what it starts in the background lasts beyond ctx: code that needs no package works without either. The
// caller closes it.
func Open(ctx context.Context, c Config) (*Installer, error) {
	c = c.withDefaults()
	sources, err := source.Read(source.Config{
		IndexURL: c.IndexURL, ExtraIndexURLs: c.ExtraIndexURLs, FindLinks: c.FindLinks, NoIndex: c.NoIndex,
		CABundle: c.CABundle, Environ: c.Environ,
	})
	if err != nil {
		return nil, err
	}
	for _, w := range sources.Warnings {
		c.Log.Warn("package sources", slog.String("warning", w))
	}
	gate, err := policy.New(policy.Config{
		Mode: policy.Mode(c.Mode), Allow: c.Allow, Deny: c.Deny,
		WheelBytes: c.WheelBytes, EnvironmentBytes: c.EnvironmentBytes, LookAlike: names.LookAlike,
	})
	if err != nil {
		return nil, err
	}
	if c.Dir, err = filepath.Abs(c.Dir); err != nil {
		return nil, err
	}
	in := &Installer{config: c, sources: sources, gate: gate, tidy: make(chan struct{}, 1), uvTurn: make(chan struct{}, 1), late: late{folders: map[string][]string{}}}
	if in.builds, err = openBuilds(filepath.Join(c.Dir, "builds")); err != nil {
		return nil, err
	}
	in.answers = answers{dir: filepath.Join(c.Dir, "answers")}
	if err := os.MkdirAll(in.answers.dir, 0o700); err != nil {
		return nil, fmt.Errorf("folder of packages: %w", err)
	}
	// Bytecode is of one version of Python.
	in.cache, err = cache.Open(ctx, cache.Config{
		Dir: filepath.Join(c.Dir, "python-"+strings.ReplaceAll(target(c.PythonVersion), " ", "-")), Python: c.Python, GuestPython: c.GuestPython, GuestDir: c.GuestDir,
		WheelBytes: c.WheelBytes, FilesBytes: c.EnvironmentBytes, Bytes: c.CacheBytes, Log: c.Log, Compiled: in.compiled,
	})
	if err != nil {
		return nil, err
	}
	in.files = sources.Downloader()
	ctx, in.cancel = context.WithCancel(context.WithoutCancel(ctx))
	in.work.Go(func() { in.tidyUp(ctx) })
	return in, nil
}

// Close ends what goes on in the background. No Install may be under way. A second Close does
// nothing.
func (in *Installer) Close() {
	in.cancel()
	in.work.Wait()
	in.cache.Close()
	in.files.Close()
}

// program returns uv, which is looked for when it is needed first.
func (in *Installer) program(ctx context.Context) (*uv.Program, error) {
	select {
	case in.uvTurn <- struct{}{}:
		defer func() { <-in.uvTurn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if in.uv != nil {
		return in.uv, nil
	}
	p, err := uv.Open(ctx, uv.Config{
		Path: in.config.UV, Data: filepath.Join(in.config.Dir, "uv"), Python: in.config.Python, PythonVersion: in.config.PythonVersion,
		Sources: in.sources, Files: in.files, Log: in.config.Log,
	})
	if err != nil {
		return nil, err
	}
	in.uv = p
	return p, nil
}

// known returns uv if it was needed before, else nil.
func (in *Installer) known(ctx context.Context) *uv.Program {
	select {
	case in.uvTurn <- struct{}{}:
		defer func() { <-in.uvTurn }()
		return in.uv
	case <-ctx.Done():
		return nil
	}
}

// A Description is what an operator wants to know.
type Description struct {
	UV         string // its version and where it is from; "" when there is none
	Sources    string // without credentials
	CacheBytes int64
}

// Describe looks for uv, and fetches it if needed. With the error, the Description has
// what could be found out.
func (in *Installer) Describe(ctx context.Context) (Description, error) {
	d := Description{Sources: in.sources.String()}
	p, err := in.program(ctx)
	if err == nil {
		d.UV = fmt.Sprintf("uv %s, %s (%s)", p.Version, p.Origin, p.Path)
	}
	var sizeErr error
	d.CacheBytes, sizeErr = in.cache.Size()
	return d, errors.Join(err, sizeErr)
}

// Verify reads all of the cache and returns what is damaged.
func (in *Installer) Verify(ctx context.Context) error { return in.cache.Verify(ctx) }

// Compile byte-compiles the wheels of l now, instead of in the background some time;
// environments that are made afterwards have the bytecode.
func (in *Installer) Compile(ctx context.Context, l Lock) error {
	var err error
	for _, p := range l.Packages {
		err = errors.Join(err, in.cache.Compile(ctx, p.SHA256))
	}
	return err
}

// tidyUp keeps the caches within their bounds until ctx ends.
func (in *Installer) tidyUp(ctx context.Context) {
	for {
		select {
		case <-in.tidy:
		case <-ctx.Done():
			return
		}
		_, err := in.cache.Prune(ctx)
		err = errors.Join(err, in.answers.prune())
		if p := in.known(ctx); p != nil {
			err = errors.Join(err, p.Prune(ctx))
		}
		if err != nil && ctx.Err() == nil {
			in.config.Log.Warn("the packages' caches could not be tidied up", slog.Any("error", err))
		}
	}
}

// before returns the time of the newest upload that is installed: at least Age ago, and
// the same for a whole day, so that answers can be kept.
func (in *Installer) before() time.Time {
	if in.config.Age < 0 {
		return time.Time{}
	}
	return time.Now().UTC().Add(-in.config.Age).Truncate(24 * time.Hour)
}

// messages returns what is not empty, each once.
func messages(lists ...[]string) []string {
	var all []string
	for _, list := range lists {
		for _, m := range list {
			if m != "" && !slices.Contains(all, m) {
				all = append(all, m)
			}
		}
	}
	return all
}
