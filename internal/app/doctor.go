package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"runpython/internal/chat"
	"runpython/internal/config"
	"runpython/internal/fault"
	"runpython/internal/kernel/guest"
	"runpython/internal/sandbox"
	"runpython/internal/sandbox/interpreter"
)

// A Finding is the outcome of one of the doctor's checks.
type Finding struct {
	Name   string // two or three words
	Level  Level
	Detail string // what was found, one line
	Remedy string // what to do, unless Level is Fine
}

// Level says how bad a Finding is.
type Level int

// The levels.
const (
	Fine    Level = iota
	Less          // works, but less well
	Broken        // guests cannot run
	Unknown       // could not be examined
)

// doctorTimeout bounds the whole examination.
const doctorTimeout = 2 * time.Minute

// Doctor examines the machine: what guests need of it, each thing with its remedy,
// and at last a guest that evaluates 1+1. It uses the data folder as the program does.
func Doctor(ctx context.Context, c config.Config, build Build) []Finding {
	ctx, cancel := context.WithTimeout(ctx, doctorTimeout)
	defer cancel()
	findings := []Finding{container()}
	spaces := namespaces(ctx, build.Program)
	has := resources(c.Data, limitsOf(c))
	findings = append(append(findings, spaces, groups(limitsOf(c))), has...)
	findings = append(findings, shown(c.HostTools), model(ctx, c, build), unpacked(ctx, c.Data))
	if slices.ContainsFunc(findings, func(f Finding) bool { return f.Level == Broken }) {
		return append(findings, Finding{Name: "a guest", Level: Unknown, Detail: "not tried, because of the above"})
	}
	return append(findings, packages(ctx, c, build), preloaded(ctx, c, build), tryGuest(ctx, c, build, shortOf(has)))
}

// container tells whether this is a container and what of it stands in the way.
func container() Finding {
	f := Finding{Name: "container", Detail: "not in a container"}
	kind := containerKind()
	if kind == "" {
		return f
	}
	f.Detail = "inside " + kind
	status, _ := os.ReadFile("/proc/self/status")
	var hindering []string
	if statusField(status, "Seccomp") == "2" {
		hindering = append(hindering, "a seccomp filter")
	}
	if profile, err := os.ReadFile("/proc/self/attr/current"); err == nil {
		if p := strings.TrimSpace(string(bytes.TrimRight(profile, "\x00"))); p != "" && p != "unconfined" && p != "kernel" {
			hindering = append(hindering, "the AppArmor or SELinux profile "+p)
		}
	}
	if len(hindering) > 0 {
		f.Level = Less
		f.Detail += " with " + strings.Join(hindering, " and ") + ", which may forbid namespaces and mounts"
		f.Remedy = "if the checks below fail: docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined " +
			"--security-opt systempaths=unconfined, or in Kubernetes securityContext.seccompProfile.type=Unconfined and procMount=Unmasked"
	}
	return f
}

func containerKind() string {
	for file, kind := range map[string]string{"/.dockerenv": "Docker", "/run/.containerenv": "Podman"} {
		if _, err := os.Stat(file); err == nil {
			return kind
		}
	}
	if _, err := os.Stat("/var/run/secrets/kubernetes.io"); err == nil {
		return "Kubernetes"
	}
	first, _ := os.ReadFile("/proc/1/cgroup")
	for _, word := range []string{"docker", "kubepods", "containerd", "lxc"} {
		if bytes.Contains(first, []byte(word)) {
			return word
		}
	}
	return ""
}

func statusField(status []byte, name string) string {
	for line := range bytes.Lines(status) {
		if rest, ok := bytes.CutPrefix(line, []byte(name+":")); ok {
			return strings.TrimSpace(string(rest))
		}
	}
	return ""
}

// namespaces tries what every start of a guest does first.
func namespaces(ctx context.Context, program string) Finding {
	f := Finding{Name: "namespaces", Detail: "mount namespaces work, as root"}
	if sandbox.NeedsUserNamespace() {
		f.Name, f.Detail = "user namespaces", "user and mount namespaces work, as an ordinary user"
		if os.Geteuid() == 0 {
			f.Detail = "user and mount namespaces work, as root without CAP_SYS_ADMIN"
		}
	}
	err := sandbox.TryNamespaces(ctx, program, "version")
	if err == nil {
		return f
	}
	f.Level, f.Detail = Broken, err.Error()
	f.Remedy = "allow them: " + strings.Join(namespaceRemedies(), "; ")
	if errors.Is(err, sandbox.ErrNamespaceLimit) {
		f.Remedy = "raise the limit: " + strings.Join(namespaceLimits("/proc/sys/user"), "; ")
	}
	return f
}

// namespaceRemedies names the settings of this system that forbid namespaces.
func namespaceRemedies() []string {
	var all []string
	for _, s := range []struct{ file, bad, say string }{
		{"/proc/sys/kernel/unprivileged_userns_clone", "0", "sysctl -w kernel.unprivileged_userns_clone=1"},
		{"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1", "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"},
	} {
		if value, err := os.ReadFile(s.file); err == nil && strings.TrimSpace(string(value)) == s.bad {
			all = append(all, s.say)
		}
	}
	if containerKind() != "" {
		all = append(all, "start the container with --security-opt seccomp=unconfined --security-opt apparmor=unconfined")
	}
	if os.Geteuid() == 0 {
		all = append(all, "give root CAP_SYS_ADMIN, or CAP_SETFCAP for user namespaces (--cap-add), or run as another user")
	}
	if len(all) == 0 {
		all = append(all, "run as root, or ask the administrator of this machine for user namespaces")
	}
	return all
}

