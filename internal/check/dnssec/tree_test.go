package dnssec_test

import (
	"context"
	"crypto"
	"encoding/base32"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"runpython/internal/check/dnssec"
)

// now is when the tree is looked at.
var now = time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)

// A zone is one of the toy tree, signed as a test wants it.
type zone struct {
	name       string
	records    []string // as in zone files; delegations by NS, aliases, addresses
	algorithm  uint8    // 0: not signed
	nsec3      bool
	optOut     bool
	iterations uint16
	ds         string // of it in its parent: "" right, "none", "wrong", "old and new"
	inception  time.Time
	expiration time.Time
	strip      uint16                      // signatures of this type are left out
	noProof    bool                        // that what a wildcard is used for does not exist
	change     func(all []dns.RR) []dns.RR // of what is answered from it

	key    *dns.DNSKEY
	signer crypto.Signer
	rrs    []dns.RR
}

// A tree answers for all its zones, as a resolver does.
type tree struct {
	t     *testing.T
	zones []*zone
	ad    bool // lie that everything was validated
	big   bool // UDP answers are truncated

	tcp int
}

func newTree(t *testing.T, zones ...*zone) *tree {
	t.Helper()
	tree := &tree{t: t, zones: zones}
	for _, z := range zones {
		if z.inception.IsZero() {
			z.inception, z.expiration = now.Add(-24*time.Hour), now.Add(24*time.Hour)
		}
		z.add(t, z.name+" 60 IN SOA ns.test. h.test. 1 2 3 4 5")
		for _, text := range z.records {
			z.add(t, text)
		}
		if z.algorithm == 0 {
			continue
		}
		z.key = &dns.DNSKEY{Hdr: dns.RR_Header{Name: z.name, Rrtype: dns.TypeDNSKEY, Class: dns.ClassINET, Ttl: 60}, Flags: 257, Protocol: 3, Algorithm: z.algorithm}
		bits := 256
		if z.algorithm == dns.RSASHA1 {
			bits = 1024
		}
		private, err := z.key.Generate(bits)
		if err != nil {
			t.Fatal(err)
		}
		z.signer = private.(crypto.Signer)
		z.rrs = append(z.rrs, z.key)
	}
	for _, z := range zones {
		parent := tree.parent(z.name)
		if z.key == nil || parent == nil || z.ds == "none" {
			continue
		}
		ds := z.key.ToDS(dns.SHA256)
		ds.Hdr.Ttl = 60
		if z.ds == "wrong" {
			ds.Digest = strings.Repeat("00", 32)
		}
		parent.rrs = append(parent.rrs, ds)
		if z.ds == "old and new" {
			old := *ds
			old.KeyTag++
			old.Digest = strings.Repeat("11", 32)
			parent.rrs = append(parent.rrs, &old)
		}
	}
	return tree
}

func (z *zone) add(t *testing.T, text string) {
	t.Helper()
	rr, err := dns.NewRR(text)
	if err != nil {
		t.Fatal(err)
	}
	z.rrs = append(z.rrs, rr)
}

// of returns the deepest zone that a name is in, and parent the one above a zone.
func (t *tree) of(name string) *zone {
	var found *zone
	for _, z := range t.zones {
		if dns.IsSubDomain(z.name, name) && (found == nil || dns.CountLabel(z.name) > dns.CountLabel(found.name)) {
			found = z
		}
	}
	return found
}

func (t *tree) parent(name string) *zone {
	if name == "." {
		return nil
	}
	i, end := dns.NextLabel(name, 0)
	if end {
		return t.of(".")
	}
	return t.of(name[i:])
}

func (t *tree) answer(q *dns.Msg) *dns.Msg {
	a := new(dns.Msg)
	a.SetReply(q)
	a.AuthenticatedData = t.ad
	name, kind := dns.CanonicalName(q.Question[0].Name), q.Question[0].Qtype
	z := t.of(name)
	if kind == dns.TypeDS {
		z = t.parent(name)
	}
	if z == nil {
		return a
	}
	set := z.set(name, kind)
	if len(set) == 0 && kind != dns.TypeDS {
		set = z.set(name, dns.TypeCNAME)
	}
	if len(set) == 0 && !z.has(name) && kind != dns.TypeDS {
		for _, rr := range z.set("*."+z.name, kind) { // a wildcard
			rr = dns.Copy(rr)
			set = append(set, rr)
		}
		if len(set) > 0 {
			signed := z.signed(set)
			for _, rr := range signed {
				rr.Header().Name = name
			}
			a.Answer = signed
			if !z.noProof {
				a.Ns = z.denial(name)
			}
			return a
		}
	}
	if len(set) > 0 {
		a.Answer = z.changed(z.signed(set))
		return a
	}
	a.Ns = z.changed(z.denial(name))
	return a
}

func (z *zone) changed(all []dns.RR) []dns.RR {
	if z.change != nil {
		return z.change(all)
	}
	return all
}

func (z *zone) set(name string, kind uint16) []dns.RR {
	var set []dns.RR
	for _, rr := range z.rrs {
		if rr.Header().Rrtype == kind && dns.CanonicalName(rr.Header().Name) == name {
			set = append(set, rr)
		}
	}
	return set
}

