package kernel

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"

	"runpython/internal/excerpt"
)

// Output is what a stream of a run carried: the first and the last part of it.
type Output struct {
	head    []byte
	tail    []byte
	Omitted int64 // bytes between the two that were not kept
}

// Text returns the output as valid UTF-8 of about most bytes, with a visible
// mark where bytes were left out of the middle.
func (o Output) Text(most int) string {
	if o.Omitted == 0 && len(o.head)+len(o.tail) <= most {
		return strings.ToValidUTF8(string(o.head)+string(o.tail), "\uFFFD")
	}
	head, tail := o.head, o.tail
	if o.Omitted == 0 { // one piece: cut it here
		head = slices.Concat(head, tail)
		tail = head
	}
	first := excerpt.Head(string(head[:min(len(head), most/2)]), most/2)
	last := excerpt.Tail(string(tail[max(0, len(tail)-most/2):]), most/2)
	left := o.Len() - int64(len(first)+len(last))
	return strings.ToValidUTF8(first, "\uFFFD") + excerpt.Mark(left) + strings.ToValidUTF8(last, "\uFFFD")
}

// Len returns the number of bytes that the stream carried.
func (o Output) Len() int64 { return int64(len(o.head)+len(o.tail)) + o.Omitted }

// collector keeps an Output while it grows, in bounded memory.
type collector struct {
	most int // bytes kept
	out  Output
	ring []byte // the last bytes, once the head is full
	next int    // where the ring goes on
	seen int64  // bytes that went into the ring
}

func (c *collector) add(data []byte) {
	if room := c.most/2 - len(c.out.head); room > 0 {
		n := min(room, len(data))
		c.out.head = append(c.out.head, data[:n]...)
		data = data[n:]
	}
	if len(data) == 0 {
		return
	}
	c.seen += int64(len(data))
	size := c.most / 2
	if len(data) >= size {
		data = data[len(data)-size:]
	}
	if room := size - len(c.ring); room > 0 { // it grows to its size first
		n := min(room, len(data))
		c.ring = append(c.ring, data[:n]...)
		c.next = len(c.ring) % size
		data = data[n:]
	}
	for len(data) > 0 {
		n := copy(c.ring[c.next:], data)
		c.next = (c.next + n) % size
		data = data[n:]
	}
}

// printed is how many bytes came.
func (c *collector) printed() int64 { return int64(len(c.out.head)) + c.seen }

// last returns a copy of the last n bytes, fewer if there are not so many without a gap.
func (c *collector) last(n int) []byte {
	var all []byte
	if c.seen == int64(len(c.ring)) { // nothing was left out
		all = slices.Concat(c.out.head, c.ring)
	} else {
		all = slices.Concat(c.ring[c.next:], c.ring[:c.next])
	}
	return all[max(0, len(all)-n):]
}

// take returns what was collected and begins anew.
func (c *collector) take() Output {
	out := c.out
	if c.seen > int64(len(c.ring)) {
		out.tail = append(append([]byte{}, c.ring[c.next:]...), c.ring[:c.next]...)
		out.Omitted = c.seen - int64(len(c.ring))
	} else {
		out.tail = c.ring
	}
	*c = collector{most: c.most}
	return out
}

// stream reads what a guest prints on one pipe, all the time.
type stream struct {
	file *os.File
	raw  syscall.RawConn

	reading sync.Mutex // held from a read until its bytes are collected; before mu

	mu   sync.Mutex // guards what follows
	run  *collector // of the run under way, nil between runs
	told int64      // bytes of it that were printed before the newest question
	late collector
	live func([]byte) // gets the first half of streamBytes of a run
}

// readBuffers are shared: a pipe that has nothing to read needs none.
var readBuffers = sync.Pool{New: func() any { b := make([]byte, 64<<10); return &b }}

func newStream(file *os.File) (*stream, error) {
	raw, err := file.SyscallConn()
	if err != nil {
		return nil, fmt.Errorf("output of a guest: %w", err)
	}
	return &stream{file: file, raw: raw, late: collector{most: lateBytes}}, nil
}

// pump reads until the pipe ends or is closed.
func (s *stream) pump() {
	for ended := false; !ended; {
		err := s.raw.Read(func(fd uintptr) bool {
			for {
				n, err := s.readOnce(int(fd))
				if err == nil && n > 0 {
					continue
				}
				ended = !errors.Is(err, syscall.EAGAIN)
				return ended // or wait for more
			}
		})
		if err != nil {
			return // closed
		}
	}
}

// readOnce collects what one read gives, without waiting.
func (s *stream) readOnce(fd int) (int, error) {
	buffer := readBuffers.Get().(*[]byte) //nolint:forcetypeassert // the pool holds nothing else
	defer readBuffers.Put(buffer)
	s.reading.Lock()
	defer s.reading.Unlock()
	for {
		n, err := syscall.Read(fd, *buffer)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if n > 0 {
			s.add((*buffer)[:n])
		}
		return n, err //nolint:wrapcheck // a plain errno
	}
}

func (s *stream) add(data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run == nil {
		s.late.add(data)
		return
	}
	if s.live != nil && s.run.out.Len() < streamBytes/2 {
		s.live(data)
	}
	s.run.add(data)
}

// begin makes what comes from now on the output of a run.
func (s *stream) begin(live func([]byte)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.run, s.told, s.live = &collector{most: streamBytes}, 0, live
}

// end returns the output of the run.
func (s *stream) end() Output {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.run.take()
	s.run, s.live = nil, nil
	return out
}

// takeLate returns what was printed while no run was under way.
func (s *stream) takeLate() Output {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.late.take()
}

// drainBytes is at least what a pipe can hold.
const drainBytes = 1 << 20

// drain collects what is in the pipe now: all that was written before a run ended, and no
// more than that much of what a thread prints without end.
func (s *stream) drain() {
	_ = s.raw.Control(func(fd uintptr) { // fails when closed: then there is nothing to read
		for total := 0; total < drainBytes; {
			n, err := s.readOnce(int(fd))
			if err != nil || n <= 0 {
				return
			}
			total += n
		}
	})
}
