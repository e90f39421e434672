package provider_test

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"runpython/internal/fault"
	"runpython/internal/provider"
	"runpython/internal/provider/providertest"
)

// refused checks that nobody was signed in, and that what is shown tells nothing that came from outside.
func refused(t *testing.T, got provider.Person, err error, kind fault.Kind) {
	t.Helper()
	is, said := fault.Shown(err)
	if err == nil || is != kind || got != (provider.Person{}) || strings.ContainsAny(said, "<>{}") || !strings.Contains(said, "Our Login") {
		t.Errorf("Finish() = %+v, %v of kind %v; want %v", got, err, is, kind)
	}
	if err != nil && (len(err.Error()) > 800 || strings.ContainsAny(err.Error(), "\n\x1b\x00")) {
		t.Errorf("what is logged is %q", err)
	}
}

func TestHostileTokens(t *testing.T) {
	r := providertest.NewRogue(t, now)
	p := client(t, r, nil)
	other := providertest.NewKey(t)
	compact := func(head string, payload []byte, signature string) string {
		b64 := base64.RawURLEncoding.EncodeToString
		return b64([]byte(head)) + "." + b64(payload) + "." + signature
	}
	for name, tt := range map[string]struct {
		claims map[string]any
		sign   func(payload []byte) string
	}{
		"another nonce":                {claims: map[string]any{"nonce": "x"}},
		"no nonce":                     {claims: map[string]any{"nonce": nil}},
		"another audience":             {claims: map[string]any{"aud": "other"}},
		"no audience":                  {claims: map[string]any{"aud": nil}},
		"more audiences, without azp":  {claims: map[string]any{"aud": []string{providertest.ClientID, "other"}}},
		"for another authorized party": {claims: map[string]any{"azp": "other"}},
		"azp is no text":               {claims: map[string]any{"azp": 1}},
		"over":                         {claims: map[string]any{"exp": now().Add(-time.Second).Unix()}},
		"no end":                       {claims: map[string]any{"exp": nil}},
		"not yet":                      {claims: map[string]any{"nbf": now().Add(time.Hour).Unix()}},
		"another issuer":               {claims: map[string]any{"iss": "https://evil.example"}},
		"the issuer with a slash":      {claims: map[string]any{"iss": r.URL() + "/"}},
		"another access token":         {claims: map[string]any{"at_hash": "AAAAAAAAAAAAAAAAAAAAAA"}},
		"no subject":                   {claims: map[string]any{"sub": nil}},
		"a subject of bytes":           {claims: map[string]any{"sub": "a\x00b"}},
		"a long subject":               {claims: map[string]any{"sub": strings.Repeat("x", 256)}},
		"a subject that is no text":    {claims: map[string]any{"sub": 7}},
		"a long address":               {claims: map[string]any{"email": strings.Repeat("x", 2000)}},
		"alg none": {sign: func(payload []byte) string {
			return compact(`{"alg":"none"}`, payload, "")
		}},
		"HS256 by the secret of the client": {sign: func(payload []byte) string {
			return providertest.Signed(t, jose.HS256, []byte(providertest.ClientSecret), payload)
		}},
		"HS256 by the public key": {sign: func(payload []byte) string { return providertest.Signed(t, jose.HS256, r.PublicKey(), payload) }},
		"another key": {sign: func(payload []byte) string {
			return providertest.Signed(t, jose.ES256, jose.JSONWebKey{Key: other, KeyID: "k"}, payload)
		}},
		"the key in the token": {sign: func(payload []byte) string {
			s, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: other}, &jose.SignerOptions{EmbedJWK: true})
			if err != nil {
				t.Fatal(err)
			}
			object, err := s.Sign(payload)
			if err != nil {
				t.Fatal(err)
			}
			text, err := object.CompactSerialize()
			if err != nil {
				t.Fatal(err)
			}
			return text
		}},
		"no signature": {sign: func(payload []byte) string { return compact(`{"alg":"ES256","kid":"k"}`, payload, "") }},
		"no token":     {sign: func([]byte) string { return "" }},
		"not a token":  {sign: func([]byte) string { return "<script>\x1b[2J" }},
		"no claims": {sign: func([]byte) string {
			return r.SignedBy([]byte("[]"))
		}},
		"deep claims": {sign: func([]byte) string {
			return r.SignedBy([]byte(strings.Repeat("[", 100_000)))
		}},
		"claims repeated": {sign: func(payload []byte) string {
			return r.SignedBy(append([]byte(`{"iss":"x",`), append(payload[1:len(payload)-1], []byte(`,"nonce":"x"}`)...)...))
		}},
		"a date for a time": {claims: map[string]any{"exp": "2030-01-01"}},
	} {
		t.Run(name, func(t *testing.T) {
			r.Wish(providertest.Wishes{Claims: tt.claims, Sign: tt.sign})
			got, err := signIn(t, r, p, nil)
			refused(t, got, err, fault.Invalid)
		})
	}
	r.Wish(providertest.Wishes{Claims: map[string]any{"aud": []string{providertest.ClientID, "other"}, "azp": providertest.ClientID}})
	if _, err := signIn(t, r, p, nil); err != nil {
		t.Errorf("for two, and for us: %v", err)
	}
}

