package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"time"

	"runpython/internal/caller"
	"runpython/internal/config"
	"runpython/internal/egress"
	"runpython/internal/fault"
	"runpython/internal/identity"
	"runpython/internal/mcpserver"
	"runpython/internal/metrics"
	"runpython/internal/oauth"
	"runpython/internal/passkey"
	"runpython/internal/provider"
	"runpython/internal/store"
	"runpython/internal/store/database"
	"runpython/internal/web"
)

// sweepEvery is how often what has expired is removed from the database.
const sweepEvery = time.Hour

// access is who may call over HTTP. It is nil where nobody signs in.
type access struct {
	log      *slog.Logger
	accounts *identity.Service
	oauth    *oauth.Server
	pages    *web.Pages
	issuer   string
}

// openAccess makes callers of the HTTP endpoint sign in, if the settings say so.
func (a *App) openAccess(records *database.Store) error {
	if !a.config.SignIn() {
		return nil
	}
	through, err := newProvider(a.config)
	if err != nil {
		return err
	}
	accounts := newAccounts(records, a, a.config.PublicURL, through)
	server := oauth.New(oauth.Options{
		Issuer: a.config.PublicURL, Resource: a.config.PublicURL + endpointPath, Store: records, Registration: a.config.Clients,
		Fetcher: oauth.NewFetcher(oauth.FetcherOptions{Reachable: egress.IsOutside, Hosts: a.config.DocumentHosts}),
		Record:  a.audit, Limit: a.limits, Address: addressOf, Log: a.log,
	})
	a.access = &access{log: a.log, accounts: accounts, oauth: server, issuer: a.config.PublicURL, pages: web.New(web.Options{
		Issuer: a.config.PublicURL, Accounts: accounts, OAuth: server, Consents: records, Chats: records, Limits: shownLimits(a.config), Address: addressOf, Log: a.log,
	})}
	a.sweep(records)
	return nil
}

// newProvider returns who signs people in beside this server, nil for nobody. It is not asked for anything yet.
func newProvider(c config.Config) (*provider.Provider, error) {
	if c.OIDCIssuer == "" {
		return nil, nil //nolint:nilnil // nobody, and nothing is wrong
	}
	secret, err := c.ReadOIDCSecret()
	if err != nil {
		return nil, err //nolint:wrapcheck // it says what it is
	}
	return provider.New(provider.Options{
		Issuer: c.OIDCIssuer, Name: c.ProviderName(), ClientID: c.OIDCClientID, Secret: secret.Reveal(), Scopes: c.OIDCScopes, Redirect: web.ReturnURL(c.PublicURL),
		Admit: provider.Admission{Domains: c.OIDCDomains, Groups: c.OIDCGroups, GroupsClaim: c.OIDCGroupsClaim, Everybody: c.OIDCEverybody},
	}), nil
}

// endpointPath is where the MCP endpoint is.
const endpointPath = "/mcp"

// newAccounts returns the accounts of the database, for whom the server is at a URL. Without one, and without limits, which only
// a server has, nobody signs in.
func newAccounts(records *database.Store, a *App, issuer string, through *provider.Provider) *identity.Service {
	o := identity.Options{Store: records, Record: a.audit, Limit: a.limits, Log: a.log, Provider: through, ProviderOnly: a.config.OIDCPasswords == config.PasswordsOff}
	if issuer != "" {
		o.Resource = issuer + endpointPath
	}
	if issuer != "" && !o.ProviderOnly {
		o.Party = passkey.New(issuer)
	}
	return identity.New(o)
}

// sweep removes what has expired, now and every hour until the program ends.
func (a *App) sweep(records *database.Store) {
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		ticks := time.NewTicker(sweepEvery)
		defer ticks.Stop()
		for {
			now := time.Now()
			if err := records.SweepAccounts(ctx, now, now.Add(-oauth.UnusedTime)); err != nil && ctx.Err() == nil {
				a.log.Warn("remove what has expired", "error", err)
			}
			select {
			case <-ticks.C:
			case <-ctx.Done():
				return
			}
		}
	})
	a.onClose("sweep", func() error {
		stop()
		running.Wait()
		return nil
	})
}

