package app_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"runpython/internal/app"
	"runpython/internal/chat"
	"runpython/internal/config"
	"runpython/internal/extent"
	"runpython/internal/guesttest"
)

// TestCases lets real guests do what people reported to go wrong in systems like
// this one. The name of a subtest begins with the id of the case; docs/cases.md
// lists all of them. The groups share a data folder, and with it the interpreter
// and the images, as several processes of one user do.
func TestCases(t *testing.T) {
	data := guesttest.Data(t)
	if program := build(t); program.Program == "" { // skips where guests cannot run, before anything is made
		t.Fatal("no program for guests")
	}
	for _, group := range []struct {
		name string
		slow bool
		run  func(t *testing.T, data string)
	}{
		{"values", false, valueCases},
		{"limits", true, limitCases},
		{"memory", true, memoryCases},
		{"world", true, worldCases},
		{"chats", true, chatCases},
		{"messages", false, messageCases},
		{"libraries", true, libraryCases},
		{"packages", true, packageCases},
	} {
		t.Run(group.name, func(t *testing.T) {
			if group.slow {
				extent.Slow(t)
			}
			group.run(t, data)
		})
	}
}

// A scenario is what happens in one chat.
type scenario struct {
	name  string // the id of the case, and what is special here
	steps []step
}

// A step is one message and what must come of it. Fields that are not set say that
// there must be nothing of the kind: no output, no value, no failure.
type step struct {
	send    string
	timeout time.Duration // of the run; 0 is that of the program
	stdout  string        // exactly, but for anything
	stderr  string
	value   string
	failure []string // parts of the run's error; without any the reply must be no error

	text   []string                 // what the text must have, beside
	never  []string                 // what the text must not have
	state  chat.State               // "" is New for the first step and Kept for the others
	images int                      // pictures
	files  []string                 // paths of the files that are listed
	check  func(*chat.Reply) string // what else is wrong, "" for nothing
}

// What is not looked at: any output or value, any state.
const (
	anything            = "\x00anything"
	anyState chat.State = "\x00any"
)

// shortTime is the time limit of runs that are to reach it.
const shortTime = time.Second

// openAt builds the program on a data folder that is shared.
func openAt(t *testing.T, data string, change func(*config.Config, *app.Build)) *app.App {
	t.Helper()
	c := unset()
	c.Data, c.Listen, c.AdminListen, c.Pool, c.Packages, c.Model = data, "127.0.0.1:0", "127.0.0.1:0", 2, config.PackagesOff, "none"
	b := build(t)
	if change != nil {
		change(&c, &b)
	}
	a, err := app.Open(t.Context(), c, guesttest.Log(t), b)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return a
}

// sampled is how many scenarios of a list there are for one that is played by "go test ./...".
const sampled = 25

// sample returns the scenarios that are to be played, beginning with the first.
func sample(t *testing.T, scenarios []scenario) []scenario {
	t.Helper()
	if extent.PlaysAll() {
		return scenarios
	}
	var some []scenario
	for i := 0; i < len(scenarios); i += sampled {
		some = append(some, scenarios[i])
	}
	t.Logf("%d of %d scenarios; with %s=1 all are played", len(some), len(scenarios), extent.Variable)
	return some
}

// long runs a subtest that takes some seconds, if all are to be played.
func long(t *testing.T, name string, f func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		extent.Long(t)
		f(t)
	})
}

// play runs each scenario as a subtest, in a chat of its own, beside the others.
func play(t *testing.T, a *app.App, scenarios []scenario) {
	t.Helper()
	scenarios = sample(t, scenarios)
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			s.play(t, a)
		})
	}
}

// playAlone runs each scenario as a subtest, one after the other.
func playAlone(t *testing.T, a *app.App, scenarios []scenario) {
	t.Helper()
	scenarios = sample(t, scenarios)
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) { s.play(t, a) })
	}
}

