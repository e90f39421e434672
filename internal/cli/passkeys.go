package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"runpython/internal/cli/console"
	"runpython/internal/config"
	"runpython/internal/store"
)

const passkeysHelp = `Lists the passkeys of a user, each with its id, name and use; with --remove, removes one after asking. Browsers that have
signed in with it stay signed in: "user passwd" signs out of all. People add and name passkeys themselves, on the page of
their account.`

// passkeyJSON is the form of a passkey with --json, a contract.
type passkeyJSON struct {
	ID       string     `json:"id"`
	Name     string     `json:"name"`
	BackedUp bool       `json:"backed_up"`
	Created  time.Time  `json:"created"`
	Used     *time.Time `json:"used"` // null for never
}

// passkeys lists those of a user, or removes one.
func (c *command) passkeys(ctx context.Context, cfg config.Config, args []string) error {
	if cfg.RemovePasskey != "" {
		if err := c.sure(cfg, "Remove passkey "+cfg.RemovePasskey+" of user "+args[0]+"?"); err != nil {
			return err
		}
	}
	return c.withAccounts(ctx, cfg, func(ctx context.Context, a Accounts) error {
		u, err := a.Named(ctx, args[0])
		if err != nil {
			return err
		}
		if cfg.RemovePasskey != "" {
			if err := a.RemovePasskey(ctx, cfg.RemovePasskey, u, ""); err != nil {
				return err
			}
			fmt.Fprintf(c.status, "removed: %s\n", console.Clean(cfg.RemovePasskey))
			return nil
		}
		all, err := a.Passkeys(ctx, u)
		if err != nil {
			return err
		}
		return c.showPasskeys(cfg, all)
	})
}

func (c *command) showPasskeys(cfg config.Config, all []store.Passkey) error {
	if cfg.JSON {
		forms := make([]passkeyJSON, len(all))
		for i, k := range all {
			forms[i] = passkeyJSON{ID: k.ID, Name: k.Name, BackedUp: k.BackedUp, Created: k.Created.UTC()}
			if !k.Used.IsZero() {
				used := k.Used.UTC()
				forms[i].Used = &used
			}
		}
		return c.printJSON("passkeys", struct {
			Passkeys []passkeyJSON `json:"passkeys"`
		}{forms})
	}
	var b strings.Builder
	for _, k := range all {
		used := "never used"
		if !k.Used.IsZero() {
			used = "used " + k.Used.Local().Format(timeForm)
		}
		fmt.Fprintf(&b, "%s  %-24s  since %s  %s\n", k.ID, k.Name, k.Created.Local().Format(timeForm), used)
	}
	return c.show(b.String())
}

// countOf says how many passkeys a user has, "" for none.
func countOf(passkeys int) string {
	switch passkeys {
	case 0:
		return ""
	case 1:
		return "  1 passkey"
	}
	return fmt.Sprintf("  %d passkeys", passkeys)
}
