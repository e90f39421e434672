package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"runpython/internal/chat"
	"runpython/internal/cli/console"
	"runpython/internal/config"
)

const chatHelp = `Runs one message in a chat: Python code, or a request with code in fenced blocks. Without a MESSAGE
it is a dialogue when standard input is a terminal; else, and with -, the message is standard input.

On a terminal the reply is shown as Markdown. Piped, it is what the code gave: its output and its value
on standard output, its error output and its error on standard error. With --json it is one object on
standard output (a line for each reply in a dialogue):

  {"chat_id", "text", "is_error", "state", "state_reason",
   "packages": [{"name", "version", "was"}],
   "runs":   [{"code", "stdout", "stderr", "value", "error", "duration_ms"}],
   "images": [{"name", "mime_type", "path", "bytes", "width", "height"}],
   "files":  [{"path", "mime_type", "size", "saved_to", "skipped"}]}

Pictures and files are saved below --output, never over a file that is there, and their paths are
written to standard error. Characters of a name that could do harm become "_".

Chats are kept in --database for --keep. --chat goes on with one, with its files and its variables, also those of
a process that has ended; the answer says when variables are lost. A chat that another process has comes
over as soon as that one is done with its turn.

In a dialogue Enter sends the message. An open bracket, string or fence goes on in the next line, a block
until an empty line, and a paste of several lines is one message. A name alone shows that variable
when there is no model, to which it is a word. Ctrl-C stops a run and keeps its
variables, Ctrl-D or exit leaves. When the code calls input(), Enter answers and Ctrl-D declines.`

const chatExamples = `  runpython chat 'print(6 * 7)'
  runpython chat --file data.csv 'open("data.csv").readline()'
  runpython chat - < script.py
  runpython chat`

func (c *command) chatCommand() *cobra.Command {
	return c.add(&cobra.Command{
		Use:     "chat [MESSAGE|-]",
		Short:   "Run one message, or talk at the terminal",
		Long:    chatHelp,
		Example: chatExamples,
		Args:    c.oneArgument("message", "; quote the message"),
	}, true, c.chat)
}

func (c *command) chat(ctx context.Context, cfg config.Config, args []string) error {
	cfg.Pool = 0 // one chat needs one guest, which is started at once
	uploads, err := openUploads(cfg.Files)
	if err != nil {
		return err
	}
	defer uploads.close()
	if in, terminal := console.Terminal(c.In); terminal && len(args) == 0 {
		return c.dialogue(ctx, cfg, in, uploads)
	}
	message, err := c.message(args)
	if err != nil {
		return err
	}
	ctx, stop := interruptible(ctx)
	defer stop()
	c.status.Start("starting")
	defer c.status.Stop()
	return c.with(ctx, cfg, func(app App) error {
		c.status.Stop()
		t := c.newTalk(app, cfg)
		if err := t.upload(ctx, uploads); err != nil {
			return err
		}
		failed, err := t.turn(ctx, message)
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil: // the reply said so
			return saidError{ExitInterrupted}
		case failed:
			return saidError{ExitCode}
		}
		return nil
	})
}

// message returns the message of a one-shot call.
func (c *command) message(args []string) (string, error) {
	if len(args) == 1 && args[0] != "-" {
		return checkMessage(args[0])
	}
	text, err := io.ReadAll(io.LimitReader(c.In, chat.MaxMessageBytes+1))
	if err != nil {
		return "", fmt.Errorf("read the message from standard input: %w", err)
	}
	return checkMessage(string(text))
}

func checkMessage(text string) (string, error) {
	switch {
	case text == "":
		return "", usagef("the message is empty; give it as an argument or on standard input")
	case len(text) > chat.MaxMessageBytes:
		return "", usagef("the message is longer than %s", config.FormatSize(chat.MaxMessageBytes))
	case !utf8.ValidString(text):
		return "", usagef("the message must be UTF-8; give other data as a file with --file")
	}
	return text, nil
}

// uploads are files for /work, open.
type uploads []*os.File

// openUploads opens files that are to be uploaded, so that a wrong name is told
// before anything starts.
func openUploads(paths []string) (_ uploads, err error) {
	var u uploads
	defer func() {
		if err != nil {
			u.close()
		}
	}()
	taken := make(map[string]string)
	for _, path := range paths {
		name := filepath.Base(path)
		if other, twice := taken[name]; twice {
			return nil, usagef("--file %q: %q has the same name in /work", path, other)
		}
		taken[name] = path
		info, err := os.Stat(path)
		if err != nil {
			return nil, usagef("--file: %s", err)
		}
		if !info.Mode().IsRegular() {
			return nil, usagef("--file %q: must be a regular file", path)
		}
		f, err := os.Open(path)
		if err != nil {
			return nil, usagef("--file: %s", err)
		}
		u = append(u, f)
	}
	return u, nil
}

func (u uploads) close() {
	for _, f := range u {
		_ = f.Close() // only read from
	}
}

// A talk is a chat from the side of the terminal.
type talk struct {
	*command
	app    App
	cfg    config.Config
	id     string // of the chat, "" before it began
	saver  *saver
	editor *console.Editor // of a dialogue
}

func (c *command) newTalk(app App, cfg config.Config) *talk {
	return &talk{command: c, app: app, cfg: cfg, id: cfg.Chat, saver: newSaver(app, cfg.Output)}
}

// upload puts files into /work.
func (t *talk) upload(ctx context.Context, files uploads) error {
	for _, f := range files {
		id, err := t.app.PutFile(ctx, "", t.id, filepath.Base(f.Name()), f)
		if err != nil {
			return fmt.Errorf("upload %s: %w", f.Name(), err)
		}
		t.id = id
	}
	return nil
}

// turn runs a message and shows the reply; failed tells that the code did not do it.
func (t *talk) turn(ctx context.Context, message string) (failed bool, err error) {
	t.status.Start("starting")
	reply, err := t.app.Turn(ctx, chat.Request{ChatID: t.id, Message: message, Progress: t.progress, Ask: t.asker()})
	output := t.status.Stop()
	if err != nil {
		return false, errors.Join(t.showLost(output), err)
	}
	if reply.ChatID != "" {
		t.id = reply.ChatID
	}
	saved, saving := t.saver.save(ctx, reply)
	return reply.IsError, errors.Join(t.show(reply, saved), saving)
}

// progress shows what a turn is doing.
func (t *talk) progress(p chat.Progress) {
	if p.Step == "output" {
		t.status.Output(p.Stdout + p.Stderr)
		return
	}
	t.status.Step(p.Step)
}
