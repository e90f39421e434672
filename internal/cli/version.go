package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// Versions are what the binary is made of. Main fills in what is empty from what the
// linker recorded.
type Versions struct {
	Program string // "0.1.0"
	GVisor  string // "release-20260905" or a module's version
	CPython string // "3.14.6"
}

// The modules whose versions tell those of what is inside.
const (
	moduleGVisor  = "gvisor.dev/gvisor"
	moduleCPython = "github.com/kluctl/go-embed-python"
)

// unknown stands for a version that nobody recorded.
const unknown = "unknown"

// complete returns p with the versions that it does not say.
func (p Program) complete() Program {
	v := &p.Versions
	if info, ok := debug.ReadBuildInfo(); ok {
		v.Program = or(v.Program, strings.Trim(strings.TrimPrefix(info.Main.Version, "v"), "()")) // "(devel)"
		for _, m := range info.Deps {
			switch m.Path {
			case moduleGVisor:
				v.GVisor = or(v.GVisor, m.Version)
			case moduleCPython:
				v.CPython = or(v.CPython, embedded(m.Version))
			}
		}
	}
	v.Program, v.GVisor, v.CPython = or(v.Program, unknown), or(v.GVisor, unknown), or(v.CPython, unknown)
	return p
}

// embedded returns the version of CPython in that of its module, v0.0.0-3.14.6-20260610-1.
func embedded(module string) string {
	_, rest, _ := strings.Cut(module, "-")
	version, _, _ := strings.Cut(rest, "-")
	return version
}

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

func (c *command) versionCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the versions of the program and of what is inside",
		Args:  c.noArguments,
	}
	cmd.RunE = func(*cobra.Command, []string) error { // needs no settings, so none can keep it from running
		c.runs = true
		v := c.program.Versions
		_, err := fmt.Fprintf(c.Out, "%-9s  %s\n%-9s  %s %s/%s\n%-9s  %s\n%-9s  %s\n",
			name, v.Program, "Go", strings.TrimPrefix(runtime.Version(), "go"), runtime.GOOS, runtime.GOARCH,
			"gVisor", v.GVisor, "CPython", v.CPython)
		return err
	}
	return cmd
}
