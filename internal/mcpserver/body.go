package mcpserver

import (
	"bytes"
	"errors"
	"mime"
	"net/http"
	"strings"
	"time"
)

// jsonBody reports whether the body is said to be JSON. Pages of other origins
// cannot say that without asking first. If it reports false, it has answered.
func jsonBody(w http.ResponseWriter, r *http.Request) bool {
	kind, encoding := r.Header.Get("Content-Type"), r.Header.Get("Content-Encoding")
	if kind != "application/json" {
		if media, _, err := mime.ParseMediaType(kind); err != nil || media != "application/json" {
			refuse(w, http.StatusUnsupportedMediaType, nil, invalidRequest("Content-Type must be application/json"))
			return false
		}
		r.Header.Set("Content-Type", "application/json")
	}
	if encoding != "" && !strings.EqualFold(encoding, "identity") {
		refuse(w, http.StatusUnsupportedMediaType, nil, invalidRequest("the body must not be compressed"))
		return false
	}
	return true
}

const (
	// trustedLength is how much memory a Content-Length alone may claim.
	trustedLength = 64 << 10

	// readTimeout is how long a client may take to send a message.
	readTimeout = 2 * time.Minute
)

// readBody reads at most maxMessageBytes. If it reports false, it has answered.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	tooLarge := func() ([]byte, bool) {
		w.Header().Set("Connection", "close") // the rest of the body is not read
		refuse(w, http.StatusRequestEntityTooLarge, nil, invalidRequest("the body is larger than 4 MiB, the largest message that is taken"))
		return nil, false
	}
	if r.ContentLength > maxMessageBytes {
		return tooLarge()
	}
	control := http.NewResponseController(w)
	// A connection without deadlines, as in tests, does not block for long either.
	_ = control.SetReadDeadline(time.Now().Add(readTimeout))
	var b bytes.Buffer
	b.Grow(int(min(max(r.ContentLength, 0), trustedLength)) + bytes.MinRead)
	if _, err := b.ReadFrom(http.MaxBytesReader(w, r.Body, maxMessageBytes)); err != nil {
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return tooLarge()
		}
		refuse(w, http.StatusBadRequest, nil, invalidRequest("the body ended early"))
		return nil, false
	}
	// From here on a read only waits for the client to go away.
	_ = control.SetReadDeadline(time.Time{})
	return b.Bytes(), true
}
