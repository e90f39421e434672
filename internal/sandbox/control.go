package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"
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
	return errors.Join(err, s.host.runsc.command(ctx, s.dir, "kill", "--pid", strconv.Itoa(pid), s.ID, strconv.Itoa(int(signal))))
}

// signalDirectly speaks gVisor's control protocol (pkg/urpc): a JSON object there
// and one back, over a Unix stream socket.
func (s *Sandbox) signalDirectly(ctx context.Context, pid int, signal syscall.Signal) error {
	ctx, cancel := context.WithTimeout(ctx, commandDeadline)
	defer cancel()
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", s.control)
	if err != nil {
		return fmt.Errorf("control socket of a guest: %w", err)
	}
	defer func() { _ = conn.Close() }() // the answer is what counts
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	call := map[string]any{
		"method": "containerManager.Signal",
		"arg":    map[string]any{"CID": s.ID, "Signo": int(signal), "PID": pid, "Mode": 0},
	}
	if err := json.NewEncoder(conn).Encode(call); err != nil {
		return fmt.Errorf("control socket of a guest: %w", err)
	}
	var answer struct {
		Success bool   `json:"success"`
		Err     string `json:"err"`
	}
	if err := json.NewDecoder(conn).Decode(&answer); err != nil {
		return fmt.Errorf("control socket of a guest: %w", err)
	}
	if !answer.Success {
		return fmt.Errorf("signal %v to process %d of a guest: %s", signal, pid, answer.Err)
	}
	return nil
}
