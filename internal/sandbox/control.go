package sandbox

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Signal sends a signal to the process pid of the guest, as the guest numbers it.
// It takes about a millisecond: gVisor's control socket is asked directly. A runsc whose socket
// does not understand us is asked by its command instead, in some 25 ms. An
// answer that does not come within the host's deadline for commands is an error.
func (s *Sandbox) Signal(ctx context.Context, pid int, signal syscall.Signal) error {
	err := s.signalDirectly(ctx, pid, signal)
	if err == nil || ctx.Err() != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, commandDeadline)
	defer cancel()
	if commandErr := s.host.runsc.command(ctx, s.dir, "kill", "--pid", strconv.Itoa(pid), s.ID, strconv.Itoa(int(signal))); commandErr != nil {
		return errors.Join(err, commandErr)
	}
	return nil
}

func (s *Sandbox) signalDirectly(ctx context.Context, pid int, signal syscall.Signal) error {
	ctx, cancel := context.WithTimeout(ctx, commandDeadline)
	defer cancel()
	err := call(ctx, s.control, "containerManager.Signal", map[string]any{"CID": s.ID, "Signo": int(signal), "PID": pid, "Mode": 0})
	if err != nil {
		return fmt.Errorf("signal %v to process %d of a guest: %w", signal, pid, err)
	}
	return nil
}

// A refusal is what gVisor has answered to a call that it has understood.
type refusal string

// Error returns gVisor's words.
func (r refusal) Error() string { return string(r) }

// call speaks gVisor's control protocol (pkg/urpc): a JSON object there, with files as the socket passes
// them, and one back, over a Unix stream socket. An answer that is a refusal is that type.
func call(ctx context.Context, socket, method string, arg map[string]any, files ...*os.File) error {
	dialed, err := dial(ctx, socket)
	if err != nil {
		return fmt.Errorf("control socket of a guest: %w", err)
	}
	defer func() { _ = dialed.Close() }() // the answer is what counts
	stop := context.AfterFunc(ctx, func() { _ = dialed.Close() })
	defer stop()
	text, err := json.Marshal(map[string]any{"method": method, "arg": arg})
	if err == nil {
		err = sendWith(dialed, text, files)
	}
	var answer struct {
		Success bool   `json:"success"`
		Err     string `json:"err"`
	}
	if err == nil {
		err = json.NewDecoder(dialed).Decode(&answer)
	}
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("control socket of a guest: %w", ctx.Err())
	case err != nil:
		return fmt.Errorf("control socket of a guest: %w", err)
	case !answer.Success:
		return refusal(answer.Err)
	}
	return nil
}

// callEvery is how often it is looked whether a call has ended that nobody waits for.
const callEvery = 10 * time.Millisecond

// awaitCalls waits until the guest's gVisor is in no call, also of a process that was killed or has given it up: two
// images that are made at the same time end it (seen).
func (s *Sandbox) awaitCalls(ctx context.Context) error {
	for {
		busy, err := isInCall(filepath.Base(s.control))
		if err != nil || !busy {
			return err
		}
		if !wait(ctx, callEvery) {
			return fmt.Errorf("wait for an earlier call to a guest: %w", ctx.Err())
		}
	}
}

// What /proc/net/unix says of a socket that is no listening one, such as the end that gVisor has of a connection. It has the
// name of the listening one.
const (
	unixFlagsField = 3
	unixConnected  = "00000000"
)

// isInCall reports whether gVisor has a connection over a control socket of that name, which no other guest has.
func isInCall(name string) (bool, error) {
	table, err := os.Open("/proc/net/unix")
	if err != nil {
		return false, fmt.Errorf("look for calls to a guest: %w", err)
	}
	lines := bufio.NewScanner(table)
	found := false
	for !found && lines.Scan() {
		fields := strings.Fields(lines.Text())
		found = strings.HasSuffix(lines.Text(), "/"+name) && len(fields) > unixFlagsField && fields[unixFlagsField] == unixConnected
	}
	if err := errors.Join(lines.Err(), table.Close()); err != nil {
		return false, fmt.Errorf("look for calls to a guest: %w", err)
	}
	return found, nil
}

// socketPathBytes is how long the name of a socket may be (unix(7)), with the byte at its end.
const socketPathBytes = 108

// dial connects to a Unix socket, whose name may be longer than the system takes: gVisor makes such.
func dial(ctx context.Context, socket string) (net.Conn, error) {
	if len(socket) >= socketPathBytes {
		folder, err := os.Open(filepath.Dir(socket))
		if err != nil {
			return nil, err //nolint:wrapcheck // by call
		}
		defer func() { _ = folder.Close() }() // only looked into
		socket = fmt.Sprintf("/proc/self/fd/%d/%s", folder.Fd(), filepath.Base(socket))
	}
	var dialer net.Dialer
	return dialer.DialContext(ctx, "unix", socket) //nolint:wrapcheck // by call
}

// sendWith sends a text, and files with its first byte.
func sendWith(conn net.Conn, text []byte, files []*os.File) error {
	if len(files) == 0 {
		_, err := conn.Write(text)
		return err //nolint:wrapcheck // by call
	}
	socket, ok := conn.(*net.UnixConn)
	if !ok {
		return errors.New("no Unix socket") // of a network that is none
	}
	var numbers []int
	for _, f := range files {
		numbers = append(numbers, int(f.Fd()))
	}
	n, _, err := socket.WriteMsgUnix(text, syscall.UnixRights(numbers...), nil)
	if err == nil && n < len(text) {
		_, err = socket.Write(text[n:])
	}
	return err //nolint:wrapcheck // by call
}
