package egress

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"runpython/internal/address"
)

// A Policy says which hosts and ports guests may reach. The zero value allows none. It
// does not change.
type Policy struct {
	rules []rule
}

// A rule allows a name, all names below one, or the addresses of a prefix.
type rule struct {
	name    string // of a name or wildcard: in small letters, without a dot at the end
	below   bool   // a wildcard: the names below name, or all names if that is ""
	numbers netip.Prefix
	port    uint16 // 0 for each of defaultPorts
}

// defaultPorts are meant by a rule without a port: those of http:// and https://.
var defaultPorts = []uint16{80, 443}

const (
	// policyRules is how many rules a policy may have.
	policyRules = 1000
	noneText    = "none"
)

// ParsePolicy reads a policy as --egress has it: "none" or "", or a list with commas of
//
//	api.example.com       that name, ports 80 and 443
//	api.example.com:8443  that port alone
//	*.example.org         every name below it, however many labels, but not example.org itself
//	*                     every name
//	10.0.0.5:8080         that address, also for names that lead to it
//	10.1.0.0/16, [fd00::1]:443, [fd00::/8]
//
// Addresses that are not public (private, loopback, link-local …) or the machine's own are
// reached only when they are in the list as numbers; those of cloud metadata only each by
// itself, not as part of a prefix. A name that is not ASCII is taken in its ASCII form (IDNA). An error
// is a sentence that says what to write.
func ParsePolicy(text string) (Policy, error) {
	text = strings.TrimSpace(text)
	if text == "" || text == noneText {
		return Policy{}, nil
	}
	var p Policy
	for entry := range strings.SplitSeq(text, ",") {
		entry = strings.TrimSpace(entry)
		r, err := parseRule(entry)
		if err != nil {
			return Policy{}, fmt.Errorf("egress %q: %w", entry, err)
		}
		if !slices.Contains(p.rules, r) {
			p.rules = append(p.rules, r)
		}
		if len(p.rules) > policyRules {
			return Policy{}, fmt.Errorf("egress: more than %d hosts; use wildcards (*.example.org) or prefixes (10.0.0.0/8)", policyRules)
		}
	}
	return p, nil
}

func parseRule(entry string) (rule, error) {
	switch {
	case entry == "":
		return rule{}, errors.New("there is nothing between two commas; write a host in between, or leave one out")
	case entry == noneText:
		return rule{}, errors.New("none stands alone; leave it or the hosts out")
	case strings.Contains(entry, "://"):
		return rule{}, errors.New("write host and port alone, without https:// and path, as in api.example.com:443")
	}
	host, port, err := splitRule(entry)
	if err != nil {
		return rule{}, err
	}
	r := rule{port: port}
	if strings.ContainsAny(host, "/:") {
		r.numbers, err = parsePrefix(host)
		return r, err
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		r.numbers = netip.PrefixFrom(addr, addr.BitLen())
		return r, nil
	}
	if host == "*" {
		r.below = true
		return r, nil
	}
	host, r.below = strings.CutPrefix(host, "*.")
	if strings.Contains(host, "*") {
		return rule{}, errors.New("a star stands for whole labels at the beginning, as in *.example.org")
	}
	r.name, err = policyName(host)
	return r, err
}

// splitRule takes the port off, which is 0 if there is none, and the brackets of an address.
func splitRule(entry string) (host string, port uint16, err error) {
	host, number, found := strings.Cut(entry, ":")
	if rest, ok := strings.CutPrefix(entry, "["); ok {
		var after string
		if host, after, ok = strings.Cut(rest, "]"); !ok || !strings.Contains(host, ":") {
			return "", 0, errors.New("brackets are for an IPv6 address, as in [2001:db8::1]:443")
		}
		if number, found = strings.CutPrefix(after, ":"); !found && after != "" {
			return "", 0, errors.New("a port follows the brackets after a colon, as in [2001:db8::1]:443")
		}
	} else if strings.Contains(number, ":") {
		return "", 0, errors.New("write an IPv6 address in brackets, as in [2001:db8::1]:443")
	}
	if !found {
		return host, 0, nil
	}
	n, err := strconv.ParseUint(number, 10, 16)
	if err != nil || n == 0 {
		return "", 0, fmt.Errorf("%q is no port; write a number from 1 to 65535 after the colon", number)
	}
	return host, uint16(n), nil
}

func parsePrefix(text string) (netip.Prefix, error) {
	var prefix netip.Prefix
	addr, err := netip.ParseAddr(text)
	if err == nil {
		prefix = netip.PrefixFrom(addr, addr.BitLen())
	} else if prefix, err = netip.ParsePrefix(text); err == nil {
		addr = prefix.Addr()
	} else {
		return netip.Prefix{}, errors.New("this is no address; write a host without a path, or a prefix of addresses, as in 10.0.0.0/8")
	}
	switch {
	case addr.Zone() != "":
		return netip.Prefix{}, errors.New("an address with a zone is of one machine's cable; leave the zone out")
	case addr.Is4In6():
		return netip.Prefix{}, errors.New("write the IPv4 address itself, as in " + addr.Unmap().String())
	case prefix != prefix.Masked():
		return netip.Prefix{}, errors.New("the address has bits behind the prefix; write " + prefix.Masked().String())
	}
	return prefix, nil
}

// None reports whether nothing may be reached.
func (p Policy) None() bool { return len(p.rules) == 0 }

// String returns the policy as ParsePolicy reads it.
func (p Policy) String() string {
	if p.None() {
		return noneText
	}
	entries := make([]string, len(p.rules))
	for i, r := range p.rules {
		entries[i] = r.String()
	}
	return strings.Join(entries, ",")
}

// String returns the rule as parseRule reads it.
func (r rule) String() string {
	host := r.name
	switch {
	case r.below && r.name == "":
		host = "*"
	case r.below:
		host = "*." + r.name
	case r.numbers.IsValid():
		host = r.numbers.String()
		if r.numbers.IsSingleIP() {
			host = r.numbers.Addr().String()
		}
		if r.numbers.Addr().Is6() {
			host = "[" + host + "]"
		}
	}
	if r.port == 0 {
		return host
	}
	return host + ":" + strconv.Itoa(int(r.port))
}

// allows reports whether a guest may ask for t at all. Where a name leads is another matter.
func (p Policy) allows(t target) bool {
	if t.addr.IsValid() {
		return p.allowsNumber(t.addr, t.port)
	}
	return slices.ContainsFunc(p.rules, func(r rule) bool {
		return !r.numbers.IsValid() && r.allowsPort(t.port) && r.allowsName(t.host)
	})
}

// allowsNumber reports whether the policy has the address in numbers.
func (p Policy) allowsNumber(addr netip.Addr, port uint16) bool {
	return slices.ContainsFunc(p.rules, func(r rule) bool {
		return r.numbers.IsValid() && r.allowsPort(port) && r.numbers.Contains(addr) &&
			(r.numbers.IsSingleIP() || !address.IsMetadata(addr))
	})
}

func (r rule) allowsName(name string) bool {
	if !r.below {
		return name == r.name
	}
	return r.name == "" || strings.HasSuffix(name, "."+r.name)
}

func (r rule) allowsPort(port uint16) bool {
	if r.port == 0 {
		return slices.Contains(defaultPorts, port)
	}
	return port == r.port
}
