package config

import (
	"io"
	"net/url"
	"os"
	"slices"
	"strings"
	"unicode"
)

// The values of Config.OIDCPasswords.
const (
	PasswordsOn  = "on"
	PasswordsOff = "off"
)

// maxScopes bounds those that a provider is asked for.
const maxScopes = 20

// oidcSettings are those of signing in through an OpenID provider.
func oidcSettings() []setting {
	return []setting{
		entry("oidc-issuer", optional(issuerURL()), "OpenID provider that signs people in, as it writes itself, such as https://login.example.org/realms/main", []string{serve, link, unlink},
			func(c *Config) *string { return &c.OIDCIssuer }),
		entry("oidc-client-id", optional(word("ID")), "what the provider calls this server", []string{serve},
			func(c *Config) *string { return &c.OIDCClientID }),
		entry("oidc-client-secret", clientSecret(), "secret of this server at the provider; users of this machine see a command line, so set the variable", []string{serve},
			func(c *Config) *Secret { return &c.OIDCSecret }),
		entry("oidc-client-secret-file", file(), "file that has the secret, in its place", []string{serve},
			func(c *Config) *string { return &c.OIDCSecretFile }),
		entry("oidc-scopes", scopes(), "what the provider is asked for, with spaces between", []string{serve},
			func(c *Config) *[]string { return &c.OIDCScopes }),
		entry("oidc-name", optional(word("NAME")), "what the button calls the provider; its host when empty", []string{serve},
			func(c *Config) *string { return &c.OIDCName }),
		repeated("oidc-allow-domain", domainName(), "who has a verified address of e-mail in this domain may enter; may be repeated", []string{serve},
			func(c *Config) *[]string { return &c.OIDCDomains }),
		repeated("oidc-allow-group", word("GROUP"), "who is in this group may enter; with --oidc-allow-domain too, both must hold; may be repeated", []string{serve},
			func(c *Config) *[]string { return &c.OIDCGroups }),
		entry("oidc-groups-claim", word("NAME"), "claim of the provider that has the groups", []string{serve},
			func(c *Config) *string { return &c.OIDCGroupsClaim }),
		entry("oidc-allow-everybody", boolean(), "whomever the provider signs in may enter", []string{serve},
			func(c *Config) *bool { return &c.OIDCEverybody }),
		entry("oidc-password-signin", choice(PasswordsOn, PasswordsOff), "whether people also sign in with a password of this server", []string{serve},
			func(c *Config) *string { return &c.OIDCPasswords }),
		entry("subject", word("TEXT"), "the claim sub of the user at the provider", []string{link, unlink},
			func(c *Config) *string { return &c.Subject }),
	}
}

// checkOIDC checks what the settings of the provider mean together.
func (c Config) checkOIDC() error {
	lists := len(c.OIDCDomains) > 0 || len(c.OIDCGroups) > 0
	if c.OIDCIssuer == "" {
		return c.checkNoOIDC(lists)
	}
	switch {
	case !c.SignIn():
		return &Error{Where: "--oidc-issuer", Value: c.OIDCIssuer, Reason: "needs --public-url, the URL under which people reach the server, and not --auth none"}
	case c.OIDCClientID == "":
		return &Error{Where: "--oidc-client-id", Reason: "is missing: register this server at " + c.OIDCIssuer + " and say what it is called there"}
	case c.OIDCSecret.Reveal() != "" && c.OIDCSecretFile != "":
		return &Error{Where: "--oidc-client-secret-file", Value: c.OIDCSecretFile, Reason: "is in place of --oidc-client-secret: leave out one of the two"}
	case !lists && !c.OIDCEverybody:
		return &Error{Where: "--oidc-issuer", Value: c.OIDCIssuer, Reason: "lets nobody in as it is: say who may enter with --oidc-allow-domain or --oidc-allow-group, " +
			"or --oidc-allow-everybody if that is whomever it signs in"}
	case lists && c.OIDCEverybody:
		return &Error{Where: "--oidc-allow-everybody", Reason: "contradicts --oidc-allow-domain and --oidc-allow-group: leave out the one or the others"}
	}
	return nil
}

