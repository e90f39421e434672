package egress_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/egress"
)

// TestOneAnswerOfDNSCounts plays DNS rebinding: the name leads to a public address when it is
// looked at, and to the machine itself a moment later.
func TestOneAnswerOfDNSCounts(t *testing.T) {
	inside := web(t)
	dns := &names{answers: map[string][]string{"rebind.test": {"8.8.8.8", "127.0.0.1"}}}
	target := &dials{to: "127.0.0.1:" + inside}
	p, _ := proxy(t, "rebind.test:"+inside, egress.Config{Resolver: dns, Dialer: target})
	connect := gate(t, p, "chat")
	get := "GET http://rebind.test:" + inside + "/ HTTP/1.1\r\nHost: rebind.test\r\n\r\n"
	if line := statusLine(ask(t, connect(), get)); line != "HTTP/1.1 200 OK" {
		t.Errorf("the first request: %s", line)
	}
	if line := statusLine(ask(t, connect(), get)); !strings.Contains(line, "has no public address of another machine") {
		t.Errorf("the second: %s", line)
	}
	if diff := cmp.Diff([]string{"rebind.test.", "rebind.test."}, dns.asked); diff != "" {
		t.Errorf("asked: %s", diff)
	}
	if diff := cmp.Diff([]string{"8.8.8.8:" + inside}, target.seen); diff != "" {
		t.Errorf("connected to: %s", diff)
	}
}

// slow is a Dialer of which each address takes its time, and works or not.
type slow struct {
	mu    sync.Mutex
	begun time.Time
	takes map[string]time.Duration
	works map[string]bool
	seen  []string // with the time after begun
	left  int      // attempts that have not ended
}

// DialContext plays the table.
func (s *slow) DialContext(ctx context.Context, _, address string) (net.Conn, error) {
	s.mu.Lock()
	s.seen = append(s.seen, address+" "+time.Since(s.begun).String())
	s.left++
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.left--
		s.mu.Unlock()
	}()
	timer := time.NewTimer(s.takes[address])
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-timer.C:
	}
	if !s.works[address] {
		return nil, errors.New("no way")
	}
	here, there := net.Pipe()
	go func() {
		defer func() { _ = there.Close() }()
		_, _ = io.WriteString(there, address)
	}()
	return here, nil
}

// TestAddressesAreTriedBesideEachOther is RFC 8305: families by turns, the next after 250 ms or a failure.
func TestAddressesAreTriedBesideEachOther(t *testing.T) {
	const six, six2, four, four2 = "[2606:4700::1]:443", "[2606:4700::2]:443", "1.1.1.1:443", "1.0.0.1:443"
	addresses := []string{"1.1.1.1", "1.0.0.1", "2606:4700::1", "2606:4700::2"}
	never := time.Hour
	for name, c := range map[string]struct {
		dialer *slow
		won    string
		seen   []string
	}{
		"the first answers":    {&slow{takes: map[string]time.Duration{six: time.Millisecond}, works: map[string]bool{six: true}}, six, []string{six + " 0s"}},
		"the first is silent":  {&slow{takes: map[string]time.Duration{six: never}, works: map[string]bool{four: true}}, four, []string{six + " 0s", four + " 250ms"}},
		"the first fails":      {&slow{works: map[string]bool{four: true}}, four, []string{six + " 0s", four + " 0s"}},
		"the first is late":    {&slow{takes: map[string]time.Duration{six: 400 * time.Millisecond, four: never}, works: map[string]bool{six: true}}, six, []string{six + " 0s", four + " 250ms"}},
		"only the last":        {&slow{takes: map[string]time.Duration{six: never, four: never, six2: never}, works: map[string]bool{four2: true}}, four2, []string{six + " 0s", four + " 250ms", six2 + " 500ms", four2 + " 750ms"}},
		"all fail":             {&slow{}, "the connection fails", []string{six + " 0s", four + " 0s", six2 + " 0s", four2 + " 0s"}},
		"all are silent":       {&slow{takes: map[string]time.Duration{six: never, four: never, six2: never, four2: never}}, "no answer in 15s", []string{six + " 0s", four + " 250ms", six2 + " 500ms", four2 + " 750ms"}},
		"two answer at a time": {&slow{takes: map[string]time.Duration{six: 250 * time.Millisecond}, works: map[string]bool{six: true, four: true}}, ":443", nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c.dialer.begun = time.Now()
				answer := throughPipe(t, &names{answers: map[string][]string{"a.test": {strings.Join(addresses, ",")}}}, c.dialer)
				if !strings.Contains(answer, c.won) {
					t.Errorf("%q; want %s", answer, c.won)
				}
				if diff := cmp.Diff(c.seen, c.dialer.seen); diff != "" && c.seen != nil {
					t.Error(diff)
				}
				if c.dialer.left != 0 {
					t.Errorf("%d attempts go on", c.dialer.left)
				}
			})
		})
	}
}

// throughPipe connects to a.test with the proxy's own dialing, and returns what the host says or the error.
func throughPipe(t *testing.T, r egress.Resolver, d egress.Dialer) string {
	t.Helper()
	p, _ := proxy(t, "a.test:443", egress.Config{Resolver: r, Dialer: d})
	conn, err := egress.Dial(t.Context(), p, "a.test:443")
	if err != nil {
		return err.Error()
	}
	defer func() { _ = conn.Close() }()
	said, err := bufio.NewReader(conn).ReadString(0)
	if err != nil && !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	return said
}