// play plays the scenario, once more if it may be that the machine was too busy for it.
func (s scenario) play(t *testing.T, a *app.App) {
	t.Helper()
	for left := s.tries(); ; left-- {
		problems := s.problems(t, a)
		if len(problems) == 0 {
			return
		}
		if left == 1 {
			t.Error(strings.Join(problems, "\n"))
			return
		}
		t.Logf("played once more, since this happened: %s", strings.Join(problems, "\n"))
	}
}

// tries is how often a scenario may be played. Code that is interrupted keeps its
// variables if it ends within the grace; on a machine that is busy with other
// things, the interpreter may not get its turn of the processor in that time.
func (s scenario) tries() int {
	for _, st := range s.steps {
		if slices.Contains(st.failure, variablesKept) {
			return 3
		}
	}
	return 1
}

// variablesKept is what the error of a run that was interrupted in time says.
const variablesKept = "The variables are kept."

// problems plays the scenario and returns what is not as wanted.
func (s scenario) problems(t *testing.T, a *app.App) []string {
	t.Helper()
	id := ""
	var all []string
	for i, st := range s.steps {
		reply := send(t, a, chat.Request{ChatID: id, Message: st.send, RunTimeout: st.timeout})
		if st.state == "" && i > 0 {
			st.state = chat.Kept
		}
		for _, p := range st.judge(reply) {
			all = append(all, fmt.Sprintf("step %d: %s\n--- sent\n%.600s\n--- text\n%.2000s\n", i+1, p, st.send, reply.Text))
		}
		if id = reply.ChatID; id == "" && i < len(s.steps)-1 {
			return append(all, fmt.Sprintf("step %d began no chat:\n%s", i+1, reply.Text))
		}
	}
	return all
}

// send runs one turn.
func send(t *testing.T, a *app.App, r chat.Request) *chat.Reply {
	t.Helper()
	reply, err := a.Turn(t.Context(), r)
	if err != nil {
		t.Fatalf("Turn(%.200q) = %v", r.Message, err)
	}
	return reply
}

// judge compares a reply with what the step wants and returns the differences.
func (s step) judge(r *chat.Reply) []string {
	var all []string
	bad := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	run := chat.Run{}
	if len(r.Runs) > 0 {
		run = r.Runs[0]
	}
	for _, part := range []struct{ name, want, got string }{
		{"stdout", s.stdout, run.Stdout}, {"stderr", s.stderr, run.Stderr}, {"value", s.value, run.Value},
	} {
		if part.want != anything && part.want != part.got {
			bad("%s %.2000q, want %q", part.name, part.got, part.want)
		}
	}
	if failed := len(s.failure) > 0; r.IsError != failed || len(r.Runs) > 0 && failed != (run.Error != "") {
		bad("an error: %v, of the run: %.2000q; want %q", r.IsError, run.Error, s.failure)
	}
	all = append(all, s.lacks("the error", run.Error, s.failure)...)
	all = append(all, s.lacks("the text", r.Text, s.text)...)
	for _, part := range s.never {
		if strings.Contains(r.Text, part) {
			bad("the text has %q", part)
		}
	}
	state := cmp.Or(s.state, chat.New)
	if strings.Contains(run.Error, "The variables are lost") { // then the state of this very reply says it too
		state = chat.Reset
	}
	if state != anyState && r.State != state {
		bad("state %q (%s), want %q", r.State, r.StateReason, state)
	}
	if len(r.Images) != s.images {
		bad("%d pictures, want %d", len(r.Images), s.images)
	}
	if diff := gocmp.Diff(s.files, paths(r)); diff != "" {
		bad("files (-want +got):\n%s", diff)
	}
	if s.check != nil {
		if problem := s.check(r); problem != "" {
			bad("%s", problem)
		}
	}
	return all
}

func (step) lacks(name, text string, parts []string) []string {
	var all []string
	for _, part := range parts {
		if !strings.Contains(text, part) {
			all = append(all, fmt.Sprintf("%s lacks %q: %.2000q", name, part, text))
		}
	}
	return all
}

func paths(r *chat.Reply) []string {
	var all []string
	for _, f := range r.Files {
		all = append(all, f.Path)
	}
	return all
}