// What the browser brings is the word of whoever made the link.
func TestHostileAnswers(t *testing.T) {
	r := providertest.NewRogue(t, now)
	p := client(t, r, nil)
	for name, more := range map[string]url.Values{
		"no code":                     {"code": nil},
		"two codes":                   {"code": {"good", "good"}},
		"another code":                {"code": {"bad"}},
		"another issuer":              {"iss": {"https://evil.example"}},
		"two issuers":                 {"iss": {r.URL(), "https://evil.example"}},
		"an error, and a code":        {"error": {"access_denied"}},
		"an error with markup":        {"error": {"<script>alert(1)</script>"}, "error_description": {"<b>\x1b[2J\n" + strings.Repeat("x", 10_000)}},
		"an error of another issuer":  {"error": {"access_denied"}, "iss": {"https://evil.example"}},
		"an error with an empty name": {"error": {""}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := signIn(t, r, p, more)
			refused(t, got, err, fault.Invalid)
		})
	}
	_, err := signIn(t, r, p, url.Values{"error": {"access_denied"}, "code": nil})
	if _, said := fault.Shown(err); said != "Our Login has not signed you in (access_denied)" {
		t.Errorf("an error = %q", said)
	}
	if _, err := signIn(t, r, p, url.Values{"iss": {r.URL()}}); err != nil {
		t.Errorf("the issuer is named: %v", err)
	}
	r.Wish(providertest.Wishes{Discovery: map[string]any{"authorization_response_iss_parameter_supported": true}})
	p = client(t, r, nil)
	got, err := signIn(t, r, p, nil)
	refused(t, got, err, fault.Invalid)
	if _, err := signIn(t, r, p, url.Values{"iss": {r.URL()}}); err != nil {
		t.Errorf("the issuer is named, as it has said: %v", err)
	}
}

