package sandbox_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"runpython/internal/extent"
	"runpython/internal/guesttest"
	"runpython/internal/kernel"
	"runpython/internal/sandbox"
)

// hostVariable makes this test binary a host that waits to be killed; it holds a hostOrder.
const hostVariable = "RUNPYTHON_TEST_HOST"

// A hostOrder is what of a Setup such a host is made of.
type hostOrder struct {
	Data, Runsc, Interpreter, Programs, Key string

	Rescue time.Duration // 0: no keeper
	Code   string        // that its guest runs, without end; "" for none
	Chats  []hostChat    // that have guests besides
}

// A hostChat is a chat of such a host.
type hostChat struct {
	Label, Code string
	Endless     bool // the code prints something and does not end
}

// waitToBeKilled is that host. It says on stdout when it has a guest and a full pool, and only
// returns when something goes wrong.
func waitToBeKilled(text string) error {
	var order hostOrder
	if err := json.Unmarshal([]byte(text), &order); err != nil {
		return err
	}
	config := sandbox.Config{
		Data: order.Data, Runsc: order.Runsc, Interpreter: order.Interpreter, HostTools: true, Pool: 1,
		Program: kernel.Program(order.Programs, order.Key, guesttest.Limits()), Limits: guesttest.Limits(),
		Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	}
	if order.Rescue > 0 {
		config.Keeper, config.Rescue = []string{order.Runsc}, order.Rescue
	}
	h, err := sandbox.Open(context.Background(), config)
	if err != nil {
		return err
	}
	guest, err := h.Take(context.Background())
	if err != nil {
		return err
	}
	if order.Code != "" {
		if err := begin(guest, config, order.Key, hostChat{Code: order.Code, Endless: true}); err != nil {
			return err
		}
	}
	for _, c := range order.Chats {
		guest, err := h.Take(context.Background())
		if err == nil {
			err = begin(guest, config, order.Key, c)
		}
		if err != nil {
			return err
		}
	}
	for look := time.Tick(5 * time.Millisecond); h.Stats().Pooled < 1; {
		<-look
	}
	fmt.Println("ready")
	_, err = io.Copy(io.Discard, os.Stdin) // until killed, or the test has ended
	return fmt.Errorf("nobody has killed it: %w", err)
}

// begin lets the guest run the code of a chat and returns when it has ended or, if it is endless, printed something.
func begin(guest *sandbox.Sandbox, config sandbox.Config, key string, c hostChat) error {
	k, err := kernel.New(context.Background(), guest, kernel.Config{RunTimeout: time.Hour, Limits: config.Limits, Log: config.Log, Label: c.Label}, key)
	if err != nil {
		return err
	}
	printed, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		var once sync.Once
		_, err := k.Run(context.Background(), kernel.Request{
			Candidates: []kernel.Candidate{{Code: c.Code}},
			Output:     func(_, _ []byte) { once.Do(func() { close(printed) }) },
		})
		if err != nil || c.Endless {
			err = fmt.Errorf("the code has ended: %w", err)
		}
		ended <- err
	}()
	if !c.Endless {
		return <-ended
	}
	select {
	case <-printed:
		return nil
	case err := <-ended:
		return err
	}
}

// startHost starts such a process on the folder of s and returns when it has guests. Its keeper
// waits for the time; there is none for 0.
func startHost(t *testing.T, s *guesttest.Setup, rescue time.Duration, code string, chats ...hostChat) *exec.Cmd {
	t.Helper()
	order, err := json.Marshal(hostOrder{s.Config.Data, s.Config.Runsc, s.Config.Interpreter, s.Config.Program.Dir, s.Key, rescue, code, chats})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), hostVariable+"="+string(order))
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Close() })
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	buffer := make([]byte, 4096)
	for !strings.Contains(said.String(), "ready\n") {
		n, err := out.Read(buffer)
		said.Write(buffer[:n])
		if err != nil {
			t.Fatalf("the host ended: %v\n%s", err, said.String())
		}
	}
	return cmd
}

