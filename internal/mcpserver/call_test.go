package mcpserver_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"runpython/internal/chat"
	"runpython/internal/mcpserver"
)

// call calls the tool, whose chat gives reply, and returns the whole answer and the
// result in it.
func call(t *testing.T, reply *chat.Reply) ([]byte, *mcp.CallToolResult) {
	t.Helper()
	s := newServer(t, mcpserver.Options{Chat: &fakeChat{turn: func(context.Context, chat.Request) (*chat.Reply, error) {
		return reply, nil
	}}})
	body := post(t, s.Handler(), "tools/call", `"name":"chat","arguments":{"message":"x"}`)
	var answer struct {
		Result *mcp.CallToolResult `json:"result"`
	}
	if err := json.Unmarshal(body, &answer); err != nil || answer.Result == nil {
		t.Fatalf("answer %.500s has no result: %v", body, err)
	}
	return body, answer.Result
}

// text returns the text of a result, which must be its first content.
func text(t *testing.T, r *mcp.CallToolResult) string {
	t.Helper()
	if len(r.Content) == 0 {
		t.Fatal("the result has no content")
	}
	c, ok := r.Content[0].(*mcp.TextContent)
	if !ok {
		t.Fatalf("the first content is a %T, want text", r.Content[0])
	}
	return c.Text
}

// TestResult: one text, then pictures, then links, the id in the last line, and no
// structured content.
func TestResult(t *testing.T) {
	const prefix = "runpython://chats/" + chatID + "/"
	picture := noise(t, 40, 30)
	body, got := call(t, &chat.Reply{
		ChatID: chatID, State: chat.Restored, Text: "done\n\n",
		Packages: []chat.Package{{Name: "pandas", Version: "3.0.1"}, {Name: "six", Version: "1.16.0", Was: "1.15.0"}},
		Runs:     []chat.Run{{Code: "f()", Stdout: "<a>\n", Error: "ValueError: x"}},
		Images:   []chat.Image{{Name: "figure-1.png", MIMEType: "image/png", Data: picture, URI: prefix + "results/2/figure-1.png"}},
		Files: []chat.File{
			{Path: "отчёт 1.csv", URI: prefix + "files/%D0%BE%D1%82%D1%87%D1%91%D1%82%201.csv", MIMEType: "text/csv", Size: 4},
			{Path: "link", Skipped: "symbolic link"},
		},
	})
	size := int64(4)
	want := []mcp.Content{
		&mcp.TextContent{Text: "done\n\nstate: restored (variables and files are back)\nchat_id: " + chatID},
		&mcp.ImageContent{MIMEType: "image/png", Data: picture},
		&mcp.ResourceLink{Name: "отчёт 1.csv", URI: prefix + "files/%D0%BE%D1%82%D1%87%D1%91%D1%82%201.csv", MIMEType: "text/csv", Size: &size},
		&mcp.ResourceLink{Name: "figure-1.png", URI: prefix + "results/2/figure-1.png", MIMEType: "image/png"},
	}
	if diff := cmp.Diff(want, got.Content); diff != "" {
		t.Errorf("content (-want +got):\n%s", diff)
	}
	if bytes.Contains(body, []byte("structuredContent")) || got.IsError {
		t.Errorf("answer %s has structured content or isError", body)
	}
	wantMeta := map[string]any{
		"runpython/chatId": chatID, "runpython/isolation": "gvisor",
		"runpython/packages": []any{
			map[string]any{"name": "pandas", "version": "3.0.1"}, map[string]any{"name": "six", "version": "1.16.0", "was": "1.15.0"},
		},
		"runpython/runs": []any{map[string]any{"code": "f()", "stdout": "<a>\n", "error": "ValueError: x", "durationMs": 0.0}},
		"runpython/files": []any{
			map[string]any{"path": "отчёт 1.csv", "uri": want[2].(*mcp.ResourceLink).URI, "mimeType": "text/csv", "size": 4.0},
			map[string]any{"path": "link", "size": 0.0, "skipped": "symbolic link"},
		},
	}
	meta := map[string]any(got.Meta)
	delete(meta, "io.modelcontextprotocol/serverInfo")
	if diff := cmp.Diff(wantMeta, meta); diff != "" {
		t.Errorf("_meta (-want +got):\n%s", diff)
	}
}

