package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sys/unix"

	"runpython/internal/sandbox/checkpoint"
)

// bindingOf names all that an image of a guest depends on: gVisor, interpreter, program, limits, mounts,
// kernel, processor, and what is preloaded. An image of the pool and the checkpoint of a chat are of use
// under the same name only. Where the program lies does not count, nor when it was put there.
func bindingOf(h *Host, p Preload) string {
	digest := sha256.New()
	var system unix.Utsname
	_ = unix.Uname(&system) // only makes the name less exact
	cpu, _ := os.ReadFile("/proc/cpuinfo")
	fmt.Fprintf(digest, "%s %s %x\n", runtime.GOARCH, system.Release, processorFeatures(cpu))
	fmt.Fprintf(digest, "%s\n", h.runsc.content)
	specification, _ := json.Marshal(h.spec("/guest", p)) // of plain strings and numbers: cannot fail
	fmt.Fprintf(digest, "%s %s\n%v %d\n", h.config.Program.Key, specification, h.runsc.flags("/guest"), h.runsc.processors)
	for _, module := range p.Modules {
		fmt.Fprintf(digest, "%s\n", module)
	}
	return hex.EncodeToString(digest.Sum(nil))[:24]
}

// An origin is what another process has to know of a guest to make a checkpoint of it, and to restore that.
type origin struct {
	Binding string  `json:"binding"`
	Preload Preload `json:"preload"`
}

// The names in a guest's folder of its origin and of links to the image from which it differs.
const (
	originName = "origin"
	baseName   = "base"
)

// writeOrigin notes what the guest is, before it has processes. A base that is not there is done without.
func (s *Sandbox) writeOrigin(b beginning) error {
	text, err := json.Marshal(origin{Binding: b.of.key, Preload: b.of.preload})
	if err == nil {
		err = os.WriteFile(filepath.Join(s.dir, originName), text, 0o600)
	}
	if err != nil {
		return fmt.Errorf("origin of a guest: %w", err)
	}
	if b.base == "" {
		return nil
	}
	base := filepath.Join(s.dir, baseName)
	if checkpoint.LinkImage(b.base, base) == nil {
		return nil
	}
	if err := os.RemoveAll(base); err != nil {
		return fmt.Errorf("base of a guest: %w", err)
	}
	return nil
}

// readOrigin reads what writeOrigin has written below dir.
func readOrigin(dir string) (text []byte, o origin, err error) {
	text, err = os.ReadFile(filepath.Join(dir, originName))
	if err == nil {
		err = json.Unmarshal(text, &o)
	}
	if err != nil {
		return nil, o, fmt.Errorf("origin of a guest: %w", err)
	}
	return text, o, nil
}

// imageFor returns the image under whose binding a checkpoint of that origin is of use here.
func (h *Host) imageFor(o origin) (*image, error) {
	of := h.imageOfPool()
	if o.Binding != of.key {
		of = h.plain
	}
	if o.Binding != of.key { // of packages that were preloaded once
		if _, err := os.Stat(o.Preload.Dir); errors.Is(err, os.ErrNotExist) {
			return nil, checkpoint.Unusable("it needs packages that are not preloaded any more, or was made under other settings", nil)
		}
		of = newImage(h, o.Preload)
	}
	if o.Binding != of.key {
		return nil, checkpoint.Unusable("another version of gVisor, Python or this program made it, another machine, or other settings", nil)
	}
	return of, nil
}
