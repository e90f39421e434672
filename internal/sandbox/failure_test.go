package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"runpython/internal/extent"
	"runpython/internal/fault"
	"runpython/internal/guesttest"
	"runpython/internal/sandbox"
)

// A umask that hides all from others hides nothing from the guest's user, who is not
// the owner of what is made for it.
func TestStartUnderAnyUmask(t *testing.T) {
	extent.Long(t)
	s := guesttest.NewSetup(t)
	before := syscall.Umask(0o077)
	defer syscall.Umask(before)
	k := s.Kernel(t, s.Open(t), 0)
	code := "import os\nopen('/work/w', 'w').close()\n[p for p in ['/', '/etc/passwd', '/etc/ssl', '/opt', '/opt/python/bin/python3', '/var', '/usr', '/proc/meminfo'] if not os.access(p, os.R_OK)]"
	if got := value(t, k, code); got != "[]" {
		t.Errorf("the guest's user cannot read %s", got)
	}
}

// Whatever a start that fails has come to, nothing is left of it, nor is it left unreaped.
func TestNoZombieStaysAfterFailedStarts(t *testing.T) {
	extent.Long(t)
	before := ownChildren(t)
	s := guesttest.NewSetup(t)
	h := s.Open(t)
	for after := 10 * time.Millisecond; after <= 130*time.Millisecond; after += 20 * time.Millisecond {
		ctx, cancel := context.WithTimeout(t.Context(), after)
		if guest, err := h.Take(ctx); err == nil {
			if err := guest.Close(); err != nil {
				t.Error(err)
			}
		}
		cancel()
	}
	s.Config.Interpreter = t.TempDir()
	if _, err := s.Open(t).Take(t.Context()); !isUnsupported(err) {
		t.Errorf("Take without an interpreter = %v; want unsupported", err)
	}
	if found := zombies(t, before); len(found) != 0 {
		t.Errorf("zombies: %q", found)
	}
	if left := guestProcesses(t, s.Config.Data); len(left) != 0 {
		t.Errorf("processes are left: %v", left)
	}
}

