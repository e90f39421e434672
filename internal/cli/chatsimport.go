package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"runpython/internal/config"
	"runpython/internal/notebook"
)

const importHelp = `Makes a new chat of a Jupyter notebook (nbformat 3 or 4, at most 64 MiB; - is standard input) and prints its id. Cells of text
become messages, cells of code turns with what the notebook says that they gave. Nothing runs, as when a notebook is opened: the
first turn says that there are no variables. With --run that turn executes all cells before its own code, and says which ended
otherwise than in the notebook. With --json it is one object on standard output:

  {"id", "turns", "warnings": [...]}`

const importExamples = `  runpython chats import analysis.ipynb
  runpython chat --chat "$(runpython chats import --run analysis.ipynb)" "df.describe()"`

// importedJSON is the form of an import with --json, a contract.
type importedJSON struct {
	ID       string   `json:"id"`
	Turns    int      `json:"turns"`
	Warnings []string `json:"warnings"`
}

func (c *command) importChat(ctx context.Context, cfg config.Config, args []string) error {
	read, err := c.readNotebook(args[0]) // before signals are taken: Ctrl-C ends the wait for standard input
	if err != nil {
		return err
	}
	return c.withRecords(ctx, cfg, func(ctx context.Context, records Records) error {
		id, err := awaited(ctx, c, "importing "+args[0], func() (string, error) { return records.Import(ctx, read.Turns, cfg.Replay) })
		if err != nil {
			return err
		}
		if cfg.JSON {
			return c.printJSON("import", importedJSON{id, len(read.Turns), append([]string{}, read.Warnings...)})
		}
		for _, w := range read.Warnings {
			c.say(w)
		}
		return c.show(id + "\n")
	})
}

// readNotebook reads a file, or standard input.
func (c *command) readNotebook(name string) (_ *notebook.Imported, err error) {
	if name == "-" {
		return notebook.ReadIPYNB(c.In)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, usagef("the notebook cannot be read: %v", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, usagef("the notebook cannot be read: %s is a folder", name)
	}
	read, err := notebook.ReadIPYNB(io.Reader(f))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return read, nil
}
