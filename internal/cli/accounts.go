package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"runpython/internal/cli/console"
	"runpython/internal/config"
	"runpython/internal/identity"
	"runpython/internal/oauth"
	"runpython/internal/store"
)

// Accounts are who may call a server that asks people to sign in. An unknown user, token or client is a fault.NotFound, a name or
// password that cannot be a fault.Invalid.
type Accounts interface {
	AddUser(ctx context.Context, name, password string, admin bool) (store.User, error)
	Users(ctx context.Context) ([]store.User, error)
	// Named returns the user with a name.
	Named(ctx context.Context, name string) (store.User, error)
	SetPassword(ctx context.Context, name, password string) error
	SetDisabled(ctx context.Context, name string, disabled bool) error
	RemoveUser(ctx context.Context, name string) error
	// Link says who a user is at the OpenID provider of an issuer, by the subject there; Unlink takes it back.
	Link(ctx context.Context, name, issuer, subject string) error
	Unlink(ctx context.Context, name, issuer, subject string) error
	// Identities returns who users are at providers, by the ids of the users.
	Identities(ctx context.Context) (map[string][]store.Identity, error)

	// Passkeys returns those of a user, CountPasskeys how many each user has who has any, by the user's id.
	Passkeys(ctx context.Context, u store.User) ([]store.Passkey, error)
	CountPasskeys(ctx context.Context) (map[string]int, error)
	// RemovePasskey removes one of a user, for the operator where address is "".
	RemovePasskey(ctx context.Context, id string, u store.User, address string) error

	// CreateToken returns a new token, which nobody can see later.
	CreateToken(ctx context.Context, n identity.NewToken) (string, error)
	Tokens(ctx context.Context) ([]identity.MachineToken, error)
	RevokeToken(ctx context.Context, name, user string) error

	RegisterClient(ctx context.Context, name string, redirects []string, withSecret bool) (*oauth.Registered, error)
	Clients(ctx context.Context) ([]oauth.Client, error)
	RemoveClient(ctx context.Context, id string) error

	Close() error
}

const userHelp = `Manages the accounts of people who sign in to a server with --public-url. They are in --database; it may be called
while a server runs on it.`

const addUserHelp = `Adds an account. The password is asked for twice on the terminal, or read with --password-stdin: one line. With
--admin the user may also give apps the scope admin.`

const linkHelp = `Says who a user is at the OpenID provider of --oidc-issuer: the claim sub, which the provider's administrators can look up.
Whoever signs in there without being linked gets a new account. Only who is on the server's lists of the provider enters.`

const tokenHelp = `Manages tokens for machines that cannot sign in: a client that sends "Authorization: Bearer TOKEN" acts for the user.` //nolint:gosec // it is no secret

const createTokenHelp = `Makes a token and prints it, alone, on standard output. It is shown once: only its SHA-256 is kept.`

const clientHelp = `Manages apps that cannot make themselves known, or that are to be the only ones (--client-registration manual).`

func (c *command) userCommand() *cobra.Command {
	cmd := c.group("user", "Manage who may sign in", userHelp, "add, list, passwd, passkeys, disable, enable, link, unlink or remove")
	cmd.AddCommand(
		c.add(&cobra.Command{Use: "add NAME", Short: "Add an account", Long: addUserHelp, Args: c.someArguments("user", 1)}, true, c.addUser),
		c.add(&cobra.Command{Use: "list", Short: "List the accounts", Args: c.noArguments}, true, c.listUsers),
		c.add(&cobra.Command{Use: "passwd NAME", Short: "Change a password, and sign out everywhere", Args: c.someArguments("user", 1)}, true, c.changePassword),
		c.add(&cobra.Command{Use: "passkeys NAME", Short: "List the passkeys of a user, or remove one", Long: passkeysHelp, Args: c.someArguments("user", 1)}, true, c.passkeys),
		c.add(&cobra.Command{Use: "disable NAME", Short: "Sign a user out everywhere and end all tokens; what runs then ends by itself", Args: c.someArguments("user", 1)}, true, c.disableUser(true)),
		c.add(&cobra.Command{Use: "enable NAME", Short: "Let a disabled user sign in again", Args: c.someArguments("user", 1)}, true, c.disableUser(false)),
		c.add(&cobra.Command{
			Use: "link NAME", Short: "Let a user sign in through an OpenID provider", Long: linkHelp, Args: c.someArguments("user", 1),
			Example: "  runpython user link ann --oidc-issuer https://accounts.google.com --subject 110169484474386276334",
		}, true, c.linkUser),
		c.add(&cobra.Command{Use: "unlink NAME", Short: "Take that back, and sign out everywhere", Args: c.someArguments("user", 1)}, true, c.unlinkUser),
		c.add(&cobra.Command{Use: "remove NAME", Short: "Remove an account; its chats are nobody's then", Args: c.someArguments("user", 1)}, true, c.removeUser),
	)
	return cmd
}

