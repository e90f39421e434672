// Package kernel is a living Python interpreter of a chat: code in, [Result] out.
//
// A [Kernel] owns one guest of package sandbox and speaks with the Python
// programs of the folder guest in it; guest/PROTOCOL.md says how. Variables live from
// run to run. Code that hits a limit is interrupted first, so that they survive; if that does
// not help, the interpreter is ended and another takes its place in the same
// guest, with the files kept; if that does not help either, the guest is ended. Between
// runs Checkpoint stores it, and Resume goes on from there.
//
// # Trust
//
// Every byte from the guest is hostile: sizes, counts, names, text, order.
// Whatever exceeds its bound ends the guest.
//
// # Failure
//
// Code that crashes, loops or breaks a limit is a [Result] with a [Status]. After an
// error Lost tells whether the guest is lost: then all that is left to do is Close.
package kernel
