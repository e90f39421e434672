package vendors_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"runpython/internal/llm"
	"runpython/internal/llm/llmtest"
	"runpython/internal/llm/vendors"
	"runpython/internal/llm/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// environ is a lookup in these variables.
func environ(pairs ...string) func(string) string {
	return func(name string) string {
		for _, p := range pairs {
			if value, ok := strings.CutPrefix(p, name+"="); ok {
				return value
			}
		}
		return ""
	}
}

func keyFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestChoose(t *testing.T) {
	for _, tt := range []struct {
		name     string
		settings vendors.Settings
		want     vendors.Choice
		called   string // Name
	}{
		{
			"a vendor", vendors.Settings{Model: "groq/meta/llama-4", Variable: environ("GROQ_API_KEY= k ")},
			vendors.Choice{Vendor: "groq", Model: "meta/llama-4", URL: "https://api.groq.com/openai/v1", Host: "api.groq.com", KeyFrom: "GROQ_API_KEY", HasKey: true, Tools: true, Window: 128_000},
			"groq/meta/llama-4",
		},
		{
			"the second variable of a vendor", vendors.Settings{Model: "gemini/g", Variable: environ("GOOGLE_API_KEY=k")},
			vendors.Choice{Vendor: "gemini", Model: "g", URL: "https://generativelanguage.googleapis.com/v1beta/openai", Host: "generativelanguage.googleapis.com", KeyFrom: "GOOGLE_API_KEY", HasKey: true, Tools: true, Window: 1_000_000},
			"gemini/g",
		},
		{
			"our variable wins", vendors.Settings{Model: "openai/g", Variable: environ("OPENAI_API_KEY=k", "RUNPYTHON_MODEL_KEY=l")},
			vendors.Choice{Vendor: "openai", Model: "g", URL: "https://api.openai.com/v1", Host: "api.openai.com", KeyFrom: "RUNPYTHON_MODEL_KEY", HasKey: true, Tools: true, Window: 128_000},
			"openai/g",
		},
		{
			"another address needs no key", vendors.Settings{Model: "anthropic/c", Variable: environ("ANTHROPIC_BASE_URL=http://proxy:4000/")},
			vendors.Choice{Vendor: "anthropic", Model: "c", URL: "http://proxy:4000", Host: "proxy:4000", AddressFrom: "ANTHROPIC_BASE_URL", KeyFrom: "ANTHROPIC_API_KEY", Tools: true, Window: 200_000},
			"anthropic/c",
		},
		{
			"Ollama", vendors.Settings{Model: "ollama/qwen3:8b", Variable: environ()},
			vendors.Choice{Vendor: "ollama", Model: "qwen3:8b", URL: "http://127.0.0.1:11434/v1", Host: "127.0.0.1:11434", KeyFrom: "OLLAMA_API_KEY", Local: true, Window: 4096},
			"ollama/qwen3:8b",
		},
		{
			"what Ollama listens on is no address to call", vendors.Settings{Model: "ollama/q", Variable: environ("OLLAMA_HOST=0.0.0.0:5000")},
			vendors.Choice{Vendor: "ollama", Model: "q", URL: "http://127.0.0.1:5000/v1", Host: "127.0.0.1:5000", AddressFrom: "OLLAMA_HOST", KeyFrom: "OLLAMA_API_KEY", Local: true, Window: 4096},
			"ollama/q",
		},
		{
			"a host alone", vendors.Settings{Model: "ollama/q", Variable: environ("OLLAMA_HOST=https://box/")},
			vendors.Choice{Vendor: "ollama", Model: "q", URL: "https://box:11434/v1", Host: "box:11434", AddressFrom: "OLLAMA_HOST", KeyFrom: "OLLAMA_API_KEY", Local: true, Window: 4096},
			"ollama/q",
		},
		{
			"a server alone; keys of vendors are not for it", vendors.Settings{URL: "http://127.0.0.1:8080", Variable: environ("OPENAI_API_KEY=k")},
			vendors.Choice{URL: "http://127.0.0.1:8080/v1", Host: "127.0.0.1:8080", AddressFrom: "--model-url, which most servers want with /v1 at its end", KeyFrom: "RUNPYTHON_MODEL_KEY", Local: true, Window: 8192},
			"the first model of 127.0.0.1:8080",
		},
		{
			"a server and a name, which has a vendor's", vendors.Settings{URL: "https://vllm/x/v1/", Model: "openai/gpt-oss-20b", KeyFile: keyFile(t, "k\n"), Variable: environ("OPENAI_API_KEY=l")},
			vendors.Choice{Model: "openai/gpt-oss-20b", URL: "https://vllm/x/v1", Host: "vllm", AddressFrom: "--model-url, which most servers want with /v1 at its end", KeyFrom: "--model-key-file", HasKey: true, Local: true, Window: 8192},
			"openai/gpt-oss-20b",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := vendors.Choose(tt.settings)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&tt.want, got, cmpopts.IgnoreUnexported(vendors.Choice{})); diff != "" {
				t.Errorf("choice (-want +got):\n%s", diff)
			}
			if got.Name() != tt.called {
				t.Errorf("Name = %q, want %q", got.Name(), tt.called)
			}
		})
	}
}

