package app_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"runpython/internal/app"
)

// deadlines is an answer over a connection that has deadlines.
type deadlines struct {
	*httptest.ResponseRecorder
	read time.Time
}

// SetReadDeadline is what http.ResponseController looks for.
func (d *deadlines) SetReadDeadline(at time.Time) error {
	d.read = at
	return nil
}

// A body that does not come is not waited for without an end, whatever is asked for; a request without one has no deadline, since its
// answer may take long.
func TestBodiesHaveATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for method, body := range map[string]string{http.MethodPost: "x", http.MethodPut: "x", http.MethodGet: "", http.MethodDelete: ""} {
			w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
			var want, within time.Time
			r := httptest.NewRequestWithContext(t.Context(), method, "/token", strings.NewReader(body))
			if body == "" {
				r.Body = http.NoBody
			} else {
				want = time.Now().Add(app.BodyTimeout)
			}
			app.Timely(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { within = w.read })).ServeHTTP(w, r)
			if !within.Equal(want) {
				t.Errorf("%s: what reads has until %v, want %v", method, within, want)
			}
		}
	})
}
