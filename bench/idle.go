package main

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A process is what /proc tells of one.
type process struct {
	pid     int
	parent  int
	began   int64 // since the start of the system, in ticks
	spent   int64 // processor time of it and its threads, in ticks
	command []byte
}

// tick is the unit of times in /proc: USER_HZ, which Linux fixes at 100 a second.
const tick = 10 * time.Millisecond

// processes lists those that live now.
func processes() ([]process, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var all []process
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		folder := filepath.Join("/proc", entry.Name())
		stat, statErr := os.ReadFile(filepath.Join(folder, "stat"))
		command, commandErr := os.ReadFile(filepath.Join(folder, "cmdline"))
		if statErr != nil || commandErr != nil {
			continue // it has ended
		}
		p, err := parseStat(pid, stat)
		if err != nil {
			return nil, err
		}
		p.command = command
		all = append(all, p)
	}
	return all, nil
}

// parseStat reads the content of /proc/PID/stat (proc_pid_stat(5)). The second field,
// a name in brackets, may have any characters in it.
func parseStat(pid int, stat []byte) (process, error) {
	p := process{pid: pid}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	const state = 3 // number of the first field behind the name
	number := func(field int) int64 {
		if field-state >= len(fields) {
			return -1
		}
		n, err := strconv.ParseInt(fields[field-state], 10, 64)
		if err != nil {
			return -1
		}
		return n
	}
	user, system := number(14), number(15)
	p.parent, p.began, p.spent = int(number(4)), number(22), user+system
	if p.parent < 0 || p.began < 0 || user < 0 || system < 0 {
		return process{}, fmt.Errorf("/proc/%d/stat has unknown content %q", pid, stat)
	}
	return p, nil
}

// A group is the processes of one guest: gVisor, its children, its file helper.
type group struct {
	folder    string
	processes []process
	began     int64
}

// guests finds the guests of the product with this data folder, the oldest first. Processes of
// a guest are known by its folder, which their command lines name, and by their parents.
func guests(data string) ([]group, error) {
	folders, err := filepath.Glob(filepath.Join(data, "run", "*", "g*"))
	if err != nil {
		return nil, fmt.Errorf("list guests: %w", err)
	}
	all, err := processes()
	if err != nil {
		return nil, err
	}
	var found []group
	for _, folder := range folders {
		if g := groupOf(folder, all); len(g.processes) > 0 {
			found = append(found, g)
		}
	}
	slices.SortFunc(found, func(a, b group) int { return cmp.Compare(a.began, b.began) })
	return found, nil
}

func groupOf(folder string, all []process) group {
	g := group{folder: folder}
	members := map[int]bool{}
	for grown := true; grown; {
		grown = false
		for _, p := range all {
			named := bytes.HasPrefix(p.command, []byte("runsc")) && bytes.Contains(p.command, []byte(folder+"/"))
			if members[p.pid] || !named && !members[p.parent] {
				continue
			}
			members[p.pid], grown = true, true
			g.processes = append(g.processes, p)
			if g.began == 0 || p.began < g.began {
				g.began = p.began
			}
		}
	}
	return g
}

// memory returns what a guest holds: the allocated blocks of gVisor's memory file, which
// has the memory of the guest's processes, and the anonymous memory of all its processes on the host.
func (g group) memory() (int64, error) {
	var sum int64
	seen := map[uint64]bool{} // memory files by inode: children inherit the descriptor
	for _, p := range g.processes {
		anonymous, err := anonymousBytes(p.pid)
		if err != nil {
			return 0, err
		}
		file, err := memoryFile(p.pid)
		if err != nil {
			return 0, err
		}
		sum += anonymous
		if file != nil && !seen[file.Ino] {
			seen[file.Ino] = true
			sum += file.Blocks * 512
		}
	}
	if len(seen) != 1 {
		return 0, fmt.Errorf("the guest in %s has %d memory files", g.folder, len(seen))
	}
	return sum, nil
}

// memoryFile returns gVisor's memory file, if the process has it open.
func memoryFile(pid int) (*syscall.Stat_t, error) {
	folder := fmt.Sprintf("/proc/%d/fd", pid)
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("files of a guest: %w", err)
	}
	for _, entry := range entries {
		name := filepath.Join(folder, entry.Name())
		target, err := os.Readlink(name)
		if err != nil || !strings.HasPrefix(target, "/memfd:runsc-memory") {
			continue
		}
		var info syscall.Stat_t
		if err := syscall.Stat(name, &info); err != nil {
			return nil, fmt.Errorf("memory file of a guest: %w", err)
		}
		return &info, nil
	}
	return nil, nil //nolint:nilnil // most processes have none
}

// anonymousBytes returns the memory of a process that no file stands behind.
func anonymousBytes(pid int) (int64, error) {
	name := fmt.Sprintf("/proc/%d/status", pid)
	status, err := os.ReadFile(name)
	if err != nil {
		return 0, fmt.Errorf("memory of a process: %w", err)
	}
	for line := range strings.Lines(string(status)) {
		if value, found := strings.CutPrefix(line, "RssAnon:"); found {
			kib, err := strconv.ParseInt(strings.Fields(value + " -")[0], 10, 64)
			if err != nil {
				return 0, fmt.Errorf("%s: %w", name, err)
			}
			return kib << 10, nil
		}
	}
	return 0, nil // a process without memory of its own, such as a zombie
}

// spent returns the processor time of a guest's processes so far.
func (g group) spent() time.Duration {
	var ticks int64
	for _, p := range g.processes {
		ticks += p.spent
	}
	return time.Duration(ticks) * tick
}

// spentBy returns the processor time of one process so far.
func spentBy(pid int) (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("processor time: %w", err)
	}
	p, err := parseStat(pid, stat)
	return time.Duration(p.spent) * tick, err
}
