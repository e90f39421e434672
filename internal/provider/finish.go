package provider

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"runpython/internal/fault"
)

// algorithms are those by which ID tokens may be signed: with a private key each. Neither none nor those with the secret of the client.
func algorithms() []string {
	return []string{
		oidc.RS256, oidc.RS384, oidc.RS512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.EdDSA,
	}
}

// Finish finds out from the parameters with which a person comes back who that is, and whether the person is admitted. The caller has
// found the attempt by the state, which nobody can use again.
func (p *Provider) Finish(ctx context.Context, a Attempt, q url.Values) (Person, error) {
	ctx, cancel := context.WithTimeout(oidc.ClientContext(ctx, p.Client), finishTime)
	defer cancel()
	known, err := p.discover(ctx)
	if err != nil {
		return Person{}, err
	}
	code, err := p.code(known, q)
	if err != nil {
		return Person{}, err
	}
	token, err := p.config(known).Exchange(ctx, code, oauth2.VerifierOption(a.Verifier))
	if err != nil {
		return Person{}, p.unusable(fmt.Errorf("redeem a code: %w", err))
	}
	says, err := p.verify(ctx, known, a, token)
	if err != nil {
		return Person{}, p.unusable(err)
	}
	if p.Admit.lacks(says) && known.UserInfoEndpoint() != "" {
		if err := p.complete(ctx, known, token, says); err != nil {
			return Person{}, p.unusable(fmt.Errorf("ask for more of a person: %w", err))
		}
	}
	person, err := says.person()
	if err != nil {
		return Person{}, p.unusable(err)
	}
	if why := p.Admit.refuses(p.Issuer, says, person); why != nil {
		return Person{}, fault.New(fault.Invalid, fmt.Errorf("%q of the provider: %w", person.External, brief(why)),
			p.Name+" knows you, but nobody has admitted you here: ask whoever runs this server")
	}
	return person, nil
}

// code returns the code of an answer, when it is one of this provider.
func (p *Provider) code(known *discovered, q url.Values) (string, error) {
	for _, name := range []string{"code", "iss", "error"} {
		if len(q[name]) > 1 {
			return "", p.unusable(errors.New("the answer has the parameter " + name + " more than once"))
		}
	}
	issuer := q.Get("iss")
	if issuer != p.Issuer && (issuer != "" || known.namesItself) {
		return "", p.unusable(fmt.Errorf("the answer names %.100q as its issuer", issuer)) // RFC 9207, 2.4
	}
	if q.Has("error") {
		said := q.Get("error")
		if !regexp.MustCompile(`^[a-z_]{1,50}$`).MatchString(said) {
			said = "no reason that could be shown"
		}
		return "", fault.New(fault.Invalid, brief(fmt.Errorf("the answer is the error %q", q.Get("error_description"))), p.Name+" has not signed you in ("+said+")")
	}
	if q.Get("code") == "" {
		return "", p.unusable(errors.New("the answer has no code"))
	}
	return q.Get("code"), nil
}

// verify checks the ID token (OpenID Connect Core 1.0, 3.1.3.7) and returns what it says.
func (p *Provider) verify(ctx context.Context, known *discovered, a Attempt, token *oauth2.Token) (claims, error) {
	text, ok := token.Extra("id_token").(string)
	if !ok {
		return nil, errors.New("there is no ID token: the scope openid may be missing")
	}
	keys := &watched{KeySet: known.keys}
	checked, err := oidc.NewVerifier(p.Issuer, keys, &oidc.Config{ClientID: p.ClientID, SupportedSigningAlgs: algorithms(), Now: p.Now}).Verify(ctx, text)
	if err != nil {
		return nil, fmt.Errorf("check an ID token: %w", errors.Join(err, keys.err))
	}
	if subtle.ConstantTimeCompare([]byte(checked.Nonce), []byte(a.Nonce)) != 1 {
		return nil, errors.New("the ID token has the nonce of another sign-in")
	}
	if checked.AccessTokenHash != "" {
		if err := checked.VerifyAccessToken(token.AccessToken); err != nil {
			return nil, fmt.Errorf("check an access token: %w", err)
		}
	}
	says := claims{}
	if err := checked.Claims(&says); err != nil {
		return nil, fmt.Errorf("read an ID token: %w", err)
	}
	authorized, err := says.text("azp")
	if err != nil {
		return nil, err
	}
	if authorized != p.ClientID && (authorized != "" || len(checked.Audience) > 1) {
		return nil, fmt.Errorf("the ID token is for %.100q", authorized)
	}
	return says, nil
}

// A watched key set remembers why keys could not be fetched, which the error of the verifier does not hand on.
type watched struct {
	oidc.KeySet
	err error
}

// VerifySignature implements oidc.KeySet.
func (w *watched) VerifySignature(ctx context.Context, token string) ([]byte, error) {
	payload, err := w.KeySet.VerifySignature(ctx, token)
	w.err = err
	return payload, err //nolint:wrapcheck // the same contract
}

// complete adds what the provider tells only when it is asked (OpenID Connect Core 1.0, 5.3). What the ID token says stays.
func (p *Provider) complete(ctx context.Context, known *discovered, token *oauth2.Token, says claims) error {
	info, err := known.UserInfo(ctx, oauth2.StaticTokenSource(token))
	if err != nil {
		return err //nolint:wrapcheck // the caller does
	}
	more := claims{}
	if err := info.Claims(&more); err != nil {
		return err //nolint:wrapcheck // the caller does
	}
	subject, err := says.text("sub")
	if err != nil || info.Subject != subject {
		return errors.Join(err, errors.New("it is of somebody else")) // 5.3.2
	}
	_, hasAddress := says["email"]
	if !hasAddress {
		delete(says, "email_verified")
	}
	for name, value := range more {
		_, has := says[name]
		// Whether an address is verified is said beside it, and of no other one.
		if !has && !(hasAddress && strings.HasPrefix(name, "email")) {
			says[name] = value
		}
	}
	return nil
}
