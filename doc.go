// Package runpython is the root of the module; its tests hold the rules of the
// whole tree: who may import whom, sizes, comments, and that the guides are true.
// The program is cmd/runpython, and ARCHITECTURE.md says where everything is.
package runpython
