package dnssec_test

import (
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"runpython/internal/check/dnssec"
)

const ec = dns.ECDSAP256SHA256

// zones returns a root, test. below it, and a.test. with the host www, changed as a test wants.
func zones(change func(root, tld, leaf *zone)) []*zone {
	root := &zone{name: ".", algorithm: ec, records: []string{"test. 60 IN NS ns.test."}}
	tld := &zone{name: "test.", algorithm: ec, records: []string{"a.test. 60 IN NS ns.test.", "b.test. 60 IN NS ns.test.", "zz.test. 60 IN A 192.0.2.9"}}
	leaf := &zone{name: "a.test.", algorithm: ec, records: []string{"www.a.test. 60 IN A 192.0.2.1", "six.a.test. 60 IN AAAA 2001:db8::1", "x.y.a.test. 60 IN A 192.0.2.2", "alias.a.test. 60 IN CNAME www.b.test.", "here.a.test. 60 IN CNAME www.a.test."}}
	if change != nil {
		change(root, tld, leaf)
	}
	return []*zone{root, tld, leaf}
}

func TestStates(t *testing.T) {
	other := &zone{name: "b.test.", algorithm: ec, records: []string{"www.b.test. 60 IN A 192.0.2.3"}}
	for _, c := range []struct {
		name, host string
		want       dnssec.State
		says       string
		change     func(root, tld, leaf *zone)
		more       *zone
	}{
		{"signed", "www.a.test", dnssec.Secure, "signed from the root", nil, nil},
		{"IPv6 only", "six.a.test", dnssec.Secure, "", nil, nil},
		{"empty label between", "x.y.a.test", dnssec.Secure, "", nil, nil},
		{"NSEC3", "x.y.a.test", dnssec.Secure, "", func(_, tld, leaf *zone) { tld.nsec3, leaf.nsec3 = true, true }, nil},
		{"alias within", "here.a.test", dnssec.Secure, "", nil, nil},
		{"alias across zones", "alias.a.test", dnssec.Secure, "", nil, other},
		{"alias to an unsigned zone", "alias.a.test", dnssec.Insecure, "b.test. is not signed", nil, &zone{name: "b.test.", records: []string{"www.b.test. 60 IN A 192.0.2.3"}}},
		{"wildcard", "any.a.test", dnssec.Secure, "", func(_, _, leaf *zone) { leaf.records = append(leaf.records, "*.a.test. 60 IN A 192.0.2.7") }, nil},
		{"wildcard of NSEC3", "any.a.test", dnssec.Secure, "", func(_, _, leaf *zone) {
			leaf.nsec3 = true
			leaf.records = append(leaf.records, "*.a.test. 60 IN A 192.0.2.7")
		}, nil},
		{"key roll", "www.a.test", dnssec.Secure, "", func(_, _, leaf *zone) { leaf.ds = "old and new" }, nil},
		{"Ed25519", "www.a.test", dnssec.Secure, "", func(_, _, leaf *zone) { leaf.algorithm = dns.ED25519 }, nil},

		{"not signed, NSEC", "www.a.test", dnssec.Insecure, "which test. proves (NSEC)", func(_, _, leaf *zone) { leaf.algorithm = 0 }, nil},
		{"not signed, NSEC3", "www.a.test", dnssec.Insecure, "(NSEC3)", func(_, tld, leaf *zone) { tld.nsec3, leaf.algorithm = true, 0 }, nil},
		{"not signed, opt-out", "www.a.test", dnssec.Insecure, "opt-out", func(_, tld, leaf *zone) { tld.nsec3, tld.optOut, leaf.algorithm = true, true, 0 }, nil},
		{"signed without DS", "www.a.test", dnssec.Insecure, "a.test. is not signed", func(_, _, leaf *zone) { leaf.ds = "none" }, nil},
		{"SHA-1 alone", "www.a.test", dnssec.Insecure, "algorithms that are not trusted", func(_, _, leaf *zone) { leaf.algorithm = dns.RSASHA1 }, nil},
		{"300 iterations", "www.a.test", dnssec.Insecure, "iterations", func(_, tld, leaf *zone) { tld.nsec3, tld.iterations, leaf.algorithm = true, 300, 0 }, nil},

		{"wrong DS", "www.a.test", dnssec.Bogus, "no key of a.test.", func(_, _, leaf *zone) { leaf.ds = "wrong" }, nil},
		{"expired", "www.a.test", dnssec.Bogus, "another time", func(_, _, leaf *zone) {
			leaf.inception, leaf.expiration = now.Add(-48*time.Hour), now.Add(-24*time.Hour)
		}, nil},
		{"of the future", "www.a.test", dnssec.Bogus, "another time", func(_, _, leaf *zone) { leaf.inception, leaf.expiration = now.Add(24*time.Hour), now.Add(48*time.Hour) }, nil},
		{"expired proof", "www.a.test", dnssec.Bogus, "another time", func(_, tld, leaf *zone) {
			tld.inception, tld.expiration, leaf.algorithm = now.Add(-48*time.Hour), now.Add(-24*time.Hour), 0
		}, nil},
		{"addresses without signatures", "www.a.test", dnssec.Bogus, "not signed", func(_, _, leaf *zone) { leaf.strip = dns.TypeA }, nil},
		{"DS without signatures", "www.a.test", dnssec.Bogus, "DS records", func(_, tld, _ *zone) { tld.strip = dns.TypeDS }, nil},
		{"DS taken out", "www.a.test", dnssec.Bogus, "does not prove", func(_, tld, _ *zone) {
			tld.change = func(all []dns.RR) []dns.RR {
				if len(all) > 0 && all[0].Header().Rrtype == dns.TypeDS {
					return nil
				}
				return all
			}
		}, nil},
		{"another address", "www.a.test", dnssec.Bogus, "no key of a.test. made", func(_, _, leaf *zone) {
			leaf.change = func(all []dns.RR) []dns.RR {
				for i, rr := range all {
					if a, ok := rr.(*dns.A); ok {
						forged := *a
						forged.A = []byte{198, 51, 100, 1}
						all[i] = &forged
					}
				}
				return all
			}
		}, nil},
		{"unproven wildcard", "any.a.test", dnssec.Bogus, "wildcard", func(_, _, leaf *zone) {
			leaf.records = append(leaf.records, "*.a.test. 60 IN A 192.0.2.7")
			leaf.noProof = true
		}, nil},
		{"no address", "none.a.test", dnssec.Indeterminate, "no address", nil, nil},
		{"a circle of aliases", "c.a.test", dnssec.Indeterminate, "aliases", func(_, _, leaf *zone) { leaf.records = append(leaf.records, "c.a.test. 60 IN CNAME c.a.test.") }, nil},
		{"a resolver that strips", "www.a.test", dnssec.Indeterminate, "leaves out signatures", func(root, _, _ *zone) { root.strip = dns.TypeDNSKEY }, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			all := zones(c.change)
			if c.more != nil {
				all = append(all, c.more)
			}
			r := newTree(t, all...).validate(c.host)
			if r.State != c.want || !strings.Contains(r.Reason, c.says) {
				t.Errorf("%s is %s: %s; want %s with %q; zones %+v", c.host, r.State, r.Reason, c.want, c.says, r.Zones)
			}
			if alias := strings.HasPrefix(c.name, "alias to"); r.Alias != alias {
				t.Errorf("Alias is %t", r.Alias)
			}
		})
	}
}

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
	if r := tree.validate("www.a.test"); r.State != dnssec.Secure || tree.tcp == 0 {
		t.Errorf("it is %s: %s, with %d answers by TCP", r.State, r.Reason, tree.tcp)
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
