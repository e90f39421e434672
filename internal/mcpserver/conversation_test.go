package mcpserver_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"runpython/internal/mcpserver"
)

var update = flag.Bool("update", false, "rewrite the expected answers in testdata")

// TestConversations replays testdata/conversations. Each file says in its first
// paragraph why it is there, then has requests and the answers that they must get:
//
//	-- request --
//	POST /mcp
//	Mcp-Session-Id: $SESSION
//
//	{"jsonrpc":"2.0", …}
//	-- response --
//	200 OK
//	Content-Type: application/json
//
//	{…}
//
// A POST has Content-Type and Accept as a good client sends them unless it says
// otherwise ("Accept: -" leaves it out), and Host is localhost:8000. $SESSION is the
// last session id, in requests and answers. A file "options" may come first.
func TestConversations(t *testing.T) {
	files, err := filepath.Glob("testdata/conversations/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no conversations: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			// In a bubble no answer is late, however busy the machine is.
			synctest.Test(t, func(t *testing.T) { converse(t, file) })
		})
	}
}

func converse(t *testing.T, file string) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	talk := conversation{t: t, handler: newServer(t, conversationOptions(t, archive)).Handler()}
	updated := &txtar.Archive{Comment: archive.Comment}
	for i, part := range archive.Files {
		switch part.Name {
		case "options":
			updated.Files = append(updated.Files, part)
		case "request":
			got := talk.request(string(part.Data))
			if inside := internals().FindString(got); inside != "" {
				t.Errorf("answer to\n%stells of the inside: %q", part.Data, inside)
			}
			updated.Files = append(updated.Files, part, txtar.File{Name: "response", Data: []byte(got)})
			if *update {
				continue
			}
			if i+1 == len(archive.Files) || archive.Files[i+1].Name != "response" {
				t.Fatalf("request %d has no response; run with -update", i)
			}
			if diff := cmp.Diff(string(archive.Files[i+1].Data), got); diff != "" {
				t.Errorf("answer to\n%s(-want +got):\n%s", part.Data, diff)
			}
		case "response":
		default:
			t.Fatalf("unknown part %q", part.Name)
		}
	}
	if *update {
		if err := os.WriteFile(file, txtar.Format(updated), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// internals matches what no answer may tell: how this program is made and where it runs.
func internals() *regexp.Regexp {
	return regexp.MustCompile(`(?i)unmarshal|\.go:\d|runtime error|goroutine|jsonrpc2|\bmcp\.[A-Z]|go-sdk|/var/|/root/|/home/|of type \w+\.|Go (value|struct)`)
}

// conversationOptions reads the part "options" of a conversation, lines of name
// and value.
func conversationOptions(t *testing.T, archive *txtar.Archive) mcpserver.Options {
	o := mcpserver.Options{Chat: &fakeChat{}}
	if len(archive.Files) == 0 || archive.Files[0].Name != "options" {
		return o
	}
	for line := range strings.Lines(string(archive.Files[0].Data)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch name {
		case "sessions":
			if _, err := fmt.Sscan(value, &o.MaxSessions); err != nil {
				t.Fatal(err)
			}
		case "host":
			o.AllowedHosts = append(o.AllowedHosts, value)
		case "origin":
			o.AllowedOrigins = append(o.AllowedOrigins, value)
		case "needs-code":
			o.NeedsCode = true
		default:
			t.Fatalf("unknown option %q", name)
		}
	}
	return o
}

type conversation struct {
	t       *testing.T
	handler http.Handler
	session string
}

// request sends a request as a conversation spells it and returns the answer in
// the same form.
func (c *conversation) request(text string) string {
	head, body, _ := strings.Cut(text, "\n\n")
	lines := strings.Split(strings.TrimSpace(head), "\n")
	method, path, _ := strings.Cut(lines[0], " ")
	body = strings.TrimSpace(body)
	r := httptest.NewRequestWithContext(c.t.Context(), method, path, strings.NewReader(body))
	r.Host = "localhost:8000"
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
	}
	for _, line := range lines[1:] {
		name, value, _ := strings.Cut(line, ":")
		switch value = strings.ReplaceAll(strings.TrimSpace(value), "$SESSION", c.session); {
		case name == "Host":
			r.Host = value
		case value == "-":
			r.Header.Del(name)
		default:
			r.Header.Set(name, value)
		}
	}
	w := httptest.NewRecorder()
	c.handler.ServeHTTP(w, r)
	if id := w.Header().Get("Mcp-Session-Id"); id != "" {
		c.session = id
	}
	return c.answer(w)
}

// shownHeaders are the headers of an answer that matter to a client.
var shownHeaders = []string{
	"Access-Control-Allow-Headers", "Access-Control-Allow-Methods", "Access-Control-Allow-Origin",
	"Access-Control-Expose-Headers", "Allow", "Content-Type", "Location", "Mcp-Session-Id", "Retry-After", "Vary",
}

func (c *conversation) answer(w *httptest.ResponseRecorder) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d %s\n", w.Code, http.StatusText(w.Code))
	for _, name := range shownHeaders {
		for _, value := range w.Header().Values(name) {
			if c.session != "" {
				value = strings.ReplaceAll(value, c.session, "$SESSION")
			}
			fmt.Fprintf(&b, "%s: %s\n", name, value)
		}
	}
	b.WriteByte('\n')
	body := w.Body.Bytes()
	if json.Valid(body) {
		var indented bytes.Buffer
		if err := json.Indent(&indented, body, "", "  "); err != nil {
			c.t.Fatal(err)
		}
		body = indented.Bytes()
	}
	if len(body) > 0 {
		b.Write(bytes.TrimRight(body, "\n"))
		b.WriteByte('\n')
	}
	return b.String()
}
