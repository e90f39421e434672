//go:build !cgo

package cli

// withCgo tells that the binary may be dynamic.
const withCgo = false
