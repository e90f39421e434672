//go:build !cgo

package cli_test

const withCgo = false
