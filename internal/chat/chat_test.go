package chat_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/chat"
	"runpython/internal/fault"
	"runpython/internal/guesttest"
)

// CHT-15: without an id each call is fresh, with it the variables are there.
func TestChatKeepsVariables(t *testing.T) {
	s, _ := newService(t, nil)
	first := ask(t, s, "", "set x")
	if first.State != chat.New || len(first.ChatID) != 26 {
		t.Fatalf("first turn: state %q, id %q; want new and 26 characters", first.State, first.ChatID)
	}
	next := ask(t, s, first.ChatID, "get x")
	if next.IsError || next.State != chat.Kept || next.Runs[0].Value != "x" {
		t.Errorf("second turn: %+v; want the value, kept", next)
	}
	if other := ask(t, s, "", "get x"); !other.IsError || other.ChatID == first.ChatID {
		t.Errorf("another chat sees the variable: %+v", other)
	}
}

// CHT-08, CHT-09, CHT-11: malformed, unknown and foreign ids look exactly alike and touch nothing.
func TestIDsThatAreNotOurs(t *testing.T) {
	s, w := newService(t, nil)
	theirs, err := s.Turn(t.Context(), chat.Request{Owner: "alice", Message: do("set x")})
	if err != nil {
		t.Fatal(err)
	}
	started := w.started
	var want *chat.Reply
	for _, id := range []string{
		strings.Repeat("a", 26), theirs.ChatID, "../../../../tmp/pwned", "/", "..", ".", "a/../b", `C:\x`, "%2e%2e", "a/b", "a_b",
		"ABC", "abc", "e\u0301", "\u00e9", strings.ToUpper(theirs.ChatID), theirs.ChatID + "a", theirs.ChatID[:25], "\x00", strings.Repeat("a", 1<<16),
	} {
		got := ask(t, s, id, "get x")
		if want == nil {
			want = got
		}
		if diff := cmp.Diff(want, got); diff != "" || !got.IsError {
			t.Errorf("id %.30q is told apart (-unknown +this):\n%s", id, diff)
		}
	}
	if w.started != started {
		t.Errorf("unknown ids have started %d interpreters", w.started-started)
	}
}

func TestChatIDsDoNotRepeat(t *testing.T) {
	s, _ := newService(t, nil)
	seen := map[string]bool{}
	for range 50 {
		id := ask(t, s, "", "set x").ChatID
		if seen[id] || strings.Trim(id, "abcdefghijklmnopqrstuvwxyz234567") != "" {
			t.Fatalf("id %q repeats or has other characters", id)
		}
		seen[id] = true
	}
}

// CHT-01: turns of one chat follow each other, different chats run together.
func TestOneRunAtATimeInAChat(t *testing.T) {
	s, w := newService(t, nil)
	id := ask(t, s, "", "set x").ChatID
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() { ask(t, s, id, "wait") })
	}
	for range 4 {
		w.release <- struct{}{}
	}
	wait.Wait()
	if most := w.most.Load(); most != 1 {
		t.Errorf("%d runs of one chat at once; want 1", most)
	}
	for range 3 {
		wait.Go(func() { ask(t, s, "", "wait") })
	}
	for w.running.Load() < 3 { // they meet, or the test hangs
		if b := ask(t, s, "", "set b"); b.IsError {
			t.Errorf("a chat beside waiting ones: %+v", b)
		}
	}
	close(w.release)
	wait.Wait()
}

func TestQueueOfAChatIsBounded(t *testing.T) {
	s, w := newService(t, nil)
	id := ask(t, s, "", "set x").ChatID
	var wait sync.WaitGroup
	busy := make(chan error, 20)
	for range 20 {
		wait.Go(func() {
			_, err := s.Turn(t.Context(), chat.Request{ChatID: id, Message: do("wait")})
			busy <- err
		})
	}
	refused := 0
	for range 11 { // one runs, eight wait
		if kind, _ := fault.Shown(<-busy); kind == fault.Busy {
			refused++
		}
	}
	if refused != 11 {
		t.Errorf("%d of 20 turns at once were refused as busy; want 11", refused)
	}
	close(w.release)
	wait.Wait()
}

func TestStoppedCallKeepsTheChat(t *testing.T) {
	s, w := newService(t, nil)
	id := ask(t, s, "", "set x").ChatID
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan *chat.Reply)
	go func() {
		reply, err := s.Turn(ctx, chat.Request{ChatID: id, Message: do("wait")})
		if err != nil {
			t.Errorf("a stopped call: %v", err)
		}
		done <- reply
	}()
	for w.running.Load() == 0 {
	}
	waiting, leave := context.WithCancel(t.Context())
	leave()
	if _, err := s.Turn(waiting, chat.Request{ChatID: id, Message: do("get x")}); !errors.Is(err, context.Canceled) {
		t.Errorf("a call that is stopped in the queue: %v; want canceled", err)
	}
	stop()
	if reply := <-done; !reply.IsError || !strings.Contains(reply.Text, "variables are kept") {
		t.Errorf("a stopped call: %+v", reply)
	}
	if next := ask(t, s, id, "get x"); next.State != chat.Kept || next.IsError {
		t.Errorf("after a stopped call: %+v; want kept", next)
	}
}

