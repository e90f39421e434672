// Package web has the pages for people: signing in, also through an OpenID provider, saying yes or no to an app, seeing and ending what is allowed, and making the first
// account; and those for administrators, who see who may sign in and what acts for whom, and end it. What they mean is decided by packages identity and oauth.
//
// The pages are rendered here, need no script, and fit on 320 pixels; colours follow the system. Their style is inside of
// them, and named by its digest in the policy of each page, so that nothing else is loaded, run or framed. Those where people use
// passkeys, which browsers give to scripts only, load one script of ours, and show what needs it only when it runs.
//
// # Trust
//
// Everything that a browser sends is hostile, and so are the names of apps. A form counts only if it comes from a page of
// this server (Sec-Fetch-Site or Origin) and has the secret that goes with the browser's cookie. The
// cookie is not readable by scripts, is sent to this host only, and to pages that others link to, but not with forms of
// theirs (SameSite=Lax).
//
// # Failure
//
// A page says what is wrong and what to do. The cause of what is not the person's fault is in the log.
package web

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed" // the pages
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"runpython/internal/fault"
	"runpython/internal/identity"
	"runpython/internal/oauth"
	"runpython/internal/secret"
	"runpython/internal/store"
)

//go:embed pages/pages.html
var pagesText string

//go:embed pages/admin.html
var adminText string

//go:embed pages/passkeys.html
var passkeysText string

//go:embed pages/style.css
var styleText string

//go:embed pages/passkey.js
var scriptText []byte

const (
	// maxFormBytes bounds what a form sends.
	maxFormBytes = 16 << 10
	// consentTime is how long a person may think about a request, maxConsents how many wait at one browser.
	consentTime = 10 * time.Minute
	maxConsents = 20
)

// A Consents keeps requests that wait for a person; package database is one.
type Consents interface {
	AddConsent(ctx context.Context, c store.Consent, most int) error
	// TakeConsent returns a request once; an unknown one is store.ErrNotFound.
	TakeConsent(ctx context.Context, hash, browser store.Digest, now time.Time) ([]byte, error)
}

// Options say what the pages belong to. All but Limits, Now and Log are required.
type Options struct {
	Issuer   string // URL without a path
	Accounts *identity.Service
	OAuth    *oauth.Server
	Consents Consents
	Chats    Chats
	Limits   []Limit                    // that administrators see
	Address  func(*http.Request) string // of the caller
	Now      func() time.Time           // nil means time.Now
	Log      *slog.Logger               // nil means no log
}

// Pages are safe for concurrent use, and have nothing to close.
type Pages struct {
	Options
	templates *template.Template
	style     template.CSS
	policy    string // of styles
	secure    bool   // the pages are under https
}

// New returns the pages.
func New(o Options) *Pages {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	sum := sha256.Sum256([]byte(styleText))
	return &Pages{
		Options: o, templates: template.Must(template.New("pages").Parse(pagesText + passkeysText + adminText)), style: template.CSS(styleText), //nolint:gosec // it is ours
		policy: "style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'", secure: strings.HasPrefix(o.Issuer, "https://"),
	}
}

// Paths of the pages beside oauth.AuthorizePath.
const (
	loginPath     = "/login"
	leavePath     = "/login/provider"
	returnPath    = "/login/callback"
	accountPath   = "/account"
	logoutPath    = "/logout"
	signedOutPath = "/signed-out"
	setupPath     = "/setup"
	adminPath     = "/admin"
	personPath    = "/admin/person"
)

// Patterns are the paths that Handler serves.
func Patterns() []string {
	return []string{
		oauth.AuthorizePath, loginPath, leavePath, returnPath, accountPath, logoutPath, signedOutPath, setupPath, adminPath, personPath,
		passkeyScriptPath, passkeyLoginPath, passkeyLoginOptionsPath, passkeyAccountPath, passkeyAccountOptionsPath,
	}
}

// ReturnURL returns where people come back to from an OpenID provider.
func ReturnURL(issuer string) string { return issuer + returnPath }

// SetupURL returns the link by which the first account is made.
func SetupURL(issuer, link string) string {
	return issuer + setupPath + "?" + url.Values{"link": {link}}.Encode()
}

