package console_test

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/cli/console"
)

// A screen keeps what is written on it.
type screen struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

// take returns what was written since the last call.
func (s *screen) take() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.text.Reset()
	return s.text.String()
}

func size() (width, height int) { return 20, 24 }

func TestStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out screen
		s := console.NewStatus(&out, size)
		after := func(d time.Duration) string {
			<-time.After(d)
			synctest.Wait()
			return out.take()
		}
		s.Start("starting")
		s.Step("running")
		if got := after(150 * time.Millisecond); got != "" {
			t.Errorf("drawn at once: %q", got)
		}
		if got, want := after(100*time.Millisecond), `- running 0.2s`; !strings.Contains(got, "running 0.2s") {
			t.Errorf("drawn %q, want %q in it", got, want)
		}
		s.Output("one\ntwo \x1b[2Jand a line that is far too long\n")
		s.Output("10%\r20%")
		want := "\r\x1b[J" + strings.Join([]string{"one", `two \x1b[2Jand a li`, "20%", "\\ running 0.3s"}, "\r\n")
		if diff := cmp.Diff(want, after(100*time.Millisecond)); diff != "" {
			t.Errorf("drawn (-want +got):\n%s", diff)
		}
		if _, err := s.Write([]byte("message\n")); err != nil {
			t.Fatal(err)
		}
		if got, want := out.take(), "\r\x1b[A\x1b[A\x1b[A\x1b[Jmessage\n"; got != want {
			t.Errorf("a message wrote %q, want %q", got, want)
		}
		after(100 * time.Millisecond)
		output := s.Stop()
		if got, want := out.take(), "\r\x1b[A\x1b[A\x1b[A\x1b[J"; got != want {
			t.Errorf("Stop wrote %q, want %q", got, want)
		}
		if want := "one\ntwo \x1b[2Jand a line that is far too long\n10%\r20%"; output != want {
			t.Errorf("Stop = %q, want %q", output, want)
		}
		if s.Stop() != output || out.take() != "" || after(time.Second) != "" {
			t.Error("a second Stop does something, or drawing goes on")
		}
	})
}

// Without a terminal nothing is drawn, and what a run printed is kept within its bound.
func TestStatusKeeps(t *testing.T) {
	var out screen
	s := console.NewStatus(&out, nil)
	s.Start("running")
	for range 100 {
		s.Output(strings.Repeat("é", 1000))
	}
	output := s.Stop()
	if len(output) > 64<<10 || len(output) < 63<<10 || strings.Trim(output, "é") != "" || out.take() != "" {
		t.Errorf("kept %d bytes, want nearly 64 KiB of é and nothing drawn", len(output))
	}
	s.Start("again")
	if got := s.Stop(); got != "" {
		t.Errorf("the next run has %d bytes of the last one", len(got))
	}
}

func TestStatusRedirect(t *testing.T) {
	var out, editor screen
	s := console.NewStatus(&out, size)
	s.Redirect(&editor)
	if _, err := s.Write([]byte("log\n")); err != nil || editor.take() != "log\n" || out.take() != "" {
		t.Error("a message did not go to the editor")
	}
	s.Redirect(nil)
	if _, err := s.Write([]byte("log\n")); err != nil || editor.take() != "" || out.take() != "log\n" {
		t.Error("a message still went to the editor")
	}
}

func TestCut(t *testing.T) {
	for _, tt := range []struct {
		line  string
		width int
		want  string
	}{
		{"abc", 3, "abc"}, {"abcd", 3, "abc"}, {"你好", 3, "你"}, {"e\u0301x", 1, "e\u0301"}, {"🙂🙂", 3, "🙂"}, {"abc", 0, ""}, {"abc", -1, ""},
	} {
		if got := console.Cut(tt.line, tt.width); got != tt.want {
			t.Errorf("cut(%q, %d) = %q, want %q", tt.line, tt.width, got, tt.want)
		}
	}
}
