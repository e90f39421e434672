package wheel

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/csv"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"
	"syscall"

	"runpython/internal/pattern"
	"runpython/internal/pypi/requirement"
)

// What a file system says when a file and a folder have one name.
const (
	errNotDirectory = syscall.ENOTDIR
	errIsDirectory  = syscall.EISDIR
)

// parseRecord reads a RECORD: a line for each file with its path, its digest and
// its size, the latter two empty for RECORD itself and its signatures.
func parseRecord(text []byte, info string) (map[string]string, error) {
	r := csv.NewReader(strings.NewReader(string(text)))
	r.FieldsPerRecord, r.ReuseRecord = 3, true
	record := map[string]string{}
	for {
		fields, err := r.Read()
		if errors.Is(err, io.EOF) {
			return record, nil
		}
		if err != nil {
			return nil, bad("RECORD cannot be read: %v", err)
		}
		name, digest := fields[0], fields[1]
		if _, twice := record[name]; twice {
			return nil, bad("RECORD names %.80q twice", name)
		}
		if isUnsigned(name, info) {
			record[name] = ""
			continue
		}
		kind, sum, _ := strings.Cut(digest, "=")
		if kind != "sha256" {
			return nil, bad("RECORD has no SHA-256 of %.80q", name)
		}
		record[name] = strings.TrimRight(sum, "=")
	}
}

// isUnsigned reports whether name is one of the files that RECORD cannot have a digest of.
func isUnsigned(name, info string) bool {
	rest, ok := strings.CutPrefix(name, info+"/RECORD")
	return ok && (rest == "" || rest == ".jws" || rest == ".p7s")
}

// complete compares the names in RECORD with those in the archive, folders apart.
func complete(record map[string]string, archive map[string]bool) error {
	for name := range record {
		if !archive[name] {
			return bad("RECORD names %.80q, which is not in it", name)
		}
	}
	for name := range archive {
		if _, ok := record[name]; !ok && !strings.HasSuffix(name, "/") && !isSignature(name) {
			return bad("RECORD does not name %.80q", name)
		}
	}
	return nil
}

// isSignature reports whether name is a signature, which RECORD need not name.
func isSignature(name string) bool {
	return strings.HasSuffix(name, ".dist-info/RECORD.jws") || strings.HasSuffix(name, ".dist-info/RECORD.p7s")
}

// A sum is a SHA-256 in the form of RECORD.
type sum struct{ hash.Hash }

func newSum() sum { return sum{sha256.New()} }

func (s sum) text() string { return base64.RawURLEncoding.EncodeToString(s.Sum(nil)) }

func normalized(name string) string { return requirement.Normalize(name) }

// sameVersion reports whether two spellings are of one version, as far as a folder's
// name goes: "1.0+local-1" is written "1.0+local_1" there.
func sameVersion(a, b string) bool {
	one := func(s string) string {
		return strings.ToLower(strings.NewReplacer("_", "-", ".", "-", "!", "-").Replace(s))
	}
	return one(a) == one(b) || strings.TrimRight(one(a), "-0") == strings.TrimRight(one(b), "-0")
}

// An entryPoint is a program that calls a function.
type entryPoint struct{ name, module, object string }

// maxEntryPoints bounds the programs of one wheel.
const maxEntryPoints = 1000

var (
	entryLine  = pattern.New(`^([A-Za-z0-9_.-]{1,100})\s*=\s*([A-Za-z0-9_.]+)\s*:\s*([A-Za-z0-9_.]+)\s*(?:\[.*\])?$`)
	identifier = pattern.New(`^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*$`)
)

// parseEntryPoints returns the programs of [console_scripts] and [gui_scripts]. Lines
// that are none are passed over: what is written of them becomes a program.
func parseEntryPoints(text string) []entryPoint {
	var all []entryPoint
	scripts := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			scripts = line == "[console_scripts]" || line == "[gui_scripts]"
			continue
		}
		m := entryLine().FindStringSubmatch(line)
		if !scripts || m == nil || !identifier().MatchString(m[2]) || !identifier().MatchString(m[3]) || strings.HasPrefix(m[1], ".") {
			continue
		}
		if all = append(all, entryPoint{m[1], m[2], m[3]}); len(all) == maxEntryPoints {
			break
		}
	}
	return all
}

// script returns the program.
func (e entryPoint) script(python string) string {
	top, _, _ := strings.Cut(e.object, ".")
	return fmt.Sprintf("#!%s\nimport sys\nfrom %s import %s\nsys.exit(%s())\n", python, e.module, top, e.object)
}