func TestNothingChosen(t *testing.T) {
	for _, model := range []string{"", vendors.None} {
		if got, err := vendors.Choose(vendors.Settings{Model: model, Variable: environ("OPENAI_API_KEY=k")}); got != nil || err != nil {
			t.Errorf("Choose of %q = %v, %v; want nothing", model, got, err)
		}
	}
}

// A choice that cannot be used is refused in one sentence, which has no key.
func TestRefusedChoices(t *testing.T) {
	for _, tt := range []struct {
		name     string
		settings vendors.Settings
		say      string
	}{
		{"no key", vendors.Settings{Model: "mistral/m"}, "--model mistral/m needs a key: set MISTRAL_API_KEY"},
		{"no vendor", vendors.Settings{Model: "gpt-5"}, "VENDOR/NAME"},
		{"an unknown vendor", vendors.Settings{Model: "acme/m"}, "openai, anthropic, groq, openrouter, mistral, deepseek, gemini, ollama"},
		{"no name", vendors.Settings{Model: "groq/"}, "name of the model"},
		{"a name with spaces", vendors.Settings{Model: "groq/a b"}, "without spaces"},
		{"no URL", vendors.Settings{URL: "localhost:8080"}, "--model-url must be a URL"},
		{"a password in the URL", vendors.Settings{URL: "http://me:sk-secret@host/v1"}, "RUNPYTHON_MODEL_KEY"},
		{"a query in the URL", vendors.Settings{URL: "http://host/v1?key=sk-secret"}, "without ?"},
		{"another address that is none", vendors.Settings{Model: "openai/m", Variable: environ("OPENAI_BASE_URL=sk-secret")}, "OPENAI_BASE_URL must be a URL"},
		{"Ollama's address that is none", vendors.Settings{Model: "ollama/m", Variable: environ("OLLAMA_HOST=a b")}, "OLLAMA_HOST"},
		{"a key that is none", vendors.Settings{Model: "groq/m", Variable: environ("GROQ_API_KEY=sk-secret\nX: y")}, "GROQ_API_KEY: a key is one word"},
		{"no file", vendors.Settings{Model: "groq/m", KeyFile: filepath.Join(t.TempDir(), "none")}, "--model-key-file"},
		{"an empty file", vendors.Settings{Model: "groq/m", KeyFile: keyFile(t, "\n")}, "is empty"},
		{"a file of another kind", vendors.Settings{Model: "groq/m", KeyFile: keyFile(t, "sk-secret and more")}, "a key is one word"},
		{"a huge file", vendors.Settings{Model: "groq/m", KeyFile: keyFile(t, strings.Repeat("k", 10000))}, "a key is one word"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.settings.Variable == nil {
				tt.settings.Variable = environ()
			}
			got, err := vendors.Choose(tt.settings)
			if got != nil || err == nil || !strings.Contains(err.Error(), tt.say) || strings.Contains(err.Error(), "sk-secret") || strings.Contains(err.Error(), "\n") {
				t.Errorf("Choose = %v, %v; want an error with %q", got, err, tt.say)
			}
		})
	}
}

