package probe

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"runpython/internal/fault"
)

// maxTargetBytes bounds the URL of a target.
const maxTargetBytes = 2048

// A Target is the URL of an MCP endpoint. It does not change.
type Target struct {
	url url.URL
}

// ParseTarget reads the URL of an endpoint. Its errors are fault.Invalid and say what would be right.
func ParseTarget(text string) (Target, error) {
	refuse := func(format string, args ...any) (Target, error) {
		return Target{}, fault.New(fault.Invalid, nil, fmt.Sprintf(format, args...))
	}
	if len(text) > maxTargetBytes {
		return refuse("the URL is longer than %d bytes", maxTargetBytes)
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" && !strings.Contains(text, "://"):
		return refuse("%s is no URL: write it whole, such as https://example.com/mcp", told(text))
	case u.Scheme != "https" && u.Scheme != "http":
		return refuse("%s begins with neither https:// nor http://", told(text))
	case u.User != nil:
		return refuse("the URL has a user or password; give credentials by --token-env or --header")
	case u.Fragment != "":
		return refuse("the URL has a fragment (#…), which is never sent to a server")
	case !isPort(u.Port()):
		return refuse("the port %s is none: it must be from 1 to 65535", u.Port())
	case !isHost(u.Hostname()):
		return refuse("%s names no host; names of other scripts are written in their ASCII form (xn--…)", told(text))
	}
	u.Host = strings.ToLower(u.Host)
	if u.Path == "" {
		u.Path = "/"
	}
	return Target{*u}, nil
}

// told returns what errors say in place of a URL: the URL, unless a password or key may be in it.
func told(text string) string {
	if strings.ContainsAny(text, "@?") {
		return "what was given (it may have a password or key, so it is not repeated)"
	}
	return strconv.Quote(text)
}

// isPort reports whether text is the number of a port, or is not there.
func isPort(text string) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	return text == "" || err == nil && n > 0
}

// isHost reports whether text is an address or has only the characters that names of hosts have (RFC 1123, 2.1;
// underscores occur).
func isHost(text string) bool {
	if _, err := netip.ParseAddr(text); err == nil {
		return true
	}
	ok := text != "" && len(text) <= 253
	for _, r := range text {
		ok = ok && (r == '.' || r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z')
	}
	return ok && !strings.HasPrefix(text, ".") && !strings.Contains(text, "..")
}

// String returns the URL without the values of its query, which may be secrets.
func (t Target) String() string {
	u := t.url
	if u.RawQuery != "" {
		u.RawQuery = "…"
	}
	return u.String()
}

// QueryValues returns the values of the URL's query, which may be secrets, as they are written in the URL and as they are meant. What has no
// name is a value too.
func (t Target) QueryValues() []string {
	var all []string
	for part := range strings.FieldsFuncSeq(t.url.RawQuery, func(r rune) bool { return r == '&' || r == ';' }) {
		name, written, named := strings.Cut(part, "=")
		if !named {
			written = name
		}
		all = append(all, written)
		if meant, err := url.QueryUnescape(written); err == nil && meant != written {
			all = append(all, meant)
		}
	}
	return all
}

// Host returns the host, without a port.
func (t Target) Host() string { return strings.TrimSuffix(t.url.Hostname(), ".") }

// TLS reports whether the target is https.
func (t Target) TLS() bool { return t.url.Scheme == "https" }

// IsLoopback reports whether the target is on this machine by its name or number.
func (t Target) IsLoopback() bool {
	addr, err := netip.ParseAddr(t.Host())
	return err == nil && addr.Unmap().IsLoopback() || t.Host() == "localhost"
}

// IsNumber reports whether the target is named by its address.
func (t Target) IsNumber() bool {
	_, err := netip.ParseAddr(t.Host())
	return err == nil
}

// port returns the port, also where the URL leaves it out.
func (t Target) port() string {
	switch {
	case t.url.Port() != "":
		return t.url.Port()
	case t.TLS():
		return "443"
	}
	return "80"
}

// isOrigin reports whether u has the target's scheme, host and port.
func (t Target) isOrigin(u *url.URL) bool {
	other := Target{*u}
	return u.Scheme == t.url.Scheme && strings.EqualFold(other.Host(), t.Host()) && other.port() == t.port()
}

// isResource reports whether text is the target as metadata name it (RFC 9728, 3.3), where one slash at the end
// more or less is not counted.
func (t Target) isResource(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.User == nil && u.Fragment == "" && t.isOrigin(u) && u.RawQuery == t.url.RawQuery &&
		strings.TrimSuffix(u.EscapedPath(), "/") == strings.TrimSuffix(t.url.EscapedPath(), "/")
}

// wellKnown returns the URL of a document about u: its path inserted before that of u (RFC 8615; RFC 8414, 3.1).
func wellKnown(u url.URL, name string) string {
	path := strings.TrimSuffix(u.EscapedPath(), "/")
	return (&url.URL{Scheme: u.Scheme, Host: u.Host}).String() + "/.well-known/" + name + path
}

// join returns host and port as a dialer takes them.
func join(addr netip.Addr, port string) string { return net.JoinHostPort(addr.String(), port) }
