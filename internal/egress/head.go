package egress

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"
)

// readHead reads a request up to and with the empty line that ends its head.
func readHead(r *bufio.Reader) ([]byte, error) {
	var head []byte
	for !bytes.HasSuffix(head, []byte("\r\n\r\n")) {
		line, err := r.ReadSlice('\n')
		if head = append(head, line...); len(head) > headBytes {
			return nil, &refusedError{decision: Malformed, status: http.StatusRequestHeaderFieldsTooLarge,
				sentence: fmt.Sprintf("the head of the request is larger than %d KiB", headBytes>>10)}
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return nil, fmt.Errorf("read the head of a request: %w", err)
		}
	}
	return head, nil
}

// checkHead refuses a head that another reader could take for another request than we do
// (RFC 9112, sections 2.2, 5 and 6; RFC 9110, 5.5).
func checkHead(head []byte) error {
	text := strings.TrimSuffix(string(head), "\r\n\r\n")
	if strings.ContainsFunc(strings.ReplaceAll(text, "\r\n", ""), func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
		return errors.New("there are control characters in its head")
	}
	first, rest, some := strings.Cut(text, "\r\n")
	if err := checkRequestLine(first); err != nil {
		return err
	}
	if !some {
		return nil
	}
	seen := make(map[string]string)
	for i, line := range strings.Split(rest, "\r\n") {
		if i >= headFields {
			return fmt.Errorf("there are more than %d header fields", headFields)
		}
		name, value, found := strings.Cut(line, ":")
		if !found || !isToken(name) {
			return errors.New("a line of its head is no header field")
		}
		name = strings.ToLower(name)
		if _, twice := seen[name]; twice && (name == "host" || name == "content-length" || name == "transfer-encoding") {
			return errors.New("it has " + name + " twice")
		}
		seen[name] = strings.Trim(value, " \t")
	}
	return checkFraming(strings.HasPrefix(first, "CONNECT "), strings.HasSuffix(first, "/1.1"), seen)
}

func checkRequestLine(line string) error {
	parts := strings.Split(line, " ")
	if len(parts) != 3 || !isToken(parts[0]) || parts[2] != "HTTP/1.1" && parts[2] != "HTTP/1.0" {
		return errors.New("it is no request of HTTP/1.1")
	}
	if parts[1] == "" || strings.ContainsFunc(parts[1], func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return errors.New("its address has characters that must be escaped")
	}
	return nil
}

// checkFraming wants at most one way to tell where the body ends, and none in a CONNECT.
func checkFraming(connect, current bool, fields map[string]string) error {
	length, hasLength := fields["content-length"]
	coding, hasCoding := fields["transfer-encoding"]
	switch n, err := strconv.ParseUint(length, 10, 63); {
	case hasLength && hasCoding:
		return errors.New("it has both content-length and transfer-encoding")
	case hasLength && (err != nil || strings.Trim(length, "0123456789") != ""):
		return errors.New("its content-length is no number")
	case hasCoding && (!current || !strings.EqualFold(coding, "chunked")):
		return errors.New("its transfer-encoding is not chunked")
	case connect && (hasCoding || n > 0):
		return errors.New("a CONNECT has no body")
	}
	return nil
}

// isToken reports whether text is a token of RFC 9110, 5.6.2.
func isToken(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') &&
			!strings.ContainsRune("!#$%&'*+-.^_`|~", r) || r >= utf8.RuneSelf
	})
}

// A request is what a guest asks of its gate.
type request struct {
	*http.Request // ready to be written to the target, unless it is a CONNECT

	target  target
	connect bool
	in      *bufio.Reader // what follows the head: the body, or what goes through a tunnel
}

// parseRequest reads the head; what follows it comes from rest.
func parseRequest(head []byte, rest io.Reader) (request, error) {
	if err := checkHead(head); err != nil {
		return request{}, malformed(err)
	}
	in := bufio.NewReader(io.MultiReader(bytes.NewReader(head), rest))
	r, err := http.ReadRequest(in)
	if err != nil {
		return request{}, malformed(errors.New("its address or a header field cannot be read"))
	}
	if r.Method == http.MethodConnect {
		t, err := parseTarget(r.RequestURI, 0)
		if err != nil {
			return request{}, malformed(fmt.Errorf("its host: %w", err))
		}
		return request{r, t, true, in}, nil
	}
	switch {
	case r.URL.Scheme == "https":
		return request{}, malformed(errors.New("a host of https:// is reached by CONNECT"))
	case r.URL.Scheme != "http":
		return request{}, malformed(errors.New("it is for a server; a proxy is asked with the whole address, as in GET http://host/path"))
	case r.URL.User != nil:
		return request{}, malformed(errors.New("there is a user in its address"))
	}
	t, err := parseTarget(r.URL.Host, 80)
	if err != nil {
		return request{}, malformed(fmt.Errorf("its host: %w", err))
	}
	readdress(r, t)
	return request{r, t, false, in}, nil
}

func malformed(why error) error {
	return &refusedError{decision: Malformed, status: http.StatusBadRequest,
		sentence: "this proxy does not take the request: " + why.Error()}
}

// hopFields are between a client and its proxy (RFC 9110, 7.6.1 and 11.7), as are those
// that Connection names. A body is framed anew, so nothing of it is announced here.
var hopFields = []string{
	"Connection", "Keep-Alive", "Proxy-Connection", "Proxy-Authenticate", "Proxy-Authorization",
	"Proxy-Authentication-Info", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
}

// readdress makes of a request to us one to t, the only one on its connection.
func readdress(r *http.Request, t target) {
	for _, value := range r.Header.Values("Connection") {
		for name := range strings.SplitSeq(value, ",") {
			r.Header.Del(strings.TrimSpace(name))
		}
	}
	for _, name := range hopFields {
		r.Header.Del(name)
	}
	if r.Header.Values("User-Agent") == nil {
		r.Header.Set("User-Agent", "") // else the library names itself
	}
	r.Header.Add("Via", "1.1 runpython") // RFC 9110, 7.6.3
	r.Trailer, r.Close = nil, true
	r.Host = t.host
	if t.addr.Is6() {
		r.Host = "[" + t.host + "]"
	}
	if t.port != 80 {
		r.Host += ":" + strconv.Itoa(int(t.port))
	}
}
