package clientconfig_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"runpython/internal/check/clientconfig"
)

// variables are those that the configurations refer to.
func variables(name string) (string, bool) {
	v, ok := map[string]string{"TOKEN": "s3cr3t-of-the-variable", "HOST": "mcp.example", "EMPTY": ""}[name]
	return v, ok
}

func read(t *testing.T, name, text string) ([]clientconfig.Server, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return clientconfig.Read(file, variables)
}

const url = "https://mcp.example/mcp"

// Each client's own form, as its documentation has it.
func TestClients(t *testing.T) {
	remote := []clientconfig.Server{{Name: "run-python", URL: url}}
	local := []clientconfig.Server{{Name: "files", Command: "npx", Args: []string{"-y", "@example/files", "/data"}, Shown: []string{"npx", "-y", "@example/files", "/data"}}}
	for name, c := range map[string]struct {
		file, text string
		want       []clientconfig.Server
	}{
		"Claude Code":        {".mcp.json", `{"mcpServers":{"run-python":{"type":"http","url":"https://mcp.example/mcp"}}}`, remote},
		"Claude Code's own":  {".claude.json", `{"numStartups":3,"projects":{"/home/a":{"mcpServers":{"run-python":{"type":"http","url":"https://mcp.example/mcp"}}},"/home/b":{}}}`, remote},
		"Claude Desktop":     {"claude_desktop_config.json", `{"mcpServers":{"files":{"command":"npx","args":["-y","@example/files","/data"]}}}`, local},
		"Cursor":             {"mcp.json", `{"mcpServers":{"run-python":{"url":"https://mcp.example/mcp"}}}`, remote},
		"VS Code":            {"mcp.json", "{\n  // servers of this folder\n  \"inputs\": [],\n  \"servers\": {\"run-python\": {\"type\": \"http\", \"url\": \"https://mcp.example/mcp\",},}, /* end */\n}", remote},
		"VS Code's settings": {"settings.json", `{"editor.fontSize":12,"mcp":{"inputs":[],"servers":{"run-python":{"url":"https://mcp.example/mcp"}}}}`, remote},
		"Codex":              {"config.toml", "model = \"x\"\n[mcp_servers.run-python]\nurl = \"https://mcp.example/mcp\"\n", remote},
		"Codex, started":     {"config.toml", "[mcp_servers.files]\ncommand = \"npx\"\nargs = [\"-y\", \"@example/files\", \"/data\"]\n", local},
		"opencode":           {"opencode.jsonc", `{"$schema":"https://opencode.ai/config.json","mcp":{"servers":{"run-python":{"type":"remote","url":"https://mcp.example/mcp"},"off":{"type":"remote","url":"https://off.example","disabled":true}}}}`, remote},
		"opencode 1":         {"opencode.json", `{"mcp":{"run-python":{"type":"remote","url":"https://mcp.example/mcp","enabled":true},"off":{"type":"remote","url":"https://off.example","enabled":false}}}`, remote},
		"opencode 1 started": {"opencode.json", `{"mcp":{"files":{"type":"local","command":["npx","-y","@example/files","/data"]}}}`, local},
		"OpenClaw":           {"openclaw.json", `{"mcp":{"servers":{"run-python":{"url":"https://mcp.example/mcp","transport":"streamable-http"}}}}`, remote},
		"Windsurf":           {"mcp_config.json", `{"mcpServers":{"run-python":{"serverUrl":"https://mcp.example/mcp"}}}`, remote},
		"Zed":                {"settings.json", "\ufeff{\"context_servers\":{\"run-python\":{\"url\":\"https://mcp.example/mcp\"}}}", remote},
		"Zed, started":       {"settings.json", `{"context_servers":{"files":{"source":"custom","command":{"path":"npx","args":["-y","@example/files","/data"]}}}}`, local},
		"Gemini CLI":         {"settings.json", `{"mcp":{"allowed":["run-python"]},"mcpServers":{"run-python":{"httpUrl":"https://mcp.example/mcp"}}}`, remote},
		"Goose":              {"config.yaml", "extensions:\n  developer: {type: builtin, enabled: true}\n  off: {type: stdio, cmd: rm, enabled: false}\n  run-python:\n    name: Run Python\n    type: streamable_http\n    uri: https://mcp.example/mcp\n    enabled: true\n    timeout: 300\n", remote},
		"Goose, started":     {"config.yml", "extensions:\n  files: {type: stdio, cmd: npx, args: [-y, '@example/files', /data], enabled: true}\n", local},
		"Cline":              {"cline_mcp_settings.json", `{"mcpServers":{"run-python":{"type":"streamableHttp","url":"https://mcp.example/mcp","disabled":false,"autoApprove":[]},"off":{"url":"https://off.example","disabled":true}}}`, remote},
		"Hermes":             {"config.yaml", "mcp_servers:\n  run-python:\n    url: \"https://mcp.example/mcp\"\n    auth: oauth\n", remote},
		"Netclaw":            {"netclaw.json", `{"McpServers":{"run-python":{"Transport":"http","Url":"https://mcp.example/mcp"}}}`, remote},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := read(t, c.file, c.text)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, got, cmpopts.EquateEmpty()); d != "" {
				t.Error(d)
			}
		})
	}
}

