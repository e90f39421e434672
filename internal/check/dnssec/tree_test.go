package dnssec_test

import (
	"context"
	"crypto"
	"encoding/base32"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/miekg/dns"

	"runpython/internal/check/dnssec"
)

// now is when the tree is looked at. Another validator, which goes by the clock, looks at it too.
var now = time.Now().UTC().Truncate(time.Second)

// A zone is one of the toy tree, signed as a test wants it.
type zone struct {
	name       string
	records    []string // as in zone files; delegations by NS, aliases, addresses
	algorithm  uint8    // 0: not signed
	more       uint8    // the algorithm of a second key, which signs everything too; 0: there is none
	split      bool     // the key that the DS names signs keys alone, and another one the rest
	nsec3      bool
	optOut     bool
	iterations uint16
	ds         string // of it in its parent: "" right, "none", "wrong", "old and new", "second", "both", "unknown beside", "unknown", "unknown digest", "SHA-1", "absent"
	inception  time.Time
	expiration time.Time
	strip      uint16                      // signatures of this type are left out
	noProof    bool                        // that what a wildcard is used for does not exist
	change     func(all []dns.RR) []dns.RR // of what is answered from it

	keys []key
	rrs  []dns.RR
}

// A key is one of a zone.
type key struct {
	*dns.DNSKEY
	signer     crypto.Signer
	keys, rest bool // what it signs
}

// A tree answers for all its zones, as a resolver does.
type tree struct {
	t     testing.TB
	zones []*zone
	ad    bool // lie that everything was validated
	big   bool // UDP answers are truncated

	tcp atomic.Int32
}

func newTree(t testing.TB, zones ...*zone) *tree {
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
		z.addKeys(t)
	}
	for _, z := range zones {
		if parent := tree.parent(z.name); len(z.keys) > 0 && parent != nil {
			parent.rrs = append(parent.rrs, z.delegation()...)
		}
	}
	return tree
}

func (z *zone) addKeys(t testing.TB) {
	t.Helper()
	z.addKey(t, z.algorithm, 257)
	if z.split {
		z.keys[0].rest = false
		z.addKey(t, z.algorithm, 256)
		z.keys[1].keys = false
	}
	if z.more != 0 {
		z.addKey(t, z.more, 257)
	}
}

func (z *zone) addKey(t testing.TB, algorithm uint8, flags uint16) {
	t.Helper()
	k := &dns.DNSKEY{Hdr: dns.RR_Header{Name: z.name, Rrtype: dns.TypeDNSKEY, Class: dns.ClassINET, Ttl: 60}, Flags: flags, Protocol: 3, Algorithm: algorithm}
	bits := map[uint8]int{dns.RSASHA1: 1024, dns.RSASHA256: 2048, dns.RSASHA512: 2048, dns.ECDSAP384SHA384: 384}[algorithm]
	private, err := k.Generate(max(bits, 256))
	if err != nil {
		t.Fatal(err)
	}
	if k.KeyTag() == 0 { // one of 65,536, with which the library signs nothing
		z.addKey(t, algorithm, flags)
		return
	}
	z.keys = append(z.keys, key{k, private.(crypto.Signer), true, true})
	z.rrs = append(z.rrs, k)
}

// delegation returns the DS records of a zone.
func (z *zone) delegation() []dns.RR {
	ds := func(k key, digest uint8) *dns.DS {
		ds := k.ToDS(digest)
		ds.Hdr.Ttl = 60
		return ds
	}
	first, last := ds(z.keys[0], dns.SHA256), ds(z.keys[len(z.keys)-1], dns.SHA256)
	other := *first
	switch z.ds {
	case "none":
		return nil
	case "wrong":
		other.Digest = strings.Repeat("00", 32)
	case "old and new":
		other.KeyTag++
		other.Digest = strings.Repeat("11", 32)
		return []dns.RR{first, &other}
	case "second":
		return []dns.RR{last}
	case "both":
		return []dns.RR{first, last}
	case "unknown beside":
		other.Algorithm = 200
		return []dns.RR{first, &other}
	case "unknown":
		other.Algorithm = 200
	case "unknown digest":
		other.DigestType = 200
	case "SHA-1":
		return []dns.RR{ds(z.keys[0], dns.SHA1)}
	case "absent": // an algorithm of which the zone has no key
		other.Algorithm = dns.ED25519
	}
	return []dns.RR{&other}
}

