package mcpserver_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"runpython/internal/mcpserver"
)

// beyond are revisions that initialize cannot agree on, the last one unknown so far.
var beyond = []string{"2026-07-28", "2027-01-01"}

// TestAgreedRevision: what initialize agrees on counts, not what it was asked for, nor what a
// request says of itself: such a client reads neither tasks nor questions as results.
func TestAgreedRevision(t *testing.T) {
	const wantsTask = `"_meta":{` + takesTasks + `,"runpython/taskAfterMs":0}`
	for _, asked := range beyond {
		t.Run("http "+asked, func(t *testing.T) {
			h := newServer(t, mcpserver.Options{Chat: asking()}).Handler()
			c := &rawClient{url: "http://localhost/mcp"}
			send := func(message string) string {
				w := httptest.NewRecorder()
				h.ServeHTTP(w, c.request(t.Context(), http.MethodPost, message))
				c.session = w.Header().Get("Mcp-Session-Id") + c.session
				return w.Body.String()
			}
			first := strings.Replace(initialize, `"capabilities":{}`, `"capabilities":{"elicitation":{}}`, 1)
			if got := send(strings.Replace(first, legacy, asked, 1)); !strings.Contains(got, `"protocolVersion":"2025-11-25"`) {
				t.Fatalf("initialize got %s", got)
			}
			c.version, c.method = legacy, "tasks/get"
			if got := send(`{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"taskId":"x"}}`); !strings.Contains(got, "-32601") {
				t.Errorf("tasks/get got %s", got)
			}
			c.method = ""
			withoutVersion := strings.Replace(wantsTask, `"io.modelcontextprotocol/protocolVersion":"2026-07-28",`, "", 1)
			got := send(fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{%s,%s}}`, withoutVersion, say1("")))
			if !strings.Contains(got, "message is empty") || strings.Contains(got, "resultType") {
				t.Errorf("a call that wants to be a task got %s", got)
			}
		})
		t.Run("stdio "+asked, func(t *testing.T) {
			c := startStdio(t, asking())
			first := strings.Replace(initialize, `"capabilities":{}`, `"capabilities":{"elicitation":{}}`, 1)
			c.send(strings.Replace(first, legacy, asked, 1))
			c.expect(`"protocolVersion":"2025-11-25"`)
			c.send(stdioCall(1, "name?"))
			c.expect(`"method":"elicitation/create"`)
			c.send(`{"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{"answer":"Ada"}}}`)
			if got := c.receive(); !strings.Contains(got, `typed \"Ada\"`) || strings.Contains(got, "resultType") {
				t.Errorf("the call got %s", got)
			}
			c.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{` + wantsTask + `,` + say1("") + `}}`)
			if got := c.receive(); !strings.Contains(got, "message is empty") || strings.Contains(got, "resultType") {
				t.Errorf("a call that names the newer era got %s", got)
			}
			c.close()
		})
	}
}