// Credentials come from where a client takes them, and each is named as what must not be shown.
func TestCredentials(t *testing.T) {
	for name, c := range map[string]struct {
		entry string
		want  clientconfig.Server
	}{
		"a header":              {`{"url":"https://mcp.example/mcp","headers":{"X-Key":"literal-key"}}`, clientconfig.Server{URL: url, Headers: map[string]string{"X-Key": "literal-key"}, Secrets: []string{"literal-key"}}},
		"a variable":            {`{"url":"https://${HOST}/mcp","headers":{"Authorization":"Bearer ${TOKEN}"}}`, clientconfig.Server{URL: url, Headers: map[string]string{"Authorization": "Bearer s3cr3t-of-the-variable"}, Secrets: []string{"mcp.example", "s3cr3t-of-the-variable", "Bearer s3cr3t-of-the-variable"}}},
		"as VS Code writes it":  {`{"url":"https://mcp.example/mcp","headers":{"A":"${env:TOKEN}"}}`, clientconfig.Server{URL: url, Headers: map[string]string{"A": "s3cr3t-of-the-variable"}, Secrets: []string{"s3cr3t-of-the-variable", "s3cr3t-of-the-variable"}}},
		"as opencode writes it": {`{"url":"https://mcp.example/mcp","headers":{"A":"{env:TOKEN}"}}`, clientconfig.Server{URL: url, Headers: map[string]string{"A": "s3cr3t-of-the-variable"}, Secrets: []string{"s3cr3t-of-the-variable", "s3cr3t-of-the-variable"}}},
		"a default":             {`{"url":"${NONE:-https://mcp.example}/mcp"}`, clientconfig.Server{URL: url, Secrets: []string{"https://mcp.example"}}},
		"an input":              {`{"url":"https://mcp.example/mcp","headers":{"A":"Bearer ${input:token}"}}`, clientconfig.Server{URL: url, Notes: []string{"its header A needs input:token, which is not set here"}}},
		"an unset variable":     {`{"url":"https://mcp.example/mcp","headers":{"A":"${EMPTY}"}}`, clientconfig.Server{URL: url, Notes: []string{"its header A needs EMPTY, which is not set here"}}},
		"Codex's token":         {`{"url":"https://mcp.example/mcp","bearer_token_env_var":"TOKEN"}`, clientconfig.Server{URL: url, Headers: map[string]string{"Authorization": "Bearer s3cr3t-of-the-variable"}, Secrets: []string{"s3cr3t-of-the-variable", "Bearer s3cr3t-of-the-variable"}}},
		"Codex's headers":       {`{"url":"https://mcp.example/mcp","env_http_headers":{"X":"TOKEN"}}`, clientconfig.Server{URL: url, Headers: map[string]string{"X": "s3cr3t-of-the-variable"}, Secrets: []string{"s3cr3t-of-the-variable", "s3cr3t-of-the-variable"}}},
		"in the query":          {`{"url":"https://mcp.example/mcp?key=query-key"}`, clientconfig.Server{URL: url + "?key=query-key", Secrets: []string{"query-key"}}},
		"of a process":          {`{"command":"serve","env":{"KEY":"environment-key","N":7}}`, clientconfig.Server{Command: "serve", Shown: []string{"serve"}, Env: map[string]string{"KEY": "environment-key", "N": "7"}, Secrets: []string{"environment-key", "7"}}},
		"in arguments":          {`{"command":"serve","args":["--api-key","argument-key","--token=joined-key","--port","80"]}`, clientconfig.Server{Command: "serve", Args: []string{"--api-key", "argument-key", "--token=joined-key", "--port", "80"}, Shown: []string{"serve", "--api-key", "***", "--token=***", "--port", "80"}, Secrets: []string{"argument-key", "joined-key"}}},
		"a command's input":     {`{"command":"serve","args":["${input:key}"]}`, clientconfig.Server{Notes: []string{"its command needs input:key, which is not set here"}, Problem: "its command needs input:key, which is not set here"}},
		"nothing":               {`{}`, clientconfig.Server{Problem: "it has neither a URL nor a command"}},
		"of other kinds":        {`{"url":7,"command":{"path":8},"args":"x","headers":[]}`, clientconfig.Server{Command: "x", Shown: []string{"x"}}},
		"a command that hides": {`{"command":"sh","args":["-c","rm -r /","${TOKEN}","--key=${TOKEN}"],"env":{"A":"rm -r /"}}`, clientconfig.Server{Command: "sh", Args: []string{"-c", "rm -r /", "s3cr3t-of-the-variable", "--key=s3cr3t-of-the-variable"},
			Shown: []string{"sh", "-c", "rm -r /", "${TOKEN}", "--key=***"}, Env: map[string]string{"A": "rm -r /"}, Secrets: []string{"rm -r /", "s3cr3t-of-the-variable", "s3cr3t-of-the-variable", "s3cr3t-of-the-variable"}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := read(t, "mcp.json", `{"mcpServers":{"s":`+c.entry+`}}`)
			if err != nil || len(got) != 1 {
				t.Fatalf("%v, %v", got, err)
			}
			c.want.Name = "s"
			if d := cmp.Diff(c.want, got[0], cmpopts.EquateEmpty()); d != "" {
				t.Error(d)
			}
		})
	}
}

