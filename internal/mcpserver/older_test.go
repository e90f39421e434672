package mcpserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/chat"
	"runpython/internal/mcpserver"
)

// TestLinksOfOlderRevisions: a client whose revision knows no links to resources would refuse
// the whole result, so it gets them as text.
func TestLinksOfOlderRevisions(t *testing.T) {
	const uri = "runpython://chats/" + chatID + "/files/a.csv"
	turn := func(_ context.Context, r chat.Request) (*chat.Reply, error) {
		reply := &chat.Reply{ChatID: chatID, State: chat.New, Text: "made"}
		if r.Message == "files" {
			reply.Files = []chat.File{
				{Path: "a.csv", URI: uri, MIMEType: "text/csv", Size: 4},
				{Path: "b\n.csv", URI: uri + "2", MIMEType: "text/csv", Size: 4},
			}
		}
		return reply, nil
	}
	text := "text made\n\nchat_id: " + chatID
	links := []string{text, "resource_link " + uri, "resource_link " + uri + "2"}
	lines := []string{text, "text file \"a.csv\": " + uri + "\nfile \"b\\n.csv\": " + uri + "2"}
	for _, test := range []struct {
		version, message string
		want             []string
	}{
		{"2025-11-25", "files", links},
		{"2025-06-18", "files", links},
		{"2025-03-26", "files", lines},
		{"2024-11-05", "files", lines},
		{"2025-03-26", "none", []string{text}},
	} {
		t.Run(test.version+" "+test.message, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				talk := conversation{t: t, handler: newServer(t, mcpserver.Options{Chat: &fakeChat{turn: turn}}).Handler()}
				talk.request(fmt.Sprintf("POST /mcp\n\n"+`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`, test.version))
				answer := talk.request(fmt.Sprintf("POST /mcp\nMcp-Session-Id: $SESSION\n\n"+`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"chat","arguments":{"message":%q}}}`, test.message))
				var message struct {
					Result struct {
						Content []struct{ Type, Text, URI string }
					}
				}
				_, body, _ := strings.Cut(answer, "\n\n")
				if err := json.Unmarshal([]byte(body), &message); err != nil {
					t.Fatalf("%v in %s", err, answer)
				}
				var got []string
				for _, c := range message.Result.Content {
					got = append(got, c.Type+" "+c.Text+c.URI)
				}
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("content (-want +got):\n%s", diff)
				}
			})
		})
	}
}
