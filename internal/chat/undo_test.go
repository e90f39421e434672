package chat_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/agent"
	"runpython/internal/chat"
	"runpython/internal/extent"
	"runpython/internal/fault"
	"runpython/internal/store"
)

func undo(t *testing.T, s *chat.Service, id string) *chat.Undone {
	t.Helper()
	done, err := s.Undo(t.Context(), "", id)
	if err != nil {
		t.Fatalf("Undo = %v", err)
	}
	return done
}

// paths are the files of a chat as its transcript has them.
func paths(t *testing.T, s *chat.Service, id string) (files []string, turns int) {
	t.Helper()
	got, err := s.Transcript(t.Context(), "", id)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range got.Files {
		files = append(files, f.Path)
	}
	return files, len(got.Turns)
}

// Without a checkpoint the runs before are executed again, once, and the reply says which; what the turn had made is gone.
func TestUndoExecutesAgain(t *testing.T) {
	s, w := newService(t, nil)
	id := ask(t, s, "", "set x").ChatID
	ask(t, s, id, "file a.txt one")
	picture := ask(t, s, id, "picture p").Images[0].URI
	made := ask(t, s, id, "file b.txt two").Files[0].URI
	ask(t, s, id, "set y")
	want := &chat.Undone{Turn: 5, Message: do("set y"), Again: []int{1, 2, 3, 4}}
	if diff := cmp.Diff(want, undo(t, s, id)); diff != "" {
		t.Errorf("Undo (-want +got):\n%s", diff)
	}
	undo(t, s, id)
	undo(t, s, id)
	if files, turns := paths(t, s, id); !slices.Equal(files, []string{"a.txt"}) || turns != 2 {
		t.Errorf("files %v, %d turns; want a.txt and 2", files, turns)
	}
	for _, uri := range []string{made, picture} {
		_, _, err := s.OpenFile(t.Context(), "", uri)
		if kind, _ := fault.Shown(err); kind != fault.NotFound {
			t.Errorf("OpenFile(%q) = %v; want not found", uri, err)
		}
	}
	reply := ask(t, s, id, "get x")
	wantGot(t, reply, chat.Restored)
	if len(reply.Problems) != 1 || !strings.Contains(reply.Text, "the runs of turns 1 to 2 were executed again") {
		t.Errorf("it is told as %q, %q", reply.Problems, reply.Text)
	}
	if reply = ask(t, s, id, "get y"); !reply.IsError || reply.State != chat.Kept || len(reply.Problems) != 0 {
		t.Errorf("a variable of an undone turn: %+v; want that it is not there, and nothing told twice", reply)
	}
	if w.started != 2 {
		t.Errorf("%d interpreters were started; want 2", w.started)
	}
}

// An undo finds the checkpoint of the turn before, which is kept beside the latest one; nothing is executed again.
func TestUndoFindsItsCheckpoint(t *testing.T) {
	m := machine{t.TempDir()}
	s, _ := m.sleeping(t, func(o *chat.Options) { o.Limits.Kernels = 1 })
	id := ask(t, s, "", "set x").ChatID
	other := ask(t, s, "", "set o").ChatID // which makes room
	ask(t, s, id, "set y")
	ask(t, s, other, "set o")
	if n := len(m.folders(t)); n != 3 {
		t.Errorf("%d checkpoints; want two of one chat and one of the other", n)
	}
	if diff := cmp.Diff(&chat.Undone{Turn: 2, Message: do("set y"), Base: 1}, undo(t, s, id)); diff != "" {
		t.Errorf("Undo (-want +got):\n%s", diff)
	}
	reply := ask(t, s, id, "get x")
	wantGot(t, reply, chat.Restored)
	if len(reply.Problems) != 0 {
		t.Errorf("it is told that %q", reply.Problems)
	}
	if !ask(t, s, id, "get y").IsError {
		t.Error("a variable of the undone turn is there")
	}
	if err := s.Delete(t.Context(), "", id); err != nil {
		t.Fatal(err)
	}
	ask(t, s, other, "set o")
	if n := len(m.folders(t)); n > 2 {
		t.Errorf("%d checkpoints when the chat was deleted; want those of the other only", n)
	}
}

// After each turn that is executed again the files are what they had been, and after all of them nothing else is there.
func TestUndoPutsFilesBack(t *testing.T) {
	m := machine{t.TempDir()}
	s, w := m.sleeping(t, nil)
	id := ask(t, s, "", "file a.txt "+w.next()).ChatID
	if _, err := s.PutFile(t.Context(), "", id, "given.csv", strings.NewReader("17")); err != nil {
		t.Fatal(err)
	}
	ask(t, s, id, "fresh made-")  // a name that is another one each time
	ask(t, s, id, "delete a.txt") // undone
	before, _ := paths(t, s, id)
	undo(t, s, id)
	after, turns := paths(t, s, id)
	if want := append([]string{"a.txt"}, before...); !slices.Equal(after, want) || turns != 2 {
		t.Fatalf("files %v, %d turns after undo; want %v and 2", after, turns, want)
	}
	reply := ask(t, s, id, "ls")
	if got := reply.Runs[0].Value; got != strings.Join(after, " ") {
		t.Errorf("in /work there are %q; want %q", got, after)
	}
	if !strings.Contains(reply.Text, "put back as they had been: \"made-") {
		t.Errorf("it is told as %q", reply.Text)
	}
}