func (z *zone) add(t testing.TB, text string) {
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
	a.RecursionAvailable = true
	a.AuthenticatedData = t.ad
	a.SetEdns0(1232, true)
	name, kind := dns.CanonicalName(q.Question[0].Name), q.Question[0].Qtype
	z := t.of(name)
	if kind == dns.TypeDS && t.parent(name) != nil {
		z = t.parent(name)
	}
	if z == nil {
		return a
	}
	t.fill(a, z, name, kind)
	// A resolver follows aliases.
	for range 10 {
		last, ok := lastOf(a.Answer).(*dns.CNAME)
		if !ok || kind == dns.TypeCNAME {
			break
		}
		target := dns.CanonicalName(last.Target)
		if z = t.of(target); z != nil {
			t.fill(a, z, target, kind)
		}
	}
	return a
}

// lastOf returns the last record that is no signature.
func lastOf(all []dns.RR) dns.RR {
	for _, rr := range slices.Backward(all) {
		if rr.Header().Rrtype != dns.TypeRRSIG {
			return rr
		}
	}
	return nil
}

// fill adds what a zone says of a name.
func (t *tree) fill(a *dns.Msg, z *zone, name string, kind uint16) {
	set := z.set(name, kind)
	if len(set) == 0 && kind != dns.TypeDS {
		set = z.set(name, dns.TypeCNAME)
	}
	if wild := z.set("*."+z.name, kind); len(set) == 0 && !z.has(name) && kind != dns.TypeDS && len(wild) > 0 {
		signed := z.signed(wild)
		for i, rr := range signed {
			signed[i] = dns.Copy(rr)
			signed[i].Header().Name = name
		}
		a.Answer = append(a.Answer, signed...)
		if !z.noProof {
			a.Ns = append(a.Ns, z.unlike(name)...)
		}
		return
	}
	if len(set) > 0 {
		a.Answer = append(a.Answer, z.changed(z.signed(set))...)
		return
	}
	if !z.has(name) {
		a.Rcode = dns.RcodeNameError
	}
	a.Ns = append(a.Ns, z.changed(append(z.denial(name), z.signed(z.set(z.name, dns.TypeSOA))...))...)
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
	kind := set[0].Header().Rrtype
	if kind == z.strip || kind == dns.TypeNS && set[0].Header().Name != z.name {
		return out
	}
	for _, k := range z.keys {
		if kind == dns.TypeDNSKEY && !k.keys || kind != dns.TypeDNSKEY && !k.rest {
			continue
		}
		s := &dns.RRSIG{
			Hdr: dns.RR_Header{Ttl: 60}, Algorithm: k.Algorithm, SignerName: z.name, KeyTag: k.KeyTag(),
			Inception: uint32(z.inception.Unix()), Expiration: uint32(z.expiration.Unix()),
		}
		if err := s.Sign(k.signer, set); err != nil {
			panic(err)
		}
		out = append(out, s)
	}
	return out
}

// types returns those of a name in the zone.
func (z *zone) types(name string) []uint16 {
	var types []uint16
	for _, rr := range z.rrs {
		if dns.CanonicalName(rr.Header().Name) == name && !slices.Contains(types, rr.Header().Rrtype) {
			types = append(types, rr.Header().Rrtype)
		}
	}
	if len(types) > 0 && !(len(types) == 1 && types[0] == dns.TypeNS) || !z.nsec3 { // NS of a delegation is not signed
		types = append(types, dns.TypeRRSIG)
	}
	slices.Sort(types)
	return types
}

// denial returns the signed records which prove that a name does not exist, or has no record of the type.
func (z *zone) denial(name string) []dns.RR {
	if len(z.keys) == 0 {
		return nil
	}
	if z.has(name) && !z.optedOut(name) {
		return z.links(name)
	}
	encloser, closer := z.enclosers(name)
	if !z.nsec3 {
		return z.links(name, "*."+strings.TrimPrefix(encloser, "."))
	}
	return z.links(encloser, closer, "*."+strings.TrimPrefix(encloser, "."))
}

