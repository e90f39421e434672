package llmtest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// model is the name under which the server answers, whatever it was asked for: as some servers do.
const model = "scripted-1"

// maxRequestBytes bounds the body of a request.
const maxRequestBytes = 64 << 20

// A Server plays a Script. It ends with its test.
type Server struct {
	// URL has neither a path nor a slash at its end; clients of OpenAI's protocol add "/v1".
	URL string

	t      testing.TB
	script Script
	closed chan struct{}

	mu       sync.Mutex
	requests []*Request
	next     int // exchange
}

// Serve starts a server on the loopback interface.
func Serve(t testing.TB, s Script) *Server {
	t.Helper()
	server := &Server{t: t, script: s, closed: make(chan struct{})}
	web := httptest.NewServer(server)
	server.URL = web.URL
	t.Cleanup(func() {
		close(server.closed)
		web.CloseClientConnections()
		web.Close()
		if n := server.next; n < len(s.Exchanges) && !t.Failed() && !t.Skipped() {
			t.Errorf("conversation %s: %d of its %d exchanges took place", s.Name, n, len(s.Exchanges))
		}
	})
	return server
}

// Requests returns what was asked so far, those included that did not fit.
func (s *Server) Requests() []*Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	q := &Request{Protocol: OpenAI, Header: r.Header}
	switch {
	case r.Method == http.MethodGet && strings.HasSuffix(path, "/models"):
		listModels(w, r)
		return
	case r.Method == http.MethodPost && strings.HasSuffix(path, "/chat/completions"):
	case r.Method == http.MethodPost && strings.HasSuffix(path, "/messages"):
		q.Protocol = Anthropic
	default:
		s.t.Errorf("conversation %s: %s %s is of neither protocol", s.script.Name, r.Method, path)
		writeJSON(w, http.StatusNotFound, object{"detail": "Not Found"})
		return
	}
	var err error
	if q.Body, err = io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequestBytes)); err != nil {
		return // the client has left
	}
	err = q.read()
	if err == nil && s.script.NoNull && q.null {
		writeError(w, q.Protocol, failure(http.StatusInternalServerError, "internal_server_error", "Input should be a valid string"))
		return
	}
	out := &writer{web: w, gone: r.Context().Done(), closed: s.closed}
	out.answer(q, s.take(q, err))
}

// take returns the reply of the exchange whose turn it is.
func (s *Server) take(q *Request, refused error) Reply {
	s.mu.Lock()
	s.requests = append(s.requests, q)
	var exchange *Exchange
	number := s.next
	if number < len(s.script.Exchanges) {
		exchange = &s.script.Exchanges[number]
		s.next++
	}
	s.mu.Unlock()
	var wrong []string
	switch {
	case refused != nil:
		wrong = []string{refused.Error()}
	case exchange != nil:
		wrong = exchange.Want.misfits(q)
	case s.script.Otherwise == nil:
		wrong = []string{"the script is at its end"}
	}
	if len(wrong) > 0 {
		problem := strings.Join(wrong, "; ")
		s.t.Errorf("conversation %s, request %d: %s\n%.4000s", s.script.Name, number+1, problem, q.Body)
		return failure(http.StatusBadRequest, "invalid_request_error", "not in the script: "+problem)
	}
	if exchange == nil {
		return s.script.Otherwise(q)
	}
	return exchange.Reply
}

type object = map[string]any

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(encode(v)) // the client may have left
}

// writeError words a reply that is an error as the protocol does.
func writeError(w http.ResponseWriter, p Protocol, r Reply) {
	if p == Anthropic {
		writeJSON(w, r.Status, object{"type": "error", "error": object{"type": r.Type, "message": r.Message}, "request_id": "req_1"})
		return
	}
	kind := r.Type
	if r.Status == http.StatusBadRequest { // the type is one for all; the code tells them apart
		kind = "invalid_request_error"
	}
	writeJSON(w, r.Status, object{"error": object{"message": r.Message, "type": kind, "param": nil, "code": r.Type}})
}

func listModels(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Anthropic-Version") != "" {
		one := object{"type": "model", "id": model, "display_name": "Scripted", "created_at": "2026-01-01T00:00:00Z"}
		writeJSON(w, http.StatusOK, object{"data": []object{one}, "has_more": false, "first_id": model, "last_id": model})
		return
	}
	one := object{"id": model, "object": "model", "created": created, "owned_by": "llmtest"}
	writeJSON(w, http.StatusOK, object{"object": "list", "data": []object{one}})
}

func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("a reply that is no JSON: %v", err))
	}
	return data
}
