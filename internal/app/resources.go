package app

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"runpython/internal/sandbox"
)

const (
	// diskNeeded is what the interpreter, an image and a few chats take.
	diskNeeded = 1 << 30
	// diskLeast is what a start writes once the interpreter is unpacked: an image and some files.
	diskLeast = 64 << 20
	// filesLeast is how many descriptors one process must be able to have. gVisor's file helper
	// keeps one for each file that a guest has looked at (measured: 256 are too few for a start).
	filesLeast = 512
	// threadsLeast is how many threads the start of a guest takes at least (measured: with 60 for the
	// user it ends early, with 80 it does not), threadsGood what a few chats take.
	threadsLeast = 50
	threadsGood  = 512
	// spaceGood is the address space that one guest should have beside its own limit, for gVisor (measured:
	// with 2 GiB in all it does not start).
	spaceGood = 4 << 30
	// namespacesGood is how many namespaces of a kind should be allowed: a guest takes one or two.
	namespacesGood = 100
)

// resources examines what this process may use of the machine's resources.
func resources(data string, limits sandbox.Limits) []Finding {
	return []Finding{disk(data), openFiles(), threads(), addressSpace(limits)}
}

func disk(data string) Finding {
	f := Finding{Name: "disk"}
	dir := data
	for dir != "/" {
		if _, err := os.Stat(dir); err == nil {
			break
		}
		dir = filepath.Dir(dir)
	}
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		f.Level, f.Detail, f.Remedy = Broken, err.Error(), "choose another folder with --data"
		return f
	}
	free := s.Bavail * uint64(s.Bsize)
	f.Detail = fmt.Sprintf("%d MiB free for %s", free>>20, data)
	switch {
	case unix.Access(dir, unix.W_OK) != nil:
		f.Level, f.Detail, f.Remedy = Broken, dir+" is not writable", "make it writable, or choose another folder with --data"
	case s.Files > 0 && s.Ffree == 0:
		f.Level, f.Detail = Broken, "no file can be made any more for "+data+": the disk has no inode left"
		f.Remedy = "remove some files, or choose another folder with --data"
	case free < diskNeeded:
		f.Level, f.Remedy = Less, "free some space, or choose another folder with --data: 1 GiB is comfortable"
		if free < diskLeast {
			f.Level = Broken
		}
	}
	return f
}

// threads tells how many more processes and threads this user may have: the kernel counts all of them,
// on the whole machine, except root's (setrlimit(2), RLIMIT_NPROC).
func threads() Finding {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NPROC, &limit); err != nil {
		return Finding{Name: "processes", Level: Unknown, Detail: err.Error()}
	}
	if limit.Cur == unix.RLIM_INFINITY || isRealRoot() {
		return Finding{Name: "processes", Detail: "as many as the machine allows"}
	}
	return threadsLeft(int64(min(limit.Cur, math.MaxInt64)), threadsOf(os.Getuid()))
}

func threadsLeft(limit, used int64) Finding {
	f := Finding{Name: "processes", Detail: fmt.Sprintf("%d for this user, threads included, of which %d are in use", limit, used)}
	left := limit - used
	if left < threadsGood {
		f.Level = Less
		f.Remedy = fmt.Sprintf("raise the limit to %d (ulimit -u, LimitNPROC= in systemd): a guest takes %d and more", used+threadsGood, threadsLeast)
	}
	if left < threadsLeast {
		f.Level = Broken
	}
	return f
}

// isRealRoot reports whether this is root outside of all user namespaces.
func isRealRoot() bool {
	ids, err := os.ReadFile("/proc/self/uid_map")
	return err == nil && os.Getuid() == 0 && strings.Join(strings.Fields(string(ids)), " ") == "0 0 4294967295"
}

// threadsOf counts the threads of a user that this process can see.
func threadsOf(uid int) int64 {
	processes, _ := filepath.Glob("/proc/[0-9]*/status") // the pattern is well formed
	var total int64
	for _, name := range processes {
		status, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		if ids := strings.Fields(statusField(status, "Uid")); len(ids) == 0 || ids[0] != strconv.Itoa(uid) {
			continue
		}
		if n, err := strconv.ParseInt(statusField(status, "Threads"), 10, 64); err == nil {
			total += n
		}
	}
	return total
}

// addressSpace tells of a limit that guests would have on top of their own.
func addressSpace(limits sandbox.Limits) Finding {
	f := Finding{Name: "address space", Detail: "not limited"}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_AS, &limit); err != nil {
		f.Level, f.Detail = Unknown, err.Error()
		return f
	}
	if limit.Cur == unix.RLIM_INFINITY {
		return f
	}
	f.Detail = fmt.Sprintf("%d MiB for one process", limit.Cur>>20)
	if good := uint64(limits.AddressSpaceBytes()) + spaceGood; limit.Cur < good {
		f.Level = Less
		f.Remedy = fmt.Sprintf("raise it to %d MiB, or lift it (ulimit -v unlimited): gVisor and many libraries reserve much that they never use", good>>20)
	}
	return f
}

// namespaceLimits returns the commands that raise the limits on namespaces below proc, /proc/sys/user: those
// that are low, all where none is.
func namespaceLimits(proc string) []string {
	var low, all []string
	for _, kind := range []string{"user", "mnt", "pid", "net", "ipc", "uts"} {
		name := "max_" + kind + "_namespaces"
		text, err := os.ReadFile(filepath.Join(proc, name))
		if err != nil {
			continue
		}
		command := "sysctl -w user." + name + "=10000"
		all = append(all, command)
		if n, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil && n < namespacesGood {
			low = append(low, command+" (it is "+strconv.Itoa(n)+")")
		}
	}
	if len(low) > 0 {
		return low
	}
	return all
}

// shortOf names the findings that leave too little, "" for none.
func shortOf(findings []Finding) string {
	var names []string
	for _, f := range findings {
		if f.Level == Less || f.Level == Broken {
			names = append(names, f.Name)
		}
	}
	return strings.Join(names, ", ")
}
