package interpreter

import _ "embed"

// embedded lists the files of the embedded CPython that are unpacked.
//
//go:embed lists/linux-amd64.txt
var embedded string
