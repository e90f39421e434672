package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"runpython/internal/store"
	"runpython/internal/store/database"
)

func take(t *testing.T, s *database.Store, id string) store.Lease {
	t.Helper()
	l, _, err := s.Take(t.Context(), id)
	if err != nil {
		t.Fatalf("Take(%q) = %v", id, err)
	}
	return l
}

// silence lets the time pass that a process has to say that it lives, for the one that has a chat, also when it was found silent once.
func (d Database) silence(t *testing.T, id string) {
	t.Helper()
	d.exec(t, `UPDATE processes SET expires = 0, suspected = 1 WHERE id IN (SELECT holder FROM chats WHERE id = $1)`, id)
}

func testLease(t *testing.T, d Database) {
	a, b := d.open(t), d.open(t)
	c := store.Chat{ID: "x", Created: start(), Used: start(), Runs: 2}
	l := begin(t, a, c)
	held, err := a.Beat(t.Context())
	equal(t, "what the first process has", []store.Held{{Lease: l}}, held, err)
	held, err = b.Beat(t.Context())
	equal(t, "what the second process has", nil, held, err)
	_, _, err = b.Take(t.Context(), "x")
	is(t, "a chat of a process that lives", err, store.ErrHeld)
	if err := b.Ask(t.Context(), "x"); err != nil {
		t.Fatal(err)
	}
	held, err = a.Beat(t.Context())
	equal(t, "after the second has asked", []store.Held{{Lease: l, Wanted: true}}, held, err)
	if err := a.Release(t.Context(), l, "it moved"); err != nil {
		t.Fatal(err)
	}
	next, got, err := b.Take(t.Context(), "x")
	c.Loss = "it moved"
	equal(t, "the record of the chat that was let go", c, got, err)
	equal(t, "the next lease", store.Lease{Chat: "x", Fence: l.Fence + 1}, next, nil)
	is(t, "a write of the first", a.SaveChat(t.Context(), l, c), store.ErrLost)
	if err := a.Release(t.Context(), l, "late"); err != nil {
		t.Errorf("Release of a lease that is over: %v", err)
	}
	if err := b.SaveChat(t.Context(), next, c); err != nil {
		t.Errorf("a write of the second: %v", err)
	}
	held, err = b.Beat(t.Context())
	equal(t, "what the second process has", []store.Held{{Lease: next}}, held, err)
	again := take(t, b, "x")
	is(t, "a write with the lease before", b.SaveChat(t.Context(), next, c), store.ErrLost)
	if _, err := b.DeleteChat(t.Context(), again); err != nil {
		t.Errorf("DeleteChat: %v", err)
	}
}

// testWrote: what a chat was written with is the lease of the last write, however often it was taken since.
func testWrote(t *testing.T, d Database) {
	s := d.open(t)
	l := begin(t, s, store.Chat{ID: "x"})
	wants := func(what string, want int64) {
		t.Helper()
		got, err := s.Wrote(t.Context(), "x")
		equal(t, "the lease of the last write after "+what, want, got, err)
	}
	wants("the beginning", store.FirstFence)
	writes := map[string]func(l store.Lease) error{
		"SaveChat": func(l store.Lease) error { return s.SaveChat(t.Context(), l, store.Chat{ID: "x"}) },
		"SaveTurn": func(l store.Lease) error {
			_, err := s.SaveTurn(t.Context(), l, store.Chat{ID: "x"}, store.Turn{Number: 1}, 9)
			return err
		},
		"SaveFiles":      func(l store.Lease) error { _, err := s.SaveFiles(t.Context(), l, store.Changes{}); return err },
		"SaveCheckpoint": func(l store.Lease) error { _, err := s.SaveCheckpoint(t.Context(), l, store.Checkpoint{}); return err },
		"DropCheckpoint": func(l store.Lease) error { _, err := s.DropCheckpoint(t.Context(), l); return err },
	}
	for what, write := range writes {
		before := l.Fence
		if err := s.Release(t.Context(), l, ""); err != nil {
			t.Fatal(err)
		}
		take(t, s, "x")
		l = take(t, s, "x")
		wants("it was taken twice", before)
		if err := write(l); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		wants(what, l.Fence)
	}
}