// However often a start is tried, its cause is told once.
func TestCauseOfAFailedStartIsToldOnce(t *testing.T) {
	s := guesttest.NewSetup(t)
	broken := filepath.Join(t.TempDir(), "runsc")
	if err := os.WriteFile(broken, []byte("#!/bin/sh\necho this is no gVisor >&2\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	s.Config.Runsc = broken
	var said bytes.Buffer
	s.Config.Log = slog.New(slog.NewTextHandler(&said, nil))
	_, err := s.Open(t).Take(t.Context())
	if !isUnsupported(err) {
		t.Fatalf("Take with a broken runsc = %v; want unsupported", err)
	}
	if n := strings.Count(err.Error()+said.String(), "this is no gVisor"); n != 1 {
		t.Errorf("the cause is told %d times, want once: %v\n%s", n, err, said.String())
	}
}

// A program that does nothing and says that it went well is no runsc.
func TestProgramThatIsNoRunsc(t *testing.T) {
	s := guesttest.NewSetup(t)
	s.Config.Runsc = "/bin/true"
	if _, err := s.Open(t).Take(t.Context()); !isUnsupported(err) || !strings.Contains(err.Error(), "it is no runsc") {
		t.Errorf("Take with /bin/true = %v; want unsupported, and that it is no runsc", err)
	}
}

// A limit that nobody has set is not missed.
func TestMissingGroupsOfWholeProcessors(t *testing.T) {
	limits := sandbox.DefaultLimits()
	for _, m := range sandbox.MissingGroups(limits) {
		if strings.Contains(m, "--cpus") {
			t.Errorf("with %v processors this is missed: %q", limits.CPUs, m)
		}
	}
}

// The numbers of a closed guest's processes may be somebody else's.
func TestClosedGuestIsLeftAlone(t *testing.T) {
	guest, err := guesttest.NewSetup(t).Open(t).Take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if held := guest.MemoryBytes(); held <= 0 {
		t.Errorf("a living guest holds %d bytes", held)
	}
	guest.Stop()
	if err := guest.Close(); err != nil {
		t.Fatal(err)
	}
	guest.Continue()
	guest.Stop()
	guest.Kill()
	if held := guest.MemoryBytes(); held != 0 {
		t.Errorf("a closed guest holds %d bytes", held)
	}
	if err := guest.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
}

// A keeper that is killed is started again, and is no reason to fail an orderly end.
func TestKeeperThatDies(t *testing.T) {
	before := ownChildren(t)
	s := guesttest.NewSetup(t)
	s.Config.Keeper, s.Config.Rescue = []string{s.Config.Runsc}, time.Second
	h, err := sandbox.Open(t.Context(), s.Config)
	if err != nil {
		t.Fatal(err)
	}
	first := keepers(t, h.Dir())
	if len(first) != 1 {
		t.Fatalf("keepers %v; want one", first)
	}
	kill(t, first[0])
	var second []int
	await(t, "another keeper", func() bool {
		second = keepers(t, h.Dir())
		return len(second) == 1 && second[0] != first[0]
	})
	kill(t, second[0])
	if err := h.Close(); err != nil {
		t.Errorf("Close without a keeper: %v", err)
	}
	if left := keepers(t, h.Dir()); len(left) != 0 {
		t.Errorf("keepers are left: %v", left)
	}
	if found := zombies(t, before); len(found) != 0 {
		t.Errorf("zombies: %q", found)
	}
}

// keepers returns the living keepers of a host's folder.
func keepers(t *testing.T, dir string) []int {
	t.Helper()
	names, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var found []int
	for _, name := range names {
		command, err := os.ReadFile(name)
		if err == nil && strings.HasPrefix(string(command), sandbox.KeeperName) && strings.Contains(string(command), dir) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
			found = append(found, pid)
		}
	}
	return found
}

func kill(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

// Close ends a start that is under way and waits for it, and the caller is told the truth.
func TestCloseDuringTake(t *testing.T) {
	s := guesttest.NewSetup(t)
	wrapper := filepath.Join(t.TempDir(), "runsc")
	script := "#!/bin/bash\n: > '" + wrapper + ".begun'\nexec -a runsc-waits sleep 600\n"
	if err := os.WriteFile(wrapper, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	s.Config.Runsc = wrapper
	h, err := sandbox.Open(t.Context(), s.Config)
	if err != nil {
		t.Fatal(err)
	}
	taken := make(chan error, 1)
	go func() {
		_, err := h.Take(context.Background())
		taken <- err
	}()
	await(t, "the start", func() bool { return exists(wrapper + ".begun") })
	if err := h.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	if exists(h.Dir()) {
		t.Errorf("%s is still there", h.Dir())
	}
	if stats := h.Stats(); stats.Failed != 0 {
		t.Errorf("%d starts failed; want none tried again", stats.Failed)
	}
	if err := <-taken; !isBusy(err) {
		t.Errorf("Take during Close = %v; want busy", err)
	}
	if _, err := h.Take(t.Context()); !isBusy(err) {
		t.Errorf("Take after Close = %v; want busy", err)
	}
	if left := folders(t, s.Config.Data, "run"); len(left) != 0 {
		t.Errorf("folders %v are left", left)
	}
}

func isBusy(err error) bool {
	kind, _ := fault.Shown(err)
	return kind == fault.Busy
}

// Guests that do not start are the machine's affair: the image is made once they do.
func TestImageIsMadeOnceGuestsStart(t *testing.T) {
	extent.Long(t)
	s := guesttest.NewSetup(t)
	wrapper := filepath.Join(t.TempDir(), "runsc")
	// The first start is the image's, the second the pool's, and so on.
	script := "#!/bin/bash\nif [[ \" $* \" == *' run '* ]]; then for n in 1 2 3 4 5; do mkdir '" + wrapper + ".'$n 2>/dev/null && break; done; " +
		"if [[ $n == [13] ]]; then exit 1; fi; fi\nexec -a runsc '" + s.Config.Runsc + "' \"$@\"\n"
	if err := os.WriteFile(wrapper, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	s.Config.Runsc, s.Config.Pool = wrapper, 1
	h := s.Open(t)
	for _, restored := range []int64{0, 0, 1} {
		await(t, "a full pool", func() bool { return h.Stats().Pooled == 1 })
		if stats := h.Stats(); stats.Restored != restored {
			t.Errorf("stats %+v; want %d restored", stats, restored)
		}
		guest, err := h.Take(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := guest.Close(); err != nil {
			t.Error(err)
		}
	}
}

// One failed restore may be bad luck; the image is given up after the second in a row.
func TestImageThatFails(t *testing.T) {
	extent.Long(t)
	s := guesttest.NewSetup(t)
	wrapper := filepath.Join(t.TempDir(), "runsc")
	script := "#!/bin/bash\nif [[ -e '" + wrapper + ".bad' && \" $* \" == *' restore '* ]]; then exit 1; fi\nexec -a runsc '" + s.Config.Runsc + "' \"$@\"\n"
	if err := os.WriteFile(wrapper, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	s.Config.Runsc, s.Config.Pool = wrapper, 1
	first := s.Open(t)
	await(t, "the image", func() bool { return first.Stats().Pooled == 1 })
	s.Config.Pool = 0
	h := s.Open(t)
	for i, step := range []struct{ bad, restored, kept bool }{
		{false, true, true}, {true, false, true}, {false, true, true}, {true, false, true}, {true, false, false}, {false, false, false},
	} {
		setBad(t, wrapper+".bad", step.bad)
		before := h.Stats().Restored
		guest, err := h.Take(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := h.Stats().Restored > before; got != step.restored {
			t.Errorf("step %d: restored = %v; want %v", i, got, step.restored)
		}
		if err := guest.Close(); err != nil {
			t.Error(err)
		}
		images, err := filepath.Glob(filepath.Join(s.Config.Data, "images", "*"))
		if err != nil || (len(images) == 1) != step.kept {
			t.Errorf("step %d: images %v, %v; want one: %v", i, images, err, step.kept)
		}
	}
}

func setBad(t *testing.T, name string, bad bool) {
	t.Helper()
	err := os.Remove(name)
	if bad {
		err = os.WriteFile(name, nil, 0o600)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
}

// Images and roots of other configurations go after a while, those in use never.
func TestUnusedFoldersAreRemoved(t *testing.T) {
	extent.Long(t)
	s := guesttest.NewSetup(t)
	long := time.Now().Add(-8 * 24 * time.Hour)
	age := func(path ...string) string {
		t.Helper()
		dir := filepath.Join(append([]string{s.Config.Data}, path...)...)
		if err := errors.Join(os.MkdirAll(dir, 0o700), os.Chtimes(dir, long, long)); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	old := []string{age("images", "old"), age("rootfs", "old"), age("rootfs", ".draft-1")}
	s.Config.Pool = 1
	h := s.Open(t)
	await(t, "the image", func() bool { return h.Stats().Pooled == 1 })
	for _, dir := range old {
		if exists(dir) {
			t.Errorf("%s is still there", dir)
		}
	}
	roots, images := folders(t, s.Config.Data, "rootfs"), folders(t, s.Config.Data, "images")
	if len(roots) != 1 || len(images) != 1 {
		t.Fatalf("roots %v, images %v; want one of each", roots, images)
	}
	root, image := age("rootfs", roots[0]), age("images", images[0])
	s.Kernel(t, h, 0)
	await(t, "a use of the image to be noted", func() bool {
		info, err := os.Stat(image)
		return err == nil && info.ModTime().After(long.Add(time.Hour))
	})
	s.Config.HostTools = false
	other := s.Open(t)
	await(t, "the image of another configuration", func() bool { return other.Stats().Pooled == 1 })
	if !exists(root) || !exists(image) {
		t.Errorf("the root or the image of a living host is gone")
	}
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

func folders(t *testing.T, path ...string) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// A folder of another configuration that cannot be removed is told as what it is: the image is there.
func TestRemovalThatFailsCostsNoImage(t *testing.T) {
	extent.Long(t)
	s := guesttest.NewSetup(t)
	stuck := filepath.Join(s.Config.Data, "images", "stuck")
	if err := os.MkdirAll(stuck, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount(stuck, stuck, "", syscall.MS_BIND, ""); err != nil {
		t.Skipf("this process may not mount: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(stuck, 0); err != nil {
			t.Error(err)
		}
	})
	long := time.Now().Add(-8 * 24 * time.Hour)
	if err := os.Chtimes(stuck, long, long); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	s.Config.Pool, s.Config.Log = 1, slog.New(slog.NewTextHandler(&said, nil))
	h := s.Open(t)
	await(t, "a full pool", func() bool { return h.Stats().Pooled == 1 })
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	if stats := h.Stats(); stats.Restored != 1 || !strings.Contains(said.String(), "remove unused images") || strings.Contains(said.String(), "no image") {
		t.Errorf("stats %+v, log:\n%s\nwant one restored, and that an image cannot be removed", stats, said.String())
	}
}

// The next host removes a killed host's control groups, wherever they are, and only those.
func TestRemoveDeadFindsGroupsElsewhere(t *testing.T) {
	const name = "testdead"
	scope := ""
	for _, root := range []string{"/sys/fs/cgroup/memory", "/sys/fs/cgroup"} {
		dir := filepath.Join(root, "runpython-test-scope")
		if os.Mkdir(dir, 0o750) == nil {
			scope = dir
			break
		}
	}
	if scope == "" {
		t.Skip("this process may not make control groups")
	}
	group, others := filepath.Join(scope, "runpython-"+name), filepath.Join(scope, "runpython-other")
	t.Cleanup(func() {
		for _, dir := range []string{group, others, scope} {
			if err := os.Remove(dir); err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Error(err)
			}
		}
	})
	data := t.TempDir()
	dir := filepath.Join(data, "run", name)
	if err := errors.Join(os.Mkdir(group, 0o750), os.Mkdir(filepath.Join(group, "g1"), 0o750), os.Mkdir(others, 0o750), os.MkdirAll(dir, 0o700),
		os.WriteFile(filepath.Join(dir, "lock"), nil, 0o600),
		os.WriteFile(filepath.Join(dir, "groups"), []byte(group+"\n"+others+"\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := sandbox.RemoveDead(data); err != nil {
		t.Fatal(err)
	}
	if exists(dir) || exists(group) || !exists(others) {
		t.Errorf("folder, group, another's group exist: %v, %v, %v; want the last alone", exists(dir), exists(group), exists(others))
	}
}

// A folder whose owner is just removing it gets nothing put into it.
func TestRemoveDeadMakesNothing(t *testing.T) {
	data := t.TempDir()
	empty, removing := filepath.Join(data, "run", "empty"), filepath.Join(data, "run", "removing")
	if err := errors.Join(os.MkdirAll(empty, 0o700), os.MkdirAll(filepath.Join(removing, "g1"), 0o700)); err != nil {
		t.Fatal(err)
	}
	if err := sandbox.RemoveDead(data); err != nil {
		t.Fatal(err)
	}
	if got := folders(t, data, "run"); !slices.Equal(got, []string{"removing"}) {
		t.Errorf("folders %v; want the one that is not empty", got)
	}
	if got := folders(t, removing); !slices.Equal(got, []string{"g1"}) {
		t.Errorf("its content is %v; want it as it was", got)
	}
}

// A data folder whose path gVisor cannot take is refused by name, before anything is made.
func TestDataFolderOfAStrangeName(t *testing.T) {
	for _, name := range []string{"a,b", "a:b"} {
		data := filepath.Join(t.TempDir(), name)
		if err := os.Mkdir(data, 0o700); err != nil {
			t.Fatal(err)
		}
		_, err := sandbox.Open(t.Context(), sandbox.Config{Data: data})
		if kind, text := fault.Shown(err); kind != fault.Unsupported || !strings.Contains(text, "--data") {
			t.Errorf("%q: %v, %s; want a refusal that names --data", name, kind, text)
		}
	}
}
