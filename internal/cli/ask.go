package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"

	"runpython/internal/chat"
	"runpython/internal/cli/console"
)

// asker returns what asks the person for code that reads its input, nil when standard
// input is no terminal: then it is the message, or somebody else's.
func (t *talk) asker() func(context.Context, chat.Question) chat.Answer {
	in, terminal := console.Terminal(t.In)
	if !terminal {
		return nil
	}
	return func(ctx context.Context, q chat.Question) chat.Answer {
		t.status.Pause()
		defer t.status.Resume()
		line, err := t.readAnswer(ctx, in, q.Output+q.Prompt)
		switch {
		case err == nil:
			return chat.Answer{Outcome: chat.Typed, Text: line}
		case errors.Is(err, io.EOF):
			return chat.Answer{Outcome: chat.Declined}
		case errors.Is(err, console.ErrInterrupted):
			// The editor has taken the key; what it means is the same as without one.
			if !signal.Ignored(syscall.SIGINT) && syscall.Kill(os.Getpid(), syscall.SIGINT) == nil {
				<-ctx.Done()
			}
			return chat.Answer{Outcome: chat.Dismissed}
		case ctx.Err() == nil:
			t.say(err.Error())
		}
		return chat.Answer{Outcome: chat.Unasked}
	}
}

// readAnswer reads one line with the editor of the dialogue, or one of its own.
func (t *talk) readAnswer(ctx context.Context, in *os.File, output string) (line string, err error) {
	editor := t.editor
	if editor == nil {
		out, terminal := console.Terminal(t.Err)
		if !terminal {
			out = in
		}
		if editor, err = console.NewEditor(in, out, new(console.History), chat.MaxMessageBytes); err != nil {
			return "", err
		}
		defer func() { err = errors.Join(err, editor.Close()) }()
	}
	t.status.Redirect(editor)
	defer t.status.Redirect(nil)
	return editor.ReadAnswer(ctx, output)
}
