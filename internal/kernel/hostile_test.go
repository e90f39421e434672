package kernel_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"runpython/internal/extent"
	"runpython/internal/guesttest"
	"runpython/internal/kernel"
	"runpython/internal/sandbox"
	"runpython/internal/sandbox/hostiletest"
)

const (
	// hostileAtOnce is how many programs run at once: some want all processors, more only wait.
	hostileAtOnce = 2
	// secret is in the environment and in a file of the host; no program may find it.
	secret = "host-secret-5f1c"
)

// Every program of the corpus gets its verdict in a real guest, and the chat, the
// other chats and the host go on.
func TestHostileCorpus(t *testing.T) {
	programs, err := hostiletest.Load("../sandbox/testdata/hostile")
	if err != nil {
		t.Fatal(err)
	}
	if len(programs) < 60 {
		t.Fatalf("%d programs; want at least 60", len(programs))
	}
	if !extent.PlaysAll() {
		programs = sample(programs)
		t.Logf("%d programs; with %s=1 the whole corpus runs", len(programs), extent.Variable)
	}
	t.Setenv("RUNPYTHON_HOST_SECRET", secret)
	s := guesttest.NewSetup(t)
	s.Config.Limits.MemoryBytes, s.Config.Pool = 256<<20, hostileAtOnce
	s.Config.Program = kernel.Program(s.Config.Program.Dir, s.Key, s.Config.Limits)
	if err := os.WriteFile(filepath.Join(s.Config.Data, "secret"), []byte(secret), 0o644); err != nil {
		t.Fatal(err)
	}
	h := s.Open(t)
	witness := s.Kernel(t, h, 0)
	evaluate(t, witness, "witness = 1")
	slots := make(chan struct{}, hostileAtOnce)
	t.Run("programs", func(t *testing.T) {
		for _, p := range programs {
			t.Run(p.Name, func(t *testing.T) {
				t.Parallel()
				slots <- struct{}{}
				defer func() { <-slots }()
				judge(t, s, h, p)
			})
		}
	})
	if got := evaluate(t, witness, "witness + 1"); got != "2" {
		t.Errorf("another chat answers %q; want 2", got)
	}
	var memory runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&memory)
	if memory.HeapAlloc > 64<<20 {
		t.Errorf("the host's heap holds %d MiB after the corpus", memory.HeapAlloc>>20)
	}
}

// sampled is how many programs there are for one that is played where not all are, and sampledFew that by "go test ./...".
const (
	sampled    = 40
	sampledFew = 90
)

// sample returns the programs that are to be played, beginning with the first.
func sample(programs []hostiletest.Program) []hostiletest.Program {
	var some []hostiletest.Program
	every := sampledFew
	if extent.PlaysSlow() {
		every = sampled
	}
	for i := 0; i < len(programs); i += every {
		some = append(some, programs[i])
	}
	return some
}

