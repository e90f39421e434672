package wheel

import (
	"fmt"
	"path"
	"runtime"
	"slices"
	"strings"

	"runpython/internal/pattern"
	"runpython/internal/pypi/requirement"
)

// sourceSuffixes end the names of source distributions (PEP 625, and what there was before).
var sourceSuffixes = []string{".tar.gz", ".zip"}

// IsSource reports whether p is a source distribution, from which a wheel has to be built.
// File, URL, SHA256 and Bytes are then those of the source.
func (p Pin) IsSource() bool { return !strings.HasSuffix(p.File, ".whl") }

// ParseSource reads the version out of the name of a source distribution of the
// distribution name, which is normalised: "my-pkg-1.0.tar.gz" of "my-pkg". It returns
// false for any other file.
func ParseSource(file, name string) (version string, ok bool) {
	if len(file) > maxFileName || path.Base(file) != file {
		return "", false
	}
	for _, suffix := range sourceSuffixes {
		stem, ok := strings.CutSuffix(file, suffix)
		if !ok {
			continue
		}
		for i := range len(stem) {
			// The name may have dashes itself, in the files of older days.
			if stem[i] == '-' && requirement.Normalize(stem[:i]) == name && sourceVersion().MatchString(stem[i+1:]) {
				return stem[i+1:], true
			}
		}
	}
	return "", false
}

// sourceVersion begins with a number, as every version does (PEP 440), and has nothing that
// a name of a wheel could not have.
var sourceVersion = pattern.New(`^v?[0-9][0-9A-Za-z.+!_]{0,127}$`)

// CheckBuilt returns a BadError unless file can be the name of the wheel that was built of
// the source pin for Python python ("3.14") on this machine.
func CheckBuilt(file string, pin Pin, python string) error {
	n, err := ParseName(file)
	switch {
	case err != nil:
		return bad("%.80q is not the name of a wheel", file)
	case n.Name != pin.Name || !sameVersion(n.Version, pin.Version):
		return bad("its build made %.80q", file)
	case !n.Fits(python):
		return bad("its build made a wheel for something else: %.80q", file)
	}
	return nil
}

// MinorVersion returns the part of a version of Python that wheels are made for: "3.14" of "3.14.6".
func MinorVersion(version string) string {
	parts := strings.SplitN(version, ".", 3)
	return strings.Join(parts[:min(2, len(parts))], ".")
}

// machines are the names that tags of platforms end in, by Go's.
var machines = map[string]string{"amd64": "x86_64", "arm64": "aarch64"}

// Fits reports whether the tags of a wheel are for Python python ("3.14") on this machine, as
// far as that can be told without asking for the version of its C library.
func (n FileName) Fits(python string) bool {
	major, minor, _ := strings.Cut(python, ".")
	own := "cp" + major + minor
	interpreters := []string{own, "py" + major + minor, "py" + major, "cp" + major}
	interpreter := slices.ContainsFunc(n.Python, func(tag string) bool {
		return slices.Contains(interpreters, tag) ||
			strings.HasPrefix(tag, "py"+major) && number(tag[len("py"+major):]) <= number(minor) ||
			slices.Contains(n.ABI, "abi3") && strings.HasPrefix(tag, "cp"+major) && number(tag[len("cp"+major):]) <= number(minor)
	})
	abi := slices.ContainsFunc(n.ABI, func(tag string) bool { return tag == "none" || tag == "abi3" || tag == own })
	platform := slices.ContainsFunc(n.Platform, func(tag string) bool {
		return tag == "any" || strings.HasSuffix(tag, "_"+machines[runtime.GOARCH]) && (strings.HasPrefix(tag, "linux_") || strings.HasPrefix(tag, "manylinux"))
	})
	return interpreter && abi && platform
}

// FitsAll reports whether the tags of a wheel are for every Python 3 on every machine.
func (n FileName) FitsAll() bool {
	return slices.Contains(n.Python, "py3") && slices.Contains(n.ABI, "none") && slices.Contains(n.Platform, "any")
}

// checkFile compares the name of the file with that of the distribution.
func (p Pin) checkFile() error {
	if p.IsSource() {
		if version, ok := ParseSource(p.File, p.Name); !ok || version != p.Version {
			return fmt.Errorf("%s comes in %.80q", p, p.File)
		}
		return nil
	}
	name, err := ParseName(p.File)
	if err != nil {
		return err
	}
	if name.Name != p.Name {
		return fmt.Errorf("%s comes in a wheel of %s", p.Name, name.Name)
	}
	return nil
}
