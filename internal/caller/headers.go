package caller

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// maxHops bounds how many proxies before ours are looked at.
const maxHops = 32

// told is what the headers of one kind say.
type told struct {
	address netip.Addr
	scheme  string // http or https, "" for nothing
	host    string
}

func (t told) isNone() bool { return t == told{} }

// fromX reads X-Forwarded-For, -Proto and -Host. The last two are those of the nearest proxy, which replaces
// what its caller has sent; a list of them is nobody's word.
func (t *Trust) fromX(h http.Header) told {
	hops := strings.Split(strings.Join(h.Values("X-Forwarded-For"), ","), ",")
	return told{
		address: t.walk(len(hops), func(i int) netip.Addr { return node(strings.TrimSpace(hops[i])) }),
		scheme:  scheme(single(h, "X-Forwarded-Proto")),
		host:    hostOf(single(h, "X-Forwarded-Host")),
	}
}

// fromForwarded reads Forwarded (RFC 7239): all that is said of the hop that is the caller's.
func (t *Trust) fromForwarded(h http.Header) told {
	hops := elements(strings.Join(h.Values("Forwarded"), ","))
	var v told
	v.address = t.walk(len(hops), func(i int) netip.Addr {
		a := node(hops[i]["for"])
		if a.IsValid() {
			v.scheme, v.host = scheme(hops[i]["proto"]), hostOf(hops[i]["host"])
		}
		return a
	})
	return v
}

// walk goes from the last of n hops to the first as long as each is a trusted proxy, and returns the last address
// that could be read: the caller's, or that of the proxy that names something else than an address.
func (t *Trust) walk(n int, at func(i int) netip.Addr) netip.Addr {
	last := netip.Addr{}
	for i := n - 1; i >= 0 && n-i <= maxHops; i-- {
		a := at(i)
		if !a.IsValid() {
			break
		}
		if last = a; !t.believes(a) {
			break
		}
	}
	return last
}

// node reads an address as proxies write it: with or without a port, IPv6 with or without brackets.
func node(text string) netip.Addr {
	if a := plain(text); a.IsValid() {
		return a
	}
	if inner, ok := strings.CutPrefix(text, "["); ok && strings.HasSuffix(inner, "]") {
		return plain(strings.TrimSuffix(inner, "]"))
	}
	host, port, err := net.SplitHostPort(text)
	if err != nil || port == "" {
		return netip.Addr{}
	}
	return plain(host)
}

// single returns the value of a header that is there once and is no list.
func single(h http.Header, name string) string {
	values := h.Values(name)
	if len(values) != 1 || strings.Contains(values[0], ",") {
		return ""
	}
	return strings.TrimSpace(values[0])
}

func scheme(text string) string {
	switch text = strings.ToLower(text); text {
	case "http", "https":
		return text
	}
	return ""
}

// maxHost is the longest host with a port that is believed (RFC 1035 and five digits).
const maxHost = 253 + 6

// hostOf returns text if it may be the Host of a request, else "".
func hostOf(text string) string {
	if len(text) > maxHost || strings.ContainsFunc(text, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-._:[]", r))
	}) {
		return ""
	}
	return text
}

// elements reads a list of Forwarded: each element as its parameters, by their names in lower case, the first of each
// name. What cannot be read is an element without parameters, behind which nothing is believed.
func elements(text string) []map[string]string {
	if text == "" {
		return nil
	}
	var all []map[string]string
	for _, element := range splitOutside(text, ',') {
		pairs := make(map[string]string)
		for _, pair := range splitOutside(element, ';') {
			name, value, ok := strings.Cut(strings.TrimSpace(pair), "=")
			name = strings.ToLower(name)
			if _, twice := pairs[name]; !ok || twice {
				pairs = nil
				break
			}
			pairs[name] = unquoted(value)
		}
		all = append(all, pairs)
	}
	return all
}

// splitOutside cuts text at each sep that is not within quotes.
func splitOutside(text string, sep byte) []string {
	var parts []string
	quoted, begin := false, 0
	for i := 0; i < len(text); i++ {
		switch {
		case quoted && text[i] == '\\':
			i++
		case text[i] == '"':
			quoted = !quoted
		case text[i] == sep && !quoted:
			parts = append(parts, text[begin:i])
			begin = i + 1
		}
	}
	return append(parts, text[begin:])
}

// unquoted returns the value of a parameter: a token as it is, a quoted string without its quotes and
// backslashes (RFC 7230, 3.2.6).
func unquoted(value string) string {
	if len(value) < 2 || value[0] != '"' || value[len(value)-1] != '"' {
		return value
	}
	var b strings.Builder
	inner := value[1 : len(value)-1]
	for i := 0; i < len(inner); i++ {
		if inner[i] == '\\' && i+1 < len(inner) {
			i++
		}
		b.WriteByte(inner[i])
	}
	return b.String()
}
