package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"runpython/internal/excerpt"
	"runpython/internal/llm"
	"runpython/internal/pattern"
)

// Refused says what the answer of a server with a status other than success means.
func (s *Server) Refused(status int, header http.Header, body []byte) *llm.Error {
	words := wordsOf(body)
	kind := kindOf(status, words)
	if kind == llm.NoModel && s.Model == "" {
		kind = llm.Invalid // none was asked for: it is the list of models that is not there
	}
	e := &llm.Error{Kind: kind, Message: s.say(kind, status, words), Err: s.cause(status, words)}
	if kind == llm.Limited || kind == llm.Overloaded {
		e.RetryAfter = retryAfter(header, words, time.Now())
	}
	return e
}

// Interrupted says what an error means that a server sends in the middle of an answer.
func (s *Server) Interrupted(event []byte) *llm.Error {
	words := wordsOf(event)
	kind := kindOf(http.StatusInternalServerError, words)
	return &llm.Error{Kind: kind, Message: s.say(kind, 0, words), Err: s.cause(0, words)}
}

// Telltale words of servers, in lower case. Each is of a message that one of them is known to send; where
// it is not obvious, which one.
var (
	tooLong = []string{
		"context_length_exceeded", "exceed_context_size", "request_too_large",
		"maximum context length", "max context length", "maximum model length", // vLLM, Mistral, Ollama
		"available context size", "exceed context window", "exceeds the context", // llama.cpp, llama-cpp-python
		"context window", "exceed context limit", "prompt is too long", "prompt too long", "input is too long", // Anthropic
		"exceeds the maximum number of tokens", // Gemini
		"reduce the length of the", "request too large for model",
	}
	noTools = []string{
		"does not support tool", "does not support function", "support tool use", // Ollama, OpenRouter
		"tools param requires", "enable-auto-tool-choice", "tool choice requires", // llama.cpp, vLLM
		"function calling is not enabled", "tool calling is not supported", "`tool calling` is not supported",
		"tool use is not supported", "tools are not supported", "tools is not supported",
	}
	noModel = []string{
		"model_not_found", "model not found", "model not exist", "unknown model", "invalid model", "not a valid model",
		"no endpoints found", "no such model", "is not found for api version", // OpenRouter, Gemini
	}
	noCredit = []string{"insufficient_quota", "credit balance", "insufficient balance", "insufficient credits", "billing"}
	badKey   = []string{"api key not valid", "api_key_invalid", "invalid api key", "incorrect api key", "invalid_api_key", "invalid x-api-key"}
	busy     = []string{"overloaded", "rate limit", "rate_limit", "resource_exhausted", "too many requests"}
)

func hasAny(words string, telltale []string) bool {
	return slices.ContainsFunc(telltale, func(t string) bool { return strings.Contains(words, t) })
}

// kindOf decides by the words before the status: servers differ less in what they say than in how they count.
func kindOf(status int, words string) llm.Kind {
	words = strings.ToLower(words)
	if status == http.StatusTooManyRequests && !hasAny(words, noCredit) {
		return llm.Limited // whatever else it says of sizes and models
	}
	if kind := kindOfWords(words); kind != "" {
		return kind
	}
	return kindOfStatus(status)
}

// kindOfWords returns what words in lower case tell, "" when they tell nothing.
func kindOfWords(words string) llm.Kind {
	has := func(text string) bool { return strings.Contains(words, text) }
	switch {
	case hasAny(words, tooLong):
		return llm.TooLong
	case hasAny(words, noTools) || has("extra inputs are not permitted") && has("tools"):
		return llm.NoTools
	case hasAny(words, noModel) || has("model") && (has("does not exist") || has("not found")):
		return llm.NoModel
	case hasAny(words, badKey) || hasAny(words, noCredit):
		return llm.Unauthorized
	case has("overloaded"):
		return llm.Overloaded
	case hasAny(words, busy):
		return llm.Limited
	case has("validation error"): // which some servers call an error of theirs
		return llm.Invalid
	}
	return ""
}

func kindOfStatus(status int) llm.Kind {
	switch {
	case status == http.StatusRequestEntityTooLarge:
		return llm.TooLong
	case unauthorized(status):
		return llm.Unauthorized
	case status == http.StatusRequestTimeout, status == http.StatusConflict, status == http.StatusTooEarly, status >= 500:
		return llm.Overloaded
	}
	return llm.Invalid
}

func unauthorized(status int) bool {
	return status == http.StatusUnauthorized || status == http.StatusForbidden || status == http.StatusPaymentRequired
}

