package app_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"runpython/internal/app"
	"runpython/internal/config"
	"runpython/internal/identity"
	"runpython/internal/provider/providertest"
	"runpython/internal/web"
)

// The official client registers, the person signs in at a real provider, says yes to the app here, and code runs for that person.
func TestOfficialClientSignsInThroughAProvider(t *testing.T) {
	var z *providertest.Zitadel
	var data string
	s := serveSigned(t, func(c *config.Config) {
		z = providertest.StartZitadel(t, web.ReturnURL(c.PublicURL),
			providertest.ZitadelUser{Subject: "7", Username: "ann", Email: "ann@example.org", Verified: true},
			providertest.ZitadelUser{Subject: "8", Username: "eve", Email: "eve@evil.example", Verified: true})
		c.OIDCIssuer, c.OIDCName, c.OIDCClientID, c.OIDCSecret = z.Issuer, "Our Login", providertest.ZitadelClient, config.NewSecret(providertest.ZitadelSecret)
		c.OIDCDomains, c.OIDCPasswords = []string{"example.org"}, config.PasswordsOff
		data = c.Data
	})
	if link, err := s.app.SetupLink(t.Context()); link != "" || err != nil {
		t.Errorf("SetupLink() = %q, %v where nobody signs in with a password", link, err)
	}

	eve := newWalker(t)
	page, _ := eve.goTo(http.MethodGet, s.issuer+"/login", nil)
	_, left := eve.fill(s.issuer, page, nil)
	page, _ = eve.goTo(http.MethodGet, z.Arrive(left, "eve"), nil)
	if !strings.Contains(page, "Our Login knows you, but nobody has admitted you here") {
		t.Errorf("who is not admitted:\n%s", page)
	}

	w := newWalker(t)
	h := s.handler("http://127.0.0.1:1/callback", func(address string) string {
		page, _ := w.goTo(http.MethodGet, address, nil)
		if strings.Contains(page, `name="password"`) || !strings.Contains(page, "Sign in with Our Login") {
			t.Fatalf("the page to sign in:\n%s", page)
		}
		_, left := w.fill(s.issuer, page, nil)
		if !strings.HasPrefix(left, z.Issuer) {
			t.Fatalf("the button leads to %q", left)
		}
		page, _ = w.goTo(http.MethodGet, z.Arrive(left, "ann"), nil)
		if !strings.Contains(page, "Allow this app?") || !strings.Contains(page, "signed in as <strong>ann@example.org") {
			t.Fatalf("no page to allow the app:\n%s", page)
		}
		_, left = w.fill(s.issuer, page, map[string]string{"action": "approve"})
		return left
	})
	session := connect(t, &mcp.StreamableClientTransport{Endpoint: s.url, OAuthHandler: h})
	if result, text, _ := call(t, session, "", "1+1"); result.IsError || !strings.Contains(text, "2") {
		t.Fatalf("call = %s", text)
	}

	u, err := s.accounts.Named(t.Context(), "ann@example.org")
	if err != nil {
		t.Fatal(err)
	}
	of, err := s.accounts.Identities(t.Context())
	if err != nil || len(of) != 1 || len(of[u.ID]) != 1 || of[u.ID][0].External != "7" || of[u.ID][0].Issuer != z.Issuer {
		t.Errorf("Identities() = %v, %v", of, err)
	}
	if err := s.accounts.SetDisabled(t.Context(), u.Name, true); err != nil {
		t.Fatal(err)
	}
	page, _ = w.goTo(http.MethodGet, s.issuer+"/login", nil)
	_, left = w.fill(s.issuer, page, nil)
	if page, _ = w.goTo(http.MethodGet, z.Arrive(left, "ann"), nil); !strings.Contains(page, "is disabled") {
		t.Errorf("who is disabled:\n%s", page)
	}
	var kinds []string
	lines, _ := auditLines(t, data)
	for _, l := range lines {
		if slices.Contains([]string{identity.EventRefused, identity.EventSignedIn, identity.EventUserAdded}, l.Kind) {
			kinds = append(kinds, l.Kind)
		}
	}
	if got := strings.Join(kinds, " "); got != "sign_in_refused user_added signed_in sign_in_refused" {
		t.Errorf("the audit log has %q", got)
	}
}

// A secret that cannot be read is said when the server starts.
func TestProviderSecretThatIsGone(t *testing.T) {
	_, err := app.ProviderOf(config.Config{OIDCIssuer: "https://login.example", OIDCSecretFile: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), "--oidc-client-secret-file") {
		t.Errorf("ProviderOf() = %v", err)
	}
}
