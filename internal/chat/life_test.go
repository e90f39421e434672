package chat_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"runpython/internal/chat"
	"runpython/internal/fault"
)

// begin runs a turn of a word beside the test.
func begin(ctx context.Context, s *chat.Service, id, word string) <-chan outcome {
	return beside(ctx, s, chat.Request{ChatID: id, Message: do(word)})
}

// beside runs a turn beside the test.
func beside(ctx context.Context, s *chat.Service, r chat.Request) <-chan outcome {
	done := make(chan outcome, 1)
	go func() {
		reply, err := s.Turn(ctx, r)
		done <- outcome{reply, err}
	}()
	return done
}

type outcome struct {
	reply *chat.Reply
	err   error
}

func (o outcome) String() string { return fmt.Sprintf("%+v, %v", o.reply, o.err) }

func TestTurnBehindDeleteFindsNoChat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w := newService(t, nil)
		id := ask(t, s, "", "set x").ChatID
		running := begin(t.Context(), s, id, "wait")
		synctest.Wait()
		deleted := make(chan error, 1)
		go func() { deleted <- s.Delete(t.Context(), "", id) }()
		synctest.Wait()
		behind := begin(t.Context(), s, id, "set y")
		upload := make(chan error, 1)
		synctest.Wait()
		go func() {
			_, err := s.PutFile(t.Context(), "", id, "a", strings.NewReader("1"))
			upload <- err
		}()
		synctest.Wait()
		close(w.release)
		if got := <-running; got.err != nil || got.reply.IsError {
			t.Errorf("the turn before: %v", got)
		}
		if err := <-deleted; err != nil {
			t.Errorf("delete: %v", err)
		}
		if got := <-behind; got.err != nil || got.reply.ChatID != "" || !strings.Contains(got.reply.Text, "it is unknown, or it was deleted.") {
			t.Errorf("the turn behind: %v; want unknown", got)
		}
		if err := <-upload; !isNotFound(err) {
			t.Errorf("the upload behind: %v; want not found", err)
		}
		if again := ask(t, s, id, "get y"); again.ChatID != "" || s.Living() != 0 {
			t.Errorf("after all: %+v with %d interpreters; want unknown with none", again, s.Living())
		}
	})
}

// An uploaded chat lives also when its first message is no code.
func TestUploadedChatOutlivesWhatIsNoCode(t *testing.T) {
	s, _ := newService(t, nil)
	id, err := s.PutFile(t.Context(), "", "", "a.csv", strings.NewReader("1"))
	if err != nil {
		t.Fatal(err)
	}
	if got := ask(t, s, id, "notcode"); got.ChatID != id || !got.IsError || got.State != chat.New {
		t.Errorf("no code as the first message: %+v; want the chat", got)
	}
	if got := ask(t, s, id, "set x"); got.ChatID != id || got.IsError {
		t.Errorf("the next message: %+v", got)
	}
}

// What an earlier turn has left running may write files at any time.
func TestNoCodeKeepsFiles(t *testing.T) {
	s, _ := newService(t, nil)
	id := ask(t, s, "", "set x").ChatID
	got := ask(t, s, id, "notcode late.csv")
	if len(got.Files) != 1 || got.State != chat.Kept || !strings.Contains(got.Text, "`late.csv`") {
		t.Fatalf("no code while a file was written: %+v; want the file", got)
	}
	if text := read(t, s, got.Files[0].URI); text != "late" {
		t.Errorf("the file is %q; want late", text)
	}
}

func TestInterpretersAreBounded(t *testing.T) {
	s, w := newService(t, func(o *chat.Options) { o.Limits.Kernels = 2 })
	var wait sync.WaitGroup
	for i := range 20 {
		wait.Go(func() {
			_, err := s.Turn(t.Context(), chat.Request{Message: do(fmt.Sprint("set ", i))})
			if kind, _ := fault.Shown(err); err != nil && kind != fault.Busy {
				t.Errorf("turn %d: %v", i, err)
			}
		})
	}
	wait.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.peak > 2 || w.peak == 0 {
		t.Errorf("%d interpreters lived at once; want at most 2", w.peak)
	}
}

func TestTurnsAtOnceAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w := newService(t, func(o *chat.Options) { o.Limits.Kernels, o.Limits.Chats = 1000, 1000 })
		const most = 512
		var running []<-chan outcome
		for range most {
			running = append(running, begin(t.Context(), s, "", "wait"))
		}
		synctest.Wait()
		_, err := s.Turn(t.Context(), chat.Request{Message: do("set x")})
		if kind, text := fault.Shown(err); kind != fault.Busy || !strings.Contains(text, fmt.Sprint(most)) {
			t.Errorf("turn %d at once: %v; want busy", most+1, err)
		}
		close(w.release)
		for _, done := range running {
			if got := <-done; got.err != nil {
				t.Errorf("a turn within the bound: %v", got.err)
			}
		}
		if _, err := s.Turn(t.Context(), chat.Request{Message: do("set x")}); err != nil {
			t.Errorf("a turn after them: %v", err)
		}
	})
}

func TestSweepSparesWhatIsUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w := newService(t, func(o *chat.Options) { o.Limits.Keep = time.Hour })
		busy, idle := ask(t, s, "", "set x").ChatID, ask(t, s, "", "set x").ChatID
		running := begin(t.Context(), s, busy, "wait")
		synctest.Wait()
		for range 8 { // a full queue must not fail a stranger
			begin(t.Context(), s, busy, "get x")
		}
		synctest.Wait()
		time.Sleep(2 * time.Hour) //nolint:forbidigo // the time of synctest
		if got := ask(t, s, "", "set y"); got.IsError {
			t.Errorf("a new chat beside a busy one: %+v", got)
		}
		close(w.release)
		if got := <-running; got.err != nil || got.reply.IsError {
			t.Errorf("the turn of the busy chat: %v", got)
		}
		synctest.Wait()
		ask(t, s, "", "set y")
		if got := ask(t, s, busy, "get x"); got.IsError {
			t.Errorf("the busy chat: %+v; want it kept", got)
		}
		if got := ask(t, s, idle, "get x"); got.ChatID != "" {
			t.Errorf("the idle chat: %+v; want unknown", got)
		}
	})
}

func TestUploadIsUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newService(t, func(o *chat.Options) { o.Limits.Keep = time.Hour })
		uploaded, asked := ask(t, s, "", "set x").ChatID, ask(t, s, "", "set x").ChatID
		time.Sleep(50 * time.Minute) //nolint:forbidigo // the time of synctest
		if _, err := s.PutFile(t.Context(), "", uploaded, "a", strings.NewReader("1")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Minute) //nolint:forbidigo // the time of synctest
		ask(t, s, "", "set x")
		if got := ask(t, s, uploaded, "get x"); got.IsError {
			t.Errorf("the chat with the upload: %+v; want it kept", got)
		}
		if got := ask(t, s, asked, "get x"); got.ChatID != "" {
			t.Errorf("the chat without: %+v; want unknown", got)
		}
	})
}

// Nothing is told of variables that nobody knows of.
func TestNoCodeBesideATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w := newService(t, nil)
		id := ask(t, s, "", "set x").ChatID
		running := begin(t.Context(), s, id, "wait")
		synctest.Wait()
		got, err := s.Turn(t.Context(), chat.Request{ChatID: id, Message: "What is 17% of 2340, rounded to two digits?"})
		if err != nil || got.State != "" || got.ChatID != id || !got.IsError {
			t.Errorf("no code beside a turn: %+v, %v; want no state", got, err)
		}
		close(w.release)
		<-running
	})
}

// Close ends turns that do not end, and nothing starts after it.
func TestCloseIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w := newService(t, nil)
		idle := ask(t, s, "", "set x").ChatID
		hanging := ask(t, s, "", "set x").ChatID
		running := begin(t.Context(), s, hanging, "hang")
		synctest.Wait()
		begun := time.Now()
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		if took := time.Since(begun); took > 10*time.Second {
			t.Errorf("close took %v; want two graces of 5 s at the most", took)
		}
		if got := <-running; got.err == nil {
			t.Errorf("the turn that hung: %v; want an error", got)
		}
		started := w.started
		for _, id := range []string{"", idle, hanging} {
			_, err := s.Turn(t.Context(), chat.Request{ChatID: id, Message: do("set x")})
			if kind, text := fault.Shown(err); kind != fault.Busy || !strings.Contains(text, "shutting down") {
				t.Errorf("a turn of chat %q after close: %v; want busy", id, err)
			}
		}
		if w.started != started || s.Living() != 0 {
			t.Errorf("%d interpreters were started after close, %d live", w.started-started, s.Living())
		}
	})
}

// An interpreter that starts while the service closes is not left.
func TestCloseDuringAStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		starting, goOn := make(chan struct{}), make(chan struct{})
		s, _ := newService(t, func(o *chat.Options) {
			start := o.Start
			o.Start = func(ctx context.Context, b chat.Start, fill func(string) error) (chat.Interpreter, error) {
				close(starting)
				<-goOn
				return start(ctx, b, fill)
			}
		})
		running := begin(t.Context(), s, "", "set x")
		<-starting
		closed := make(chan error, 1)
		go func() { closed <- s.Close() }()
		synctest.Wait()
		close(goOn)
		if err := <-closed; err != nil {
			t.Errorf("close: %v", err)
		}
		if got := <-running; got.err == nil || s.Living() != 0 {
			t.Errorf("the turn that started: %v with %d interpreters; want an error with none", got, s.Living())
		}
	})
}

// A start that fails gives its place back.
func TestFailedStartTakesNoPlace(t *testing.T) {
	fail := true
	s, _ := newService(t, func(o *chat.Options) {
		o.Limits.Kernels = 1
		start := o.Start
		o.Start = func(ctx context.Context, b chat.Start, fill func(string) error) (chat.Interpreter, error) {
			if fail {
				return nil, io.ErrUnexpectedEOF
			}
			return start(ctx, b, fill)
		}
	})
	if _, err := s.Turn(t.Context(), chat.Request{Message: do("set x")}); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a start that fails: %v", err)
	}
	fail = false
	if got := ask(t, s, "", "set x"); got.IsError || s.Living() != 1 {
		t.Errorf("the start after it: %+v with %d interpreters", got, s.Living())
	}
}
