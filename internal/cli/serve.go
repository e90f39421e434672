package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"runpython/internal/cli/console"
	"runpython/internal/config"
)

func (c *command) serveCommand() *cobra.Command {
	return c.add(&cobra.Command{
		Use:   "serve",
		Short: "Serve MCP over HTTP",
		Long: "Serves the tool `chat` to MCP clients over HTTP until SIGINT or SIGTERM. When the first request can\n" +
			"come, one line with the URL of the endpoint is written to standard error; the log follows it there.\n\n" +
			"With --public-url people sign in, and clients get tokens for them (docs/auth.md). As long as there is no\n" +
			"account, a link to make the first one is written to standard error as well.",
		Args: c.noArguments,
	}, false, c.serve)
}

func (c *command) serve(ctx context.Context, cfg config.Config, _ []string) error {
	if err := cfg.CheckServe(); err != nil {
		return err
	}
	for _, address := range cfg.OpenToAll() {
		fmt.Fprintf(c.status, "%s: warning: everybody who reaches %s may use it without a login (--auth none)\n",
			name, console.Clean(address))
	}
	return c.runServer(ctx, cfg, func(ctx context.Context, app App) error {
		link, err := app.SetupLink(ctx)
		if err != nil {
			return err
		}
		return app.Serve(ctx, func(mcpURL, adminURL string) {
			if link != "" {
				fmt.Fprintf(c.status, "%s: nobody can sign in yet: make the first account, within an hour, at %s\n", name, link)
			}
			if adminURL != "" {
				fmt.Fprintf(c.status, "%s %s admin: %s\n", name, c.program.Versions.Program, adminURL)
			}
			fmt.Fprintf(c.status, "%s %s ready: %s\n", name, c.program.Versions.Program, mcpURL)
		})
	})
}

func (c *command) stdioCommand() *cobra.Command {
	return c.add(&cobra.Command{
		Use:   "stdio",
		Short: "Serve MCP over standard input and output",
		Long: "Serves the tool `chat` to the MCP client that started the program, until standard input ends.\n" +
			"Standard output carries the protocol only; the log goes to standard error.",
		Args: c.noArguments,
	}, false, c.stdio)
}

func (c *command) stdio(ctx context.Context, cfg config.Config, _ []string) error {
	return c.runServer(ctx, cfg, func(ctx context.Context, app App) error {
		return app.ServeStdio(ctx, c.In, c.Out)
	})
}

// runServer runs the program as a server. A signal to end is its ordinary end.
func (c *command) runServer(ctx context.Context, cfg config.Config, serve func(context.Context, App) error) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	err := c.with(ctx, cfg, func(app App) error { return serve(ctx, app) })
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