// Handler serves the pages.
func (p *Pages) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+oauth.AuthorizePath, p.signedInOr(p.ask))
	mux.HandleFunc("POST "+oauth.AuthorizePath, p.signedInOr(p.decide))
	mux.HandleFunc("GET "+loginPath, p.showLogin)
	mux.HandleFunc("POST "+loginPath, p.login)
	mux.HandleFunc("POST "+leavePath, p.leave)
	mux.HandleFunc("GET "+returnPath, p.comeBack)
	mux.HandleFunc("GET "+accountPath, p.signedInOr(p.account))
	mux.HandleFunc("POST "+accountPath, p.signedInOr(p.disconnect))
	mux.HandleFunc("POST "+logoutPath, p.signedInOr(p.logout))
	mux.HandleFunc("GET "+signedOutPath, func(w http.ResponseWriter, _ *http.Request) {
		p.show(w, http.StatusOK, "signedout", view{Title: "Signed out"})
	})
	mux.HandleFunc("GET "+adminPath, p.adminOr(p.showPeople))
	mux.HandleFunc("GET "+personPath, p.adminOr(p.showPerson))
	mux.HandleFunc("POST "+personPath, p.adminOr(p.changePerson))
	mux.HandleFunc("GET "+setupPath, p.showSetup)
	mux.HandleFunc("POST "+setupPath, p.setup)
	p.handlePasskeys(mux)
	guard := http.NewCrossOriginProtection()
	if err := guard.AddTrustedOrigin(p.Issuer); err != nil {
		panic("web: " + err.Error()) // the issuer was checked
	}
	guard.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		p.problem(w, http.StatusForbidden, "This form came from a page of another site.")
	}))
	return guard.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.protect(w.Header())
		r.Body = http.MaxBytesReader(w, r.Body, maxFormBytes)
		mux.ServeHTTP(w, r)
	}))
}

// protect sets the headers of all pages.
func (p *Pages) protect(h http.Header) {
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin")
	p.allow(h, "'self'", "")
}

// allow says where forms of a page may lead, redirects included, and what else its policy has.
func (p *Pages) allow(h http.Header, forms, more string) {
	h.Set("Content-Security-Policy", "default-src 'none'; "+p.policy+"; "+more+"form-action "+forms+"; base-uri 'none'; frame-ancestors 'none'")
}

// view is what a page shows.
type view struct {
	Title   string
	Style   template.CSS
	User    string
	Problem string
	Wrong   string // the field that is the problem, of the form to set up
	CSRF    string

	Next, Name string // of signing in
	Provider   string // the name of who else signs people in, "" for nobody
	Passwords  bool   // people sign in with one
	Link       string // of setting up
	Request    *oauth.Authorization
	Rights     []string // what it asks for, as rightsOf has it
	Form       string   // secret of the request
	Grants     []shownGrant
	Done       string
	AdminPath  string // for who is an administrator, "" for others
	Admin      adminView

	HasPasskeys bool // this server has them
	ByPasskey   bool // the problem is of one
	ByProvider  bool // it is of the provider
	Recent      bool // one may be added
	Passkeys    []shownPasskey
	NewPasskey  string // a name for one more

	Continue string
	Host     string
}

func (p *Pages) show(w http.ResponseWriter, status int, name string, v view) {
	v.Style = p.style
	var page bytes.Buffer
	if err := p.templates.ExecuteTemplate(&page, name, v); err != nil {
		p.Log.Error("render a page", "page", name, "error", err)
		http.Error(w, "internal error; the operator's log has the details", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = page.WriteTo(w) // the browser may be gone
}

// problem shows what is wrong.
func (p *Pages) problem(w http.ResponseWriter, status int, message string) {
	p.protect(w.Header())
	p.show(w, status, "problem", view{Title: "That did not work", Problem: message})
}

// fail shows what of an error may be shown.
func (p *Pages) fail(w http.ResponseWriter, r *http.Request, err error) {
	kind, message := fault.Shown(err)
	p.problem(w, p.status(w, r, kind, err), message)
}

// status returns the status for an error, and logs the cause of what the person cannot change.
func (p *Pages) status(w http.ResponseWriter, r *http.Request, kind fault.Kind, err error) int {
	if busy, ok := errors.AsType[*fault.Error](err); ok && busy.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(busy.RetryAfter/time.Second)+1))
		return http.StatusTooManyRequests
	}
	switch kind {
	case fault.Invalid:
		return http.StatusUnprocessableEntity
	case fault.NotFound:
		return http.StatusNotFound
	case fault.Busy:
		w.Header().Set("Retry-After", "5")
		return http.StatusServiceUnavailable
	case fault.Internal, fault.Canceled, fault.Unsupported:
	}
	p.Log.ErrorContext(r.Context(), "page", "path", r.URL.Path, "error", err)
	return http.StatusInternalServerError
}

// visitor is who is signed in at a browser.
type visitor struct {
	browser store.Browser
	user    store.User
	csrf    string
}

// signedInOr lets those who are signed in see a page, and others sign in first. A form counts only with its secret.
func (p *Pages) signedInOr(next func(http.ResponseWriter, *http.Request, visitor)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		cookie := p.cookie(r, browserCookie)
		b, u, err := p.Accounts.Browser(r.Context(), cookie)
		if kind, _ := fault.Shown(err); err != nil && kind != fault.NotFound {
			p.fail(w, r, err)
			return
		}
		if err != nil {
			p.askToSignIn(w, r)
			return
		}
		v := visitor{browser: b, user: u, csrf: secret.Derived(cookie, formPurpose)}
		if r.Method == http.MethodPost && !p.fromOurForm(w, r, v.csrf) {
			return
		}
		next(w, r, v)
	}
}

