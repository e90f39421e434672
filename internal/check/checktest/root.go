package checktest

import (
	"context"
	"crypto"
	"testing"
	"time"

	"github.com/miekg/dns"
)

// A Zoning says what a root says of the names in it.
type Zoning int

// What becomes of a name.
const (
	Signed   Zoning = iota // the root has it itself, with an address
	Alias                  // it is an alias of other.net, which is proven not to be signed
	Unsigned               // its top-level domain is proven not to be signed
)

// A Root is a resolver that knows a signed root of its own, for DNSSEC without a network.
type Root struct {
	zoning Zoning
	key    *dns.DNSKEY
	signer crypto.Signer
}

// NewRoot returns one with a new key.
func NewRoot(t testing.TB, zoning Zoning) *Root {
	t.Helper()
	key := &dns.DNSKEY{
		Hdr:   dns.RR_Header{Name: ".", Rrtype: dns.TypeDNSKEY, Class: dns.ClassINET, Ttl: 60},
		Flags: 257, Protocol: 3, Algorithm: dns.ECDSAP256SHA256,
	}
	private, err := key.Generate(256)
	if err != nil {
		t.Fatal(err)
	}
	return &Root{zoning, key, private.(crypto.Signer)}
}

// Anchor names the root's key.
func (z *Root) Anchor() *dns.DS { return z.key.ToDS(dns.SHA256) }

// Exchange implements dnssec.Resolver.
func (z *Root) Exchange(_ context.Context, q *dns.Msg) (*dns.Msg, error) {
	a := new(dns.Msg).SetReply(q)
	name, kind := q.Question[0].Name, q.Question[0].Qtype
	h := dns.RR_Header{Name: name, Rrtype: dns.TypeA, Class: dns.ClassINET, Ttl: 60}
	switch {
	case kind == dns.TypeDNSKEY:
		a.Answer = z.sign(z.key)
	case kind == dns.TypeDS && (z.zoning == Unsigned || name == "net."):
		a.Ns = z.nsec(name, dns.TypeNS)
	case kind == dns.TypeDS:
		a.Ns = z.nsec(name, dns.TypeA)
	case z.zoning == Alias:
		h.Rrtype = dns.TypeCNAME
		a.Answer = z.sign(&dns.CNAME{Hdr: h, Target: "other.net."})
	default:
		a.Answer = z.sign(&dns.A{Hdr: h, A: []byte{127, 0, 0, 1}})
	}
	return a, nil
}

// sign returns a record with its signature.
func (z *Root) sign(rr dns.RR) []dns.RR {
	s := &dns.RRSIG{
		Algorithm: z.key.Algorithm, SignerName: ".", KeyTag: z.key.KeyTag(),
		Inception: uint32(time.Now().Add(-time.Hour).Unix()), Expiration: uint32(time.Now().Add(time.Hour).Unix()),
	}
	if err := s.Sign(z.signer, []dns.RR{rr}); err != nil {
		return nil
	}
	return []dns.RR{rr, s}
}

// nsec says that a name has records of a type and no others.
func (z *Root) nsec(name string, kind uint16) []dns.RR {
	return z.sign(&dns.NSEC{
		Hdr:        dns.RR_Header{Name: name, Rrtype: dns.TypeNSEC, Class: dns.ClassINET, Ttl: 60},
		NextDomain: "zone.", TypeBitMap: []uint16{kind, dns.TypeRRSIG, dns.TypeNSEC},
	})
}
