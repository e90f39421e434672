package wire_test

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"runpython/internal/llm"
	"runpython/internal/llm/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The words of servers as they were seen, and what they mean.
func TestRefusals(t *testing.T) {
	for _, tt := range []struct {
		name   string
		status int
		body   string
		want   llm.Kind
		say    string // is in the message
	}{
		{"OpenAI: window", 400, `{"error":{"message":"This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, llm.TooLong, "window"},
		{"Anthropic: window", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`, llm.TooLong, "window"},
		{"Anthropic: window and answer", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"input length and max_tokens exceed context limit: 199000 + 8192 > 200000"}}`, llm.TooLong, "window"},
		{"Anthropic: size", 413, `{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`, llm.TooLong, "window"},
		{"llama.cpp: window", 400, `{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_prompt_tokens":9000,"n_ctx":4096}}`, llm.TooLong, "window"},
		{"llama-cpp-python: window", 400, `{"error":{"message":"Requested tokens (1530) exceed context window of 1024","type":"internal_server_error"}}`, llm.TooLong, "window"},
		{"vLLM: window", 400, `{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens","type":"BadRequestError","param":null,"code":400}`, llm.TooLong, "window"},
		{"vLLM: prompt", 400, `{"error":{"message":"The decoder prompt (length 5000) is longer than the maximum model length of 4096.","type":"BadRequestError"}}`, llm.TooLong, "window"},
		{"Gemini: window", 400, `[{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}]`, llm.TooLong, "window"},
		{"Ollama: window", 400, `{"error":"prompt too long; exceeded max context length by 12 tokens"}`, llm.TooLong, "window"},
		{"Groq: window", 400, `{"error":{"message":"Please reduce the length of the messages or completion.","type":"invalid_request_error","code":"context_length_exceeded"}}`, llm.TooLong, "window"},

		{"Ollama: tools", 400, `{"error":{"message":"registry.ollama.ai/library/llama3:latest does not support tools","type":"api_error","param":null,"code":null}}`, llm.NoTools, "cannot call tools"},
		{"OpenRouter: tools", 404, `{"error":{"message":"No endpoints found that support tool use. To learn more about provider routing, visit: …","code":404}}`, llm.NoTools, "cannot call tools"},
		{"vLLM: tools", 400, `{"object":"error","message":"\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set","type":"BadRequestError","code":400}`, llm.NoTools, "cannot call tools"},
		{"llama.cpp: tools", 500, `{"error":{"code":500,"message":"tools param requires --jinja flag","type":"server_error"}}`, llm.NoTools, "cannot call tools"},
		{"strict server: tools", 400, `{"object":"error","message":"[{'type': 'extra_forbidden', 'loc': ('body', 'tools'), 'msg': 'Extra inputs are not permitted', 'input': [{'secret': 1}]}]"}`, llm.NoTools, "cannot call tools"},

		{"OpenAI: model", 404, `{"error":{"message":"The model 'm' does not exist or you do not have access to it.","type":"invalid_request_error","param":null,"code":"model_not_found"}}`, llm.NoModel, "does not know the model m (404)"},
		{"Anthropic: model", 404, `{"type":"error","error":{"type":"not_found_error","message":"model: m not found"}}`, llm.NoModel, "model m"},
		{"Ollama: model", 404, `{"error":{"message":"model \"m\" not found, try pulling it first","type":"api_error"}}`, llm.NoModel, "model m"},
		{"OpenRouter: model", 400, `{"error":{"message":"m is not a valid model ID","code":400}}`, llm.NoModel, "model m"},
		{"DeepSeek: model", 400, `{"error":{"message":"Model Not Exist","type":"invalid_request_error"}}`, llm.NoModel, "model m"},
		{"Gemini: model", 404, `[{"error":{"code":404,"message":"models/m is not found for API version v1main, or is not supported","status":"NOT_FOUND"}}]`, llm.NoModel, "model m"},

		{"a wrong key", 401, `{"error":{"message":"Incorrect API key provided: sk-s*****ret.","type":"invalid_request_error","code":"invalid_api_key"}}`, llm.Unauthorized, "refuses the key of THE_KEY (401)"},
		{"Gemini: a wrong key", 400, `[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}]`, llm.Unauthorized, "refuses the key"},
		{"forbidden", 403, `Forbidden`, llm.Unauthorized, "refuses the key"},
		{"OpenAI: no credit", 429, `{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","code":"insufficient_quota"}}`, llm.Unauthorized, "no credit"},
		{"Anthropic: no credit", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}`, llm.Unauthorized, "no credit"},
		{"OpenRouter, DeepSeek: no credit", 402, `{"error":{"message":"Insufficient Balance"}}`, llm.Unauthorized, "no credit"},

		{"too many requests", 429, `{"error":{"message":"Rate limit reached for requests","type":"requests","code":"rate_limit_exceeded"}}`, llm.Limited, "no more requests for now (429)"},
		{"too many requests, without a word", 429, ``, llm.Limited, "no more requests"},
		{"Anthropic: overloaded", 529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, llm.Overloaded, "overloaded"},
		{"a gateway's page", 502, `<html><body>Bad gateway</body></html>`, llm.Overloaded, "fails (502)"},
		{"text", 500, `Internal Server Error`, llm.Overloaded, "fails (500)"},
		{"a conflict", 409, `{}`, llm.Overloaded, ""},

		{"detail", 422, `{"detail":[{"loc":["body","temperature"],"msg":"value is not a valid float"}]}`, llm.Invalid, "does not accept the request (422)"},
		{"another address", 404, `{"detail":"Not Found"}`, llm.Invalid, "nothing at the address that was asked (404): see --model-url"},
		{"a 500 that is none", 500, `{"error":{"message":"7 validation errors:\n {'type': 'literal_error', 'input': 'alien'}","type":"internal_server_error"}}`, llm.Invalid, "does not accept"},
		{"a redirect", 307, ``, llm.Invalid, "redirects"},
		{"OpenRouter quotes who is behind it", 400, `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"error\":{\"message\":\"prompt is too long\"}}","provider_name":"x"}}}`, llm.TooLong, "window"},
		{"no end of nesting", 400, strings.Repeat(`[`, 5000) + strings.Repeat(`]`, 5000), llm.Invalid, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &wire.Server{Name: "groq", Model: "m", Key: "sk-secret", KeyFrom: "THE_KEY", AddressFrom: "--model-url"}
			got := s.Refused(tt.status, http.Header{}, []byte(tt.body))
			if got.Kind != tt.want || !strings.Contains(got.Message, tt.say) {
				t.Errorf("Refused = %q, %q; want %q and %q", got.Kind, got.Message, tt.want, tt.say)
			}
		})
	}
}

// What the log gets has neither the key nor what the server repeats of the conversation.
func TestCauseTellsNoSecrets(t *testing.T) {
	s := &wire.Server{Name: "groq", Key: "sk-secret"}
	for _, body := range []string{
		`{"error":{"message":"bad key sk-secret"}}`,
		`{"detail":[{"msg":"bad","input":"my diary"}]}`,
		`{"error":{"message":"{'msg': 'bad', 'input': 'my diary'}"}}`,
		`1 validation error [type=x, input_value='my diary', input_type=str]`,
	} {
		got := errors.Unwrap(s.Refused(400, http.Header{}, []byte(body))).Error()
		if strings.Contains(got, "sk-secret") || strings.Contains(got, "diary") || !strings.Contains(got, "400") {
			t.Errorf("cause of %s = %q", body, got)
		}
	}
	if got := errors.Unwrap(s.Refused(400, http.Header{}, []byte(strings.Repeat("ä", 1000)))).Error(); len(got) > 400 {
		t.Errorf("the cause has %d bytes", len(got))
	}
}

func TestRetryAfter(t *testing.T) {
	for _, tt := range []struct {
		name, header, value, body string
		least, most               time.Duration
	}{
		{"seconds", "Retry-After", "7", "", 7 * time.Second, 7 * time.Second},
		{"fractions", "Retry-After", "0.5", "", 500 * time.Millisecond, 500 * time.Millisecond},
		{"milliseconds", "Retry-After-Ms", "250", "", 250 * time.Millisecond, 250 * time.Millisecond},
		{"a date", "Retry-After", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat), "", 59 * time.Minute, time.Hour},
		{"a date that is over", "Retry-After", "Mon, 02 Jan 2006 15:04:05 GMT", "", 0, 0},
		{"nonsense", "Retry-After", "soon", "", 0, 0},
		{"negative", "Retry-After", "-1", "", 0, 0},
		{"not a number", "Retry-After", "NaN", "", 0, 0},
		{"for ever", "Retry-After", "1e300", "", 24 * time.Hour, 24 * time.Hour},
		{"Groq's words", "", "", `{"error":{"message":"Please try again in 7.5s. Visit …"}}`, 7500 * time.Millisecond, 7500 * time.Millisecond},
		{"Gemini's words", "", "", `[{"error":{"message":"Please retry in 320ms."}}]`, 320 * time.Millisecond, 320 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := http.Header{}
			h.Set(tt.header, tt.value)
			got := new(wire.Server).Refused(429, h, []byte(tt.body)).RetryAfter
			if got < tt.least || got > tt.most {
				t.Errorf("RetryAfter = %s, want %s to %s", got, tt.least, tt.most)
			}
		})
	}
}

// do sends a request to a handler by way of a server's Do.
func do(ctx context.Context, t *testing.T, s *wire.Server, h http.HandlerFunc) (*http.Response, error) {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	client, err := wire.NewClient("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.CloseIdleConnections)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	return s.Do(r, client.Do)
}

func TestBodiesAreBounded(t *testing.T) {
	flood := func(kind string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			chunk := []byte(strings.Repeat("data: {\"choices\":[]}\n\n", 1000))
			for {
				if _, err := w.Write(chunk); err != nil {
					return
				}
			}
		}
	}
	for _, tt := range []struct {
		kind string
		most int64
	}{{"text/event-stream", 64 << 20}, {"application/json", 16 << 20}} {
		t.Run(tt.kind, func(t *testing.T) {
			resp, err := do(t.Context(), t, &wire.Server{Name: "groq"}, flood(tt.kind))
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			n, err := io.Copy(io.Discard, resp.Body)
			if n != tt.most || llm.KindOf(err) != llm.Oversized {
				t.Errorf("read %d bytes, %v; want %d, then an error of kind %q", n, err, tt.most, llm.Oversized)
			}
		})
	}
	t.Run("an error", func(t *testing.T) {
		_, err := do(t.Context(), t, &wire.Server{Name: "groq"}, func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusTooManyRequests)
			flood("text/plain")(w, r)
		})
		if llm.KindOf(err) != llm.Limited {
			t.Errorf("error = %v, want one of kind %q", err, llm.Limited)
		}
	})
}

// A page for people under an address that should have models, as that of a login or a proxy, is no answer that breaks off.
func TestWebPages(t *testing.T) {
	_, err := do(t.Context(), t, &wire.Server{Name: "groq", AddressFrom: "--model-url"}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte("<!doctype html>"))
	})
	if llm.KindOf(err) != llm.Invalid || !strings.Contains(err.Error(), "web page: see --model-url") {
		t.Errorf("error = %v, want one that names --model-url", err)
	}
}

// A server that says nothing does not hold anybody for ever.
func TestSilence(t *testing.T) {
	wait := func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // a server sees that its client is gone only then
		<-r.Context().Done()
	}
	t.Run("before the answer", func(t *testing.T) {
		_, err := do(t.Context(), t, &wire.Server{Name: "groq", FirstByte: 10 * time.Millisecond}, wait)
		if llm.KindOf(err) != llm.Cut || !strings.Contains(err.Error(), "groq has said nothing for 10ms") {
			t.Errorf("error = %v", err)
		}
	})
	t.Run("before its first byte", func(t *testing.T) {
		resp, err := do(t.Context(), t, &wire.Server{Name: "groq", FirstByte: 50 * time.Millisecond}, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			_ = http.NewResponseController(w).Flush()
			wait(w, r)
		})
		if err == nil {
			defer resp.Body.Close()
			_, err = io.ReadAll(resp.Body)
		}
		if llm.KindOf(err) != llm.Cut {
			t.Errorf("error = %v, want one of kind %q", err, llm.Cut)
		}
	})
	t.Run("amid the answer", func(t *testing.T) {
		resp, err := do(t.Context(), t, &wire.Server{Name: "groq", Idle: 10 * time.Millisecond}, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			fmt.Fprint(w, "data")
			_ = http.NewResponseController(w).Flush()
			wait(w, r)
		})
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if string(text) != "data" || llm.KindOf(err) != llm.Cut {
			t.Errorf("read %q, %v; want data and an error of kind %q", text, err, llm.Cut)
		}
	})
	t.Run("the caller leaves", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		_, err := do(ctx, t, &wire.Server{Name: "groq"}, func(w http.ResponseWriter, r *http.Request) {
			cancel()
			wait(w, r)
		})
		if !errors.Is(err, context.Canceled) || llm.KindOf(err) != "" {
			t.Errorf("error = %v, want that of the context", err)
		}
	})
}

func TestNoConnection(t *testing.T) {
	s := &wire.Server{Name: "groq", Key: "sk-secret"}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1:1/", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Do(r, func(*http.Request) (*http.Response, error) { return nil, errors.New("dial sk-secret") })
	if llm.KindOf(err) != llm.Unreachable || err.Error() != "no connection to groq" || strings.Contains(errors.Unwrap(err).Error(), "secret") {
		t.Errorf("error = %v, because of %v", err, errors.Unwrap(err))
	}
}

func TestEmptyAnswers(t *testing.T) {
	if e := (&wire.Server{Name: "groq"}).Empty(); e.Kind != llm.Cut {
		t.Errorf("Empty of a vendor = %q, want %q", e.Kind, llm.Cut)
	}
	if e := (&wire.Server{Name: "mine", Local: true}).Empty(); e.Kind != llm.TooLong {
		t.Errorf("Empty of a local server = %q, want %q", e.Kind, llm.TooLong)
	}
}

func TestCertificates(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	bundle := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(bundle, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	ask := func(t *testing.T, bundle string) error {
		t.Helper()
		client, err := wire.NewClient(bundle)
		if err != nil {
			t.Fatal(err)
		}
		defer client.CloseIdleConnections()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := (&wire.Server{Name: "mine"}).Do(r, client.Do)
		if err == nil {
			err = resp.Body.Close()
		}
		return err
	}
	if err := ask(t, bundle); err != nil {
		t.Errorf("with its certificate: %v", err)
	}
	if err := ask(t, ""); llm.KindOf(err) != llm.Unreachable || !strings.Contains(err.Error(), "--ca-bundle") {
		t.Errorf("without its certificate: %v, want one that names --ca-bundle", err)
	}
	for name, text := range map[string]string{"empty.pem": "", "text.pem": "hello"} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := wire.NewClient(path); err == nil {
			t.Errorf("a bundle of %q is taken", text)
		}
	}
}

type document map[string]any

func (d document) MarshalJSON() ([]byte, error) {
	return []byte(`{"n":12345678901234567890,"a":{"b":1}}`), nil
}

func TestBody(t *testing.T) {
	got, err := wire.Body(document{}, map[string]any{"a": map[string]any{"c": nil, "d": 2}, "e": []any{1}}, nil, map[string]any{"e": map[string]any{"f": 1}})
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"a":{"b":1,"d":2},"e":{"f":1},"n":12345678901234567890}`; string(got) != want {
		t.Errorf("Body = %s, want %s", got, want)
	}
}

func TestObject(t *testing.T) {
	for text, want := range map[string]string{
		`{"a": 12345678901234567890}`: `{"a": 12345678901234567890}`, "": `{}`, "x": `{"malformed":"x"}`, `[1]`: `{"malformed":"[1]"}`,
		`null`: `{"malformed":"null"}`, `{} {}`: `{"malformed":"{} {}"}`, " {}\n": `{}`,
	} {
		if got := string(wire.Object(text)); got != want {
			t.Errorf("Object(%q) = %s, want %s", text, got, want)
		}
	}
}

func FuzzRefused(f *testing.F) {
	f.Add(400, []byte(`{"error":{"message":"a","code":1}}`))
	f.Add(429, []byte(`{"detail":[{"msg":"try again in 3s"}]}`))
	f.Add(500, []byte("\xff\xfe"))
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		e := (&wire.Server{Name: "groq", Model: "m", Key: "sk-secret-key", KeyFrom: "K"}).Refused(status, http.Header{}, body)
		if e.Kind == "" || e.Message == "" || e.RetryAfter < 0 {
			t.Errorf("Refused = %+v", e)
		}
		if strings.Contains(e.Message+e.Err.Error(), "sk-secret-key") {
			t.Error("the key is told")
		}
	})
}