func (c *command) tokenCommand() *cobra.Command {
	cmd := c.group("token", "Manage tokens for machines", tokenHelp, "create, list or revoke")
	cmd.AddCommand(
		c.add(&cobra.Command{
			Use: "create NAME", Short: "Make a token and print it once", Long: createTokenHelp,
			Example: "  runpython token create backup-job --user ann --expires 90d", Args: c.someArguments("token", 1),
		}, true, c.createToken),
		c.add(&cobra.Command{Use: "list", Short: "List the tokens", Args: c.noArguments}, true, c.listTokens),
		c.add(&cobra.Command{Use: "revoke NAME", Short: "End a token", Args: c.someArguments("token", 1)}, true, c.revokeToken),
	)
	return cmd
}

func (c *command) clientCommand() *cobra.Command {
	cmd := c.group("client", "Register apps by hand", clientHelp, "register, list or remove")
	cmd.AddCommand(
		c.add(&cobra.Command{
			Use: "register NAME", Short: "Register an app and print its id", Args: c.someArguments("client", 1),
			Example: "  runpython client register Claude --redirect-uri https://claude.ai/api/mcp/auth_callback",
		}, true, c.registerClient),
		c.add(&cobra.Command{Use: "list", Short: "List the apps registered by hand", Args: c.noArguments}, true, c.listClients),
		c.add(&cobra.Command{Use: "remove ID", Short: "Remove an app, and what was allowed to it", Args: c.someArguments("client", 1)}, true, c.removeClient),
	)
	return cmd
}

// withAccounts opens the accounts, lets use use them and closes them.
func (c *command) withAccounts(ctx context.Context, cfg config.Config, use func(context.Context, Accounts) error) error {
	return with(ctx, func(ctx context.Context) (Accounts, error) { return c.program.OpenAccounts(ctx, cfg, c.logger(cfg)) }, use)
}

func (c *command) addUser(ctx context.Context, cfg config.Config, args []string) error {
	return c.withAccounts(ctx, cfg, func(ctx context.Context, a Accounts) error {
		password, err := c.password(ctx, cfg)
		if err != nil {
			return err
		}
		u, err := a.AddUser(ctx, args[0], password, cfg.Admin)
		if err == nil {
			fmt.Fprintf(c.status, "added: %s\n", u.Name)
		}
		return err
	})
}

func (c *command) changePassword(ctx context.Context, cfg config.Config, args []string) error {
	return c.withAccounts(ctx, cfg, func(ctx context.Context, a Accounts) error {
		u, err := a.Named(ctx, args[0])
		if err != nil { // before anybody types a password
			return err
		}
		password, err := c.password(ctx, cfg)
		if err != nil {
			return err
		}
		if err := a.SetPassword(ctx, args[0], password); err != nil {
			return err
		}
		fmt.Fprintf(c.status, "changed: %s\n", console.Clean(args[0]))
		all, err := a.Passkeys(ctx, u)
		if len(all) > 0 {
			fmt.Fprintf(c.status, "the passkeys of %s stay: `runpython user passkeys %s` lists them\n", u.Name, u.Name)
		}
		return err
	})
}

func (c *command) disableUser(disabled bool) action {
	return func(ctx context.Context, cfg config.Config, args []string) error {
		return c.withAccounts(ctx, cfg, func(ctx context.Context, a Accounts) error {
			if err := a.SetDisabled(ctx, args[0], disabled); err != nil {
				return err
			}
			fmt.Fprintf(c.status, "%s: %s\n", map[bool]string{true: "disabled", false: "enabled"}[disabled], console.Clean(args[0]))
			return nil
		})
	}
}

func (c *command) removeUser(ctx context.Context, cfg config.Config, args []string) error {
	if err := c.sure(cfg, "Remove user "+args[0]+", and all that the user has allowed?"); err != nil {
		return err
	}
	return c.withAccounts(ctx, cfg, func(ctx context.Context, a Accounts) error {
		if err := a.RemoveUser(ctx, args[0]); err != nil {
			return err
		}
		fmt.Fprintf(c.status, "removed: %s\n", console.Clean(args[0]))
		return nil
	})
}