// checkNoOIDC checks that nothing is said of a provider that is not there.
func (c Config) checkNoOIDC(lists bool) error {
	switch {
	case c.OIDCPasswords == PasswordsOff:
		return &Error{Where: "--oidc-password-signin", Value: c.OIDCPasswords, Reason: "would let nobody sign in without --oidc-issuer"}
	case c.OIDCClientID != "" || c.OIDCSecret.Reveal() != "" || c.OIDCSecretFile != "" || lists || c.OIDCEverybody:
		return &Error{Where: "--oidc-issuer", Reason: "is missing: the other settings of a provider are of no use without it"}
	}
	return nil
}

// ProviderName is what people call the provider.
func (c Config) ProviderName() string {
	if c.OIDCName != "" {
		return c.OIDCName
	}
	u, err := url.Parse(c.OIDCIssuer)
	if err != nil { // it was checked
		return c.OIDCIssuer
	}
	return u.Hostname()
}

// ReadOIDCSecret returns the secret of this server at the provider, from wherever it is; an empty one when there is none.
func (c Config) ReadOIDCSecret() (Secret, error) {
	if c.OIDCSecretFile == "" {
		return c.OIDCSecret, nil
	}
	wrong := func(reason string) (Secret, error) {
		return Secret{}, &Error{Where: "--oidc-client-secret-file", Value: c.OIDCSecretFile, Reason: reason}
	}
	f, err := os.Open(c.OIDCSecretFile)
	if err != nil {
		return wrong("cannot be read: give the user who runs the server the right to, and nobody else")
	}
	text, err := io.ReadAll(io.LimitReader(f, maxTextBytes+2))
	if closed := f.Close(); err != nil || closed != nil {
		return wrong("cannot be read")
	}
	secret := strings.TrimRight(string(text), "\r\n")
	if _, err := clientSecret().parse(secret); err != nil || secret == "" {
		return wrong("must have the secret alone, on one line")
	}
	return NewSecret(secret), nil
}

// clientSecret is text that is never shown.
func clientSecret() kind[Secret] {
	text := optional(word("SECRET"))
	return kind[Secret]{
		arg: "SECRET", yaml: text.yaml, secret: true,
		parse: func(value string) (Secret, error) {
			_, err := text.parse(value)
			return NewSecret(value), err
		},
		format: Secret.String,
	}
}

// issuerURL is the name of an OpenID provider, which is compared letter for letter (OpenID Connect Discovery 1.0, 4.3).
func issuerURL() kind[string] {
	return word("URL").then(func(value string) (string, error) {
		u, err := url.Parse(value)
		switch {
		case err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "":
			return "", refusal("must be a URL such as https://accounts.google.com, the \"issuer\" of the provider's /.well-known/openid-configuration")
		case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
			return "", refusal("must have no user, password, ? and #")
		case u.Scheme == "http" && !isLoopbackHost(u.Hostname()):
			return "", refusal("must be https, since whoever is on the way could sign in as anybody; http is for 127.0.0.1 and localhost only")
		}
		return value, nil
	})
}

// domainName is the part of an address of e-mail behind the @.
func domainName() kind[string] {
	return hostName().then(func(value string) (string, error) { return strings.ToLower(strings.TrimSuffix(value, ".")), nil })
}

// scopes are words of RFC 6749, 3.3, openid among them.
func scopes() kind[[]string] {
	return kind[[]string]{
		arg: "LIST", yaml: []string{tagString},
		parse: func(text string) ([]string, error) {
			all := strings.Fields(text)
			foreign := strings.ContainsFunc(text, func(r rune) bool {
				return r != ' ' && (r <= ' ' || r > unicode.MaxASCII-1 || r == '"' || r == '\\')
			})
			if len(text) > maxTextBytes || len(all) > maxScopes || foreign || !slices.Contains(all, "openid") {
				return nil, refusal("must be words with spaces between, openid among them, such as \"openid email profile\"")
			}
			return all, nil
		},
		format: func(all []string) string { return strings.Join(all, " ") },
	}
}
