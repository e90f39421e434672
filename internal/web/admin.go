package web

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"runpython/internal/excerpt"
	"runpython/internal/identity"
	"runpython/internal/store"
)

// peopleOfPage is how many people a page for administrators shows.
const peopleOfPage = 50

// A Chats tells what chats need; package database is one.
type Chats interface {
	// Usage returns it by the ids of their owners.
	Usage(ctx context.Context) (map[string]store.Usage, error)
}

// A Limit is a bound that administrators see: "calls in a minute", 600.
type Limit struct {
	Name  string
	Value string
}

// adminView is what pages for administrators show.
type adminView struct {
	ReadOnly bool // the reader has a token and no browser that is signed in, and so no forms
	People   []shownPerson
	More     string // the page that goes on, "" for none
	Chats    int
	Bytes    string
	Limits   []Limit
	Person   shownPerson
	Own      bool // the person is the reader
}

// shownPerson is a user, as administrators see one.
type shownPerson struct {
	ID, Name, Since string
	Admin, Disabled bool
	Providers       []store.Identity
	Chats           int
	Bytes           string
}

// adminOr shows a page to administrators: those who are signed in, and whoever has a token for it.
func (p *Pages) adminOr(next func(http.ResponseWriter, *http.Request, *visitor)) http.HandlerFunc {
	byToken := p.AdminOnly(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { next(w, r, nil) }))
	byBrowser := p.signedInOr(func(w http.ResponseWriter, r *http.Request, v visitor) {
		if !v.user.Admin {
			p.problem(w, http.StatusForbidden, "This page is for administrators, and "+v.user.Name+" is none.")
			return
		}
		next(w, r, &v)
	})
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost && len(r.Header.Values("Authorization")) > 0 {
			byToken.ServeHTTP(w, r)
			return
		}
		byBrowser(w, r)
	}
}

// showPeople shows who may sign in, what their chats need and what they may do.
func (p *Pages) showPeople(w http.ResponseWriter, r *http.Request, v *visitor) {
	users, err := p.Accounts.Users(r.Context())
	if err != nil {
		p.fail(w, r, err)
		return
	}
	after := r.URL.Query().Get("after")
	users = slices.DeleteFunc(users, func(u store.User) bool { return u.Name <= after })
	shown := view{Title: "People", Admin: adminView{Limits: p.Limits}}
	if len(users) > peopleOfPage {
		users = users[:peopleOfPage]
		shown.Admin.More = adminPath + "?" + url.Values{"after": {users[peopleOfPage-1].Name}}.Encode()
	}
	people, usage, err := p.people(r.Context(), users)
	if err != nil {
		p.fail(w, r, err)
		return
	}
	shown.Admin.People = people
	var bytes int64
	for _, u := range usage {
		shown.Admin.Chats += u.Chats
		bytes += u.Bytes
	}
	shown.Admin.Bytes = excerpt.Size(bytes)
	p.showAdmin(w, "people", shown, v)
}

// people tells of users what administrators see, and of all chats what they need.
func (p *Pages) people(ctx context.Context, users []store.User) (all []shownPerson, usage map[string]store.Usage, err error) {
	if usage, err = p.Chats.Usage(ctx); err != nil {
		return nil, nil, err //nolint:wrapcheck // it says what it is
	}
	of, err := p.Accounts.Identities(ctx)
	if err != nil {
		return nil, nil, err //nolint:wrapcheck // it says what it is
	}
	for _, u := range users {
		all = append(all, shownPerson{
			ID: u.ID, Name: u.Name, Since: u.Created.UTC().Format(dayForm), Admin: u.Admin, Disabled: u.Disabled, Providers: of[u.ID],
			Chats: usage[u.ID].Chats, Bytes: excerpt.Size(usage[u.ID].Bytes),
		})
	}
	return all, usage, nil
}

// showPerson shows one user, with the apps and the tokens that act for that user.
func (p *Pages) showPerson(w http.ResponseWriter, r *http.Request, v *visitor) {
	u, err := p.Accounts.UserByID(r.Context(), r.URL.Query().Get("id"))
	if err != nil {
		p.fail(w, r, err)
		return
	}
	people, _, err := p.people(r.Context(), []store.User{u})
	if err != nil {
		p.fail(w, r, err)
		return
	}
	grants, err := p.grants(r.Context(), u)
	if err != nil {
		p.fail(w, r, err)
		return
	}
	shown := view{Title: u.Name, Grants: grants, Admin: adminView{Person: people[0], Own: v != nil && v.user.ID == u.ID}}
	if r.URL.Query().Has("done") {
		shown.Done = "Done."
	}
	p.showAdmin(w, "person", shown, v)
}

// showAdmin shows a page to who is signed in at a browser, or to nobody in particular.
func (p *Pages) showAdmin(w http.ResponseWriter, name string, shown view, v *visitor) {
	shown.Admin.ReadOnly = v == nil
	if v != nil {
		shown.User, shown.CSRF = v.user.Name, v.csrf
	}
	p.show(w, http.StatusOK, name, shown)
}

// changePerson does what an administrator has decided about a user.
func (p *Pages) changePerson(w http.ResponseWriter, r *http.Request, v *visitor) {
	by, id := identity.Admin{User: v.user, Address: p.Address(r)}, r.PostForm.Get("id")
	var err error
	if grant := r.PostForm.Get("revoke"); grant != "" {
		err = p.Accounts.RevokeBy(r.Context(), by, grant, id)
	} else {
		var disabled bool
		if disabled, err = strconv.ParseBool(r.PostForm.Get("disable")); err != nil {
			p.problem(w, http.StatusUnprocessableEntity, "The form does not say what to do.")
			return
		}
		err = p.Accounts.DisableBy(r.Context(), by, id, disabled)
	}
	if err != nil {
		p.fail(w, r, err)
		return
	}
	http.Redirect(w, r, personPath+"?"+url.Values{"id": {id}, "done": {""}}.Encode(), http.StatusSeeOther)
}
