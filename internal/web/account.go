package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"runpython/internal/fault"
	"runpython/internal/identity"
	"runpython/internal/oauth"
	"runpython/internal/secret"
	"runpython/internal/store"
)

// The cookies: who is signed in, and what goes with forms of those who are not.
const (
	browserCookie = "runpython_session"
	formCookie    = "runpython_form"
	formPurpose   = "form"
)

// cookieName binds a cookie to this host and to https (RFC 6265bis, 4.1.3.2); without https browsers refuse such names.
func (p *Pages) cookieName(name string) string {
	if p.secure {
		return "__Host-" + name
	}
	return name
}

func (p *Pages) cookie(r *http.Request, name string) string {
	c, err := r.Cookie(p.cookieName(name))
	if err != nil {
		return ""
	}
	return c.Value
}

// setCookie gives a browser a cookie, until it is closed unless seconds say otherwise; less than 0 takes it away.
func (p *Pages) setCookie(w http.ResponseWriter, name, value string, seconds int) {
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // Secure lacks on loopback without https only
		Name: p.cookieName(name), Value: value, Path: "/", MaxAge: seconds, Secure: p.secure, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}

// formSecret returns the secret for a form of somebody who is not signed in, and gives the browser the cookie that goes with it.
func (p *Pages) formSecret(w http.ResponseWriter, r *http.Request) string {
	cookie := p.cookie(r, formCookie)
	if !secret.Looks(cookie, secret.Form) {
		cookie = secret.New(secret.Form)
		p.setCookie(w, formCookie, cookie, 0)
	}
	return secret.Derived(cookie, formPurpose)
}

// fromOurOpenForm is fromOurForm for those who are not signed in.
func (p *Pages) fromOurOpenForm(w http.ResponseWriter, r *http.Request) bool {
	csrf := ""
	if cookie := p.cookie(r, formCookie); secret.Looks(cookie, secret.Form) {
		csrf = secret.Derived(cookie, formPurpose)
	}
	return p.fromOurForm(w, r, csrf)
}

// fromOurSignInForm is fromOurOpenForm for the forms that sign somebody in. Who was signed in meanwhile, in another tab, which has taken
// the cookie of the form away, goes on to where this one leads.
func (p *Pages) fromOurSignInForm(w http.ResponseWriter, r *http.Request) bool {
	if p.cookie(r, formCookie) == "" {
		if _, _, err := p.Accounts.Browser(r.Context(), p.cookie(r, browserCookie)); err == nil {
			redirect(w, nextOf(r.PostFormValue("next")))
			return false
		}
	}
	return p.fromOurOpenForm(w, r)
}

// nextOf returns where somebody goes after signing in: to a page of this server that may be gone to, and nowhere else.
func nextOf(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.IsAbs() || u.Host != "" || u.User != nil || u.Opaque != "" || u.Fragment != "" || strings.ContainsAny(text, "\\\r\n\t") ||
		!slices.Contains([]string{oauth.AuthorizePath, accountPath, adminPath, personPath}, u.Path) || !strings.HasPrefix(text, u.Path) {
		return accountPath
	}
	return text
}

func (p *Pages) showLogin(w http.ResponseWriter, r *http.Request) {
	p.showSignIn(w, r, http.StatusOK, view{Next: nextOf(r.URL.Query().Get("next"))})
}

func (p *Pages) login(w http.ResponseWriter, r *http.Request) {
	if !p.fromOurSignInForm(w, r) {
		return
	}
	next, name := nextOf(r.PostForm.Get("next")), r.PostForm.Get("username")
	cookie, _, err := p.Accounts.SignIn(r.Context(), name, r.PostForm.Get("password"), p.Address(r))
	if err != nil {
		kind, message := fault.Shown(err)
		p.showSignIn(w, r, p.status(w, r, kind, err), view{Problem: sentence(message), Next: next, Name: name})
		return
	}
	p.enter(w, r, cookie, next)
}

// leave sends a browser to the provider.
func (p *Pages) leave(w http.ResponseWriter, r *http.Request) {
	if !p.fromOurSignInForm(w, r) {
		return
	}
	next := nextOf(r.PostForm.Get("next"))
	to, err := p.Accounts.BeginAtProvider(r.Context(), p.cookie(r, formCookie), next, p.Address(r))
	if err != nil {
		p.notSignedIn(w, r, next, err)
		return
	}
	redirect(w, to)
}

// comeBack signs a browser in that comes from the provider. The request is a link of another site: what counts is the state, which is
// for this browser alone.
func (p *Pages) comeBack(w http.ResponseWriter, r *http.Request) {
	cookie, next, err := p.Accounts.FinishAtProvider(r.Context(), p.cookie(r, formCookie), r.URL.Query(), p.Address(r))
	if err != nil {
		p.notSignedIn(w, r, nextOf(next), err)
		return
	}
	p.enter(w, r, cookie, nextOf(next))
}

// notSignedIn says why the provider has not signed somebody in, and lets the person try again, or in another way. The log has the cause.
func (p *Pages) notSignedIn(w http.ResponseWriter, r *http.Request, next string, err error) {
	kind, message := fault.Shown(err)
	if kind == fault.Invalid || kind == fault.Busy {
		p.Log.WarnContext(r.Context(), "nobody was signed in through the provider", "error", err)
	}
	p.showSignIn(w, r, p.status(w, r, kind, err), view{Problem: sentence(message), Next: next, ByProvider: true})
}

