package app_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"runpython/internal/app"
	"runpython/internal/chat"
	"runpython/internal/extent"
	"runpython/internal/fault"
)

// messageCases are about what is taken for code, and about what the wire does to
// text on both ways.
func messageCases(t *testing.T, data string) {
	a := openAt(t, data, nil)
	play(t, a, fenceScenarios)
	play(t, a, proseScenarios)
	t.Run("MSG-13", func(t *testing.T) {
		extent.Slow(t)
		longMessages(t, a)
	})
	t.Run("MSG-19", func(t *testing.T) { blankMessages(t, a) })
	t.Run("wire", func(t *testing.T) {
		extent.Slow(t)
		url, _ := serve(t, a)
		wireCases(t, url)
	})
}

// only is a scenario of one message of which only the output counts.
func only(name, message, stdout string) scenario {
	return scenario{name, []step{{send: message, stdout: stdout}}}
}

var fenceScenarios = []scenario{
	only("MSG-01", "```python\nmd = '''\n```bash\necho hi\n```\n'''\nprint(len(md) > 5)\n```", "True\n"),
	only("MSG-01 a longer fence", "````python\nmd = '''\n```python\nprint('inner')\n```\n'''\nprint(md.count('`'))\n````", "6\n"),
	only("MSG-01 a fence of tildes", "~~~python\nprint('''\n```\nx\n```''')\n~~~", "\n```\nx\n```\n"),
	only("MSG-01 twice", "Text\n```python\na = \"\"\"\n```\n\"\"\"\nprint(len(a))\n```\nmore\n```python\nb = '''```py\n1\n```'''\nprint(len(b))\n```\n", "5\n11\n"),
	only("MSG-02", "First:\n```python\na = 2\n```\nthen\n```python\nprint(a + 1)\n```", "3\n"),
	only("MSG-02 three, the last with a value", "```python\nprint(1)\n```\n\n```python\nprint(2)\n```\n> quoted\n\n```python\nprint(3);\n```", "1\n2\n3\n"),
	only("MSG-04", "```Python3 title=\"a.py\"\nprint(1)\n```\n```py\nprint(2)\n```\n```{.python .numberLines}\nprint(3)\n```", "1\n2\n3\n"),
	only("MSG-04 other spellings", "```PYTHON\nprint(1)\n```\n```  python   \nprint(2)\n```\n```python3.11\nprint(3)\n```\n```ipython3\nprint(4)\n```\n```{python}\nprint(5)\n```\n```python:main.py\nprint(6)\n```", "1\n2\n3\n4\n5\n6\n"),
	only("MSG-05", "```json\n{\"a\": true}\n```\n```bash\necho SHOULD_NOT_RUN\n```\n```python\nprint('only me')\n```", "only me\n"),
	only("MSG-05 text, output and a shell", "```python\nprint('only me')\n```\nOutput:\n```text\nonly me\n```\n```output\nprint('not me')\n```\n```console\n$ python x.py\n```\n```markdown\nprint('nor me')\n```", "only me\n"),
	only("MSG-07", "`print(6*7)`", "42\n"),
	only("MSG-07 two marks", "``print('`')``", "`\n"),
	only("MSG-08", "```print(1)```", "1\n"),
	only("MSG-08 with a language", "```python print(1)```", "1\n"),
	only("MSG-09", "Here you go:\n```python\nprint('tail')\n", "tail\n"),
	only("MSG-09 after a closed one", "```python\nprint('head')\n```\n~~~~py\nprint('tail')", "head\ntail\n"),
	only("MSG-11", "1. do this\n   ```python\n   for i in range(2):\n       print(i)\n   ```\n", "0\n1\n"),
	only("MSG-11 deeper, with tabs, in a quote", "- a\n  - b\n    ```py\n    if True:\n    \tprint('list')\n    ```\n\n> ```py\n> print('quote')\n> ```\n", "list\nquote\n"),
	{"MSG-12", []step{
		{send: ">>> x = 2\n>>> if x:\n...     print(x)\n...\n2\n>>> x + 1\n3", stdout: "2\n", value: "3"},
		{send: "```pycon\n>>> print(x)\n2\n>>> [x,\n...  x]\n[2, 2]\n```", stdout: "2\n", value: "[2, 2]"},
		{send: "In [1]: y = x + 5\n\nIn [2]: y\nOut[2]: 7\n", value: "7"},
		{send: "```python\n>>> print('a')\na\n```", stdout: "a\n"},
	}},
}

