package sandbox

import (
	"errors"
	"maps"
	"slices"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A family is processes, their parents and who of them is in the group; a child is born where its parent is.
type family struct {
	parent map[int]int
	inside map[int]bool
	// forks are children that a process gets right before it is moved.
	forks map[int][]int
}

func (f *family) descendants(pid int) []int {
	var all []int
	for _, child := range slices.Sorted(maps.Keys(f.parent)) {
		if f.parent[child] == pid {
			all = append(append(all, child), f.descendants(child)...)
		}
	}
	return all
}

func (f *family) move(pid int) error {
	for _, child := range f.forks[pid] {
		f.parent[child], f.inside[child] = pid, f.inside[pid]
	}
	delete(f.forks, pid)
	f.inside[pid] = true
	return nil
}

// Whenever a process of a guest forks while they are put into their group, nobody stays outside.
func TestFamilyMovesWhole(t *testing.T) {
	f := &family{
		parent: map[int]int{2: 1, 3: 2},
		inside: map[int]bool{},
		forks:  map[int][]int{1: {4}, 2: {5}, 3: {6}, 5: {7, 8}, 8: {9}},
	}
	if err := moveFamily(1, f.descendants, f.move); err != nil {
		t.Fatal(err)
	}
	want := map[int]bool{1: true, 2: true, 3: true, 4: true, 5: true, 6: true, 7: true, 8: true, 9: true}
	if diff := cmp.Diff(want, f.inside); diff != "" {
		t.Errorf("in the group (-want +got):\n%s", diff)
	}
}

func TestKillsIn(t *testing.T) {
	for counts, want := range map[string]int{
		"low 0\nhigh 0\nmax 12\noom 3\noom_kill 2\noom_group_kill 0\n": 2, // version 2
		"oom_kill_disable 0\nunder_oom 0\noom_kill 1\n":                1, // version 1
		"oom 1\noom_kill 0\n": 0, "oom_kill x": 0, "": 0,
	} {
		if got := killsIn(counts); got != want {
			t.Errorf("killsIn(%q) = %d, want %d", counts, got, want)
		}
	}
}

func TestFamilyThatCannotBeMoved(t *testing.T) {
	none := func(int) []int { return nil }
	if err := moveFamily(1, none, func(int) error { return syscall.ESRCH }); err != nil {
		t.Errorf("a process that has ended: %v; want no error", err)
	}
	if err := moveFamily(1, none, func(int) error { return syscall.EACCES }); !errors.Is(err, syscall.EACCES) {
		t.Errorf("a process that may not be moved: %v; want %v", err, syscall.EACCES)
	}
	next := 1
	endless := func(int) []int { next++; return []int{next} }
	if err := moveFamily(1, endless, func(int) error { return nil }); err == nil || next > 2*moveRounds {
		t.Errorf("processes without end: %v after %d; want an error soon", err, next)
	}
}
