// Package dnssec follows the chain of signatures from the root of the DNS to the addresses of a name.
//
// A resolver is only asked for records, with checking disabled; what they are worth is decided here, by anchors that are in
// the program. Whether the resolver says that it validated (the AD bit) is told and changes nothing.
//
// # Trust
//
// Answers are hostile: of the resolver, of whoever is between, of the zones. How many records, keys, signatures, aliases and
// queries are looked at is bounded, so that no zone can make validation expensive.
//
// # Failure
//
// There are no errors: a chain that could not be followed is [Indeterminate], with the reason.
package dnssec

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/miekg/dns"
)

const (
	maxAliases    = 8   // CNAMEs that are followed
	maxQueries    = 100 // of one validation
	maxRecords    = 200 // of one answer
	maxKeys       = 20  // of a zone
	maxSignatures = 8   // that are tried of one set of records
	maxDS         = 10
	maxIterations = 100 // of NSEC3; beyond them a zone counts as insecure (RFC 9276, 3.2)
)

// A State is what a chain is worth (RFC 4033, 5).
type State string

// The states.
const (
	Secure        State = "secure"
	Insecure      State = "insecure" // proven: a zone is not signed, or only in ways that are not trusted
	Bogus         State = "bogus"    // what must be signed is not, or not rightly
	Indeterminate State = "indeterminate"
)

// A Resolver answers queries.
type Resolver interface {
	// Exchange returns the answer to a query, whole.
	Exchange(ctx context.Context, q *dns.Msg) (*dns.Msg, error)
}

// A Result is what became of a name.
type Result struct {
	State  State
	Reason string
	// Alias: the name itself is secure, and an alias leads to one that is not.
	Alias bool
	Zones []Zone // from the root down, those of aliases after them
	AD    bool   // what the resolver says
}

// A Zone is one step of the chain.
type Zone struct {
	Name  string
	State State
	DS    []string // as in "20326, algorithm 8, digest 2"
	Keys  []string // as in "20326, algorithm 8"
	Note  string
}

// A Validator validates names. It is safe for concurrent use if its Resolver is.
type Validator struct {
	Resolver Resolver
	Anchors  []*dns.DS // of the root
	Now      time.Time // at which signatures must be valid; zero: when they are looked at
}

// RootAnchors returns the keys of the root that are trusted: of 2017 and of 2024 (IANA's root-anchors.xml).
func RootAnchors() []*dns.DS {
	ds := func(tag uint16, digest string) *dns.DS {
		return &dns.DS{
			Hdr:    dns.RR_Header{Name: ".", Rrtype: dns.TypeDS, Class: dns.ClassINET},
			KeyTag: tag, Algorithm: dns.RSASHA256, DigestType: dns.SHA256, Digest: digest,
		}
	}
	return []*dns.DS{
		ds(20326, "e06d44b80b8f1d39a95c0b0d7c65d08458e880409bbc683457104237c7f8ec8d"),
		ds(38696, "683d2d0acb8c9b712a1948b27f741219298d0a450d612c483af444a4c0fb2b16"),
	}
}

// A verdictError ends a chain before the name is reached.
type verdictError struct {
	state  State
	reason string
}

// Error says both.
func (v *verdictError) Error() string { return string(v.state) + ": " + v.reason }

func verdictf(s State, format string, args ...any) error {
	return &verdictError{s, fmt.Sprintf(format, args...)}
}

// A walk is one validation.
type walk struct {
	v       *Validator
	result  Result
	queries int
}

// Validate follows the chain of a name.
func (v *Validator) Validate(ctx context.Context, name string) Result {
	w := &walk{v: v}
	name = dns.CanonicalName(name)
	for hop := range maxAliases + 1 {
		next, err := w.name(ctx, name)
		if err != nil {
			w.result.State, w.result.Reason = Indeterminate, err.Error()
			if v, ok := errors.AsType[*verdictError](err); ok {
				w.result.State, w.result.Reason = v.state, v.reason
			}
			w.result.Alias = hop > 0 && w.result.State == Insecure
			return w.result
		}
		if next == "" {
			w.result.State, w.result.Reason = Secure, "signed from the root to "+name
			return w.result
		}
		name = next
	}
	w.result.State, w.result.Reason = Indeterminate, fmt.Sprintf("more than %d aliases", maxAliases)
	return w.result
}

// name follows the chain to one name and returns the one that it is an alias of, or "".
func (w *walk) name(ctx context.Context, name string) (string, error) {
	zone, err := w.root(ctx)
	if err != nil {
		return "", err
	}
	labels := dns.SplitDomainName(name)
	for i := range slices.Backward(labels) {
		child := dns.Fqdn(strings.Join(labels[i:], "."))
		next, err := w.cut(ctx, zone, child)
		if err != nil {
			return "", err
		}
		if next != nil {
			zone = next
		}
	}
	return w.leaf(ctx, zone, name)
}

// A signedZone is one whose keys are trusted.
type signedZone struct {
	name string
	keys []*dns.DNSKEY
}

func (w *walk) root(ctx context.Context) (*signedZone, error) {
	return w.keys(ctx, ".", w.v.Anchors)
}

