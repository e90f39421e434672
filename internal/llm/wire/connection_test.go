package wire_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"runpython/internal/llm/wire"
)

// TestConnectionIsKept reads a stream as far as clients do, up to the event that says that it is over, several times.
// A connection each time would be a handshake each time.
func TestConnectionIsKept(t *testing.T) {
	const said = "data: [DONE]\n\n"
	var connections atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprint(w, said+": a comment\n\n") // a client that has left hears nothing
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	client, err := wire.NewClient("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.CloseIdleConnections)
	for range 5 {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := (&wire.Server{Name: "groq"}).Do(r, client.Do)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(resp.Body, make([]byte, len(said))); err != nil {
			t.Fatal(err)
		}
		if err := resp.Body.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if n := connections.Load(); n != 1 {
		t.Errorf("%d connections for five requests, want 1", n)
	}
}

// TestCloseWaitsForNoServer ends answers whose servers do not end them: one that says nothing more, and one that says
// more and more.
func TestCloseWaitsForNoServer(t *testing.T) {
	for name, rest := range map[string]string{"silent": "", "endless": strings.Repeat("data: {}\n\n", 1000)} {
		t.Run(name, func(t *testing.T) {
			resp, err := do(t.Context(), t, &wire.Server{Name: "groq"}, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				for r.Context().Err() == nil {
					fmt.Fprint(w, "data: [DONE]\n\n"+rest)
					_ = http.NewResponseController(w).Flush()
					if rest == "" {
						<-r.Context().Done()
					}
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(resp.Body, make([]byte, 4)); err != nil {
				t.Fatal(err)
			}
			if err := resp.Body.Close(); err != nil {
				t.Errorf("Close() = %v", err)
			}
		})
	}
}
