package web

import (
	"fmt"
	"net/http"
	"slices"

	"runpython/internal/fault"
	"runpython/internal/identity"
	"runpython/internal/store"
)

// The paths of passkeys. What a script asks for is at the options; the forms themselves are sent to the others.
const (
	passkeyScriptPath         = "/passkey.js"
	passkeyLoginPath          = loginPath + "/passkey"
	passkeyLoginOptionsPath   = passkeyLoginPath + "/options"
	passkeyAccountPath        = accountPath + "/passkeys"
	passkeyAccountOptionsPath = passkeyAccountPath + "/options"
)

// scripted is the policy of pages with the script: it alone runs, and speaks with this server alone.
const scripted = "script-src 'self'; connect-src 'self'; "

func (p *Pages) handlePasskeys(mux *http.ServeMux) {
	mux.HandleFunc("GET "+passkeyScriptPath, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
		_, _ = w.Write(scriptText) // the browser may be gone
	})
	mux.HandleFunc("POST "+passkeyLoginOptionsPath, p.passkeyLoginOptions)
	mux.HandleFunc("POST "+passkeyLoginPath, p.passkeyLogin)
	mux.HandleFunc("POST "+passkeyAccountOptionsPath, p.signedInOr(p.passkeyAccountOptions))
	mux.HandleFunc("POST "+passkeyAccountPath, p.signedInOr(p.changePasskeys))
}

// answer gives a script what a browser is to ask for, or says in plain text why not.
func (p *Pages) answer(w http.ResponseWriter, r *http.Request, options []byte, err error) {
	if err != nil {
		kind, message := fault.Shown(err)
		status := p.status(w, r, kind, err)
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(status)
		_, _ = fmt.Fprint(w, sentence(message)) // the browser may be gone
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(options)
}

func (p *Pages) passkeyLoginOptions(w http.ResponseWriter, r *http.Request) {
	if !p.fromOurOpenForm(w, r) {
		return
	}
	options, err := p.Accounts.AskForPasskey(r.Context(), p.cookie(r, formCookie), p.Address(r))
	p.answer(w, r, options, err)
}

func (p *Pages) passkeyLogin(w http.ResponseWriter, r *http.Request) {
	if !p.fromOurSignInForm(w, r) {
		return
	}
	next := nextOf(r.PostForm.Get("next"))
	cookie, _, err := p.Accounts.SignInByPasskey(r.Context(), p.cookie(r, formCookie), []byte(r.PostForm.Get("answer")), p.Address(r))
	if err != nil {
		kind, message := fault.Shown(err)
		p.showSignIn(w, r, p.status(w, r, kind, err), view{Problem: sentence(message), Next: next, ByPasskey: true})
		return
	}
	p.enter(w, r, cookie, next)
}

// showSignIn shows the page to sign in, with what has gone wrong before.
func (p *Pages) showSignIn(w http.ResponseWriter, r *http.Request, status int, v view) {
	v.Title, v.CSRF, v.HasPasskeys = "Sign in", p.formSecret(w, r), p.Accounts.HasPasskeys()
	v.Passwords = !p.Accounts.ProviderOnly
	where, script := "'self'", ""
	if provider := p.Accounts.Provider; provider != nil {
		v.Provider = provider.Name
		where = formsTo(provider.Issuer)
	}
	if v.HasPasskeys {
		script = scripted
	}
	p.allow(w.Header(), where, script)
	p.show(w, status, "signin", v)
}

func (p *Pages) passkeyAccountOptions(w http.ResponseWriter, r *http.Request, v visitor) {
	options, err := p.Accounts.AskForNewPasskey(r.Context(), v.browser, v.user, r.PostForm.Get("name"))
	p.answer(w, r, options, err)
}

// changePasskeys adds, renames or removes a passkey.
func (p *Pages) changePasskeys(w http.ResponseWriter, r *http.Request, v visitor) {
	ctx, form, address := r.Context(), r.PostForm, p.Address(r)
	var err error
	done := form.Get("action")
	switch done {
	case "add":
		err = p.Accounts.AddPasskey(ctx, identity.NewPasskey{Browser: v.browser, User: v.user, Name: form.Get("name"), Answer: []byte(form.Get("answer")), Address: address})
	case "rename":
		err = p.Accounts.RenamePasskey(ctx, form.Get("id"), form.Get("name"), v.user, address)
	case "remove":
		err = p.Accounts.RemovePasskey(ctx, form.Get("id"), v.user, address)
	default:
		p.problem(w, http.StatusBadRequest, "This form is not one of this server's. Load the page anew, and try again.")
		return
	}
	if err != nil {
		kind, message := fault.Shown(err)
		p.showAccount(w, r, v, outcome{status: p.status(w, r, kind, err), problem: sentence(message)})
		return
	}
	http.Redirect(w, r, accountPath+"?passkey="+done, http.StatusSeeOther) //nolint:gosec // it is one of the words above
}

// passkeyDone is what is told of what was done, by the last part of its address.
func passkeyDone(done string) string {
	switch done {
	case "add":
		return "The passkey is added. You can sign in with it from now on."
	case "rename":
		return "The passkey is renamed."
	case "remove":
		return "The passkey is removed. Nobody signs in with it any more; your device may still offer it until you delete it there too."
	}
	return ""
}

// shownPasskey is a passkey as people see it.
type shownPasskey struct {
	ID, Name, Since, Used string // Used is "" for never
	BackedUp              bool
}

// addPasskeys adds to the view of an account what is shown of its passkeys.
func (p *Pages) addPasskeys(r *http.Request, visitor visitor, v *view) error {
	v.HasPasskeys = p.Accounts.MayHavePasskeys(visitor.user)
	if !v.HasPasskeys {
		return nil
	}
	all, err := p.Accounts.Passkeys(r.Context(), visitor.user)
	if err != nil {
		return err //nolint:wrapcheck // it says what it is
	}
	for _, k := range all {
		shown := shownPasskey{ID: k.ID, Name: k.Name, Since: k.Created.UTC().Format(dayForm), BackedUp: k.BackedUp}
		if !k.Used.IsZero() {
			shown.Used = k.Used.UTC().Format(dayForm)
		}
		v.Passkeys = append(v.Passkeys, shown)
	}
	v.Recent, v.NewPasskey = p.Accounts.Recent(visitor.browser), freeName(all)
	return nil
}

// freeName returns a name for one more passkey.
func freeName(all []store.Passkey) string {
	for n := len(all) + 1; ; n++ {
		name := fmt.Sprint("Passkey ", n)
		if !slices.ContainsFunc(all, func(k store.Passkey) bool { return k.Name == name }) {
			return name
		}
	}
}