// enter signs a browser in and sends it on.
func (p *Pages) enter(w http.ResponseWriter, r *http.Request, cookie, next string) {
	p.setCookie(w, formCookie, "", -1)
	p.setCookie(w, browserCookie, cookie, int(identity.BrowserTime.Seconds()))
	http.Redirect(w, r, next, http.StatusSeeOther) //nolint:gosec // nextOf has checked it
}

// sentence makes a message one.
func sentence(message string) string {
	if message == "" {
		return ""
	}
	first, size := utf8.DecodeRuneInString(message) // that of a name that the operator has chosen, perhaps
	return string(unicode.ToUpper(first)) + message[size:] + "."
}

func (p *Pages) showSetup(w http.ResponseWriter, r *http.Request) {
	link := r.URL.Query().Get("link")
	if !p.Accounts.CanSetup(link) {
		p.problem(w, http.StatusNotFound, "This link is not good any more: it is good once, for an hour after the start of the server. Start the server anew, or add a user with `runpython user add NAME`.")
		return
	}
	p.show(w, http.StatusOK, "setup", view{Title: "Make the first account", CSRF: p.formSecret(w, r), Link: link})
}

func (p *Pages) setup(w http.ResponseWriter, r *http.Request) {
	if !p.fromOurOpenForm(w, r) {
		return
	}
	link, name := r.PostForm.Get("link"), r.PostForm.Get("username")
	u, err := p.Accounts.FinishSetup(r.Context(), link, name, r.PostForm.Get("password"))
	if err != nil {
		kind, message := fault.Shown(err)
		if kind != fault.Invalid {
			p.fail(w, r, err)
			return
		}
		wrong := "username"
		if _, ok := errors.AsType[*identity.PasswordError](err); ok {
			wrong = "password"
		}
		p.show(w, http.StatusUnprocessableEntity, "setup", view{Title: "Make the first account", Problem: sentence(message), Wrong: wrong, CSRF: p.formSecret(w, r), Link: link, Name: name})
		return
	}
	cookie, err := p.Accounts.SignInFirst(r.Context(), u, p.Address(r))
	if err != nil {
		p.fail(w, r, err)
		return
	}
	p.enter(w, r, cookie, accountPath)
}

// shownGrant is what is allowed, as people see it.
type shownGrant struct {
	ID, Name, Host     string
	Since, Used, Until string
	Machine            bool
	Rights             []string // as rightsOf has them
}

// dayForm is how days are shown.
const dayForm = "2 January 2006"

func (p *Pages) account(w http.ResponseWriter, r *http.Request, v visitor) {
	done := passkeyDone(r.URL.Query().Get("passkey"))
	if r.URL.Query().Has("disconnected") {
		done = "Disconnected. It can do nothing here any more, until it is allowed again."
	}
	p.showAccount(w, r, v, outcome{status: http.StatusOK, done: done})
}

// An outcome is what has become of what a person did last.
type outcome struct {
	status        int
	done, problem string
}

func (p *Pages) showAccount(w http.ResponseWriter, r *http.Request, v visitor, o outcome) {
	grants, err := p.grants(r.Context(), v.user)
	if err != nil {
		p.fail(w, r, err)
		return
	}
	shown := view{Title: "Your account", User: v.user.Name, CSRF: v.csrf, Done: o.done, Problem: o.problem, Grants: grants}
	if v.user.Admin {
		shown.AdminPath = adminPath
	}
	if err := p.addPasskeys(r, v, &shown); err != nil {
		p.fail(w, r, err)
		return
	}
	if shown.Recent {
		p.allow(w.Header(), "'self'", scripted)
	}
	p.show(w, o.status, "account", shown)
}

// grants returns what acts for a user now.
func (p *Pages) grants(ctx context.Context, u store.User) (shown []shownGrant, err error) {
	all, err := p.Accounts.Grants(ctx, u)
	now := p.Now()
	for _, g := range all {
		if !now.Before(g.Expires) {
			continue
		}
		shown = append(shown, shownGrant{
			ID: g.ID, Name: g.Name, Host: g.Host, Machine: g.Client == "", Rights: rightsOf(strings.Fields(g.Scopes)),
			Since: g.Created.UTC().Format(dayForm), Used: g.Used.UTC().Format(dayForm), Until: g.Expires.UTC().Format(dayForm),
		})
	}
	return shown, err //nolint:wrapcheck // it says what it is
}

func (p *Pages) disconnect(w http.ResponseWriter, r *http.Request, v visitor) {
	if err := p.Accounts.Revoke(r.Context(), r.PostForm.Get("revoke"), v.user, p.Address(r)); err != nil {
		p.fail(w, r, err)
		return
	}
	http.Redirect(w, r, accountPath+"?disconnected", http.StatusSeeOther)
}

func (p *Pages) logout(w http.ResponseWriter, r *http.Request, v visitor) {
	if err := p.Accounts.SignOut(r.Context(), v.browser, p.Address(r)); err != nil {
		p.fail(w, r, err)
		return
	}
	p.setCookie(w, browserCookie, "", -1)
	http.Redirect(w, r, signedOutPath, http.StatusSeeOther)
}