// keys returns a zone whose keys are signed by one of those that the DS records name.
func (w *walk) keys(ctx context.Context, name string, trusted []*dns.DS) (*signedZone, error) {
	step := Zone{Name: name, State: Bogus}
	defer func() { w.result.Zones = append(w.result.Zones, step) }()
	usable := false
	for _, ds := range trusted[:min(len(trusted), maxDS)] {
		step.DS = append(step.DS, fmt.Sprintf("%d, algorithm %d, digest %d", ds.KeyTag, ds.Algorithm, ds.DigestType))
		usable = usable || supported(ds)
	}
	if !usable {
		step.State, step.Note = Insecure, "none of its algorithms is trusted: SHA-1, or unknown"
		return nil, verdictf(Insecure, "%s is signed only by algorithms that are not trusted (RFC 4035, 5.2)", name)
	}
	a, err := w.ask(ctx, name, dns.TypeDNSKEY)
	if err != nil {
		step.State = Indeterminate
		return nil, err
	}
	set := recordsOf(a.Answer, name, dns.TypeDNSKEY)
	zone := &signedZone{name, usableKeys(set)}
	var entry []*dns.DNSKEY
	for _, key := range zone.keys {
		step.Keys = append(step.Keys, fmt.Sprintf("%d, algorithm %d", key.KeyTag(), key.Algorithm))
		if slices.ContainsFunc(trusted[:min(len(trusted), maxDS)], func(ds *dns.DS) bool { return matches(ds, key) }) {
			entry = append(entry, key)
		}
	}
	switch {
	case len(set) == 0 && name == ".":
		step.State = Indeterminate
		return nil, verdictf(Indeterminate, "the resolver does not give the keys of the root")
	case len(entry) == 0:
		return nil, verdictf(Bogus, "no key of %s is one that its parent names", name)
	}
	if len(recordsOf(a.Answer, name, dns.TypeRRSIG)) == 0 && name == "." {
		step.State = Indeterminate
		return nil, verdictf(Indeterminate, "the resolver leaves out signatures; --resolver names another")
	}
	if why := w.verify(&signedZone{name, entry}, a.Answer, set); why != "" {
		return nil, verdictf(Bogus, "the keys of %s: %s", name, why)
	}
	step.State = Secure
	return zone, nil
}

// usableKeys returns the keys that may sign a zone (RFC 4034, 2.1; RFC 5011, 2.1).
func usableKeys(set []dns.RR) []*dns.DNSKEY {
	var keys []*dns.DNSKEY
	for _, rr := range set[:min(len(set), maxKeys)] {
		key, ok := rr.(*dns.DNSKEY)
		if ok && key.Flags&dns.ZONE != 0 && key.Flags&dns.REVOKE == 0 && key.Protocol == 3 {
			keys = append(keys, key)
		}
	}
	return keys
}

// supported reports whether a DS is one that can be validated by. SHA-1 is not trusted in signatures any more (RFC 9905).
func supported(ds *dns.DS) bool {
	digest := ds.DigestType == dns.SHA256 || ds.DigestType == dns.SHA384
	return digest && algorithmSupported(ds.Algorithm)
}

func algorithmSupported(a uint8) bool {
	return slices.Contains([]uint8{dns.RSASHA256, dns.RSASHA512, dns.ECDSAP256SHA256, dns.ECDSAP384SHA384, dns.ED25519}, a)
}

// matches reports whether a DS names a key.
func matches(ds *dns.DS, key *dns.DNSKEY) bool {
	if !supported(ds) || ds.Algorithm != key.Algorithm || ds.KeyTag != key.KeyTag() {
		return false
	}
	made := key.ToDS(ds.DigestType)
	return made != nil && strings.EqualFold(made.Digest, ds.Digest)
}

// cut looks whether a zone begins at child: the zone, if it is signed; nil, if none begins there; else a verdict.
func (w *walk) cut(ctx context.Context, parent *signedZone, child string) (*signedZone, error) {
	a, err := w.ask(ctx, child, dns.TypeDS)
	if err != nil {
		return nil, err
	}
	if set := recordsOf(a.Answer, child, dns.TypeDS); len(set) > 0 {
		if why := w.verify(parent, a.Answer, set); why != "" {
			return nil, verdictf(Bogus, "the DS records of %s: %s", child, why)
		}
		var all []*dns.DS
		for _, rr := range set {
			if ds, ok := rr.(*dns.DS); ok {
				all = append(all, ds)
			}
		}
		return w.keys(ctx, child, all)
	}
	if set := recordsOf(a.Answer, child, dns.TypeCNAME); len(set) > 0 {
		if why := w.verify(parent, a.Answer, set); why != "" {
			return nil, verdictf(Bogus, "the alias %s: %s", child, why)
		}
		return nil, nil //nolint:nilnil // where an alias is, no zone begins (RFC 1034, 3.6.2)
	}
	switch d := w.denial(parent, a.Ns, child); d.kind {
	case unsigned:
		w.result.Zones = append(w.result.Zones, Zone{Name: child, State: Insecure, Note: d.note})
		return nil, verdictf(Insecure, "%s is not signed, which %s proves (%s)", child, parent.name, d.note)
	case noCut:
		return nil, nil //nolint:nilnil // the same zone goes on
	default:
		return nil, verdictf(Bogus, "%s does not prove that %s has no DS: %s", parent.name, child, d.note)
	}
}