func (z *zone) has(name string) bool {
	return slices.ContainsFunc(z.rrs, func(rr dns.RR) bool { return dns.IsSubDomain(name, rr.Header().Name) })
}

func (z *zone) signed(set []dns.RR) []dns.RR {
	out := slices.Clone(set)
	if z.signer == nil || set[0].Header().Rrtype == z.strip {
		return out
	}
	s := &dns.RRSIG{
		Hdr: dns.RR_Header{Ttl: 60}, Algorithm: z.algorithm, SignerName: z.name, KeyTag: z.key.KeyTag(),
		Inception: uint32(z.inception.Unix()), Expiration: uint32(z.expiration.Unix()),
	}
	if err := s.Sign(z.signer, set); err != nil {
		panic(err)
	}
	return append(out, s)
}

// types returns those of a name in the zone.
func (z *zone) types(name string) []uint16 {
	types := []uint16{dns.TypeRRSIG}
	for _, rr := range z.rrs {
		if dns.CanonicalName(rr.Header().Name) == name && !slices.Contains(types, rr.Header().Rrtype) {
			types = append(types, rr.Header().Rrtype)
		}
	}
	slices.Sort(types)
	return types
}

// denial returns the signed record that matches or covers a name.
func (z *zone) denial(name string) []dns.RR {
	if z.signer == nil {
		return nil
	}
	owners := map[string]string{} // by where they stand in the chain
	for _, rr := range z.rrs {
		owner := dns.CanonicalName(rr.Header().Name)
		delegation := len(z.set(owner, dns.TypeNS)) > 0 && owner != z.name && len(z.set(owner, dns.TypeDS)) == 0
		if z.nsec3 && (!z.optOut || !delegation) {
			owners[dns.HashName(owner, dns.SHA1, z.iterations, "ab")] = owner
		} else if !z.nsec3 {
			owners[owner] = owner
		}
	}
	place := name
	order := canonical
	if z.nsec3 {
		place, order = dns.HashName(name, dns.SHA1, z.iterations, "ab"), strings.Compare
	}
	var chain []string
	for p := range owners {
		chain = append(chain, p)
	}
	slices.SortFunc(chain, order)
	i := len(chain) - 1 // the last one covers what is before the first
	for j, p := range chain {
		if order(p, place) <= 0 {
			i = j
		}
	}
	at, next := chain[i], chain[(i+1)%len(chain)]
	h := dns.RR_Header{Class: dns.ClassINET, Ttl: 60, Name: at, Rrtype: dns.TypeNSEC}
	types := z.types(owners[at])
	if !z.nsec3 {
		types = append(types, dns.TypeNSEC)
		slices.Sort(types)
		return z.signed([]dns.RR{&dns.NSEC{Hdr: h, NextDomain: next, TypeBitMap: types}})
	}
	h.Name, h.Rrtype = strings.ToLower(at)+"."+strings.TrimPrefix(z.name, "."), dns.TypeNSEC3
	flags := uint8(0)
	if z.optOut {
		flags = 1
	}
	return z.signed([]dns.RR{&dns.NSEC3{
		Hdr: h, Hash: dns.SHA1, Flags: flags, Iterations: z.iterations, SaltLength: 1, Salt: "ab",
		HashLength: uint8(base32.HexEncoding.DecodedLen(len(next))), NextDomain: next, TypeBitMap: types,
	}})
}

// canonical orders names from their last label to their first.
func canonical(a, b string) int {
	la, lb := dns.SplitDomainName(a), dns.SplitDomainName(b)
	slices.Reverse(la)
	slices.Reverse(lb)
	return slices.Compare(la, lb)
}

// serve serves the tree by UDP and TCP until the test ends.
func (t *tree) serve() dnssec.Server {
	t.t.Helper()
	packets, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.t.Fatal(err)
	}
	listener, err := net.Listen("tcp", packets.LocalAddr().String())
	if err != nil {
		t.t.Fatal(err)
	}
	handle := func(udp bool) dns.HandlerFunc {
		return func(w dns.ResponseWriter, q *dns.Msg) {
			a := t.answer(q)
			if udp && t.big {
				a = new(dns.Msg).SetReply(q)
				a.Truncated = true
			}
			if !udp {
				t.tcp++
			}
			_ = w.WriteMsg(a)
		}
	}
	for _, s := range []*dns.Server{{PacketConn: packets, Handler: handle(true)}, {Listener: listener, Handler: handle(false)}} {
		started := make(chan struct{})
		s.NotifyStartedFunc = func() { close(started) }
		go func() { _ = s.ActivateAndServe() }()
		<-started
		t.t.Cleanup(func() { _ = s.Shutdown() })
	}
	return dnssec.Server{Address: packets.LocalAddr().String()}
}

func (t *tree) validate(name string) dnssec.Result {
	v := dnssec.Validator{Resolver: t.serve(), Anchors: []*dns.DS{t.zones[0].key.ToDS(dns.SHA256)}, Now: now}
	return v.Validate(context.Background(), name)
}