// What is no configuration says so, without what it has.
func TestWrongFiles(t *testing.T) {
	many := map[string]any{}
	for i := range 101 {
		many[fmt.Sprint(i)] = map[string]string{"url": url}
	}
	tooMany, err := json.Marshal(map[string]any{"mcpServers": many})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ file, text, want string }{
		"no JSON":    {"mcp.json", "{\n\"secret-key\": nope}", "it is no JSON (line 2)"},
		"a list":     {"mcp.json", `["secret-key"]`, "it is no JSON object"},
		"no TOML":    {"config.toml", "a = 1\nsecret-key = = 2", "it is no TOML (line 2)"},
		"no YAML":    {"config.yaml", "- secret-key", "it is no YAML of members and values"},
		"no servers": {"mcp.json", `{"secret-key":{}}`, "names no MCP servers: it has none of mcpServers, servers"},
		"too many":   {"mcp.json", string(tooMany), "names more than 100 servers"},
		"too large":  {"mcp.json", strings.Repeat(" ", 5<<20), "more than 4194304 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := read(t, c.file, c.text)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret-key") {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
	if _, err := clientconfig.Read(filepath.Join(t.TempDir(), "none.json"), variables); err == nil {
		t.Error("a file that is not there is read")
	}
}

func TestNamesAreHarmless(t *testing.T) {
	got, err := read(t, "mcp.json", `{"mcpServers":{"\u001b[2J\u202e`+strings.Repeat("x", 500)+`":{"url":"https://mcp.example/mcp"}}}`)
	if err != nil {
		t.Fatal(err)
	}
	if n := got[0].Name; strings.ContainsAny(n, "\x1b\u202e") || len(n) > 110 {
		t.Errorf("the name is %q", n)
	}
}

// Comments and commas that strict JSON does not have go, and nothing else.
func FuzzRead(f *testing.F) {
	for _, text := range []string{
		`{"mcpServers":{"a":{"url":"https://a.example//x","headers":{"A":"/* no comment */ // nor this"}}}}`,
		"{ // c\n\"mcp\": {\"servers\": {\"a\": {\"command\": [\"x\", \"\\\"//\",], }, /* , */ }, }, }",
		`{"servers":{"a":{"command":"${A}","args":["${B:-c}","${","{env:"]}}}`, `/`, `/*`, `"`, `"\`, `[,]`, `{"a":1,}`,
	} {
		f.Add(text)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		file := filepath.Join(dir, "mcp.json")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := clientconfig.Read(file, variables)
		if err != nil && got != nil {
			t.Errorf("%v and %v", got, err)
		}
		var plain any
		if json.Unmarshal([]byte(text), &plain) != nil {
			return
		}
		var stripped any
		if err := json.Unmarshal(clientconfig.Strict([]byte(text)), &stripped); err != nil || !reflect.DeepEqual(plain, stripped) {
			t.Errorf("strict JSON is changed: %v, %v, %v", plain, stripped, err)
		}
	})
}
