// Command runpython is a remote MCP server with one tool, chat, that runs Python
// in a sandbox. The same program is the sandbox: it starts itself again as gVisor
// and as the keeper of its guests.
package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/debug"

	"runpython/internal/about"
	"runpython/internal/app"
	"runpython/internal/cli"
	"runpython/internal/config"
	"runpython/internal/sandbox"
	"runpython/internal/sandbox/gvisor"
)

// gcPercent lets the heap grow to nine times what is in use, since it is small (10 MB with few chats) and much of
// the processor time of a call was spent in collecting (measured of a call in a living chat over HTTP: 870 µs with the
// default of 100, 620 µs with 400, 590 µs with 800). A heap that is not small stops growing at app.HeapBytes,
// beyond which it is collected as often as needed.
const gcPercent = 800

func main() {
	switch {
	case gvisor.IsReexec(os.Args):
		memory, _ := config.Environment(sandbox.MemoryVariable)
		if err := os.Unsetenv(sandbox.MemoryVariable); err != nil { // it is for this process alone
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		gvisor.Main(memory)
	case os.Args[0] == sandbox.KeeperName:
		if err := sandbox.KeeperMain(os.Args[1:], os.Stdin); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	default:
		if own, _ := config.Environment("GOGC"); own == "" {
			debug.SetGCPercent(gcPercent)
		}
		if own, _ := config.Environment("GOMEMLIMIT"); own == "" {
			debug.SetMemoryLimit(app.HeapBytes())
		}
		streams := cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}
		os.Exit(cli.Main(context.Background(), program(), os.Args[1:], streams))
	}
}

// program joins the command line with what it commands.
func program() cli.Program {
	return cli.Program{
		Versions: cli.Versions{Program: about.Version},
		Open: func(ctx context.Context, c config.Config, log *slog.Logger) (cli.App, error) {
			build, err := thisBuild()
			if err != nil {
				return nil, err
			}
			a, err := app.Open(ctx, c, log, build)
			if err != nil {
				return nil, err
			}
			return a, nil
		},
		OpenRecords: func(ctx context.Context, c config.Config, log *slog.Logger) (cli.Records, error) {
			r, err := app.OpenRecords(ctx, c, log)
			if err != nil {
				return nil, err
			}
			return records{r}, nil
		},
		OpenAccounts: func(ctx context.Context, c config.Config, log *slog.Logger) (cli.Accounts, error) {
			a, err := app.OpenAccounts(ctx, c, log)
			if err != nil {
				return nil, err
			}
			return a, nil
		},
		Doctor: func(ctx context.Context, c config.Config) ([]cli.Check, error) {
			build, err := thisBuild()
			if err != nil {
				return nil, err
			}
			return checks(app.Doctor(ctx, c, build)), nil
		},
	}
}

// records are those of app as the command line wants them.
type records struct{ *app.Records }

// Backup implements cli.Records.
func (r records) Backup(ctx context.Context, w io.Writer) (cli.Backup, error) {
	b, err := r.Records.Backup(ctx, w)
	return cli.Backup(b), err //nolint:wrapcheck // the same contract
}

func thisBuild() (app.Build, error) {
	path, err := os.Executable()
	if err != nil {
		return app.Build{}, fmt.Errorf("find this program: %w", err)
	}
	return app.Build{Version: about.Version, Program: path, Environ: config.ProcessEnvironment()}, nil
}

func checks(findings []app.Finding) []cli.Check {
	levels := map[app.Level]cli.Status{
		app.Fine: cli.StatusOK, app.Less: cli.StatusWarn, app.Broken: cli.StatusFail, app.Unknown: cli.StatusSkip,
	}
	all := make([]cli.Check, len(findings))
	for i, f := range findings {
		all[i] = cli.Check{Name: f.Name, Status: levels[f.Level], Detail: f.Detail, Remedy: f.Remedy}
	}
	return all
}
