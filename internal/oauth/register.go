package oauth

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"runpython/internal/fault"
	"runpython/internal/secret"
	"runpython/internal/store"
)

// Registered is the answer to a registration (RFC 7591, 3.2.1).
type Registered struct {
	ID            string `json:"client_id"`
	Issued        int64  `json:"client_id_issued_at"`
	Secret        string `json:"client_secret,omitempty"`
	SecretExpires *int64 `json:"client_secret_expires_at,omitempty"` // 0, never, beside a secret
	Metadata
}

// register takes the registration of a client that nobody knows. It proves nothing: the person decides by where the
// client wants to be redirected to.
func (s *Server) register(w http.ResponseWriter, r *http.Request) {
	if s.Registration != RegistrationOpen {
		s.fail(w, r, &wireError{Code: codeAccessDenied, Description: "clients cannot register themselves here: use a client metadata document, or ask the operator", status: http.StatusForbidden})
		return
	}
	address := s.Address(r)
	if wait, ok := s.Limit.Allow(EventRegistered, address); !ok {
		s.fail(w, r, &wireError{Code: codeTooMany, Description: "too many clients were registered from here: try again later", status: http.StatusTooManyRequests, wait: wait})
		return
	}
	m, bad := readRegistration(w, r)
	if bad != nil {
		s.fail(w, r, bad)
		return
	}
	answer, err := addClient(r.Context(), s.Store, *m, false, s.Now())
	if errors.Is(err, store.ErrFull) {
		s.fail(w, r, &wireError{Code: codeTooMany, Description: "too many clients are registered: ask the operator", status: http.StatusServiceUnavailable})
		return
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.record(r, EventRegistered, "", answer.ID)
	reply(w, http.StatusCreated, answer)
}

func readRegistration(w http.ResponseWriter, r *http.Request) (*Metadata, *wireError) {
	if t, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || t != "application/json" {
		return nil, refuse(codeInvalidMetadata, "the body must be application/json")
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBodyBytes))
	if err != nil {
		return nil, refuse(codeInvalidMetadata, "the body cannot be read, or has more than 64 KiB")
	}
	return parseRegistration(text)
}

// parseRegistration reads what a client says of itself. Members that are not known are ignored (RFC 7591, 2).
func parseRegistration(text []byte) (*Metadata, *wireError) {
	var m *Metadata
	if err := json.Unmarshal(text, &m); err != nil || m == nil {
		return nil, refuse(codeInvalidMetadata, "the body must be a JSON object with the types of RFC 7591, section 2")
	}
	return m, nil
}

// SecretMethod is how a client proves itself that has a secret.
const SecretMethod = authBasic

// AddManual adds a client of the operator's, whose id never ends by itself. Metadata that cannot be is fault.Invalid.
func AddManual(ctx context.Context, kept ClientStore, m Metadata, now time.Time) (*Registered, error) {
	added, err := addClient(ctx, kept, m, true, now)
	if bad, ok := errors.AsType[*wireError](err); ok {
		return nil, fault.New(fault.Invalid, nil, bad.Description)
	}
	return added, err
}

// Manual returns the clients of the operator, the oldest first.
func Manual(ctx context.Context, kept interface {
	Clients(ctx context.Context) ([]store.Client, error)
}) ([]Client, error) {
	records, err := kept.Clients(ctx)
	if err != nil {
		return nil, err //nolint:wrapcheck // it says what it is
	}
	all := make([]Client, len(records))
	for i, r := range records {
		c, err := readClient(r)
		if err != nil {
			return nil, err
		}
		all[i] = *c
	}
	return all, nil
}

// addClient keeps a new client and returns what it is to know, its secret among it, which nobody learns later. manual says that
// the operator adds it. store.ErrFull means that there are too many; metadata that cannot be is an error with what is wrong.
func addClient(ctx context.Context, kept ClientStore, m Metadata, manual bool, now time.Time) (*Registered, error) {
	if bad := m.complete(); bad != nil {
		return nil, bad
	}
	text, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("write the client's metadata: %w", err)
	}
	answer := &Registered{ID: strings.ToLower(rand.Text()), Issued: now.Unix(), Metadata: m}
	c := store.Client{ID: answer.ID, Metadata: text, Manual: manual, Created: now}
	if m.AuthMethod == authBasic || m.AuthMethod == authPost {
		answer.Secret, answer.SecretExpires = secret.New(secret.Client), new(int64)
		c.Secret = secret.Digest(answer.Secret)
	}
	if err := kept.AddClient(ctx, c, maxClients); err != nil {
		return nil, fmt.Errorf("keep a client: %w", err)
	}
	return answer, nil
}