// asked is a scenario of a message in which there is no code.
func asked(name, message string) scenario {
	return scenario{name, []step{{
		send: message, failure: []string{""}, text: []string{"```python", "No Python code was found"}, never: []string{"SyntaxError"},
		check: func(r *chat.Reply) string {
			return unless(r.ChatID == "" && len(r.Runs) == 0, "chat %q, %d runs; want none", r.ChatID, len(r.Runs))
		},
	}}}
}

var proseScenarios = []scenario{
	asked("MSG-14", "What is 17% of 2340, rounded to two digits?"),
	asked("MSG-14 one word", "help"),
	asked("MSG-14 a number", "42"),
	asked("MSG-14 words that compile", "not good"),
	asked("MSG-14 a question with a code span", "What does `len` do?"),
	asked("MSG-14 another language", "Berechne bitte die Summe der ersten zehn Primzahlen."),
	{"MSG-14 a variable", []step{
		{send: "x = [6, 7]"},
		{send: "x", value: "[6, 7]"},
		{send: "`x`, 42", value: "", failure: []string{""}, text: []string{"No Python code was found"}},
		{send: "x, 42", value: "([6, 7], 42)"},
		{send: "```\nx\n```", value: "[6, 7]"},
		{send: "# both\nx\nx, 42", value: "([6, 7], 42)"},
		{send: "x;"},
		{send: "thanks", failure: []string{"NameError"}, text: []string{"```python"}},
		{send: "price - tax", failure: []string{"NameError"}, text: []string{"The message was taken as Python", "```python"}},
		{send: "what is 2+2", failure: []string{""}, text: []string{"No Python code was found"}},
	}},
	asked("MSG-14 a question that compiles", "What is 5 % 3"),
	asked("MSG-14 other code", "```bash\nrm -rf /\n```"),
	{"MSG-18", []step{
		{send: "Please run this:\nimport math\nprint(math.floor(2.7))", stdout: "2\n"},
		{send: "print(math.ceil(2.2))\n\nThat should print three, thanks!", stdout: "3\n"},
		{send: "Could you check\n\nfor i in range(2):\n    print(i)\n\nplease?", stdout: "0\n1\n"},
		{send: "print('a' +\n", failure: []string{"SyntaxError"}},
	}},
}

// longMessages are made to keep a parser busy for ever.
func longMessages(t *testing.T, a *app.App) {
	for name, text := range map[string]string{
		"fences": strings.Repeat("```\n", 1<<18), "stars": strings.Repeat("*", 1<<20), "links": strings.Repeat("[a](", 1<<18),
		"brackets": strings.Repeat("(", 1<<20), "quotes": strings.Repeat("> ", 1<<19), "prompts": strings.Repeat(">>> ", 1<<18),
		"strings": strings.Repeat("'''\"\"\"", 1<<17), "marks": strings.Repeat("`a``b", 1<<17), "lists": strings.Repeat("- ", 1<<19), "spaces": "x" + strings.Repeat(" ", 1<<19) + "y",
	} {
		t.Run(name, func(t *testing.T) {
			r := send(t, a, chat.Request{Message: text[:min(len(text), chat.MaxMessageBytes)]})
			if !r.IsError {
				t.Errorf("it ran: %.300s", r.Text)
			}
		})
	}
	r := send(t, a, chat.Request{Message: "x = '''" + strings.Repeat("y", 1<<20-20) + "'''\nlen(x)"})
	if r.IsError || r.Runs[0].Value != "1048556" {
		t.Errorf("a message of the largest size: %.300s", r.Text)
	}
}

func blankMessages(t *testing.T, a *app.App) {
	for _, blank := range []string{"", "  \n\t", "\ufeff", "\u200b\u00a0\u3000\r\n"} {
		reply, err := a.Turn(t.Context(), chat.Request{Message: blank})
		if kind, shown := fault.Shown(err); kind != fault.Invalid || !strings.Contains(shown, "message is empty") {
			t.Errorf("Turn(%q) = %+v, %v; want that the message is empty", blank, reply, err)
		}
	}
}

// An answer is what came of a call over HTTP.
type answer struct {
	status int
	raw    string
	Error  struct {
		Code    int
		Message string
	}
	Result struct {
		IsError bool
		Content []struct{ Type, Text string }
	}
}

// text is the first text of the result.
func (a answer) text() string {
	if len(a.Result.Content) == 0 {
		return ""
	}
	return a.Result.Content[0].Text
}

