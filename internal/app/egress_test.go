package app_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"runpython/internal/app"
	"runpython/internal/config"
	"runpython/internal/egress"
	"runpython/internal/extent"
	"runpython/internal/guesttest"
)

// A chat reaches what the operator allows, by a client that knows nothing of it, and nothing else.
func TestEgress(t *testing.T) {
	extent.Slow(t)
	allowed := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "from outside") }))
	defer allowed.Close()
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a server that is not allowed was reached") }))
	defer other.Close()
	policy, err := egress.ParsePolicy(strings.TrimPrefix(allowed.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	a := openAt(t, guesttest.Data(t), func(c *config.Config, _ *app.Build) { c.Egress, c.Pool = policy, 1 })
	// Names of the loopback interface are the guest's own, and no business of the proxy's; so they are told to be.
	fetch := "import os, urllib.request\nfor name in ('no_proxy', 'NO_PROXY'): os.environ.pop(name, None)\nprint(urllib.request.urlopen(%q).read().decode())"
	scenario{"", []step{
		{send: fmt.Sprintf(fetch, allowed.URL), stdout: "from outside\n"},
		{send: fmt.Sprintf(fetch, other.URL), failure: []string{"403", "--egress"}},
		{send: "import socket\nsocket.create_connection(('127.0.0.2', 9))", failure: []string{"refused"}},
		{send: "import os; os._exit(0)", failure: []string{""}, state: anyState},
		{send: fmt.Sprintf(fetch, allowed.URL), stdout: "from outside\n", state: anyState},
	}}.play(t, a)
}