// leaf looks at the addresses of a name, or at what it is an alias of.
func (w *walk) leaf(ctx context.Context, zone *signedZone, name string) (string, error) {
	found := false
	for _, kind := range []uint16{dns.TypeA, dns.TypeAAAA} {
		a, err := w.ask(ctx, name, kind)
		if err != nil {
			return "", err
		}
		w.result.AD = a.AuthenticatedData
		set, alias := recordsOf(a.Answer, name, kind), recordsOf(a.Answer, name, dns.TypeCNAME)
		if len(set) == 0 {
			set = alias
		}
		if len(set) == 0 {
			continue
		}
		if why := w.verify(zone, a.Answer, set); why != "" {
			return "", verdictf(Bogus, "the addresses of %s: %s", name, why)
		}
		if w.expanded(a.Answer, set) && !w.denied(zone, a.Ns, name) {
			return "", verdictf(Bogus, "%s is made of a wildcard, and nothing proves that it does not exist itself", name)
		}
		if cname, ok := set[0].(*dns.CNAME); ok && len(alias) > 0 {
			return dns.CanonicalName(cname.Target), nil
		}
		found = true
	}
	if found {
		return "", nil
	}
	return "", verdictf(Indeterminate, "%s has no address", name)
}

// ask asks the resolver.
func (w *walk) ask(ctx context.Context, name string, kind uint16) (*dns.Msg, error) {
	if w.queries++; w.queries > maxQueries {
		return nil, verdictf(Indeterminate, "more than %d queries", maxQueries)
	}
	q := new(dns.Msg)
	q.SetQuestion(name, kind)
	q.SetEdns0(1232, true) // what fits into a packet anywhere
	q.CheckingDisabled = true
	a, err := w.v.Resolver.Exchange(ctx, q)
	switch {
	case err != nil:
		return nil, verdictf(Indeterminate, "the resolver does not answer about %s %s", name, dns.TypeToString[kind])
	case a.Rcode != dns.RcodeSuccess && a.Rcode != dns.RcodeNameError:
		return nil, verdictf(Indeterminate, "the resolver answers %s about %s %s", dns.RcodeToString[a.Rcode], name, dns.TypeToString[kind])
	case len(a.Answer)+len(a.Ns) > maxRecords:
		return nil, verdictf(Indeterminate, "the answer about %s %s has more than %d records", name, dns.TypeToString[kind], maxRecords)
	}
	return a, nil
}

// recordsOf returns the records of a name and a type.
func recordsOf(all []dns.RR, name string, kind uint16) []dns.RR {
	var set []dns.RR
	for _, rr := range all {
		if h := rr.Header(); h.Rrtype == kind && h.Class == dns.ClassINET && dns.CanonicalName(h.Name) == name {
			set = append(set, rr)
		}
	}
	return set
}

// signaturesOf returns the signatures of a set that are among all.
func signaturesOf(all, set []dns.RR) []*dns.RRSIG {
	var found []*dns.RRSIG
	h := set[0].Header()
	for _, rr := range recordsOf(all, dns.CanonicalName(h.Name), dns.TypeRRSIG) {
		if s, ok := rr.(*dns.RRSIG); ok && s.TypeCovered == h.Rrtype && len(found) < maxSignatures {
			found = append(found, s)
		}
	}
	return found
}

// verify returns why a set of records is not signed by the zone, or "". How many signatures are tried with how many keys is
// bounded (CVE-2023-50387).
func (w *walk) verify(zone *signedZone, all, set []dns.RR) string {
	why := "not signed"
	for _, s := range signaturesOf(all, set) {
		switch {
		case dns.CanonicalName(s.SignerName) != zone.name:
			why = "signed by " + dns.CanonicalName(s.SignerName) + ", not by " + zone.name
			continue
		case !s.ValidityPeriod(w.v.Now): // which takes zero for now
			why = "the signature is valid at another time"
			continue
		case !algorithmSupported(s.Algorithm):
			why = "signed by an algorithm that is not trusted"
			continue
		}
		why = "no key of " + zone.name + " made the signature"
		tried := 0
		for _, key := range zone.keys {
			if key.KeyTag() != s.KeyTag || key.Algorithm != s.Algorithm {
				continue
			}
			if tried++; tried > 2 { // keys of one tag are rare
				break
			}
			if s.Verify(key, set) == nil {
				return ""
			}
		}
	}
	return why
}

// expanded reports whether a set was made of a wildcard: its signature is of fewer labels than its name has.
func (w *walk) expanded(all, set []dns.RR) bool {
	name := set[0].Header().Name
	return slices.ContainsFunc(signaturesOf(all, set), func(s *dns.RRSIG) bool { return int(s.Labels) < dns.CountLabel(name) })
}
