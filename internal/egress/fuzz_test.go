package egress_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"io"
	"net/http"
	"strings"
	"testing"

	"runpython/internal/egress"
)

// FuzzParsePolicy wants a policy that is taken to be read again as the same one, and errors of one line.
func FuzzParsePolicy(f *testing.F) {
	for _, text := range []string{"none", "api.example.com:443,*.example.org,10.0.0.5:8080", "[fd00::/8]:443", "*", "bücher.example", "[::ffff:1.2.3.4]", "a..b", "1.2", "\x00", "*.:1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := egress.ParsePolicy(text)
		if err != nil {
			if !strings.Contains(err.Error(), "egress") || strings.ContainsAny(err.Error(), "\n\r\x00") || !p.None() {
				t.Errorf("ParsePolicy(%q) = %q, %q", text, p, err)
			}
			return
		}
		again, err := egress.ParsePolicy(p.String())
		if err != nil || again.String() != p.String() {
			t.Errorf("ParsePolicy(%q) = %q; read again %q, %v", text, p, again, err)
		}
	})
}

// FuzzRequest wants every request that is taken to be sent on as exactly one, to the host
// that was decided on, without what is between a client and its proxy.
func FuzzRequest(f *testing.F) {
	for _, text := range []string{
		"GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n",
		"CONNECT a.test:443 HTTP/1.1\r\n\r\n",
		"POST http://[::1]:80/?a=b HTTP/1.1\r\nTransfer-Encoding: chunked\r\nConnection: X\r\nX: 1\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
		"POST http://a.test HTTP/1.0\r\nContent-Length: 3\r\nProxy-Authorization: Basic x\r\n\r\nabcGET / HTTP/1.1\r\n\r\n",
		"GET http://a.test/%0d%0aX:1 HTTP/1.1\r\nHost: b\r\nUpgrade: h2c\r\n\r\n",
		"GET http://a.test\\@b.test/ HTTP/1.1\r\n\r\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		host, sent, err := egress.Rewrite(text)
		if answer := egress.Refusal(err); answer != "" {
			checkAnswer(t, answer)
			return
		}
		if err != nil || sent == nil {
			return // cut off, or a CONNECT
		}
		in := bufio.NewReader(bytes.NewReader(sent))
		r, err := http.ReadRequest(in)
		if err != nil {
			t.Fatalf("%q becomes %q, which is no request: %v", text, sent, err)
		}
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			t.Fatalf("%q becomes %q, whose body is broken: %v", text, sent, err)
		}
		if rest, _ := io.ReadAll(in); len(rest) > 0 {
			t.Errorf("%q becomes %q: %q is after the request", text, sent, rest)
		}
		if r.Host != host || r.URL.Host != "" || !r.Close {
			t.Errorf("%q becomes %q for %q; want one request to %q", text, sent, r.Host, host)
		}
		for _, name := range []string{"Proxy-Authorization", "Proxy-Connection", "Keep-Alive", "Te", "Trailer", "Upgrade"} {
			if r.Header.Values(name) != nil {
				t.Errorf("%q becomes %q with %s", text, sent, name)
			}
		}
	})
}

// checkAnswer wants a refusal to be one response without anything of the guest's making in its head.
func checkAnswer(t *testing.T, answer string) {
	t.Helper()
	r, err := http.ReadResponse(bufio.NewReader(strings.NewReader(answer)), nil)
	if err != nil {
		t.Fatalf("%q is no response: %v", answer, err)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode < 400 || len(r.Header) > 3 || strings.Count(string(body), "\n") != 1 {
		t.Errorf("the refusal is %q, %v", answer, err)
	}
}

// FuzzReadServerName wants all bytes that were read to be passed on, whatever they are.
func FuzzReadServerName(f *testing.F) {
	f.Add(clientHello(f, &tls.Config{ServerName: "a.test"}))
	f.Add([]byte("\x16\x03\x01\x00\x05hello"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := bytes.NewReader(data)
		_, read, err := egress.ReadServerName(t.Context(), r)
		if rest, _ := io.ReadAll(r); err == nil && !bytes.Equal(append(read, rest...), data) {
			t.Errorf("%x: %d bytes are passed on", data, len(read)+len(rest))
		}
	})
}