// groups tells which limits a control group holds.
func groups(limits sandbox.Limits) Finding {
	f := Finding{Name: "control groups", Detail: "version 1"}
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err == nil {
		f.Detail = "version 2"
	} else if _, err := os.Stat("/sys/fs/cgroup/memory"); err != nil {
		f.Detail = "none"
	}
	if missing := sandbox.MissingGroups(limits); len(missing) > 0 {
		f.Level = Less
		f.Detail += "; " + strings.Join(missing, "; ")
		f.Remedy = "nothing needs to be done: the memory limit is held by the server, whole processors by affinity"
		if limits.CPUs != math.Trunc(limits.CPUs) {
			f.Remedy = "for a fraction in --cpus run as a systemd service with Delegate=yes, or as root"
		}
	}
	return f
}

func openFiles() Finding {
	f := Finding{Name: "open files"}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		f.Level, f.Detail = Unknown, err.Error()
		return f
	}
	most, byMemory := livingKernels(idleKernelBytes), kernelsFor(ownMemoryBytes(), math.MaxInt64, idleKernelBytes)
	f.Detail = fmt.Sprintf("%d for this process, enough for %d living chats", limit.Cur, most)
	switch {
	case limit.Cur < filesLeast:
		f.Level = Broken
		f.Detail = fmt.Sprintf("%d for this process, too few for a guest", limit.Cur)
		f.Remedy = fmt.Sprintf("raise it (ulimit -n 65536, LimitNOFILE= in systemd): a guest needs %d", filesLeast)
	case most < byMemory:
		f.Level = Less
		f.Remedy = fmt.Sprintf("raise it (ulimit -n 65536, LimitNOFILE= in systemd): each living chat takes up to %d, and the memory is enough for %d chats", filesPerKernel, byMemory)
	}
	return f
}

// shown tells of what guests see of the host and programs expect.
func shown(hostTools bool) Finding {
	f := Finding{Name: "shared data", Detail: "time zones and certificates are there"}
	var missing []string
	for name, files := range map[string][]string{
		"time zones (tzdata)":            {"/usr/share/zoneinfo/UTC"},
		"certificates (ca-certificates)": sandbox.CertificateFiles(),
	} {
		found := false
		for _, file := range files {
			_, err := os.Stat(file)
			found = found || err == nil
		}
		if !found {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		f.Level, f.Detail = Less, "guests will lack "+strings.Join(missing, ", ")
		f.Remedy = "install the packages that are named"
	}
	if mixed := sandbox.MixedFolders(); !hostTools && len(mixed) > 0 {
		f.Level = Less
		f.Detail += "; without host tools guests still see programs of the host in " + strings.Join(mixed, " and ")
		f.Remedy = strings.TrimPrefix(f.Remedy+"; keep secrets out of these folders, in which this distribution has its libraries", "; ")
	}
	return f
}

// unpacked checks every byte of the interpreter, unpacking it first if need be.
func unpacked(ctx context.Context, data string) Finding {
	f := Finding{Name: "interpreter"}
	fail := func(err error, remedy string) Finding {
		f.Level, f.Detail, f.Remedy = Broken, err.Error(), remedy
		return f
	}
	if err := os.MkdirAll(data, 0o700); err != nil {
		return fail(err, "choose another folder with --data")
	}
	python, err := interpreter.Open(ctx, filepath.Join(data, "interpreter"), guest.Files())
	if err != nil {
		return fail(err, unpackRemedy(err, data))
	}
	f.Detail = "CPython " + python.Version + " in " + python.Home + ", every file as it should be"
	err = python.Verify(ctx)
	if closeErr := python.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fail(err, "remove "+filepath.Join(data, "interpreter")+": it is unpacked anew at the next start")
	}
	return f
}

// unpackRemedy says what to do when the interpreter cannot be unpacked. The doctor has no log
// that the words for an internal error could send anybody to.
func unpackRemedy(err error, data string) string {
	if kind, shown := fault.Shown(err); kind != fault.Internal {
		return shown
	}
	return "see that " + data + " is on a local disk with room, belongs to this user and allows programs to be started (no noexec), or choose another folder with --data"
}

// tryGuest lets a guest evaluate 1+1, as a caller would. short names what there is too little of.
func tryGuest(ctx context.Context, c config.Config, build Build, short string) Finding {
	f := Finding{Name: "a guest"}
	c.Pool, c.Preload = 0, nil // which was examined before
	begun := time.Now()
	err := evaluate(ctx, c, build)
	if err == nil {
		f.Detail = fmt.Sprintf("evaluates 1+1 on platform systrap, %d ms from nothing to its end", time.Since(begun).Milliseconds())
		return f
	}
	f.Level, f.Detail = Broken, err.Error()
	if c.Runsc != "" {
		f.Remedy = "try without --runsc " + c.Runsc + ", which may be no runsc, or one of another version"
		return f
	}
	if short != "" {
		f.Remedy = "first do what is said above under " + short
		return f
	}
	f.Remedy = "the reason is in the detail; gVisor needs seccomp filters and ptrace (kernel.yama.ptrace_scope below 3), " +
		"and a container must allow them (--security-opt seccomp=unconfined)"
	return f
}

func evaluate(ctx context.Context, c config.Config, build Build) (err error) {
	a, err := Open(ctx, c, slog.New(slog.DiscardHandler), build)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	reply, err := a.Turn(ctx, chat.Request{Message: "1+1"})
	if err != nil {
		return err
	}
	if len(reply.Runs) != 1 || reply.Runs[0].Value != "2" {
		return fmt.Errorf("1+1 gave %q", reply.Text)
	}
	return nil
}
