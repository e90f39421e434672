package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"runpython/internal/chat"
	"runpython/internal/cli/console"
	"runpython/internal/config"
	"runpython/internal/fault"
)

// historyFile holds what was typed in dialogues, in the data directory.
const historyFile = "chat-history"

// dialogue talks with the person at a terminal until they leave. Code that fails
// does not end it, nor does it make its exit code.
func (c *command) dialogue(ctx context.Context, cfg config.Config, in *os.File, files uploads) error {
	ctx, stop := endedBy(ctx, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	defer stop()
	// A Ctrl-C that no run takes must not end the program with the terminal in its hands.
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)

	c.status.Start("starting")
	defer c.status.Stop()
	return c.with(ctx, cfg, func(app App) (err error) {
		c.status.Stop()
		t := c.newTalk(app, cfg)
		if err := t.upload(ctx, files); err != nil {
			return err
		}
		history, err := console.OpenHistory(filepath.Join(cfg.Data, historyFile))
		if err != nil {
			c.say(err.Error())
		}
		out, terminal := console.Terminal(c.Err)
		if !terminal {
			out = in
		}
		editor, err := console.NewEditor(in, out, history, chat.MaxMessageBytes)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, editor.Close()) }()
		t.editor = editor
		fmt.Fprintf(c.status, "%s %s, Python %s. Ctrl-C stops a run, Ctrl-D leaves.\n",
			name, c.program.Versions.Program, c.program.Versions.CPython)
		return t.loop(ctx, editor, history, interrupts)
	})
}

// loop reads messages and runs them until the person leaves.
func (t *talk) loop(ctx context.Context, editor *console.Editor, history *console.History, interrupts <-chan os.Signal) error {
	for {
		t.status.Redirect(editor)
		message, err := editor.ReadMessage(ctx)
		t.status.Redirect(nil)
		switch {
		case errors.Is(err, console.ErrTooLong):
			t.say(err.Error())
			continue
		case errors.Is(err, io.EOF), err == nil && leaves(message):
			fmt.Fprintln(t.status)
			return nil
		case err != nil:
			return err
		}
		if err := history.Remember(message); err != nil {
			t.say(err.Error())
		}
		if err := t.interruptibleTurn(ctx, message, interrupts); err != nil {
			return err
		}
	}
}

// leaves tells whether a message asks to leave, as it does in Python.
func leaves(message string) bool {
	switch strings.TrimSuffix(strings.TrimSpace(message), "()") {
	case "exit", "quit":
		return true
	}
	return false
}

// interruptibleTurn runs a turn that Ctrl-C stops. Only the end of the program itself
// is an error; all others are told, and the dialogue goes on.
func (t *talk) interruptibleTurn(ctx context.Context, message string, interrupts <-chan os.Signal) error {
	select {
	case <-interrupts: // pressed before this turn
	default:
	}
	turn, cancel := context.WithCancel(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-interrupts:
			cancel()
		case <-turn.Done():
		}
	}()
	_, err := t.turn(turn, message)
	cancel()
	<-watched
	switch kind, _ := fault.Shown(err); {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err == nil:
	case kind == fault.Canceled, errors.Is(err, context.Canceled):
		t.say("interrupted")
	default:
		t.say(err.Error())
	}
	return nil
}
