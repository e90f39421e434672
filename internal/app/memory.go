package app

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"runpython/internal/config"
)

// What a living idle interpreter is reckoned to hold; the second with a preload, measured with numpy, pandas and
// matplotlib.
const (
	idleKernelBytes      = 32 << 20
	preloadedKernelBytes = 112 << 20
)

// kernelBytes is what an idle interpreter of this configuration is reckoned to hold.
func kernelBytes(c config.Config) int64 {
	if len(c.Preload) > 0 {
		return preloadedKernelBytes
	}
	return idleKernelBytes
}

// filesPerKernel is how many descriptors a living interpreter takes at most: its channel, two
// streams, its memory and what says how much of it there is, the lock on its packages, and two to spare.
const filesPerKernel = 8

// livingKernels is how many interpreters of so many bytes may live at once on this machine.
func livingKernels(each int64) int { return kernelsFor(ownMemoryBytes(), ownFiles(), each) }

// kernelsFor is how many interpreters may live at once: those that fit into three quarters of
// the memory while they are idle, and into three quarters of the descriptors, between 4 and 1,000.
func kernelsFor(memoryBytes, files, each int64) int {
	most := min(memoryBytes/4*3/each, files/4*3/filesPerKernel)
	return int(min(max(4, most), 1000))
}

// ownFiles is how many descriptors this process may have. The runtime has raised the limit as
// far as it may.
func ownFiles() int64 {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return math.MaxInt64 // the doctor tells of it
	}
	return int64(min(limit.Cur, math.MaxInt64))
}

// HeapBytes is what the heap of this process may take before it is collected more often: the
// quarter of the memory that is not reckoned to the guests.
func HeapBytes() int64 { return ownMemoryBytes() / 4 }

// maxImageBytes is how much of it an image takes at most: 500 MB of random numbers are on the disk after some 5 s, too
// late to be of use to a chat that is only quiet.
const maxImageBytes = 512 << 20

// imageBytes is what an interpreter may hold of which a checkpoint is made in memory: of the quarter that is not reckoned
// to the guests, half for each of the two that are made at once, and less where that is a lot.
func imageBytes() int64 { return min(maxImageBytes, ownMemoryBytes()/8) }

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
