package app_test

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"runpython/internal/agent"
	"runpython/internal/app"
	"runpython/internal/config"
	"runpython/internal/fault"
	"runpython/internal/llm"
	"runpython/internal/llm/llmtest"
)

// nowhere is an Ollama that does not run.
const nowhere = "OLLAMA_HOST=127.0.0.1:1"

func TestNewModel(t *testing.T) {
	server := llmtest.Serve(t, llmtest.Script{Exchanges: []llmtest.Exchange{{
		Want: llmtest.Want{Key: "sk-secret", Body: []string{`"top_k":3`}}, Reply: llmtest.Reply{Text: "It is 42."},
	}}})
	c := unset()
	c.Model, c.ModelExtra, c.ModelContext, c.MaxRuns = "openai/gpt", map[string]any{"top_k": 3}, 9000, 2
	var log bytes.Buffer
	o, err := app.NewModel(t.Context(), c, slog.New(slog.NewTextHandler(&log, nil)), []string{"OPENAI_API_KEY=sk-secret", "OPENAI_BASE_URL=" + server.URL + "/v1"})
	if err != nil {
		t.Fatal(err)
	}
	if o.Window != 9000 || o.MaxRuns != 2 || !o.GoodAtTools || o.Local || o.Protocol != agent.Auto || o.MaxTokens != 500_000 {
		t.Errorf("options = %+v", o)
	}
	got, err := o.Model.Complete(t.Context(), llm.Request{Messages: []llm.Message{{Role: llm.User, Text: "6 times 7?"}}})
	if err != nil || got.Message.Text != "It is 42." {
		t.Errorf("Complete = %v, %v", got, err)
	}
	if text := log.String(); strings.Contains(text, "sk-secret") || !strings.Contains(text, "openai/gpt") || !strings.Contains(text, "from OPENAI_API_KEY") {
		t.Errorf("logged %s", text)
	}
}

func TestNoModel(t *testing.T) {
	for _, model := range []string{"", "none"} {
		c := unset()
		c.Model = model
		o, err := app.NewModel(t.Context(), c, slog.New(slog.DiscardHandler), []string{nowhere, "OPENAI_API_KEY=k"})
		if o.Model != nil || err != nil {
			t.Errorf("--model %q: %v, %v; want no model", model, o.Model, err)
		}
	}
}

func TestRunningOllamaIsFound(t *testing.T) {
	ollama := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"models":[{"name":"qwen3:8b"}]}`)
	}))
	defer ollama.Close()
	environ := []string{"OLLAMA_HOST=" + ollama.URL}
	o, err := app.NewModel(t.Context(), unset(), slog.New(slog.DiscardHandler), environ)
	if err != nil || o.Model == nil || o.Model.Name() != "ollama/qwen3:8b" || !o.Local || o.GoodAtTools {
		t.Errorf("options = %+v, %v", o, err)
	}
	c := unset()
	c.Model = "none"
	if o, err := app.NewModel(t.Context(), c, slog.New(slog.DiscardHandler), environ); o.Model != nil || err != nil {
		t.Errorf("--model none: %v, %v; want no model", o.Model, err)
	}
	if f := app.ModelFinding(t.Context(), unset(), app.Build{Environ: environ}); f.Level != app.Fine || !strings.Contains(f.Detail, "ollama/qwen3:8b") || !strings.Contains(f.Detail, "found") {
		t.Errorf("finding = %+v", f)
	}
}

// A model without its key keeps the program from starting, with one line that names the variable.
func TestModelWithoutKey(t *testing.T) {
	c := unset()
	c.Model = "groq/llama"
	_, err := app.NewModel(t.Context(), c, slog.New(slog.DiscardHandler), nil)
	if kind, message := fault.Shown(err); kind != fault.Invalid || !strings.Contains(message, "GROQ_API_KEY") || strings.Contains(message, "\n") {
		t.Errorf("error = %v, %q", kind, message)
	}
	if f := app.ModelFinding(t.Context(), c, app.Build{}); f.Level != app.Broken || !strings.Contains(f.Detail, "GROQ_API_KEY") {
		t.Errorf("finding = %+v", f)
	}
}

// A bound for costs that nothing is counted by would be none.
func TestCostWithoutPrice(t *testing.T) {
	c := unset()
	c.ModelURL, c.MaxCost = "http://127.0.0.1:1", 0.5
	_, err := app.NewModel(t.Context(), c, slog.New(slog.DiscardHandler), nil)
	if kind, message := fault.Shown(err); kind != fault.Invalid || !strings.Contains(message, "--model-price") || err.Error() != message {
		t.Errorf("error = %v, %q; want one that names --model-price, once", err, message)
	}
	c.ModelPrices = config.Prices{Input: 3, Cached: 3, Output: 15}
	if _, err := app.NewModel(t.Context(), c, slog.New(slog.DiscardHandler), nil); err != nil {
		t.Errorf("with prices: %v", err)
	}
}

func TestDoctorTellsTheModel(t *testing.T) {
	for _, tt := range []struct {
		change func(*config.Config)
		want   string
	}{
		{func(c *config.Config) { c.Model = "anthropic/claude" }, "anthropic/claude at api.anthropic.com, protocol auto, key from ANTHROPIC_API_KEY, not asked"},
		{func(c *config.Config) { c.ModelURL, c.ModelProtocol = "http://127.0.0.1:8080", "fenced" }, "the first model of 127.0.0.1:8080 at 127.0.0.1:8080, protocol fenced, key none, not asked"},
		{func(*config.Config) {}, "none: only messages that have code are run; see --model"},
	} {
		c := unset()
		tt.change(&c)
		f := app.ModelFinding(t.Context(), c, app.Build{Environ: []string{nowhere, "ANTHROPIC_API_KEY=sk-secret"}})
		if f.Level != app.Fine || f.Detail != tt.want {
			t.Errorf("finding = %+v, want %q", f, tt.want)
		}
	}
}
