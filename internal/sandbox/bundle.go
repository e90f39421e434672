package sandbox

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Where a guest finds the folders of the host that are in a Config. Bytecode and
// tracebacks name them, never those of the host.
const (
	GuestPython   = "/opt/python"    // Config.Interpreter
	GuestPrograms = "/opt/runpython" // Program.Dir
	GuestPackages = "/opt/env"       // Sandbox.Environment; start.py knows it too
	GuestShared   = "/opt/shared"    // Preload.Dir, empty without one; start.py knows it too
)

// memoryName is the file in a guest's folder that is its /proc/meminfo.
const memoryName = "meminfo"

// Where other things are in the guest.
const (
	guestWork   = "/work"
	guestHome   = "/tmp"
	guestEgress = "/run/egress" // the socket of the host's proxy is in it; forwarder.py knows it too
)

// egressPort is where the guest's forwarder listens, on 127.0.0.1 of the guest.
const egressPort = 3128

// The folders of Sandbox.Egress and Sandbox.Environment in the folder of a guest.
const (
	egressName      = "egress"
	environmentName = "env"
)

// A mount, a process and a spec are the parts of an OCI runtime configuration
// (opencontainers/runtime-spec 1.0.0, config.md) that a guest needs.
type mount struct {
	Destination string   `json:"destination"`
	Type        string   `json:"type"`
	Source      string   `json:"source"`
	Options     []string `json:"options,omitempty"`
}

type process struct {
	User struct {
		UID int `json:"uid"`
		GID int `json:"gid"`
	} `json:"user"`
	Cwd             string              `json:"cwd"`
	Args            []string            `json:"args"`
	Env             []string            `json:"env"`
	NoNewPrivileges bool                `json:"noNewPrivileges"`
	Capabilities    map[string][]string `json:"capabilities"`
	Rlimits         []rlimit            `json:"rlimits"`
}

type rlimit struct {
	Type string `json:"type"`
	Hard uint64 `json:"hard"`
	Soft uint64 `json:"soft"`
}

type spec struct {
	Version  string `json:"ociVersion"`
	Hostname string `json:"hostname"`
	Root     struct {
		Path     string `json:"path"`
		Readonly bool   `json:"readonly"`
	} `json:"root"`
	Process process `json:"process"`
	Mounts  []mount `json:"mounts"`
	Linux   struct {
		Namespaces []map[string]string `json:"namespaces"`
	} `json:"linux"`
}

// initCapabilities are those with which the guest's first process begins: to become another user, to
// end processes of that user, to read and count that user's files, and to mount over the root, so
// that nobody gets a user namespace; this last one it gives up after that. The kernel, and with it all
// code of a chat, has none.
var initCapabilities = []string{"CAP_KILL", "CAP_SETGID", "CAP_SETUID", "CAP_DAC_READ_SEARCH", "CAP_SYS_ADMIN"}

// writeBundle writes the folder of a guest: its configuration and what it mounts alone.
func (h *Host) writeBundle(dir string, p Preload) error {
	folders := []string{"work", "state", environmentName}
	if h.config.Egress {
		folders = append(folders, egressName)
	}
	for _, name := range folders {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			return fmt.Errorf("folder of a guest: %w", err)
		}
	}
	// The guest's user is not the host's: it may write and read because everybody may.
	// The folder above is closed to others.
	if err := errors.Join(os.Chmod(filepath.Join(dir, "work"), 0o777), os.Chmod(filepath.Join(dir, environmentName), 0o755)); err != nil {
		return fmt.Errorf("folder of a guest: %w", err)
	}
	config, err := json.Marshal(h.spec(dir, p))
	if err != nil {
		return fmt.Errorf("configuration of a guest: %w", err)
	}
	memory := filepath.Join(dir, memoryName)
	return errors.Join(
		os.WriteFile(filepath.Join(dir, "config.json"), config, 0o600),
		os.WriteFile(memory, []byte(h.config.Limits.memoryInformation()), 0o444),
		os.Chmod(memory, 0o444), // whatever the umask is
	)
}

