// Package gvisor is the gVisor that is linked into the program.
//
// The program starts itself again under the name runsc; [IsReexec] tells such
// a start from an ordinary one and [Main] then is gVisor's command line, cut to
// the commands that a guest's life needs. It is the only package that imports
// gvisor.dev: its maintainers do not support builds of runsc from the Go branch,
// so what changes there must stay in here.
//
// # Trust
//
// Main runs in processes of its own, never beside the server's data. The guest
// talks to that code, which is gVisor's to keep safe.
//
// # Failure
//
// Main does not return: gVisor ends the process, with a message on standard error.
package gvisor

import (
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"

	"gvisor.dev/gvisor/runsc/cli"
	"gvisor.dev/gvisor/runsc/cmd"
	"gvisor.dev/gvisor/runsc/cmd/sentry/sentrycmd"
	"gvisor.dev/gvisor/runsc/cmd/util"
)

// Module is the path of gVisor's module, whose version the build information names.
const Module = "gvisor.dev/gvisor"

// IsReexec reports whether the process with these arguments (os.Args) was
// started as runsc: by us under that name, or by gVisor, which names its
// children runsc-sandbox and runsc-gofer and starts its umounter as /proc/self/exe.
func IsReexec(args []string) bool {
	if len(args) == 0 {
		return false
	}
	return strings.HasPrefix(filepath.Base(args[0]), "runsc") || args[0] == "/proc/self/exe"
}

// gcPercent keeps the heaps of gVisor's processes small: every chat has two of them,
// and they hold little that changes. They cannot be told by their environment, which is empty.
const gcPercent = 25

// Main is runsc. It reads os.Args and ends the process.
//
// memory names a file in the form of /proc/meminfo that says how much memory the guest
// has, "" for all of the machine; see the host's MemoryVariable.
func Main(memory string) {
	debug.SetGCPercent(gcPercent)
	if memory != "" {
		// gVisor tells its guest what it finds here, and has no flag for it. This process has
		// mounts of its own. Where it may not mount, code sees the machine's memory, which only
		// misleads caches that are sized by it; the limit holds all the same.
		_ = syscall.Mount(memory, "/proc/meminfo", "", syscall.MS_BIND, "")
	}
	cli.Run(nil, map[util.SubCommand]string{
		new(sentrycmd.Boot):   "",
		new(sentrycmd.Umount): "",
		new(cmd.Gofer):        "",
		new(cmd.Run):          "",
		new(cmd.Restore):      "",
		new(cmd.Checkpoint):   "",
		new(cmd.Kill):         "",
		new(cmd.Delete):       "",
		new(cmd.State):        "",
		new(cmd.List):         "",
		new(cmd.Events):       "",
	}, nil)
}