// unlike returns what proves that a name which a wildcard stands for does not exist.
func (z *zone) unlike(name string) []dns.RR {
	if len(z.keys) == 0 {
		return nil
	}
	if _, closer := z.enclosers(name); z.nsec3 {
		return z.links(closer)
	}
	return z.links(name)
}

// enclosers returns the closest name above that exists, and the one below it on the way (RFC 5155, 1.3).
func (z *zone) enclosers(name string) (encloser, closer string) {
	for encloser = name; encloser != z.name && (!z.has(encloser) || z.optedOut(encloser)); {
		closer = encloser
		if i, end := dns.NextLabel(encloser, 0); end {
			encloser = "."
		} else {
			encloser = encloser[i:]
		}
	}
	return encloser, closer
}

// optedOut reports whether a name is a delegation that the chain leaves out.
func (z *zone) optedOut(name string) bool {
	return z.nsec3 && z.optOut && name != z.name && len(z.set(name, dns.TypeNS)) > 0 && len(z.set(name, dns.TypeDS)) == 0
}

// links returns those of the chain that match or cover names, each once.
func (z *zone) links(names ...string) []dns.RR {
	owners := map[string]string{} // by where they stand in the chain
	for _, rr := range z.rrs {
		owner := dns.CanonicalName(rr.Header().Name)
		if !z.nsec3 {
			owners[owner] = owner
			continue
		}
		for ; !z.optedOut(owner) && dns.IsSubDomain(z.name, owner); owner = owner[strings.IndexByte(owner, '.')+1:] { // with the empty names between
			owners[z.hash(owner)] = owner
			if owner == z.name {
				break
			}
		}
	}
	order := canonical
	if z.nsec3 {
		order = strings.Compare
	}
	var chain []string
	for p := range owners {
		chain = append(chain, p)
	}
	slices.SortFunc(chain, order)
	var all []dns.RR
	used := map[int]bool{}
	for _, name := range names {
		if z.nsec3 {
			name = z.hash(name)
		}
		i := len(chain) - 1 // the last one covers what is before the first
		for j, p := range chain {
			if order(p, name) <= 0 {
				i = j
			}
		}
		if !used[i] {
			all = append(all, z.link(chain[i], owners[chain[i]], chain[(i+1)%len(chain)])...)
		}
		used[i] = true
	}
	return all
}

func (z *zone) hash(name string) string { return dns.HashName(name, dns.SHA1, z.iterations, "ab") }

// link returns one of the chain, signed.
func (z *zone) link(at, owner, next string) []dns.RR {
	h := dns.RR_Header{Class: dns.ClassINET, Ttl: 60, Name: at, Rrtype: dns.TypeNSEC}
	types := z.types(owner)
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

// listen opens one port for both transports.
func (t *tree) listen() (net.PacketConn, net.Listener) {
	t.t.Helper()
	var last error
	for range 20 { // the port of the one may be taken for the other
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.t.Fatal(err)
		}
		packets, err := net.ListenPacket("udp", listener.Addr().String())
		if err == nil {
			return packets, listener
		}
		_ = listener.Close()
		last = err
	}
	t.t.Fatal(last)
	return nil, nil
}

// serve serves the tree by UDP and TCP until the test ends.
func (t *tree) serve() dnssec.Server {
	t.t.Helper()
	packets, listener := t.listen()
	handle := func(udp bool) dns.HandlerFunc {
		return func(w dns.ResponseWriter, q *dns.Msg) {
			a := t.answer(q)
			if udp && t.big {
				a = new(dns.Msg).SetReply(q)
				a.Truncated = true
			}
			if !udp {
				t.tcp.Add(1)
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
	v := dnssec.Validator{Resolver: t.serve(), Anchors: []*dns.DS{t.zones[0].keys[0].ToDS(dns.SHA256)}, Now: now}
	return v.Validate(context.Background(), name)
}
