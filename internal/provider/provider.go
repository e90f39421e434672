// Package provider signs people in through an OpenID provider that the operator has chosen: it says where a browser has to go, and
// finds out from what comes back who the person is and whether the operator's lists admit that person.
//
// It is the authorization code flow of OpenID Connect Core 1.0 with PKCE (RFC 7636, S256), nonce, and the issuer in the answer (RFC
// 9207). Signatures, audiences and times of ID tokens are checked by go-oidc, codes are exchanged by golang.org/x/oauth2; the rest
// is here. What the provider is (OpenID Connect Discovery) and its keys are fetched when they are needed, so that a provider that is
// away keeps no server from starting.
//
// # Trust
//
// The operator has named the provider, which may be on a private address. It is believed who somebody is, and nothing more: what
// it answers is bounded in size and time, its redirects are not followed, and its words are shown to nobody. What a browser
// brings back is hostile. Nobody is known by an address of e-mail; one counts for the lists, when the provider has verified it.
//
// # Failure
//
// Each error is a fault.Error. fault.Busy means that the provider is away; fault.Invalid that it has not signed the person in, that
// its answer cannot be used, or that the person is not admitted. The cause, which may have words of the provider in it, cut and
// without control characters, is for the operator's log.
package provider

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
	"golang.org/x/sync/singleflight"

	"runpython/internal/fault"
	"runpython/internal/secret"
)

const (
	// discoveryTime is how long is kept what the provider has said of itself, and its keys as long as they fit.
	discoveryTime = time.Hour
	// finishTime bounds all that the provider is asked when a person comes back.
	finishTime = 20 * time.Second
)

// Options say which provider it is, and whom it may sign in. Issuer, Name, ClientID, Scopes and Redirect are required.
type Options struct {
	Issuer   string // URL, as the provider writes it
	Name     string // for people
	ClientID string
	Secret   string // of the client; "" for one that has none
	Scopes   []string
	Redirect string // URL to which people come back
	Admit    Admission
	Client   *http.Client     // nil means NewClient(Issuer); others have to bound what they read
	Now      func() time.Time // nil means time.Now
}

// A Provider is safe for concurrent use, and has nothing to close.
type Provider struct {
	Options
	flights singleflight.Group

	mu    sync.Mutex
	known *discovered // nil as long as nothing is known
}

// New returns a Provider. Nothing is fetched yet.
func New(o Options) *Provider {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Client == nil {
		o.Client = NewClient(o.Issuer)
	}
	return &Provider{Options: o}
}

// An Attempt is what of a sign-in has to be there when its person comes back. Nobody else may learn of it.
type Attempt struct {
	Nonce    string `json:"nonce"`
	Verifier string `json:"verifier"` // of PKCE
}

// Begin returns the URL to which a browser has to go. state comes back with the answer: it must be random, for one use and
// for this browser, which the caller sees to.
func (p *Provider) Begin(ctx context.Context, state string) (a Attempt, to string, err error) {
	known, err := p.discover(ctx)
	if err != nil {
		return a, "", err
	}
	a = Attempt{Nonce: secret.New(secret.Nonce), Verifier: oauth2.GenerateVerifier()}
	return a, p.config(known).AuthCodeURL(state, oidc.Nonce(a.Nonce), oauth2.S256ChallengeOption(a.Verifier)), nil
}

// discovered is what the provider has said of itself.
type discovered struct {
	*oidc.Provider
	keys        *oidc.RemoteKeySet
	endpoint    oauth2.Endpoint
	namesItself bool // in answers (RFC 9207)
	until       time.Time
}

func (p *Provider) config(d *discovered) *oauth2.Config {
	return &oauth2.Config{ClientID: p.ClientID, ClientSecret: p.Secret, Endpoint: d.endpoint, RedirectURL: p.Redirect, Scopes: p.Scopes}
}

// discover returns what the provider says of itself. Those who ask at the same time wait for one request.
func (p *Provider) discover(ctx context.Context) (*discovered, error) {
	if known := p.remembered(); known != nil {
		return known, nil
	}
	result := p.flights.DoChan("", func() (any, error) {
		if known := p.remembered(); known != nil { // another flight has just ended
			return known, nil
		}
		known, err := p.fetch(context.WithoutCancel(ctx)) // others may wait when the first one has left
		if err != nil {
			return nil, err
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.known = known
		return known, nil
	})
	select {
	case r := <-result:
		known, _ := r.Val.(*discovered)
		return known, r.Err //nolint:wrapcheck // fetch does
	case <-ctx.Done():
		return nil, p.away(context.Cause(ctx))
	}
}

func (p *Provider) remembered() *discovered {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known == nil || !p.Now().Before(p.known.until) {
		return nil
	}
	return p.known
}

// fetch asks the provider what it is.
func (p *Provider) fetch(ctx context.Context) (*discovered, error) {
	ctx, cancel := context.WithTimeout(oidc.ClientContext(ctx, p.Client), answerTime)
	defer cancel()
	found, err := oidc.NewProvider(ctx, p.Issuer)
	if err != nil {
		return nil, p.unusable(fmt.Errorf("fetch what the provider is: %w", err))
	}
	var says struct {
		Keys        string   `json:"jwks_uri"`
		Methods     []string `json:"token_endpoint_auth_methods_supported"`
		NamesItself bool     `json:"authorization_response_iss_parameter_supported"`
	}
	if err := found.Claims(&says); err != nil {
		return nil, p.unusable(fmt.Errorf("read what the provider is: %w", err))
	}
	d := &discovered{
		Provider: found, keys: oidc.NewRemoteKeySet(ctx, says.Keys), endpoint: found.Endpoint(), namesItself: says.NamesItself, until: p.Now().Add(discoveryTime),
	}
	for name, text := range map[string]string{"authorization_endpoint": d.endpoint.AuthURL, "token_endpoint": d.endpoint.TokenURL, "jwks_uri": says.Keys} {
		if u, err := url.Parse(text); err != nil || u.Host == "" || !mayAsk(p.Issuer, u) {
			return nil, p.unusable(fmt.Errorf("the %s of the provider is %.100q", name, text))
		}
	}
	// By trying both ways a code would be used up. Where nothing is said it is Basic (OpenID Connect Discovery 1.0, 3).
	d.endpoint.AuthStyle = oauth2.AuthStyleInHeader
	if p.Secret == "" || len(says.Methods) > 0 && !slices.Contains(says.Methods, "client_secret_basic") {
		d.endpoint.AuthStyle = oauth2.AuthStyleInParams
	}
	return d, nil
}

// away is what people are told when the provider gives no answer, or says that something is wrong with it.
func (p *Provider) away(cause error) error {
	return fault.New(fault.Busy, brief(cause), p.Name+" does not answer at the moment: try again in a minute")
}

// unusable is what people are told when it gives one that is not right.
func (p *Provider) unusable(cause error) error {
	if _, ok := errors.AsType[*awayError](cause); ok {
		return p.away(cause)
	}
	return fault.New(fault.Invalid, brief(cause), "the answer of "+p.Name+" cannot be used: try again, and if that does not help, ask whoever runs this server, whose log has the details")
}
