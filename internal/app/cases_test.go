package app_test

import (
	"cmp"
	"fmt"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"runpython/internal/app"
	"runpython/internal/chat"
	"runpython/internal/config"
	"runpython/internal/guesttest"
)

// TestCases lets real guests do what people reported to go wrong in systems like
// this one. The name of a subtest begins with the id of the case; docs/cases.md
// lists all of them. The groups share a data folder, and with it the interpreter
// and the images, as several processes of one user do.
func TestCases(t *testing.T) {
	data := t.TempDir()
	if program := build(t); program.Program == "" { // skips where guests cannot run, before anything is made
		t.Fatal("no program for guests")
	}
	for _, group := range []struct {
		name string
		run  func(t *testing.T, data string)
	}{
		{"values", valueCases},
		{"limits", limitCases},
		{"memory", memoryCases},
		{"world", worldCases},
		{"chats", chatCases},
		{"messages", messageCases},
		{"libraries", libraryCases},
	} {
		t.Run(group.name, func(t *testing.T) { group.run(t, data) })
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

	text   []string                      // what the text must have, beside
	never  []string                      // what the text must not have
	state  chat.State                    // "" is New for the first step and Kept for the others
	images int                           // pictures
	files  []string                      // paths of the files that are listed
	check  func(*testing.T, *chat.Reply) // what else must be true
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
	c := config.Default(func(string) (string, bool) { return "", false })
	c.Data, c.Listen, c.AdminListen, c.Pool = data, "127.0.0.1:0", "127.0.0.1:0", 2
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

// play runs each scenario as a subtest, in a chat of its own, beside the others.
func play(t *testing.T, a *app.App, scenarios []scenario) {
	t.Helper()
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
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) { s.play(t, a) })
	}
}

func (s scenario) play(t *testing.T, a *app.App) {
	t.Helper()
	id := ""
	for i, st := range s.steps {
		reply := send(t, a, chat.Request{ChatID: id, Message: st.send, RunTimeout: st.timeout})
		if st.state == "" && i > 0 {
			st.state = chat.Kept
		}
		st.judge(t, reply)
		if id = reply.ChatID; id == "" && i < len(s.steps)-1 {
			t.Fatalf("step %d began no chat:\n%s", i+1, reply.Text)
		}
	}
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

// judge compares a reply with what the step wants.
func (s step) judge(t *testing.T, r *chat.Reply) {
	t.Helper()
	bad := func(format string, args ...any) {
		t.Helper()
		t.Errorf("%s\n--- sent\n%.600s\n--- text\n%.3000s", fmt.Sprintf(format, args...), s.send, r.Text)
	}
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
	if failed := len(s.failure) > 0; r.IsError != failed || run.Error != "" != failed && len(r.Runs) > 0 {
		bad("an error: %v, of the run: %.2000q; want %q", r.IsError, run.Error, s.failure)
	}
	for _, part := range s.failure {
		if !strings.Contains(run.Error, part) {
			bad("the error lacks %q: %.2000q", part, run.Error)
		}
	}
	for _, part := range s.text {
		if !strings.Contains(r.Text, part) {
			bad("the text lacks %q", part)
		}
	}
	for _, part := range s.never {
		if strings.Contains(r.Text, part) {
			bad("the text has %q", part)
		}
	}
	if state := cmp.Or(s.state, chat.New); state != anyState && r.State != state {
		bad("state %q (%s), want %q", r.State, r.StateReason, state)
	}
	if len(r.Images) != s.images {
		bad("%d pictures, want %d", len(r.Images), s.images)
	}
	if diff := gocmp.Diff(s.files, paths(r)); diff != "" {
		bad("files (-want +got):\n%s", diff)
	}
	if s.check != nil {
		s.check(t, r)
	}
}

func paths(r *chat.Reply) []string {
	var all []string
	for _, f := range r.Files {
		all = append(all, f.Path)
	}
	return all
}