// A provider that is broken, or not the one that was meant.
func TestHostileProviders(t *testing.T) {
	huge := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"keys":[`)
		for range 1 << 20 {
			if _, err := io.WriteString(w, `{"kty":"none","kid":"k"},`); err != nil {
				return
			}
		}
	}
	loop := func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.URL.Path, http.StatusTemporaryRedirect)
	}
	const discovery = "/.well-known/openid-configuration"
	for name, tt := range map[string]struct {
		discovery map[string]any
		path      string
		answer    http.HandlerFunc
		want      fault.Kind
	}{
		"another issuer":           {discovery: map[string]any{"issuer": "https://evil.example"}, want: fault.Invalid},
		"code at a script":         {discovery: map[string]any{"authorization_endpoint": "javascript:alert(1)"}, want: fault.Invalid},
		"no token endpoint":        {discovery: map[string]any{"token_endpoint": nil}, want: fault.Invalid},
		"keys in a file":           {discovery: map[string]any{"jwks_uri": "file:///etc/passwd"}, want: fault.Invalid},
		"methods that are no list": {discovery: map[string]any{"token_endpoint_auth_methods_supported": "x"}, want: fault.Invalid},
		"huge document":            {path: discovery, answer: huge, want: fault.Invalid},
		"redirects without end":    {path: discovery, answer: loop, want: fault.Invalid},
		"markup for a document":    {path: discovery, answer: func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>\x1b[2J") }, want: fault.Invalid},
		"endless header": {path: discovery, answer: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X", strings.Repeat("x", 1<<20))
		}, want: fault.Busy},
		"huge keys":          {path: "/keys", answer: huge, want: fault.Invalid},
		"keys elsewhere":     {path: "/keys", answer: loop, want: fault.Invalid},
		"keys away":          {path: "/keys", answer: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }, want: fault.Busy},
		"no keys":            {path: "/keys", answer: func(w http.ResponseWriter, _ *http.Request) { providertest.Say(w, map[string]any{"keys": []any{}}) }, want: fault.Invalid},
		"huge answer":        {path: "/token", answer: huge, want: fault.Invalid},
		"token elsewhere":    {path: "/token", answer: loop, want: fault.Invalid},
		"token away":         {path: "/token", answer: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }, want: fault.Busy},
		"too many":           {path: "/token", answer: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) }, want: fault.Busy},
		"markup for a token": {path: "/token", answer: func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>\n\x1b[2J") }, want: fault.Invalid},
		"a token of no type": {path: "/token", answer: func(w http.ResponseWriter, _ *http.Request) {
			providertest.Say(w, map[string]any{"access_token": "x", "id_token": 7})
		}, want: fault.Invalid},
		"an error with markup": {path: "/token", answer: func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			providertest.Say(w, map[string]any{"error": "<script>\n", "error_description": "<script>"})
		}, want: fault.Invalid},
	} {
		t.Run(name, func(t *testing.T) {
			r := providertest.NewRogue(t, now)
			r.Wish(providertest.Wishes{Discovery: tt.discovery, Answers: map[string]http.HandlerFunc{tt.path: tt.answer}})
			got, err := signIn(t, r, client(t, r, nil), nil)
			refused(t, got, err, tt.want)
			if n := r.Asked(tt.path); n > 1 {
				t.Errorf("%s was asked %d times", tt.path, n)
			}
		})
	}
	t.Run("nobody there", func(t *testing.T) {
		r := providertest.NewRogue(t, now)
		r.Stop()
		got, err := signIn(t, r, client(t, r, nil), nil)
		refused(t, got, err, fault.Busy)
	})
}

// Behind https nothing goes over plain http, wherever the provider says that its endpoints are.
func TestNoPlainText(t *testing.T) {
	r := providertest.NewRogue(t, now)
	client := provider.NewClient("https://login.example")
	t.Cleanup(client.CloseIdleConnections)
	res, err := client.Get(r.URL() + "/keys")
	if err == nil {
		_ = res.Body.Close()
	}
	if err == nil || r.Asked("/keys") != 0 {
		t.Errorf("asked over plain http: %v", err)
	}
}

// Neither what is shown nor what is logged has a secret in it, whatever goes wrong.
func TestNothingSecretIsSaid(t *testing.T) {
	r := providertest.NewRogue(t, now)
	r.Wish(providertest.Wishes{Answers: map[string]http.HandlerFunc{"/token": func(w http.ResponseWriter, req *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = fmt.Fprintf(w, "no: %v %v %s", req.Header, req.FormValue("code_verifier"), r.SignedBy([]byte("{}")))
	}}})
	_, err := signIn(t, r, client(t, r, nil), nil)
	refused(t, provider.Person{}, err, fault.Invalid)
	basic := base64.StdEncoding.EncodeToString([]byte(providertest.ClientID + ":" + providertest.ClientSecret))
	for _, never := range []string{providertest.ClientSecret, basic, "good", "eyJ", "Basic"} {
		if strings.Contains(fmt.Sprintf("%v %+v", err, err), never) {
			t.Errorf("%q is in %v", never, err)
		}
	}
}
