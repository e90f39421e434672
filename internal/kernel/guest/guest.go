// Package guest holds the Python programs that run inside a guest; PROTOCOL.md
// beside them says what they speak with the host.
//
// # Trust
//
// The programs are ours. Once code of a chat has run beside kernel.py, nothing that
// this process says is to be believed.
//
// # Failure
//
// None: the files are part of the program.
package guest

import (
	"embed"
	"io/fs"
)

//go:embed *.py
var files embed.FS

// Files returns the programs, init.py at the root.
func Files() fs.FS { return files }