func client(t *testing.T) *http.Client {
	t.Helper()
	c, err := wire.NewClient("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// Each kind of server is asked in its protocol, with its key.
func TestOpen(t *testing.T) {
	for _, tt := range []struct {
		name     string
		protocol llmtest.Protocol
		settings func(url string) vendors.Settings
	}{
		{"openai", llmtest.OpenAI, func(url string) vendors.Settings {
			return vendors.Settings{Model: "openai/m", Variable: environ("OPENAI_API_KEY=k", "OPENAI_BASE_URL="+url+"/v1")}
		}},
		{"anthropic", llmtest.Anthropic, func(url string) vendors.Settings {
			return vendors.Settings{Model: "anthropic/m", Variable: environ("ANTHROPIC_API_KEY=k", "ANTHROPIC_BASE_URL="+url)}
		}},
		{"ollama", llmtest.OpenAI, func(url string) vendors.Settings {
			return vendors.Settings{Model: "ollama/m", Variable: environ("OLLAMA_API_KEY=k", "OLLAMA_HOST="+url)}
		}},
		{"a server whose model is asked for", llmtest.OpenAI, func(url string) vendors.Settings {
			return vendors.Settings{URL: url, Variable: environ("RUNPYTHON_MODEL_KEY=k")}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			// Variables of the SDKs that are not the server's: a key of another vendor, and headers.
			t.Setenv("OPENAI_ADMIN_KEY", "sk-secret")
			t.Setenv("OPENAI_CUSTOM_HEADERS", "X-Api-Key: sk-secret")
			t.Setenv("ANTHROPIC_AUTH_TOKEN", "sk-secret")
			server := llmtest.Serve(t, llmtest.Script{Exchanges: []llmtest.Exchange{{
				Want: llmtest.Want{Protocol: tt.protocol, Key: "k", Body: []string{`"seed":1`}}, Reply: llmtest.Reply{Text: "It is 42."},
			}}})
			c, err := vendors.Choose(tt.settings(server.URL))
			if err != nil {
				t.Fatal(err)
			}
			m := c.Open(vendors.Options{HTTP: client(t), Extra: map[string]any{"seed": 1}, Log: quiet()})
			got, err := m.Complete(t.Context(), llm.Request{Messages: []llm.Message{{Role: llm.User, Text: "6 times 7?"}}})
			if err != nil || got.Message.Text != "It is 42." {
				t.Errorf("Complete = %v, %v", got, err)
			}
		})
	}
}

// An Ollama that runs is found by what it has; nothing is sent elsewhere without being told so.
func TestFind(t *testing.T) {
	for _, tt := range []struct {
		name, list string
		status     int
		want       string // "" for nothing
	}{
		{"the first that writes, here", `{"models":[{"name":"nomic-embed-text:latest"},{"name":"x","details":{"family":"nomic-bert"}},{"name":"gpt-oss:120b-cloud","remote_host":"https://ollama.com:443"},{"name":"y:cloud"},{"name":"qwen3:8b"},{"name":"z"}]}`, 200, "ollama/qwen3:8b"},
		{"none", `{"models":[]}`, 200, ""},
		{"null", `{"models":null}`, 200, ""},
		{"an error", `{"error":"x"}`, 500, ""},
		{"something else", `<html>`, 200, ""},
		{"a name that is none", `{"models":[{"name":"a b"}]}`, 200, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/api/tags" {
					t.Errorf("%s was asked for", r.URL)
				}
				w.WriteHeader(tt.status)
				_, _ = w.Write([]byte(tt.list))
			}))
			defer server.Close()
			got := vendors.Find(t.Context(), client(t), environ("OLLAMA_HOST="+server.URL))
			if tt.want == "" && got != nil || tt.want != "" && (got == nil || got.Name() != tt.want || !got.Found) {
				t.Errorf("Find = %+v, want %q", got, tt.want)
			}
		})
	}
	t.Run("keys of others", func(t *testing.T) {
		var sent []string
		server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			sent = append(sent, r.Header.Get("Authorization"))
		}))
		defer server.Close()
		for _, key := range []string{vendors.KeyVariable, "OLLAMA_API_KEY"} {
			vendors.Find(t.Context(), client(t), environ("OLLAMA_HOST="+server.URL, key+"=k"))
		}
		if diff := cmp.Diff([]string{"", "Bearer k"}, sent); diff != "" {
			t.Errorf("sent (-want +got):\n%s", diff)
		}
	})
	t.Run("nobody answers", func(t *testing.T) {
		server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		}))
		defer server.Close()
		if got := vendors.Find(t.Context(), client(t), environ("OLLAMA_HOST="+server.URL)); got != nil {
			t.Errorf("Find = %+v, want nothing", got)
		}
	})
	t.Run("nobody is there", func(t *testing.T) {
		if got := vendors.Find(t.Context(), client(t), environ("OLLAMA_HOST=127.0.0.1:1")); got != nil {
			t.Errorf("Find = %+v, want nothing", got)
		}
	})
}
