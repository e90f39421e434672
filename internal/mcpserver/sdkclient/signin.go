package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"
)

// comeBack is where the app wants people to return to. Nothing listens there: the person's browser stops before.
const comeBack = "http://127.0.0.1:1/callback"

// requestLimit bounds each request of the app to the authorization server.
const requestLimit = 30 * time.Second

// An app is one that people connect. The person at the browser always says yes.
type app struct {
	url      string // of the endpoint
	document string // its metadata, "" to register
	handler  *auth.AuthorizationCodeHandler
	signIns  int

	mu     sync.Mutex // for what follows
	config *oauth2.Config
	client context.Context //nolint:containedctx // oauth2 takes its HTTP client so
	token  *oauth2.Token
	source oauth2.TokenSource
}

func newApp(endpoint string) (*app, error) {
	a := &app{url: endpoint, document: os.Getenv("RUNPYTHON_CLIENT_DOCUMENT")}
	config := &auth.AuthorizationCodeHandlerConfig{
		RedirectURL: comeBack, RequestRefreshToken: true, AuthorizationCodeFetcher: a.signIn, NewTokenSource: a.keep,
		Client: &http.Client{Timeout: requestLimit},
	}
	if a.document != "" {
		config.ClientIDMetadataDocumentConfig = &auth.ClientIDMetadataDocumentConfig{URL: a.document}
	} else {
		config.DynamicClientRegistrationConfig = &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
			ClientName: "A driver", RedirectURIs: []string{comeBack}, GrantTypes: []string{"authorization_code", "refresh_token"}, TokenEndpointAuthMethod: "none",
		}}
	}
	var err error
	if a.handler, err = auth.NewAuthorizationCodeHandler(config); err != nil {
		return nil, fmt.Errorf("set up OAuth: %w", err)
	}
	return a, nil
}

// person does what the person or the operator does, and returns what came of it.
func person(ctx context.Context, what ...string) (string, error) {
	command := exec.CommandContext(ctx, "python3", append([]string{os.Getenv("RUNPYTHON_CLIENT_PERSON")}, what...)...)
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("let the person %s: %w", what[0], err)
	}
	return strings.TrimSpace(string(out)), nil
}

// signIn is the person's way from the app and back to it.
func (a *app) signIn(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
	a.signIns++
	left, err := person(ctx, "allow", args.URL)
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(left)
	if err != nil || !strings.HasPrefix(left, comeBack+"?") {
		return nil, fmt.Errorf("the person returns to %q", left)
	}
	q := u.Query()
	return &auth.AuthorizationResult{Code: q.Get("code"), State: q.Get("state"), Iss: q.Get("iss")}, nil
}

// keep makes the app its own source of tokens, so that it can let the time of one pass.
func (a *app) keep(ctx context.Context, config *oauth2.Config, token *oauth2.Token) (oauth2.TokenSource, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.client, a.config, a.token, a.source = ctx, config, token, config.TokenSource(ctx, token)
	return a, nil
}

// Token implements oauth2.TokenSource.
func (a *app) Token() (*oauth2.Token, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	token, err := a.source.Token()
	if err == nil {
		a.token = token
	}
	return token, err //nolint:wrapcheck // the SDK looks for the kind of it
}

// expire lets the time of the access token pass, which is when the SDK refreshes, and returns both tokens that it had.
func (a *app) expire() oauth2.Token {
	a.mu.Lock()
	defer a.mu.Unlock()
	old := *a.token
	passed := old
	passed.Expiry = time.Now().Add(-time.Minute)
	a.source = a.config.TokenSource(a.client, &passed)
	return old
}

func (a *app) kept() oauth2.Token {
	a.mu.Lock()
	defer a.mu.Unlock()
	return *a.token
}

// live goes through the life of an app that people connect, and says what it did.
func (a *app) live(ctx context.Context, d driver) (string, error) {
	if err := d.oneTool(ctx); err != nil {
		return "", err
	}
	if a.signIns != 0 {
		return "", errors.New("listing tools needs a token")
	}
	first, _, err := d.chat(ctx, "x = 20", "")
	if err != nil {
		return "", err
	}
	found := chatLine.FindStringSubmatch(first)
	if found == nil || a.signIns != 1 {
		return "", fmt.Errorf("the first call got %q after %d sign-ins", first, a.signIns)
	}
	if id := a.config.ClientID; a.document != "" && id != a.document || a.document == "" && strings.HasPrefix(id, "https:") {
		return "", fmt.Errorf("the client is %q", id)
	}
	if err := a.refreshes(ctx, d, found[1]); err != nil {
		return "", err
	}
	if err := a.returns(ctx, d, found[1]); err != nil {
		return "", err
	}
	how := "registered:"
	if a.document != "" {
		how = "by a document:"
	}
	return how + " sign in, chat, refresh, disconnected, sign in anew", nil
}

// counts calls a chat that adds one to a variable, and looks what that is then and how often the person has signed in.
func (a *app) counts(ctx context.Context, d driver, chat, value string, signIns int) error {
	text, _, err := d.chat(ctx, "x += 1\nx", chat)
	if err != nil {
		return err
	}
	if !strings.Contains(text, value) || a.signIns != signIns {
		return fmt.Errorf("the call got %q after %d sign-ins; want %s after %d", text, a.signIns, value, signIns)
	}
	return nil
}

// refreshes lets the access token end.
func (a *app) refreshes(ctx context.Context, d driver, chat string) error {
	if _, err := person(ctx, "expire", os.Getenv("RUNPYTHON_CLIENT_DATABASE"), os.Getenv("RUNPYTHON_CLIENT_USER")); err != nil {
		return err
	}
	before := a.expire()
	if err := a.counts(ctx, d, chat, "21", 1); err != nil {
		return err
	}
	if after := a.kept(); after.AccessToken == before.AccessToken || after.RefreshToken == before.RefreshToken {
		return errors.New("the tokens are the same after a refresh")
	}
	return nil
}

// returns lets the person disconnect the app, and sign in anew.
func (a *app) returns(ctx context.Context, d driver, chat string) error {
	if _, err := person(ctx, "disconnect", strings.TrimSuffix(a.url, "/mcp")); err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, a.url, strings.NewReader("{}"))
	if err != nil {
		return fmt.Errorf("ask with an old token: %w", err)
	}
	token := a.kept()
	token.SetAuthHeader(r)
	res, err := (&http.Client{Timeout: requestLimit}).Do(r)
	if err != nil {
		return fmt.Errorf("ask with an old token: %w", err)
	}
	if err := res.Body.Close(); err != nil {
		return fmt.Errorf("ask with an old token: %w", err)
	}
	if challenge := res.Header.Get("WWW-Authenticate"); res.StatusCode != http.StatusUnauthorized || !strings.Contains(challenge, `error="invalid_token"`) {
		return fmt.Errorf("a token of an app that was disconnected: %d, %q", res.StatusCode, challenge)
	}
	return a.counts(ctx, d, chat, "22", 2)
}
