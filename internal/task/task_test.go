package task_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"runpython/internal/task"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// digest is that of a key, the zero one for "".
func digest(key string) (d task.Digest) {
	if key != "" {
		d = sha256.Sum256([]byte(key))
	}
	return d
}

// begin makes a task of an owner that nothing ends but the test.
func begin(t *testing.T, s *task.Store, owner, key string) *task.Task {
	t.Helper()
	made, began, err := s.Begin(task.Spec{Owner: owner, Key: digest(key), Cancel: func() {}})
	if err != nil || !began {
		t.Fatalf("Begin(%q, %q) = began %v, %v; want a new task", owner, key, began, err)
	}
	return made
}

// show makes a task one that its owner can find.
func show(t *testing.T, made *task.Task) task.State {
	t.Helper()
	s, ok := made.Show()
	if !ok {
		t.Fatal("Show() of a task that works = false")
	}
	return s
}

// pause lets time pass in a bubble.
func pause(d time.Duration) { <-time.After(d) }

func TestLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s task.Store
		made := begin(t, &s, "ann", "")
		id := made.State().ID
		if _, ok := s.Find("ann", id); ok {
			t.Error("a task is found before it was shown")
		}
		began := time.Now()
		show(t, made)
		pause(time.Second)
		made.Note("running")
		if got := made.State(); got.KeptFor != task.KeepFor+time.Second {
			t.Errorf("after a second of work it is kept for %v, want that long after its end", got.KeptFor)
		}
		pause(time.Second)
		if !made.Complete(json.RawMessage(`{}`)) {
			t.Error("Complete() of a task that works = false")
		}
		want := task.State{
			ID: id, Status: task.Completed, Created: began, Updated: began.Add(2 * time.Second),
			KeptFor: task.KeepFor + 2*time.Second, Result: json.RawMessage(`{}`),
		}
		found, ok := s.Find("ann", id)
		if !ok {
			t.Fatal("a task that has ended is not found")
		}
		if diff := cmp.Diff(want, found.State()); diff != "" {
			t.Errorf("state (-want +got):\n%s", diff)
		}
		pause(task.KeepFor - time.Nanosecond)
		if _, ok := s.Find("ann", id); !ok {
			t.Error("a task is lost before its time")
		}
		pause(time.Nanosecond)
		synctest.Wait()
		if _, ok := s.Find("ann", id); ok {
			t.Error("a task outlives its time")
		}
	})
}

// TestFinal: a task that has ended does not change.
func TestFinal(t *testing.T) {
	ends := map[task.Status]func(*task.Task) bool{
		task.Completed: func(m *task.Task) bool { return m.Complete(json.RawMessage(`1`)) },
		task.Failed:    func(m *task.Task) bool { return m.Fail("why", json.RawMessage(`2`)) },
		task.Cancelled: func(m *task.Task) bool { return m.Cancel("because") },
	}
	for status, end := range ends {
		t.Run(string(status), func(t *testing.T) {
			var s task.Store
			t.Cleanup(s.Close)
			made := begin(t, &s, "", "k")
			if !end(made) {
				t.Fatal("a task that works does not end")
			}
			<-made.Done()
			want := made.State()
			if want.Status != status {
				t.Errorf("status %q, want %q", want.Status, status)
			}
			for other, again := range ends {
				if again(made) {
					t.Errorf("%s after %s = true", other, status)
				}
			}
			made.Note("later")
			made.Answer(map[string]json.RawMessage{"q": nil})
			if _, err := made.Ask(t.Context(), map[string]json.RawMessage{"q": nil}); !errors.Is(err, task.ErrEnded) {
				t.Errorf("Ask() = %v, want ErrEnded", err)
			}
			if _, ok := made.Show(); ok {
				t.Error("Show() = true")
			}
			if made.CompleteUnshown(nil) {
				t.Error("CompleteUnshown() = true")
			}
			if diff := cmp.Diff(want, made.State()); diff != "" {
				t.Errorf("state (-want +got):\n%s", diff)
			}
		})
	}
}

// TestOwners: a task is visible to its owner only, and ids do not repeat.
func TestOwners(t *testing.T) {
	var s task.Store
	t.Cleanup(s.Close)
	seen := map[string]bool{}
	for i := range 100 {
		owner := fmt.Sprint("owner", i%3)
		id := show(t, begin(t, &s, owner, "")).ID
		if seen[id] || len(id) < 26 || strings.ToLower(id) != id {
			t.Errorf("id %q", id)
		}
		seen[id] = true
		for j := range 3 {
			if _, ok := s.Find(fmt.Sprint("owner", j), id); ok != (j == i%3) {
				t.Errorf("Find(owner%d, task of %s) = %v", j, owner, ok)
			}
		}
	}
}

