package eval

import (
	"context"
	"errors"
	"fmt"
)

// A Proof is whether a check tells right from wrong.
type Proof struct {
	Task    string
	Problem string // in one line; "" when the right solution passes and the wrong one does not
}

// Prove runs the right and the wrong solution of each task and lets its check judge both. The check is
// proved when it lets the right one pass and refuses the wrong one by an assertion. No model takes
// part, and, since all this code is the operator's, all of it runs in one chat, each solution in a
// folder of its own. told, if not nil, is called with each proof. An error means that the rest could
// not be played.
func Prove(ctx context.Context, p Program, tasks []Task, told func(Proof)) ([]Proof, error) {
	proofs := make([]Proof, 0, len(tasks))
	guest := &room{program: p}
	for i, t := range tasks {
		problem, err := guest.prove(ctx, i, t)
		if err != nil {
			return proofs, fmt.Errorf("task %s: %w", t.Name, err)
		}
		proofs = append(proofs, Proof{Task: t.Name, Problem: problem})
		if told != nil {
			told(proofs[i])
		}
	}
	return proofs, nil
}

// prove returns what is wrong with the check of a task, "" for nothing.
func (r *room) prove(ctx context.Context, i int, t Task) (problem string, err error) {
	for _, s := range []struct {
		name string
		code func(Turn) string
		pass bool
	}{
		{"right", func(t Turn) string { return t.Right }, true},
		{"wrong", func(t Turn) string { return t.Wrong }, false},
	} {
		verdict, err := r.try(ctx, fmt.Sprintf("%d-%s/", i, s.name), t, s.code)
		failed, ok := errors.AsType[solutionError](err)
		switch {
		case ok:
			return fmt.Sprintf("the %s solution %s", s.name, failed), nil
		case err != nil:
			return "", err
		case s.pass && !verdict.passed:
			return "the right solution does not pass: " + verdict.why, nil
		case !s.pass && verdict.passed:
			return "the wrong solution passes", nil
		case verdict.breaks:
			return "the check must refuse the wrong solution by an assertion, and not by " + verdict.why, nil
		}
	}
	return "", nil
}

// A solutionError is why a solution cannot be judged: it says what the solution does.
type solutionError string

// Error says what the solution does.
func (e solutionError) Error() string { return string(e) }

// try plays a solution in a new folder of the chat and lets the check of the task judge it.
func (r *room) try(ctx context.Context, folder string, t Task, code func(Turn) string) (verdict, error) {
	r.folder = folder
	if err := r.must(ctx, "cannot begin", fmt.Sprintf(newFolder, folder)); err != nil {
		return verdict{}, err
	}
	for _, f := range t.Files {
		if err := r.put(ctx, f.Path, []byte(f.Text)); err != nil {
			return verdict{}, err
		}
	}
	if t.Setup != "" {
		if err := r.must(ctx, "has no setup", t.Setup); err != nil {
			return verdict{}, err
		}
	}
	acts := make([]act, len(t.Turns))
	for i, turn := range t.Turns {
		if code(turn) == "" {
			return verdict{}, solutionError("is missing")
		}
		reply, err := r.run(ctx, code(turn))
		if err != nil {
			return verdict{}, err
		}
		if reply.IsError {
			return verdict{}, solutionError("fails: " + problemOf(reply))
		}
		acts[i] = actOf(turn.Prompt, reply)
	}
	return r.judge(ctx, t.Check, acts)
}

// must runs code that has to succeed.
func (r *room) must(ctx context.Context, otherwise, code string) error {
	reply, err := r.run(ctx, code)
	if err == nil && reply.IsError {
		return solutionError(otherwise + ": " + problemOf(reply))
	}
	return err
}

// newFolder makes a folder of /work the place of what follows, and forgets what was before.
const newFolder = `
import os, sys
os.makedirs("/work/%[1]s")
os.chdir("/work/%[1]s")
sys.path[:] = ["", *(place for place in sys.path if place)]
for _name in [name for name in globals() if not name.startswith("_")]:
    del globals()[_name]
`
