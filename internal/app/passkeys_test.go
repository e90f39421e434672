package app_test

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/config"
	"runpython/internal/extent"
	"runpython/internal/identity"
	"runpython/internal/passkey/passkeytest"
)

// withPasskey does what the script of the pages does with the form of a page that sends a passkey, and returns the page that it leads to.
func (w *walker) withPasskey(issuer, page string, answer func(asked []byte) []byte) string {
	w.t.Helper()
	form := regexp.MustCompile(`(?s)<form method="post" action="([^"]+)" data-passkey="\w+" data-options="([^"]+)" hidden>(.*?)</form>`).FindStringSubmatch(page)
	if form == nil {
		w.t.Fatalf("no form with a passkey in\n%s", page)
	}
	v := url.Values{"name": {"Phone"}}
	for _, field := range hidden.FindAllStringSubmatch(form[3], -1) {
		v.Set(field[1], html.UnescapeString(field[2]))
	}
	asked, _ := w.goTo(http.MethodPost, issuer+form[2], v)
	v.Set("answer", string(answer([]byte(asked))))
	next, _ := w.goTo(http.MethodPost, issuer+form[1], v)
	return next
}

// A passkey is for the host of the public URL, and what is done with it is counted, and in the audit log.
func TestPasskeysOfAServer(t *testing.T) {
	extent.Slow(t)
	var c config.Config
	s := serveSigned(t, func(settings *config.Config) {
		settings.PublicURL = strings.Replace(settings.PublicURL, "127.0.0.1", "localhost", 1)
		c = *settings
	}, "ann")
	w := newWalker(t)
	page, _ := w.goTo(http.MethodGet, c.PublicURL+"/account", nil)
	page, _ = w.fill(c.PublicURL, page, map[string]string{"username": "ann", "password": password})
	a := passkeytest.New(t, c.PublicURL)
	page = w.withPasskey(c.PublicURL, page, func(asked []byte) []byte {
		if !strings.Contains(string(asked), `"rp":{"name":"Run Python","id":"localhost"}`) {
			t.Errorf("what is asked for is %s", asked)
		}
		return a.Create(asked, nil)
	})
	if !strings.Contains(page, "The passkey is added") {
		t.Fatalf("no passkey is added:\n%s", page)
	}
	thief := a.Copy()
	by := func(from *passkeytest.Authenticator) string {
		w := newWalker(t)
		page, _ := w.goTo(http.MethodGet, c.PublicURL+"/login", nil)
		return w.withPasskey(c.PublicURL, page, func(asked []byte) []byte { return from.Get(asked, nil) })
	}
	if page := by(a); !strings.Contains(page, "signed in as <strong>ann") {
		t.Errorf("it leads to\n%s", page)
	}
	if page := by(thief); !strings.Contains(page, "may have a copy") {
		t.Errorf("a copy leads to\n%s", page)
	}
	u, err := s.accounts.Named(t.Context(), "ann")
	if err != nil {
		t.Fatal(err)
	}
	all, err := s.accounts.Passkeys(t.Context(), u)
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	if err := s.accounts.RemovePasskey(t.Context(), all[0].ID, u, ""); err != nil {
		t.Error(err)
	}
	_, text := auditLines(t, c.Data)
	var got [][3]string
	for _, m := range regexp.MustCompile(`"kind":"(\w*(?:sign|passkey)\w*)","subject":"([\w:]+)"(?:,"address":"[^"]+")?(?:,"object":"([^"]*)")?`).FindAllStringSubmatch(text, -1) {
		got = append(got, [3]string{m[1], strings.NewReplacer(u.ID, "ann", fmt.Sprint("uid:", os.Getuid()), "operator").Replace(m[2]), m[3]})
	}
	want := [][3]string{
		{identity.EventSignedIn, "ann", "ann"}, {identity.EventPasskeyAdded, "ann", "ann/Phone"}, {identity.EventSignedIn, "ann", "ann/Phone"},
		{identity.EventPasskeyCopied, "ann", "ann/Phone"}, {identity.EventRefused, "ann", ""}, {identity.EventPasskeyRemoved, "operator", "ann/Phone"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the audit log (-want +got):\n%s", diff)
	}
	_, counts, _ := get(t, s.admin+"/metrics")
	for _, line := range []string{`{event="signed_in"} 2`, `{event="passkey_added"} 1`, `{event="passkey_copied"} 1`, `{event="sign_in_refused"} 1`} {
		if !strings.Contains(counts, "runpython_auth_events_total"+line+"\n") {
			t.Errorf("the metrics do not have %s", line)
		}
	}
}
