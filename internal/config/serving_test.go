package config_test

import (
	"strings"
	"testing"

	"runpython/internal/config"
)

// Names make the server listen where the internet looks for it, unless somebody says otherwise.
func TestAddressesWithDomains(t *testing.T) {
	for _, tt := range []struct{ args, listen, http string }{
		{"", "127.0.0.1:8000", ""},
		{"--domain=run.example", ":443", ":80"},
		{"--domain=run.example --listen=127.0.0.1:8000", "127.0.0.1:8000", ":80"},
		{"--domain=run.example --http-listen=", ":443", ""},
		{"--domain=run.example --http-listen=:8080", ":443", ":8080"},
		{"--http-listen=auto", "127.0.0.1:8000", ""},
	} {
		c, err := load(environ(), strings.Fields(tt.args)...)
		if err != nil {
			t.Fatal(err)
		}
		if c.Listen != tt.listen || c.HTTPListen != tt.http {
			t.Errorf("%q listens at %q and %q, want %q and %q", tt.args, c.Listen, c.HTTPListen, tt.listen, tt.http)
		}
	}
}

// Who names the server by --domain has people sign in there, unless everybody may call.
func TestPublicURLOfDomains(t *testing.T) {
	for _, tt := range []struct{ args, url string }{
		{"", ""},
		{"--domain=run.example", "https://run.example"},
		{"--domain=Run.Example. --domain=b.example", "https://run.example"},
		{"--domain=run.example --listen=0.0.0.0:8443", "https://run.example:8443"},
		{"--domain=run.example --listen=127.0.0.1:443", "https://run.example"},
		{"--domain=run.example --auth=oauth", "https://run.example"},
		{"--domain=run.example --public-url=https://b.example:1", "https://b.example:1"},
		{"--domain=run.example --auth=none", ""},
		{"--domain=run.example --listen=:0", ""},
	} {
		c, err := load(environ(), strings.Fields(tt.args)...)
		if err != nil {
			t.Fatal(err)
		}
		if c.PublicURL != tt.url || c.SignIn() != (tt.url != "") {
			t.Errorf("%q: people sign in at %q: %v, want at %q", tt.args, c.PublicURL, c.SignIn(), tt.url)
		}
	}
}

func TestTLSSettings(t *testing.T) {
	for _, tt := range []struct {
		args string
		want string // in the error; "" when it is fine
	}{
		{"--tls-cert=/etc/passwd --tls-key=/etc/passwd", ""},
		{"--tls-cert=/etc/passwd", "--tls-key"},
		{"--tls-key=/etc/passwd", "--tls-cert"},
		{"--domain=run.example --acme-agree --auth=none", ""},
		{"--domain=run.example --acme-agree", ""},
		{"--domain=run.example --acme-agree --auth=oauth", ""},
		{"--domain=run.example --acme-agree --listen=127.0.0.1:0", "--listen"},
		{"--domain=run.example --acme-agree --listen=127.0.0.1:0 --public-url=https://run.example", ""},
		{"--domain=run.example --acme-agree --public-url=http://127.0.0.1:8000", "must be https"},
		{"--tls-cert=/etc/passwd --tls-key=/etc/passwd --public-url=http://localhost", "must be https"},
		{"--domain=run.example --auth=none", "--acme-agree"},
		{"--domain=run.example --acme-agree --tls-cert=/etc/passwd --tls-key=/etc/passwd", "leave out"},
		{"--http-listen=127.0.0.1:80", "--domain"},
		{"--domain=a --acme-agree --listen=127.0.0.1:9 --http-listen=127.0.0.1:9", "must not be"},
		{"--domain=a --acme-agree --listen=127.0.0.1:9 --http-listen=127.0.0.1:8 --admin-listen=127.0.0.1:8", "--admin-listen"},
	} {
		c, err := load(environ(), strings.Fields(tt.args)...)
		if err != nil {
			t.Fatal(err)
		}
		if err = c.CheckServe(); (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v; want %q", tt.args, err, tt.want)
		}
	}
	for _, args := range []string{"--acme-url=http://acme.example/dir", "--acme-url=https://u:p@acme.example/dir", "--acme-url=x", "--tls-cert=/no/such/file"} {
		if _, err := load(environ(), args); err == nil {
			t.Errorf("%s is taken", args)
		}
	}
	if c, err := load(environ(), "--domain=a"); err != nil || !c.TLS() {
		t.Errorf("--domain speaks no TLS: %v", err)
	}
	if (config.Config{}).TLS() {
		t.Error("no setting speaks TLS")
	}
}
