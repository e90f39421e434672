package console

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// Bounds of what a Status shows and keeps.
const (
	tailLines    = 8        // lines of output under way that are shown
	maxKeptBytes = 64 << 10 // of the output under way, the newest
	redraw       = 100 * time.Millisecond
	quiet        = 2 // redraws that pass before the first, so that quick runs show nothing
)

// A Status shows on a terminal that something is going on: a word, the time it
// takes and the last lines of output. All that is erased when it stops, since the
// whole output is then shown in its final form. Its methods may be called from
// several goroutines, but Start not again before Stop.
type Status struct {
	size func() (width, height int) // nil: nothing is ever drawn

	mu     sync.Mutex // guards what follows, and the order of writes to out
	out    io.Writer
	under  io.Writer // takes what is written instead of out, if not nil
	step   string
	began  time.Time
	ticks  int
	drawn  int // lines on the screen that are ours
	paused bool
	kept   []byte
	stop   chan struct{}
	ticker sync.WaitGroup
}

// NewStatus returns a Status that draws on out, a terminal of that size. With a
// nil size it draws nothing and only keeps output.
func NewStatus(out io.Writer, size func() (width, height int)) *Status {
	return &Status{out: out, size: size}
}

// Start begins to show step. Stop must follow.
func (s *Status) Start(step string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.step, s.began, s.ticks, s.kept = step, time.Now(), 0, nil
	if s.size == nil {
		return
	}
	stop := make(chan struct{})
	s.stop = stop
	s.ticker.Go(func() { s.tick(stop) })
}

// Step changes the word that is shown.
func (s *Status) Step(step string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.step = step
}

// Output takes what a run has just printed.
func (s *Status) Output(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept = append(s.kept, text...)
	if over := len(s.kept) - maxKeptBytes; over > 0 {
		for over < len(s.kept) && !utf8.RuneStart(s.kept[over]) {
			over++
		}
		s.kept = append([]byte(nil), s.kept[over:]...)
	}
}

// Pause erases what is shown until Resume: somebody else uses the terminal.
func (s *Status) Pause() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
	s.paused = true
}

// Resume undoes Pause.
func (s *Status) Resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paused = false
}

// Stop erases what is shown, if anything is, and returns the newest output that Output took, for
// a run whose final form never comes.
func (s *Status) Stop() (output string) {
	s.mu.Lock()
	s.erase()
	stop := s.stop
	s.stop = nil
	output = string(s.kept)
	s.mu.Unlock()
	if stop != nil {
		close(stop)
		s.ticker.Wait()
	}
	return output
}

// Write writes p above what is shown, for messages and the log.
func (s *Status) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.under != nil {
		return s.under.Write(p)
	}
	s.erase()
	return s.out.Write(p)
}

// Redirect hands what is written to w until it is called with nil: a line
// editor that has to keep its line below it.
func (s *Status) Redirect(w io.Writer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.under = w
}

// tick draws until stop is closed.
func (s *Status) tick(stop <-chan struct{}) {
	t := time.NewTicker(redraw)
	defer t.Stop()
	for {
		select {
		case <-stop:
			return
		case <-t.C:
			s.mu.Lock()
			if s.stop != nil {
				s.draw()
			}
			s.mu.Unlock()
		}
	}
}

// draw replaces what is shown. The caller holds mu.
func (s *Status) draw() {
	if s.ticks++; s.ticks < quiet || s.paused {
		return
	}
	width, height := s.size()
	lines := tail(s.kept, min(tailLines, height-2))
	spinner := `|/-\`[s.ticks%4]
	lines = append(lines, fmt.Sprintf("%c %s %.1fs", spinner, s.step, time.Since(s.began).Seconds()))
	for i := range lines {
		lines[i] = cut(strings.ReplaceAll(lines[i], "\t", "    "), width-1)
	}
	var b strings.Builder
	b.WriteString(s.eraser())
	b.WriteString(strings.Join(lines, "\r\n"))
	_, _ = io.WriteString(s.out, b.String()) // a terminal that is gone needs no status
	s.drawn = len(lines)
}

// erase removes what is shown. The caller holds mu.
func (s *Status) erase() {
	if s.drawn > 0 {
		_, _ = io.WriteString(s.out, s.eraser()) // as in draw
		s.drawn = 0
	}
}

// eraser moves to where the shown lines begin and clears from there.
func (s *Status) eraser() string {
	if s.drawn == 0 {
		return ""
	}
	return "\r" + strings.Repeat("\x1b[A", s.drawn-1) + "\x1b[J"
}

// tail returns the last n lines of output as they may be shown.
func tail(output []byte, n int) []string {
	const enough = 8 << 10 // more does not fit into the lines that are shown
	if len(output) > enough {
		output = output[len(output)-enough:]
	}
	text := strings.TrimRight(Clean(string(output)), "\n")
	if text == "" || n <= 0 {
		return nil
	}
	lines := strings.Split(text, "\n")
	return lines[max(0, len(lines)-n):]
}
