package oauth

import (
	"net/netip"
	"net/url"
	"strings"
	"unicode"
)

// maxRedirectBytes bounds a redirect URI.
const maxRedirectBytes = 2048

// badSchemes are those that a browser runs, shows or sends something with, or that the system does something with, instead of giving it to an app.
const badSchemes = " about admin blob chrome chrome-extension content data facetime file filesystem ftp ftps hcp intent itms-apps itms-services jar javascript " +
	"ldap livescript mailto mhtml moz-extension res resource search search-ms sftp shell sms smb ssh tel telnet urn vbscript view-source wais ws wss " +
	"x-apple.systempreferences x-help-action "

// windowsSchemes is how those begin that Windows and its own programs do something with, such as to start a tool with arguments.
const windowsSchemes = "ms-"

// checkRedirect says what is wrong with a URI that somebody wants people to be sent to, "" for nothing. It is https, or http to
// the person's own machine (RFC 8252, 7.3), or a scheme of an app on it (RFC 8252, 7.1).
func checkRedirect(text string) string {
	if text == "" || len(text) > maxRedirectBytes {
		return "a redirect URI has 1 to 2048 bytes"
	}
	if strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' || r == '\\' || unicode.IsControl(r) }) {
		return "a redirect URI has printable ASCII characters only, without spaces and backslashes"
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme == "":
		return "a redirect URI is an absolute URI"
	case strings.Contains(text, "#"):
		return "a redirect URI has no fragment"
	case u.User != nil:
		return "a redirect URI has no user name"
	}
	return checkTarget(u)
}

// checkTarget says what is wrong with where a redirect URI leads, "" for nothing.
func checkTarget(u *url.URL) string {
	switch u.Scheme {
	case "https":
		if u.Hostname() == "" || u.Opaque != "" {
			return "a redirect URI has a host"
		}
	case "http":
		if !isLoopback(u) {
			return "a redirect URI is https, or http to localhost, 127.0.0.1 or [::1]"
		}
	default:
		if strings.Contains(badSchemes, " "+u.Scheme+" ") || strings.HasPrefix(u.Scheme, windowsSchemes) {
			return "the scheme " + u.Scheme + " is not one of an app"
		}
		if u.Host == "" && strings.Trim(u.Path+u.Opaque, "/") == "" {
			return "a redirect URI with the scheme of an app says more than that"
		}
	}
	return ""
}

// isLoopback reports whether a URI leads to the machine that opens it.
func isLoopback(u *url.URL) bool {
	if u.Scheme != "http" && u.Scheme != "https" || u.Opaque != "" {
		return false
	}
	name := strings.ToLower(u.Hostname())
	if name == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(name)
	return err == nil && addr.Zone() == "" && addr.IsLoopback()
}

// matchRedirect reports whether a URI is one that a client has registered: exactly, but for the port of
// http to the person's own machine, which clients take as it comes (RFC 8252, 7.3), and a lone slash there.
func matchRedirect(registered, given string) bool {
	if registered == given {
		return true
	}
	r, err := url.Parse(registered)
	if err != nil || r.Scheme != "http" || !isLoopback(r) {
		return false
	}
	g, err := url.Parse(given)
	if err != nil || g.Scheme != "http" || !isLoopback(g) || g.User != nil || strings.Contains(given, "#") {
		return false
	}
	path := func(u *url.URL) string {
		if p := u.EscapedPath(); p != "" {
			return p
		}
		return "/"
	}
	return strings.EqualFold(r.Hostname(), g.Hostname()) && path(r) == path(g) && r.RawQuery == g.RawQuery
}

// hostOf is what a person is told of where a redirect URI leads.
func hostOf(text string) string {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return ""
	case u.Scheme == "https" || u.Scheme == "http":
		return u.Host
	}
	return u.Scheme + ":"
}

// withParameters returns a redirect URI with parameters added to those that it has.
func withParameters(redirect string, add url.Values) string {
	u, err := url.Parse(redirect)
	if err != nil { // it was checked
		return redirect
	}
	if u.RawQuery != "" {
		u.RawQuery += "&"
	}
	u.RawQuery += add.Encode()
	return u.String()
}
