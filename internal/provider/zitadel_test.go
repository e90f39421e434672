package provider_test

import (
	"net/url"
	"testing"

	"runpython/internal/fault"
	"runpython/internal/provider"
	"runpython/internal/provider/providertest"
)

// A provider that others have written signs people in; it tells addresses only when it is asked for them.
func TestZitadel(t *testing.T) {
	const back = "http://localhost:1/login/callback"
	z := providertest.StartZitadel(t, back,
		providertest.ZitadelUser{Subject: "7", Username: "ann", Email: "ann@example.org", Verified: true},
		providertest.ZitadelUser{Subject: "8", Username: "eve", Email: "eve@example.org"})
	p := provider.New(provider.Options{
		Issuer: z.Issuer, Name: "Zitadel", ClientID: providertest.ZitadelClient, Secret: providertest.ZitadelSecret, Redirect: back,
		Scopes: []string{"openid", "email", "profile"}, Admit: provider.Admission{Domains: []string{"example.org"}},
	})
	t.Cleanup(p.Client.CloseIdleConnections)
	come := func(name string) (provider.Person, error) {
		t.Helper()
		a, to, err := p.Begin(t.Context(), "state-of-"+name)
		if err != nil {
			t.Fatal(err)
		}
		u, err := url.Parse(z.Arrive(to, name))
		if err != nil || u.Query().Get("state") != "state-of-"+name {
			t.Fatalf("came back to %v, %v", u, err)
		}
		got, err := p.Finish(t.Context(), a, u.Query())
		if _, again := p.Finish(t.Context(), a, u.Query()); again == nil {
			t.Error("a code was redeemed twice")
		}
		return got, err
	}
	if got, err := come("ann"); err != nil || got != (provider.Person{External: "7", Address: "ann@example.org", Name: "ann"}) {
		t.Errorf("Finish() = %+v, %v", got, err)
	}
	got, err := come("eve")
	if kind, said := fault.Shown(err); kind != fault.Invalid || said != "Zitadel knows you, but nobody has admitted you here: ask whoever runs this server" || got != (provider.Person{}) {
		t.Errorf("with an address that nobody has verified: Finish() = %+v, %v", got, err)
	}
}