func TestKeys(t *testing.T) {
	var s task.Store
	t.Cleanup(s.Close)
	spec := task.Spec{Owner: "ann", Key: digest("k"), Call: digest("a"), Cancel: func() {}}
	first, began, err := s.Begin(spec)
	if err != nil || !began {
		t.Fatalf("Begin() = %v, %v", began, err)
	}
	if again, began, err := s.Begin(spec); again != first || began || err != nil {
		t.Errorf("the same call = %p, %v, %v; want %p", again, began, err, first)
	}
	first.Complete(json.RawMessage(`{}`))
	if again, began, err := s.Begin(spec); again != first || began || err != nil {
		t.Errorf("the same call after its end = %p, %v, %v; want %p", again, began, err, first)
	}
	other := spec
	other.Call = digest("b")
	if _, _, err := s.Begin(other); !errors.Is(err, task.ErrOtherCall) {
		t.Errorf("another call with the key = %v, want ErrOtherCall", err)
	}
	other.Owner = "bob"
	if _, began, err := s.Begin(other); !began || err != nil {
		t.Errorf("the key of another owner = %v, %v; want a new task", began, err)
	}
	first.ForgetKey()
	if again, began, err := s.Begin(spec); again == first || !began || err != nil {
		t.Errorf("the call of a forgotten key = %v, %v; want a new task", began, err)
	}
}

// TestCompleteUnshown: a result that is one only for those who have no handle.
func TestCompleteUnshown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s task.Store
		t.Cleanup(s.Close)
		made := begin(t, &s, "", "k")
		if !made.CompleteUnshown(json.RawMessage(`1`)) || made.CompleteUnshown(json.RawMessage(`2`)) {
			t.Error("CompleteUnshown() twice, want true and false")
		}
		<-made.Done()
		if again, began, err := s.Begin(task.Spec{Key: digest("k")}); again != made || began || err != nil {
			t.Errorf("the same call = %v, %v; want the task that has ended", began, err)
		}
		shown := begin(t, &s, "", "")
		want := show(t, shown)
		if shown.CompleteUnshown(json.RawMessage(`1`)) {
			t.Error("CompleteUnshown() of a task that was shown = true")
		}
		if diff := cmp.Diff(want, shown.State()); diff != "" {
			t.Errorf("state (-want +got):\n%s", diff)
		}
	})
}

// TestQuestions: answers come in parts, late and unknown ones do nothing, and keys do not
// repeat.
func TestQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s task.Store
		t.Cleanup(s.Close)
		made := begin(t, &s, "", "")
		for round := range 3 {
			var got map[string]json.RawMessage
			var err error
			asked := make(chan struct{})
			go func() {
				defer close(asked)
				got, err = made.Ask(t.Context(), map[string]json.RawMessage{"a": json.RawMessage(`"A"`), "b": json.RawMessage(`"B"`)})
			}()
			synctest.Wait()
			state := made.State()
			if state.Status != task.InputRequired || len(state.Questions) != 2 {
				t.Fatalf("state %+v, want two questions", state)
			}
			var keys []string
			for _, key := range []string{"a", "b"} {
				if round > 0 {
					key = fmt.Sprint(key, "-", round+1)
				}
				keys = append(keys, key)
			}
			made.Answer(map[string]json.RawMessage{"input": nil, "a-9": nil, keys[0]: state.Questions[keys[0]]})
			left := made.State()
			if diff := cmp.Diff(map[string]json.RawMessage{keys[1]: state.Questions[keys[1]]}, left.Questions); diff != "" || left.Status != task.InputRequired {
				t.Errorf("after one answer: %s, questions (-want +got):\n%s", left.Status, diff)
			}
			made.Answer(map[string]json.RawMessage{keys[0]: json.RawMessage(`"twice"`), keys[1]: state.Questions[keys[1]]})
			<-asked
			want := map[string]json.RawMessage{"a": json.RawMessage(`"A"`), "b": json.RawMessage(`"B"`)}
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("Ask() = %v (-want +got):\n%s", err, diff)
			}
			if got := made.State(); got.Status != task.Working || got.Questions != nil {
				t.Errorf("after all answers: %+v", got)
			}
		}
	})
}

func TestQuestionsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s task.Store
		t.Cleanup(s.Close)
		made := begin(t, &s, "", "")
		many := make(map[string]json.RawMessage)
		for i := range task.MaxQuestions + 1 {
			many[fmt.Sprint(i)] = nil
		}
		if _, err := made.Ask(t.Context(), many); !errors.Is(err, task.ErrTooMany) {
			t.Errorf("Ask() of too many = %v, want ErrTooMany", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := made.Ask(ctx, map[string]json.RawMessage{"q": nil}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Ask() without an answer = %v, want the end of its context", err)
		}
		if got := made.State(); got.Status != task.Working || got.Questions != nil {
			t.Errorf("after a question that nobody answered: %+v", got)
		}
		go func() {
			pause(time.Second)
			made.Cancel("")
		}()
		if _, err := made.Ask(t.Context(), map[string]json.RawMessage{"q": nil}); !errors.Is(err, task.ErrEnded) {
			t.Errorf("Ask() of a task that is cancelled = %v, want ErrEnded", err)
		}
	})
}

// TestBounds: no owner fills the store for others, and what was promised is kept.
func TestBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s task.Store
		t.Cleanup(s.Close)
		large := json.RawMessage(`"` + strings.Repeat("x", task.MaxResultBytes-2) + `"`)
		fill := func(owner string) (last *task.Task, n int) {
			for {
				made, _, err := s.Begin(task.Spec{Owner: owner, Cancel: func() {}})
				if errors.Is(err, task.ErrFull) {
					return last, n
				}
				if err != nil {
					t.Fatal(err)
				}
				show(t, made)
				made.Complete(large)
				last, n = made, n+1
			}
		}
		perOwner := task.MaxBytes/4/task.MaxResultBytes - 1
		total := 0
		for _, owner := range []string{"a", "b", "c", "d"} {
			_, n := fill(owner)
			if n < perOwner-1 || n > perOwner+1 {
				t.Errorf("owner %s has room for %d large results, want %d or so", owner, n, perOwner)
			}
			total += n
		}
		if _, _, err := s.Begin(task.Spec{Owner: "a", Cancel: func() {}}); !errors.Is(err, task.ErrFull) {
			t.Errorf("Begin() of a full owner = %v, want ErrFull", err)
		}
		pause(task.KeepFor)
		synctest.Wait()
		if _, n := fill("a"); n < perOwner-1 {
			t.Errorf("after their time has passed: room for %d, want all of it", n)
		}
	})
}

// TestKeysStay: outcomes that only a key leads to make room, the oldest first, but not their
// keys: within the hour nothing runs twice, also when another owner needs the room.
func TestKeysStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s task.Store
		t.Cleanup(s.Close)
		large := json.RawMessage(`"` + strings.Repeat("x", task.MaxResultBytes-2) + `"`)
		spec := func(owner string, i int) task.Spec {
			return task.Spec{Owner: owner, Key: digest(fmt.Sprint(i)), Cancel: func() {}}
		}
		const owners, each = 6, 100 // more of each than its share holds
		for i := range each {
			for o := range owners {
				made, began, err := s.Begin(spec(fmt.Sprint(o), i))
				if err != nil || !began {
					t.Fatalf("Begin(owner %d, key %d) = %v, %v", o, i, began, err)
				}
				made.Complete(large)
				pause(time.Microsecond)
			}
		}
		kept := 0
		for o := range owners {
			dropped := true
			for i := range each {
				again, began, err := s.Begin(spec(fmt.Sprint(o), i))
				if err != nil || began {
					t.Fatalf("owner %d, key %d sent again = %v, %v; want the task that has run", o, i, began, err)
				}
				state := again.State()
				if state.Dropped != (state.Result == nil) || state.Dropped && !dropped {
					t.Errorf("owner %d, key %d: %s, dropped %v, %d bytes; want the oldest dropped", o, i, state.Status, state.Dropped, len(state.Result))
				}
				if dropped = state.Dropped; !dropped {
					kept++
				}
			}
		}
		if most := task.MaxBytes / task.MaxResultBytes; kept > most || kept < most*9/10 {
			t.Errorf("%d outcomes of %d are kept, want nearly %d", kept, owners*each, most)
		}
		for i := range task.MaxTasks/4 - each {
			made, _, err := s.Begin(spec("0", each+i))
			if err != nil {
				t.Fatalf("Begin(key %d) = %v", each+i, err)
			}
			made.Complete(json.RawMessage(`{}`))
		}
		if _, _, err := s.Begin(spec("0", -1)); !errors.Is(err, task.ErrFull) {
			t.Errorf("one more than an owner may have = %v, want ErrFull", err)
		}
		if _, began, err := s.Begin(spec("1", -1)); !began || err != nil {
			t.Errorf("another owner = %v, %v; want a new task", began, err)
		}
	})
}