// say words a refusal for whoever asked.
func (s *Server) say(kind llm.Kind, status int, words string) string {
	in := ""
	if status != 0 {
		in = fmt.Sprintf(" (%d)", status)
	}
	switch kind {
	case llm.Unauthorized:
		switch {
		case hasAny(strings.ToLower(words), noCredit) || status == http.StatusPaymentRequired:
			return s.Name + " says that the account of the key has no credit" + in
		case s.Key == "":
			return s.Name + " wants a key, and there is none in " + s.KeyFrom + in
		}
		return s.Name + " refuses the key of " + s.KeyFrom + in
	case llm.NoModel:
		return fmt.Sprintf("%s does not know the model %s%s", s.Name, s.Model, in)
	case llm.TooLong:
		return "the conversation is longer than the window of the model " + s.Model
	case llm.NoTools:
		return fmt.Sprintf("the model %s, or its server, cannot call tools", s.Model)
	case llm.Limited:
		return s.Name + " allows no more requests for now" + in
	case llm.Overloaded:
		return s.Name + " is overloaded, or fails" + in
	case llm.Invalid:
		return s.invalid(status, in)
	case llm.Oversized, llm.Unreachable, llm.Cut:
	}
	return s.Name + " did not answer" + in
}

// invalid words the refusal of a request that the server does not understand.
func (s *Server) invalid(status int, in string) string {
	switch {
	case status == http.StatusNotFound, status == http.StatusMethodNotAllowed:
		return s.Name + " has nothing at the address that was asked" + in + s.seeAddress()
	case status/100 == 3:
		return s.Name + " redirects elsewhere" + in + s.seeAddress()
	}
	return s.Name + " does not accept the request" + in + "; the log has its words"
}

// maxCauseBytes bounds what the log gets of the words of a server.
const maxCauseBytes = 300

// cause is what the log gets: the words of the server, shortened, up to where they repeat the request.
func (s *Server) cause(status int, words string) error {
	words = s.masked(words)
	for _, echo := range []string{"'input'", `"input"`, "input_value", "input="} {
		words, _, _ = strings.Cut(words, echo)
	}
	words = excerpt.Begin(strings.Join(strings.Fields(words), " "), maxCauseBytes)
	return errors.New(strings.TrimSuffix(fmt.Sprintf("status %d: %s", status, words), ": "))
}

// Bounds of what is read of the text of an error.
const (
	maxErrorDepth = 8
	maxErrorWords = 64
)

// wordsOf collects what a server says of an error: all text in a JSON document, apart from what it
// repeats of the request, or the text itself.
func wordsOf(body []byte) string {
	var doc any
	if err := json.Unmarshal(body, &doc); err != nil {
		return strings.ToValidUTF8(string(body), "\uFFFD")
	}
	var words []string
	collect(doc, maxErrorDepth, &words)
	return strings.Join(words, " ")
}

func collect(v any, depth int, words *[]string) {
	if depth == 0 || len(*words) >= maxErrorWords {
		return
	}
	switch v := v.(type) {
	case string:
		if nested := strings.TrimSpace(v); strings.HasPrefix(nested, "{") { // OpenRouter quotes those behind it
			var doc any
			if json.Unmarshal([]byte(nested), &doc) == nil {
				collect(doc, depth-1, words)
				return
			}
		}
		*words = append(*words, v)
	case []any:
		for _, e := range v {
			collect(e, depth-1, words)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if key != "input" && key != "user_id" && key != "request_id" {
				collect(v[key], depth-1, words)
			}
		}
	}
}

// maxRetryAfter bounds what a server may ask for.
const maxRetryAfter = 24 * time.Hour

// again is how Groq and Gemini say in words when to come back.
var again = pattern.New(`(?i)(?:try again|retry) in (\d+(?:\.\d+)?)(ms|s)\b`)

// retryAfter returns how long a server wants nothing to be sent, 0 when it does not say: retry-after-ms, as
// OpenAI has it, Retry-After (RFC 9110, section 10.2.3), or its words.
func retryAfter(h http.Header, words string, now time.Time) time.Duration {
	if d, ok := scaled(h.Get("Retry-After-Ms"), time.Millisecond); ok {
		return d
	}
	value := h.Get("Retry-After")
	if d, ok := scaled(value, time.Second); ok {
		return d
	}
	if at, err := http.ParseTime(value); err == nil {
		return min(max(0, at.Sub(now)), maxRetryAfter)
	}
	if m := again().FindStringSubmatch(words); m != nil {
		unit := time.Second
		if m[2] == "ms" {
			unit = time.Millisecond
		}
		if d, ok := scaled(m[1], unit); ok {
			return d
		}
	}
	return 0
}

func scaled(text string, unit time.Duration) (time.Duration, bool) {
	v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || !(v >= 0) {
		return 0, false
	}
	if v > float64(maxRetryAfter/unit) {
		return maxRetryAfter, true
	}
	return time.Duration(v * float64(unit)), true
}
