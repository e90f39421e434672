package sandbox

import (
	"fmt"
	"math"
	"runtime"
	"strconv"
)

// Limits bound one guest.
type Limits struct {
	MemoryBytes int64   // of all its processes together, its /tmp and /dev/shm included
	WorkBytes   int64   // of its files in /work; also the largest file
	WorkFiles   int     // entries below /work
	Processes   int     // processes and threads of the chat's user
	OpenFiles   int     // of one process
	CPUs        float64 // processors; a fraction needs a cgroup
}

// DefaultLimits are those of the command line, for all processors of the machine.
func DefaultLimits() Limits {
	return Limits{
		MemoryBytes: 1 << 30,
		WorkBytes:   1 << 30,
		WorkFiles:   10_000,
		Processes:   64,
		OpenFiles:   1024,
		CPUs:        float64(runtime.NumCPU()),
	}
}

// AddressSpaceBytes is what one process may reserve. Libraries reserve address
// space that they never use (DuckDB, OpenCV, numba cannot be loaded with 1 GiB), so
// it is not the memory limit, which a watch of the memory file holds.
func (l Limits) AddressSpaceBytes() int64 { return l.MemoryBytes + 3<<30 }

// tmpBytes is the size of each tmpfs of the guest, whose content is memory.
func (l Limits) tmpBytes() int64 { return l.MemoryBytes / 2 }

// processors is the number of processors that the guest sees.
func (l Limits) processors() int {
	return min(max(1, int(math.Ceil(l.CPUs))), runtime.NumCPU())
}

// arguments are the limits that the guest's first process sets for the others.
func (l Limits) arguments() []string {
	return []string{
		"processes=" + strconv.Itoa(l.Processes),
		"open_files=" + strconv.Itoa(l.OpenFiles),
		"address_space=" + strconv.FormatInt(l.AddressSpaceBytes(), 10),
		// More than /work holds, so that a file that is too large fails as a full disk does.
		"file_bytes=" + strconv.FormatInt(l.WorkBytes+1<<20, 10),
		"files=" + strconv.Itoa(l.WorkFiles),
	}
}

// memoryInformation is the guest's /proc/meminfo: its limit, not the host's memory.
func (l Limits) memoryInformation() string {
	kib := l.MemoryBytes >> 10
	free := kib - kib/32
	line := func(name string, value int64) string { return fmt.Sprintf("%-15s %8d kB\n", name+":", value) }
	return line("MemTotal", kib) + line("MemFree", free) + line("MemAvailable", free) +
		line("Buffers", 0) + line("Cached", 0) + line("SwapCached", 0) + line("SwapTotal", 0) + line("SwapFree", 0) +
		line("Shmem", 0)
}
