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

	"runpython/internal/chat"
	"runpython/internal/cli/console"
	"runpython/internal/config"
)

const chatsHelp = `Lists, shows, exports, imports, forks, undoes and deletes the chats that are kept in --data and --database, those of
all users. It may be called while a server runs on them.`

const listHelp = `Lists the chats that are kept, last used first: id, begin, last use, turns, size, first words. With --json it is
one object on standard output:

  {"chats": [{"id", "owner", "begun", "used", "turns", "bytes", "begin"}]}`

const deleteHelp = `Deletes chats with their transcripts, files and variables. On a terminal it asks first; elsewhere --yes must say so.
A chat that is in use is deleted after its turn, also one of a server.`

// beginWidth is how many characters of the first message a list shows.
const beginWidth = 60

// timeForm is how times are shown to people.
const timeForm = "2006-01-02 15:04"

func (c *command) chatsCommand() *cobra.Command {
	cmd := c.group("chats", "List, show, export, import, fork, undo or delete chats that are kept", chatsHelp, "list, show, export, import, fork, undo or delete")
	cmd.AddCommand(
		c.add(&cobra.Command{Use: "list", Short: "List all chats", Long: listHelp, Args: c.noArguments}, true, c.listChats),
		c.add(&cobra.Command{Use: "show ID", Short: "Show what was said and run", Long: showHelp, ValidArgsFunction: c.completeChats, Args: c.someArguments("chat", 1)}, true, c.showChat),
		c.add(&cobra.Command{Use: "export ID", Short: "Write a notebook or a script", Long: exportHelp, Example: exportExamples, ValidArgsFunction: c.completeChats, Args: c.someArguments("chat", 1)}, true, c.exportChat),
		c.add(&cobra.Command{Use: "import FILE", Short: "Make a chat of a notebook", Long: importHelp, Example: importExamples, Args: c.someArguments("file", 1)}, true, c.importChat),
		c.add(&cobra.Command{Use: "fork ID", Short: "Copy a chat, which goes on twice", Long: forkHelp, ValidArgsFunction: c.completeChats, Args: c.someArguments("chat", 1)}, true, c.forkChat),
		c.add(&cobra.Command{Use: "undo ID", Short: "Take the last turn back", Long: undoHelp, ValidArgsFunction: c.completeChats, Args: c.someArguments("chat", 1)}, true, c.undoTurn),
		c.add(&cobra.Command{Use: "delete ID…", Short: "Delete chats", Long: deleteHelp, ValidArgsFunction: c.completeChats, Args: c.someArguments("chat", maxDeleted)}, true, c.deleteChats),
	)
	return cmd
}

// group is a command that has others below it.
func (c *command) group(use, short, long, choices string) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Long: long, Args: c.noArguments,
		RunE: func(*cobra.Command, []string) error {
			return usagef("%s needs to be told what to do: %s", use, choices)
		},
	}
}

// maxDeleted is how many chats one call deletes.
const maxDeleted = 1000

// someArguments refuses none and more than so many.
func (c *command) someArguments(what string, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		c.usage = cmd.CommandPath()
		switch {
		case len(args) == 0:
			return usagef("%s needs to be told which %s", cmd.Name(), what)
		case len(args) > most:
			return usagef("%s takes %d arguments at most, but got %d", cmd.Name(), most, len(args))
		}
		return nil
	}
}

