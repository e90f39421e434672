package dnssec_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"runpython/internal/check/dnssec"
)

// overHTTPS serves the tree by HTTPS.
func (t *tree) overHTTPS(change func(w http.ResponseWriter, r *http.Request) bool) dnssec.ByHTTPS {
	t.t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if change != nil && change(w, r) {
			return
		}
		text, err := io.ReadAll(r.Body)
		q := new(dns.Msg)
		if err != nil || q.Unpack(text) != nil || r.Header.Get("Content-Type") != "application/dns-message" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		if text, err = t.answer(q).Pack(); err != nil {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/dns-message")
		_, _ = w.Write(text)
	}))
	t.t.Cleanup(server.Close)
	return dnssec.ByHTTPS{URL: server.URL + "/dns-query", Client: server.Client()}
}

func TestAResolverByHTTPS(t *testing.T) {
	asked := 0
	for name, c := range map[string]struct {
		change func(w http.ResponseWriter, r *http.Request) bool
		want   dnssec.State
	}{
		"answers": {nil, dnssec.Secure},
		"refuses": {func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(http.StatusForbidden); return true }, dnssec.Indeterminate},
		"sends on": {func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path == "/other" {
				asked++
			}
			http.Redirect(w, r, "/other", http.StatusTemporaryRedirect)
			return true
		}, dnssec.Indeterminate},
		"says something else": {func(w http.ResponseWriter, _ *http.Request) bool { _, _ = w.Write([]byte("hello")); return true }, dnssec.Indeterminate},
		"is no message": {func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Content-Type", "application/dns-message")
			_, _ = w.Write([]byte(strings.Repeat("x", 100)))
			return true
		}, dnssec.Indeterminate},
	} {
		t.Run(name, func(t *testing.T) {
			tree := newTree(t, zones(nil)...)
			v := dnssec.Validator{Resolver: tree.overHTTPS(c.change), Anchors: []*dns.DS{tree.zones[0].keys[0].ToDS(dns.SHA256)}, Now: now}
			if r := v.Validate(t.Context(), "www.a.test"); r.State != c.want {
				t.Errorf("it is %s: %s; want %s", r.State, r.Reason, c.want)
			}
		})
	}
	if asked > 0 {
		t.Errorf("%d questions went elsewhere", asked)
	}
}

func TestParseServer(t *testing.T) {
	for text, want := range map[string]string{
		"192.0.2.1": "192.0.2.1:53", "192.0.2.1:5353": "192.0.2.1:5353", "2001:db8::1": "[2001:db8::1]:53", "[2001:db8::1]:54": "[2001:db8::1]:54",
		"https://example.com/dns-query": "https://example.com/dns-query",
		"http://example.com/dns-query":  "", "https://a:b@example.com/": "", "example.com": "", "": "", "https://": "",
	} {
		got, err := dnssec.ParseServer(text)
		if got.Address != want || (err == nil) != (want != "") {
			t.Errorf("ParseServer(%q) = %q, %v; want %q", text, got.Address, err, want)
		}
	}
}

// A liar answers one of the questions with what it was told, and the others rightly.
type liar struct {
	tree *tree
	n    int
	lie  *dns.Msg
}

// Exchange implements dnssec.Resolver.
func (l *liar) Exchange(_ context.Context, q *dns.Msg) (*dns.Msg, error) {
	if l.n--; l.n == 0 {
		return l.lie, nil
	}
	return l.tree.answer(q), nil
}

// FuzzAnswers gives one answer of a chain other bytes. Whatever they are, no name becomes secure whose zone is not signed.
func FuzzAnswers(f *testing.F) {
	tree := newTree(f, zones(func(_, _, leaf *zone) { leaf.algorithm = 0 })...)
	for i, q := range []struct {
		name string
		kind uint16
	}{{".", dns.TypeDNSKEY}, {"test.", dns.TypeDS}, {"test.", dns.TypeDNSKEY}, {"a.test.", dns.TypeDS}, {"www.a.test.", dns.TypeA}} {
		text, err := tree.answer(new(dns.Msg).SetQuestion(q.name, q.kind)).Pack()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(i+1, text)
	}
	anchor := tree.zones[0].keys[0].ToDS(dns.SHA256)
	f.Fuzz(func(t *testing.T, n int, text []byte) {
		lie := new(dns.Msg)
		if lie.Unpack(text) != nil {
			return
		}
		v := dnssec.Validator{Resolver: &liar{tree, n, lie}, Anchors: []*dns.DS{anchor}, Now: now}
		if r := v.Validate(t.Context(), "www.a.test"); r.State == dnssec.Secure {
			t.Errorf("it is %s: %s, by the answer\n%s", r.State, r.Reason, lie)
		}
	})
}
