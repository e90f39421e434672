package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"runpython/internal/config"
)

const backupHelp = `Writes all chats of --data into one archive, a gzipped tar that only its owner may read: the database as it is at
one moment, and the files that it refers to. A server may run meanwhile. Variables, installed packages and what is made anew on
its own are not in it. To restore:

  mkdir -m 700 NEW && tar -xpzf FILE -C NEW && runpython serve --data NEW

Chats in PostgreSQL are saved by pg_dump, and then the folder "content" of --data by any program.`

func (c *command) backupCommand() *cobra.Command {
	return c.add(&cobra.Command{
		Use:     "backup FILE",
		Short:   "Save all chats in an archive",
		Long:    backupHelp,
		Example: "  runpython backup chats.tar.gz",
		Args:    c.someArguments("file", 1),
	}, true, c.backup)
}

func (c *command) backup(ctx context.Context, cfg config.Config, args []string) error {
	return c.withRecords(ctx, cfg, func(ctx context.Context, records Records) error {
		c.status.Start("saving")
		defer c.status.Stop()
		var done Backup
		err := writeFile(args[0], cfg.Force, func(w io.Writer) (err error) {
			done, err = records.Backup(ctx, w)
			return err
		})
		c.status.Stop()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return err
		}
		if done.Missing > 0 {
			c.say(fmt.Sprintf("%d files of chats are not on the disk, so they are not in the archive", done.Missing))
		}
		fmt.Fprintf(c.status, "saved: %s (%d chats, %d files)\n", args[0], done.Chats, done.Files)
		return nil
	})
}
