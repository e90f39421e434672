package mcpserver

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"runpython/internal/chat"
)

const (
	// progressEvery is the shortest time between two notifications, and between
	// the beginning of a call and its first one: a call that is quicker sends none.
	progressEvery = 100 * time.Millisecond

	maxNoteBytes     = 4 << 10   // of output in one notification
	maxProgressBytes = 256 << 10 // of output in all notifications of a call
	maxNotes         = 2000      // notifications of a call
)

// A progress passes what a turn reports on to the caller, slowed down and cut
// to what the caller can take. Turn never waits for the caller's network:
// report only collects, and a timer's goroutine sends.
type progress struct {
	send func(message string, step float64) error

	mu      sync.Mutex
	step    string          // the last step reported, "" once it has been sent
	output  strings.Builder // not yet sent, at most maxNoteBytes
	omitted int             // bytes of output that did not fit
	sent    int             // bytes of output sent
	notes   int             // notifications sent
	armed   bool            // the timer runs, or its function does
	stopped bool
	timer   *time.Timer
	sending sync.WaitGroup // the timer's function while it runs
}

func newProgress(send func(message string, step float64) error) *progress {
	return &progress{send: send}
}

// report takes in what a turn does. It does not block.
func (p *progress) report(r chat.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped || p.notes >= maxNotes {
		return
	}
	if r.Stdout == "" && r.Stderr == "" {
		p.step = r.Step
	}
	p.collect(r.Stdout)
	p.collect(r.Stderr)
	p.arm()
}

// collect keeps as much of s as a notification holds. The caller holds p.mu.
func (p *progress) collect(s string) {
	room := min(maxNoteBytes-p.output.Len(), maxProgressBytes-p.sent-p.output.Len())
	kept := s
	if len(kept) > room {
		kept = strings.ToValidUTF8(kept[:max(room, 0)], "")
	}
	p.output.WriteString(kept)
	p.omitted += len(s) - len(kept)
}

// arm starts the timer unless it runs. The caller holds p.mu.
func (p *progress) arm() {
	if p.armed {
		return
	}
	p.armed = true
	if p.timer == nil {
		p.timer = time.AfterFunc(progressEvery, p.tick)
		return
	}
	p.timer.Reset(progressEvery)
}

// tick sends what has been collected.
func (p *progress) tick() {
	message, step, ok := p.next()
	if !ok {
		return
	}
	defer p.sending.Done()
	err := p.send(message, float64(step))
	p.mu.Lock()
	defer p.mu.Unlock()
	p.armed = false
	if err != nil {
		p.stopped = true // the caller is gone; the call itself learns it by its context
		return
	}
	if !p.stopped && (p.step != "" || p.output.Len() > 0) {
		p.arm()
	}
}

// next takes the next notification. If there is one, the caller must call
// p.sending.Done after sending it.
func (p *progress) next() (message string, step int, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	message = p.step
	if p.output.Len() > 0 {
		message = visible(p.output.String())
		p.sent += p.output.Len()
		if p.omitted > 0 {
			message += fmt.Sprintf("\n… %d bytes left out", p.omitted)
		}
	}
	if p.stopped || message == "" || p.notes >= maxNotes {
		p.armed = false
		return "", 0, false
	}
	p.step, p.omitted = "", 0
	p.output.Reset()
	p.notes++
	p.sending.Add(1)
	return message, p.notes, true
}

// stop ends the notifications. When it returns, none is being sent.
func (p *progress) stop() {
	p.mu.Lock()
	p.stopped = true
	if p.timer != nil {
		p.timer.Stop()
	}
	p.mu.Unlock()
	p.sending.Wait()
}
