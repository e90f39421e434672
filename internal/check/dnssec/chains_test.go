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

// A chain is a toy tree in which something is as it should be, or not.
type chain struct {
	name, host string
	want       dnssec.State
	says       string
	change     func(root, tld, leaf *zone)
	more       *zone
}

func (c chain) tree(t *testing.T) *tree {
	t.Helper()
	all := zones(c.change)
	if c.more != nil {
		all = append(all, c.more)
	}
	return newTree(t, all...)
}

func ds(kind string) func(root, tld, leaf *zone) {
	return func(_, _, leaf *zone) { leaf.ds = kind }
}

func chains() []chain {
	other := func() *zone {
		return &zone{name: "b.test.", algorithm: ec, records: []string{"www.b.test. 60 IN A 192.0.2.3"}}
	}
	return []chain{
		{"signed", "www.a.test", dnssec.Secure, "signed from the root", nil, nil},
		{"IPv6 only", "six.a.test", dnssec.Secure, "", nil, nil},
		{"empty label between", "x.y.a.test", dnssec.Secure, "", nil, nil},
		{"NSEC3", "x.y.a.test", dnssec.Secure, "", func(_, tld, leaf *zone) { tld.nsec3, leaf.nsec3 = true, true }, nil},
		{"alias within", "here.a.test", dnssec.Secure, "", nil, nil},
		{"alias across zones", "alias.a.test", dnssec.Secure, "", nil, other()},
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
		{"keys of two kinds", "www.a.test", dnssec.Secure, "", func(root, tld, leaf *zone) { root.split, tld.split, leaf.split = true, true, true }, nil},
		{"the DS names the new key of two", "www.a.test", dnssec.Secure, "", func(_, _, leaf *zone) { leaf.more, leaf.ds = ec, "second" }, nil},
		{"the DS names both keys", "www.a.test", dnssec.Secure, "", func(_, _, leaf *zone) { leaf.more, leaf.ds = ec, "both" }, nil},
		{"algorithm rollover, old DS", "www.a.test", dnssec.Secure, "", func(_, _, leaf *zone) { leaf.algorithm, leaf.more = dns.RSASHA256, ec }, nil},
		{"algorithm rollover, both DS", "www.a.test", dnssec.Secure, "", func(_, _, leaf *zone) { leaf.algorithm, leaf.more, leaf.ds = dns.RSASHA256, ec, "both" }, nil},
		{"algorithm rollover, new DS", "www.a.test", dnssec.Secure, "", func(_, _, leaf *zone) { leaf.algorithm, leaf.more, leaf.ds = dns.RSASHA256, ec, "second" }, nil},
		{"SHA-1 beside another", "www.a.test", dnssec.Secure, "", func(_, _, leaf *zone) { leaf.algorithm, leaf.more, leaf.ds = dns.RSASHA1, ec, "both" }, nil},
		{"P-384", "www.a.test", dnssec.Secure, "", func(_, _, leaf *zone) { leaf.algorithm = dns.ECDSAP384SHA384 }, nil},
		{"RSA with SHA-512", "www.a.test", dnssec.Secure, "", func(_, tld, leaf *zone) { tld.algorithm, leaf.algorithm = dns.RSASHA512, dns.RSASHA512 }, nil},
		{"an unknown algorithm beside", "www.a.test", dnssec.Secure, "", ds("unknown beside"), nil},
		{"an unknown algorithm alone", "www.a.test", dnssec.Insecure, "not trusted", ds("unknown"), nil},
		{"an unknown digest alone", "www.a.test", dnssec.Insecure, "not trusted", ds("unknown digest"), nil},
		{"a DS by SHA-1 alone", "www.a.test", dnssec.Insecure, "not trusted", ds("SHA-1"), nil},
		{"a DS of an algorithm without a key", "www.a.test", dnssec.Bogus, "no key of a.test.", ds("absent"), nil},
		{"the key of the name only expired", "www.a.test", dnssec.Bogus, "another time", func(_, tld, _ *zone) {
			tld.inception, tld.expiration = now.Add(-48*time.Hour), now.Add(-24*time.Hour)
		}, nil},
		{"opt-out where all is signed", "www.a.test", dnssec.Secure, "", func(_, tld, _ *zone) { tld.nsec3, tld.optOut = true, true }, nil},
		{"alias across zones to a bogus one", "alias.a.test", dnssec.Bogus, "no key of b.test.", nil, &zone{name: "b.test.", algorithm: ec, ds: "wrong", records: []string{"www.b.test. 60 IN A 192.0.2.3"}}},
	}
}

func TestStates(t *testing.T) {
	for _, c := range chains() {
		t.Run(c.name, func(t *testing.T) {
			r := c.tree(t).validate(c.host)
			if r.State != c.want || !strings.Contains(r.Reason, c.says) {
				t.Errorf("%s is %s: %s; want %s with %q; zones %+v", c.host, r.State, r.Reason, c.want, c.says, r.Zones)
			}
			if alias := strings.HasPrefix(c.name, "alias to"); r.Alias != alias {
				t.Errorf("Alias is %t", r.Alias)
			}
		})
	}
}

// Clients connect to either address, so both kinds must be signed.
func TestBothKindsOfAddresses(t *testing.T) {
	for strip, want := range map[uint16]dnssec.State{0: dnssec.Secure, dns.TypeA: dnssec.Bogus, dns.TypeAAAA: dnssec.Bogus} {
		r := newTree(t, zones(func(_, _, leaf *zone) {
			leaf.records = append(leaf.records, "www.a.test. 60 IN AAAA 2001:db8::2")
			leaf.strip = strip
		})...).validate("www.a.test")
		if r.State != want {
			t.Errorf("without signatures of %s it is %s: %s; want %s", dns.TypeToString[strip], r.State, r.Reason, want)
		}
	}
}
