package app_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"runpython/internal/guesttest"
	"runpython/internal/store/sqlite"
)

// killable is the real program as a server, in a process of its own.
type killable struct {
	cmd  *exec.Cmd
	end  io.Closer // of what it says
	said sync.WaitGroup
	url  string
}

var listening = regexp.MustCompile(`http://127\.0\.0\.1:\d+/mcp`)

// startKillable starts the program on a data folder. The caller kills it.
func startKillable(t *testing.T, data string) *killable {
	t.Helper()
	k := &killable{cmd: exec.CommandContext(t.Context(), guesttest.Binary(t), "serve", "--data", data, "--listen", "127.0.0.1:0", "--pool", "1", "--packages", "off")}
	out, in := io.Pipe()
	k.cmd.Stdout, k.cmd.Stderr, k.end = in, in, in
	k.cmd.WaitDelay = time.Second // the keeper may hold on to it
	if err := k.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	var all strings.Builder
	for k.url == "" && lines.Scan() {
		fmt.Fprintln(&all, lines.Text())
		k.url = listening.FindString(lines.Text())
	}
	if k.url == "" {
		t.Fatalf("the server ended before it was ready:\n%s", all.String())
	}
	k.said.Go(func() { _, _ = io.Copy(io.Discard, out) })
	return k
}

// kill ends the server at once, and leaves its guests.
func (k *killable) kill(t *testing.T) {
	t.Helper()
	if err := k.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = k.cmd.Wait() // it was killed
	if err := k.end.Close(); err != nil {
		t.Error(err)
	}
	k.said.Wait()
}

// A teller is a chat that counts its turns in a variable and in a file.
type teller struct {
	id    string
	acked int    // the count of the last turn that was answered
	turns int    // that were answered
	lost  string // why the count has begun anew, as the last turn has said
}

const count = `n = globals().get('n', 0) + 1
old = int(open('n').read()) if n > 1 else 0
_ = open('n', 'w').write(str(n))
print('count', n, old)`

var counted = regexp.MustCompile(`count (\d+) (\d+)`)

// turn runs one turn, and reports whether it was answered. What is wrong with the answer fails the test.
func (c *teller) turn(ctx context.Context, t *testing.T, session *mcp.ClientSession, mayReset bool) bool {
	arguments := map[string]any{"message": count}
	if c.id != "" {
		arguments["chat_id"] = c.id
	}
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "chat", Arguments: arguments})
	if err != nil {
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
	// Turns that were under way at a kill are not answered, and may have run.
	switch {
	case mayReset && c.lost != "":
	case n <= c.acked, c.lost != "":
		t.Errorf("chat %q counts %d after %d: %s", c.id, n, c.acked, text)
	case old != n-1:
		t.Errorf("chat %q: its file has %d at %d", c.id, old, n)
	}
	c.acked, c.turns = n, c.turns+1
	_, id, _ := strings.Cut(text, "chat_id: ")
	c.id = strings.TrimSpace(id)
	return true
}

// kills is how often the server is killed.
const kills = 10

// Whenever the server is killed, no variable, file, transcript and line of the audit log of a turn is lost that was answered.
func TestKilledServerLosesNothing(t *testing.T) {
	guesttest.Long(t)
	data := guesttest.Data(t)
	chats := make([]*teller, 3)
	for i := range chats {
		chats[i] = &teller{}
	}
	for range kills {
		server := startKillable(t, data)
		ctx, cancel := context.WithCancel(t.Context())
		var work sync.WaitGroup
		answers := make(chan struct{}, 1000)
		for _, c := range chats {
			session := connect(t, &mcp.StreamableClientTransport{Endpoint: server.url, MaxRetries: -1})
			work.Go(func() {
				for c.turn(ctx, t, session, false) {
					answers <- struct{}{}
				}
			})
		}
		for range len(chats) + rand.IntN(30) {
			<-answers
		}
		server.kill(t)
		cancel()
		work.Wait()
		if t.Failed() {
			break
		}
	}
	server := startKillable(t, data)
	for _, c := range chats {
		session := connect(t, &mcp.StreamableClientTransport{Endpoint: server.url})
		if !c.turn(t.Context(), t, session, false) {
			t.Errorf("chat %q is not answered in the end", c.id)
		}
	}
	server.kill(t)
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
	events, _ := auditLines(t, data) // it holds
	for _, c := range chats {
		told := 0
		for _, e := range events {
			if e.Kind == "turn" && e.Chat == c.id && e.Outcome == "ok" {
				told++
			}
		}
		if told < c.turns {
			t.Errorf("the audit log has %d turns of chat %q, of which %d were answered", told, c.id, c.turns)
		}
	}
}

// When the machine ends, the variables since the last checkpoint are lost, which the chat tells; files are there.
func TestKilledMachineIsTold(t *testing.T) {
	guesttest.Long(t)
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