// judge runs one program in a chat of its own.
func judge(t *testing.T, s *guesttest.Setup, h *sandbox.Host, p hostiletest.Program) {
	k := s.Kernel(t, h, p.Limit())
	evaluate(t, k, "kept_marker = 12345")
	if p.Setup != "" {
		execute(t, k, p.Setup)
	}
	begun := time.Now()
	r := execute(t, k, p.Code)
	if took := time.Since(begun); took > p.Limit()+20*time.Second { // the bounds of a stop, on a machine under load
		t.Errorf("took %v", took)
	}
	said := r.Stdout.Text(1<<20) + "\n" + r.Stderr.Text(1<<20)
	failure := r.Signal
	if r.Error != nil {
		failure += r.Error.Type + ": " + r.Error.Message + "\n" + r.Error.Traceback
	}
	failure += limitWords(r, p.Limit(), s.Config.Limits)
	if got := statuses(r); !slices.ContainsFunc(got, p.Fits) {
		t.Errorf("status %v; want one of %v", got, p.Statuses)
	}
	for _, want := range p.StdoutHas {
		if !strings.Contains(said, want) {
			t.Errorf("output lacks %q", want)
		}
	}
	value := ""
	if r.Value != nil {
		value = r.Value.Text
	}
	searched := value + failure
	if p.Kind != "protocol" { // those print what they forge, which is no harm
		searched += said
	}
	for _, no := range p.StdoutNot {
		if strings.Contains(searched, no) {
			t.Errorf("result has %q", no)
		}
	}
	if strings.Contains(said+value+failure, secret) {
		t.Error("the result has the host's secret")
	}
	for _, want := range p.ErrorHas {
		if !strings.Contains(failure+strings.Join(r.Notes, "\n"), want) {
			t.Errorf("error lacks %q", want)
		}
	}
	judgeAfter(t, s, h, k, p)
	if t.Failed() {
		t.Logf("%s: exit %d; %v after %v, value %q, reset %v, lost %v, peak %d MiB, notes %q\nerror: %.1500s\nprinted: %.1500s", p.Name, r.ExitCode, statuses(r), r.Duration, value, r.Reset, r.Lost, r.PeakBytes>>20, r.Notes, failure, said)
	}
}

// judgeAfter looks at what the program has left of its chat.
func judgeAfter(t *testing.T, s *guesttest.Setup, h *sandbox.Host, k *kernel.Kernel, p hostiletest.Program) {
	if k.Lost() {
		if p.After == hostiletest.Kept {
			t.Error("the guest is lost; want the variables kept")
		}
		k = s.Kernel(t, h, p.Limit())
	}
	if p.After == hostiletest.Kept {
		if got := evaluate(t, k, "kept_marker"); got != "12345" {
			t.Errorf("kept_marker is %q; want the variables kept", got)
		}
	}
	if p.Next != "" {
		if got := evaluate(t, k, p.Next); got != p.NextValue {
			t.Errorf("next %q gives %q; want %q", p.Next, got, p.NextValue)
		}
	}
	got := evaluate(t, k, "6 * 7")
	if got == string(kernel.Files) && p.After == hostiletest.Any && p.Fits(got) {
		got = evaluate(t, k, "6 * 7") // init has seen only then how many files the program had left, and has ended its interpreter
	}
	if got != "42" {
		t.Errorf("6 * 7 gives %q", got)
	}
}

// limitWords are the numbers that package chat puts into the sentence of a limit.
func limitWords(r *kernel.Result, limit time.Duration, l sandbox.Limits) string {
	switch r.Status {
	case kernel.TimedOut:
		return fmt.Sprintf(" stopped after %d s", limit/time.Second)
	case kernel.Memory:
		return fmt.Sprintf(" more than %d MiB", l.MemoryBytes>>20)
	case kernel.Files:
		return fmt.Sprintf(" more than %d files in /work", l.WorkFiles)
	case kernel.Crashed:
		return fmt.Sprintf(" ended with status %d", r.ExitCode)
	default:
		return ""
	}
}

// statuses returns the words of the corpus for a result.
func statuses(r *kernel.Result) []string {
	words := []string{string(r.Status)}
	if r.Lost {
		words = append(words, "killed")
	}
	return words
}

func execute(t *testing.T, k *kernel.Kernel, code string) *kernel.Result {
	t.Helper()
	r, err := k.Run(t.Context(), kernel.Request{Candidates: []kernel.Candidate{{Code: code, RunAnyway: true}}})
	if err != nil {
		t.Fatalf("run %.60q: %v", code, err)
	}
	return r
}

// evaluate runs code and returns its value, or what went wrong.
func evaluate(t *testing.T, k *kernel.Kernel, code string) string {
	t.Helper()
	r := execute(t, k, code)
	switch {
	case r.Error != nil:
		return r.Error.Type + ": " + r.Error.Message
	case r.Status != kernel.OK:
		return string(r.Status)
	case r.Value == nil:
		return ""
	}
	return r.Value.Text
}
