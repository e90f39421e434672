package probe_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/check/probe"
	"runpython/internal/fault"
)

func TestChallenges(t *testing.T) {
	for text, want := range map[string][]probe.Challenge{
		"":       nil,
		"Bearer": {{Scheme: "bearer", Parameters: map[string]string{}}},
		`Bearer resource_metadata="https://a/b", scope="x \"y\" z" , error=invalid_token`: {
			{Scheme: "bearer", Parameters: map[string]string{"resource_metadata": "https://a/b", "scope": `x "y" z`, "error": "invalid_token"}}},
		`Basic realm="a, b", DPoP algs="ES256", Bearer`: {
			{Scheme: "basic", Parameters: map[string]string{"realm": "a, b"}}, {Scheme: "dpop", Parameters: map[string]string{"algs": "ES256"}},
			{Scheme: "bearer", Parameters: map[string]string{}}},
		`Bearer Realm="first", realm="second"`: {{Scheme: "bearer", Parameters: map[string]string{"realm": "first"}}},
		`Bearer realm="never closed`:           {{Scheme: "bearer", Parameters: map[string]string{"realm": "never closed"}}},
		`realm="of nobody"`:                    nil,
		`"what?`:                               nil,
	} {
		if diff := cmp.Diff(want, probe.ParseChallenges(text)); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
}

func FuzzChallenges(f *testing.F) {
	f.Add(`Bearer a="b\`)
	f.Add(`a=,=b "`)
	f.Fuzz(func(t *testing.T, text string) {
		for _, c := range probe.ParseChallenges(text) {
			if c.Scheme == "" || len(c.Parameters) > 32 {
				t.Errorf("%q has %+v", text, c)
			}
		}
	})
}

func TestReplies(t *testing.T) {
	const json, events = "application/json", "text/event-stream"
	for _, c := range []struct{ kind, body, result, problem string }{
		{json, `{"jsonrpc":"2.0","id":1,"result":{"a":1}}`, `{"a":1}`, ""},
		{json + "; charset=utf-8", `{"id":1,"result":7}`, "7", ""},
		{json, `{"id":2,"result":7}`, "", "no JSON-RPC answer to the request"},
		{json, `{"id":1,"result":7,"error":{"code":1}}`, "", "no JSON-RPC answer to the request"},
		{json, `{"id":null,"error":{"code":-32000,"message":"no"}}`, "", "error -32000: no"},
		{json, `{"id":1,"method":"x","result":{}}`, "", "no JSON-RPC answer to the request"},
		{json, ``, "", "no body"},
		{"text/html", `<p>`, "", "no JSON-RPC answer to the request, but text/html"},
		{events, ": hi\r\ndata: {\"id\":1,\r\ndata: \"result\":{}}\r\n\r\n", "{}", ""},
		{events, "data: {\"id\":9,\"result\":{}}\n\ndata: {\"id\":1,\"result\":[]}\n\n", "[]", ""},
		{events, "data: {\"id\":1,\"result\":{}}", "", "a stream of events that ends without the answer"},
	} {
		result, problem, err := probe.ReadReply(c.kind, c.body)
		if result != c.result || problem != c.problem || err != nil {
			t.Errorf("%s %q: %q, %q, %v; want %q, %q", c.kind, c.body, result, problem, err, c.result, c.problem)
		}
	}
}

func FuzzReplies(f *testing.F) {
	f.Add("data: {\"id\":1,\"result\":{}}\n\n", true)
	f.Add(`{"id":1,"error":{"code":"x"}}`, false)
	f.Fuzz(func(t *testing.T, body string, events bool) {
		kind := "application/json"
		if events {
			kind = "text/event-stream"
		}
		if result, problem, err := probe.ReadReply(kind, body); err == nil && result == "" && problem == "" {
			t.Errorf("%q gave nothing", body)
		}
	})
}

func TestTargets(t *testing.T) {
	for text, want := range map[string]string{
		"https://Example.com":                  "https://example.com/",
		"https://example.com:8443/mcp":         "https://example.com:8443/mcp",
		"https://example.com/?key=abc":         "https://example.com/?…",
		"http://[::1]:80/mcp":                  "http://[::1]:80/mcp",
		"example.com/mcp":                      "",
		"ftp://example.com/":                   "",
		"https://":                             "",
		"https://a:b@example.com/":             "",
		"https://example.com/#x":               "",
		"https://exämple.com/":                 "",
		"https://example.com\x1b[2J/":          "",
		"https://exa mple.com/":                "",
		"https://" + strings.Repeat("a", 3000): "",
		"//example.com/mcp":                    "",
		"https://example.com:99999/":           "",
		"https://example.com:0/":               "",
	} {
		target, err := probe.ParseTarget(text)
		switch kind, _ := fault.Shown(err); {
		case want == "" && (err == nil || kind != fault.Invalid):
			t.Errorf("ParseTarget(%q) = %v, %v; want a refusal", text, target, err)
		case want != "" && (err != nil || target.String() != want):
			t.Errorf("ParseTarget(%q) = %v, %v; want %s", text, target, err, want)
		}
	}
}

// A URL that is none may have a password in the wrong place, and errors go to logs.
func TestErrorsAboutTargetsHaveNoPasswords(t *testing.T) {
	for _, text := range []string{"https://user:hunter2@host name/mcp", "ftp://user:hunter2@example.com/", "user:hunter2@example.com/mcp", "https://example.com:x/?key=hunter2", "https://exämple.com/?key=hunter2"} {
		if _, err := probe.ParseTarget(text); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("ParseTarget(%q) = %v, want a refusal without the password", text, err)
		}
	}
}
