// Package cli is the command line: the table of commands, what they print and the
// status with which the program exits.
//
// It knows nothing of how a chat works. What the commands need of the program is a
// [Program], which main fills in.
//
// # Trust
//
// The person at the command line is the operator and is told everything about a
// failure. What comes out of a chat is not theirs: text is shown on a terminal as
// package console writes it, and names of files are used only as far as they are
// harmless. Where standard output is not a terminal, the output of code is passed on
// byte for byte, as a program that reads it expects.
//
// # Failure
//
// Every failure is one message on standard error and one of the exit codes of
// exit.go, which is where an error becomes a code.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"runpython/internal/chat"
	"runpython/internal/cli/console"
	"runpython/internal/config"
	"runpython/internal/llm"
)

// A Program is what the commands run. Every field must be set.
type Program struct {
	Versions Versions

	// Open builds the program. The caller closes what it returns. A machine that
	// lacks something is fault.Unsupported.
	Open func(context.Context, config.Config, *slog.Logger) (App, error)

	// OpenRecords opens the chats that are kept, without what runs code. The caller closes what it returns.
	OpenRecords func(context.Context, config.Config, *slog.Logger) (Records, error)

	// OpenAccounts opens who may call, without what runs code. The caller closes what it returns.
	OpenAccounts func(context.Context, config.Config, *slog.Logger) (Accounts, error)

	// Doctor examines the machine and returns every check, in the order to show
	// them. An error means that it could not examine, not that it found something.
	Doctor func(context.Context, config.Config) ([]Check, error)
}

// An App is the program while it runs.
type App interface {
	// Turn runs one turn. Code that fails, a limit, an unknown chat and a message
	// without code are replies with IsError, also a run that the end of ctx has stopped;
	// any other error is a fault or ours.
	Turn(ctx context.Context, r chat.Request) (*chat.Reply, error)
	// OpenFile returns the content that a file's URI names, which the caller closes.
	OpenFile(ctx context.Context, owner, uri string) (chat.File, io.ReadCloser, error)
	// PutFile writes a file into /work of a chat and returns its id; chatID "" begins one.
	PutFile(ctx context.Context, owner, chatID, path string, r io.Reader) (id string, err error)

	// Serve serves MCP over HTTP until ctx ends, and then returns nil. It calls ready
	// once, when the first request can come, with the URL of the endpoint and that of
	// the admin listener, "" when there is none.
	Serve(ctx context.Context, ready func(mcpURL, adminURL string)) error
	// ServeStdio serves MCP over in and out until in ends or ctx does, and then
	// returns nil.
	ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error

	// SetupLink returns the link by which the first account is made, "" when none is needed.
	SetupLink(ctx context.Context) (string, error)

	// Model is the language model that answers messages, nil where none is configured.
	Model() llm.Model

	// Close ends everything, guests too, within a bounded time.
	Close() error
}

// Records are the chats that are kept, of all owners. An unknown chat is a fault.NotFound.
type Records interface {
	// Summaries returns all chats, last used first.
	Summaries(ctx context.Context) ([]chat.Summary, error)
	Transcript(ctx context.Context, id string) (*chat.Transcript, error)
	// Open returns the content of a file of a transcript, which the caller closes.
	Open(ctx context.Context, t *chat.Transcript, f chat.File) (io.ReadCloser, error)
	// Fork makes a copy of a chat, and Undo takes its latest turn back. They wait as Delete does.
	Fork(ctx context.Context, id string) (*chat.Forked, error)
	Undo(ctx context.Context, id string) (*chat.Undone, error)
	// Import makes a chat of the local user; with replay its first turn executes the code of turns before.
	Import(ctx context.Context, turns []chat.ImportedTurn, replay bool) (id string, err error)
	// Delete removes a chat. It waits for a turn that is under way, also in another process.
	Delete(ctx context.Context, id string) error
	// Backup writes an archive of all chats, a gzipped tar, and tells what it holds.
	Backup(ctx context.Context, w io.Writer) (Backup, error)
	Close() error
}

// A Backup is what an archive holds.
type Backup struct {
	Chats   int
	Files   int // contents of files and results
	Missing int // that records name and the disk does not have
}

// Streams are what a command reads, writes and finds in its environment.
type Streams struct {
	In  io.Reader // an *os.File that is a terminal is treated as such, also Out and Err
	Out io.Writer
	Err io.Writer
	Env config.Lookup // nil: the environment of the process

	EnvNames []string // names of its variables; with a nil Env those of the process
}

