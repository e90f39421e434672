package sandbox_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"runpython/internal/extent"
	"runpython/internal/guesttest"
	"runpython/internal/kernel"
	"runpython/internal/sandbox"
)

// Issue 7, item 4: variables and files of the guests of a killed process are there although nothing was checkpointed
// before, also of one in which code runs, which is interrupted; nothing else is left.
func TestRescue(t *testing.T) {
	extent.Slow(t)
	s := guesttest.NewSetup(t)
	host := startHost(t, s, time.Hour, "",
		hostChat{Label: "idle", Code: "x = 41; open('f', 'w').write('here')"},
		hostChat{Label: "computes", Code: "y = [1]\nprint('on', flush=True)\nwhile True: y[0] += 1", Endless: true},
		hostChat{Label: "prints", Code: "z = 0\nwhile True:\n    z += 1\n    print(z, flush=True)", Endless: true},
		hostChat{Label: "lost", Code: "open('made', 'w').write('1')\nprint('on', flush=True)\ntry:\n    while True: pass\nfinally: print('the end')", Endless: true},
		hostChat{Label: "crashed", Code: "open('kept', 'w').close()\nimport os; os._exit(1)"},
		hostChat{Label: "unwanted", Code: "u = 1"},
	)
	kill9(t, host)
	before := guestProcesses(t, s.Config.Data)
	s.Config.AwaitRescue = true
	h := s.Open(t)
	var mu sync.Mutex
	var labels []string
	err := h.Rescue(t.Context(), func(ctx context.Context, g *sandbox.Stranded) (bool, error) {
		mu.Lock()
		labels = append(labels, g.Label)
		mu.Unlock()
		if g.Label == "unwanted" {
			return false, nil
		}
		return false, g.Checkpoint(ctx, filepath.Join(s.Config.Data, g.Label))
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(labels)
	if want := []string{"computes", "crashed", "idle", "lost", "prints", "unwanted"}; !slices.Equal(labels, want) {
		t.Errorf("labels %v, want %v", labels, want)
	}
	if left := guestProcesses(t, s.Config.Data); len(left) != 0 || len(before) == 0 {
		t.Errorf("of processes %v these are left: %v", before, left)
	}
	if left, err := os.ReadDir(filepath.Join(s.Config.Data, "run")); err != nil || len(left) != 1 {
		t.Errorf("folders %v, %v; want that of the living host", left, err)
	}
	wantOfLost(t, s, h)
	for label, want := range map[string][2]string{
		"idle":     {"x + 1, open('f').read()", "(42, 'here')"},
		"computes": {"y[0] > 1", "True"},
		"prints":   {"z > 1", "True"},
		"crashed":  {"import os; os.listdir()", "['kept']"},
	} {
		k := s.Resume(t, h, filepath.Join(s.Config.Data, label))
		if got := value(t, k, want[0]); got != want[1] {
			t.Errorf("%s: %s is %s, want %s", label, want[0], got, want[1])
		}
		if got := value(t, k, "print('seen'); 6 * 7"); got != "42" {
			t.Errorf("%s: the second run gives %s", label, got)
		}
	}
}

// wantOfLost wants of a run whose host was killed that the files that it made are told with the next run, and that what it
// printed meanwhile is not shown as that one's.
func wantOfLost(t *testing.T, s *guesttest.Setup, h *sandbox.Host) {
	t.Helper()
	k := s.Resume(t, h, filepath.Join(s.Config.Data, "lost"))
	r, err := k.Run(t.Context(), kernel.Request{Candidates: []kernel.Candidate{{Code: "print('mine')"}}})
	if err != nil {
		t.Fatal(err)
	}
	if out, late := r.Stdout.Text(1000), r.Late.Text(1000); out != "mine\n" || late != "the end\n" {
		t.Errorf("output %q and late output %q; want what each has printed", out, late)
	}
	if r.Files == nil || len(r.Files.Changed) != 1 || r.Files.Changed[0].Path != "made" {
		t.Errorf("files %+v; want the one that nobody has heard of", r.Files)
	}
	if r, err = k.Run(t.Context(), kernel.Request{Candidates: []kernel.Candidate{{Code: "1"}}}); err != nil || r.Files != nil {
		t.Errorf("files of the run after: %+v, %v; want none", r.Files, err)
	}
}

// One chat's guest is rescued while others stay; one that another process is about is waited for.
func TestRescueOfOne(t *testing.T) {
	extent.Slow(t)
	s := guesttest.NewSetup(t)
	host := startHost(t, s, time.Hour, "", hostChat{Label: "one", Code: "x = 1"}, hostChat{Label: "other", Code: "x = 2"})
	kill9(t, host)
	s.Config.AwaitRescue = true
	h, second := s.Open(t), s.Open(t)
	begun, proceed := make(chan struct{}), make(chan struct{})
	wantsOne := func(label string) bool { return label == "one" }
	var wait sync.WaitGroup
	wait.Go(func() {
		err := second.RescueOf(t.Context(), wantsOne, func(context.Context, *sandbox.Stranded) (bool, error) {
			close(begun)
			<-proceed
			return true, nil
		})
		if err != nil {
			t.Errorf("the other process: %v", err)
		}
	})
	<-begun
	err := h.Rescue(t.Context(), func(_ context.Context, g *sandbox.Stranded) (bool, error) {
		if g.Label != "other" {
			t.Errorf("%q is found, which another process is about", g.Label)
		}
		return true, nil
	})
	if err != nil {
		t.Errorf("a rescue of all beside it: %v", err)
	}
	close(proceed)
	var found []string
	for range 2 {
		err := h.RescueOf(t.Context(), wantsOne, func(ctx context.Context, g *sandbox.Stranded) (bool, error) {
			found = append(found, g.Label)
			return false, g.Checkpoint(ctx, filepath.Join(s.Config.Data, g.Label))
		})
		if err != nil {
			t.Error(err)
		}
	}
	wait.Wait()
	if !slices.Equal(found, []string{"one"}) {
		t.Errorf("%q are found; want the one, once", found)
	}
	if got := value(t, s.Resume(t, h, filepath.Join(s.Config.Data, "one")), "x"); got != "1" {
		t.Errorf("x is %s, want 1", got)
	}
	found = nil
	err = h.Rescue(t.Context(), func(_ context.Context, g *sandbox.Stranded) (bool, error) {
		found = append(found, g.Label)
		return false, nil
	})
	if err != nil || !slices.Equal(found, []string{"other"}) {
		t.Errorf("%q are left for the next process, %v; want the other", found, err)
	}
	if left, err := os.ReadDir(filepath.Join(s.Config.Data, "run")); err != nil || len(left) != 2 {
		t.Errorf("folders %v, %v; want those of the living hosts", left, err)
	}
}

// What nobody rescues is removed by the keeper, labelled or not, and a rescue that comes later finds nothing.
func TestRescueThatComesTooLate(t *testing.T) {
	extent.Long(t)
	s := guesttest.NewSetup(t)
	data := s.Config.Data
	host := startHost(t, s, time.Second, "", hostChat{Label: "late", Code: "x = 1"})
	kill9(t, host)
	await(t, "the keeper to remove the guests", func() bool { return len(guestProcesses(t, data)) == 0 && isEmpty(t, data+"/run") })
	s.Config.AwaitRescue = true
	err := s.Open(t).Rescue(t.Context(), func(_ context.Context, g *sandbox.Stranded) (bool, error) {
		t.Errorf("%q is found", g.Label)
		return false, nil
	})
	if err != nil {
		t.Error(err)
	}
}

// Guests of a living host are nobody's to rescue.
func TestRescueLeavesTheLivingAlone(t *testing.T) {
	extent.Long(t)
	s := guesttest.NewSetup(t)
	host := startHost(t, s, 0, "", hostChat{Label: "lives", Code: "x = 1"})
	before := len(guestProcesses(t, s.Config.Data))
	s.Config.AwaitRescue = true
	err := s.Open(t).Rescue(t.Context(), func(_ context.Context, g *sandbox.Stranded) (bool, error) {
		t.Errorf("%q is found", g.Label)
		return false, nil
	})
	if after := len(guestProcesses(t, s.Config.Data)); err != nil || after != before {
		t.Errorf("%d processes before, %d after, %v", before, after, err)
	}
	kill9(t, host)
	if err := sandbox.RemoveDead(s.Config.Data); err != nil {
		t.Fatal(err)
	}
}