func (h *Host) spec(dir string, p Preload) spec {
	var s spec
	s.Version, s.Hostname = "1.0.0", "runpython"
	s.Root.Path, s.Root.Readonly = h.root.dir, true
	s.Process = process{
		Cwd:             "/",
		Args:            h.guestCommand(),
		Env:             h.guestEnvironment(),
		NoNewPrivileges: true,
		Capabilities: map[string][]string{
			"bounding": initCapabilities, "effective": initCapabilities, "permitted": initCapabilities,
		},
	}
	// The guest's first process would have the host's limit, which may be lower.
	files := uint64(h.config.Limits.OpenFiles)
	s.Process.Rlimits = []rlimit{{Type: "RLIMIT_NOFILE", Hard: files, Soft: files}}
	s.Mounts = h.mounts(dir)
	if p.Dir != "" {
		s.Mounts = append(s.Mounts, bind(p.Dir, GuestShared, "ro"))
	}
	for _, kind := range []string{"pid", "network", "ipc", "uts", "mount"} {
		s.Linux.Namespaces = append(s.Linux.Namespaces, map[string]string{"type": kind})
	}
	return s
}

// guestCommand is the command line of the guest's first process.
func (h *Host) guestCommand() []string {
	command := []string{GuestPython + "/bin/python3"}
	command = append(command, h.config.Program.Arguments...)
	command = append(command, h.config.Limits.arguments()...)
	if h.config.Egress {
		command = append(command, "egress="+strconv.Itoa(egressPort))
	}
	return command
}

func (h *Host) mounts(dir string) []mount {
	tmpfs := func(at string) mount {
		size := "size=" + strconv.FormatInt(h.config.Limits.tmpBytes(), 10)
		return mount{at, "tmpfs", "tmpfs", []string{"nosuid", "nodev", "mode=1777", size}}
	}
	mounts := []mount{
		{"/proc", "proc", "proc", nil},
		{"/dev", "tmpfs", "tmpfs", nil},
		{"/sys", "sysfs", "sysfs", []string{"nosuid", "noexec", "nodev", "ro"}},
		tmpfs("/dev/shm"),
		tmpfs("/tmp"),
		bind(h.config.Interpreter, GuestPython, "ro"),
		bind(h.config.Program.Dir, GuestPrograms, "ro"),
		bind(filepath.Join(dir, "work"), guestWork, "rw"),
		bind(filepath.Join(dir, memoryName), "/proc/meminfo", "ro"),
		bind(cmp.Or(h.config.Environment, filepath.Join(dir, environmentName)), GuestPackages, "ro"),
	}
	if h.config.Egress {
		mounts = append(mounts, bind(filepath.Join(dir, egressName), guestEgress, "ro"))
	}
	for _, folder := range h.root.binds {
		mounts = append(mounts, bind(folder, folder, "ro"))
	}
	return mounts
}

func bind(source, destination, mode string) mount {
	return mount{destination, "bind", source, []string{"rbind", "nosuid", "nodev", mode}}
}

// guestEnvironment is the whole environment of a guest: nothing of the host's.
func (h *Host) guestEnvironment() []string {
	threads := strconv.Itoa(h.config.Limits.processors())
	environment := []string{
		"PATH=" + GuestPython + "/bin:" + GuestPackages + "/bin:" + GuestShared + "/bin:/usr/local/bin:/usr/bin:/bin",
		"HOME=" + guestHome,
		"TMPDIR=/tmp",
		"USER=user",
		"LOGNAME=user",
		"LANG=C.UTF-8",
		"LC_CTYPE=C.UTF-8",
		"PYTHONDONTWRITEBYTECODE=1",
		"PYTHONUTF8=1",
		"PYTHONUSERBASE=" + userBase,
		"MPLBACKEND=Agg",
		"SSL_CERT_FILE=" + certificatesPath,
		"OMP_NUM_THREADS=" + threads,
		"OPENBLAS_NUM_THREADS=" + threads,
		"MKL_NUM_THREADS=" + threads,
		"NUMEXPR_MAX_THREADS=" + threads,
	}
	if h.config.Egress {
		environment = append(environment, proxyEnvironment()...)
	}
	return environment
}

// proxyEnvironment tells clients of the way out. Some read the names in capitals, some the
// others; curl reads http_proxy only in small letters.
func proxyEnvironment() []string {
	proxy := "http://127.0.0.1:" + strconv.Itoa(egressPort)
	var environment []string
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
		environment = append(environment, name+"="+proxy, strings.ToLower(name)+"="+proxy)
	}
	const direct = "localhost,127.0.0.1,::1"
	return append(environment, "NO_PROXY="+direct, "no_proxy="+direct)
}
