// Package sandbox runs untrusted programs inside gVisor.
//
// A [Host] starts a [Sandbox]: one guest with its own files, processes and
// memory, and no network. Close ends it. When Close returns, no process, mount or file of
// the guest is left. A host keeps some guests ahead in a pool, which it fills
// from one checkpoint image. A [Snapshot] of a guest in use is stored as a difference from that image, and
// Restore makes a guest of it again, on this host or a later one.
//
// # Trust
//
// All that comes out of a guest is hostile: bytes, names, sizes, exit codes.
// This package bounds what a guest may use; it does not look at what it says.
// Guests never see the host's environment, users, processes or files, but for the
// interpreter, libraries, time zones, fonts, the certificates of authorities and, unless
// switched off, its programs. What is shown of libraries is in libraries.go.
//
// # Failure
//
// Starts and restores have a deadline, are tried again and counted. An error of a
// method means that the fate of the guest is unknown, and the only safe next
// step is Close; a Snapshot that fails and leaves running is an exception. A stored checkpoint that
// cannot be used is an [UnusableError]. If this process dies, a keeper process stops its guests at
// once and removes them after a while, unless the next host on the same data folder has rescued them by
// then; if the keeper dies too, that host removes them.
package sandbox
