package app_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"runpython/internal/guesttest"
	"runpython/internal/store/sqlite"
)

const (
	// kills is how often the server is killed, killsOfAll when all tests are to be played.
	kills, killsOfAll = 10, 200
	// chatsAtWork is how many chats are at work when it is.
	chatsAtWork = 3
)

// workload is a chat of one client, with what the server has told it.
type workload struct {
	id   string
	told int // the last number that a turn has written and told of
}

// step runs one turn, which writes the next number, and returns whether it was told of.
func (w *workload) step(ctx context.Context, s *mcp.ClientSession) (told bool, text string, err error) {
	args := map[string]any{"message": fmt.Sprintf("open('n', 'w').write('%d')\nprint(open('n').read())", w.told+1)}
	if w.id != "" {
		args["chat_id"] = w.id
	}
	result, err := s.CallTool(ctx, &mcp.CallToolParams{Name: "chat", Arguments: args})
	if err != nil {
		return false, "", err
	}
	text = result.Content[0].(*mcp.TextContent).Text
	if result.IsError {
		return false, text, nil
	}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	w.id = strings.TrimPrefix(lines[len(lines)-1], "chat_id: ")
	w.told++
	return true, text, nil
}

// killable is the program, which is killed.
type killable struct {
	cmd  *exec.Cmd
	said io.Reader
	url  string
}

var mcpURL = regexp.MustCompile(`http://127\.0\.0\.1:\d+/mcp`)

func startServer(t *testing.T, data string) *killable {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), guesttest.Binary(t), "serve", "--data", data, "--listen", "127.0.0.1:0", "--pool", "1", "--packages", "off")
	said, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(said); lines.Scan(); {
		if url := mcpURL.FindString(lines.Text()); url != "" {
			return &killable{cmd: cmd, said: said, url: url}
		}
		t.Log(lines.Text())
	}
	t.Fatal("the server ended before it was ready")
	return nil
}

// kill ends the server as the system does when it needs its memory.
func (s *killable) kill(t *testing.T) {
	t.Helper()
	if err := s.cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	_, _ = io.Copy(io.Discard, s.said)
	_ = s.cmd.Wait() // it was killed
}

func (s *killable) connect(t *testing.T) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: s.url, MaxRetries: -1}, nil)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	return session
}

// TestKilledServerLosesNothing kills the server at points by chance while several chats are at work. The next one knows
// each turn that was told of, with its file, and says that the variables are lost.
func TestKilledServerLosesNothing(t *testing.T) {
	data := guesttest.Data(t)
	rounds := kills
	if guesttest.Every() {
		rounds = killsOfAll
	}
	all := make([]*workload, chatsAtWork)
	for i := range all {
		all[i] = &workload{}
	}
	for round := range rounds {
		s := startServer(t, data)
		s.workUntilKilled(t, all)
		checkKept(t, data, round, all)
	}
}

// workUntilKilled has all chats go on, and kills the server when some turns were told of.
func (s *killable) workUntilKilled(t *testing.T, all []*workload) {
	t.Helper()
	var left atomic.Int64
	left.Store(int64(chatsAtWork + rand.IntN(3*chatsAtWork)))
	enough := make(chan struct{})
	var wait sync.WaitGroup
	for _, w := range all {
		session := s.connect(t)
		wait.Go(func() {
			defer func() { _ = session.Close() }() // the server is gone
			for first := w.told > 0; ; first = false {
				told, text, err := w.step(t.Context(), session)
				if err != nil {
					return // it was killed
				}
				if !told || first && !strings.Contains(text, "restarted") {
					t.Errorf("chat %s after a restart, or later: %s", w.id, text)
				}
				if left.Add(-1) == 0 {
					close(enough)
				}
				if t.Failed() {
					return
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { wait.Wait(); close(done) }()
	select {
	case <-enough:
	case <-done: // something is wrong
	}
	s.kill(t)
	<-done
}

// checkKept looks into the database and the files as the next server will find them.
func checkKept(t *testing.T, data string, round int, all []*workload) {
	t.Helper()
	records, err := sqlite.Open(t.Context(), filepath.Join(data, "chats.db"))
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range all {
		if w.id == "" {
			continue // its first turn was not told of
		}
		turns, err := records.Turns(t.Context(), w.id, 1<<20)
		if err != nil || len(turns) < w.told || len(turns) > 0 && turns[len(turns)-1].Number != len(turns) {
			t.Fatalf("round %d, chat %s: %d turns are kept, %v; want the %d that were told of", round, w.id, len(turns), err, w.told)
		}
		// The turn that nobody was told of may have been kept as well, or its file alone.
		f, err := records.File(t.Context(), w.id, "n")
		if err != nil || f.Size == 0 {
			t.Fatalf("round %d, chat %s: the file is %+v, %v", round, w.id, f, err)
		}
		name := filepath.Join(data, "content", f.Hash[:2], f.Hash[2:])
		want := []string{fmt.Sprint(w.told), fmt.Sprint(w.told + 1)}
		if got := readFile(t, name); got != want[0] && got != want[1] {
			t.Errorf("round %d, chat %s: the file has %q; want one of %q", round, w.id, got, want)
		}
		// Numbers go on with the turns that are kept.
		w.told = len(turns)
	}
	if err := records.Close(); err != nil {
		t.Error(err)
	}
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Error(err)
	}
	return string(data)
}
