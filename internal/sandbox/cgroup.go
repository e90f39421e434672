package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// groups holds guests in control groups, where the host lets us make them (versions 1 and
// 2). They are a second fence: the memory limit and the number of processors hold without them too;
// a fraction of a processor does not.
type groups struct {
	limits  Limits
	cpu     string // folder of our group with the CPU controller, "" for none
	memory  string // the same for memory; in version 2 the same folder
	unified bool
	wanted  bool
}

// cgroupRoot is where control groups are mounted on every current system.
const cgroupRoot = "/sys/fs/cgroup"

// memoryHeadroom is what the group may use beyond the limit: gVisor's own memory
// and what a guest takes before the watch ends it.
func memoryHeadroom(limit int64) int64 { return limit/2 + 256<<20 }

func newGroups(name string, limits Limits) *groups {
	g := &groups{limits: limits, wanted: limits.CPUs != math.Trunc(limits.CPUs)}
	if base, ok := unifiedBase(); ok {
		dir := filepath.Join(base, groupName(name))
		if os.Mkdir(dir, 0o750) != nil {
			return g
		}
		g.unified = true
		// Children get the controllers that their parent passes on.
		if write(filepath.Join(dir, "cgroup.subtree_control"), "+cpu") == nil {
			g.cpu = dir
		}
		if write(filepath.Join(dir, "cgroup.subtree_control"), "+memory") == nil {
			g.memory = dir
		}
		if g.cpu == "" && g.memory == "" {
			_ = os.Remove(dir) // of no use
		}
		return g
	}
	g.cpu, g.memory = oldGroup("cpu", name), oldGroup("memory", name)
	return g
}

func groupName(name string) string { return "runpython-" + name }

// unifiedBase returns the folder of our own group in version 2, if that is what the system uses.
func unifiedBase() (string, bool) {
	if _, err := os.Stat(filepath.Join(cgroupRoot, "cgroup.controllers")); err != nil {
		return "", false
	}
	return filepath.Join(cgroupRoot, ownGroup("")), true
}

// oldGroup makes our group below a controller of version 1; "" if we may not.
func oldGroup(controller, name string) string {
	dir := filepath.Join(cgroupRoot, controller, ownGroup(controller), groupName(name))
	if os.Mkdir(dir, 0o750) != nil {
		return ""
	}
	return dir
}

// ownGroup returns the path of the group that this process is in.
func ownGroup(controller string) string {
	data, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(data)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) == 3 && (parts[1] == controller || controller != "" && strings.Contains(","+parts[1]+",", ","+controller+",")) {
			return parts[2]
		}
	}
	return ""
}

// missing tells what cannot be held without a group.
func (g *groups) missing() []string {
	var names []string
	if g.cpu == "" && g.wanted {
		names = append(names, fmt.Sprintf("--cpus %v needs a control group that this process may make; %d whole processors are used instead",
			g.limits.CPUs, g.limits.processors()))
	}
	if g.memory == "" {
		names = append(names, "no control group for memory: the memory limit is held by the server's watch alone")
	}
	return names
}

// add puts the processes of a guest into a group of its own.
func (g *groups) add(id string, pid int) error {
	if g.cpu == "" && g.memory == "" {
		return nil
	}
	var err error
	for dir := range g.dirs(id) {
		if mkErr := os.Mkdir(dir, 0o750); mkErr != nil {
			return fmt.Errorf("control group of a guest: %w", mkErr)
		}
	}
	if g.cpu != "" {
		err = errors.Join(err, g.limitCPU(filepath.Join(g.cpu, id)))
	}
	if g.memory != "" {
		most := strconv.FormatInt(g.limits.MemoryBytes+memoryHeadroom(g.limits.MemoryBytes), 10)
		name := "memory.limit_in_bytes"
		if g.unified {
			name = "memory.max"
		}
		err = errors.Join(err, write(filepath.Join(g.memory, id, name), most))
	}
	for dir := range g.dirs(id) {
		err = errors.Join(err, moveFamily(pid, descendants, func(p int) error {
			return write(filepath.Join(dir, "cgroup.procs"), strconv.Itoa(p))
		}))
	}
	if err != nil {
		return fmt.Errorf("control group of a guest: %w", err)
	}
	return nil
}

// moveRounds is how often the processes of a guest are looked for until there are no new ones. A
// guest that has just started forks a few times.
const moveRounds = 20

// moveFamily moves a process and its descendants. What a process forks once it is moved is
// where it is, so it is moved before its children are looked for; what they have forked
// meanwhile is found in the next round.
func moveFamily(pid int, descendants func(int) []int, move func(int) error) error {
	moved := make(map[int]bool)
	family := []int{pid}
	for range moveRounds {
		found := false
		for _, p := range family {
			if moved[p] {
				continue
			}
			if err := move(p); err != nil && !errors.Is(err, syscall.ESRCH) {
				return err
			}
			moved[p], found = true, true
		}
		if !found {
			return nil
		}
		family = descendants(pid)
	}
	return fmt.Errorf("the guest makes processes without end: %d until now", len(moved))
}

