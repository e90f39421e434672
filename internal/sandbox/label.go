package sandbox

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// labelName is the file in a guest's folder that tells another process whose guest it is: a byte that says whether
// something runs in it, and a label as JSON.
const labelName = "label"

// What the first byte of it says.
const (
	labelIdle = ' '
	labelBusy = '!'
)

// A label is what is written there.
type label struct {
	Name string `json:"name"`
	PID  int    `json:"pid"`
}

// Label gives the guest a name by which Rescue finds it when this process has been killed. pid is its process that
// takes an interrupt, as the guest numbers it. Labelled anew, it has the new label only.
func (s *Sandbox) Label(name string, pid int) error {
	text, err := json.Marshal(label{name, pid})
	if err != nil {
		return fmt.Errorf("label of a guest: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	// Whoever reads it meanwhile, since this process was killed in here, finds the whole of either.
	draft, at := filepath.Join(s.dir, labelName+".new"), filepath.Join(s.dir, labelName)
	f, err := os.OpenFile(draft, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("label of a guest: %w", err)
	}
	_, err = f.Write(append([]byte{labelIdle}, text...))
	if err == nil {
		err = os.Rename(draft, at)
	}
	if err != nil {
		_ = f.Close() // nobody looks at it
		return fmt.Errorf("label of a guest: %w", err)
	}
	before := s.label
	s.label = f
	return closeAll(before)
}

// Busy notes whether code runs in the guest, for Rescue, which interrupts what does. It takes some microseconds.
func (s *Sandbox) Busy(is bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.label == nil {
		return
	}
	state := []byte{labelIdle}
	if is {
		state[0] = labelBusy
	}
	if _, err := s.label.WriteAt(state, 0); err != nil {
		s.host.config.Log.Warn("a guest's label", "guest", s.ID, "error", err)
	}
}

// readLabel reads what Label and Busy have written below dir. A guest without a label is os.ErrNotExist.
func readLabel(dir string) (l label, busy bool, err error) {
	text, err := os.ReadFile(filepath.Join(dir, labelName))
	if err != nil {
		return l, false, err //nolint:wrapcheck // names the file
	}
	if len(text) == 0 {
		return l, false, os.ErrNotExist
	}
	if err := json.Unmarshal(text[1:], &l); err != nil {
		return l, false, fmt.Errorf("label of a guest: %w", err)
	}
	return l, text[0] == labelBusy, nil
}
