package vendors

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"runpython/internal/llm"
	"runpython/internal/llm/anthropic"
	"runpython/internal/llm/openai"
	"runpython/internal/llm/retry"
	"runpython/internal/llm/wire"
)

// Options say how a model is asked.
type Options struct {
	HTTP     *http.Client   // of package wire
	Extra    map[string]any // merged into the body of each request
	Images   bool           // whether it is shown pictures
	Requests int            // under way at once, at least 1
	Log      *slog.Logger
}

// Open returns the model of c. It calls nobody.
func (c *Choice) Open(o Options) llm.Model {
	server := &wire.Server{Name: c.Vendor, Model: c.Model, Key: c.key, KeyFrom: c.KeyFrom, AddressFrom: c.AddressFrom, Local: c.Local}
	if server.Name == "" {
		server.Name = "the model's server at " + c.Host
	}
	var m llm.Model
	if c.anthropic {
		m = anthropic.New(anthropic.Config{Server: server, BaseURL: c.URL, Name: c.Name(), HTTP: o.HTTP, Images: o.Images, Extra: o.Extra})
	} else {
		m = openai.New(openai.Config{
			Server: server, BaseURL: c.URL, Name: c.Name(), HTTP: o.HTTP, Dialect: c.dialect, Images: o.Images, Extra: o.Extra,
		})
	}
	return retry.New(m, retry.Config{Requests: o.Requests, Local: c.Local, Log: o.Log})
}

// Bounds of the look for a running Ollama.
const (
	findTime     = 200 * time.Millisecond
	maxTagsBytes = 1 << 20
)

// Find returns a model of the Ollama that runs on this machine, or where OLLAMA_HOST says, nil when none
// answers within 200 ms or none has a model that writes: the one that was changed last. Whoever answers there
// does not get the key of KeyVariable, which is for a server that somebody chooses.
func Find(ctx context.Context, client *http.Client, variable func(name string) string) *Choice {
	c, err := Choose(Settings{Model: ollama + "/any", Variable: func(name string) string {
		if name == KeyVariable {
			return ""
		}
		return variable(name)
	}})
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, findTime)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(c.URL, versionedPath)+"/api/tags", nil)
	if err != nil {
		return nil
	}
	if c.key != "" {
		r.Header.Set("Authorization", "Bearer "+c.key)
	}
	resp, err := client.Do(r)
	if err != nil {
		return nil
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxTagsBytes))
	if err != nil || resp.StatusCode != http.StatusOK {
		return nil
	}
	c.Model, c.Found = writer(text), true
	if c.Model == "" {
		return nil
	}
	return c
}

// writer returns the first model of a list of Ollama's that is not made for embeddings and runs on that
// machine: nothing is sent elsewhere unless the operator says so.
func writer(list []byte) string {
	var tags struct {
		Models []struct {
			Name       string `json:"name"`
			RemoteHost string `json:"remote_host"`
			Details    struct {
				Family string `json:"family"`
			} `json:"details"`
		} `json:"models"`
	}
	if err := json.Unmarshal(list, &tags); err != nil {
		return ""
	}
	for _, m := range tags.Models {
		writes := !strings.Contains(m.Name, "embed") && !strings.Contains(m.Details.Family, "bert")
		here := m.RemoteHost == "" && !strings.HasSuffix(m.Name, "cloud")
		if checkName(m.Name) == nil && writes && here {
			return m.Name
		}
	}
	return ""
}