func (c *command) linkUser(ctx context.Context, cfg config.Config, args []string) error {
	return c.changeLink(ctx, cfg, "linked: "+args[0], func(ctx context.Context, a Accounts) error {
		return a.Link(ctx, args[0], cfg.OIDCIssuer, cfg.Subject)
	})
}

func (c *command) unlinkUser(ctx context.Context, cfg config.Config, args []string) error {
	return c.changeLink(ctx, cfg, "unlinked: "+args[0], func(ctx context.Context, a Accounts) error {
		return a.Unlink(ctx, args[0], cfg.OIDCIssuer, cfg.Subject)
	})
}

// changeLink does what link and unlink do, and says that it was done.
func (c *command) changeLink(ctx context.Context, cfg config.Config, done string, change func(context.Context, Accounts) error) error {
	if cfg.OIDCIssuer == "" || cfg.Subject == "" {
		return usagef("say who it is at which provider: --oidc-issuer URL --subject TEXT")
	}
	return c.withAccounts(ctx, cfg, func(ctx context.Context, a Accounts) error {
		if err := change(ctx, a); err != nil {
			return err
		}
		fmt.Fprintln(c.status, console.Clean(done))
		return nil
	})
}

// userJSON is the form of a user in a list with --json, a contract; tokenJSON and clientJSON likewise.
type userJSON struct {
	ID       string    `json:"id"`
	Name     string    `json:"name"`
	Admin    bool      `json:"admin"`
	Disabled bool      `json:"disabled"`
	Created  time.Time `json:"created"`
	Passkeys int       `json:"passkeys"`
	// Providers are who the user is at OpenID providers.
	Providers []identityJSON `json:"providers"`
}

type identityJSON struct {
	Issuer  string `json:"issuer"`
	Subject string `json:"subject"`
}

type tokenJSON struct {
	Name    string    `json:"name"`
	User    string    `json:"user"`
	Scopes  string    `json:"scopes"`
	Created time.Time `json:"created"`
	Used    time.Time `json:"used"`
	Expires time.Time `json:"expires"`
}

type clientJSON struct {
	ID           string   `json:"id"`
	Name         string   `json:"name"`
	RedirectURIs []string `json:"redirect_uris"`
	Secret       bool     `json:"secret"`
}

func (c *command) listUsers(ctx context.Context, cfg config.Config, _ []string) error {
	return c.withAccounts(ctx, cfg, func(ctx context.Context, a Accounts) error {
		all, err := a.Users(ctx)
		if err != nil {
			return err
		}
		of, err := a.Identities(ctx)
		if err != nil {
			return err
		}
		passkeys, err := a.CountPasskeys(ctx)
		if err != nil {
			return err
		}
		if cfg.JSON {
			forms := make([]userJSON, len(all))
			for i, u := range all {
				forms[i] = userJSON{u.ID, u.Name, u.Admin, u.Disabled, u.Created.UTC(), passkeys[u.ID], []identityJSON{}}
				for _, k := range of[u.ID] {
					forms[i].Providers = append(forms[i].Providers, identityJSON{k.Issuer, k.External})
				}
			}
			return c.printJSON("users", struct {
				Users []userJSON `json:"users"`
			}{forms})
		}
		var b strings.Builder
		for _, u := range all {
			notes := countOf(passkeys[u.ID])
			if u.Admin {
				notes += "  admin"
			}
			if u.Disabled {
				notes += "  disabled"
			}
			if len(of[u.ID]) > 0 {
				notes += "  by a provider"
			}
			fmt.Fprintf(&b, "%-24s  since %s%s\n", u.Name, u.Created.Local().Format(timeForm), notes)
		}
		return c.show(b.String())
	})
}

func (c *command) createToken(ctx context.Context, cfg config.Config, args []string) error {
	if cfg.User == "" {
		return usagef("create needs --user, the name of the user for whom the token acts")
	}
	return c.withAccounts(ctx, cfg, func(ctx context.Context, a Accounts) error {
		token, err := a.CreateToken(ctx, identity.NewToken{Name: args[0], User: cfg.User, Scopes: cfg.Scope, Expires: cfg.Expires})
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(c.Out, token)
		return err
	})
}