// TestDrop: of a task that has ended and was not shown only the key stays.
func TestDrop(t *testing.T) {
	var s task.Store
	t.Cleanup(s.Close)
	made := begin(t, &s, "", "k")
	made.Drop()
	if made.State().Dropped {
		t.Error("the outcome of a task that works is dropped")
	}
	made.CompleteUnshown(json.RawMessage(`1`))
	made.Drop()
	if got := made.State(); !got.Dropped || got.Result != nil || got.Status != task.Completed {
		t.Errorf("after Drop() %+v", got)
	}
	if again, began, err := s.Begin(task.Spec{Key: digest("k")}); again != made || began || err != nil {
		t.Errorf("the same call = %v, %v; want the task that has ended", began, err)
	}
	shown := begin(t, &s, "", "")
	show(t, shown)
	shown.Complete(json.RawMessage(`1`))
	if shown.Drop(); shown.State().Dropped {
		t.Error("an outcome that was promised is dropped")
	}
}

// TestAnsweredInTime: an answer that was taken counts, also when the wait ends in the same
// moment, whichever is noticed first.
func TestAnsweredInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s task.Store
		t.Cleanup(s.Close)
		for range 64 {
			made := begin(t, &s, "", "")
			ctx, cancel := context.WithCancel(t.Context())
			asked := make(chan error)
			go func() {
				_, err := made.Ask(ctx, map[string]json.RawMessage{"q": nil})
				asked <- err
			}()
			synctest.Wait()
			made.Answer(map[string]json.RawMessage{"q": json.RawMessage(`1`)})
			cancel()
			if err := <-asked; err != nil {
				t.Fatalf("Ask() = %v, want the answer that was taken before", err)
			}
			made.Complete(nil)
		}
	})
}

// TestRace lets everything happen at once; the race detector watches.
func TestRace(t *testing.T) {
	var s task.Store
	var ran, cancelled atomic.Int64
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			made, began, err := s.Begin(task.Spec{Owner: "o", Key: digest(fmt.Sprint(i % 8)), Cancel: func() { cancelled.Add(1) }})
			if err != nil {
				t.Error(err)
				return
			}
			if began {
				ran.Add(1)
			}
			var ends sync.WaitGroup
			ends.Go(func() { made.Show() })
			ends.Go(func() { made.Note("n") })
			ends.Go(func() { _, _ = made.Ask(t.Context(), map[string]json.RawMessage{"q": nil}) })
			ends.Go(func() {
				for key := range made.State().Questions {
					made.Answer(map[string]json.RawMessage{key: nil})
				}
			})
			ends.Go(func() { made.Complete(json.RawMessage(`{}`)) })
			ends.Go(func() { made.Cancel("") })
			ends.Go(func() { s.Find("o", made.State().ID) })
			ends.Wait()
			<-made.Done()
			if got := made.State().Status; got != task.Completed && got != task.Cancelled {
				t.Errorf("status %q, want a final one", got)
			}
		})
	}
	wg.Wait()
	if ran.Load() != 8 || cancelled.Load() > 8 {
		t.Errorf("%d tasks for 8 keys, %d cancelled", ran.Load(), cancelled.Load())
	}
	s.Close()
	if _, _, err := s.Begin(task.Spec{}); !errors.Is(err, task.ErrClosed) {
		t.Errorf("Begin() after Close = %v, want ErrClosed", err)
	}
}

// TestClose cancels what works.
func TestClose(t *testing.T) {
	var s task.Store
	stopped := make(chan struct{})
	made, _, err := s.Begin(task.Spec{Cancel: func() { close(stopped) }})
	if err != nil {
		t.Fatal(err)
	}
	id := show(t, made).ID
	s.Close()
	<-stopped
	<-made.Done()
	if _, ok := s.Find("", id); ok {
		t.Error("a closed store has tasks")
	}
}