// EXT-07, CHT-03: a crash is told, resets this chat alone, and once.
func TestCrashResetsTheVariables(t *testing.T) {
	s, _ := newService(t, nil)
	id, other := ask(t, s, "", "set x").ChatID, ask(t, s, "", "set y").ChatID
	crash := ask(t, s, id, "crash")
	if !crash.IsError || crash.State != chat.Reset || !strings.Contains(crash.Text, "SIGSEGV") || !strings.Contains(crash.Text, "variables are lost") {
		t.Errorf("crash: %+v", crash)
	}
	next := ask(t, s, id, "get x")
	if next.State != chat.Reset || !strings.Contains(next.StateReason, "crashed") || !next.IsError {
		t.Errorf("after a crash: %+v; want reset", next)
	}
	if again := ask(t, s, id, "set x"); again.State != chat.Kept {
		t.Errorf("two turns after a crash: state %q; want kept", again.State)
	}
	if b := ask(t, s, other, "get y"); b.IsError || b.State != chat.Kept {
		t.Errorf("another chat: %+v; want kept", b)
	}
}

func TestLostSandboxIsReplacedWithTheFiles(t *testing.T) {
	s, w := newService(t, nil)
	id := ask(t, s, "", "file a.csv 1,2").ChatID
	lost := ask(t, s, id, "lose")
	if !strings.Contains(lost.Text, "more than 1 GiB") || !strings.Contains(lost.Text, "files that this run wrote") {
		t.Errorf("text %q; want the limit in numbers and what is lost", lost.Text)
	}
	next := ask(t, s, id, "set x")
	if next.State != chat.Reset || w.started != 2 {
		t.Errorf("state %q with %d interpreters; want reset with 2", next.State, w.started)
	}
	if _, body, err := s.OpenFile(t.Context(), "", "runpython://chats/"+id+"/files/a.csv"); err != nil {
		t.Errorf("the file is gone: %v", err)
	} else if data, _ := io.ReadAll(body); string(data) != "1,2" {
		t.Errorf("file %q; want 1,2", data)
	}
}

// CHT-04, CHT-06: when interpreters are ended early the next result says so, and goes on with a new one.
func TestLeastRecentlyUsedMakesRoom(t *testing.T) {
	s, _ := newService(t, func(o *chat.Options) { o.Limits.Kernels = 2 })
	a, b := ask(t, s, "", "set x").ChatID, ask(t, s, "", "set x").ChatID
	ask(t, s, a, "get x")
	ask(t, s, "", "set x")
	if got := s.Living(); got != 2 {
		t.Errorf("%d interpreters live; want 2", got)
	}
	if r := ask(t, s, a, "get x"); r.State != chat.Kept {
		t.Errorf("the chat used last: state %q; want kept", r.State)
	}
	if r := ask(t, s, b, "set x"); r.State != chat.Reset || !strings.Contains(r.StateReason, "make room") {
		t.Errorf("the chat used first: %q, %q; want reset to make room", r.State, r.StateReason)
	}
}

func TestOldChatsAreDeleted(t *testing.T) {
	s, _ := newService(t, func(o *chat.Options) { o.Limits.Chats = 3 })
	first := ask(t, s, "", "set x").ChatID
	for range 3 {
		ask(t, s, "", "set x")
	}
	if r := ask(t, s, first, "get x"); !r.IsError || r.ChatID != "" {
		t.Errorf("the oldest of 4 chats with room for 3: %+v; want unknown", r)
	}
}

func TestMessagesWithoutCode(t *testing.T) {
	s, w := newService(t, nil)
	for _, c := range []struct{ id, message string }{
		{"MSG-14", "What is 17% of 2340, rounded to two digits?"},
		{"not_code", do("notcode")},
	} {
		reply, err := s.Turn(t.Context(), chat.Request{Message: c.message})
		if err != nil || !reply.IsError || !strings.Contains(reply.Text, "```python") || reply.ChatID != "" {
			t.Errorf("%s: %+v, %v; want what to send, and no chat", c.id, reply, err)
		}
	}
	if w.started != 1 {
		t.Errorf("%d interpreters started; want 1, for the text that may be code", w.started)
	}
	// A chat that goes on is not new because a message has no code.
	id := ask(t, s, "", "set x").ChatID
	for _, want := range []chat.State{chat.Kept, chat.Reset} {
		reply, err := s.Turn(t.Context(), chat.Request{ChatID: id, Message: "What is 17% of 2340?"})
		if err != nil || reply.State != want || reply.ChatID != id || want == chat.Reset && reply.StateReason == "" {
			t.Errorf("prose in a chat: %+v, %v; want state %s", reply, err, want)
		}
		ask(t, s, id, "crash")
	}
	// MSG-19
	for _, blank := range []string{"", "  \n\t"} {
		if _, err := s.Turn(t.Context(), chat.Request{Message: blank}); err == nil {
			t.Errorf("Turn(%q) is no error", blank)
		} else if kind, shown := fault.Shown(err); kind != fault.Invalid || !strings.Contains(shown, "message is empty") {
			t.Errorf("Turn(%q) = %v", blank, err)
		}
	}
	if _, err := s.Turn(t.Context(), chat.Request{Message: strings.Repeat("x", chat.MaxMessageBytes+1)}); err == nil {
		t.Error("a message above the limit is no error")
	}
}

