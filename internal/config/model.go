package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"strings"
	"time"
)

// The values of Config.ModelProtocol: how a model hands over code.
const (
	ProtocolAuto   = "auto"   // tools where the vendor's models are good at them, and what works from then on
	ProtocolTools  = "tools"  // by calling a tool
	ProtocolFenced = "fenced" // in a fenced block
)

// ModelKeyVariable is the variable of the key for the model, whoever serves it. It is no setting: other
// users of the machine see what is on a command line.
const ModelKeyVariable = variablePrefix + "MODEL_KEY"

// Prices are what a million tokens cost, in a currency of the operator's choice.
type Prices struct {
	Input  float64 // that the vendor reads
	Cached float64 // of those, that it has in its cache
	Output float64 // that it writes
}

// modelSettings are those about the language model.
func modelSettings() []setting {
	return []setting{
		entry("model", optional(word("VENDOR/NAME")), "model that writes the code, such as anthropic/NAME; a name beside --model-url; none for no model; when empty, that of a running Ollama", nil,
			func(c *Config) *string { return &c.Model }),
		entry("model-url", optional(modelURL()), "server of models that speaks OpenAI's chat completions", nil,
			func(c *Config) *string { return &c.ModelURL }),
		entry("model-key-file", file(), "file that has the key, in place of RUNPYTHON_MODEL_KEY and the variable of the vendor", nil,
			func(c *Config) *string { return &c.ModelKeyFile }),
		entry("model-protocol", choice(ProtocolAuto, ProtocolTools, ProtocolFenced), "how the model hands over code", nil,
			func(c *Config) *string { return &c.ModelProtocol }),
		entry("model-extra", optional(jsonObject()), "JSON object that is merged into the body of each request to the model", nil,
			func(c *Config) *map[string]any { return &c.ModelExtra }),
		entry("model-context", count(0, 100_000_000), "tokens of the model's window; 0 for what is usual for the vendor", nil,
			func(c *Config) *int { return &c.ModelContext }),
		entry("model-images", boolean(), "show the model the pictures that its code makes", nil,
			func(c *Config) *bool { return &c.ModelImages }),
		entry("model-requests", count(1, 1000), "requests to the model at once", nil,
			func(c *Config) *int { return &c.ModelRequests }),
		entry("model-price", optional(prices()), "price of a million tokens: INPUT,OUTPUT or INPUT,CACHED,OUTPUT", nil,
			func(c *Config) *Prices { return &c.ModelPrices }),
		entry("max-cost", fraction(0, 1e9), "what a turn may cost by --model-price; 0 for no bound", nil,
			func(c *Config) *float64 { return &c.MaxCost }),
		entry("max-tokens", count(0, 1_000_000_000), "tokens that a turn may use, in all its requests; 0 for no bound", nil,
			func(c *Config) *int { return &c.MaxTokens }),
		entry("max-runs", count(1, 1000), "runs of code that the model may ask for in a turn", nil,
			func(c *Config) *int { return &c.MaxRuns }),
		entry("turn-timeout", duration(time.Second, 24*time.Hour), "longest time of a turn with a model", nil,
			func(c *Config) *time.Duration { return &c.TurnTimeout }),
	}
}

// modelURL is the address of a server of models.
func modelURL() kind[string] {
	k := word("URL").then(func(value string) (string, error) {
		u, err := url.Parse(value)
		switch {
		case err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "":
			return "", refusal("must be a URL such as http://127.0.0.1:8080/v1, with https or http")
		case u.User != nil || u.RawQuery != "" || u.Fragment != "":
			return "", refusal("must have no user, password, ? and #; a key belongs into RUNPYTHON_MODEL_KEY or --model-key-file")
		}
		return value, nil
	})
	k.secret = true // somebody may have put a key into it, which is refused
	return k
}

// jsonObject is an object in JSON.
func jsonObject() kind[map[string]any] {
	return kind[map[string]any]{
		arg: "JSON", yaml: []string{tagString},
		parse: func(text string) (map[string]any, error) {
			if len(text) > maxTextBytes {
				return nil, refusal("must be at most %d bytes", maxTextBytes)
			}
			decoder := json.NewDecoder(bytes.NewReader([]byte(text)))
			decoder.UseNumber() // so that numbers stay as they are written
			var object map[string]any
			if err := decoder.Decode(&object); err != nil || object == nil {
				return nil, refusal(`must be a JSON object such as {"temperature": 0}`)
			}
			if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
				return nil, refusal("must be one JSON object, with nothing after it")
			}
			return object, nil
		},
		format: func(v map[string]any) string {
			if v == nil {
				return ""
			}
			text, err := json.Marshal(v)
			if err != nil { // it came from JSON
				return ""
			}
			return string(text)
		},
	}
}

// prices are two or three numbers with commas between them.
func prices() kind[Prices] {
	number := fraction(0, 1e9)
	return kind[Prices]{
		arg: "LIST", yaml: []string{tagString},
		parse: func(text string) (Prices, error) {
			wrong := refusal("must be two or three prices of a million tokens, such as 3,15 or 3,0.30,15")
			var values []float64
			for part := range strings.SplitSeq(text, ",") {
				v, err := number.parse(strings.TrimSpace(part))
				if err != nil {
					return Prices{}, wrong
				}
				values = append(values, v)
			}
			switch len(values) {
			case 2:
				return Prices{Input: values[0], Cached: values[0], Output: values[1]}, nil
			case 3:
				return Prices{Input: values[0], Cached: values[1], Output: values[2]}, nil
			}
			return Prices{}, wrong
		},
		format: func(p Prices) string {
			if p == (Prices{}) {
				return ""
			}
			return strings.Join([]string{number.format(p.Input), number.format(p.Cached), number.format(p.Output)}, ",")
		},
	}
}