// wantTold wants sentences in the text of a reply.
func wantTold(t *testing.T, r *chat.Reply, sentences ...string) {
	t.Helper()
	for _, want := range sentences {
		if !strings.Contains(r.Text, want) {
			t.Errorf("it is not told that %s:\n%s", want, r.Text)
		}
	}
}

// A run that fails now and did not before is told, and so is one that is left out.
func TestReplayThatDiffersIsTold(t *testing.T) {
	s, _ := newService(t, nil)
	id := ask(t, s, "", "set x").ChatID
	ask(t, s, id, "once y")
	ask(t, s, id, "crash")
	ask(t, s, id, "set z")
	undo(t, s, id)
	reply := ask(t, s, id, "get x")
	wantGot(t, reply, chat.Restored)
	wantTold(t, reply, "run 2 of turn 2 failed now: NameError: y", "run 3 of turn 3 was left out, since a limit had ended it")
}

// The first turn can be undone: the chat is empty then, and goes on. Then there is nothing more to undo.
func TestUndoOfTheFirstTurn(t *testing.T) {
	s, _ := newService(t, nil)
	id := ask(t, s, "", "set x").ChatID
	undo(t, s, id)
	_, err := s.Undo(t.Context(), "", id)
	if kind, text := fault.Shown(err); kind != fault.NotFound || !strings.Contains(text, "no turn") {
		t.Errorf("Undo of an empty chat = %v", err)
	}
	if reply := ask(t, s, id, "get x"); !reply.IsError || reply.ChatID != id || reply.State != chat.Restored {
		t.Errorf("the chat goes on with %+v; want that x is not there", reply)
	}
	wantState(t, ask(t, s, id, "set x"), chat.Kept, "")
	for _, who := range []struct{ owner, id string }{{"someone", id}, {"", "nonsense"}, {"", ""}} {
		if _, err := s.Undo(t.Context(), who.owner, who.id); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("Undo(%q, %q) = %v; want not found", who.owner, who.id, err)
		}
		if _, err := s.Fork(t.Context(), who.owner, who.id); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("Fork(%q, %q) = %v; want not found", who.owner, who.id, err)
		}
	}
}

// A turn that is stopped while runs are executed again leaves that to the next one, in another process as well.
func TestReplayThatIsStopped(t *testing.T) {
	extent.Slow(t)
	t.Parallel()
	m := machine{t.TempDir()}
	a, w := m.sleeping(t, nil)
	close(w.release)
	id := ask(t, a, "", "set x").ChatID
	ask(t, a, id, "wait")
	ask(t, a, id, "set y")
	b, wb := m.sleeping(t, nil)
	undo(t, b, id) // of a chat that another process has
	ctx, cancel := context.WithCancel(t.Context())
	_, err := b.Turn(ctx, chat.Request{ChatID: id, Message: do("get x"), Progress: func(p chat.Progress) {
		if p.Step == "executing turn 2 again" {
			cancel()
		}
	}})
	if kind, _ := fault.Shown(err); kind != fault.Canceled {
		t.Errorf("a turn that was stopped: %v; want canceled", err)
	}
	if _, err := b.PutFile(t.Context(), "", id, "given", strings.NewReader("17")); err != nil {
		t.Error(err)
	}
	close(wb.release)
	wantGot(t, ask(t, a, id, "get x"), chat.Restored)
	if reply := ask(t, a, id, "ls"); reply.Runs[0].Value != "given" {
		t.Errorf("/work has %q; want the file that was put there meanwhile", reply.Runs[0].Value)
	}
}

// Two that undo at once undo two turns; a turn beside them is one before or after.
func TestUndoAtOnce(t *testing.T) {
	extent.Slow(t)
	t.Parallel()
	m := machine{t.TempDir()}
	a, _ := m.sleeping(t, nil)
	b, _ := m.sleeping(t, nil)
	id := ask(t, a, "", "set x").ChatID
	for range 3 {
		ask(t, a, id, "set y")
	}
	errs := make(chan error, 2)
	for _, s := range []*chat.Service{a, b} {
		go func() {
			_, err := s.Undo(t.Context(), "", id)
			errs <- err
		}()
	}
	if err := errors.Join(<-errs, <-errs); err != nil {
		t.Fatal(err)
	}
	if _, turns := paths(t, a, id); turns != 2 {
		t.Errorf("%d turns are left of 4; want 2", turns)
	}
}

