package source

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// variables are the environment of the process, by name.
type variables map[string]string

func readVariables(environ []string) variables {
	v := make(variables, len(environ))
	for _, e := range environ {
		if name, value, ok := strings.Cut(e, "="); ok {
			v[name] = value
		}
	}
	return v
}

func (v variables) get(name string) string { return v[name] }

// either returns a variable that is written in small or in capital letters.
func (v variables) either(name string) string {
	return first(v[strings.ToLower(name)], v[strings.ToUpper(name)])
}

// passed are variables that uv gets as they are. It gets nothing else of the process:
// no home, so no configuration, no netrc and no keyring of whoever runs the server.
var passed = []string{"UV_HTTP_TIMEOUT", "UV_INDEX_STRATEGY", "SSL_CERT_DIR", "TMPDIR"}

// proxies are the variables for proxies; uv and this program read them alike.
var proxies = []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"}

// Environ returns the variables that tell uv where packages come from. They hold
// credentials: hand them to a process, never to a log. They are no arguments, since
// those can be seen by everybody on the machine. The folders are sources as well.
func (s *Sources) Environ(folders ...string) []string {
	var env []string
	add := func(name, value string) {
		if value != "" {
			env = append(env, name+"="+value)
		}
	}
	add("UV_DEFAULT_INDEX", text(s.index))
	extra := make([]string, len(s.extra))
	for i, u := range s.extra {
		extra[i] = u.String()
	}
	add("UV_INDEX", strings.Join(extra, " "))
	add("UV_FIND_LINKS", strings.Join(append(slices.Clone(s.findLinks), folders...), ","))
	if s.bundle != "" {
		add("SSL_CERT_FILE", s.bundle)
	} else {
		// The name in older versions of uv, and in newer ones.
		add("UV_NATIVE_TLS", "true")
		add("UV_SYSTEM_CERTS", "true")
	}
	for _, name := range passed {
		add(name, s.vars.get(name))
	}
	for _, name := range proxies {
		add(name, s.vars.either(name))
	}
	return env
}

// Arguments returns what uv takes as arguments only.
func (s *Sources) Arguments() []string {
	if s.noIndex {
		return []string{"--no-index"}
	}
	return nil
}

// proxy returns the proxy for a request, from the variables in which everybody looks.
func (s *Sources) proxy(r *http.Request) (*url.URL, error) {
	if s.vars.direct(r.URL.Hostname()) {
		return nil, nil
	}
	text := first(s.vars.either(strings.ToUpper(r.URL.Scheme)+"_PROXY"), s.vars.either("ALL_PROXY"))
	if text == "" {
		return nil, nil
	}
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	return url.Parse(text)
}

// direct reports whether NO_PROXY covers host: by its name, as one of a domain, or
// by its address.
func (v variables) direct(host string) bool {
	ip := net.ParseIP(host)
	for rule := range strings.SplitSeq(v.either("NO_PROXY"), ",") {
		rule = strings.TrimSpace(rule)
		if rule == "*" {
			return true
		}
		if _, network, err := net.ParseCIDR(rule); err == nil && ip != nil && network.Contains(ip) {
			return true
		}
		domain := strings.TrimPrefix(strings.TrimPrefix(rule, "*"), ".")
		if domain != "" && (strings.EqualFold(host, domain) || ip == nil && hasDomain(host, domain)) {
			return true
		}
	}
	return false
}

func hasDomain(host, domain string) bool {
	return strings.HasSuffix(strings.ToLower(host), "."+strings.ToLower(domain))
}