// post calls the tool with arguments as they stand, in the way of the newest revision.
func post(t *testing.T, url string, arguments io.Reader) answer {
	t.Helper()
	head := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientCapabilities":{}},"name":"chat","arguments":`
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, io.MultiReader(strings.NewReader(head), arguments, strings.NewReader("}}")))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json", "Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "chat",
	} {
		request.Header.Set(name, value)
	}
	response, err := new(http.Client).Do(request)
	if err != nil {
		t.Fatalf("post: %v", err)
	}
	body, err := io.ReadAll(response.Body)
	if err != nil || response.Body.Close() != nil {
		t.Fatalf("read the answer: %v", err)
	}
	a := answer{status: response.StatusCode, raw: string(body)}
	if err := json.Unmarshal(body, &a); err != nil && response.StatusCode == http.StatusOK {
		t.Fatalf("the answer is not JSON: %v: %.500s", err, body)
	}
	return a
}

// wireCases sends arguments as clients spell them.
func wireCases(t *testing.T, url string) {
	for _, c := range []struct{ name, arguments, want string }{
		{"TXT-02", `{"message": "print(len('\ud83c\udf78'), '\ud83c\udf78')"}`, "\n1 🍸\n"},
		{"TXT-02 a lone half", `{"message": "print(len('\ud83c'))"}`, "\n1\n"},
		{"TXT-02 as it is", `{"message": "print(len('🍸'), '🍸')"}`, "\n1 🍸\n"},
		{"TXT-06", `{"message": "` + "```python\\r\\nif True:\\r\\n    print('a')\\r\\n```\\r\\n" + `"}`, "\na\n"},
		{"TXT-07", `{"message": "x = 1\\nfor i in range(2):\\n    print(x + i)"}`, "\n1\n2\n"},
		{"TXT-07 tabs", `{"message": "for i in range(2):\\n\\tprint(i)"}`, "\n0\n1\n"},
		{"TXT-08", `{"message": "x\u00a0=\u00a0'ok'\nprint(\u201chi\u201d)"}`, "\nhi\n"},
		{"MSG-01", `{"message": "` + "```python\\nmd = '''\\n```bash\\necho hi\\n```\\n'''\\nprint(len(md) > 5)\\n```" + `"}`, "\nTrue\n"},
		{"CHT-09", `{"message": "print(1)", "chat_id": "a/b"}`, "There is no chat with this chat_id"},
		{"OUT-10", `{"message": "print('\\x1b]0;owned\\x07\\x1b[2J\\u202eabc')"}`, "abc"},
		{"OUT-05", `{"message": "print('word ' * 60000)"}`, "bytes left out"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := post(t, url, strings.NewReader(c.arguments))
			if a.status != http.StatusOK || !strings.Contains(a.text(), c.want) {
				t.Errorf("status %d, text:\n%.2000s\nwant %q", a.status, a.text(), c.want)
			}
			if strings.ContainsAny(a.raw, "\x1b\x07\u202e") || strings.Contains(a.text(), "\x1b") || len(a.raw) > 50_000 {
				t.Errorf("%d bytes, control characters: %.500q", len(a.raw), a.text())
			}
		})
	}
	t.Run("MSG-19", func(t *testing.T) {
		if a := post(t, url, strings.NewReader(`{"message": "  \n\t"}`)); a.Error.Code != -32602 || !strings.Contains(a.Error.Message, "message is empty") {
			t.Errorf("answer %s; want invalid params", a.raw)
		}
	})
	t.Run("MSG-17", func(t *testing.T) {
		large := io.MultiReader(strings.NewReader(`{"message": "`), io.LimitReader(&repeated{text: `x = 1\n`}, 200<<20), strings.NewReader(`"}`))
		if a := post(t, url, large); a.status != http.StatusRequestEntityTooLarge || !strings.Contains(a.raw, "4 MiB") {
			t.Errorf("status %d, %.300s; want 413 with the limit", a.status, a.raw)
		}
		if a := post(t, url, strings.NewReader(`{"message": "`+strings.Repeat(`x = 1\n`, 1<<18)+`"}`)); a.Error.Code != -32602 || !strings.Contains(a.Error.Message, "1 MiB") {
			t.Errorf("%.300s; want invalid params with the limit", a.raw)
		}
	})
	t.Run("CHT-15", func(t *testing.T) {
		s := connect(t, &mcp.StreamableClientTransport{Endpoint: url})
		_, _, id := call(t, s, "", "import math; r = 2")
		if _, text, same := call(t, s, id, "math.pi * r ** 2"); !strings.Contains(text, "12.566") || !strings.Contains(text, "state: kept") || same != id {
			t.Errorf("with its id:\n%s", text)
		}
		if result, text, other := call(t, s, "", "r"+"+1"); !result.IsError || !strings.Contains(text, "NameError") || other == id {
			t.Errorf("without an id:\n%s", text)
		}
	})
}

// repeated reads a text again and again.
type repeated struct {
	text string
	at   int
}

// Read fills p.
func (r *repeated) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = r.text[r.at%len(r.text)]
		r.at++
	}
	return len(p), nil
}
