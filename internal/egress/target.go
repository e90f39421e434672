package egress

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A target is where a guest wants to go.
type target struct {
	host string     // a name in small letters, without a dot at the end, or the address as text
	addr netip.Addr // valid when the host is an address; never an IPv4-mapped one
	port uint16
}

// String returns host and port, the host shortened for sentences.
func (t target) String() string {
	host := t.host
	if len(host) > shownHost {
		host = host[:shownHost] + "..."
	}
	if t.addr.Is6() {
		host = "[" + host + "]"
	}
	return host + ":" + strconv.Itoa(int(t.port))
}

// shownHost is how much of a name is repeated to the guest.
const shownHost = 100

// parseTarget reads host and port of a request. A port of 0 means that it must be there.
func parseTarget(text string, port uint16) (target, error) {
	host, number, found := strings.Cut(text, ":")
	bracketed := strings.HasPrefix(text, "[")
	if bracketed {
		var after string
		host, after, _ = strings.Cut(text[1:], "]")
		if number, found = strings.CutPrefix(after, ":"); !found && after != "" {
			return target{}, errors.New("there is text behind the address")
		}
	}
	if found {
		n, err := strconv.ParseUint(number, 10, 16)
		if err != nil || n == 0 || number[0] == '0' {
			return target{}, errors.New("the port is not a number from 1 to 65535")
		}
		port = uint16(n)
	}
	if port == 0 {
		return target{}, errors.New("there is no port")
	}
	if addr, err := netip.ParseAddr(host); err == nil && addr.Is6() == bracketed && addr.Zone() == "" {
		addr = addr.Unmap()
		return target{addr.String(), addr, port}, nil
	}
	if bracketed {
		return target{}, errors.New("what is in brackets is no address")
	}
	name, err := cleanName(host)
	return target{host: name, port: port}, err
}

// Lengths of names and of their labels, of RFC 1035, 2.3.4, without the last dot.
const (
	nameBytes  = 253
	labelBytes = 63
)

// cleanName returns a name of DNS in small letters and without a dot at its end. Host
// names have letters, digits and hyphens (RFC 1123, 2.1); underscores are in use. A name
// that ends in a number is none: systems read it as an address, in one of several ways.
func cleanName(text string) (string, error) {
	name := strings.ToLower(strings.TrimSuffix(text, "."))
	if name == "" || len(name) > nameBytes {
		return "", fmt.Errorf("a name has 1 to %d characters", nameBytes)
	}
	last := ""
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > labelBytes || label[0] == '-' || label[len(label)-1] == '-' {
			return "", fmt.Errorf("the parts of a name have 1 to %d characters and no hyphen at their ends", labelBytes)
		}
		if strings.ContainsFunc(label, func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_'
		}) {
			return "", errors.New("a name has letters of ASCII, digits and hyphens only")
		}
		last = label
	}
	if isNumber(last) {
		return "", errors.New("it is neither a name nor an address in its usual form, as in 192.0.2.1")
	}
	return name, nil
}

// isNumber reports whether a label is a number as inet_aton reads it.
func isNumber(label string) bool {
	digits, set := label, "0123456789"
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		digits, set = hex, "0123456789abcdef"
	}
	return strings.Trim(digits, set) == ""
}

// policyName is cleanName for what people write: with letters beyond ASCII.
func policyName(text string) (string, error) {
	ascii, err := toASCII(text)
	if err != nil {
		return "", fmt.Errorf("this is no name of a host: %w", err)
	}
	name, err := cleanName(ascii)
	if err != nil {
		return "", fmt.Errorf("this is no name of a host: %w", err)
	}
	return name, nil
}

// toASCII returns the form of an internationalized name that DNS has, of letters in small
// form (RFC 5891, 4.4). The standard library has the encoding within its HTTP client alone, so a
// request is written and its Host read.
func toASCII(name string) (string, error) {
	if !strings.ContainsFunc(name, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return name, nil
	}
	notAllowed := errors.New("beyond ASCII a name has letters and digits only")
	name = strings.ToLower(name)
	if strings.ContainsFunc(name, func(r rune) bool {
		return r != '.' && r != '-' && r != '_' && !unicode.In(r, unicode.Letter, unicode.Mark, unicode.Nd)
	}) {
		return "", notAllowed
	}
	var wire bytes.Buffer
	err := (&http.Request{Method: http.MethodGet, URL: &url.URL{Scheme: "http", Host: name}}).Write(&wire)
	if err != nil {
		return "", notAllowed
	}
	request, err := http.ReadRequest(bufio.NewReader(&wire))
	if err != nil {
		return "", notAllowed
	}
	return request.Host, nil
}