// A lone name is prose to a model. Without one it shows a variable, where there can be one.
func TestLoneNames(t *testing.T) {
	s, w := newService(t, nil)
	if r, err := s.Turn(t.Context(), chat.Request{Message: "get"}); err != nil || !r.IsError || r.ChatID != "" || len(r.Runs) != 0 || w.started != 0 {
		t.Errorf("a name in a new chat: %+v, %v, %d interpreters; want no code and none", r, err, w.started)
	}
	id := ask(t, s, "", "set x").ChatID
	say := func(message string) *chat.Reply {
		t.Helper()
		r, err := s.Turn(t.Context(), chat.Request{ChatID: id, Message: message})
		if err != nil || len(r.Runs) != 1 || r.Runs[0].Code != message {
			t.Fatalf("Turn(%q) = %+v, %v; want that it ran", message, r, err)
		}
		return r
	}
	if r := say("get"); !r.IsError || !strings.Contains(r.Text, "NameError") || !strings.Contains(r.Text, "```python") {
		t.Errorf("a name that is not there: %q; want a NameError and what to send", r.Text)
	}
	say("set")
	if r := say("get"); r.IsError || r.State != chat.Kept {
		t.Errorf("a name that is there: %+v; want its value", r)
	}
}

// Prose that compiles ends in a NameError, and what to send stands beside it; code that is surely meant as such needs no such words.
func TestProseThatCompiles(t *testing.T) {
	s, _ := newService(t, nil)
	id := ask(t, s, "", "set x").ChatID
	for _, chatID := range []string{"", id} {
		for message, want := range map[string]bool{"get - tax": true, "```\nget\n```": chatID != "", "```python\nget - tax\n```": false, "get = (get - tax)()": false} {
			r, err := s.Turn(t.Context(), chat.Request{ChatID: chatID, Message: message})
			if err != nil || !r.IsError || strings.Contains(r.Text, "since no language model is configured") != want || len(r.Problems) > 0 != want {
				t.Errorf("Turn(%q) in chat %q = %+v, %v; want what to send: %t", message, chatID, r, err, want)
			}
		}
	}
}

// VAL-04: cells of another language are told with what to do instead, in a new chat and an old one.
func TestForeignCells(t *testing.T) {
	s, _ := newService(t, nil)
	id := ask(t, s, "", "set x").ChatID
	for _, chatID := range []string{"", id} {
		r, err := s.Turn(t.Context(), chat.Request{ChatID: chatID, Message: "%%bash\nls"})
		if err != nil || !r.IsError || !strings.Contains(r.Text, "a %%bash block was not run") || !strings.Contains(r.Text, "subprocess.run") {
			t.Errorf("%%%%bash: %+v, %v; want what to do instead", r, err)
		}
	}
}

func TestFilesOfATurn(t *testing.T) {
	s, _ := newService(t, nil)
	// FIL-01, FIL-03, FIL-04, FIL-08
	first := ask(t, s, "", "file \u62a5\u544a#1.csv 1,2")
	if len(first.Files) != 1 {
		t.Fatalf("files %+v; want one", first.Files)
	}
	f := first.Files[0]
	if f.Size != 3 || f.MIMEType != "text/csv" || f.URI != "runpython://chats/"+first.ChatID+"/files/%E6%8A%A5%E5%91%8A%231.csv" {
		t.Errorf("file %+v", f)
	}
	if _, _, err := s.OpenFile(t.Context(), "mallory", f.URI); !isNotFound(err) {
		t.Errorf("another owner opens the file: %v", err)
	}
	second := ask(t, s, first.ChatID, "file \u62a5\u544a#1.csv 12345")
	if len(second.Files) != 1 || second.Files[0].URI != f.URI || second.Files[0].Size != 5 {
		t.Errorf("changed file %+v; want the same URI with 5 bytes", second.Files)
	}
	if same := ask(t, s, first.ChatID, "file \u62a5\u544a#1.csv 12345"); len(same.Files) != 0 {
		t.Errorf("unchanged file is listed: %+v", same.Files)
	}
	link := ask(t, s, first.ChatID, "link out.csv")
	if len(link.Files) != 1 || !strings.Contains(link.Files[0].Skipped, "symbolic link") {
		t.Errorf("link %+v; want named and skipped", link.Files)
	}
	for _, uri := range []string{
		"runpython://chats/" + first.ChatID + "/files/out.csv", "runpython://chats/" + first.ChatID + "/files/../x",
		"runpython://chats/" + first.ChatID + "/results/1/x", "runpython://chats/x/files/y", "file:///etc/passwd", "",
	} {
		if _, _, err := s.OpenFile(t.Context(), "", uri); !isNotFound(err) {
			t.Errorf("OpenFile(%q) = %v; want not found", uri, err)
		}
	}
}