func (c *command) listTokens(ctx context.Context, cfg config.Config, _ []string) error {
	return c.withAccounts(ctx, cfg, func(ctx context.Context, a Accounts) error {
		all, err := a.Tokens(ctx)
		if err != nil {
			return err
		}
		if cfg.JSON {
			forms := make([]tokenJSON, len(all))
			for i, t := range all {
				forms[i] = tokenJSON{t.Name, t.User, t.Scopes, t.Created.UTC(), t.Used.UTC(), t.Expires.UTC()}
			}
			return c.printJSON("tokens", struct {
				Tokens []tokenJSON `json:"tokens"`
			}{forms})
		}
		var b strings.Builder
		for _, t := range all {
			fmt.Fprintf(&b, "%-24s  user %s  scope %s  until %s  used %s\n", t.Name, t.User, t.Scopes, t.Expires.Local().Format(timeForm), t.Used.Local().Format(timeForm))
		}
		return c.show(b.String())
	})
}

func (c *command) revokeToken(ctx context.Context, cfg config.Config, args []string) error {
	if cfg.User == "" {
		return usagef("revoke needs --user, the name of the user whose token it is")
	}
	return c.withAccounts(ctx, cfg, func(ctx context.Context, a Accounts) error {
		if err := a.RevokeToken(ctx, args[0], cfg.User); err != nil {
			return err
		}
		fmt.Fprintf(c.status, "revoked: %s\n", console.Clean(args[0]))
		return nil
	})
}

func (c *command) registerClient(ctx context.Context, cfg config.Config, args []string) error {
	if len(cfg.RedirectURIs) == 0 {
		return usagef("register needs --redirect-uri, where the app wants people to return to")
	}
	return c.withAccounts(ctx, cfg, func(ctx context.Context, a Accounts) error {
		added, err := a.RegisterClient(ctx, args[0], cfg.RedirectURIs, cfg.WithSecret)
		if err != nil {
			return err
		}
		text := "client_id: " + added.ID + "\n"
		if added.Secret != "" {
			text += "client_secret: " + added.Secret + "\n"
		}
		_, err = io.WriteString(c.Out, text)
		return err
	})
}

func (c *command) listClients(ctx context.Context, cfg config.Config, _ []string) error {
	return c.withAccounts(ctx, cfg, func(ctx context.Context, a Accounts) error {
		all, err := a.Clients(ctx)
		if err != nil {
			return err
		}
		if cfg.JSON {
			forms := make([]clientJSON, len(all))
			for i, k := range all {
				forms[i] = clientJSON{k.ID, k.Name, k.RedirectURIs, len(k.Secret) > 0}
			}
			return c.printJSON("clients", struct {
				Clients []clientJSON `json:"clients"`
			}{forms})
		}
		var b strings.Builder
		for _, k := range all {
			fmt.Fprintf(&b, "%s  %s  %s\n", k.ID, k.Name, strings.Join(k.RedirectURIs, " "))
		}
		return c.show(b.String())
	})
}

func (c *command) removeClient(ctx context.Context, cfg config.Config, args []string) error {
	if err := c.sure(cfg, "Remove client "+args[0]+", and all that was allowed to it?"); err != nil {
		return err
	}
	return c.withAccounts(ctx, cfg, func(ctx context.Context, a Accounts) error {
		if err := a.RemoveClient(ctx, args[0]); err != nil {
			return err
		}
		fmt.Fprintf(c.status, "removed: %s\n", console.Clean(args[0]))
		return nil
	})
}

// maxPasswordBytes bounds what is read of a password.
const maxPasswordBytes = 4 << 10

// password reads a new password: one line of standard input with --password-stdin, or twice the same at the terminal, where
// it is not shown.
func (c *command) password(ctx context.Context, cfg config.Config) (string, error) {
	if cfg.PasswordStdin {
		line, err := bufio.NewReader(io.LimitReader(c.In, maxPasswordBytes)).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return "", fmt.Errorf("read the password: %w", err)
		}
		return strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r"), nil
	}
	terminal, ok := console.Terminal(c.In)
	if !ok {
		return "", usagef("standard input is no terminal to ask at: say --password-stdin to read the password from it")
	}
	var lines [2]string
	for i, question := range []string{"Password: ", "The same again: "} {
		line, err := console.ReadHidden(ctx, terminal, c.status, question)
		if err != nil {
			return "", fmt.Errorf("read the password: %w", err)
		}
		lines[i] = line
	}
	if lines[0] != lines[1] {
		return "", usagef("the two passwords differ")
	}
	return lines[0], nil
}
