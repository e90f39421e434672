package dnssec_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"runpython/internal/check/dnssec"
)

// differs are the chains of which BIND thinks otherwise, and why that is so.
var differs = map[string]struct {
	theirs dnssec.State
	why    string
}{
	"SHA-1 alone":         {dnssec.Secure, "BIND 9.18 is older than RFC 9905, which takes the trust from SHA-1"},
	"a DS by SHA-1 alone": {dnssec.Secure, "the same"},
}

// TestDelvSaysTheSame has BIND's validator look at the same trees, by the same anchor, over the same sockets.
func TestDelvSaysTheSame(t *testing.T) {
	delv, err := exec.LookPath("delv")
	if err != nil {
		t.Skip("there is no delv (package bind9-dnsutils)")
	}
	all := chains()
	secure := all[0]
	for _, c := range all {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			sameVerdict(t, delv, c, c.tree(t))
		})
	}
	t.Run("a resolver that lies that all was validated", func(t *testing.T) {
		c := secure
		c.change = func(_, _, leaf *zone) { leaf.algorithm = 0 }
		tree := c.tree(t)
		tree.ad = true
		sameVerdict(t, delv, c, tree)
	})
	t.Run("truncated answers", func(t *testing.T) {
		tree := secure.tree(t)
		tree.big = true
		sameVerdict(t, delv, secure, tree)
	})
}

func sameVerdict(t *testing.T, delv string, c chain, tree *tree) {
	t.Helper()
	server := tree.serve()
	anchor := tree.zones[0].keys[0].ToDS(dns.SHA256)
	ours := (&dnssec.Validator{Resolver: server, Anchors: []*dns.DS{anchor}, Now: now}).Validate(t.Context(), c.host)
	theirs, said := ask(t, delv, server, anchor, c.host)
	want := ours.State
	if d, ok := differs[c.name]; ok {
		want = d.theirs
	}
	// What is not measured here, since only the resolver is to blame or there is no address, BIND does not validate either.
	if theirs != want && (ours.State != dnssec.Indeterminate || theirs == dnssec.Insecure) {
		t.Errorf("delv says %s, we say %s (%s):\n%s", theirs, ours.State, ours.Reason, said)
	}
}

// ask returns what delv thinks of a name.
func ask(t *testing.T, delv string, server dnssec.Server, anchor *dns.DS, host string) (dnssec.State, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	address, port, err := net.SplitHostPort(server.Address)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "anchor")
	text := fmt.Sprintf("trust-anchors { . static-ds %d %d %d \"%s\"; };\n", anchor.KeyTag, anchor.Algorithm, anchor.DigestType, anchor.Digest)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	kind := "A"
	if strings.HasPrefix(host, "six.") {
		kind = "AAAA"
	}
	// Its exit code says nothing of the verdict.
	out, err := exec.CommandContext(ctx, delv, "@"+address, "-p", port, "-a", file, "+root=.", "+vtrace", host, kind).CombinedOutput()
	said := string(out)
	switch {
	case strings.Contains(said, "; unsigned answer"):
		return dnssec.Insecure, said
	case strings.Contains(said, "resolution failed") || strings.Contains(said, "broken trust chain"):
		return dnssec.Bogus, said
	case strings.Contains(said, "; fully validated"):
		return dnssec.Secure, said
	}
	t.Fatalf("delv says nothing (%v):\n%s", err, said)
	return "", ""
}
