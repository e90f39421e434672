package app_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"runpython/internal/app"
	"runpython/internal/chat"
	"runpython/internal/config"
	"runpython/internal/extent"
	"runpython/internal/guesttest"
)

// printed runs code that must not fail, and returns what it has printed.
func printed(t *testing.T, a *app.App, id, code string) (*chat.Reply, string) {
	t.Helper()
	reply := turn(t, a, id, code)
	if len(reply.Runs) != 1 || reply.Runs[0].Error != "" {
		t.Fatalf("Turn(%q): %s", code, reply.Text)
	}
	return reply, strings.TrimSpace(reply.Runs[0].Stdout)
}

// numbers are drawn from all that has been seeded by nobody.
const numbers = `import random, secrets, uuid, tempfile
print(random.random(), secrets.token_hex(8), uuid.uuid4(), tempfile.mktemp())`

// A fork of a chat that a server has goes on with its variables and files, and so does the chat; they draw different numbers.
func TestForkOfLivingChat(t *testing.T) {
	extent.Long(t)
	data := guesttest.Data(t)
	a := openAt(t, data, func(c *config.Config, _ *app.Build) { c.Pool = 1 })
	first, _ := printed(t, a, "", "import random\nx = [1]\n_ = open('data.csv', 'w').write('17')\nprint(random.random())")
	forked, err := recordsAt(t, data).Fork(t.Context(), first.ChatID)
	if err != nil || forked.Loss != "" {
		t.Fatalf("Fork = %+v, %v; want a copy with its variables", forked, err)
	}
	var drawn []string
	for _, id := range []string{first.ChatID, forked.ID} {
		reply, got := printed(t, a, id, "x.append(2); print(x, open('data.csv').read())")
		if got != "[1, 2] 17" || reply.State != chat.Restored {
			t.Errorf("chat %s goes on with %q, state %q %s; want [1, 2] 17, restored", id, got, reply.State, reply.StateReason)
		}
		_, got = printed(t, a, id, numbers)
		drawn = append(drawn, strings.Fields(got)...)
	}
	if slices.Sort(drawn); len(drawn) != 8 || len(slices.Compact(drawn)) != 8 {
		t.Errorf("the chat and its fork draw %q; want eight that differ", drawn)
	}
}

// An undo of a chat that a server has takes variables and files back: from the checkpoint of the turn before, or by executing
// runs again, after which the files are what they had been.
func TestUndoOfLivingChat(t *testing.T) {
	extent.Long(t)
	data := guesttest.Data(t)
	a := openAt(t, data, func(c *config.Config, _ *app.Build) { c.Pool, c.Idle = 1, time.Second })
	undo := func(id string) *chat.Undone {
		t.Helper()
		u, err := recordsAt(t, data).Undo(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	first, _ := printed(t, a, "", "import time, os\nx = 1\nos.makedirs('d')\nname = f'd/{time.time_ns()}'\nopen(name, 'w').write(name)")
	id := first.ChatID
	printed(t, a, id, "x = 2; _ = open('log', 'a').write('two'); os.remove(name)")
	printed(t, a, id, "x = 3; _ = open('log', 'a').write('three'); _ = open('late', 'w').write('l')")
	if u := undo(id); u.Turn != 3 || u.Loss != "" {
		t.Errorf("Undo = %+v; want turn 3", u)
	}
	if _, got := printed(t, a, id, "print(x, open('log').read(), sorted(os.listdir()))"); got != "2 two ['log']" && got != "2 two ['d', 'log']" {
		t.Errorf("after turn 3 was undone: %q", got)
	}
	undo(id)
	u := undo(id)
	if want := []int{1}; u.Base > 0 || !slices.Equal(u.Again, want) {
		t.Errorf("Undo = %+v; want that turn 1 is executed again", u)
	}
	reply, got := printed(t, a, id, "print(x, [os.path.join(d, f) for d, _, files in os.walk('.') for f in files], 'late' in globals())")
	files, err := recordsAt(t, data).Transcript(t.Context(), id)
	if err != nil || len(files.Files) != 1 || got != "1 ['./"+files.Files[0].Path+"'] False" {
		t.Errorf("after turn 2 was undone: %q, the transcript has %+v, %v", got, files, err)
	}
	if !strings.Contains(reply.Text, "the runs of turn 1 were executed again") || !strings.Contains(reply.Text, "put back") {
		t.Errorf("it is told as %q", reply.Text)
	}
}
