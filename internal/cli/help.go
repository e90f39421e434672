package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"runpython/internal/cli/console"
)

// settingsHelp tells where settings come from.
const settingsHelp = `Every flag is also an environment variable, named in brackets, and a key of the YAML file
given with --config. Defaults come first, then the file, the environment and the flags.
`

// help prints what a command is and takes.
func (c *command) help(cmd *cobra.Command, _ []string) {
	for _, flag := range []string{"help", "version"} { // described below, without their forms
		if f := cmd.Flags().Lookup(flag); f != nil {
			f.Hidden = true
		}
	}
	width := 100
	if f, ok := console.Terminal(c.Out); ok {
		width, _ = console.Size(f)
	}
	var b strings.Builder
	about := cmd.Long
	if about == "" {
		about = cmd.Short + "."
	}
	fmt.Fprintf(&b, "%s\n\nUsage:\n  %s\n", about, usageLine(cmd))
	if cmd.Example != "" {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", cmd.Example)
	}
	if cmd.HasAvailableSubCommands() {
		b.WriteString("\nCommands:\n")
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() {
				fmt.Fprintf(&b, "  %-8s  %s\n", sub.Name(), sub.Short)
			}
		}
	}
	b.WriteString("\nFlags:\n")
	b.WriteString("  -h, --help     show this\n")
	if !cmd.HasParent() {
		b.WriteString("  -v, --version  print the version of the program\n")
	}
	flags := cmd.LocalNonPersistentFlags()
	flags.SortFlags = false
	b.WriteString(flags.FlagUsagesWrapped(width))
	if flags := commonFlags(cmd); flags.HasAvailableFlags() {
		fmt.Fprintf(&b, "\nFlags of all commands:\n%s", flags.FlagUsagesWrapped(width))
	}
	fmt.Fprintf(&b, "\n%s\n%s", settingsHelp, exitCodes)
	_, _ = fmt.Fprint(c.Out, b.String()) // nobody can be told that help could not be printed
}

// commonFlags are those that every command has, without what one has of its own under the same name.
func commonFlags(cmd *cobra.Command) *pflag.FlagSet {
	common := pflag.NewFlagSet("common", pflag.ContinueOnError)
	common.SortFlags = false
	cmd.Root().PersistentFlags().VisitAll(func(f *pflag.Flag) {
		if cmd.Flags().Lookup(f.Name) == f {
			common.AddFlag(f)
		}
	})
	return common
}

func usageLine(cmd *cobra.Command) string {
	switch {
	case cmd.HasAvailableSubCommands() && cmd.Runnable() && cmd.HasParent():
		return cmd.UseLine() + "\n  " + cmd.CommandPath() + " COMMAND [flags]"
	case cmd.HasAvailableSubCommands():
		return cmd.CommandPath() + " COMMAND [flags]"
	}
	return cmd.UseLine()
}

// noArguments refuses arguments.
func (c *command) noArguments(cmd *cobra.Command, args []string) error {
	c.usage = cmd.CommandPath()
	if len(args) > 0 {
		return usagef("%s takes no arguments, but got %q", cmd.Name(), args[0])
	}
	return nil
}

// anyArguments takes what there is; the command says itself what is wrong with it.
func (c *command) anyArguments(cmd *cobra.Command, _ []string) error {
	c.usage = cmd.CommandPath()
	return nil
}

// oneArgument refuses more than one argument. It tells what the one is, and then advice.
func (c *command) oneArgument(what, advice string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		c.usage = cmd.CommandPath()
		if len(args) > 1 {
			return usagef("%s takes one %s, but got %d arguments%s", cmd.Name(), what, len(args), advice)
		}
		return nil
	}
}