// guard returns what the MCP endpoint asks for, nil for nothing.
func (s *access) guard(private bool) *mcpserver.Access {
	if s == nil {
		return nil
	}
	return &mcpserver.Access{
		Bearers: s.accounts, Metadata: s.issuer + oauth.ResourceMetadataPath, Scope: oauth.ScopeRun, Has: oauth.Has, Private: private,
	}
}

// mount adds the authorization server and its pages, under the names of this server only.
func (s *access) mount(mux *http.ServeMux, mcp *mcpserver.Server, m *metrics.Metrics) {
	if s == nil {
		return
	}
	mount := func(patterns []string, h http.Handler) {
		for _, p := range patterns {
			mux.Handle(p, mcp.Pages(h, h))
		}
	}
	mount(s.oauth.Patterns(), m.Count("oauth", s.oauth.Handler()))
	mount(web.Patterns(), m.Count("page", s.pages.Handler()))
	mount([]string{metricsPath}, m.Count("admin", s.pages.AdminOnly(m.Handler())))
}

// admins lets nobody see a page whose token is not an administrator's; where nobody signs in, everybody may.
func (s *access) admins(next http.Handler, open bool) http.Handler {
	if s == nil || open {
		return next
	}
	return s.pages.AdminOnly(next)
}

// SetupLink returns the link by which the first account is made, "" when nobody signs in or there is an account. It is
// good once, for an hour, as long as this program runs.
func (a *App) SetupLink(ctx context.Context) (string, error) {
	if a.access == nil {
		return "", nil
	}
	link, err := a.access.accounts.BeginSetup(ctx)
	if err != nil || link == "" {
		return "", err //nolint:wrapcheck // it says what it is
	}
	return web.SetupURL(a.access.issuer, link), nil
}

// addressOf returns the address of the caller of a request.
func addressOf(r *http.Request) string { return caller.FromContext(r.Context()).String() }

// Accounts are the accounts, tokens and clients of a data folder, without what runs code. They are safe for concurrent use, also
// while a server uses the same. Close them.
type Accounts struct {
	*identity.Service
	app     *App // with nothing but the database
	records *database.Store
}

// OpenAccounts opens the accounts.
func OpenAccounts(ctx context.Context, c config.Config, log *slog.Logger) (*Accounts, error) {
	if err := os.MkdirAll(c.Data, 0o700); err != nil {
		return nil, fault.New(fault.Unsupported, err, "the data folder "+c.Data+" cannot be made: choose another with --data")
	}
	a := &App{config: c, log: log}
	var err error
	if a.audit, err = openAudit(c, nil, log); err != nil {
		return nil, lacking(err, c.Data)
	}
	a.onClose("audit log", a.audit.events.Close)
	records, err := a.openDatabase(ctx)
	if err != nil {
		return nil, errors.Join(lacking(err, c.Data), a.Close())
	}
	return &Accounts{Service: newAccounts(records, a, "", nil), app: a, records: records}, nil
}

// Close lets go of the database.
func (a *Accounts) Close() error { return a.app.Close() }

// RegisterClient adds a client by hand. Metadata that cannot be is fault.Invalid.
func (a *Accounts) RegisterClient(ctx context.Context, name string, redirects []string, withSecret bool) (*oauth.Registered, error) {
	m := oauth.Metadata{Name: name, RedirectURIs: redirects}
	if withSecret {
		m.AuthMethod = oauth.SecretMethod
	}
	added, err := oauth.AddManual(ctx, a.records, m, time.Now())
	if err == nil {
		a.app.audit.Record(ctx, oauth.EventRegistered, "", "", added.ID)
	}
	return added, err //nolint:wrapcheck // it says what it is
}

// Clients returns the clients that were added by hand.
func (a *Accounts) Clients(ctx context.Context) ([]oauth.Client, error) {
	return oauth.Manual(ctx, a.records) //nolint:wrapcheck // it says what it is
}

// RemoveClient removes a client with all that was allowed to it. An unknown one is fault.NotFound.
func (a *Accounts) RemoveClient(ctx context.Context, id string) error {
	err := a.records.RemoveClient(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return fault.New(fault.NotFound, err, fmt.Sprintf("there is no client %q: `runpython client list` shows those that are there", id))
	}
	if err == nil {
		a.app.audit.Record(ctx, oauth.EventRemoved, "", "", id)
	}
	return err //nolint:wrapcheck // it says what it is
}