// TestControlCharacters: what a terminal would obey is shown instead.
func TestControlCharacters(t *testing.T) {
	t.Run("OUT-10", func(t *testing.T) {
		body, got := call(t, &chat.Reply{
			Text:  "\x1b]0;owned\x07\x1b[2J\u202eabc\u2069 a\r\nb\rc\t\x7f\u009b31m ünï",
			Runs:  []chat.Run{{Stdout: "\x1b[2J"}},
			Files: []chat.File{{Path: "a\u202egpj.exe", URI: "runpython://chats/x/files/a"}},
		})
		want := "␛]0;owned␇␛[2J<U+202E>abc<U+2069> a\nb␍c\t␡<U+009B>31m ünï"
		if text := text(t, got); text != want {
			t.Errorf("text %q, want %q", text, want)
		}
		for _, bad := range []string{"\u202e", "\\u001b", "\x1b", "\u009b"} {
			if strings.Contains(string(body), bad) {
				t.Errorf("%q is in the answer %s", bad, body)
			}
		}
	})
}

// largest is what the Python SDK takes as one event.
const largest = 1 << 20

// TestAnswerStaysBelowTheLargestEvent builds replies whose parts are all too large.
func TestAnswerStaysBelowTheLargestEvent(t *testing.T) {
	many := make([]chat.File, 5000)
	for i := range many {
		many[i] = chat.File{Path: strings.Repeat("<", 200), URI: "runpython://chats/x/files/" + strings.Repeat("%3C", 200) + string(rune('a'+i%26)) + strings.Repeat("x", i%50)}
	}
	runs := make([]chat.Run, 100)
	for i := range runs {
		runs[i] = chat.Run{Code: strings.Repeat("&", 64<<10), Stdout: strings.Repeat("\x1b", 64<<10)}
	}
	images := make([]chat.Image, 5)
	for i := range images {
		images[i] = chat.Image{Name: "figure.png", URI: "runpython://chats/x/results/1/f", Data: noise(t, 300, 300)}
	}
	tests := []struct {
		name  string
		reply chat.Reply
	}{
		{"OUT-05 text", chat.Reply{Text: "BEGIN" + strings.Repeat("word ", 300_000) + "END"}},
		{"text that JSON makes longer", chat.Reply{Text: "BEGIN" + strings.Repeat("\x00<\"", 300_000) + "END"}},
		{"files", chat.Reply{Text: "BEGIN END", Files: many}},
		{"all at once", chat.Reply{Text: "BEGIN" + strings.Repeat("<", 1<<20) + "END", Files: many, Runs: runs, Images: images}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.reply.ChatID = chatID
			body, got := call(t, &tt.reply)
			if len(body) >= largest {
				t.Errorf("the answer has %d bytes, want less than %d", len(body), largest)
			}
			text := text(t, got)
			if !strings.HasPrefix(text, "BEGIN") || !strings.Contains(text, "END\n\n") || !strings.HasSuffix(text, "\nchat_id: "+chatID) {
				t.Errorf("text begins %.60q and ends %q", text, text[max(0, len(text)-100):])
			}
			if len(tt.reply.Text) > 1<<20 && !strings.Contains(text, "bytes left out") {
				t.Error("the text was cut without saying so")
			}
			if len(tt.reply.Files) > 0 && !strings.Contains(text, "more files are not linked") {
				t.Errorf("files were left out without saying so: %q", text[max(0, len(text)-200):])
			}
		})
	}
}

// TestPictures: a picture that is too large is reduced, its original is linked.
func TestPictures(t *testing.T) {
	const uri = "runpython://chats/" + chatID + "/results/1/figure-1.png"
	large := noise(t, 800, 500)
	tests := []struct {
		name string
		data []byte
		want int // pictures shown
	}{
		{"small", noise(t, 20, 20), 1},
		{"OUT-06", large, 1},
		{"OUT-07 longer than a model takes", flat(t, 9000, 10), 1},
		{"more pixels than are decoded", claiming(large, 9000, 9000), 0},
		{"no picture", []byte("GIF89a not really"), 0},
		{"cut", large[:1<<20], 0},
		{"small and cut", noise(t, 20, 20)[:900], 0},
		{"empty", nil, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			body, got := call(t, &chat.Reply{ChatID: chatID, Text: "x", Images: []chat.Image{{Name: "figure-1.png", URI: uri, Data: tt.data}}})
			if len(body) >= largest {
				t.Errorf("the answer has %d bytes, want less than %d", len(body), largest)
			}
			shown := 0
			for _, c := range got.Content {
				if p, ok := c.(*mcp.ImageContent); ok {
					shown++
					decoded, format, err := image.Decode(bytes.NewReader(p.Data))
					if err != nil || p.MIMEType != "image/"+format || max(decoded.Bounds().Dx(), decoded.Bounds().Dy()) > 8000 {
						t.Errorf("picture of type %s is %s, %v", p.MIMEType, format, err)
					}
				}
			}
			if link, ok := got.Content[len(got.Content)-1].(*mcp.ResourceLink); !ok || link.URI != uri {
				t.Errorf("the last content is %v, want a link to the original", got.Content[len(got.Content)-1])
			}
			if shown != tt.want {
				t.Errorf("%d pictures are shown, want %d", shown, tt.want)
			}
			if said := strings.Contains(text(t, got), "could not be shown"); said != (tt.want == 0) {
				t.Errorf("text %q", text(t, got))
			}
		})
	}
}

