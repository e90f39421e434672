package about_test

import (
	"encoding/json"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"runpython/internal/about"
)

var update = flag.Bool("update", false, "write server.json and llms.txt of the source tree")

func TestCommittedFiles(t *testing.T) {
	for name, want := range map[string][]byte{"server.json": about.ServerJSON(), "llms.txt": about.LLMs()} {
		file := "../../" + name
		if *update {
			if err := os.WriteFile(file, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s is not what internal/about makes; run: make generate (-want +got):\n%s", name, diff)
		}
	}
}

// TestSchemas holds the documents against the schemas in testdata. These are the
// published ones (of the registry, 2025-12-11, and of SEP-2127, of July 2026)
// without the keywords that only explain.
func TestSchemas(t *testing.T) {
	for _, test := range []struct {
		name, schema string
		document     []byte
	}{
		{"server.json", "server.schema.json", about.ServerJSON()},
		{"card", "server-card.schema.json", about.Card("https://python.example.org/mcp")},
		{"card without a URL", "server-card.schema.json", about.Card("")},
	} {
		t.Run(test.name, func(t *testing.T) {
			schema := resolved(t, test.schema)
			if err := schema.Validate(decode(t, test.document)); err != nil {
				t.Error(err)
			}
			for _, member := range []string{"name", "version", "description"} {
				document := decode(t, test.document)
				document[member] = strings.Repeat("x", 300)
				if schema.Validate(document) == nil {
					t.Errorf("the schema takes a document whose %s is too long: it checks nothing", member)
				}
			}
		})
	}
}

func resolved(t *testing.T, name string) *jsonschema.Resolved {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func decode(t *testing.T, text []byte) (m map[string]any) {
	t.Helper()
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestPages(t *testing.T) {
	h := about.Pages("http://127.0.0.1:8000/mcp")
	get := func(method, path string, header ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), method, path, nil)
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	for path, want := range map[string]struct {
		mediaType string
		content   []byte
		sharing   string
	}{
		about.CardPath: {"application/mcp-server-card+json", about.Card("http://127.0.0.1:8000/mcp"), "private"},
		about.LLMsPath: {"text/plain; charset=utf-8", about.LLMs(), "public"},
	} {
		w := get(http.MethodGet, path, "Accept", want.mediaType)
		if diff := cmp.Diff(string(want.content), w.Body.String()); diff != "" || w.Code != http.StatusOK {
			t.Errorf("GET %s = %d (-want +got):\n%s", path, w.Code, diff)
		}
		for name, value := range map[string]string{
			"Content-Type": want.mediaType, "Cache-Control": want.sharing + ", max-age=3600",
			"Access-Control-Allow-Origin": "*", "Access-Control-Allow-Methods": "GET",
			"Access-Control-Allow-Headers": "Content-Type, If-None-Match", "Access-Control-Expose-Headers": "ETag",
		} {
			if got := w.Header().Get(name); got != value {
				t.Errorf("GET %s: %s is %q, want %q", path, name, got, value)
			}
		}
		if again := get(http.MethodGet, path, "If-None-Match", w.Header().Get("ETag")); again.Code != http.StatusNotModified || again.Body.Len() > 0 {
			t.Errorf("GET %s of what the client has = %d, want 304", path, again.Code)
		}
		if head := get(http.MethodHead, path); head.Code != http.StatusOK || head.Body.Len() > 0 {
			t.Errorf("HEAD %s = %d with %d bytes", path, head.Code, head.Body.Len())
		}
		if preflight := get(http.MethodOptions, path); preflight.Code != http.StatusNoContent || preflight.Header().Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("OPTIONS %s = %d", path, preflight.Code)
		}
		if post := get(http.MethodPost, path); post.Code != http.StatusMethodNotAllowed || post.Header().Get("Allow") == "" {
			t.Errorf("POST %s = %d", path, post.Code)
		}
	}
}
