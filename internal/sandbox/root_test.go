package sandbox_test

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"runpython/internal/extent"
	"runpython/internal/guesttest"
	"runpython/internal/sandbox"
)

// Without tools of the host there is nothing of it that code could start, also not what
// distributions keep beside their libraries.
func TestNoProgramsOfTheHostWithoutItsTools(t *testing.T) {
	if mixed := sandbox.MixedFolders(); len(mixed) > 0 {
		t.Skipf("on this host libraries and programs share %v", mixed)
	}
	s := guesttest.NewSetup(t)
	s.Config.HostTools = false
	k := s.Kernel(t, s.Open(t), 0)
	code := `
import ctypes, locale, os, sqlite3, ssl, zoneinfo
ctypes.CDLL("libc.so.6").getpid() > 0 or print("no C library")
locale.setlocale(locale.LC_ALL, "C.UTF-8")
kept = {"locale", "aarch64-linux-gnu", "x86_64-linux-gnu", "ld-linux-aarch64.so.1"}
[os.listdir(p) for p in ("/bin", "/usr/bin") if os.path.exists(p)] + sorted(set(os.listdir("/usr/lib")) - kept)`
	if got := value(t, k, strings.TrimSpace(code)); got != "[]" {
		t.Errorf("the guest sees of the host: %s", got)
	}
}

// A program that asks fontconfig for a font gets one that has the characters, by any name.
func TestFontsByName(t *testing.T) {
	extent.Slow(t)
	if _, err := os.Stat("/usr/bin/fc-match"); err != nil {
		t.Skip("this host has no fc-match, which guests would ask")
	}
	s := guesttest.NewSetup(t)
	k := s.Kernel(t, s.Open(t), 0)
	const own, ownMono = "WenQuanYi Micro Hei", "WenQuanYi Micro Hei Mono"
	sans, serif, mono := own, own, ownMono
	if _, err := os.Stat("/usr/share/fonts/truetype/dejavu/DejaVuSerif.ttf"); err == nil {
		sans, serif, mono = "DejaVu Sans", "DejaVu Serif", "DejaVu Sans Mono"
	}
	for pattern, want := range map[string]string{
		"sans-serif": sans, "sans": sans, "Arial": sans, "No Such Family": sans, "serif": serif, "Times New Roman": serif,
		"monospace": mono, "Courier New": mono,
		":lang=zh": own, ":lang=zh-tw": own, ":lang=ja": own, ":lang=ko": own, "sans-serif:lang=zh": own, "serif:lang=ja": own,
		"Noto Sans CJK SC": own, "SimHei": own, "MS Gothic": own, "Malgun Gothic": own, "Noto Sans Mono CJK JP": ownMono,
	} {
		code := "import subprocess\nr = subprocess.run(['fc-match', '-f', '%{family[0]}', '" + pattern + "'], capture_output=True, text=True)\nr.stdout + r.stderr"
		if got := value(t, k, code); got != "'"+want+"'" {
			t.Errorf("%s: %s; want %s", pattern, got, want)
		}
	}
}

// Root without CAP_SYS_ADMIN, as in most containers, runs guests as an ordinary user does.
func TestRootWithoutCapabilities(t *testing.T) {
	extent.Long(t)
	if sandbox.NeedsUserNamespace() {
		t.Skip("this process has not the capability that the test takes away")
	}
	s := guesttest.NewSetup(t)
	if err := exec.CommandContext(t.Context(), "unshare", "-Ur", "true").Run(); err != nil {
		t.Skipf("this system has no user namespaces: %v", err)
	}
	var apart sync.WaitGroup
	defer apart.Wait()
	apart.Go(func() {
		runtime.LockOSThread() // never unlocked: the thread ends with this function
		if err := dropSysAdmin(); err != nil {
			t.Errorf("drop a capability: %v", err)
			return
		}
		if !sandbox.NeedsUserNamespace() {
			t.Error("NeedsUserNamespace() = false without CAP_SYS_ADMIN; want true")
			return
		}
		if err := sandbox.TryNamespaces(t.Context(), s.Config.Runsc, "version"); err != nil {
			t.Errorf("TryNamespaces without CAP_SYS_ADMIN: %v", err)
		}
		cmd := exec.CommandContext(t.Context(), s.Config.Runsc, "--data", t.TempDir(), "--pool", "0", "chat", "```python\n1+1\n```")
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "2") {
			t.Errorf("chat without CAP_SYS_ADMIN: %v\n%s", err, out)
		}
	})
}

// dropSysAdmin takes the capability from this thread and from what it starts.
func dropSysAdmin() error {
	if err := unix.Prctl(unix.PR_CAPBSET_DROP, unix.CAP_SYS_ADMIN, 0, 0, 0); err != nil {
		return err
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData
	if err := unix.Capget(&header, &sets[0]); err != nil {
		return err
	}
	sets[0].Effective &^= 1 << unix.CAP_SYS_ADMIN
	sets[0].Permitted &^= 1 << unix.CAP_SYS_ADMIN
	return unix.Capset(&header, &sets[0])
}
