package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"runpython/internal/chat"
	"runpython/internal/config"
)

const forkHelp = `Makes a copy of a chat and prints its id: transcript, files, packages and variables. The chat and its copy go on for
themselves, and belong to the same user. A chat that is in use is copied after its turn, also one of a server. Where its variables
cannot be copied, it says so. With --json it is one object on standard output:

  {"id", "from", "loss"}`

const undoHelp = `Takes the last turn of a chat back: transcript, pictures, files and variables are what they were before it. It may be called again.
Packages stay installed. A chat that is in use is waited for, also one of a server.

Variables come back with the next turn: from the checkpoint of the turn before; where there is none, from an older one or a new
interpreter, by executing the runs since again. This command says which, and the reply of that turn whether they ended as before.
With --json it is one object on standard output:

  {"id", "turn", "message", "checkpoint", "again": [...], "loss"}`

// The forms with --json, a contract.
type (
	forkedJSON struct {
		ID   string `json:"id"`
		From string `json:"from"`
		Loss string `json:"loss"`
	}
	undoneJSON struct {
		ID         string `json:"id"`
		Turn       int    `json:"turn"`
		Message    string `json:"message"`
		Checkpoint int    `json:"checkpoint"`
		Again      []int  `json:"again"`
		Loss       string `json:"loss"`
	}
)

func (c *command) forkChat(ctx context.Context, cfg config.Config, args []string) error {
	return c.withRecords(ctx, cfg, func(ctx context.Context, records Records) error {
		f, err := awaited(ctx, c, "copying "+args[0], func() (*chat.Forked, error) { return records.Fork(ctx, args[0]) })
		switch {
		case err != nil:
			return err
		case cfg.JSON:
			return c.printJSON("fork", forkedJSON{f.ID, args[0], f.Loss})
		case f.Loss != "":
			c.say("the variables are not in the copy: " + f.Loss)
		}
		return c.show(f.ID + "\n")
	})
}

func (c *command) undoTurn(ctx context.Context, cfg config.Config, args []string) error {
	return c.withRecords(ctx, cfg, func(ctx context.Context, records Records) error {
		u, err := awaited(ctx, c, "undoing a turn of "+args[0], func() (*chat.Undone, error) { return records.Undo(ctx, args[0]) })
		if err != nil {
			return err
		}
		if cfg.JSON {
			return c.printJSON("undo", undoneJSON{args[0], u.Turn, u.Message, u.Base, append([]int{}, u.Again...), u.Loss})
		}
		return c.show(fmt.Sprintf("undone: turn %d, %s\n%s\n", u.Turn, firstWords(u.Message), whatFollows(u)))
	})
}

// awaited says what is done while do does it. Who interrupts that is told so, whatever do says.
func awaited[T any](ctx context.Context, c *command, what string, do func() (T, error)) (T, error) {
	c.status.Start(what)
	defer c.status.Stop()
	done, err := do()
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return done, err
}

// whatFollows tells how the variables come back.
func whatFollows(u *chat.Undone) string {
	from := "a new interpreter"
	if u.Base > 0 {
		from = fmt.Sprintf("the checkpoint of turn %d", u.Base)
	}
	switch {
	case u.Loss != "":
		return "The variables are lost: " + u.Loss + "."
	case len(u.Again) == 0:
		return "The next turn goes on from " + from + "."
	}
	turns := make([]string, 0, toldAgain)
	for _, n := range u.Again[:min(len(u.Again), toldAgain)] {
		turns = append(turns, strconv.Itoa(n))
	}
	more := ""
	if n := len(u.Again) - toldAgain; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return "The next turn goes on from " + from + " and first executes again what these turns ran: " + strings.Join(turns, ", ") + more + "."
}

// toldAgain is how many turns are named.
const toldAgain = 10
