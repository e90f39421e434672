// Program bench measures the product beside other programs that do the same work, on the
// machine and in the minutes in which it runs, and says which goals are met.
//
//	go run ./bench                 all parts, some ten minutes
//	go run ./bench -only living    the parts whose names match
//	go run ./bench -quick          a tenth of the measurements, to try it
//	go run ./bench -only load -load 1m   how long the clients of that part call
//
// It prints a table and, when BENCH_OUT names a file, writes the rows there as JSON. It
// builds the static program, uses a data folder of its own and speaks with the
// program as clients do, over HTTP with the client of the MCP SDK. The references are
//
//   - the SDK's own handlers with a tool that returns its arguments,
//   - a guest with a kernel and nothing above them,
//   - ipykernel and jupyter-mcp-server, installed once in a virtual environment in the user's
//     cache folder, in the versions of requirements.txt; without an index their rows are null,
//   - python3 -c.
//
// What is compared is measured in turn, in rounds, so that what else the machine does
// falls on both. Every answer is checked.
//
// A missed goal is a result and not a failure: the exit status is 1 only when
// something of ours could not be measured. Everything that is started is ended, also
// after a Ctrl-C, and each wait and each loop has a bound.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"time"
)

// gcPercent keeps this program's own collecting out of what it measures: it shares the processors with it.
const gcPercent = 800

func main() {
	debug.SetGCPercent(gcPercent)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// runLimit bounds the whole, the installation of the references included, beside what -load says.
const runLimit = 20 * time.Minute

// defaultLoadTime is how long the part load lasts.
const defaultLoadTime = 5 * time.Minute

// run is the program without its end.
func run(ctx context.Context, arguments []string) error {
	ctx, cancel := context.WithTimeout(ctx, runLimit)
	defer cancel()
	if len(arguments) > 0 && arguments[0] == echoCommand {
		return serveEcho(ctx, os.Stderr)
	}
	if len(arguments) > 0 && arguments[0] == guestCommand {
		return workGuest(ctx, arguments[1:], os.Stdin, os.Stdout)
	}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	only := flags.String("only", "", "measure the parts whose names match this `expression`: "+partNames())
	quick := flags.Bool("quick", false, "take a tenth of the measurements")
	lasts := flags.Duration("load", defaultLoadTime, "how long the part load lasts; -quick takes a tenth of it")
	if err := flags.Parse(arguments); err != nil {
		return err //nolint:wrapcheck // it has told
	}
	wanted, err := regexp.Compile(*only)
	if err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	b, err := openBench(ctx, os.Stderr, *quick)
	if err != nil {
		return err
	}
	b.loadTime = *lasts
	if b.quick {
		b.loadTime /= 10
	}
	machine, err := describeMachine()
	if err != nil {
		return errors.Join(err, b.close())
	}
	rows, failed := b.measure(ctx, wanted)
	fmt.Fprintf(os.Stdout, "%s\n\n", machine)
	failed = errors.Join(failed, b.close(), writeTable(os.Stdout, rows))
	if name := os.Getenv("BENCH_OUT"); name != "" {
		failed = errors.Join(failed, writeJSON(name, rows))
	}
	return failed
}

// A bench is what all parts share. Close it.
type bench struct {
	log   io.Writer // for the person who waits
	quick bool
	self  string // this program
	cache string // folder that stays
	dir   string // folder of this run

	program    string        // the product
	data       string        // its data folder
	loadTime   time.Duration // of the part load
	references *jupyter
}

// staleAfter is the age at which the folder of a run that was killed is removed.
const staleAfter = 6 * time.Hour

// openBench builds the product and lets it unpack its interpreter.
func openBench(ctx context.Context, log io.Writer, quick bool) (_ *bench, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	b := &bench{log: log, quick: quick, self: self, cache: filepath.Join(cache, "runpython-bench")}
	if err := os.MkdirAll(b.cache, 0o700); err != nil {
		return nil, fmt.Errorf("cache folder: %w", err)
	}
	b.tell(removeStale(b.cache))
	if b.dir, err = os.MkdirTemp(b.cache, "run-"); err != nil {
		return nil, fmt.Errorf("folder of this run: %w", err)
	}
	b.data = filepath.Join(b.dir, "data")
	fmt.Fprintln(log, "building the program")
	err = b.build(ctx)
	if err == nil {
		err = b.fill(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, b.close())
	}
	return b, nil
}

func removeStale(cache string) error {
	folders, err := filepath.Glob(filepath.Join(cache, "run-*"))
	for _, folder := range folders {
		if info, statErr := os.Stat(folder); statErr == nil && time.Since(info.ModTime()) > staleAfter {
			err = errors.Join(err, os.RemoveAll(folder))
		}
	}
	return err
}

func (b *bench) close() error { return os.RemoveAll(b.dir) }

// times is how many rounds are measured where a full run has n.
func (b *bench) times(n int) int {
	if b.quick {
		return max(1, n/10)
	}
	return n
}

// measure measures the parts that are wanted. A part that fails is a row that says so.
func (b *bench) measure(ctx context.Context, wanted *regexp.Regexp) (rows []row, failed error) {
	for _, p := range parts() {
		if !wanted.MatchString(p.name) {
			continue
		}
		fmt.Fprintf(b.log, "measuring %s: %s\n", p.name, p.about)
		more, err := p.measure(b, ctx)
		if err != nil {
			more = append(more, row{Name: p.name, Note: "not measured in full: " + firstLine(err)})
			failed = errors.Join(failed, fmt.Errorf("measure %s: %w", p.name, err))
		}
		for i := range more {
			more[i].Repeat = "go run ./bench -only " + p.name
		}
		rows = append(rows, more...)
		if ctx.Err() != nil {
			break
		}
	}
	return rows, failed
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// describeMachine says on what machine is measured, and how busy that is.
func describeMachine() (string, error) {
	release, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return "", fmt.Errorf("describe the machine: %w", err)
	}
	load, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "", fmt.Errorf("describe the machine: %w", err)
	}
	minute, _, _ := strings.Cut(string(load), " ")
	return fmt.Sprintf("%d processors, %s, Linux %s, %s, load of the minute before %s", runtime.NumCPU(), runtime.GOARCH,
		strings.TrimSpace(string(release)), runtime.Version(), minute), nil
}

// tell tells the person who waits of an error that does not concern the product.
func (b *bench) tell(err error) {
	if err != nil {
		fmt.Fprintln(b.log, err)
	}
}