// askToSignIn sends a browser to sign in and back, with what it has asked for.
func (p *Pages) askToSignIn(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		p.problem(w, http.StatusForbidden, "You are not signed in any more. Begin again in the app.")
		return
	}
	if r.URL.Path == oauth.AuthorizePath { // nobody should sign in for what cannot be
		if _, err := p.OAuth.ReadAuthorization(r.Context(), r.URL.Query(), p.Address(r)); err != nil {
			p.refuseRequest(w, r, err)
			return
		}
	}
	http.Redirect(w, r, loginPath+"?"+url.Values{"next": {r.URL.RequestURI()}}.Encode(), http.StatusSeeOther)
}

// fromOurForm reads a form and reports whether it has the secret that it was given. If not, it has answered.
func (p *Pages) fromOurForm(w http.ResponseWriter, r *http.Request, csrf string) bool {
	if err := r.ParseForm(); err != nil {
		p.problem(w, http.StatusBadRequest, "The form cannot be read.")
		return false
	}
	if csrf == "" || !secret.Matches(r.PostForm.Get("csrf"), secret.Digest(csrf)) {
		p.problem(w, http.StatusForbidden, "This form is too old, or cookies are off. Go back, load the page anew, and try again.")
		return false
	}
	return true
}

// ask shows a person what an app wants.
func (p *Pages) ask(w http.ResponseWriter, r *http.Request, v visitor) {
	a, err := p.OAuth.ReadAuthorization(r.Context(), r.URL.Query(), p.Address(r))
	if err != nil {
		p.refuseRequest(w, r, err)
		return
	}
	a.Narrow(v.user.Admin)
	text, err := json.Marshal(a)
	if err != nil {
		p.fail(w, r, fmt.Errorf("write a request: %w", err))
		return
	}
	form, now := secret.New(secret.Form), p.Now()
	err = p.Consents.AddConsent(r.Context(), store.Consent{
		Hash: secret.Digest(form), Browser: v.browser.Hash, Request: text, Created: now, Expires: now.Add(consentTime),
	}, maxConsents)
	if err != nil {
		p.fail(w, r, err)
		return
	}
	p.allow(w.Header(), formsTo(a.Redirect), "")
	p.show(w, http.StatusOK, "consent", view{Title: "Allow this app?", User: v.user.Name, CSRF: v.csrf, Request: a, Rights: rightsOf(a.Scopes), Form: form})
}

// rightsOf returns all that scopes allow, also what one of them only implies, so that people are told of it.
func rightsOf(scopes []string) []string {
	if oauth.Has(scopes, oauth.ScopeRun) && !slices.Contains(scopes, oauth.ScopeRun) {
		return append([]string{oauth.ScopeRun}, scopes...)
	}
	return scopes
}

// formsTo returns what a page must allow for its form to be answered by a redirect to an app: browsers hold redirects of forms
// to the policy as well.
func formsTo(redirect string) string {
	u, err := url.Parse(redirect)
	if err != nil || u.Scheme == "https" {
		return "'self' https:" // the app may redirect on
	}
	return "'self' " + u.Scheme + ":"
}

// decide does what a person says.
func (p *Pages) decide(w http.ResponseWriter, r *http.Request, v visitor) {
	text, err := p.Consents.TakeConsent(r.Context(), secret.Digest(r.PostForm.Get("request")), v.browser.Hash, p.Now())
	if errors.Is(err, store.ErrNotFound) {
		p.problem(w, http.StatusGone, "This was decided already, or you took more than ten minutes. Begin again in the app.")
		return
	}
	if err != nil {
		p.fail(w, r, err)
		return
	}
	var a oauth.Authorization
	if err := json.Unmarshal(text, &a); err != nil {
		p.fail(w, r, fmt.Errorf("read a request: %w", err))
		return
	}
	p.allow(w.Header(), formsTo(a.Redirect), "")
	to := ""
	switch r.PostForm.Get("action") {
	case "approve":
		if to, err = p.OAuth.Approve(r.Context(), &a, v.user, p.Address(r)); err != nil {
			p.fail(w, r, err)
			return
		}
	default: // whatever is not a yes is a no
		to = p.OAuth.Deny(r.Context(), &a, v.user, p.Address(r))
	}
	redirect(w, to)
}

// redirect sends a browser to an address that was checked, as it is: [http.Redirect] would clean its path.
func redirect(w http.ResponseWriter, to string) {
	w.Header().Set("Location", to)
	w.WriteHeader(http.StatusSeeOther) // the browser must not repeat the form there (RFC 9700, 4.12)
}

// refuseRequest says what is wrong with a request, to the person or, where that is safe, to the app.
func (p *Pages) refuseRequest(w http.ResponseWriter, r *http.Request, err error) {
	if back, ok := errors.AsType[*oauth.RedirectError](err); ok {
		redirect(w, back.URL)
		return
	}
	page, ok := errors.AsType[*oauth.PageError](err)
	if !ok {
		p.fail(w, r, err)
		return
	}
	v := view{Title: "That did not work", Problem: page.Message}
	if page.Continue != "" {
		v.Continue = page.Continue
		if u, err := url.Parse(page.Continue); err == nil {
			v.Host = u.Host
		}
	}
	p.show(w, page.Status, "problem", v)
}