// cpuPeriod is the period of the CPU quota in microseconds, the kernel's default.
const cpuPeriod = 100_000

func (g *groups) limitCPU(dir string) error {
	quota := int64(g.limits.CPUs * cpuPeriod)
	if g.unified {
		return write(filepath.Join(dir, "cpu.max"), fmt.Sprintf("%d %d", quota, cpuPeriod))
	}
	if _, err := os.Stat(filepath.Join(dir, "cpu.cfs_quota_us")); errors.Is(err, os.ErrNotExist) {
		return nil // a kernel without CPU quotas
	}
	return errors.Join(write(filepath.Join(dir, "cpu.cfs_period_us"), strconv.Itoa(cpuPeriod)),
		write(filepath.Join(dir, "cpu.cfs_quota_us"), strconv.FormatInt(quota, 10)))
}

// dirs yields the folders of the guest's groups, each once.
func (g *groups) dirs(id string) func(func(string) bool) {
	return func(yield func(string) bool) {
		if g.cpu != "" && !yield(filepath.Join(g.cpu, id)) {
			return
		}
		if g.memory != "" && g.memory != g.cpu {
			yield(filepath.Join(g.memory, id))
		}
	}
}

// outOfMemory reports whether the system has ended a process of a guest for the bound of its group.
func (g *groups) outOfMemory(id string) bool {
	if g.memory == "" {
		return false
	}
	name := "memory.oom_control"
	if g.unified {
		name = "memory.events"
	}
	counts, err := os.ReadFile(filepath.Join(g.memory, id, name))
	return err == nil && killsIn(string(counts)) > 0
}

// killsIn returns how many processes the system has ended, as both versions of control groups count them.
func killsIn(counts string) int {
	for line := range strings.Lines(counts) {
		if n, ok := strings.CutPrefix(strings.TrimSpace(line), "oom_kill "); ok {
			kills, _ := strconv.Atoi(n) // 0 for what is no number
			return kills
		}
	}
	return 0
}

// remove removes the groups of a guest that is ending: a group can be removed
// once its last process is gone.
func (g *groups) remove(id string) error {
	var err error
	for dir := range g.dirs(id) {
		err = errors.Join(err, removeGroup(dir))
	}
	return err
}

func (g *groups) close() error {
	var err error
	for dir := range g.dirs("") {
		err = errors.Join(err, removeGroup(filepath.Clean(dir)))
	}
	return err
}

// groupFolders returns where newGroups of this process may make groups for the host name.
func groupFolders(name string) []string {
	folders := []string{filepath.Join(cgroupRoot, ownGroup(""), groupName(name))}
	for _, controller := range []string{"cpu", "memory"} {
		folders = append(folders, filepath.Join(cgroupRoot, controller, ownGroup(controller), groupName(name)))
	}
	return folders
}

// removeGroups removes the groups of the host of the folder dir, which has ended. They may
// be elsewhere than ours would be, so the host has written down where.
func removeGroups(dir string) error {
	data, err := os.ReadFile(filepath.Join(dir, groupsName))
	if errors.Is(err, os.ErrNotExist) {
		return nil // another process was faster
	}
	name := groupName(filepath.Base(dir))
	for line := range strings.Lines(string(data)) {
		folder := filepath.Clean(strings.TrimSuffix(line, "\n"))
		if strings.HasPrefix(folder, cgroupRoot+"/") && filepath.Base(folder) == name {
			err = errors.Join(err, removeGroup(folder))
		}
	}
	return err
}

// removeGroup removes a group and the groups in it. Processes that are ending keep it for a moment.
func removeGroup(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if e.IsDir() {
			if err := removeGroup(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	for range int(endDeadline / pollEvery) {
		err = os.Remove(dir)
		if err == nil || errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if !errors.Is(err, syscall.EBUSY) {
			break
		}
		pause()
	}
	return fmt.Errorf("control group: %w", err)
}

func write(name, value string) error {
	return os.WriteFile(name, []byte(value), 0)
}

// processorFeatures returns the line of /proc/cpuinfo that names what the
// processor can do: an image is bound to it.
func processorFeatures(cpuinfo []byte) []byte {
	for _, name := range []string{"\nflags", "\nFeatures"} {
		if _, rest, found := bytes.Cut(cpuinfo, []byte(name)); found {
			line, _, _ := bytes.Cut(rest, []byte("\n"))
			return line
		}
	}
	return nil
}

// MissingGroups tries to make control groups as a host with these limits does and tells
// which of them they cannot hold on this machine; empty when nothing is missing.
func MissingGroups(limits Limits) []string {
	name := "probe-" + randomName()
	g := newGroups(name, limits)
	missing := g.missing()
	if err := g.close(); err != nil {
		missing = append(missing, "a control group could not be removed")
	}
	return missing
}
