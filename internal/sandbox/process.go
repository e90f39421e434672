package sandbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// descendants returns the children of pid, their children and so on.
func descendants(pid int) []int {
	var all []int
	for _, child := range children(pid) {
		all = append(append(all, child), descendants(child)...)
	}
	return all
}

// children returns the children of all threads of pid.
func children(pid int) []int {
	var all []int
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return nil // it has ended
	}
	for _, task := range tasks {
		list, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, task.Name()))
		if err != nil {
			continue // that thread has ended
		}
		for field := range strings.FieldsSeq(string(list)) {
			if child, err := strconv.Atoi(field); err == nil {
				all = append(all, child)
			}
		}
	}
	return all
}

// What gVisor calls its processes: all of them begin with the first.
const (
	runscName   = "runsc"
	sandboxName = "runsc-sandbox" // the one that is the guest's kernel
)

// processesNaming returns the processes whose name begins with name and whose command line names
// path. A guest's processes name the folder of the guest, which no other such process does.
func processesNaming(name, path string) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var found []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		command, err := os.ReadFile(filepath.Join("/proc", entry.Name(), "cmdline"))
		if err == nil && bytes.HasPrefix(command, []byte(name)) && bytes.Contains(command, []byte(path)) {
			found = append(found, pid)
		}
	}
	return found
}

// killProcesses ends all processes of guests below the folder path and waits for
// their end. A process that is ending has no command line any more, so those that
// were killed are remembered until they are gone.
func killProcesses(path string) error {
	path = strings.TrimSuffix(path, "/") + "/"
	killed, pending := map[int]bool{}, map[int]bool{}
	for deadline := time.Now().Add(endDeadline); ; pause() {
		found := processesNaming(runscName, path)
		for _, pid := range found {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
			killed[pid], pending[pid] = true, true
		}
		for pid := range pending {
			if reap(pid) {
				delete(pending, pid)
			}
		}
		if len(found) == 0 && len(pending) == 0 {
			break
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("processes %v of guests in %s do not end", slices.Collect(maps.Keys(pending)), path)
		}
	}
	var err error
	for pid := range killed {
		err = errors.Join(err, reapSession(pid, endDeadline))
	}
	return err
}

// orphanName is the kernel's name of what gVisor starts from its own program by
// way of /proc/self/exe. No process that we start and wait for has it.
const orphanName = "exe"

// reapOrphans takes the exit statuses of gVisor's processes that had ended before
// anybody looked for them: their parent, runsc, has ended too and they are ours. It
// leaves those in known alone, whose numbers somebody still uses.
func reapOrphans(known map[int]bool) {
	for _, pid := range children(os.Getpid()) {
		name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
		if err == nil && strings.TrimSpace(string(name)) == orphanName && !known[pid] && isZombie(pid) {
			reap(pid)
		}
	}
}

// pause waits a moment for something of which the kernel tells no end.
func pause() { time.Sleep(pollEvery) } //nolint:forbidigo // no event to wait for

// pollEvery is how often something is looked at for which the kernel offers no event.
const pollEvery = 2 * time.Millisecond

// awaitEnd waits until the killed process pid is gone, reaping it if it is our child.
func awaitEnd(pid int, limit time.Duration) error {
	if pid <= 0 {
		return nil
	}
	deadline := time.Now().Add(limit)
	for !reap(pid) {
		if time.Now().After(deadline) {
			return fmt.Errorf("process %d does not end", pid)
		}
		pause()
	}
	return nil
}

// reap reports whether nothing is left of pid. If it is a child of ours its exit
// status is taken, which can be done only once its last thread has ended; the zombie of
// somebody else counts as gone. Guests become our children when this process
// is their subreaper.
func reap(pid int) bool {
	var status syscall.WaitStatus
	got, err := syscall.Wait4(pid, &status, syscall.WNOHANG, nil)
	switch {
	case got == pid:
		return true
	case err == nil: // ours, and not at its end
		return false
	default:
		return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) || isZombie(pid)
	}
}

// reapSession takes the exit statuses of all children of ours in the session, and
// waits for those that are ending. gVisor's process leads a session of its own;
// when it is killed its children become ours.
func reapSession(session int, limit time.Duration) error {
	for deadline := time.Now().Add(limit); ; pause() {
		left := 0
		for _, pid := range children(os.Getpid()) {
			if sessionOf(pid) == session {
				reap(pid)
				left++
			}
		}
		if left == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d processes of session %d do not end", left, session)
		}
	}
}

// sessionOf returns the session of a process, 0 when there is none.
func sessionOf(pid int) int {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := bytes.Cut(stat, []byte(") "))
	fields := bytes.Fields(rest) // state, parent, group, session
	if len(fields) < 4 {
		return 0
	}
	session, err := strconv.Atoi(string(fields[3]))
	if err != nil {
		return 0
	}
	return session
}

func isZombie(pid int) bool {
	state := processState(fmt.Sprintf("/proc/%d/stat", pid))
	return state == 'Z' || state == 'X'
}

// stopFamily makes the guest whose kernel is the process pid stand still, and returns what it
// has stopped, in that order. Stopping gVisor's own process is not enough (measured: a thread
// that computes goes on), so those of its children are stopped as well that run just
// then: the others wait for gVisor, and stopping them too makes going on slower by milliseconds.
func stopFamily(pid int) ([]int, error) {
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		return nil, fmt.Errorf("stop process %d: %w", pid, err)
	}
	stopped := []int{pid}
	// Until its last thread stands still gVisor may let a child go on.
	for range stopPolls {
		if standsStill(pid) {
			break
		}
		pause()
	}
	for _, child := range descendants(pid) {
		if isRunning(child) && syscall.Kill(child, syscall.SIGSTOP) == nil { // else it has ended
			stopped = append(stopped, child)
		}
	}
	return stopped, nil
}

// stopPolls bounds the wait for a signal to reach all threads: 200 ms on an idle machine.
const stopPolls = 100

// standsStill reports whether all threads of pid are stopped, or it has ended.
func standsStill(pid int) bool {
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return true
	}
	for _, task := range tasks {
		switch processState(fmt.Sprintf("/proc/%d/task/%s/stat", pid, task.Name())) {
		case 'T', 't', 'Z', 'X', 0:
		default:
			return false
		}
	}
	return true
}

// isRunning reports whether a thread of pid uses or wants a processor.
func isRunning(pid int) bool {
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return false // it has ended
	}
	for _, task := range tasks {
		if processState(fmt.Sprintf("/proc/%d/task/%s/stat", pid, task.Name())) == 'R' {
			return true
		}
	}
	return false
}

// processState returns the letter of the state in a stat file, 0 when there is none.
func processState(name string) byte {
	stat, err := os.ReadFile(name)
	if err != nil {
		return 0
	}
	_, rest, found := bytes.Cut(stat, []byte(") "))
	if !found || len(rest) == 0 {
		return 0
	}
	return rest[0]
}

func readJSON(name string, into any) error {
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}
