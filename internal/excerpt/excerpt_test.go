package excerpt_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"runpython/internal/excerpt"
)

func TestMiddleKeepsBothEndsWithinTheBound(t *testing.T) {
	long := "begin " + strings.Repeat("ä€𝄞x", 5000) + " end"
	for _, c := range []struct {
		text string
		most int
		want string // "" for a cut text
	}{
		{"", 0, ""}, {"short", 5, "short"}, {"short", 100, "short"},
		{long, 100, ""}, {long, 101, ""}, {long, 102, ""}, {long, 103, ""}, {long, 10_000, ""}, {long, len(long) - 1, ""},
		{long, len(long), long},
	} {
		got := excerpt.Middle(c.text, c.most)
		if len(got) > c.most || !utf8.ValidString(got) {
			t.Errorf("Middle of %d bytes to %d has %d: %.80q", len(c.text), c.most, len(got), got)
		}
		if len(c.text) <= c.most && got != c.want {
			t.Errorf("Middle(%q, %d) = %q, want it whole", c.text, c.most, got)
		}
		if len(c.text) > c.most && (!strings.HasPrefix(got, "begin ") || !strings.HasSuffix(got, " end") || !strings.Contains(got, " bytes left out …\n")) {
			t.Errorf("Middle of %d bytes to %d = %.200q, want both ends and a mark", len(c.text), c.most, got)
		}
	}
}

func TestMiddleCountsWhatIsLeftOut(t *testing.T) {
	got := excerpt.Middle(strings.Repeat("a", 1000), 100)
	want := strings.Repeat("a", 26) + "\n… 948 bytes left out …\n" + strings.Repeat("a", 26)
	if got != want {
		t.Errorf("Middle of 1000 bytes to 100 = %q, want %q", got, want)
	}
	if got := excerpt.Middle("a text", 3); got != excerpt.Mark(6) {
		t.Errorf("Middle to 3 bytes = %q, want the mark alone", got)
	}
	asJSON, err := json.Marshal(excerpt.Mark(math.MaxInt64))
	if err != nil || len(asJSON)-len(`""`) > excerpt.MarkBytes {
		t.Errorf("the longest mark is %s, %v, of more than %d bytes", asJSON, err, excerpt.MarkBytes)
	}
}

func TestHeadAndTailCutNoCharacter(t *testing.T) {
	const text = "a€b"
	for n, want := range []struct{ head, tail string }{{"", ""}, {"a", "b"}, {"a", "b"}, {"a", "b"}, {"a€", "€b"}, {text, text}, {text, text}} {
		if head, tail := excerpt.Head(text, n), excerpt.Tail(text, n); head != want.head || tail != want.tail {
			t.Errorf("Head, Tail(%q, %d) = %q, %q, want %q, %q", text, n, head, tail, want.head, want.tail)
		}
	}
	for n, want := range []string{"…", "a…", "a…", "a…", "a€…", text, text} {
		if got := excerpt.Begin(text, n); got != want {
			t.Errorf("Begin(%q, %d) = %q, want %q", text, n, got, want)
		}
	}
	if head, tail := excerpt.Head("a\xe2\x82", 9), excerpt.Tail("\x82\xacb", 9); head != "a" || tail != "b" {
		t.Errorf("Head and Tail of texts that were cut already are %q and %q, want a and b", head, tail)
	}
	// Bytes that are no text are no reason to drop more than a character has.
	rubbish := strings.Repeat("\x80", 100)
	if head, tail := excerpt.Head(rubbish, 50), excerpt.Tail(rubbish, 50); len(head) != 50 || len(tail) != 50 {
		t.Errorf("Head and Tail of 50 bytes of rubbish have %d and %d", len(head), len(tail))
	}
}

func TestSize(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 bytes", 1023: "1023 bytes", 1<<20 - 1: "1048575 bytes", 1 << 20: "1 MiB", 512 << 20: "512 MiB", 1 << 30: "1 GiB", 3 << 29: "1536 MiB", 4 << 30: "4 GiB",
	} {
		if got := excerpt.Size(n); got != want {
			t.Errorf("Size(%d) = %q, want %q", n, got, want)
		}
	}
}
