package config

import (
	"cmp"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// The values of Config.Auth.
const (
	// AuthOAuth makes everybody sign in; with a public URL it is so without being said.
	AuthOAuth = "oauth"
	// AuthNone lets anybody who reaches the address run code.
	AuthNone = "none"
)

// The values of Config.Discovery.
const (
	// DiscoveryPublic tells everybody what the server has; using it needs a token.
	DiscoveryPublic = "public"
	// DiscoveryPrivate tells nothing without a token.
	DiscoveryPrivate = "private"
)

// The values of Config.Clients: how apps may become known, each with those after it.
const (
	ClientsOpen      = "open"      // by registering themselves
	ClientsDocuments = "documents" // by a metadata document at their id
	ClientsManual    = "manual"    // by the operator
)

// The values of Config.Scope.
const (
	ScopeRun   = "run"
	ScopeAdmin = "admin"
)

const (
	add      = "add"
	create   = "create"
	revoke   = "revoke"
	register = "register"
	passwd   = "passwd"
	passkeys = "passkeys"
	link     = "link"
	unlink   = "unlink"
	erase    = "remove" // of users and clients
)

// accessSettings are those about who may call.
func accessSettings() []setting {
	return []setting{
		entry("public-url", publicURL(), "URL under which clients reach the server, such as https://run.example.org; with it they sign in; that of --domain where there is one", []string{serve},
			func(c *Config) *string { return &c.PublicURL }),
		entry("auth", optional(choice(AuthOAuth, AuthNone)), "\"oauth\" as --public-url, or \"none\" to let everybody who reaches the address run code", []string{serve},
			func(c *Config) *string { return &c.Auth }),
		entry("discovery", choice(DiscoveryPublic, DiscoveryPrivate), "whether what the server has is told without a token", []string{serve},
			func(c *Config) *string { return &c.Discovery }),
		entry("client-registration", choice(ClientsOpen, ClientsDocuments, ClientsManual), "how apps become known: also by themselves, at most by a metadata document, or by the command client register alone", []string{serve},
			func(c *Config) *string { return &c.Clients }),
		repeated("client-document-host", documentHost(), "fetch metadata documents and keys of apps from this host also when its address is a private one; may be repeated", []string{serve},
			func(c *Config) *[]string { return &c.DocumentHosts }),

		entry("password-stdin", boolean(), "read the password from standard input, one line", []string{add, passwd},
			func(c *Config) *bool { return &c.PasswordStdin }),
		entry("admin", boolean(), "the user is an administrator, and may give apps the scope admin", []string{add},
			func(c *Config) *bool { return &c.Admin }),
		entry("remove", optional(word("ID")), "remove the passkey of this id", []string{passkeys},
			func(c *Config) *string { return &c.RemovePasskey }),
		entry("user", word("USER"), "name of the user whose token it is", []string{create, revoke},
			func(c *Config) *string { return &c.User }),
		entry("expires", days(time.Hour, 5*365*24*time.Hour), "how long the token is good", []string{create},
			func(c *Config) *time.Duration { return &c.Expires }),
		entry("scope", choice(ScopeRun, ScopeAdmin), "what the token is for: running code, or reading the numbers and pages for administrators as well", []string{create},
			func(c *Config) *string { return &c.Scope }),
		repeated("redirect-uri", word("URI"), "where the app wants people to return to; may be repeated", []string{register},
			func(c *Config) *[]string { return &c.RedirectURIs }),
		entry("with-secret", boolean(), "the app keeps a secret, which is printed once", []string{register},
			func(c *Config) *bool { return &c.WithSecret }),
	}
}

// SignIn reports whether callers of the HTTP endpoint have to sign in.
func (c Config) SignIn() bool { return c.PublicURL != "" && c.Auth != AuthNone }

// PublicHost returns the name or address in PublicURL, without its port; "" without one.
func (c Config) PublicHost() string {
	u, err := url.Parse(c.PublicURL)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// publicURL is the URL of a server as clients see it. What stands behind the host is the server's own business.
func publicURL() kind[string] {
	k := word("URL").then(func(value string) (string, error) {
		u, err := url.Parse(value)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			return "", refusal("must be a URL such as https://run.example.org")
		}
		if path := strings.TrimSuffix(u.Path, "/"); path != "" && path != "/mcp" {
			return "", refusal("must have no path: the server is at the root of its host, and the endpoint at /mcp")
		}
		if u.Scheme == "http" && !isLoopbackHost(u.Hostname()) {
			return "", refusal("must be https, since tokens travel there; http is for 127.0.0.1 and localhost only")
		}
		if err := checkHost(u); err != nil {
			return "", err
		}
		host := strings.ToLower(u.Host)
		if port := map[string]string{"https": ":443", "http": ":80"}[u.Scheme]; strings.HasSuffix(host, port) {
			host = strings.TrimSuffix(host, port)
		}
		return u.Scheme + "://" + host, nil
	})
	return optional(k)
}

// checkHost says what is wrong with host and port of a URL that browsers are to send back.
func checkHost(u *url.URL) error {
	if _, err := netip.ParseAddr(u.Hostname()); err != nil && !isHostName(u.Hostname()) {
		return refusal("must have a host of letters a-z, digits, - and ., as browsers send it: they write other letters as in https://xn--bcher-kva.example")
	}
	if _, port, ok := splitAddress(net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), strconv.Itoa(httpsPort)))); !ok || port == 0 {
		return refusal("must have a port from 1 to 65535, or none")
	}
	return nil
}

// documentHost is a host with its port as it stands in URLs; without a port it is that of https.
func documentHost() kind[string] {
	return kind[string]{
		arg: "HOST[:PORT]", yaml: []string{tagString},
		parse: func(text string) (string, error) {
			u, err := url.Parse("https://" + text)
			if err != nil || u.Hostname() == "" || u.Host != text || len(text) > maxHostBytes {
				return "", refusal("must be a host as in a URL, such as apps.example.org or 10.0.0.7:8443, without a scheme and a path")
			}
			port := u.Port()
			if port == "" {
				port = strconv.Itoa(httpsPort)
			}
			host := net.JoinHostPort(strings.ToLower(u.Hostname()), port)
			if _, n, ok := splitAddress(host); !ok || n == 0 {
				return "", refusal("must have a port from 1 to 65535, or none")
			}
			return host, nil
		},
		format: asIs,
	}
}

func isLoopbackHost(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// days is a duration that may also be given in days: 90d.
func days(least, most time.Duration) kind[time.Duration] {
	const day = 24 * time.Hour
	k := duration(least, most)
	plain := k.parse
	k.limits = shortDuration(least) + " to " + strconv.Itoa(int(most/day)) + "d"
	k.parse = func(text string) (v time.Duration, err error) {
		if digits, ok := strings.CutSuffix(text, "d"); ok {
			var n int
			n, err = strconv.Atoi(digits)
			if n < 1 || n > int(most/day) {
				n, err = 0, strconv.ErrRange
			}
			v = time.Duration(n) * day
		} else {
			v, err = plain(text)
		}
		if err != nil {
			return 0, refusal("must be a time with its unit, such as 90d or 12h, from %s", k.limits)
		}
		return v, nil
	}
	k.format = func(d time.Duration) string {
		if d >= day && d%day == 0 {
			return strconv.Itoa(int(d/day)) + "d"
		}
		return shortDuration(d)
	}
	return k
}
