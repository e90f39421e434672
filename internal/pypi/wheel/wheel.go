// Package wheel reads wheels: which of several fits best, what is in one, and how it
// becomes files of an environment.
//
// # Trust
//
// A wheel is hostile, although its digest was that of the index. [Unpack] makes regular
// files and folders below the folder that it is given and nothing else: no links, no
// devices, no file outside, no file twice, and no more bytes than it may, whatever the
// archive claims. Every file must be as the wheel's own RECORD says. Nothing of a wheel
// is executed here.
//
// # Failure
//
// A wheel that is not as it should be is a [BadError]; a full disk and the like are
// errors of the file system. The folder then holds what was made so far.
package wheel

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"runpython/internal/pattern"
	"runpython/internal/pypi/requirement"
)

// A Pin is one wheel and nothing else, or the source distribution that one is built of:
// what a lock is made of.
type Pin struct {
	Name    string `json:"name"`    // of the distribution, normalised
	Version string `json:"version"` // as the index writes it
	File    string `json:"file"`    // name of the wheel, or of the source (IsSource)
	URL     string `json:"url"`     // where it was; without credentials
	SHA256  string `json:"sha256"`  // 64 hex digits
	Bytes   int64  `json:"bytes"`   // size of the file; 0 when the index does not say
}

// String returns "pandas 3.0.1".
func (p Pin) String() string { return p.Name + " " + p.Version }

// shaDigits is the length of a SHA-256 in hex.
const shaDigits = 64

// Check returns an error unless p can be used as a name of files and in messages. Pins
// come from indexes and from storage.
func (p Pin) Check() error {
	sum, err := hex.DecodeString(p.SHA256)
	switch {
	case !requirement.IsName(p.Name), requirement.Normalize(p.Name) != p.Name:
		return fmt.Errorf("%q is not the normalised name of a distribution", p.Name)
	case !plainVersion().MatchString(p.Version):
		return fmt.Errorf("%q is not a version of %s", p.Version, p.Name)
	case err != nil, hex.EncodeToString(sum) != p.SHA256, len(p.SHA256) != shaDigits:
		return fmt.Errorf("%s has no SHA-256", p)
	case p.Bytes < 0:
		return fmt.Errorf("%s has a size of %d", p, p.Bytes)
	}
	return p.checkFile()
}

var plainVersion = pattern.New(`^[0-9A-Za-z][0-9A-Za-z.+!_-]{0,127}$`)

// A FileName is what the name of a wheel says (PEP 427).
type FileName struct {
	Name     string // of the distribution, normalised
	Version  string
	Build    string // "1" or ""
	Python   []string
	ABI      []string
	Platform []string
}

// maxFileName bounds the name of a wheel.
const maxFileName = 255

var errName = errors.New("not the name of a wheel")

// ParseName reads "numpy-2.4.0-cp314-cp314-manylinux_2_28_x86_64.whl".
func ParseName(file string) (FileName, error) {
	stem, ok := strings.CutSuffix(file, ".whl")
	parts := strings.Split(stem, "-")
	if !ok || len(file) > maxFileName || len(parts) != 5 && len(parts) != 6 || path.Base(file) != file {
		return FileName{}, fmt.Errorf("%q: %w", file, errName)
	}
	if slices.ContainsFunc(parts, func(p string) bool { return !namePart().MatchString(p) }) || !requirement.IsName(parts[0]) {
		return FileName{}, fmt.Errorf("%q: %w", file, errName)
	}
	tags := parts[len(parts)-3:]
	n := FileName{
		Name: requirement.Normalize(parts[0]), Version: parts[1],
		Python: strings.Split(tags[0], "."), ABI: strings.Split(tags[1], "."), Platform: strings.Split(tags[2], "."),
	}
	if len(parts) == 6 {
		n.Build = parts[2]
	}
	return n, nil
}

var namePart = pattern.New(`^[A-Za-z0-9_.+!]+$`)

// Best returns which of several wheels of one version to take. All of them fit the
// interpreter, as the resolver has seen to; the one that is made for it most closely
// wins: for this very Python before the stable ABI before any, for the newest C
// library before older ones, then the highest build number. It returns false when
// there is none.
func Best(wheels []Pin) (Pin, bool) {
	if len(wheels) == 0 {
		return Pin{}, false
	}
	return slices.MaxFunc(wheels, func(a, b Pin) int {
		return slices.Compare(rank(a.File), rank(b.File))
	}), true
}

// rank returns numbers that are compared in their order.
func rank(file string) []int {
	n, err := ParseName(file)
	if err != nil {
		return []int{-1}
	}
	kind := 0
	switch {
	case slices.ContainsFunc(n.ABI, func(a string) bool { return a != "none" && a != "abi3" }):
		kind = 3
	case slices.Contains(n.ABI, "abi3"):
		kind = 2
	case !slices.Contains(n.Platform, "any"):
		kind = 1
	}
	libc := 0
	for _, p := range n.Platform {
		libc = max(libc, glibc(p))
	}
	build, err := strconv.Atoi(strings.TrimRightFunc(n.Build, func(c rune) bool { return c < '0' || c > '9' }))
	if err != nil {
		build = 0
	}
	return []int{kind, newest(n.Python), libc, build}
}

// glibc returns 217 for manylinux_2_17_x86_64 and for its older name.
func glibc(platform string) int {
	if m := manylinux().FindStringSubmatch(platform); m != nil {
		return number(m[1])*100 + number(m[2])
	}
	switch {
	case strings.HasPrefix(platform, "manylinux2014_"):
		return 217
	case strings.HasPrefix(platform, "manylinux2010_"):
		return 212
	case strings.HasPrefix(platform, "manylinux1_"):
		return 205
	}
	return 0
}

var manylinux = pattern.New(`^manylinux_([0-9]{1,3})_([0-9]{1,3})_`)

// newest returns the highest number in tags like cp314 or py3.
func newest(tags []string) int {
	highest := 0
	for _, t := range tags {
		highest = max(highest, number(strings.TrimLeft(t, "cpy")))
	}
	return highest
}

// number reads a few digits; anything else is 0.
func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// Compare orders pins by name, so that a lock has one form.
func Compare(a, b Pin) int { return cmp.Compare(a.Name, b.Name) }
