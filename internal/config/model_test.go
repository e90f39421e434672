package config_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/config"
)

func TestModelSettings(t *testing.T) {
	path := file(t, "model-extra: '{\"temperature\": 0, \"big\": 12345678901234567890}'\nmodel-images: true\n")
	env := environ("RUNPYTHON_CONFIG="+path, "RUNPYTHON_MODEL=groq/a/b", "RUNPYTHON_MODEL_PRICE=3,0.30,15")
	c, err := load(env, "--model-protocol=fenced", "--max-cost=0.5", "--turn-timeout=90s", "--max-runs=3", "--model-url=http://127.0.0.1:8080/v1")
	if err != nil {
		t.Fatal(err)
	}
	if c.Model != "groq/a/b" || c.ModelProtocol != config.ProtocolFenced || c.MaxCost != 0.5 || c.TurnTimeout != 90*time.Second || c.MaxRuns != 3 || !c.ModelImages {
		t.Errorf("settings = %+v", c)
	}
	if diff := cmp.Diff(config.Prices{Input: 3, Cached: 0.3, Output: 15}, c.ModelPrices); diff != "" {
		t.Errorf("prices (-want +got):\n%s", diff)
	}
	if len(c.ModelExtra) != 2 {
		t.Errorf("extra = %v", c.ModelExtra)
	}
	if c, err = load(env, "--model-price=2,8", "--model-extra="); err != nil || c.ModelExtra != nil {
		t.Fatal(c.ModelExtra, err)
	}
	if diff := cmp.Diff(config.Prices{Input: 2, Cached: 2, Output: 8}, c.ModelPrices); diff != "" {
		t.Errorf("prices (-want +got):\n%s", diff)
	}
}

func TestRefusedModelSettings(t *testing.T) {
	for _, tt := range []struct{ flag, say string }{
		{"--model-url=localhost:8080", "http://127.0.0.1:8080/v1"},
		{"--model-url=http://me:sk-secret@host/v1", "RUNPYTHON_MODEL_KEY"},
		{"--model-url=http://host/v1?key=sk-secret", "RUNPYTHON_MODEL_KEY"},
		{"--model-protocol=json", "auto, tools, fenced"},
		{"--model-extra=[1]", "JSON object"},
		{"--model-extra={} {}", "nothing after it"},
		{"--model-extra=null", "JSON object"},
		{"--model-extra={\"a\":\"" + strings.Repeat("x", 5000) + "\"}", "4096 bytes"},
		{"--model-price=3", "two or three prices"},
		{"--model-price=3,-1", "two or three prices"},
		{"--model-price=1,2,3,4", "two or three prices"},
		{"--max-runs=0", "1 to 1000"},
		{"--max-cost=NaN", "number"},
		{"--model-key-file=/does/not/exist", "file that exists"},
	} {
		_, err := load(environ(), tt.flag)
		if err == nil || !strings.Contains(err.Error(), tt.say) || strings.Contains(err.Error(), "sk-secret") {
			t.Errorf("%.60s: error = %v, want one with %q", tt.flag, err, tt.say)
		}
	}
}

// The variable of the key is no setting, and no mistake either.
func TestKeyVariableIsKnown(t *testing.T) {
	if said := config.UnknownVariables([]string{config.ModelKeyVariable}); len(said) > 0 {
		t.Errorf("UnknownVariables = %q, want none", said)
	}
}
