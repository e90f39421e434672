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

	// progressPulse is the longest time between two notifications: clients that wait
	// longer while there is progress, and for a minute without any, wait for code that
	// prints nothing (see docs/clients.md).
	progressPulse = 15 * time.Second

	maxNoteBytes     = 4 << 10   // of output in one notification
	maxProgressBytes = 256 << 10 // of output in all notifications of a call
	maxNotes         = 2000      // notifications of a call
	maxNoteLine      = 256       // of a line of output in the message of a task
)

// A progress passes what a turn reports on to the caller, slowed down and cut
// to what the caller can take. Turn never waits for the caller's network:
// report only collects, and a timer's goroutine sends.
type progress struct {
	send  func(message string, step float64) error
	began time.Time

	mu      sync.Mutex
	doing   string          // the last step reported
	step    string          // the same, "" once it has been sent
	output  strings.Builder // not yet sent, at most maxNoteBytes
	omitted int             // bytes of output that did not fit
	sent    int             // bytes of output sent
	notes   int             // notifications sent
	last    time.Time       // when the last one was
	armed   bool            // something is to be sent, or is being sent
	busy    bool            // it is being sent
	stopped bool
	timer   *time.Timer
	sending sync.WaitGroup // the timer's function while it runs
}

func newProgress(send func(message string, step float64) error) *progress {
	now := time.Now()
	return &progress{send: send, began: now, last: now}
}

// report takes in what a turn does. It does not block.
func (p *progress) report(r chat.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped || p.notes >= maxNotes {
		return
	}
	if r.Stdout == "" && r.Stderr == "" {
		p.step, p.doing = r.Step, r.Step
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

// arm sees to it that the timer soon ends. The caller holds p.mu.
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
	p.armed, p.busy = false, false
	switch {
	case err != nil:
		p.stopped = true // the caller is gone; the call itself learns it by its context
	case p.stopped:
	case p.step != "" || p.output.Len() > 0:
		p.arm()
	default:
		p.timer.Reset(progressPulse)
	}
}

// next takes the next notification. If there is one, the caller must call
// p.sending.Done after sending it.
func (p *progress) next() (message string, step int, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped || p.busy {
		return "", 0, false
	}
	message = p.collected()
	if message == "" {
		if rest := progressPulse - time.Since(p.last); rest > 0 {
			p.armed = false
			p.timer.Reset(rest)
			return "", 0, false
		}
		message = fmt.Sprintf("%s, %d s", p.doing, int(time.Since(p.began).Seconds()))
	}
	p.armed, p.busy, p.last = true, true, time.Now()
	p.notes++
	p.sending.Add(1)
	return message, p.notes, true
}

// collected takes what is to be sent, "" if that is nothing. The caller holds p.mu.
func (p *progress) collected() (message string) {
	message = p.step
	if p.output.Len() > 0 {
		message = visible(p.output.String())
		p.sent += p.output.Len()
		if p.omitted > 0 {
			message += fmt.Sprintf("\n… %d bytes left out", p.omitted)
		}
	}
	if message != "" {
		p.step, p.omitted = "", 0
		p.output.Reset()
	}
	return message
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

// progressNote says in a line what a turn does: its last line of output, or its step.
func progressNote(p chat.Progress) string {
	for _, output := range []string{p.Stderr, p.Stdout} {
		output = strings.TrimSpace(output)
		line := output[strings.LastIndexByte(output, '\n')+1:]
		if line == "" {
			continue
		}
		if len(line) > maxNoteLine {
			line = strings.ToValidUTF8(line[:maxNoteLine], "") + "…"
		}
		return visible(line)
	}
	return p.Step
}
