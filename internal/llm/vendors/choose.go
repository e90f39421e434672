package vendors

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"unicode"

	"runpython/internal/llm/openai"
)

// None is the Settings.Model of somebody who wants no model, whatever is there.
const None = "none"

// KeyVariable is the variable of a key for whichever server is chosen.
const KeyVariable = "RUNPYTHON_MODEL_KEY"

// Settings are what an operator says of the model.
type Settings struct {
	Model    string // VENDOR/NAME; NAME with URL; None; "" for whatever there is
	URL      string // of a server that speaks OpenAI's chat completions, ""
	KeyFile  string // that has the key, ""
	Variable func(name string) string
}

// A Choice is a model that can be asked. It has been checked, but nobody has been called.
type Choice struct {
	Vendor string // "groq"; "" for a server by its URL
	Model  string // name; "" for the first one that the server names
	URL    string // that requests are put behind
	Host   string // of URL, with its port
	// AddressFrom is where the operator has named the address, "" for nowhere.
	AddressFrom string
	KeyFrom     string // variable or file in which the key is, or would be
	HasKey      bool
	Tools       bool // calls tools well, as far as one can know
	Local       bool // a server that the operator runs
	Window      int  // tokens
	// Found says that nobody has chosen it: a server of the machine answered.
	Found bool

	anthropic bool
	dialect   openai.Dialect
	key       string
}

// Name returns vendor and model as the operator named them.
func (c *Choice) Name() string {
	switch {
	case c.Vendor != "":
		return c.Vendor + "/" + c.Model
	case c.Model != "":
		return c.Model
	}
	return "the first model of " + c.Host
}

// Choose returns what s says, nil when it says nothing or None. Its error is one sentence for the operator.
func Choose(s Settings) (*Choice, error) {
	if s.Model == None || s.Model == "" && s.URL == "" {
		return nil, nil //nolint:nilnil // documented
	}
	c, v, err := s.find()
	if err != nil {
		return nil, err
	}
	u, err := s.address(c, v)
	if err != nil {
		return nil, err
	}
	c.URL, c.Host = u.String(), u.Host
	if err := s.findKey(c, v); err != nil {
		return nil, err
	}
	if c.key == "" && v.name != "" && v.name != ollama && c.URL == v.url {
		return nil, fmt.Errorf("--model %s needs a key: set %s, or name a file with --model-key-file", s.Model, v.keys[0])
	}
	return c, nil
}

// find returns the choice without address and key, and its vendor, which is none for a server by its URL.
func (s Settings) find() (*Choice, vendor, error) {
	if s.URL != "" { // names of models have slashes too: none of them is a vendor here
		if err := checkName(s.Model); err != nil && s.Model != "" {
			return nil, vendor{}, err
		}
		return &Choice{Model: s.Model, Local: true, Window: serverWindow, dialect: openai.Dialect{AskUsage: true}}, vendor{}, nil
	}
	name, model, ok := strings.Cut(s.Model, "/")
	i := slices.IndexFunc(table, func(v vendor) bool { return v.name == name })
	if !ok || i < 0 {
		return nil, vendor{}, fmt.Errorf("--model %q: must be VENDOR/NAME with one of the vendors %s, or a name beside --model-url, or none",
			s.Model, strings.Join(names(), ", "))
	}
	if err := checkName(model); err != nil {
		return nil, vendor{}, err
	}
	v := table[i]
	return &Choice{
		Vendor: name, Model: model, Local: name == ollama, Tools: v.tools, Window: v.window,
		anthropic: v.anthropic, dialect: v.dialect,
	}, v, nil
}

// maxNameBytes bounds the name of a model.
const maxNameBytes = 500

func checkName(name string) error {
	if name == "" || len(name) > maxNameBytes || strings.ContainsFunc(name, func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) }) {
		return fmt.Errorf("--model: the name of the model must have 1 to %d bytes without spaces", maxNameBytes)
	}
	return nil
}

// versionedPath is what servers put their chat completions behind, if not elsewhere.
const versionedPath = "/v1"

// address returns where c is served.
func (s Settings) address(c *Choice, v vendor) (*url.URL, error) {
	if s.URL != "" {
		c.AddressFrom = "--model-url, which most servers want with /v1 at its end"
		u, err := parse("--model-url", s.URL)
		if err == nil && strings.Trim(u.Path, "/") == "" {
			u.Path = versionedPath // as all such servers have it
		}
		return u, err
	}
	other := ""
	if v.elsewhere != "" {
		other = s.Variable(v.elsewhere)
	}
	if other == "" {
		return parse("--model", v.url)
	}
	c.AddressFrom = v.elsewhere
	if v.name == ollama {
		return ollamaAddress(other)
	}
	// Another server than the vendor's takes what most take.
	c.dialect.CompletionTokens = false
	return parse(v.elsewhere, other)
}

// parse reads the address of a server that where names.
func parse(where, text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return nil, fmt.Errorf("%s must be a URL such as https://models.example.org/v1, with http or https", where)
	case u.User != nil:
		return nil, fmt.Errorf("%s must not have a user or password in it: put the key into %s, or into a file for --model-key-file", where, KeyVariable)
	case u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("%s must be a URL without ? and #", where)
	}
	u.Path = strings.TrimRight(u.Path, "/")
	return u, nil
}

// ollamaAddress reads OLLAMA_HOST, which may lack scheme, host and port, and may be what the server
// listens on.
func ollamaAddress(text string) (*url.URL, error) {
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.User != nil {
		return nil, errors.New("OLLAMA_HOST must be an address such as 127.0.0.1:11434")
	}
	host, port := u.Hostname(), u.Port()
	if addr, err := netip.ParseAddr(host); host == "" || err == nil && addr.IsUnspecified() {
		host = "127.0.0.1"
	}
	if port == "" {
		port = "11434"
	}
	u.Host = net.JoinHostPort(host, port)
	checked, err := parse("OLLAMA_HOST", u.String())
	if err != nil {
		return nil, err
	}
	checked.Path += versionedPath
	return checked, nil
}

// findKey looks for the key: in the file, else in KeyVariable, else in the variables of the vendor.
func (s Settings) findKey(c *Choice, v vendor) error {
	c.KeyFrom = KeyVariable
	if len(v.keys) > 0 {
		c.KeyFrom = v.keys[0]
	}
	if s.KeyFile != "" {
		key, err := readKey(s.KeyFile)
		c.KeyFrom, c.key, c.HasKey = "--model-key-file", key, true
		return err
	}
	for _, name := range append([]string{KeyVariable}, v.keys...) {
		key := strings.TrimSpace(s.Variable(name))
		if key == "" {
			continue
		}
		if err := checkKey(key); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		c.KeyFrom, c.key, c.HasKey = name, key, true
		return nil
	}
	return nil
}

// maxKeyBytes bounds a key.
const maxKeyBytes = 8 << 10

func readKey(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("--model-key-file: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxKeyBytes+1))
	if err != nil {
		return "", fmt.Errorf("--model-key-file: %w", err)
	}
	key := string(bytes.TrimSpace(text))
	if key == "" {
		return "", fmt.Errorf("--model-key-file: %s is empty", path)
	}
	if err := checkKey(key); err != nil {
		return "", fmt.Errorf("--model-key-file: %w", err)
	}
	return key, nil
}

// checkKey refuses what can be no key. A header cannot have it.
func checkKey(key string) error {
	if len(key) > maxKeyBytes || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return fmt.Errorf("a key is one word of at most %d ASCII characters", maxKeyBytes)
	}
	return nil
}
