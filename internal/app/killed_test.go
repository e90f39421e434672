package app_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"runpython/internal/extent"
	"runpython/internal/guesttest"
	"runpython/internal/store/sqlite"
)

// killable is the real program as a server, in a process of its own.
type killable struct {
	cmd   *exec.Cmd
	end   io.Closer // of what it says
	url   string    // once it is ready
	ready chan string
	log   strings.Builder // what it says, for when it is killed
	said  sync.WaitGroup
}

var listening = regexp.MustCompile(`http://127\.0\.0\.1:\d+/mcp`)

// launch starts the program on a data folder, and does not wait until it is ready. The caller kills it.
func launch(t *testing.T, data string) *killable {
	t.Helper()
	k := &killable{
		cmd:   exec.CommandContext(t.Context(), guesttest.Binary(t), "serve", "--data", data, "--listen", "127.0.0.1:0", "--pool", "1", "--packages", "off"),
		ready: make(chan string, 1),
	}
	out, in := io.Pipe()
	k.cmd.Stdout, k.cmd.Stderr, k.end = in, in, in
	k.cmd.WaitDelay = time.Second // the keeper may hold on to it
	if err := k.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	k.said.Go(func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			fmt.Fprintln(&k.log, lines.Text())
			if url := listening.FindString(lines.Text()); url != "" {
				k.ready <- url
			}
		}
		close(k.ready)
	})
	return k
}

// startKillable starts the program and waits until it is ready.
func startKillable(t *testing.T, data string) *killable {
	t.Helper()
	k := launch(t, data)
	if k.url = <-k.ready; k.url == "" {
		k.kill(t)
		t.Fatal("the server has ended before it was ready")
	}
	return k
}

// kill ends the server at once, if it has not ended, and leaves its guests.
func (k *killable) kill(t *testing.T) {
	t.Helper()
	if err := k.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Fatal(err)
	}
	_ = k.cmd.Wait() // it was killed
	if err := k.end.Close(); err != nil {
		t.Error(err)
	}
	k.said.Wait()
	t.Logf("a server that was killed has said:\n%s", k.log.String())
}

// A teller is a chat that counts its turns in a variable and in a file.
type teller struct {
	id    string
	acked int    // the count of the last turn that was answered
	tries int    // turns since then that were not answered, each of which may have run once
	lost  string // why the count has begun anew, as the last turn has said

	answers, losses, ran int // turns that were answered, and not, and how many of those have run
}

const count = `n = globals().get('n', 0) + 1
old = int(open('n').read()) if n > 1 else 0
_ = open('n', 'w').write(str(n))
print('count', n, old)`

// counted is the output of the turn alone: what one before it has printed is shown below.
var counted = regexp.MustCompile("Output:\n```text\ncount (\\d+) (\\d+)\n```")

// turn runs one turn, and reports whether it was answered. What is wrong with the answer fails the test.
func (c *teller) turn(ctx context.Context, t *testing.T, session *mcp.ClientSession, mayReset bool) bool {
	arguments := map[string]any{"message": count}
	if c.id != "" {
		arguments["chat_id"] = c.id
	}
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "chat", Arguments: arguments})
	if err != nil {
		c.tries++
		c.losses++
		return false
	}
	text := result.Content[0].(*mcp.TextContent).Text
	found := counted.FindStringSubmatch(text)
	if found == nil || result.IsError {
		t.Errorf("chat %q: %s", c.id, text)
		return false
	}
	n, _ := strconv.Atoi(found[1]) // digits
	old, _ := strconv.Atoi(found[2])
	c.lost = ""
	if _, reason, reset := strings.Cut(text, "state: reset"); reset {
		c.lost = reason
	}
	switch {
	case mayReset && c.lost != "":
	case c.lost != "", n <= c.acked, n > c.acked+c.tries+1:
		t.Errorf("chat %q counts %d after %d and %d turns without an answer: %s", c.id, n, c.acked, c.tries, text)
	case old < c.acked, old >= n: // one without an answer may have been interrupted before it wrote the file
		t.Errorf("chat %q: its file has %d at %d, after %d", c.id, old, n, c.acked)
	default:
		c.ran += n - c.acked - 1
	}
	c.answers++
	c.acked, c.tries = n, 0
	_, id, _ := strings.Cut(text, "chat_id: ")
	c.id = strings.TrimSpace(id)
	return true
}

// A load has chats work until it is stopped, or their server ends.
type load struct {
	stop    atomic.Bool
	cancel  context.CancelFunc
	work    sync.WaitGroup
	answers chan struct{} // gets something for each turn that is answered
}

func begin(t *testing.T, server *killable, chats []*teller) *load {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	l := &load{cancel: cancel, answers: make(chan struct{}, 10_000)}
	for _, c := range chats {
		session := connect(t, &mcp.StreamableClientTransport{Endpoint: server.url, MaxRetries: -1})
		l.work.Go(func() {
			for !l.stop.Load() && c.turn(ctx, t, session, false) {
				l.answers <- struct{}{}
			}
		})
	}
	return l
}

