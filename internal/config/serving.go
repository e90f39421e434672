package config

import (
	"net/netip"
	"net/url"
	"regexp"
	"strings"
)

// maxRate bounds the rates that can be set.
const maxRate = 100_000_000

// servingSettings are those of serve that say who is believed and how much they may do.
func servingSettings() []setting {
	return []setting{
		repeated("trusted-proxy", prefix(), "believe what this proxy says of its callers' addresses; may be repeated", []string{serve},
			func(c *Config) *[]netip.Prefix { return &c.TrustedProxies }),

		entry("address-connections", count(0, maxRate), "connections of one address at once; 0 for any number", []string{serve},
			func(c *Config) *int { return &c.AddressConnections }),
		entry("address-requests", count(0, maxRate), "HTTP requests of one address in a minute; 0 for any number", []string{serve},
			func(c *Config) *int { return &c.AddressRequests }),
		entry("address-sign-ins", count(0, maxRate), "sign-ins of one address in a minute; 0 for any number", []string{serve},
			func(c *Config) *int { return &c.AddressSignIns }),
		entry("address-registrations", count(0, maxRate), "clients that one address registers in an hour; 0 for any number", []string{serve},
			func(c *Config) *int { return &c.AddressRegistrations }),
		entry("user-calls", count(0, maxRate), "calls of one account in a minute; 0 for any number", []string{serve},
			func(c *Config) *int { return &c.UserCalls }),
		entry("user-runs", count(0, 1000), "calls of one account at once; 0 for any number", []string{serve},
			func(c *Config) *int { return &c.UserRuns }),
		entry("user-chats", count(0, 1_000_000), "chats kept of one account, the one unused longest is deleted; 0 for any number", []string{serve},
			func(c *Config) *int { return &c.UserChats }),
		entry("user-storage", size(0, 1<<50), "size of the chats of one account, the one unused longest is deleted; 0 for any", []string{serve},
			func(c *Config) *int64 { return &c.UserStorage }),

		entry("tls-cert", file(), "speak TLS with the certificate of this PEM file, which is read again when it changes", []string{serve},
			func(c *Config) *string { return &c.TLSCert }),
		entry("tls-key", file(), "its key, a PEM file", []string{serve},
			func(c *Config) *string { return &c.TLSKey }),
		repeated("domain", hostName(), "speak TLS under this name, on port 443, with certificates got by ACME; people sign in at the first one; may be repeated", []string{serve},
			func(c *Config) *[]string { return &c.Domains }),
		entry("http-listen", httpAddressOrAuto(), "address that leads from plain HTTP to TLS; auto is :80 with --domain", []string{serve},
			func(c *Config) *string { return &c.HTTPListen }),
		entry("acme-agree", boolean(), "accept the terms of service of the ACME server, which --domain needs", []string{serve},
			func(c *Config) *bool { return &c.ACMEAgree }),
		entry("acme-email", optional(word("ADDRESS")), "where the ACME server may write to", []string{serve},
			func(c *Config) *string { return &c.ACMEEmail }),
		entry("acme-url", optional(acmeURL()), "directory of the ACME server, in place of that of Let's Encrypt", []string{serve},
			func(c *Config) *string { return &c.ACMEURL }),
		entry("acme-ca", file(), "PEM file of the certificates that the ACME server is trusted by", []string{serve},
			func(c *Config) *string { return &c.ACMECA }),
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

// httpAddressOrAuto is address, or HTTPAuto.
func httpAddressOrAuto() kind[string] {
	k := address(true)
	text := k.parse
	k.parse = func(value string) (string, error) {
		if value == HTTPAuto {
			return value, nil
		}
		return text(value)
	}
	return k
}

// acmeURL is the directory of an ACME server, which is reached over TLS (RFC 8555, 6.1).
func acmeURL() kind[string] {
	return word("URL").then(func(value string) (string, error) {
		u, err := url.Parse(value)
		if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil {
			return "", refusal("must be a URL such as https://acme.example.org/directory, with https")
		}
		return value, nil
	})
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
