package egress_test

import (
	"fmt"
	"strings"
	"testing"

	"runpython/internal/egress"
)

func TestParsePolicy(t *testing.T) {
	for text, want := range map[string]string{
		"":                          "none",
		" none ":                    "none",
		"api.example.com":           "api.example.com",
		"API.Example.COM.:443":      "api.example.com:443",
		"a.test:443, *.example.org": "a.test:443,*.example.org",
		"*":                         "*",
		"*:8443":                    "*:8443",
		"*.org:80":                  "*.org:80",
		"a.test,a.test:443,a.test":  "a.test,a.test:443",
		"10.0.0.5:8080":             "10.0.0.5:8080",
		"10.0.0.0/8":                "10.0.0.0/8",
		"10.0.0.0/8:22":             "10.0.0.0/8:22",
		"10.0.0.5/32":               "10.0.0.5",
		"[2001:DB8::1]":             "[2001:db8::1]",
		"[2001:db8::1]:443":         "[2001:db8::1]:443",
		"[fd00::/8]:443":            "[fd00::/8]:443",
		"Bücher.example:443":        "xn--bcher-kva.example:443",
		"*.straße.example":          "*.xn--strae-oqa.example",
		"FAẞ.example":               "xn--fa-hia.example",
		"xn--bcher-kva.example":     "xn--bcher-kva.example",
		"_dmarc.example.com":        "_dmarc.example.com",
		"localhost:8080":            "localhost:8080",
	} {
		p, err := egress.ParsePolicy(text)
		if err != nil || p.String() != want || p.None() != (want == "none") {
			t.Errorf("ParsePolicy(%q) = %q, %v; want %q", text, p, err, want)
		}
		if again, err := egress.ParsePolicy(p.String()); err != nil || again.String() != want {
			t.Errorf("ParsePolicy(%q) = %q, %v; want the same", p, again, err)
		}
	}
}

func TestParsePolicyErrorsSayWhatToWrite(t *testing.T) {
	long := strings.Repeat("a", 64)
	for text, want := range map[string]string{
		"a.test,,b.test":    "leave one out",
		"a.test,":           "leave one out",
		"none,a.test":       "none stands alone",
		"https://a.test":    "without https://",
		"a.test/path":       "without a path",
		"a.test/path:443":   "without a path",
		"a.test:0":          "from 1 to 65535",
		"a.test:65536":      "from 1 to 65535",
		"a.test:https":      "from 1 to 65535",
		"a.test:":           "from 1 to 65535",
		"a.test:+443":       "from 1 to 65535",
		"2001:db8::1":       "[2001:db8::1]",
		"[2001:db8::1":      "brackets",
		"[a.test]:443":      "brackets",
		"[10.0.0.1]:443":    "brackets",
		"[2001:db8::1]443":  "after a colon",
		"[fe80::1%eth0]":    "zone",
		"[::ffff:10.0.0.5]": "10.0.0.5",
		"10.0.0.5/8":        "10.0.0.0/8",
		"10.0.0.0/33":       "as in 10.0.0.0/8",
		"a.*.test":          "*.example.org",
		"*a.test":           "*.example.org",
		"**.test":           "*.example.org",
		"10.1":              "usual form",
		"0x7f.1":            "usual form",
		"2852039166":        "usual form",
		"010.0.0.1":         "usual form",
		"-a.test":           "hyphen",
		"a..test":           "parts of a name",
		long + ".test":      "63",
		"a b.test":          "letters of ASCII",
		"a.test;b.test":     "letters of ASCII",
		"user@a.test":       "letters of ASCII",
		"*.":                "1 to 253",
		"bü\u200bcher.test": "letters",
		"bücher。test":       "letters",
		"bücher.te\x00":     "letters and digits",
		"bü:443:444":        "brackets",
	} {
		p, err := egress.ParsePolicy(text)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "egress") {
			t.Errorf("ParsePolicy(%q) = %q, %v; want an error with %q", text, p, err, want)
		}
		if strings.Count(text, "\n") == 0 && err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("ParsePolicy(%q): %q; want one line", text, err)
		}
	}
	if _, err := egress.ParsePolicy(strings.Repeat("a.test:1,", 5) + numbered(1001)); err == nil || !strings.Contains(err.Error(), "more than 1000") {
		t.Errorf("1001 hosts: %v; want the bound", err)
	}
}

// numbered returns a list of n hosts.
func numbered(n int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("h%d.test", i)
	}
	return strings.Join(all, ",")
}