// A copy has what the chat has, of a chat that another process has as well; both go on.
func TestFork(t *testing.T) {
	extent.Slow(t)
	t.Parallel()
	m := machine{t.TempDir()}
	a, _ := m.sleeping(t, nil)
	b, _ := m.sleeping(t, nil)
	id := ask(t, a, "", "set x").ChatID
	picture := ask(t, a, id, "picture p").Images[0].URI
	ask(t, a, id, "file a.txt one")
	forked, err := b.Fork(t.Context(), "", id)
	if err != nil || forked.ID == id || forked.Loss != "" {
		t.Fatalf("Fork = %+v, %v; want a copy with its variables", forked, err)
	}
	wantGot(t, ask(t, a, id, "get x"), chat.Restored)
	wantGot(t, ask(t, b, forked.ID, "get x"), chat.Restored)
	ask(t, a, id, "delete a.txt")
	if err := a.Delete(t.Context(), "", id); err != nil {
		t.Fatal(err)
	}
	if files, turns := paths(t, b, forked.ID); !slices.Equal(files, []string{"a.txt"}) || turns != 4 {
		t.Errorf("the copy has %v and %d turns; want its own", files, turns)
	}
	_, body, err := b.OpenFile(t.Context(), "", strings.Replace(picture, id, forked.ID, 1))
	if err != nil {
		t.Fatalf("the picture of the copy: %v", err)
	}
	if err := body.Close(); err != nil {
		t.Error(err)
	}
	undo(t, b, forked.ID) // its own turn
	wantGot(t, ask(t, b, forked.ID, "get x"), chat.Restored)
}

// Where the variables cannot be copied the copy says so.
func TestForkWithoutVariables(t *testing.T) {
	m := machine{t.TempDir()}
	s, w := m.sleeping(t, nil)
	w.refuse.Store(true)
	id := ask(t, s, "", "set x").ChatID
	forked, err := s.Fork(t.Context(), "", id)
	if err != nil || forked.Loss == "" {
		t.Fatalf("Fork = %+v, %v; want that the variables are not in it", forked, err)
	}
	wantState(t, ask(t, s, forked.ID, "get x"), chat.Reset, forked.Loss)
	wantGot(t, ask(t, s, id, "get x"), chat.Kept)
	plain, _ := newService(t, nil)
	if forked, err = plain.Fork(t.Context(), "", ask(t, plain, "", "set x").ChatID); err != nil || forked.Loss == "" {
		t.Errorf("Fork without checkpoints = %+v, %v; want that the variables are not in it", forked, err)
	}
}

// Of a turn with more runs than are kept the first cannot be executed again, which is told; what they had made goes with the turn.
func TestUndoOfManyRuns(t *testing.T) {
	s, _ := newService(t, withAgent(func(ctx context.Context, task agent.Task) (*agent.Answer, error) {
		_, err := runWords(ctx, task, append([]string{"picture p", "set x"}, slices.Repeat([]string{"set y"}, 16)...)...)
		return &agent.Answer{End: agent.Answered, Words: "done", Exchange: agent.Exchange{Message: task.Message, Answer: "done"}}, err
	}))
	other := ask(t, s, "", "picture p")
	id := send(t, s, "", plain).ChatID
	picture := strings.Replace(other.Images[0].URI, other.ChatID, id, 1)
	if got := read(t, s, picture); got == "" || strings.Contains(got, "no ") {
		t.Fatalf("the picture of the first run is %q", got)
	}
	ask(t, s, id, "set z")
	undo(t, s, id)
	reply := ask(t, s, id, "get y")
	wantGot(t, reply, chat.Restored)
	if !strings.Contains(reply.Text, "the runs of turn 1 before run 3 were left out") {
		t.Errorf("it is told as %q", reply.Text)
	}
	undo(t, s, id)
	undo(t, s, id)
	if _, _, err := s.OpenFile(t.Context(), "", picture); err == nil {
		t.Error("a picture of the undone turn is there")
	}
}

// A chat that is copied makes no room for its copy.
func TestForkOfTheOldestChat(t *testing.T) {
	s, _ := newService(t, func(o *chat.Options) { o.Limits.Chats = 2 })
	id := ask(t, s, "", "set x").ChatID
	other := ask(t, s, "", "set y").ChatID
	forked, err := s.Fork(t.Context(), "", id)
	if err != nil {
		t.Fatalf("Fork = %v", err)
	}
	for _, there := range []string{id, forked.ID} {
		if _, err := s.Transcript(t.Context(), "", there); err != nil {
			t.Errorf("Transcript(%q) = %v", there, err)
		}
	}
	if _, err := s.Transcript(t.Context(), "", other); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Transcript of the chat that makes room = %v; want not found", err)
	}
}
