package mcpserver_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tiktoken-go/tokenizer"

	"runpython/internal/mcpserver"
)

// TestToolSnapshot keeps the public contract: the definition as clients see it.
func TestToolSnapshot(t *testing.T) {
	const file = "testdata/tool.json"
	got, err := json.MarshalIndent(map[string]any{
		"with a model":    definition(t, mcpserver.Options{KeepFor: 720 * time.Hour, OpenWorld: true}),
		"without a model": definition(t, mcpserver.Options{KeepFor: 720 * time.Hour, NeedsCode: true}),
	}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("tool definition (-want +got):\n%s", diff)
	}
}

// TestToolTokens counts what the definition costs every request of every client's
// model, in the order of members in which it is sent and sorted, as some clients
// pass it on.
func TestToolTokens(t *testing.T) {
	const limit = 110
	encoding, err := tokenizer.Get(tokenizer.O200kBase)
	if err != nil {
		t.Fatal(err)
	}
	for _, needsCode := range []bool{false, true} {
		for _, keep := range []time.Duration{0, time.Minute, 90 * time.Minute, 12 * time.Hour, 24 * time.Hour, 720 * time.Hour} {
			sent := definition(t, mcpserver.Options{KeepFor: keep, NeedsCode: needsCode})
			var members any
			if err := json.Unmarshal(sent, &members); err != nil {
				t.Fatal(err)
			}
			sorted, err := json.Marshal(members)
			if err != nil {
				t.Fatal(err)
			}
			for _, text := range []string{string(sent), string(sorted)} {
				if n, err := encoding.Count(text); err != nil || n > limit {
					t.Errorf("%d tokens (%v), want at most %d: %s", n, err, limit, text)
				}
			}
		}
	}
}

// TestInstructionTokens counts what the instructions cost, whatever the server is set to.
func TestInstructionTokens(t *testing.T) {
	const limit = 90
	encoding, err := tokenizer.Get(tokenizer.O200kBase)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 8 {
		text := instructions(t, mcpserver.Options{NeedsCode: i&1 > 0, Packages: i&2 > 0, OpenWorld: i&4 > 0})
		if n, err := encoding.Count(text); err != nil || n > limit || n == 0 {
			t.Errorf("%d tokens (%v), want at most %d: %s", n, err, limit, text)
		}
	}
}

func TestToolSaysHowLongChatsLive(t *testing.T) {
	for keep, want := range map[time.Duration]string{
		0: "until restart", time.Minute: "1 minute", 90 * time.Minute: "1 hour", 36 * time.Hour: "36 hours",
		24 * time.Hour: "1 day", 720 * time.Hour: "30 days",
	} {
		var tool mcp.Tool
		if err := json.Unmarshal(definition(t, mcpserver.Options{KeepFor: keep}), &tool); err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(tool.Description, "chats live "+want) {
			t.Errorf("KeepFor %v: description %q, want it to end with %q", keep, tool.Description, want)
		}
	}
}

// TestInstructionsTellOfPackages: a model learns how to get them only where there are some.
func TestInstructionsTellOfPackages(t *testing.T) {
	for _, packages := range []bool{false, true} {
		if text := instructions(t, mcpserver.Options{Packages: packages}); strings.Contains(text, "!pip install NAME") != packages {
			t.Errorf("packages %v: instructions %q", packages, text)
		}
	}
}

// instructions returns them as server/discover sends them.
func instructions(t *testing.T, o mcpserver.Options) string {
	t.Helper()
	o.Chat = &fakeChat{}
	var answer struct {
		Result struct{ Instructions string } `json:"result"`
	}
	body := post(t, newServer(t, o).Handler(), "server/discover", "")
	if err := json.Unmarshal(body, &answer); err != nil {
		t.Fatalf("server/discover = %s, %v", body, err)
	}
	return answer.Result.Instructions
}

// definition returns the tool as tools/list sends it.
func definition(t *testing.T, o mcpserver.Options) json.RawMessage {
	t.Helper()
	o.Chat = &fakeChat{}
	var list struct {
		Result struct {
			Tools []json.RawMessage `json:"tools"`
		} `json:"result"`
	}
	answer := post(t, newServer(t, o).Handler(), "tools/list", "")
	if err := json.Unmarshal(answer, &list); err != nil || len(list.Result.Tools) != 1 {
		t.Fatalf("tools/list = %s, %v; want one tool", answer, err)
	}
	return list.Result.Tools[0]
}
