// Package address tells the internet from the machine and its networks.
//
// # Trust
//
// Addresses may come from anybody; names do not come here. Whoever asks must connect to the very
// address that was looked at, as a name may lead elsewhere a moment later.
//
// # Failure
//
// Nothing here can fail. What is not known to be public is not.
package address

import (
	"net/netip"
	"slices"
)

// globalUnicast is what of IPv6 is given to hosts of the internet: what is outside of it
// is unspecified, loopback, mapped or translated IPv4 (NAT64), unique local, link-local,
// site-local, multicast or not given to anybody (RFC 4291, 2.4; IANA's registry).
var globalUnicast = netip.MustParsePrefix("2000::/3")

// special are addresses that look public and lead to the machine, its network or
// nowhere: IANA's registries of special-purpose addresses for IPv4 and IPv6.
var special = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),       // this host, which Linux takes for loopback
	netip.MustParsePrefix("10.0.0.0/8"),      // private
	netip.MustParsePrefix("100.64.0.0/10"),   // shared by a provider's customers
	netip.MustParsePrefix("127.0.0.0/8"),     // loopback
	netip.MustParsePrefix("169.254.0.0/16"),  // link-local
	netip.MustParsePrefix("172.16.0.0/12"),   // private
	netip.MustParsePrefix("192.0.0.0/24"),    // of protocols
	netip.MustParsePrefix("192.0.2.0/24"),    // documentation
	netip.MustParsePrefix("192.88.99.0/24"),  // relays of 6to4
	netip.MustParsePrefix("192.168.0.0/16"),  // private
	netip.MustParsePrefix("198.18.0.0/15"),   // benchmarks
	netip.MustParsePrefix("198.51.100.0/24"), // documentation
	netip.MustParsePrefix("203.0.113.0/24"),  // documentation
	netip.MustParsePrefix("224.0.0.0/4"),     // multicast
	netip.MustParsePrefix("240.0.0.0/4"),     // reserved, broadcast
	netip.MustParsePrefix("2001::/23"),       // of protocols, Teredo, which holds IPv4, among them
	netip.MustParsePrefix("2001:db8::/32"),   // documentation
	netip.MustParsePrefix("2002::/16"),       // 6to4, which holds IPv4
	netip.MustParsePrefix("3fff::/20"),       // documentation
}

// metadata are where clouds hand out a machine's secrets.
var metadata = []netip.Addr{
	netip.MustParseAddr("169.254.169.254"), // most
	netip.MustParseAddr("169.254.170.2"),   // Amazon, of containers
	netip.MustParseAddr("169.254.170.23"),  // Amazon, of pods
	netip.MustParseAddr("fd00:ec2::254"),   // Amazon
	netip.MustParseAddr("fd00:ec2::23"),    // Amazon, of pods
	netip.MustParseAddr("fd20:ce::254"),    // Google
	netip.MustParseAddr("100.100.100.200"), // Alibaba
	netip.MustParseAddr("192.0.0.192"),     // Oracle
	netip.MustParseAddr("168.63.129.16"),   // Azure: a public number
}

// IsMetadata reports whether a cloud hands out a machine's secrets at the address. Who allows a network
// of his own as a prefix does not mean it.
func IsMetadata(addr netip.Addr) bool { return slices.Contains(metadata, addr) }

// IsPublic reports whether the address is one of the internet. A mapped IPv4 address is not.
func IsPublic(addr netip.Addr) bool {
	if addr.Is6() && !globalUnicast.Contains(addr) || addr.Zone() != "" {
		return false
	}
	return !IsMetadata(addr) &&
		!slices.ContainsFunc(special, func(p netip.Prefix) bool { return p.Contains(addr) })
}
