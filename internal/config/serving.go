package config

import (
	"net/netip"
	"regexp"
	"strings"
)

// servingSettings are those of serve that say who is believed and how much they may do.
func servingSettings() []setting {
	return []setting{
		repeated("trusted-proxy", prefix(), "believe what this proxy says of its callers' addresses; may be repeated", []string{serve},
			func(c *Config) *[]netip.Prefix { return &c.TrustedProxies }),
	}
}

// auditSettings are those of the commands about the audit log.
func auditSettings() []setting {
	return []setting{
		entry("lines", count(0, 1_000_000_000), "lines to print, 0 for all", []string{tail},
			func(c *Config) *int { return &c.Lines }),
		entry("follow", boolean(), "go on with lines that come, until interrupted", []string{tail},
			func(c *Config) *bool { return &c.Follow }),
		entry("known", lineHash(), "hash of a line, kept from an earlier time, that must be there", []string{verify},
			func(c *Config) *string { return &c.Known }),
	}
}

// prefix is a block of addresses, or one address.
func prefix() kind[netip.Prefix] {
	return kind[netip.Prefix]{
		arg: "CIDR", yaml: []string{tagString},
		parse: func(text string) (netip.Prefix, error) {
			if a, err := netip.ParseAddr(text); err == nil && a.Zone() == "" {
				return netip.PrefixFrom(a.Unmap(), a.Unmap().BitLen()), nil
			}
			p, err := netip.ParsePrefix(text)
			if err != nil || p.Addr().Is4In6() {
				return netip.Prefix{}, refusal("must be an address or a block of them, such as 10.0.0.5 or 10.0.0.0/8")
			}
			if p.Bits() == 0 {
				return netip.Prefix{}, refusal("must not be every address: anybody could claim to be anybody")
			}
			return p.Masked(), nil
		},
		format: netip.Prefix.String,
	}
}

// lineHash is what `audit verify` prints of the last line.
func lineHash() kind[string] {
	shape := regexp.MustCompile(`^[0-9a-f]{64}$`)
	return kind[string]{
		arg: "HASH", yaml: []string{tagString},
		parse: func(text string) (string, error) {
			if text = strings.ToLower(text); !shape.MatchString(text) {
				return "", refusal("must be the 64 hexadecimal digits that `runpython audit verify` has printed")
			}
			return text, nil
		},
		format: asIs,
	}
}
