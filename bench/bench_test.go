package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestQuantile(t *testing.T) {
	hundred := &sample{}
	for i := range 100 {
		hundred.values = append(hundred.values, float64(100-i))
	}
	for _, test := range []struct {
		values []float64
		q      float64
		want   float64
	}{
		{hundred.values, 0.5, 50},
		{hundred.values, 0.99, 99},
		{hundred.values, 1, 100},
		{hundred.values, 0, 1},
		{[]float64{3, 1, 2}, 0.5, 2},
		{[]float64{3, 1, 2}, 0.99, 3},
		{[]float64{0.12345}, 0.5, 0.123},
	} {
		if got := (&sample{values: test.values}).quantile(test.q); got != test.want {
			t.Errorf("quantile(%v) of %d values = %v, want %v", test.q, len(test.values), got, test.want)
		}
	}
}

func TestGoals(t *testing.T) {
	yes, no := new(true), new(false)
	full := row{P50: new(1.5), P99: new(9.0), Ratio: new(0.2)}
	for _, test := range []struct {
		name  string
		row   row
		goals []goal
		text  string
		met   *bool
	}{
		{"at the bound", full, []goal{atMost("p50", 1.5)}, "p50 <= 1.5", yes},
		{"above", full, []goal{atMost("p50", 1.4)}, "p50 <= 1.4", no},
		{"least", full, []goal{atLeast("p50", 1000)}, "p50 >= 1000", no},
		{"both met", full, []goal{atMost("p50", 2), atMost("p99", 10)}, "p50 <= 2, p99 <= 10", yes},
		{"one missed", full, []goal{atMost("p50", 2), atMost("p99", 8)}, "p50 <= 2, p99 <= 8", no},
		{"unknown", row{P50: new(1.0)}, []goal{atMost("ratio", 0.25)}, "ratio <= 0.25", nil},
		{"one unknown, one missed", row{P50: new(3.0)}, []goal{atMost("ratio", 0.25), atMost("p50", 2)}, "ratio <= 0.25, p50 <= 2", no},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := test.row.wants(test.goals...)
			if diff := cmp.Diff(test.text, *got.Goal); diff != "" {
				t.Errorf("goal (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.met, got.Met); diff != "" {
				t.Errorf("met (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRowsAsJSON: what could not be measured is null and not left out, so that a
// reader need not know which rows have which figures.
func TestRowsAsJSON(t *testing.T) {
	ours, theirs := newSeries(nil, 1), newSeries(nil, 1)
	ours.add(2*time.Millisecond, 3*time.Millisecond)
	theirs.err = errors.New("there is no python3\nand more")
	text, err := json.Marshal(ours.compared("call", theirs, "their call").wants(atMost("ratio", 0.5)))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"name":"call","unit":"ms","n":2,"p50":2,"p99":3,"reference":null,"ratio":null,"goal":"ratio \u003c= 0.5","met":null,` +
		`"note":"no reference: there is no python3","repeat":""}`
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Errorf("row (-want +got):\n%s", diff)
	}
	theirs.add(8 * time.Millisecond)
	got := ours.compared("call", theirs, "their call").wants(atMost("ratio", 0.5))
	if *got.Reference != 8 || *got.Ratio != 0.25 || !*got.Met {
		t.Errorf("row = %+v, want a reference of 8 and a ratio of 0.25 that meets the goal", got)
	}
}

func TestTable(t *testing.T) {
	var b strings.Builder
	if err := writeTable(&b, []row{
		{Name: "a", Unit: "ms", N: 3, P50: new(0.0123), P99: new(123.4), Repeat: "go"},
		single("b", "%", 1, 0).wants(atMost("p50", 0)).noted("a note"),
	}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"0.0123", "123 ", "yes", "  b: a note\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("table lacks %q:\n%s", want, b.String())
		}
	}
}

// TestRounds: series take turns, do not count what warms them up, and one that fails does not
// end the others.
func TestRounds(t *testing.T) {
	var order []string
	work := func(name string, failAt int) *series {
		calls := 0
		return newSeries(each(func(context.Context) (time.Duration, error) {
			if calls++; calls == failAt {
				return 0, errors.New("broken")
			}
			order = append(order, name)
			return time.Millisecond, nil
		}), 2)
	}
	good, bad := work("good", 0), work("bad", 4)
	rounds(t.Context(), 2, good, bad)
	want := []string{"good", "good", "bad", "bad", "good", "good", "bad", "good", "good"}
	if diff := cmp.Diff(want, order); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	if len(good.values) != 4 || good.err != nil || len(bad.values) != 1 || bad.err == nil {
		t.Errorf("good has %v, %v; bad has %v, %v", good.values, good.err, bad.values, bad.err)
	}
}

func TestParseStat(t *testing.T) {
	stat := "42 (a) R ) b) S 7 42 42 0 -1 4194560 1 2 3 4 120 30 5 6 20 0 9 0 98765 1000 20 18446744073709551615 1"
	got, err := parseStat(42, []byte(stat))
	if err != nil {
		t.Fatal(err)
	}
	want := process{pid: 42, parent: 7, began: 98765, spent: 150}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(process{})); diff != "" {
		t.Errorf("parseStat (-want +got):\n%s", diff)
	}
	for _, broken := range []string{"", "42 (a) S", "42 (a) S x 42 42 0 -1 0 0 0 0 0 1 1 0 0 20 0 9 0 5"} {
		if _, err := parseStat(42, []byte(broken)); err == nil {
			t.Errorf("parseStat(%q) has no error", broken)
		}
	}
}

func TestGroupOf(t *testing.T) {
	all := []process{
		{pid: 13, parent: 12, began: 4}, // before its parent in the list
		{pid: 10, parent: 1, began: 2, command: []byte("runsc-sandbox\x00--root=/d/run/i/g1/state\x00boot\x00g1")},
		{pid: 11, parent: 1, began: 1, command: []byte("runsc-gofer\x00--root=/d/run/i/g1/state\x00gofer")},
		{pid: 12, parent: 10, began: 3},
		{pid: 20, parent: 1, began: 5, command: []byte("runsc-sandbox\x00--root=/d/run/i/g12/state")},
		{pid: 30, parent: 1, began: 6, command: []byte("tail\x00/d/run/i/g1/log")},
	}
	got := groupOf("/d/run/i/g1", all)
	var pids []int
	for _, p := range got.processes {
		pids = append(pids, p.pid)
	}
	if diff := cmp.Diff([]int{10, 11, 12, 13}, pids, cmpopts.SortSlices(func(a, b int) bool { return a < b })); diff != "" {
		t.Errorf("processes (-want +got):\n%s", diff)
	}
	if got.began != 1 {
		t.Errorf("began = %d, want 1", got.began)
	}
}

func TestParseGauge(t *testing.T) {
	text := "# HELP runpython_guests_pooled x\nrunpython_guests 5\nrunpython_guests_pooled 2\n"
	if n, err := parseGauge(text, pooled); n != 2 || err != nil {
		t.Errorf("parseGauge() = %d, %v; want 2", n, err)
	}
	if _, err := parseGauge(text, restored); err == nil {
		t.Error("a number that is not there is no error")
	}
}

func TestLines(t *testing.T) {
	l := newLines()
	for _, piece := range []string{"one\ntw", "o\n", strings.Repeat("x", 2*partBytes), "\nrest"} {
		if n, err := l.Write([]byte(piece)); n != len(piece) || err != nil {
			t.Fatalf("Write() = %d, %v", n, err)
		}
	}
	for _, want := range []string{"one", "two", strings.Repeat("x", partBytes)} {
		if got := <-l.out; got != want {
			t.Errorf("line %.20q, want %.20q", got, want)
		}
	}
	for range 3 * waitingLines {
		if _, err := l.Write([]byte("more\n")); err != nil { // nobody reads
			t.Fatal(err)
		}
	}
	if got, want := l.last(), ":\n  "+strings.TrimSuffix(strings.Repeat("more\n  ", keptLines), "\n  "); got != want {
		t.Errorf("last() = %q, want %q", got, want)
	}
}

// TestEcho: the floor of the comparison is the same SDK in both eras of the protocol.
func TestEcho(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	ready, ended := newLines(), make(chan error)
	go func() { ended <- serveEcho(ctx, ready) }()
	url := strings.TrimPrefix(<-ready.out, "ready: ")
	for _, revision := range []string{withSessions, stateless} {
		c, err := connect(ctx, target{url: url, revision: revision})
		if err != nil {
			t.Fatal(err)
		}
		if spent, err := callEcho(ctx, c); spent <= 0 || err != nil {
			t.Errorf("callEcho() = %v, %v", spent, err)
		}
		if err := c.close(); err != nil {
			t.Error(err)
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestRemoveStale: what a killed run has left goes, a run that is under way stays.
func TestRemoveStale(t *testing.T) {
	cache := t.TempDir()
	before := time.Now().Add(-2 * staleAfter)
	for _, name := range []string{"run-old", "run-young", "jupyter-old"} {
		if err := os.Mkdir(filepath.Join(cache, name), 0o700); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "old") {
			if err := os.Chtimes(filepath.Join(cache, name), before, before); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := removeStale(cache); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(cache, "*"))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{filepath.Join(cache, "jupyter-old"), filepath.Join(cache, "run-young")}
	if diff := cmp.Diff(want, left); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
}
