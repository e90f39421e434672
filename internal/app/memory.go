package app

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// idleKernelBytes is what a living idle interpreter is reckoned to hold.
const idleKernelBytes = 32 << 20

// livingKernels is how many interpreters may live at once: those that fit into
// three quarters of the memory while they are idle, between 4 and 1,000.
func livingKernels() int {
	return int(min(max(4, ownMemoryBytes()/4*3/idleKernelBytes), 1000))
}

// ownMemoryBytes is the memory that this process and its guests may use: that of the
// machine, or less where a control group, such as a container's, says so.
func ownMemoryBytes() int64 {
	memory := hostMemoryBytes()
	groups, _ := os.ReadFile("/proc/self/cgroup") // without groups there is no limit
	for line := range bytes.Lines(groups) {
		parts := strings.SplitN(string(bytes.TrimSpace(line)), ":", 3)
		if len(parts) != 3 {
			continue
		}
		base, file := "/sys/fs/cgroup", "memory.max"
		if parts[1] != "" {
			base, file = "/sys/fs/cgroup/memory", "memory.limit_in_bytes"
		}
		if parts[1] == "" || strings.Contains(","+parts[1]+",", ",memory,") {
			memory = min(memory, groupLimit(base, parts[2], file, memory))
		}
	}
	return memory
}

// groupLimit returns the least limit of a group and those above it, most if there is none.
// In a container the path may be the host's, where only the root is ours to see.
func groupLimit(base, group, file string, most int64) int64 {
	for dir := filepath.Clean("/" + group); ; dir = filepath.Dir(dir) {
		if text, err := os.ReadFile(filepath.Join(base, dir, file)); err == nil {
			// "max" and what is not there are no limit.
			if n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && n > 0 {
				most = min(most, n)
			}
		}
		if dir == "/" {
			return most
		}
	}
}

// hostMemoryBytes is the memory of the machine, or the least that is assumed.
func hostMemoryBytes() int64 {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return 1 << 30
	}
	return int64(info.Totalram) * int64(info.Unit)
}