// await waits for so many answers, or for a failure of the test.
func (l *load) await(t *testing.T, answers int) {
	t.Helper()
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		l.work.Wait()
	}()
	for range answers {
		select {
		case <-l.answers:
		case <-gone:
			return
		}
	}
}

// end waits until no turn is under way any more.
func (l *load) end() {
	l.stop.Store(true)
	l.work.Wait()
	l.cancel()
}

// A death is a moment at which a server is killed. It returns a server that is to be killed now, and how its load ends then.
type death struct {
	name string
	play func(t *testing.T, data string, chats []*teller) (server *killable, after func())
}

func deaths() []death {
	return []death{
		{"under load", func(t *testing.T, data string, chats []*teller) (*killable, func()) {
			server := startKillable(t, data)
			l := begin(t, server, chats)
			l.await(t, len(chats)+rand.IntN(20))
			return server, l.end
		}},
		{"while it starts", func(t *testing.T, data string, _ []*teller) (*killable, func()) {
			server := launch(t, data)
			moment := time.NewTimer(rand.N(startTime))
			<-moment.C
			return server, func() {}
		}},
		{"while it makes a checkpoint beside turns", func(t *testing.T, data string, chats []*teller) (*killable, func()) {
			server := startKillable(t, data)
			l := begin(t, server, chats)
			l.await(t, 2*len(chats))
			l.end()
			awaitCheckpoint(t, data, nil)
			return server, func() {}
		}},
		{"while it rescues", func(t *testing.T, data string, chats []*teller) (*killable, func()) {
			server := startKillable(t, data)
			l := begin(t, server, chats)
			l.await(t, len(chats))
			l.end()
			server.kill(t)
			server = launch(t, data)
			awaitCheckpoint(t, data, server)
			return server, func() {}
		}},
		{"while it stops", func(t *testing.T, data string, chats []*teller) (*killable, func()) {
			server := startKillable(t, data)
			l := begin(t, server, chats)
			l.await(t, len(chats)+rand.IntN(6))
			l.end()
			if err := server.cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			awaitCheckpoint(t, data, nil)
			return server, func() {}
		}},
	}
}

// startTime is about how long a server starts that finds guests in which code was running.
const startTime = 3 * time.Second

// awaitCheckpoint waits until somebody begins a checkpoint, or the server, if not nil, is ready, and then for a random moment
// of about the time that one takes.
func awaitCheckpoint(t *testing.T, data string, server *killable) {
	t.Helper()
	ready := make(chan string)
	if server != nil {
		ready = server.ready
	}
	before := drafts(t, data)
	deadline := time.NewTimer(10 * time.Second) // there may be nothing to make one of
	defer deadline.Stop()
	for look := time.Tick(time.Millisecond); slices.Equal(drafts(t, data), before); {
		select {
		case <-look:
		case <-ready:
			return
		case <-deadline.C:
			return
		}
	}
	moment := time.NewTimer(rand.N(checkpointTime))
	<-moment.C
}

// checkpointTime is about how long the checkpoints of the chats of the test take.
const checkpointTime = 300 * time.Millisecond

// drafts are the images and checkpoints that there are, also those that are not done.
func drafts(t *testing.T, data string) []string {
	t.Helper()
	var all []string
	for _, pattern := range []string{"checkpoints/*", "checkpoints/.*", "run/*/snapshot-*"} {
		found, err := filepath.Glob(filepath.Join(data, pattern))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, found...)
	}
	return all
}

// killsVariable says how often TestKilledServerLosesNothing kills the server.
const killsVariable = "RUNPYTHON_TEST_KILLS"

func kills(t *testing.T) int {
	t.Helper()
	text := os.Getenv(killsVariable)
	if text == "" {
		return 4 * len(deaths())
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s is %q; want a number", killsVariable, text)
	}
	return n
}

// Issue 7, item 4: whenever the server is killed, no variable, file, transcript and line of the audit log of a turn is lost that was answered, and one that
// was not has run once or not at all.
func TestKilledServerLosesNothing(t *testing.T) {
	extent.Long(t)
	data := guesttest.Data(t)
	chats := make([]*teller, 3)
	for i := range chats {
		chats[i] = &teller{}
	}
	moments := deaths()
	for i := range kills(t) {
		moment := moments[i%len(moments)]
		t.Logf("kill %d, %s", i+1, moment.name)
		server, after := moment.play(t, data, chats)
		server.kill(t)
		after()
		if t.Failed() {
			t.FailNow()
		}
	}
	server := startKillable(t, data)
	for i, c := range chats {
		session := connect(t, &mcp.StreamableClientTransport{Endpoint: server.url})
		if !c.turn(t.Context(), t, session, false) {
			t.Errorf("chat %q is not answered in the end", c.id)
		}
		t.Logf("chat %d: %d turns were answered, %d were not, %d of which have run", i+1, c.answers, c.losses, c.ran)
	}
	if err := server.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := server.cmd.Wait(); err != nil {
		t.Errorf("the last server: %v", err)
	}
	server.kill(t)
	if left := guestsNaming(t, data); len(left) > 0 {
		t.Errorf("guests are left: %s", left)
	}
	wantTranscripts(t, data, chats)
	wantAudited(t, data, chats)
}