// testDeadProcess: one that does not say that it lives loses all of its chats, one that ends lets them go.
func testDeadProcess(t *testing.T, d Database) {
	dead, b, ending := d.open(t), d.open(t), d.Open(t)
	for _, id := range []string{"x", "y"} {
		begin(t, dead, store.Chat{ID: id})
	}
	begin(t, ending, store.Chat{ID: "z"})
	d.silence(t, "x")
	take(t, b, "x")
	take(t, b, "y")
	if _, _, err := b.Take(t.Context(), "z"); !errors.Is(err, store.ErrHeld) {
		t.Errorf("a chat of a process that lives: %v; want held", err)
	}
	if err := ending.Close(); err != nil {
		t.Fatal(err)
	}
	take(t, b, "z")
	var processes int
	if err := d.SQL.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM processes`).Scan(&processes); err != nil || processes != 1 {
		t.Errorf("%d processes are known, %v; want the one that lives", processes, err)
	}
}

// testLate: a process that was stopped for long finds out, writes nothing, and goes on with what it takes anew.
func testLate(t *testing.T, d Database) {
	a, b := d.open(t), d.open(t)
	l := begin(t, a, store.Chat{ID: "x"})
	begin(t, a, store.Chat{ID: "y"})
	d.silence(t, "x")
	newer := take(t, b, "x")
	for what, err := range map[string]error{
		"SaveChat": a.SaveChat(t.Context(), l, store.Chat{ID: "x", Runs: 9}),
		"SaveTurn": func() error {
			_, err := a.SaveTurn(t.Context(), l, store.Chat{ID: "x"}, store.Turn{Number: 1}, 9)
			return err
		}(),
		"Undo": func() error { _, err := a.Undo(t.Context(), l, store.Undo{Turn: 1}); return err }(),
		"Fork": a.Fork(t.Context(), l, store.Fork{ID: "z"}),
		"SaveFiles": func() error {
			_, err := a.SaveFiles(t.Context(), l, store.Changes{Changed: []store.File{{Path: "late"}}})
			return err
		}(),
		"SaveResult": func() error {
			_, err := a.SaveResult(t.Context(), l, 1, store.File{Path: "late"}, store.Bounds{Count: 9, Bytes: 9})
			return err
		}(),
		"SaveCheckpoint": func() error { _, err := a.SaveCheckpoint(t.Context(), l, store.Checkpoint{}); return err }(),
		"DropCheckpoint": func() error { _, err := a.DropCheckpoint(t.Context(), l); return err }(),
		"DeleteChat":     func() error { _, err := a.DeleteChat(t.Context(), l); return err }(),
	} {
		is(t, what+" of who was late", err, store.ErrLost)
	}
	held, err := a.Beat(t.Context())
	equal(t, "what who was late has", nil, held, err)
	_, _, err = a.Take(t.Context(), "x")
	is(t, "the chat that was taken", err, store.ErrHeld)
	own := take(t, a, "y")
	held, err = a.Beat(t.Context())
	equal(t, "what it has taken anew", []store.Held{{Lease: own}}, held, err)
	if err := b.SaveChat(t.Context(), newer, store.Chat{ID: "x", Runs: 3}); err != nil {
		t.Errorf("a write of who has the chat: %v", err)
	}
	files, err := b.Files(t.Context(), "x")
	equal(t, "the files", nil, files, err)
}

// testClock: when the clock of the database is set, a process that lives keeps its chats, and one that is dead does not keep
// them for longer than its time.
func testClock(t *testing.T, d Database) {
	a, b := d.open(t), d.open(t)
	l := begin(t, a, store.Chat{ID: "x"})
	begin(t, b, store.Chat{ID: "y"})
	const day = 86_400_000 // milliseconds
	for _, jump := range []int64{day, -day} {
		d.exec(t, `UPDATE processes SET expires = expires - $2 WHERE id IN (SELECT holder FROM chats WHERE id = $1)`, "x", jump)
		for range 2 {
			_, _, err := b.Take(t.Context(), "x")
			is(t, fmt.Sprintf("a chat of a process that lives, after the clock was set by %d ms", jump), err, store.ErrHeld)
		}
		left := d.left(t, "x") - d.left(t, "y") // which has renewed its time in the same moment
		if left < -database.LeaseTime.Milliseconds() || left > database.LeaseTime.Milliseconds() {
			t.Errorf("after the clock was set by %d ms, its process has %d ms more than one that has just said that it lives", jump, left)
		}
		again := take(t, a, "x") // it says that it lives
		equal(t, "its next lease", store.Lease{Chat: "x", Fence: l.Fence + 1}, again, nil)
		l = again
	}
	d.exec(t, `UPDATE processes SET expires = expires + $2 WHERE id IN (SELECT holder FROM chats WHERE id = $1)`, "x", -day)
	if _, _, err := b.Take(t.Context(), "x"); !errors.Is(err, store.ErrHeld) {
		t.Errorf("a chat of a process that is found silent for the first time: %v; want held", err)
	}
	d.exec(t, `UPDATE processes SET expires = expires + $2 WHERE id IN (SELECT holder FROM chats WHERE id = $1)`, "x", -day)
	take(t, b, "x")
}

// left is until when the process that has a chat is trusted, by the clock of the database.
func (d Database) left(t *testing.T, id string) (expires int64) {
	t.Helper()
	if err := d.SQL.QueryRowContext(t.Context(), `SELECT expires FROM processes WHERE id IN (SELECT holder FROM chats WHERE id = $1)`, id).Scan(&expires); err != nil {
		t.Fatal(err)
	}
	return expires
}

// testRace: of many that take a chat at the same instant, one gets it, also from a process that is dead.
func testRace(t *testing.T, d Database) {
	var all []*database.Store
	for range 6 {
		all = append(all, d.open(t))
	}
	begin(t, all[0], store.Chat{ID: "x"})
	for round := range 10 {
		d.silence(t, "x")
		var mu sync.Mutex
		var got []store.Lease
		var wait sync.WaitGroup
		for _, s := range all[1:] {
			wait.Go(func() {
				l, _, err := s.Take(t.Context(), "x")
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					got = append(got, l)
				} else if !errors.Is(err, store.ErrHeld) {
					t.Errorf("round %d: %v", round, err)
				}
			})
		}
		wait.Wait()
		if len(got) != 1 {
			t.Fatalf("round %d: %d processes have the chat: %v", round, len(got), got)
		}
		if err := all[0].Release(t.Context(), got[0], ""); err != nil {
			t.Fatal(err)
		}
		take(t, all[0], "x")
	}
}

// stepsOfFaults is how many things happen in testFaults.
const stepsOfFaults = 400

// testFaults has processes take chats, write to them, let them go, stop for long and wake, be killed and start again,
// in an order by chance, and compares each outcome with a model.
func testFaults(t *testing.T, d Database) {
	seed := rand.Uint64() //nolint:gosec // chance, no secret
	t.Logf("seed %d", seed)
	m := &model{t: t, d: d, rand: rand.New(rand.NewPCG(seed, 0)), chats: []string{"x", "y", "z"}, holder: map[string]int{}, fence: map[string]int64{}} //nolint:gosec // the same
	for range 3 {
		m.all = append(m.all, &process{store: d.open(t), leases: map[string]store.Lease{}})
	}
	for _, id := range m.chats {
		m.all[0].leases[id] = begin(t, m.all[0].store, store.Chat{ID: id})
		m.holder[id], m.fence[id] = 0, 1
	}
	m.all[0].known = true
	for step := range stepsOfFaults {
		if m.step(); t.Failed() {
			t.Fatalf("in step %d", step)
		}
	}
}

// model is what must be true of the leases.
type model struct {
	t      *testing.T
	d      Database
	rand   *rand.Rand
	all    []*process
	chats  []string
	holder map[string]int // index in all, nobody
	fence  map[string]int64
}

const nobody = -1

// process is one of the model.
type process struct {
	store  *database.Store
	leases map[string]store.Lease // the last one of each chat that it has had
	known  bool                   // it has a row
	silent bool                   // and its time is over
}

func (m *model) step() {
	id := m.chats[m.rand.IntN(len(m.chats))]
	at := m.rand.IntN(len(m.all))
	switch m.rand.IntN(6) {
	case 0, 1:
		m.take(at, id)
	case 2, 3:
		m.write(at, id)
	case 4:
		m.release(at, id)
	case 5:
		m.fault(at, id)
	}
}

// end is what becomes of the chats of a process that is removed.
func (m *model) end(at int) {
	m.all[at].known, m.all[at].silent = false, false
	for id, holder := range m.holder {
		if holder == at {
			m.holder[id] = nobody
		}
	}
}

func (m *model) take(at int, id string) {
	p := m.all[at]
	if !p.known { // it comes new, and removes those that are over
		for other, q := range m.all {
			if q.silent {
				m.end(other)
			}
		}
		p.known = true
	}
	holder := m.holder[id]
	l, _, err := p.store.Take(m.t.Context(), id)
	p.silent = false // also when it gets nothing
	if holder != nobody && holder != at && !m.all[holder].silent {
		is(m.t, fmt.Sprintf("%d takes %s of %d", at, id, holder), err, store.ErrHeld)
		return
	}
	if holder != nobody && holder != at {
		m.end(holder)
	}
	m.fence[id]++
	m.holder[id], p.leases[id] = at, l
	equal(m.t, fmt.Sprintf("%d takes %s of %d", at, id, holder), store.Lease{Chat: id, Fence: m.fence[id]}, l, err)
}

func (m *model) write(at int, id string) {
	l, had := m.all[at].leases[id]
	if !had {
		return
	}
	var want error
	if l.Fence != m.fence[id] {
		want = store.ErrLost
	}
	err := m.all[at].store.SaveChat(m.t.Context(), l, store.Chat{ID: id})
	if !errors.Is(err, want) {
		m.t.Errorf("%d writes to %s with fence %d of %d: %v; want %v", at, id, l.Fence, m.fence[id], err, want)
	}
}

func (m *model) release(at int, id string) {
	l, had := m.all[at].leases[id]
	if !had {
		return
	}
	if err := m.all[at].store.Release(m.t.Context(), l, ""); err != nil {
		m.t.Errorf("%d lets go of %s: %v", at, id, err)
	}
	if l.Fence == m.fence[id] {
		m.holder[id] = nobody
	}
}

// fault stops the process that has a chat, for longer than its time, or ends one and starts another in its place.
func (m *model) fault(at int, id string) {
	if holder := m.holder[id]; m.rand.IntN(4) > 0 {
		if holder != nobody {
			m.d.silence(m.t, id)
			m.all[holder].silent = true
		}
		return
	}
	if m.all[at].known {
		m.end(at)
	}
	if err := m.all[at].store.Close(); err != nil {
		m.t.Errorf("%d ends: %v", at, err)
	}
	m.all[at] = &process{store: m.d.open(m.t), leases: map[string]store.Lease{}}
}
