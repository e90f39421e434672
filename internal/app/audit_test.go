package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"runpython/internal/app"
	"runpython/internal/audit"
	"runpython/internal/chat"
	"runpython/internal/config"
	"runpython/internal/extent"
	"runpython/internal/guesttest"
)

// forwarding is a client behind a proxy.
type forwarding struct{ address string }

func (f forwarding) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("X-Forwarded-For", f.address)
	return http.DefaultTransport.RoundTrip(r)
}

// audited is what a test compares of a line.
type audited struct {
	Kind, Subject, Address, Outcome, Chat string
	Count                                 int
}

func auditLines(t *testing.T, data string) (all []audited, text string) {
	t.Helper()
	err := audit.Tail(t.Context(), audit.Dir(data), 0, false, func(line []byte) error {
		text += string(line)
		var a audited
		err := json.Unmarshal(line, &a)
		all = append(all, a)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := audit.Verify(t.Context(), audit.Dir(data), ""); err != nil {
		t.Errorf("the audit log does not hold: %v", err)
	}
	return all, text
}

// What people do is in the audit log with who and from where, and nothing of what was in it.
func TestAuditLog(t *testing.T) {
	extent.Slow(t)
	guesttest.Guests(t)
	data := guesttest.Data(t)
	var id, uri string
	t.Run("served", func(t *testing.T) {
		a := openAt(t, data, func(c *config.Config, _ *app.Build) {
			c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
		})
		url, _ := serve(t, a)
		s := connect(t, &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: forwarding{"198.51.100.7"}}})
		result, _, chat := call(t, s, "", "open('f.txt', 'w').write('my secret')\nprint('my secret')")
		id = chat
		for _, c := range result.Content {
			if l, ok := c.(*mcp.ResourceLink); ok {
				uri = l.URI
			}
		}
		if _, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri}); err != nil {
			t.Errorf("read %q: %v", uri, err)
		}
		call(t, s, id, "raise ValueError('my secret')")
	})
	c := unset()
	c.Data = data
	records, err := app.OpenRecords(t.Context(), c, guesttest.Log(t))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := records.Transcript(t.Context(), id); err != nil {
		t.Error(err)
	}
	if err := records.Delete(t.Context(), id); err != nil {
		t.Error(err)
	}
	if err := records.Delete(t.Context(), id); err == nil {
		t.Error("a chat was deleted twice")
	}
	if err := records.Close(); err != nil {
		t.Fatal(err)
	}
	me := fmt.Sprintf("uid:%d", os.Getuid())
	got, text := auditLines(t, data)
	want := []audited{
		{Kind: "started", Subject: me},
		{Kind: "turn", Address: "198.51.100.7", Outcome: "ok", Chat: id, Count: 1},
		{Kind: "file_read", Address: "198.51.100.7", Outcome: "ok"},
		{Kind: "turn", Address: "198.51.100.7", Outcome: "failed", Chat: id, Count: 1},
		{Kind: "stopped", Subject: me},
		{Kind: "chat_read", Subject: me, Outcome: "ok", Chat: id},
		{Kind: "chat_deleted", Subject: me, Outcome: "ok", Chat: id},
		{Kind: "chat_deleted", Subject: me, Outcome: "not found", Chat: id},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if strings.Contains(text, "secret") || !strings.Contains(text, uri) {
		t.Errorf("the audit log has content, or does not name the file that was read:\n%s", text)
	}
}

// When the audit log cannot be written, turns go on, and it tells later how many it lacks.
func TestAuditLogThatCannotBeWritten(t *testing.T) {
	extent.Slow(t)
	data := guesttest.Data(t)
	a := openAt(t, data, nil)
	url, admin := serve(t, a)
	s := connect(t, &mcp.StreamableClientTransport{Endpoint: url})
	_, _, id := call(t, s, "", "x = 1")
	away := data + "/elsewhere"
	if err := os.Rename(audit.Dir(data), away); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if result, text, _ := call(t, s, id, "x"); result.IsError {
			t.Errorf("a turn without the audit log: %s", text)
		}
	}
	if _, text, _ := get(t, admin+"/metrics"); !strings.Contains(text, "runpython_audit_lost_total 2\n") {
		t.Error("the metrics do not tell of the events that are lost")
	}
	if err := os.Rename(away, audit.Dir(data)); err != nil {
		t.Fatal(err)
	}
	call(t, s, id, "x")
	_, text := auditLines(t, data)
	if !strings.Contains(text, `"lost":2,`) {
		t.Errorf("the audit log does not say what it lacks:\n%s", text)
	}
}

// What commands do with chats is in the audit log, also what could not be done; nothing of what was in them.
func TestAuditLogOfCommands(t *testing.T) {
	data := t.TempDir()
	r := recordsAt(t, data)
	turns := []chat.ImportedTurn{{Message: "my secret"}, {Message: "another secret"}}
	id, err := r.Import(t.Context(), turns, false)
	if err != nil {
		t.Fatal(err)
	}
	forked, err := r.Fork(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Undo(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	const unknown = "aaaaaaaaaaaaaaaaaaaaaaaaaa"
	_, notForked := r.Fork(t.Context(), unknown)
	_, notUndone := r.Undo(t.Context(), unknown)
	_, notImported := r.Import(t.Context(), make([]chat.ImportedTurn, chat.MaxImportedTurns+1), false)
	if notForked == nil || notUndone == nil || notImported == nil {
		t.Errorf("Fork, Undo, Import = %v, %v, %v; want errors", notForked, notUndone, notImported)
	}
	me := fmt.Sprintf("uid:%d", os.Getuid())
	got, text := auditLines(t, data)
	want := []audited{
		{Kind: "chat_imported", Subject: me, Outcome: "ok", Chat: id, Count: 2},
		{Kind: "chat_forked", Subject: me, Outcome: "ok", Chat: id},
		{Kind: "chat_undone", Subject: me, Outcome: "ok", Chat: id, Count: 2},
		{Kind: "chat_forked", Subject: me, Outcome: "not found", Chat: unknown},
		{Kind: "chat_undone", Subject: me, Outcome: "not found", Chat: unknown},
		{Kind: "chat_imported", Subject: me, Outcome: "invalid", Count: chat.MaxImportedTurns + 1},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if strings.Contains(text, "secret") || !strings.Contains(text, `"object":"`+forked.ID+`"`) {
		t.Errorf("the audit log has content, or does not name the copy:\n%s", text)
	}
}

// Chats that the server deletes itself are in the audit log as nobody's doing, whoever called then.
func TestExpiredChatsInTheAuditLog(t *testing.T) {
	extent.Long(t)
	data := guesttest.Data(t)
	a := openAt(t, data, func(c *config.Config, _ *app.Build) {
		c.TrustedProxies, c.MaxChats = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, 1
	})
	url, _ := serve(t, a)
	s := connect(t, &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: forwarding{"198.51.100.7"}}})
	call(t, s, "", "x = 1")
	call(t, s, "", "x = 1")
	lines, text := auditLines(t, data)
	want := audited{Kind: "chats_expired", Subject: fmt.Sprintf("uid:%d", os.Getuid()), Count: 1}
	if !slices.Contains(lines, want) || !strings.Contains(text, `"object":"chats"`) {
		t.Errorf("no %+v in\n%s", want, text)
	}
}
