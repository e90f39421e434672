package dnssec

import (
	"slices"
	"strings"

	"github.com/miekg/dns"
)

// What a proof about DS records says.
const (
	unproven = iota
	unsigned // a zone begins there, and it is not signed
	noCut    // no zone begins there
)

// A proof is what records of denial say of a name.
type proof struct {
	kind int
	note string
}

// denial reads what the parent's records prove about the DS records of child (RFC 4035, 5.2; RFC 5155, 8.6 and 8.9).
func (w *walk) denial(parent *signedZone, authority []dns.RR, child string) proof {
	why := "there are no records that could"
	for _, rr := range authority {
		name := dns.CanonicalName(rr.Header().Name)
		switch rr := rr.(type) {
		case *dns.NSEC:
			if p := w.nsec(parent, authority, rr, child); p.kind != unproven {
				return p
			} else if p.note != "" {
				why = p.note
			}
		case *dns.NSEC3:
			set := recordsOf(authority, name, dns.TypeNSEC3)
			if bad := w.verify(parent, authority, set); bad != "" {
				why = "NSEC3: " + bad
				continue
			}
			if p := nsec3(parent, rr, child); p.kind != unproven {
				return p
			}
		}
	}
	return proof{unproven, why}
}

// nsec reads one record.
func (w *walk) nsec(parent *signedZone, authority []dns.RR, rr *dns.NSEC, child string) proof {
	owner, next := dns.CanonicalName(rr.Hdr.Name), dns.CanonicalName(rr.NextDomain)
	match, cover := owner == child, covers(owner, next, child)
	if !match && !cover {
		return proof{}
	}
	if bad := w.verify(parent, authority, recordsOf(authority, owner, dns.TypeNSEC)); bad != "" {
		return proof{unproven, "NSEC: " + bad}
	}
	if match {
		return bitmap(rr.TypeBitMap, "NSEC")
	}
	// It does not exist, or has only names below it.
	return proof{noCut, "NSEC"}
}

// nsec3 reads one record whose signature is right.
func nsec3(parent *signedZone, rr *dns.NSEC3, child string) proof {
	if rr.Iterations > maxIterations {
		return proof{unsigned, "NSEC3 with more iterations than are computed"}
	}
	if rr.Match(child) {
		return bitmap(rr.TypeBitMap, "NSEC3")
	}
	// Of names that do not exist one closer to the zone may be what is covered.
	for name := child; name != parent.name && dns.IsSubDomain(parent.name, name); name = above(name) {
		if !rr.Cover(name) {
			continue
		}
		if rr.Flags&1 == 1 {
			return proof{unsigned, "NSEC3 with opt-out"}
		}
		return proof{noCut, "NSEC3"}
	}
	return proof{}
}

// above returns a name without its first label.
func above(name string) string {
	i, end := dns.NextLabel(name, 0)
	if end {
		return "."
	}
	return name[i:]
}

// bitmap reads which types a name has.
func bitmap(types []uint16, how string) proof {
	has := func(t uint16) bool { return slices.Contains(types, t) }
	switch {
	case has(dns.TypeDS):
		return proof{unproven, how + " says that there is a DS"}
	case has(dns.TypeSOA) && !has(dns.TypeNS):
		return proof{unproven, how + " is of no zone"}
	case has(dns.TypeSOA):
		return proof{unproven, how + " is of the child, which says nothing of its DS"}
	case has(dns.TypeNS):
		return proof{unsigned, how}
	}
	return proof{noCut, how}
}

// denied reports whether signed records prove that a name does not exist itself.
func (w *walk) denied(zone *signedZone, authority []dns.RR, name string) bool {
	for _, rr := range authority {
		owner := dns.CanonicalName(rr.Header().Name)
		found := false
		switch rr := rr.(type) {
		case *dns.NSEC:
			found = covers(owner, dns.CanonicalName(rr.NextDomain), name)
		case *dns.NSEC3:
			for n := name; !found && rr.Iterations <= maxIterations && n != zone.name && dns.IsSubDomain(zone.name, n); n = above(n) {
				found = rr.Cover(n)
			}
		}
		if found && w.verify(zone, authority, recordsOf(authority, owner, rr.Header().Rrtype)) == "" {
			return true
		}
	}
	return false
}

// covers reports whether a name is between two others in canonical order, of which the second may be the first of all.
func covers(owner, next, name string) bool {
	if compare(owner, next) < 0 {
		return compare(owner, name) < 0 && compare(name, next) < 0
	}
	return compare(owner, name) < 0 || compare(name, next) < 0
}

// compare orders names canonically (RFC 4034, 6.1). Both are in small letters.
func compare(a, b string) int {
	la, lb := dns.SplitDomainName(a), dns.SplitDomainName(b)
	slices.Reverse(la)
	slices.Reverse(lb)
	return slices.CompareFunc(la, lb, strings.Compare)
}
