package web_test

import (
	"net/http"
	"testing"

	"runpython/internal/provider"
	"runpython/internal/provider/providertest"
	"runpython/internal/web"
)

// The pages of administrators, and the page to sign in where a provider does it too.
func TestBrowserAdministration(t *testing.T) {
	walk(t, func(t *testing.T, s *surroundings) {
		p := s.page
		if _, err := s.accounts.AddUser(t.Context(), "ann", password, false); err != nil {
			t.Fatal(err)
		}
		s.token("ann", "run")
		s.signIn("olga", true)
		p.Follow(`a[href="/admin"]`)
		s.look("people", shown{"People", []string{"ann", "olga", "Sign out"}, []string{
			"heading People", "heading ann", "link ann", "heading olga", "link olga", "heading What each may do", "term calls", "definition 600 & more", "button Sign out",
		}})
		p.Follow(".apps a")
		tabs := []string{"People of this server", "Disable", "Revoke job <run>"}
		tree := []string{"heading ann", "link People of this server", "button Disable (Signs out everywhere, and ends all apps and tokens for good.)",
			"heading Apps and tokens", "heading job <run>", "button Revoke job <run>"}
		s.look("a person", shown{"ann", tabs, tree})
		if status := p.Follow("button[name=revoke]"); status != http.StatusOK {
			t.Errorf("revoking = %d", status)
		}
		if status := p.Follow("button[name=disable]"); status != http.StatusOK {
			t.Errorf("disabling = %d", status)
		}
		s.look("a person who is disabled", shown{"ann", []string{"People of this server", "Let sign in again"}, []string{
			"heading ann", "link People of this server", "status Done.", "button Let sign in again", "heading Apps and tokens",
		}})
	})
}

func TestBrowserProvider(t *testing.T) {
	walk(t, func(t *testing.T, s *surroundings) {
		p := s.page
		r := providertest.NewRogue(t, s.clock)
		o := r.Options(web.ReturnURL(issuer))
		s.accounts.Provider = provider.New(o)
		r.Stop()
		tabs := append([]string{"Sign in with Our Login", "Name", "Password", "Sign in"}, s.scripted("Sign in with a passkey")...)
		tree := append([]string{
			"button Sign in with Our Login", "heading Or with a password", "textbox Name required=true", "textbox Password required=true", "button Sign in",
		}, s.scripted("button Sign in with a passkey")...)
		p.Open(issuer + "/login")
		s.look("sign in with a provider", shown{"Sign in", tabs, append([]string{"heading Sign in"}, tree...)})
		p.ExpectStatus(http.StatusServiceUnavailable)
		if status := p.Follow("button.main"); status != http.StatusServiceUnavailable {
			t.Errorf("a provider that is away = %d", status)
		}
		const away = "Our Login does not answer at the moment: try again in a minute."
		tree[0] += " (" + away + ")"
		s.look("provider away", shown{"Error: Sign in", tabs, append([]string{"heading Sign in", "alert " + away}, tree...)})
	})
}
