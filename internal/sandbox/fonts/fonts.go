// Package fonts holds the font that every guest has: WenQuanYi Micro Hei, whose two
// faces have the Latin, Chinese, Japanese and Korean characters. Without it a plot
// with a Chinese title is a row of boxes wherever the host has no such font.
//
// # Trust
//
// The file is of this repository, and is checked when it is unpacked. In a guest it
// is data of programs there, which run without rights.
//
// # Failure
//
// An error of Unpack means that the program itself is damaged.
package fonts

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
)

// Name is that of the file; fontconfig, matplotlib and Pillow look for the extension.
const Name = "wqy-microhei.ttc"

// Folder is where guests have the file, beside the host's fonts. Config names it too.
const Folder = "/usr/local/share/fonts"

// Config is the guests' /etc/fonts/fonts.conf: the fonts by which programs that ask fontconfig
// get something readable for any name. matplotlib and Pillow look for files themselves.
//
//go:embed fonts.conf
var Config string

// SHA256 is the hash of what Unpack returns, in hex.
const SHA256 = "2420e8078af796b19a3f6ef13de527a1a91c1e7171eea115926c614ced1009b3"

// License is the text that has to go with the font.
//
//go:embed LICENSE.txt
var License string

//go:embed wqy-microhei.ttc.gz
var packed []byte

// Unpack returns the file, some 5 MB, in some 50 ms.
func Unpack() ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("unpack a font: %w", err)
	}
	font, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("unpack a font: %w", err)
	}
	if sum := sha256.Sum256(font); hex.EncodeToString(sum[:]) != SHA256 {
		return nil, errors.New("unpack a font: this program is damaged")
	}
	return font, nil
}
