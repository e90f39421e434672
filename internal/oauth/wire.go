package oauth

import (
	"encoding/json"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"runpython/internal/fault"
)

// maxBodyBytes bounds the body of a request: the largest are registrations with keys.
const maxBodyBytes = 64 << 10

// Codes of errors (RFC 6749, 4.1.2.1 and 5.2; RFC 7591, 3.2.2; RFC 8707, 2).
const (
	codeInvalidRequest     = "invalid_request"
	codeInvalidClient      = "invalid_client"
	codeInvalidGrant       = "invalid_grant"
	codeInvalidScope       = "invalid_scope"
	codeInvalidTarget      = "invalid_target"
	codeInvalidRedirect    = "invalid_redirect_uri"
	codeInvalidMetadata    = "invalid_client_metadata"
	codeUnsupportedGrant   = "unsupported_grant_type"
	codeUnsupportedReponse = "unsupported_response_type"
	codeUnauthorizedClient = "unauthorized_client"
	codeAccessDenied       = "access_denied"
	codeServerError        = "server_error"
	codeTooMany            = "temporarily_unavailable"
)

// A wireError is an error as clients get it. Its description says what to change.
type wireError struct {
	Code        string `json:"error"`
	Description string `json:"error_description,omitempty"`

	status int           // of HTTP; 0 means 400
	wait   time.Duration // before it is tried again
}

// Error implements error.
func (e *wireError) Error() string { return e.Code + ": " + e.Description }

func refuse(code, description string) *wireError {
	return &wireError{Code: code, Description: description}
}

// reply answers with JSON.
func reply(w http.ResponseWriter, status int, content any) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	if h.Get("Cache-Control") == "" {
		h.Set("Cache-Control", "no-store") // RFC 6749, 5.1
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(content) // the client may be gone
}

// busyTime is when a client may try again what the server could not do just then.
const busyTime = 5 * time.Second

// fail answers with what is wrong. The cause of what a client cannot change is in the log only.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	e, ok := err.(*wireError) //nolint:errorlint // it is made here, and never wrapped
	if !ok {
		s.Log.ErrorContext(r.Context(), "authorization server", "path", r.URL.Path, "error", err)
		kind, message := fault.Shown(err)
		e = &wireError{Code: codeServerError, Description: "internal error; the operator's log has the details", status: http.StatusInternalServerError}
		if kind == fault.Busy { // neither codes nor tokens are used up: the same may succeed later
			e = &wireError{Code: codeTooMany, Description: message, status: http.StatusServiceUnavailable, wait: busyTime}
		}
	}
	if e.status == 0 {
		e.status = http.StatusBadRequest
	}
	if e.wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(e.wait/time.Second)+1))
	}
	reply(w, e.status, e)
}

// shared lets pages of every origin call an endpoint: nothing there depends on cookies. Other methods than one are
// refused; HEAD comes with GET.
func shared(method string, next http.HandlerFunc) http.Handler {
	allowed := method + ", OPTIONS"
	if method == http.MethodGet {
		allowed = "GET, HEAD, OPTIONS"
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Access-Control-Allow-Origin", "*")
		h.Set("Access-Control-Expose-Headers", "WWW-Authenticate, Retry-After")
		switch {
		case r.Method == http.MethodOptions:
			h.Set("Access-Control-Allow-Methods", allowed)
			h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Mcp-Protocol-Version")
			h.Set("Access-Control-Max-Age", "7200")
			w.WriteHeader(http.StatusNoContent)
		case r.Method == method, method == http.MethodGet && r.Method == http.MethodHead:
			next(w, r)
		default:
			h.Set("Allow", allowed)
			reply(w, http.StatusMethodNotAllowed, refuse(codeInvalidRequest, "this endpoint takes "+method))
		}
	})
}

// form reads the body of a request to an endpoint for clients. Parameters in the URL do not count, and none may come twice
// (RFC 6749, 3.2).
func form(w http.ResponseWriter, r *http.Request) (url.Values, *wireError) {
	if t, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || t != "application/x-www-form-urlencoded" {
		return nil, refuse(codeInvalidRequest, "the body must be application/x-www-form-urlencoded")
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxBodyBytes)
	if err := r.ParseForm(); err != nil {
		return nil, refuse(codeInvalidRequest, "the body cannot be read as a form of at most 64 KiB")
	}
	if name := repeated(r.PostForm); name != "" {
		return nil, refuse(codeInvalidRequest, "the parameter "+name+" is there more than once")
	}
	return r.PostForm, nil
}

// repeated returns a parameter of this protocol that is there more than once, "" for none. A resource may be.
func repeated(v url.Values) string {
	for _, name := range []string{
		"client_id", "redirect_uri", "response_type", "response_mode", "scope", "state", "code_challenge", "code_challenge_method", "prompt",
		"grant_type", "code", "code_verifier", "refresh_token", "client_secret", "client_assertion", "client_assertion_type", "token",
	} {
		if len(v[name]) > 1 {
			return name
		}
	}
	return ""
}
