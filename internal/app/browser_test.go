package app_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"runpython/internal/browsertest"
	"runpython/internal/extent"
	"runpython/internal/guesttest"
)

// From the first start to the end of an app's rights, with a real browser and the official client: the link of the first start, the first
// account, an app that is allowed and runs code, that is disconnected, asks again, and is told no.
func TestBrowserFromFirstStart(t *testing.T) {
	extent.Long(t)
	guesttest.Guests(t)
	own := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `<!DOCTYPE html><html lang="en"><title>App</title><link rel="icon" href="data:,"><h1>Back in the app</h1></html>`)
	}))
	t.Cleanup(own.Close)
	s := serveSigned(t, nil)
	p := browsertest.Start(t, browsertest.Options{Hosts: map[string]string{"127.0.0.1": ""}})
	link, err := s.app.SetupLink(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p.Open(link)
	p.Fill("#username", "root")
	p.Fill("#password", password)
	if p.Follow("button.main"); p.URL() != s.issuer+"/account" || !strings.Contains(p.Text("main"), "No app is connected") {
		t.Fatalf("the first account leads to %s:\n%s", p.URL(), p.Text("main"))
	}

	say, asked := "approve", 0
	session := connect(t, &mcp.StreamableClientTransport{Endpoint: s.url, OAuthHandler: s.handler(own.URL+"/callback", func(address string) string {
		asked++
		p.Open(address)
		p.Look("consent in the program " + say)
		p.Follow("button[value=" + say + "]")
		return p.URL()
	})})
	if result, text, _ := call(t, session, "", "6*7"); result.IsError || !strings.Contains(text, "42") || asked != 1 {
		t.Fatalf("the app, which has asked %d times, gets\n%s", asked, text)
	}

	p.Open(s.issuer + "/account")
	p.Follow(`[aria-label="Disconnect An App"]`)
	p.Wait("[role=status]:focus")
	say = "deny"
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "chat", Arguments: map[string]any{"message": "6*7"}})
	if err == nil || asked != 2 {
		t.Errorf("an app that is disconnected, and has asked %d times, gets %v", asked, result)
	}
	p.Open(s.issuer + "/account")
	p.Follow(".leave button")
	if p.Open(s.issuer + "/account"); p.Title() != "Sign in · Run Python" {
		t.Errorf("who has signed out sees %s", p.Title())
	}
}
