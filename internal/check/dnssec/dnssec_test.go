package dnssec_test

import (
	"strings"
	"testing"

	"runpython/internal/check/dnssec"
)

func TestTheResolversWordChangesNothing(t *testing.T) {
	tree := newTree(t, zones(func(_, _, leaf *zone) { leaf.algorithm = 0 })...)
	tree.ad = true
	if r := tree.validate("www.a.test"); r.State != dnssec.Insecure {
		t.Errorf("it is %s: %s", r.State, r.Reason)
	}
}

func TestTruncatedAnswersAreAskedForByTCP(t *testing.T) {
	tree := newTree(t, zones(nil)...)
	tree.big = true
	if r := tree.validate("www.a.test"); r.State != dnssec.Secure || tree.tcp.Load() == 0 {
		t.Errorf("it is %s: %s, with %d answers by TCP", r.State, r.Reason, tree.tcp.Load())
	}
}

func TestZonesAreTold(t *testing.T) {
	r := newTree(t, zones(nil)...).validate("www.a.test")
	var names []string
	for _, z := range r.Zones {
		names = append(names, z.Name)
		if z.State != dnssec.Secure || len(z.Keys) != 1 || len(z.DS) != 1 {
			t.Errorf("zone %+v", z)
		}
	}
	if got := strings.Join(names, " "); got != ". test. a.test." {
		t.Errorf("the zones are %s", got)
	}
}

func TestNoAnswer(t *testing.T) {
	v := dnssec.Validator{Resolver: dnssec.Server{Address: "127.0.0.1:1"}, Anchors: dnssec.RootAnchors(), Now: now}
	if r := v.Validate(t.Context(), "www.a.test"); r.State != dnssec.Indeterminate {
		t.Errorf("it is %s: %s", r.State, r.Reason)
	}
}