// completeChats offers the ids of chats to a shell, with their first words.
func (c *command) completeChats(cmd *cobra.Command, given []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(given) > 0 && cmd.Name() != "delete" {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	cfg, err := c.flags.Load(c.Env)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var offered []cobra.Completion
	err = c.withRecords(cmd.Context(), cfg, func(ctx context.Context, records Records) error {
		all, err := records.Summaries(ctx)
		for _, s := range all[:min(len(all), maxOffered)] {
			offered = append(offered, cobra.CompletionWithDesc(s.ID, console.Clean(firstWords(s.Begin))))
		}
		return err
	})
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return offered, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// maxOffered is how many chats a shell is offered, those that were used last.
const maxOffered = 50

// withRecords opens the chats that are kept, lets use use them and closes them.
func (c *command) withRecords(ctx context.Context, cfg config.Config, use func(context.Context, Records) error) error {
	return with(ctx, func(ctx context.Context) (Records, error) { return c.program.OpenRecords(ctx, cfg, c.logger(cfg)) }, use)
}

// with opens something, lets use use it until it is done or interrupted, and closes it.
func with[T io.Closer](ctx context.Context, open func(context.Context) (T, error), use func(context.Context, T) error) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	opened, err := open(ctx)
	if err != nil {
		return err
	}
	err = use(ctx, opened)
	return errors.Join(err, opened.Close())
}

// summaryJSON is the form of a chat in a list with --json, a contract.
type summaryJSON struct {
	ID    string    `json:"id"`
	Owner string    `json:"owner"`
	Begun time.Time `json:"begun"`
	Used  time.Time `json:"used"`
	Turns int       `json:"turns"`
	Bytes int64     `json:"bytes"`
	Begin string    `json:"begin"`
}

func summaryForm(s chat.Summary) summaryJSON {
	return summaryJSON{s.ID, s.Owner, s.Begun.UTC(), s.Used.UTC(), s.Turns, s.Bytes, s.Begin}
}

func (c *command) listChats(ctx context.Context, cfg config.Config, _ []string) error {
	return c.withRecords(ctx, cfg, func(ctx context.Context, records Records) error {
		all, err := records.Summaries(ctx)
		if err != nil {
			return err
		}
		if cfg.JSON {
			forms := make([]summaryJSON, len(all))
			for i, s := range all {
				forms[i] = summaryForm(s)
			}
			return c.printJSON("chats", struct {
				Chats []summaryJSON `json:"chats"`
			}{forms})
		}
		var b strings.Builder
		if len(all) > 0 {
			fmt.Fprintf(&b, "%-26s  %-16s  %-16s  %5s  %8s  %s\n", "ID", "BEGUN", "LAST USED", "TURNS", "SIZE", "FIRST WORDS")
		}
		for _, s := range all {
			fmt.Fprintf(&b, "%-26s  %s  %s  %5d  %8s  %s\n", s.ID, s.Begun.Local().Format(timeForm), s.Used.Local().Format(timeForm), s.Turns, shortSize(s.Bytes), firstWords(s.Begin))
		}
		return c.show(b.String())
	})
}

// firstWords is the begin of a message in one line.
func firstWords(text string) string {
	letters := []rune(strings.Join(strings.Fields(text), " "))
	if len(letters) > beginWidth {
		return string(letters[:beginWidth-1]) + "…"
	}
	return string(letters)
}

// show writes text to standard output, made harmless where that is a terminal.
func (c *command) show(text string) error {
	if _, terminal := console.Terminal(c.Out); terminal {
		text = console.Clean(text)
	}
	_, err := io.WriteString(c.Out, text)
	return err
}

func (c *command) deleteChats(ctx context.Context, cfg config.Config, args []string) error {
	what := fmt.Sprintf("%d chats", len(args))
	if len(args) == 1 {
		what = "chat " + args[0]
	}
	if err := c.sure(cfg, "Delete "+what+" with all files and variables?"); err != nil {
		return err
	}
	return c.withRecords(ctx, cfg, func(ctx context.Context, records Records) error {
		var errs []error
		for _, id := range args {
			c.status.Start("deleting " + id)
			err := records.Delete(ctx, id)
			c.status.Stop()
			if ctx.Err() != nil {
				return errors.Join(append(errs, context.Cause(ctx))...)
			}
			if err != nil {
				errs = append(errs, err)
				continue
			}
			fmt.Fprintf(c.status, "deleted: %s\n", id)
		}
		return errors.Join(errs...)
	})
}

// sure asks the person at the terminal a question before something is gone; with --yes nobody is asked.
func (c *command) sure(cfg config.Config, question string) error {
	if cfg.Yes {
		return nil
	}
	yes, err := c.ask(question, "say --yes to delete without being asked")
	if err == nil && !yes {
		c.say("nothing was deleted")
		return saidError{ExitCode}
	}
	return err
}

// ask asks the person at the terminal a question that only a clear yes answers so. Where there is no terminal it is an error
// with advice.
func (c *command) ask(question, advice string) (yes bool, err error) {
	in, terminal := console.Terminal(c.In)
	if !terminal {
		return false, usagef("standard input is no terminal to ask at: %s", advice)
	}
	fmt.Fprintf(c.status, "%s [y/N] ", console.Clean(question))
	answer, err := bufio.NewReader(io.LimitReader(in, maxAnswerBytes)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return false, fmt.Errorf("read the answer: %w", err)
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return true, nil
	}
	return false, nil
}

// maxAnswerBytes bounds what is read of an answer.
const maxAnswerBytes = 1 << 10