func isNotFound(err error) bool {
	kind, _ := fault.Shown(err)
	return err != nil && kind == fault.NotFound
}

func TestUploads(t *testing.T) {
	s, _ := newService(t, nil)
	id, err := s.PutFile(t.Context(), "", "", "data.csv", strings.NewReader("a,b"))
	if err != nil {
		t.Fatalf("upload into a new chat: %v", err)
	}
	if r := ask(t, s, id, "set x"); r.ChatID != id {
		t.Errorf("the chat of the upload: %+v", r)
	}
	if _, err := s.PutFile(t.Context(), "", id, "d/two.csv", strings.NewReader("c")); err != nil {
		t.Errorf("upload into a living chat: %v", err)
	}
	for _, name := range []string{"../x", "/etc/passwd", "", "a//b", "a/./b", "x\x00y"} {
		if _, err := s.PutFile(t.Context(), "", id, name, strings.NewReader("")); err == nil {
			t.Errorf("PutFile(%q) is no error", name)
		}
	}
	if _, err := s.PutFile(t.Context(), "", id, "big", strings.NewReader(strings.Repeat("x", 1<<20+1))); err == nil {
		t.Error("an upload above the limit is no error")
	}
	if _, err := s.PutFile(t.Context(), "mallory", id, "x", strings.NewReader("")); !isNotFound(err) {
		t.Errorf("upload into a foreign chat: %v; want not found", err)
	}
}

// Somebody whose upload comes slowly, or never ends, does not hold the chat.
func TestSlowUploadHoldsNobody(t *testing.T) {
	s, _ := newService(t, nil)
	id := ask(t, s, "", "set x").ChatID
	body, sender := io.Pipe()
	uploaded := make(chan error, 1)
	go func() {
		_, err := s.PutFile(t.Context(), "", id, "slow.csv", body)
		uploaded <- err
	}()
	if _, err := io.WriteString(sender, "a,"); err != nil { // it is being read
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if r, err := s.Turn(ctx, chat.Request{ChatID: id, Message: do("get x")}); err != nil || r.IsError {
		t.Errorf("a turn beside a slow upload: %+v, %v", r, err)
	}
	if _, err := io.WriteString(sender, "b"); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(sender.Close(), <-uploaded); err != nil {
		t.Fatalf("the upload: %v", err)
	}
	_, file, err := s.OpenFile(t.Context(), "", "runpython://chats/"+id+"/files/slow.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	if got, err := io.ReadAll(file); string(got) != "a,b" || err != nil {
		t.Errorf("the file has %q, %v", got, err)
	}
}

// Who uploads into a chat that is not his is told so before anything is read.
func TestUploadIntoForeignChatIsNotRead(t *testing.T) {
	s, _ := newService(t, nil)
	id := ask(t, s, "", "set x").ChatID
	body, _ := io.Pipe() // nobody writes
	if _, err := s.PutFile(t.Context(), "mallory", id, "x", body); !isNotFound(err) {
		t.Errorf("upload into a foreign chat: %v; want not found", err)
	}
}

func FuzzChatID(f *testing.F) {
	for _, id := range []string{"", "abc", strings.Repeat("a", 26), "../..", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"} {
		f.Add(id)
	}
	s := chat.NewService(chat.Options{Store: emptyStore{Store: records(f)}, Content: contentIn(f, f.TempDir()), Log: guesttest.Log(f), Limits: chat.Limits{Kernels: 1, Chats: 1}})
	f.Cleanup(func() {
		if err := s.Close(); err != nil {
			f.Errorf("close: %v", err)
		}
	})
	f.Fuzz(func(t *testing.T, id string) {
		if id == "" {
			return
		}
		reply, err := s.Turn(t.Context(), chat.Request{ChatID: id, Message: do("get x")})
		if err != nil || !reply.IsError || reply.ChatID != "" {
			t.Errorf("Turn(%q) = %+v, %v; want unknown", id, reply, err)
		}
	})
}
