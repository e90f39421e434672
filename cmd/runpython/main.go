// Command runpython is a remote MCP server with one tool, chat, that runs Python
// in a sandbox. The same program is the sandbox: it starts itself again as gVisor
// and as the keeper of its guests.
package main

import (
	"fmt"
	"os"

	"runpython/internal/sandbox"
	"runpython/internal/sandbox/gvisor"
)

func main() {
	if gvisor.IsReexec(os.Args) {
		gvisor.Main()
		return
	}
	if os.Args[0] == sandbox.KeeperName {
		if err := sandbox.KeeperMain(os.Args[1:], os.Stdin); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
}
