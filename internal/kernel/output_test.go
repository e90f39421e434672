package kernel

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCollectorKeepsBothEnds(t *testing.T) {
	for _, c := range []struct {
		name   string
		pieces []string
		want   string
		left   int64
	}{
		{"nothing", nil, "", 0},
		{"short", []string{"ab", "cd"}, "abcd", 0},
		{"exactly full", []string{"abcdefgh"}, "abcdefgh", 0},
		{"one too many", []string{"abcdefghi"}, "abcd|fghi", 1},
		{"byte by byte", strings.Split("abcdefghijklmnopqrstuvwxyz", ""), "abcd|wxyz", 18},
		{"one great piece", []string{strings.Repeat("x", 1000) + "wxyz"}, "xxxx|wxyz", 996},
		{"ring round and round", []string{"abcd", "efg", "hij", "klm", "no"}, "abcd|lmno", 7},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := collector{most: 8}
			for _, p := range c.pieces {
				k.add([]byte(p))
			}
			out := k.take()
			got := string(out.head) + string(out.tail)
			if c.left > 0 {
				got = string(out.head) + "|" + string(out.tail)
			}
			if got != c.want || out.Omitted != c.left {
				t.Errorf("kept %q, left out %d; want %q, %d", got, out.Omitted, c.want, c.left)
			}
			if again := k.take(); again.Len() != 0 {
				t.Errorf("after take there are %d bytes", again.Len())
			}
		})
	}
}

// OUT-04: whatever is left out is said, with its number of bytes.
func TestOutputTextMarksTheMiddle(t *testing.T) {
	k := collector{most: 100}
	k.add([]byte(strings.Repeat("ä", 500)))
	out := k.take()
	for _, most := range []int{10, 33, 100, 2000} {
		text := out.Text(most)
		if !utf8.ValidString(text) || strings.ContainsRune(text, utf8.RuneError) {
			t.Errorf("Text(%d) = %q: a character was cut", most, text)
		}
		if !strings.Contains(text, "bytes left out") {
			t.Errorf("Text(%d) = %q: does not say what is left out", most, text)
		}
	}
	whole := Output{head: []byte("abc"), tail: []byte("def")}
	if got := whole.Text(6); got != "abcdef" {
		t.Errorf("Text(6) = %q, want abcdef", got)
	}
	if got := whole.Text(4); !strings.HasPrefix(got, "ab\n… 2 bytes left out …\n") || !strings.HasSuffix(got, "ef") {
		t.Errorf("Text(4) = %q", got)
	}
}

func TestStreamSeparatesRunsFromWhatIsLate(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	s, err := newStream(r)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); s.pump() }()
	say := func(text string) {
		if _, err := w.WriteString(text); err != nil {
			t.Fatal(err)
		}
		s.drain()
	}
	say("early")
	var live bytes.Buffer
	s.begin(func(b []byte) { live.Write(b) })
	say("mine")
	if got := s.end(); got.Text(100) != "mine" || live.String() != "mine" {
		t.Errorf("the run printed %q, live %q; want mine", got.Text(100), live.String())
	}
	say(" late")
	late := s.takeLate()
	if got := late.Text(100); got != "early late" {
		t.Errorf("late output %q; want %q", got, "early late")
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	<-ended
}
