package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"runpython/internal/chat"
	"runpython/internal/cli/console"
	"runpython/internal/config"
	"runpython/internal/notebook"
)

const exportHelp = `Writes a chat as a Jupyter notebook, or with --format py as a script, to standard output or to the file of -o.
The notebook has messages, code, what it printed, pictures, values and errors. The script says in a header which
Python and packages it needs (PEP 723), so "uv run FILE" executes it to the same result; files that were put into
the chat must be beside it.`

const exportExamples = `  runpython chats export ID -o analysis.ipynb
  runpython chats export ID --format py > analysis.py && uv run analysis.py`

func (c *command) exportChat(ctx context.Context, cfg config.Config, args []string) error {
	return c.withRecords(ctx, cfg, func(ctx context.Context, records Records) error {
		t, err := records.Transcript(ctx, args[0])
		if err != nil {
			return err
		}
		source := notebook.Source{Chat: t, Python: c.program.Versions.CPython, Open: func(ctx context.Context, f chat.File) (io.ReadCloser, error) {
			return records.Open(ctx, t, f)
		}}
		write := func(w io.Writer) error {
			if cfg.Format == config.FormatPy {
				return notebook.WriteScript(w, source)
			}
			return notebook.WriteIPYNB(ctx, w, source)
		}
		if cfg.Out != "" {
			return writeFile(cfg.Out, cfg.Force, write)
		}
		if _, terminal := console.Terminal(c.Out); terminal {
			var text bytes.Buffer
			if err := write(&text); err != nil {
				return err
			}
			return c.show(text.String())
		}
		return write(c.Out)
	})
}

// writeFile makes a file of what write writes. The file has its name once it is complete and on the disk; one that is
// there is replaced only if force says so. Nobody but the owner may read it, since it has what people have said.
func writeFile(name string, force bool, write func(io.Writer) error) (err error) {
	if _, err := os.Lstat(name); err == nil && !force {
		return errThere(name)
	}
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	defer func() {
		if gone := os.Remove(f.Name()); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}()
	buffer := bufio.NewWriter(f)
	err = write(buffer)
	if err == nil {
		err = errors.Join(buffer.Flush(), f.Sync())
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	if force {
		return os.Rename(f.Name(), name)
	}
	err = os.Link(f.Name(), name) // which replaces nothing
	if errors.Is(err, fs.ErrExist) {
		return errThere(name)
	}
	return err
}

func errThere(name string) error {
	return usagef("%s is there already; take another name, or --force to replace it", name)
}
