package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What the settings of a provider mean together is said at start, with what to set.
func TestProviderSettings(t *testing.T) {
	secret := file(t, "s3cret\n")
	const base = "--public-url=https://run.example --oidc-issuer=https://login.example --oidc-client-id=run "
	for _, tt := range []struct {
		args string
		want string // in the error; "" when it is fine
	}{
		{base + "--oidc-allow-domain=example.org", ""},
		{base + "--oidc-allow-group=staff --oidc-password-signin=off", ""},
		{base + "--oidc-allow-everybody --oidc-client-secret=x", ""},
		{base + "--oidc-allow-everybody --oidc-client-secret-file=" + secret, ""},
		{base, "say who may enter with --oidc-allow-domain or --oidc-allow-group, or --oidc-allow-everybody"},
		{base + "--oidc-allow-everybody --oidc-allow-domain=example.org", "contradicts"},
		{base + "--oidc-allow-everybody --oidc-client-secret=x --oidc-client-secret-file=" + secret, "leave out one of the two"},
		{"--public-url=https://run.example --oidc-issuer=https://login.example --oidc-allow-everybody", "--oidc-client-id: is missing"},
		{"--oidc-issuer=https://login.example --oidc-client-id=run --oidc-allow-everybody", "needs --public-url"},
		{base + "--oidc-allow-everybody --auth=none", "needs --public-url"},
		{"--oidc-allow-domain=example.org", "--oidc-issuer: is missing"},
		{"--oidc-client-secret=x", "--oidc-issuer: is missing"},
		{"--oidc-password-signin=off", "would let nobody sign in"},
	} {
		c, err := load(environ(), strings.Fields(tt.args)...)
		if err != nil {
			t.Errorf("%s: %v", tt.args, err)
			continue
		}
		if err := c.CheckServe(); (tt.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.args, err, tt.want)
		}
	}
}

func TestProviderValues(t *testing.T) {
	for _, tt := range []struct {
		name      string
		good, bad []string
	}{
		{"oidc-issuer", []string{"", "https://login.example/realms/main", "https://login.example/", "http://127.0.0.1:1", "http://localhost:9998/"},
			[]string{"login.example", "http://login.example", "https://u:p@login.example", "https://login.example?x", "https://login.example/?", "https://login.example#x", "ftp://login.example"}},
		{"oidc-scopes", []string{"openid", "openid email groups", "openid https://x/y"}, []string{"", "email", "openid \"", "openid \x00", "openid é", "openid" + strings.Repeat(" x", 20)}},
		{"oidc-allow-domain", []string{"example.org", "Example.ORG."}, []string{"", "@example.org", "https://example.org"}},
		{"oidc-password-signin", []string{"on", "off"}, []string{"", "true"}},
	} {
		for _, v := range tt.good {
			if _, err := load(environ(), "--"+tt.name+"="+v); err != nil {
				t.Errorf("--%s=%s: %v", tt.name, v, err)
			}
		}
		for _, v := range tt.bad {
			if _, err := load(environ(), "--"+tt.name+"="+v); err == nil {
				t.Errorf("--%s=%q is taken", tt.name, v)
			}
		}
	}
	c, err := load(environ(), "--oidc-allow-domain=Example.ORG.", "--oidc-issuer=https://login.example:8443/x")
	if err != nil || !cmp.Equal(c.OIDCDomains, []string{"example.org"}) || c.ProviderName() != "login.example" {
		t.Errorf("domains %q, name %q, %v", c.OIDCDomains, c.ProviderName(), err)
	}
	if c, err := load(environ(), "--oidc-name=Our Login"); err != nil || c.ProviderName() != "Our Login" {
		t.Errorf("name %q, %v", c.ProviderName(), err)
	}
}

// The secret is read from a flag, a variable, the file of settings or a file of its own, and printed by nothing.
func TestProviderSecret(t *testing.T) {
	own := file(t, "s3cret\r\n")
	for name, from := range map[string]struct {
		env  string
		args []string
	}{
		"flag":     {"", []string{"--oidc-client-secret=s3cret"}},
		"variable": {"RUNPYTHON_OIDC_CLIENT_SECRET=s3cret", nil},
		"settings": {"", []string{"--config", file(t, "oidc-client-secret: s3cret\n")}},
		"own file": {"", []string{"--oidc-client-secret-file", own}},
	} {
		c, err := load(environ(from.env), from.args...)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got, err := c.ReadOIDCSecret()
		if err != nil || got.Reveal() != "s3cret" {
			t.Errorf("%s: the secret is %q, %v", name, got.Reveal(), err)
		}
		for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
			if text := fmt.Sprintf(verb, c); strings.Contains(text, "s3cret") {
				t.Errorf("%s: printed by %s: %s", name, verb, text)
			}
		}
	}
	if _, err := load(environ(), "--oidc-client-secret=s3cret\x00"); err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("a secret that cannot be: %v", err)
	}
	for name, text := range map[string]string{"empty": "", "two lines": "s3cret\nother\n", "endless": strings.Repeat("s3cret", 1000)} {
		c, err := load(environ(), "--oidc-client-secret-file", file(t, text))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.ReadOIDCSecret(); err == nil || strings.Contains(err.Error(), "s3cret") || !strings.Contains(err.Error(), "alone, on one line") {
			t.Errorf("%s: %v", name, err)
		}
	}
	gone := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(gone, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := load(environ(), "--oidc-client-secret-file", gone)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(gone); err != nil {
		t.Fatal(err)
	}
	if _, err := c.ReadOIDCSecret(); err == nil || !strings.Contains(err.Error(), "cannot be read") {
		t.Errorf("a file that is gone: %v", err)
	}
}
