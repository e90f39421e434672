package app_test

import (
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/app"
	"runpython/internal/config"
	"runpython/internal/extent"
	"runpython/internal/identity"
	"runpython/internal/oauth"
)

// namesOf returns the texts of constants of a package whose names begin with a prefix.
func namesOf(t *testing.T, folder, declared string) (names []string) {
	t.Helper()
	files, err := filepath.Glob(folder + "/*.go")
	if err != nil {
		t.Fatal(err)
	}
	constant := regexp.MustCompile(`(?m)^\t` + declared + `\s+= "([a-z_]+)"`)
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range constant.FindAllSubmatch(text, -1) {
			names = append(names, string(m[1]))
		}
	}
	return names
}

// Every kind of event is told by docs/operate.md.
func TestEventsAreKnown(t *testing.T) {
	events := events(t)
	kinds := namesOf(t, "../audit", `\w+\s+Kind`)
	if len(events) < 18 || len(kinds) < 8 {
		t.Fatalf("there are %d events and %d kinds; did their form change?", len(events), len(kinds))
	}
	text, err := os.ReadFile("../../docs/operate.md")
	if err != nil {
		t.Fatal(err)
	}
	_, told, _ := strings.Cut(string(text), "\nKinds: ")
	told, _, _ = strings.Cut(told, "\n\n")
	for _, e := range slices.Concat(events, kinds) {
		if !strings.Contains(told, "`"+e+"`") {
			t.Errorf("docs/operate.md does not tell of the kind %s", e)
		}
	}
}

// events returns all that those who decide who may call may tell of.
func events(t *testing.T) []string {
	t.Helper()
	all := slices.Concat(namesOf(t, "../identity", `Event\w+`), namesOf(t, "../oauth", `Event\w+`))
	return slices.DeleteFunc(all, func(e string) bool { return e == oauth.EventDocument }) // a Limiter is asked for it only
}

// What the operator does at the command line is the operator's doing, not that of the user to whom it is done.
func TestCommandsInTheAuditLog(t *testing.T) {
	c := unset()
	c.Data = t.TempDir()
	a, err := app.OpenAccounts(t.Context(), c, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	client := ""
	for what, do := range []func() error{
		func() error { _, err := a.AddUser(t.Context(), "ann", password, false); return err },
		func() error { return a.SetPassword(t.Context(), "ann", password+"!") },
		func() error {
			_, err := a.CreateToken(t.Context(), identity.NewToken{Name: "job", User: "ann", Scopes: "run", Expires: time.Hour})
			return err
		},
		func() error { return a.RevokeToken(t.Context(), "job", "ann") },
		func() error {
			added, err := a.RegisterClient(t.Context(), "An App", []string{"https://app.example/back"}, false)
			if err == nil {
				client = added.ID
			}
			return err
		},
		func() error { return a.RemoveClient(t.Context(), client) },
		func() error { return a.Link(t.Context(), "ann", "https://login.example", "7") },
		func() error { return a.Unlink(t.Context(), "ann", "https://login.example", "7") },
		func() error { return a.SetDisabled(t.Context(), "ann", true) },
		func() error { return a.SetDisabled(t.Context(), "ann", false) },
		func() error { return a.RemoveUser(t.Context(), "ann") },
	} {
		if err := do(); err != nil {
			t.Fatalf("%d: %v", what, err)
		}
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	_, text := auditLines(t, c.Data)
	var got []string
	for _, m := range regexp.MustCompile(`"kind":"(\w+)","subject":"(\w+):\d+","object":"([^"]*)"`).FindAllStringSubmatch(text, -1) {
		got = append(got, strings.Join(m[1:], " "))
	}
	want := []string{
		"user_added uid ann", "password_changed uid ann", "token_made uid ann/job", "grant_revoked uid ann/job", "client_registered uid " + client,
		"client_removed uid " + client, "user_linked uid ann", "user_unlinked uid ann", "user_disabled uid ann", "user_enabled uid ann", "user_removed uid ann",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s\nof\n%s", d, text)
	}
}

// Sign-ins and registrations of an address behind a proxy are bounded, and so are wrong passwords of an account, from loopback as well.
func TestLimitsOfSigningIn(t *testing.T) {
	extent.Slow(t)
	s := serveSigned(t, func(c *config.Config) {
		c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
		c.AddressSignIns, c.AddressRegistrations = 2, 2
	}, "ann")
	attempt := func(address, word string) *http.Response {
		w := newWalker(t)
		if address != "" {
			w.client.Transport = forwarding{address}
		}
		page, _ := w.goTo(http.MethodGet, s.issuer+"/login", nil)
		form := url.Values{"username": {"ann"}, "password": {word}}
		for _, field := range hidden.FindAllStringSubmatch(page, -1) {
			form.Set(field[1], field[2])
		}
		return posted(t, w.client, s.issuer+"/login", "application/x-www-form-urlencoded", form.Encode())
	}
	register := func(address string) *http.Response {
		return posted(t, &http.Client{Transport: forwarding{address}}, s.issuer+"/register", "application/json", `{"client_name":"A","redirect_uris":["http://127.0.0.1/"]}`)
	}
	for name, try := range map[string]struct {
		once func() *http.Response
		good int
	}{
		"sign-in":      {func() *http.Response { return attempt("198.51.100.7", password) }, http.StatusSeeOther},
		"registration": {func() *http.Response { return register("198.51.100.7") }, http.StatusCreated},
	} {
		for range 2 {
			if res := try.once(); res.StatusCode != try.good {
				t.Errorf("%s within the limit: %d", name, res.StatusCode)
			}
		}
		if res := try.once(); res.StatusCode != http.StatusTooManyRequests || res.Header.Get("Retry-After") == "" {
			t.Errorf("%s beyond the limit: %d %v", name, res.StatusCode, res.Header)
		}
	}
	if res := register("198.51.100.8"); res.StatusCode != http.StatusCreated {
		t.Errorf("registration from another address: %d", res.StatusCode)
	}
	_, counts, _ := get(t, s.admin+"/metrics")
	for _, e := range events(t) {
		if !strings.Contains(counts, `runpython_auth_events_total{event="`+e+`"} `) {
			t.Errorf("the event %s is counted as something else", e)
		}
	}
	for _, line := range []string{`{limit="signed_in"} 1`, `{limit="client_registered"} 1`, `{limit="client_fetched"} 0`} {
		if !strings.Contains(counts, "runpython_refused_total"+line+"\n") {
			t.Errorf("the metrics do not have %s", line)
		}
	}
	for i := range 5 {
		if res := attempt("", "wrong"); res.StatusCode != http.StatusUnprocessableEntity {
			t.Errorf("wrong password %d: %d", i, res.StatusCode)
		}
	}
	if res := attempt("", password); res.StatusCode != http.StatusTooManyRequests || res.Header.Get("Retry-After") == "" {
		t.Errorf("after five wrong passwords from loopback: %d %v", res.StatusCode, res.Header)
	}
}

// posted posts a body and returns the answer without its own.
func posted(t *testing.T, client *http.Client, address, kind, body string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", kind)
	res, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := res.Body.Close(); err != nil {
		t.Error(err)
	}
	return res
}
