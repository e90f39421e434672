package sandbox_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"runpython/internal/extent"
	"runpython/internal/fault"
	"runpython/internal/guesttest"
	"runpython/internal/kernel"
	"runpython/internal/sandbox"
)

func TestMain(m *testing.M) {
	if order := os.Getenv(hostVariable); order != "" {
		fmt.Fprintln(os.Stderr, "the host that is to be killed:", waitToBeKilled(order))
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

// value runs code and returns its value.
func value(t *testing.T, k *kernel.Kernel, code string) string {
	t.Helper()
	r, err := k.Run(t.Context(), kernel.Request{Candidates: []kernel.Candidate{{Code: code}}})
	if err != nil {
		t.Fatalf("run %q: %v", code, err)
	}
	if r.Status != kernel.OK {
		t.Fatalf("run %q: %s, %+v, %s", code, r.Status, r.Error, r.Stderr.Text(1000))
	}
	if r.Value == nil {
		return ""
	}
	return r.Value.Text
}

func TestGuestOfThePoolIsRestoredAndUsedOnce(t *testing.T) {
	s := guesttest.NewSetup(t)
	s.Config.Pool = 2
	h := s.Open(t)
	await(t, "a full pool", func() bool { return h.Stats().Pooled == 2 })
	random := "import random, uuid, tempfile, secrets; (random.random(), uuid.uuid1().hex, next(tempfile._get_candidate_names()), secrets.token_hex(8))"
	first, second := s.Kernel(t, h, 0), s.Kernel(t, h, 0)
	if a, b := value(t, first, random), value(t, second, random); a == b {
		t.Errorf("two guests of one image draw the same: %s", a)
	}
	// ISO-03: nothing of one guest is in another.
	value(t, first, "secret = 1; open('/tmp/marker', 'w').write('A'); open('/work/w', 'w').write('A')")
	if got := value(t, second, "import os; (os.path.exists('/tmp/marker'), os.listdir('/work'), 'secret' in globals())"); got != "(False, [], False)" {
		t.Errorf("the other guest sees %s", got)
	}
	await(t, "a pool that is full again", func() bool { return h.Stats().Pooled == 2 })
	if stats := h.Stats(); stats.Restored < 4 || stats.Live != 4 {
		t.Errorf("stats %+v; want 4 restored and living", stats)
	}
}

// Guests that were started and those of the pool are alike. Init has given up the right to mount. Code gets no user namespace, not
// in the interpreter after one that has ended either, and finds the memory that it may use, by
// which libraries size their caches, where the C library looks.
func TestStartedAndRestoredGuestsAreAlike(t *testing.T) {
	extent.Long(t)
	const memory = "import os; os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE')"
	// To read what is the chat's, to end its processes, to become its user (capability.h: 2, 5, 6, 7).
	const capabilities = "[int(line.split()[1], 16) for line in open('/proc/1/status') if line.startswith(('CapPrm', 'CapEff'))]"
	const initKeeps = "[228, 228]"
	const unshare = "import ctypes; ctypes.CDLL(None).unshare(0x10000000)"
	s := guesttest.NewSetup(t)
	started := s.Kernel(t, s.Open(t), 0)
	s.Config.Pool = 1
	h := s.Open(t)
	await(t, "a full pool", func() bool { return h.Stats().Pooled == 1 })
	restored := s.Kernel(t, h, 0)
	if h.Stats().Restored == 0 {
		t.Error("no guest was restored")
	}
	for name, k := range map[string]*kernel.Kernel{"started": started, "restored": restored} {
		if got, want := value(t, k, memory), strconv.FormatInt(s.Config.Limits.MemoryBytes, 10); got != want {
			t.Errorf("a guest that was %s has %s bytes of memory; want %s", name, got, want)
		}
		if got := value(t, k, unshare); got != "-1" {
			t.Errorf("unshare in a guest that was %s gives %q; want -1", name, got)
		}
		if got := value(t, k, capabilities); got != initKeeps {
			t.Errorf("init in a guest that was %s may %s; want %s", name, got, initKeeps)
		}
		if _, err := k.Run(t.Context(), kernel.Request{Candidates: []kernel.Candidate{{Code: "import os; os._exit(3)"}}}); err != nil {
			t.Fatal(err)
		}
		if got := value(t, k, unshare); got != "-1" {
			t.Errorf("unshare in the next interpreter of a guest that was %s gives %q; want -1", name, got)
		}
	}
}

// await waits for something that happens in the background.
func await(t *testing.T, what string, ready func() bool) {
	t.Helper()
	deadline := time.NewTimer(time.Minute)
	defer deadline.Stop()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for !ready() {
		select {
		case <-look.C:
		case <-deadline.C:
			t.Fatalf("waited a minute for %s", what)
		}
	}
}

// Idle guests use no processor time, whatever their threads do (issue 3, item 6).
func TestIdleGuestsStandStill(t *testing.T) {
	extent.Long(t)
	s := guesttest.NewSetup(t)
	h := s.Open(t)
	busy := []string{
		"import threading, hashlib\ndef f():\n while 1: hashlib.pbkdf2_hmac('sha256', b'x', b'y', 10**8)\nthreading.Thread(target=f, daemon=True).start()",
		"import threading\ndef f():\n while 1: pass\nthreading.Thread(target=f, daemon=True).start()",
		"import threading, time\ndef f():\n while 1: time.sleep(0.001)\nthreading.Thread(target=f, daemon=True).start()",
		"x = 1",
	}
	for i := range 10 {
		value(t, s.Kernel(t, h, 0), busy[i%len(busy)])
	}
	pids := guestProcesses(t, s.Config.Data)
	if len(pids) < 20 {
		t.Fatalf("%d processes of ten guests", len(pids))
	}
	await(t, "the guests to stand still", func() bool { return !anyRuns(t, pids) })
	before := processorTicks(t, pids)
	hold := time.NewTimer(time.Second)
	<-hold.C // the time over which is measured
	// A tick is charged to whoever runs when it comes: that may be one who only looked after a signal. Of the
	// busy ones each would use a hundred.
	if used := processorTicks(t, pids) - before; used > 2 {
		t.Errorf("ten idle guests used %d ticks of 10 ms in a second; want 0, 2 at most", used)
	}
}

// guestProcesses returns the processes of guests below data, their children included.
func guestProcesses(t *testing.T, data string) []int {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	parents := map[int][]int{}
	var todo, found []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if fields := statFields(pid); fields != nil {
			parent, _ := strconv.Atoi(fields[1])
			parents[parent] = append(parents[parent], pid)
		}
		command, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		if strings.HasPrefix(string(command), "runsc") && strings.Contains(string(command), data) {
			todo = append(todo, pid)
		}
	}
	for len(todo) > 0 {
		pid := todo[0]
		todo = append(todo[1:], parents[pid]...)
		found = append(found, pid)
	}
	return found
}

// statFields returns the fields of /proc/PID/stat from the state on, nil when it is gone.
func statFields(pid int) []string {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	_, rest, _ := strings.Cut(string(data), ") ")
	return strings.Fields(rest)
}

func anyRuns(t *testing.T, pids []int) bool {
	t.Helper()
	for _, pid := range pids {
		tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
		for _, task := range tasks {
			data, err := os.ReadFile(task)
			if _, rest, found := strings.Cut(string(data), ") "); err == nil && found && rest[0] == 'R' {
				return true
			}
		}
	}
	return false
}

func processorTicks(t *testing.T, pids []int) int {
	t.Helper()
	total := 0
	for _, pid := range pids {
		if fields := statFields(pid); len(fields) > 12 {
			user, _ := strconv.Atoi(fields[11])
			system, _ := strconv.Atoi(fields[12])
			total += user + system
		}
	}
	return total
}

// What a guest was made of becomes our children when it ends; none stays as a zombie.
func TestNoZombieStays(t *testing.T) {
	extent.Slow(t)
	before := ownChildren(t)
	s := guesttest.NewSetup(t)
	h := s.Open(t)
	for _, code := range []string{"1", "import os; os.fork() or os.pause()"} {
		k := s.Kernel(t, h, time.Second)
		if _, err := k.Run(t.Context(), kernel.Request{Candidates: []kernel.Candidate{{Code: code}}}); err != nil {
			t.Fatal(err)
		}
		if err := k.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if found := zombies(t, before); len(found) != 0 {
		t.Errorf("zombies: %q", found)
	}
}

// zombies returns what is left of our children that have ended and were not waited
// for, but for those that were there before: other tests kill hosts, whose
// orphans become ours.
func zombies(t *testing.T, before []string) []string {
	t.Helper()
	var found []string
	for _, child := range ownChildren(t) {
		stat, err := os.ReadFile("/proc/" + child + "/stat")
		if err == nil && strings.Contains(string(stat), ") Z ") && !slices.Contains(before, child) {
			found = append(found, string(stat[:min(len(stat), 60)]))
		}
	}
	return found
}

// ownChildren returns the processes whose parent is this one.
func ownChildren(t *testing.T) []string {
	t.Helper()
	lists, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, list := range lists {
		if data, err := os.ReadFile(list); err == nil { // else that thread has ended
			found = append(found, strings.Fields(string(data))...)
		}
	}
	return found
}

// A start that fails is tried again, and counted.
func TestStartIsTriedAgain(t *testing.T) {
	s := guesttest.NewSetup(t)
	wrapper := filepath.Join(t.TempDir(), "runsc")
	script := "#!/bin/bash\nif mkdir '" + wrapper + ".once' 2>/dev/null; then echo no luck >&2; exit 1; fi\nexec -a runsc '" + s.Config.Runsc + "' \"$@\"\n"
	if err := os.WriteFile(wrapper, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	s.Config.Runsc = wrapper
	h := s.Open(t)
	if got := value(t, s.Kernel(t, h, 0), "6 * 7"); got != "42" {
		t.Errorf("value %s; want 42", got)
	}
	if stats := h.Stats(); stats.Failed != 1 || stats.Started != 1 {
		t.Errorf("stats %+v; want one failed and one started", stats)
	}
}

// RUN-02: what cannot work is told promptly, and leaves nothing.
func TestStartThatCannotWork(t *testing.T) {
	s := guesttest.NewSetup(t)
	s.Config.Runsc = "/does/not/exist"
	if _, err := sandbox.Open(t.Context(), s.Config); !isUnsupported(err) {
		t.Errorf("Open without runsc = %v; want unsupported", err)
	}
	s = guesttest.NewSetup(t)
	s.Config.Interpreter = t.TempDir()
	h := s.Open(t)
	if _, err := h.Take(t.Context()); !isUnsupported(err) {
		t.Errorf("Take without an interpreter = %v; want unsupported", err)
	}
	if left := guestProcesses(t, s.Config.Data); len(left) != 0 {
		t.Errorf("processes are left: %v", left)
	}
}

func isUnsupported(err error) bool {
	kind, _ := fault.Shown(err)
	return kind == fault.Unsupported
}

// A broken image is given up; guests are started instead.
func TestBrokenImage(t *testing.T) {
	extent.Long(t)
	s := guesttest.NewSetup(t)
	s.Config.Pool = 1
	first := s.Open(t)
	await(t, "the image", func() bool { return first.Stats().Pooled == 1 })
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	images, err := filepath.Glob(filepath.Join(s.Config.Data, "images", "*", "*.img"))
	if err != nil || len(images) == 0 {
		t.Fatalf("images %v, %v", images, err)
	}
	for _, name := range images {
		if err := os.WriteFile(name, []byte("rubbish"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.Config.Pool = 0
	if got := value(t, s.Kernel(t, s.Open(t), 0), "6 * 7"); got != "42" {
		t.Errorf("value %s; want 42", got)
	}
}

// RUN-03: a sick guest costs its run a bounded time, and no other guest anything.
func TestSickGuest(t *testing.T) {
	extent.Long(t)
	s := guesttest.NewSetup(t)
	h := s.Open(t)
	healthy, sick := s.Kernel(t, h, 0), s.Kernel(t, h, time.Second)
	value(t, sick, "import os")
	ended := make(chan *kernel.Result, 1)
	started := make(chan struct{}, 8)
	go func() {
		r, err := sick.Run(t.Context(), kernel.Request{
			Candidates: []kernel.Candidate{{Code: "print('begun', flush=True)\nwhile True: pass"}},
			Output:     func(_, _ []byte) { started <- struct{}{} },
		})
		if err != nil {
			t.Errorf("run: %v", err)
		}
		ended <- r
	}()
	<-started
	stopSandboxes(t, s.Config.Data, "STOP")
	if got := value(t, s.Kernel(t, h, 0), "6 * 7"); got != "42" {
		t.Errorf("a new guest beside the sick one: %s", got)
	}
	r := <-ended
	if r == nil || !r.Lost || r.Status != kernel.TimedOut || !strings.Contains(r.Stdout.Text(100), "begun") {
		t.Errorf("the sick guest's run: %+v; want lost at the time limit, with its output", r)
	}
	stopSandboxes(t, s.Config.Data, "CONT")
	if got := value(t, healthy, "6 * 7"); got != "42" {
		t.Errorf("a healthy guest beside the sick one: %s", got)
	}
}

// stopSandboxes signals gVisor's processes that exist now.
func stopSandboxes(t *testing.T, data, signal string) {
	t.Helper()
	for _, pid := range guestProcesses(t, data) {
		if command, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); err == nil && strings.HasPrefix(string(command), "runsc-sandbox") {
			if err := exec.CommandContext(t.Context(), "kill", "-"+signal, strconv.Itoa(pid)).Run(); err != nil {
				t.Logf("kill -%s %d: %v", signal, pid, err) // it has ended
			}
		}
	}
}