func kill9(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // says that it was killed
}

func TestKeeperRemovesTheGuestsOfAKilledHost(t *testing.T) {
	extent.Slow(t)
	s := guesttest.NewSetup(t)
	data := s.Config.Data
	host := startHost(t, s, time.Second, "")
	if len(guestProcesses(t, data)) == 0 {
		t.Fatal("the host has no guests")
	}
	kill9(t, host)
	await(t, "the keeper to remove the guests", func() bool { return len(guestProcesses(t, data)) == 0 && isEmpty(t, data+"/run") })
}

// Who removes the folder of a killed host does not get rid of its guests, which nobody would find any more.
func TestKeeperEndsGuestsWhoseFolderIsGone(t *testing.T) {
	extent.Slow(t)
	s := guesttest.NewSetup(t)
	data := s.Config.Data
	host := startHost(t, s, time.Hour, "")
	if len(guestProcesses(t, data)) == 0 {
		t.Fatal("the host has no guests")
	}
	kill9(t, host)
	await(t, "the folder to be removed", func() bool { return os.RemoveAll(data+"/run") == nil })
	await(t, "the keeper to end the guests", func() bool { return len(guestProcesses(t, data)) == 0 })
}

// No limit is held by anybody once the host is killed, so its guests stand still at once: until
// then code could take all the memory and processors of the machine.
func TestGuestsOfAKilledHostStandStill(t *testing.T) {
	extent.Long(t)
	s := guesttest.NewSetup(t)
	data := s.Config.Data
	host := startHost(t, s, time.Hour, "import os\nfor _ in range(2): os.fork()\nprint('computes', flush=True)\nwhile True: pass")
	guests := guestProcesses(t, data)
	if !anyRuns(t, guests) {
		t.Fatal("the guest does not compute")
	}
	found := keepers(t, data+"/run/")
	kill9(t, host)
	await(t, "the guests to stand still", func() bool { return !anyRuns(t, guests) })
	before := processorTicks(t, guests)
	hold := time.NewTimer(time.Second)
	<-hold.C // the time over which is measured
	if used := processorTicks(t, guests) - before; used > 2 {
		t.Errorf("the guests of a killed host used %d ticks of 10 ms in a second; want 0, 2 at most", used)
	}
	if left := guestProcesses(t, data); len(left) != len(guests) {
		t.Errorf("processes %v of guests; want %v, to be rescued", left, guests)
	}
	if err := sandbox.RemoveDead(data); err != nil {
		t.Fatal(err)
	}
	if left := guestProcesses(t, data); len(left) != 0 || !isEmpty(t, data+"/run") {
		t.Errorf("processes are left: %v", left)
	}
	if len(found) != 1 {
		t.Fatalf("keepers %v; want one", found)
	}
	await(t, "the keeper to see that nothing is left", func() bool { return len(keepers(t, data+"/run/")) == 0 })
}

func TestNextHostRemovesTheGuestsOfAKilledHost(t *testing.T) {
	extent.Long(t)
	s := guesttest.NewSetup(t)
	dead, living := startHost(t, s, 0, ""), startHost(t, s, 0, "")
	before := len(guestProcesses(t, s.Config.Data))
	kill9(t, dead)
	s.Config.Pool = 0
	s.Open(t)
	if after := len(guestProcesses(t, s.Config.Data)); after == 0 || after >= before {
		t.Errorf("%d processes before, %d after; want those of the living host alone", before, after)
	}
	kill9(t, living)
	if err := sandbox.RemoveDead(s.Config.Data); err != nil {
		t.Fatal(err)
	}
	if left := guestProcesses(t, s.Config.Data); len(left) != 0 {
		t.Errorf("processes are left: %v", left)
	}
}

func isEmpty(t *testing.T, dir string) bool {
	t.Helper()
	entries, err := os.ReadDir(dir)
	return err == nil && len(entries) == 0
}
