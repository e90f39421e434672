package app_test

import (
	"context"
	"io"
	"net/http"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"runpython/internal/extent"
)

// While calls in flight end, no new ones should be sent here.
func TestReadyzTellsOfTheEnd(t *testing.T) {
	extent.Long(t)
	a := open(t, nil)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	ready := make(chan [2]string, 1)
	go func() { ended <- a.Serve(ctx, func(m, admin string) { ready <- [2]string{m, admin} }) }()
	var urls [2]string
	select {
	case urls = <-ready:
	case err := <-ended:
		t.Fatalf("serve: %v", err)
	}
	if status, text, err := get(t, urls[1]+"/readyz"); status != http.StatusOK || text != "ready\n" || err != nil {
		t.Errorf("readyz: %d %q, %v; want 200", status, text, err)
	}
	session, printing := connectSeeing(t, &mcp.StreamableClientTransport{Endpoint: urls[0]}, "now")
	calling, leave := context.WithCancel(t.Context())
	called := make(chan struct{})
	go func() {
		defer close(called)
		params := &mcp.CallToolParams{Name: "chat", Arguments: map[string]any{"message": "import time\nprint('now', flush=True)\ntime.sleep(50)"}}
		params.SetProgressToken("p")
		_, _ = session.CallTool(calling, params) // it is left
	}()
	<-printing
	stop()
	for {
		status, text, err := get(t, urls[1]+"/readyz")
		if err != nil { // it was closed: the answer must have come before
			t.Errorf("readyz was never 503: %v", err)
			break
		}
		if status == http.StatusServiceUnavailable && text == "stopping\n" {
			break
		}
	}
	leave()
	<-called
	if err := <-ended; err != nil {
		t.Errorf("serve: %v", err)
	}
}

func get(t *testing.T, url string) (status int, text string, err error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	return response.StatusCode, string(body), err
}