// wantAudited wants a line of the audit log for each turn that was answered.
func wantAudited(t *testing.T, data string, chats []*teller) {
	t.Helper()
	events, _ := auditLines(t, data) // it holds
	for _, c := range chats {
		told := 0
		for _, e := range events {
			if e.Kind == "turn" && e.Chat == c.id && e.Outcome == "ok" {
				told++
			}
		}
		if told < c.answers {
			t.Errorf("the audit log has %d turns of chat %q, of which %d were answered", told, c.id, c.answers)
		}
	}
}

// guestsNaming are the processes of guests on a data folder.
func guestsNaming(t *testing.T, data string) []string {
	t.Helper()
	return slices.DeleteFunc(processesNaming(t, data), func(p string) bool { return !strings.Contains(p, " runsc") })
}

// wantTranscripts wants that the transcript of each chat ends with its last turn.
func wantTranscripts(t *testing.T, data string, chats []*teller) {
	t.Helper()
	records, err := sqlite.Open(t.Context(), filepath.Join(data, "chats.db"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range chats {
		turns, err := records.Turns(t.Context(), c.id, 1000)
		last := ""
		if len(turns) > 0 && len(turns[len(turns)-1].Runs) == 1 {
			last = turns[len(turns)-1].Runs[0].Stdout
		}
		if err != nil || !strings.HasPrefix(last, fmt.Sprintf("count %d ", c.acked)) {
			t.Errorf("the transcript of chat %q ends with %q, %v; want count %d", c.id, last, err, c.acked)
		}
	}
	if err := records.Close(); err != nil {
		t.Error(err)
	}
}

// A process that lives and is the first to go on with the chat of one that was killed has its variables.
func TestLivingProcessRescues(t *testing.T) {
	extent.Long(t)
	data := guesttest.Data(t)
	living, dying := startKillable(t, data), startKillable(t, data)
	c := &teller{}
	l := begin(t, dying, []*teller{c})
	l.await(t, 3)
	dying.kill(t)
	l.end()
	session := connect(t, &mcp.StreamableClientTransport{Endpoint: living.url})
	for range 2 {
		if !c.turn(t.Context(), t, session, false) {
			t.Error("the chat is not answered")
		}
	}
	living.kill(t)
}

// When the machine ends, the variables since the last checkpoint are lost, which the chat tells; files are there.
func TestKilledMachineIsTold(t *testing.T) {
	extent.Long(t)
	data := guesttest.Data(t)
	server := startKillable(t, data)
	session := connect(t, &mcp.StreamableClientTransport{Endpoint: server.url, MaxRetries: -1})
	stored, lost := &teller{}, &teller{}
	stored.turn(t.Context(), t, session, false)
	for look := time.Tick(10 * time.Millisecond); ; <-look { // the background makes one
		if found, err := filepath.Glob(filepath.Join(data, "checkpoints", "*")); err != nil || len(found) > 0 && recorded(t, data, stored.id) {
			break
		}
	}
	lost.turn(t.Context(), t, session, false)
	if err := server.cmd.Process.Signal(syscall.SIGSTOP); err != nil { // nobody makes a checkpoint any more
		t.Fatal(err)
	}
	known := recorded(t, data, lost.id)
	for _, process := range processesNaming(t, data) {
		pid, _ := strconv.Atoi(strings.Fields(process)[0])
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended by another
	}
	server.kill(t)
	server = startKillable(t, data)
	session = connect(t, &mcp.StreamableClientTransport{Endpoint: server.url})
	if !stored.turn(t.Context(), t, session, false) {
		t.Error("the chat with a checkpoint is not answered")
	}
	if !lost.turn(t.Context(), t, session, true) || !known && !strings.Contains(lost.lost, "restarted") {
		t.Errorf("the loss of the other is told as %q; want that the server was restarted", lost.lost)
	}
	server.kill(t)
}

// recorded reports whether a chat has a checkpoint.
func recorded(t *testing.T, data, id string) bool {
	t.Helper()
	records, err := sqlite.Open(t.Context(), filepath.Join(data, "chats.db"))
	if err != nil {
		t.Fatal(err)
	}
	_, missing := records.Checkpoint(t.Context(), id)
	if err := records.Close(); err != nil {
		t.Error(err)
	}
	return missing == nil
}
