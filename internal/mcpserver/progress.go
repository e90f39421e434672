package mcpserver

import (
	"cmp"
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
	maxNotes         = 2000      // notifications of a call; after them only how long it has taken, each progressPulse
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

// A noter says in a line what a turn does. Output comes in pieces; a line counts when it
// is complete. It is used by one goroutine at a time.
type noter struct{ stdout, stderr lastLine }

// note returns the last line that a report completes, or its step; "" if there is nothing
// new to say.
func (n *noter) note(p chat.Progress) string {
	if p.Stdout == "" && p.Stderr == "" {
		return p.Step
	}
	printed := n.stdout.add(p.Stdout)
	line := cmp.Or(n.stderr.add(p.Stderr), printed)
	if len(line) > maxNoteLine {
		line = strings.ToValidUTF8(line[:maxNoteLine], "") + "…"
	}
	return visible(line)
}

// A lastLine puts lines together: it holds the beginning of the one that is not complete.
type lastLine struct{ begun string }

// add returns the last line with text in it that a piece completes, or "".
func (l *lastLine) add(piece string) (line string) {
	for {
		end := strings.IndexAny(piece, "\r\n")
		part := piece
		if end >= 0 {
			part = piece[:end]
		}
		if room := maxNoteLine + 1 - len(l.begun); room > 0 { // one more than is shown
			l.begun += part[:min(room, len(part))]
		}
		if end < 0 {
			return line
		}
		if text := strings.TrimSpace(l.begun); text != "" {
			line = text
		}
		l.begun, piece = "", piece[end+1:]
	}
}
