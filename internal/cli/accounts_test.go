package cli_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"runpython/internal/cli"
	"runpython/internal/config"
	"runpython/internal/fault"
	"runpython/internal/identity"
	"runpython/internal/oauth"
	"runpython/internal/store"
	"runpython/internal/store/database"
	"runpython/internal/store/sqlite"
)

// kept are accounts in a database of the test's, as the program has them.
type kept struct {
	*identity.Service
	records *database.Store
}

// silent records nothing and allows everything.
type silent struct{}

func (silent) Record(context.Context, string, string, string, string) {}
func (silent) Allow(string, string) (time.Duration, bool)             { return 0, true }

func openKept(ctx context.Context, c config.Config, _ *slog.Logger) (cli.Accounts, error) {
	if err := os.MkdirAll(c.Data, 0o700); err != nil {
		return nil, err
	}
	records, err := sqlite.Open(ctx, filepath.Join(c.Data, "chats.db"))
	if err != nil {
		return nil, err
	}
	return kept{identity.New(identity.Options{Store: records, Record: silent{}, Limit: silent{}}), records}, nil
}

func (k kept) RegisterClient(ctx context.Context, name string, redirects []string, withSecret bool) (*oauth.Registered, error) {
	m := oauth.Metadata{Name: name, RedirectURIs: redirects}
	if withSecret {
		m.AuthMethod = oauth.SecretMethod
	}
	return oauth.AddManual(ctx, k.records, m, time.Now())
}

func (k kept) Clients(ctx context.Context) ([]oauth.Client, error) {
	return oauth.Manual(ctx, k.records)
}

func (k kept) RemoveClient(ctx context.Context, id string) error {
	err := k.records.RemoveClient(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return fault.New(fault.NotFound, err, "there is no client "+id)
	}
	return err
}

func (k kept) Close() error { return k.records.Close() }

// addPasskey is the command "passkey USER ID NAME" of scripts: the user gets a passkey, as if by a browser.
func addPasskey(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: passkey USER ID NAME")
	}
	records, err := sqlite.Open(context.Background(), filepath.Join(ts.Getenv("RUNPYTHON_DATA"), "chats.db"))
	ts.Check(err)
	u, err := records.UserNamed(context.Background(), args[0])
	ts.Check(err)
	ts.Check(records.AddPasskey(context.Background(), store.Passkey{
		ID: args[1], Subject: u.ID, Credential: []byte(args[1]), Name: args[2], Eligible: true, BackedUp: true, PublicKey: []byte{}, Created: time.Now(),
	}, identity.MaxPasskeys))
	ts.Check(records.Close())
}

// A person types a password twice, and sees nothing of it.
func TestPasswordAtTheTerminal(t *testing.T) {
	data := t.TempDir()
	p := sit(t, data, "user", "add", "ann")
	p.sees("Password: ")
	p.types("a long sentence\r")
	p.sees("The same again: ")
	p.types("a long sentence\r")
	p.sees("added: ann")
	if code := p.leaves(); code != 0 || strings.Contains(p.all, "sentence") {
		t.Errorf("exit %d; the screen:\n%s", code, p.all)
	}
	p = sit(t, data, "user", "passwd", "ann")
	p.sees("Password: ")
	p.types("a long sentence\r")
	p.sees("The same again: ")
	p.types("another sentence\r")
	p.sees("differ")
	if code := p.leaves(); code != cli.ExitUsage {
		t.Errorf("exit %d, want %d", code, cli.ExitUsage)
	}
	p = sit(t, data, "user", "add", "bob")
	p.sees("Password: ")
	p.types("half\x03")
	p.sees("interrupted")
	if code := p.leaves(); code != cli.ExitInterrupted || strings.Contains(p.all, "half") {
		t.Errorf("exit %d; the screen:\n%s", code, p.all)
	}
}