// noise returns a PNG that does not compress.
func noise(tb testing.TB, width, height int) []byte {
	tb.Helper()
	m := image.NewRGBA(image.Rect(0, 0, width, height))
	random := rand.NewChaCha8([32]byte{})
	for i := range m.Pix {
		m.Pix[i] = byte(random.Uint64()) | 1
		if i%4 == 3 {
			m.Pix[i] = 255
		}
	}
	return encode(tb, m)
}

// flat returns a PNG of one colour, which is small however large the picture.
func flat(tb testing.TB, width, height int) []byte {
	tb.Helper()
	return encode(tb, image.NewPaletted(image.Rect(0, 0, width, height), color.Palette{color.White}))
}

// claiming returns a PNG whose header claims another size.
func claiming(data []byte, width, height uint32) []byte {
	data = bytes.Clone(data)
	const header, size, sum = 12, 16, 29 // where the header begins, its size and checksum
	binary.BigEndian.PutUint32(data[size:], width)
	binary.BigEndian.PutUint32(data[size+4:], height)
	binary.BigEndian.PutUint32(data[sum:], crc32.ChecksumIEEE(data[header:sum]))
	return data
}

func encode(tb testing.TB, m image.Image) []byte {
	tb.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

// TestSameContentInEveryForm: an answer is the same as JSON and as events.
func TestSameContentInEveryForm(t *testing.T) {
	t.Run("MCP-30", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newServer(t, mcpserver.Options{Chat: &fakeChat{turn: func(context.Context, chat.Request) (*chat.Reply, error) {
				return &chat.Reply{ChatID: chatID, Text: "plot", Images: []chat.Image{{Name: "f.png", Data: noise(t, 9, 9), URI: "runpython://chats/x/results/1/f.png"}}}, nil
			}}})
			var answers []string
			for _, accept := range []string{"application/json", "text/event-stream"} {
				w := httptest.NewRecorder()
				ask(s.Handler(), w, alone, accept, callBody(alone, "x"))
				if got := w.Header().Get("Content-Type"); got != accept {
					t.Errorf("Content-Type %s, want %s", got, accept)
				}
				answer := strings.TrimPrefix(w.Body.String(), "event: message\ndata: ")
				answers = append(answers, strings.TrimSuffix(answer, "\n\n"))
			}
			if diff := cmp.Diff(answers[0], answers[1]); diff != "" || !strings.Contains(answers[0], `"type":"image"`) {
				t.Errorf("JSON and events differ (-JSON +events):\n%s", diff)
			}
		})
	})
}

// TestChatIDArrivesUntouched: whatever stands in an id, the chat decides about it as
// it is. Cleaning it here could make two ids one.
func TestChatIDArrivesUntouched(t *testing.T) {
	for name, ids := range map[string][]string{
		"CHT-08": {"../../../../tmp/pwned", "/", "..", ".", "a/../b", `C:\x`, "%2e%2e", "a\x00b", strings.Repeat("a", 100_000)},
		"CHT-09": {"a/b", "a_b", "ABC", "abc", "e\u0301", "\u00e9", " abc", "abc "},
	} {
		t.Run(name, func(t *testing.T) {
			fake := &fakeChat{}
			h := newServer(t, mcpserver.Options{Chat: fake}).Handler()
			var answers, arrived []string
			for _, id := range ids {
				quoted, err := json.Marshal(id)
				if err != nil {
					t.Fatal(err)
				}
				answers = append(answers, string(post(t, h, "tools/call", `"name":"chat","arguments":{"message":"1","chat_id":`+string(quoted)+`}`)))
			}
			for _, r := range fake.seen() {
				arrived = append(arrived, r.ChatID)
			}
			if diff := cmp.Diff(ids, arrived); diff != "" {
				t.Errorf("ids (-sent +arrived):\n%s", diff)
			}
			for _, a := range answers {
				if a != answers[0] {
					t.Errorf("answers differ: %s and %s", a, answers[0])
				}
			}
		})
	}
}
