package app_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"runpython/internal/app"
	"runpython/internal/chat"
	"runpython/internal/config"
	"runpython/internal/extent"
	"runpython/internal/fault"
)

// Why no guest starts is in the log once, also when it has nothing but errors, and nowhere else.
func TestCauseIsLoggedOnce(t *testing.T) {
	extent.Long(t)
	var mu sync.Mutex
	var logged strings.Builder
	c := unset()
	c.Data, c.Listen, c.Pool, c.Packages, c.Runsc = t.TempDir(), "127.0.0.1:0", 0, config.PackagesOff, "/bin/false"
	log := slog.New(slog.NewJSONHandler(lockedWriter{&mu, &logged}, &slog.HandlerOptions{Level: slog.LevelError}))
	a, err := app.Open(t.Context(), c, log, build(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	url, _ := serve(t, a)
	result, text, _ := call(t, connect(t, &mcp.StreamableClientTransport{Endpoint: url}), "", "1+1")
	if !result.IsError || !strings.Contains(text, "runpython doctor") || strings.Contains(text, "/bin/false") {
		t.Errorf("the caller is told %q, want what to do and no more", text)
	}
	if _, err := a.Turn(t.Context(), chat.Request{Message: "1+1"}); err == nil || !strings.Contains(err.Error(), "exit status 1") {
		t.Errorf("a local turn = %v, want the cause, which is not logged then", err)
	}
	mu.Lock()
	defer mu.Unlock()
	var causes []string
	for line := range strings.Lines(logged.String()) {
		var event struct{ Msg, Outcome, Error string }
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			t.Fatal(err)
		}
		if event.Error != "" {
			causes = append(causes, event.Msg+" "+event.Outcome+" "+event.Error)
		}
	}
	if len(causes) != 1 || !strings.HasPrefix(causes[0], "turn unsupported ") || !strings.Contains(causes[0], "exit status 1") {
		t.Errorf("causes in the log: %q, want the one of the turn", causes)
	}
}

// What only the operator can mend is logged with its cause; what the caller did is none of that.
func TestErrorsOfTheOperator(t *testing.T) {
	cause := fmt.Errorf("start a guest: %w", fs.ErrPermission)
	for _, c := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{errors.New("the store is broken"), true},
		{fault.New(fault.Internal, cause, "x"), true},
		{fmt.Errorf("take a sandbox: %w", fault.New(fault.Unsupported, cause, "no guest starts")), true},
		{fault.New(fault.Busy, cause, "the disk is full"), true},
		{fault.New(fault.Busy, nil, "all are busy"), false},
		{fault.New(fault.Invalid, cause, "no such package"), false},
		{fault.New(fault.NotFound, cause, "no such chat"), false},
		{fault.New(fault.Canceled, cause, "the caller left"), false},
	} {
		if got := app.IsOperators(c.err); got != c.want {
			t.Errorf("IsOperators(%v) = %v, want %v", c.err, got, c.want)
		}
	}
}
