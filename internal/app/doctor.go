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
	findings = append(findings, spaces, groups(limitsOf(c)), disk(c.Data), openFiles(), shown())
	python := unpacked(ctx, c.Data)
	findings = append(findings, python)
	if spaces.Level == Broken || python.Level == Broken {
		return append(findings, Finding{Name: "a guest", Level: Unknown, Detail: "not tried, because of the above"})
	}
	return append(findings, packages(ctx, c, build), tryGuest(ctx, c, build))
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
	if os.Geteuid() != 0 {
		f.Name, f.Detail = "user namespaces", "user and mount namespaces work, as an ordinary user"
	}
	err := sandbox.TryNamespaces(ctx, program, "version")
	if err == nil {
		return f
	}
	f.Level, f.Detail = Broken, err.Error()
	f.Remedy = "allow them: " + strings.Join(namespaceRemedies(), "; ")
	return f
}

// namespaceRemedies names the settings of this system that forbid namespaces.
func namespaceRemedies() []string {
	var all []string
	for _, s := range []struct{ file, bad, say string }{
		{"/proc/sys/kernel/unprivileged_userns_clone", "0", "sysctl -w kernel.unprivileged_userns_clone=1"},
		{"/proc/sys/user/max_user_namespaces", "0", "sysctl -w user.max_user_namespaces=10000"},
		{"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1", "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"},
	} {
		if value, err := os.ReadFile(s.file); err == nil && strings.TrimSpace(string(value)) == s.bad {
			all = append(all, s.say)
		}
	}
	if containerKind() != "" {
		all = append(all, "start the container with --security-opt seccomp=unconfined --security-opt apparmor=unconfined")
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

const (
	// diskNeeded is what the interpreter, an image and a few chats take.
	diskNeeded = 1 << 30
	filesGood  = 4096
)

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
	if unix.Access(dir, unix.W_OK) != nil {
		f.Level, f.Detail, f.Remedy = Broken, dir+" is not writable", "make it writable, or choose another folder with --data"
	} else if free < diskNeeded {
		f.Level, f.Remedy = Less, "free some space, or choose another folder with --data: 1 GiB is comfortable"
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
	f.Detail = fmt.Sprintf("%d for this process", limit.Max)
	if limit.Max < filesGood {
		f.Level, f.Remedy = Less, "raise it (ulimit -n 65536, LimitNOFILE= in systemd): each living chat takes three"
	}
	return f
}

// shown tells of what guests see of the host and programs expect.
func shown() Finding {
	f := Finding{Name: "shared data", Detail: "time zones and certificates are there"}
	var missing []string
	for name, files := range map[string][]string{
		"time zones (tzdata)":            {"/usr/share/zoneinfo/UTC"},
		"certificates (ca-certificates)": {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"},
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
		_, shown := fault.Shown(err)
		return fail(err, shown)
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

// tryGuest lets a guest evaluate 1+1, as a caller would.
func tryGuest(ctx context.Context, c config.Config, build Build) Finding {
	f := Finding{Name: "a guest"}
	c.Pool = 0
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
	f.Remedy = "the reason is above or in the detail; gVisor needs seccomp filters and ptrace (kernel.yama.ptrace_scope below 3), " +
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
