package app_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/app"
	"runpython/internal/extent"
	"runpython/internal/fault"
	"runpython/internal/guesttest"
)

// What a limit of the machine stops is told by the name of that limit, with what to do, and not by what
// gVisor says when it runs into it.
func TestDoctorNamesTheLimit(t *testing.T) {
	extent.Long(t)
	binary, data := guesttest.Binary(t), t.TempDir()
	doctor := func(t *testing.T, limit string, arguments ...string) map[string][]string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", limit+` && exec "$0" "$@"`, binary,
			"--data", data, "--pool", "0", "--packages", "off", "doctor", "--json")
		cmd.Args = append(cmd.Args, arguments...)
		out, err := cmd.Output()
		if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || exit.ExitCode() != 3) {
			t.Fatalf("doctor: %v; want exit status 3\n%s", err, out)
		}
		var report struct {
			Checks []struct{ Name, Status, Detail, Remedy string }
		}
		if err := json.Unmarshal(out, &report); err != nil {
			t.Fatalf("doctor says %q: %v", out, err)
		}
		found := map[string][]string{}
		for _, c := range report.Checks {
			found[c.Name] = []string{c.Status, c.Remedy, c.Detail}
		}
		return found
	}
	for _, test := range []struct {
		name, limit       string
		arguments         []string
		check, level, say string
		guest, guestSays  string
	}{
		{"open files", "ulimit -n 64", nil, "open files", "fail", "ulimit -n", "skip", ""},
		{"address space", "ulimit -v 3000000", nil, "address space", "warn", "ulimit -v unlimited", "fail", "address space"},
		{"no runsc", "true", []string{"--runsc", "/bin/true"}, "a guest", "fail", "without --runsc /bin/true", "fail", "no runsc"},
	} {
		t.Run(test.name, func(t *testing.T) {
			found := doctor(t, test.limit, test.arguments...)
			if got := found[test.check]; len(got) == 0 || got[0] != test.level || !strings.Contains(got[1], test.say) {
				t.Errorf("%s: %q; want %s, and %q in the remedy", test.check, got, test.level, test.say)
			}
			if got := found["a guest"]; len(got) == 0 || got[0] != test.guest || !strings.Contains(got[1], test.guestSays) || strings.Contains(got[1], "seccomp") {
				t.Errorf("a guest: %q; want %s, and %q in the remedy", got, test.guest, test.guestSays)
			}
		})
	}
}

// A machine that lacks something is not a fault of the program.
func TestTooFewOpenFilesForAChat(t *testing.T) {
	extent.Long(t)
	binary := guesttest.Binary(t)
	for _, files := range []string{"10", "20", "30"} {
		cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", "ulimit -n "+files+` && exec "$0" "$@"`, binary, "--data", t.TempDir(), "chat", "1+1")
		out, err := cmd.CombinedOutput()
		if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 3 || !strings.Contains(string(out), "doctor") {
			t.Errorf("with %s open files: %v; want exit status 3 and the doctor to be named\n%s", files, err, out)
		}
	}
}

func TestLackingSaysWhatToDo(t *testing.T) {
	for errno, want := range map[syscall.Errno]string{
		syscall.ENOSPC: "disk of the data folder /d", syscall.EDQUOT: "disk of the data folder /d",
		syscall.EMFILE: "ulimit -n", syscall.ENFILE: "fs.file-max", syscall.EAGAIN: "ulimit -u",
	} {
		kind, shown := fault.Shown(app.Lacking(&os.PathError{Op: "open", Path: "/x", Err: errno}, "/d"))
		if kind != fault.Unsupported || !strings.Contains(shown, want) {
			t.Errorf("Lacking(%v) = %v, %q; want unsupported, with %q", errno, kind, shown, want)
		}
	}
	told := fault.New(fault.Unsupported, syscall.ENOSPC, "Python needs 192 MiB")
	if _, shown := fault.Shown(app.Lacking(told, "/d")); shown != told.Message {
		t.Errorf("Lacking of what is told already = %q; want %q", shown, told.Message)
	}
	if kind, _ := fault.Shown(app.Lacking(errors.New("a bug"), "/d")); kind != fault.Internal {
		t.Errorf("Lacking of a bug is %v; want internal", kind)
	}
}

func TestFullDisk(t *testing.T) {
	if f := app.Disk("/proc"); f.Level != app.Broken || !strings.Contains(f.Remedy, "--data") {
		t.Errorf("a disk without room: %+v; want it broken, with another folder as the remedy", f)
	}
	if f := app.Disk(filepath.Join(t.TempDir(), "not", "made")); f.Level == app.Broken {
		t.Errorf("a disk with room: %+v", f)
	}
}

func TestThreadsLeft(t *testing.T) {
	for _, test := range []struct {
		limit, used int64
		want        app.Level
	}{{20, 7, app.Broken}, {10, 30, app.Broken}, {60, 7, app.Less}, {1000, 900, app.Less}, {4096, 100, app.Fine}} {
		f := app.ThreadsLeft(test.limit, test.used)
		if f.Level != test.want || (f.Level != app.Fine) != strings.Contains(f.Remedy, "ulimit -u") {
			t.Errorf("ThreadsLeft(%d, %d) = %+v; want level %v, and ulimit -u in the remedy", test.limit, test.used, f, test.want)
		}
	}
}

func TestNamespaceLimits(t *testing.T) {
	proc := t.TempDir()
	set := func(kind string, n int) {
		if err := os.WriteFile(filepath.Join(proc, "max_"+kind+"_namespaces"), []byte(strconv.Itoa(n)+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	set("user", 30000)
	set("net", 30000)
	want := []string{"sysctl -w user.max_user_namespaces=10000", "sysctl -w user.max_net_namespaces=10000"}
	if diff := cmp.Diff(want, app.NamespaceLimits(proc)); diff != "" {
		t.Errorf("with none low (-want +got):\n%s", diff)
	}
	set("net", 3)
	if diff := cmp.Diff([]string{"sysctl -w user.max_net_namespaces=10000 (it is 3)"}, app.NamespaceLimits(proc)); diff != "" {
		t.Errorf("with one low (-want +got):\n%s", diff)
	}
}
