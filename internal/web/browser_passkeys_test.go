package web_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/webauthn"
	"github.com/chromedp/chromedp"

	"runpython/internal/browsertest"
)

// real serves the pages under their own name to a real browser.
func (s *site) real(o browsertest.Options) *browsertest.Page {
	s.t.Helper()
	server := httptest.NewTLSServer(s.handler)
	s.t.Cleanup(server.Close)
	o.Hosts, o.Certificate = map[string]string{"run.example": server.Listener.Addr().String()}, server.Certificate()
	return browsertest.Start(s.t, o)
}

// do gives a browser a command of its protocol.
func do[P, R any](t *testing.T, p *browsertest.Page, command cdp.Command[P, R], params P) R {
	t.Helper()
	result, err := chromedp.Call(p.Context(), command, params)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// plugIn gives a browser an authenticator, which signs for whoever is there.
func plugIn(t *testing.T, p *browsertest.Page) webauthn.AuthenticatorID {
	t.Helper()
	do(t, p, webauthn.Enable, webauthn.EnableParams{})
	return do(t, p, webauthn.AddVirtualAuthenticator, webauthn.AddVirtualAuthenticatorParams{Options: &webauthn.VirtualAuthenticatorOptions{
		Protocol: webauthn.AuthenticatorProtocolCtap2, Ctap2version: webauthn.Ctap2versionCtap21, Transport: webauthn.AuthenticatorTransportInternal,
		HasResidentKey: true, HasUserVerification: true, IsUserVerified: true, AutomaticPresenceSimulation: true, DefaultBackupEligibility: true,
	}}).AuthenticatorID
}

// Selectors of what people use.
const (
	withPasskey = `form[action="/login/passkey"]`
	newPasskey  = `form[data-passkey="create"]`
)

// signInByPassword does that at a real browser, which comes to the account.
func signInByPassword(t *testing.T, p *browsertest.Page) {
	t.Helper()
	p.Open(issuer + "/login")
	p.Fill("#username", "ann")
	p.Fill("#password", password)
	if p.Follow(`form[action="/login"] button`); p.URL() != issuer+"/account" {
		t.Fatalf("signing in leads to %s", p.URL())
	}
}

// A person adds a passkey, signs in with it without typing anything, and removes it.
func TestBrowserPasskeys(t *testing.T) {
	s := newSite(t)
	p := s.real(browsertest.Options{})
	device := plugIn(t, p)
	told := func(selector, text string) {
		t.Helper()
		p.Wait(selector + `:not(:empty)`)
		if got := p.Text(selector); !strings.Contains(got, text) {
			t.Errorf("it says %q, want %q", got, text)
		}
	}
	signInByPassword(t, p)
	p.Wait(newPasskey)
	p.Look("passkeys none")
	p.Fill("#new-passkey", "My phone")
	p.Click(newPasskey + " button")
	told("main > [role=status]", "The passkey is added")
	if all, err := s.accounts.Passkeys(t.Context(), s.user); err != nil || len(all) != 1 || all[0].Name != "My phone" || !all[0].Eligible || all[0].Transports != "internal" {
		t.Fatalf("the server has %+v, %v", all, err)
	}
	p.Look("passkeys one")
	if tree := p.Tree(); !slices.Contains(tree, "button Remove My phone") || !slices.Contains(tree, "heading My phone") {
		t.Errorf("a screen reader is told %q", tree)
	}

	p.Click(newPasskey + " button")
	told(newPasskey+" [role=alert]", "This device has a passkey for you here already")
	p.Fill("#new-passkey", "My phone")
	p.ExpectStatus(http.StatusUnprocessableEntity)
	p.Click(newPasskey + " button")
	told(newPasskey+" [role=alert]", "You have a passkey of that name already")

	p.Follow(`form[action="/logout"] button`)
	p.Open(issuer + "/login")
	p.Wait(withPasskey)
	p.Look("sign in with passkey")
	if order := p.TabOrder(); !slices.Equal(order, []string{"Name", "Password", "Sign in", "Sign in with a passkey"}) {
		t.Errorf("the tab order is %q", order)
	}
	p.Click(withPasskey + " button")
	p.Wait("#passkeys")
	if at := p.URL(); at != issuer+"/account" || !strings.Contains(p.Text("header"), "signed in as ann") {
		t.Errorf("it leads to %s: %s", at, p.Text("header"))
	}

	// What the device gets wrong, in turn.
	yes, no := true, false
	p.Follow(`form[action="/logout"] button`)
	p.Open(issuer + "/login")
	do(t, p, webauthn.SetResponseOverrideBits, webauthn.SetResponseOverrideBitsParams{AuthenticatorID: device, IsBogusSignature: &yes})
	p.Click(withPasskey + " button")
	told("#problem", "The passkey's answer does not hold")
	p.Wait(withPasskey + " button:focus")
	p.Look("sign in refused")
	do(t, p, webauthn.SetResponseOverrideBits, webauthn.SetResponseOverrideBitsParams{AuthenticatorID: device, IsBogusSignature: &no, IsBadUV: &yes})
	p.Open(issuer + "/login")
	p.Click(withPasskey + " button")
	told("#problem", "has not made sure that it is you")
	do(t, p, webauthn.SetResponseOverrideBits, webauthn.SetResponseOverrideBitsParams{AuthenticatorID: device, IsBogusSignature: &no, IsBadUV: &no})
	do(t, p, webauthn.SetUserVerified, webauthn.SetUserVerifiedParams{AuthenticatorID: device, IsUserVerified: false})
	p.Open(issuer + "/login")
	p.Click(withPasskey + " button")
	told(withPasskey+" [role=alert]", "No passkey was used")
	p.Look("sign in cancelled")
	do(t, p, webauthn.SetUserVerified, webauthn.SetUserVerifiedParams{AuthenticatorID: device, IsUserVerified: true})
	p.Click(withPasskey + " button")
	p.Wait("#passkeys")

	p.Follow(`button[value="remove"]`)
	if text := p.Text("main"); !strings.Contains(text, "The passkey is removed") || !strings.Contains(text, "You have no passkey here") {
		t.Errorf("the page says %q", text)
	}
	p.Follow(`form[action="/logout"] button`)
	p.Open(issuer + "/login")
	p.Click(withPasskey + " button")
	told("#problem", "Nobody signs in here with this passkey")
}

// Without JavaScript everything works but what browsers give to scripts only, and nothing is shown that does not.
func TestBrowserPasskeysWithoutScript(t *testing.T) {
	s := newSite(t)
	b := s.browser()
	b.signIn("")
	b.addPasskey("Phone")
	p := s.real(browsertest.Options{NoScript: true})
	signInByPassword(t, p)
	if hidden := browsertest.Eval[string](p, `getComputedStyle(document.querySelector('form[data-passkey="create"]')).display`); hidden != "none" {
		t.Errorf("the form to add a passkey is shown: %s", hidden)
	}
	p.Look("passkeys")
	p.Fill(`form:not([data-passkey]) input[name="name"]`, "Telephone")
	p.Follow(`button[value="rename"]`)
	if text := p.Text("main"); !strings.Contains(text, "The passkey is renamed") || p.Text("li h3") != "Telephone" || !strings.Contains(text, "with JavaScript on") {
		t.Errorf("the page says %q", text)
	}
	p.Follow(`button[value="remove"]`)
	if text := p.Text("main"); !strings.Contains(text, "You have no passkey here") {
		t.Errorf("the page says %q", text)
	}
	p.Follow(`form[action="/logout"] button`)
	p.Open(issuer + "/login")
	if order := p.TabOrder(); !slices.Equal(order, []string{"Name", "Password", "Sign in"}) {
		t.Errorf("the tab order is %q", order)
	}
}

// In a browser that knows no passkeys, scripts or not, nothing of them is shown.
func TestBrowserWithoutPasskeys(t *testing.T) {
	p := newSite(t).real(browsertest.Options{})
	do(t, p, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: "delete window.PublicKeyCredential"})
	p.Open(issuer + "/login")
	if order := p.TabOrder(); !slices.Equal(order, []string{"Name", "Password", "Sign in"}) {
		t.Errorf("the tab order is %q", order)
	}
	signInByPassword(t, p)
	if text := p.Text("main"); !strings.Contains(text, "use a browser that has passkeys") || strings.Contains(text, "Name of a new passkey") {
		t.Errorf("the page says %q", text)
	}
}