// Main runs the command that args name, without the name of the program, and returns
// the status to exit with. It handles SIGINT, SIGTERM and SIGHUP while it runs.
func Main(ctx context.Context, program Program, args []string, streams Streams) int {
	c := newCommand(program, streams)
	root := c.root() //nolint:contextcheck // cobra hands ctx to the command that runs
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	return c.exit(err)
}

// A command is one call of the program.
type command struct {
	program Program
	Streams
	flags  *config.Flags
	status *console.Status // where everything for standard error goes
	usage  string          // the command whose help a wrong call is pointed to
	runs   bool            // the call was understood, so an error is no longer one of usage
}

func newCommand(program Program, streams Streams) *command {
	if streams.Env == nil {
		streams.Env, streams.EnvNames = config.Environment, config.EnvironmentNames()
	}
	c := &command{
		program: program.complete(),
		Streams: streams,
		flags:   config.NewFlags(config.Default(streams.Env)),
		usage:   name,
	}
	var size func() (int, int)
	if f, ok := console.Terminal(streams.Err); ok && c.fancy() {
		size = func() (int, int) { return console.Size(f) }
	}
	c.status = console.NewStatus(streams.Err, size)
	return c
}

// fancy tells whether a terminal can do more than print lines.
func (c *command) fancy() bool {
	kind, _ := c.Env("TERM")
	return kind != "dumb"
}

// colours tells whether w is a terminal that shows colours and may.
func (c *command) colours(w io.Writer) bool {
	_, terminal := console.Terminal(w)
	unwanted, _ := c.Env("NO_COLOR")
	return terminal && unwanted == "" && c.fancy()
}

// name is the program's.
const name = "runpython"

// root is the table of commands.
func (c *command) root() *cobra.Command {
	root := &cobra.Command{
		Use:               name,
		Short:             "Run Python that people and models send, in a gVisor sandbox",
		Version:           c.program.Versions.Program,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	root.SetIn(c.In)
	root.SetOut(c.Out)
	root.SetErr(c.Err)
	root.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	root.SetHelpFunc(c.help)
	root.SetFlagErrorFunc(c.wrongFlag)
	c.flags.AddCommon(root.PersistentFlags())
	root.PersistentFlags().SortFlags = false
	root.AddCommand(c.serveCommand(), c.stdioCommand(), c.chatCommand(), c.chatsCommand(), c.userCommand(), c.tokenCommand(), c.clientCommand(), c.backupCommand(), c.auditCommand(), c.evalCommand(), c.checkCommand(), c.doctorCommand(), c.versionCommand())
	return root
}

// action is what a command does with its settings and arguments.
type action func(ctx context.Context, cfg config.Config, args []string) error

// add makes one command of the table. Its flags are those that config has for it.
func (c *command) add(cmd *cobra.Command, quiet bool, run action) *cobra.Command {
	c.flags.AddOf(cmd.Name(), cmd.Flags())
	cmd.Flags().SortFlags = false
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c.usage, c.runs = cmd.CommandPath(), true
		if quiet {
			c.flags.Rebase(func(d *config.Config) { d.LogLevel = slog.LevelWarn })
		}
		cfg, err := c.flags.Load(c.Env)
		if err != nil {
			return err
		}
		for _, unknown := range config.UnknownVariables(c.EnvNames) {
			c.say(unknown)
		}
		return run(cmd.Context(), cfg, args)
	}
	return cmd
}

// logger logs to standard error.
func (c *command) logger(cfg config.Config) *slog.Logger {
	options := &slog.HandlerOptions{Level: cfg.LogLevel}
	if cfg.LogFormat == config.FormatJSON {
		return slog.New(slog.NewJSONHandler(c.status, options))
	}
	return slog.New(slog.NewTextHandler(c.status, options))
}

// with opens the program, lets use use it and closes it.
func (c *command) with(ctx context.Context, cfg config.Config, use func(App) error) error {
	if err := CheckBuild(cfg); err != nil {
		return err
	}
	app, err := c.program.Open(ctx, cfg, c.logger(cfg))
	if err != nil {
		return err
	}
	err = use(app)
	closing := app.Close()
	if closing == nil {
		return err // as it is: only an error that nothing is joined to counts as said
	}
	if _, said := err.(saidError); said { //nolint:errorlint // only when nothing is joined to it
		c.say("end the program: " + closing.Error())
		return err
	}
	return errors.Join(err, closing)
}

// say writes one message to standard error.
func (c *command) say(message string) {
	text := strings.ReplaceAll(strings.TrimSpace(console.Clean(message)), "\n", "\n  ")
	fmt.Fprintf(c.status, "%s: %s\n", name, text)
}
