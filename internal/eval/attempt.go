package eval

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"runpython/internal/agent"
	"runpython/internal/chat"
	"runpython/internal/fault"
)

// An act is what came of one turn, for the check.
type act struct {
	Prompt string   `json:"prompt"`
	Answer string   `json:"answer"` // the words of the model
	Output string   `json:"output"` // what the runs have printed, and the values of their last expressions
	Runs   []actRun `json:"runs"`
	images [][]byte
}

type actRun struct {
	Code   string `json:"code"`
	Stdout string `json:"stdout"`
	Stderr string `json:"stderr"`
	Value  string `json:"value"`
	Error  string `json:"error"`
}

// actOf returns what came of a turn.
func actOf(prompt string, reply *chat.Reply) act {
	a := act{Prompt: prompt, Runs: []actRun{}}
	for _, run := range reply.Runs {
		a.Runs = append(a.Runs, actRun{Code: run.Code, Stdout: run.Stdout, Stderr: run.Stderr, Value: run.Value, Error: run.Error})
		a.Output += ended(run.Stdout) + ended(run.Value)
	}
	for _, image := range reply.Images {
		a.images = append(a.images, image.Data)
	}
	return a
}

// ended returns text with a line feed at its end, unless it is empty.
func ended(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}

// play plays a task once.
func (r *round) play(ctx context.Context, t Task) Attempt {
	var a Attempt
	err := r.attempt(ctx, t, &a)
	if err != nil {
		a.Passed, a.Broken, a.Why = false, true, oneLine(told(err))
	}
	return a
}

func (r *round) attempt(ctx context.Context, t Task, a *Attempt) error {
	work, err := given(ctx, r.program, t)
	if err != nil {
		return err
	}
	play := r.talk
	if r.options.OneShot {
		play = r.ask
	}
	acts, err := play(ctx, t, work, a)
	if err != nil {
		return err
	}
	court := room{program: r.program}
	if err := court.putAll(ctx, work); err != nil {
		return err
	}
	verdict, err := court.judge(ctx, t.Check, acts)
	a.Passed, a.Why = verdict.passed, verdict.why
	return err
}

// told returns an error as it is told to the operator.
func told(err error) string {
	if kind, text := fault.Shown(err); kind != fault.Internal {
		return text
	}
	return err.Error()
}

// given returns the files that are in /work before the first turn.
func given(ctx context.Context, p Program, t Task) (files, error) {
	work := make(files)
	for _, f := range t.Files {
		work[f.Path] = []byte(f.Text)
	}
	if t.Setup == "" {
		return work, nil
	}
	guest := room{program: p}
	if err := guest.putAll(ctx, work); err != nil {
		return nil, err
	}
	reply, err := guest.run(ctx, t.Setup)
	if err != nil {
		return nil, err
	}
	if reply.IsError {
		return nil, fmt.Errorf("the setup of the task fails: %s", problemOf(reply))
	}
	return work, guest.take(ctx, work)
}

// talk puts the task to the program, turn by turn, and adds the files that come of it to work.
func (r *round) talk(ctx context.Context, t Task, work files, a *Attempt) ([]act, error) {
	guest := room{program: r.program}
	if err := guest.putAll(ctx, work); err != nil {
		return nil, err
	}
	var acts []act
	for _, turn := range t.Turns {
		begun := time.Now()
		reply, err := guest.send(ctx, turn.Prompt)
		a.Duration += time.Since(begun)
		if err != nil {
			return nil, err
		}
		act, use, err := outcomeOf(turn.Prompt, reply)
		if err != nil {
			return nil, err
		}
		acts, a.Use = append(acts, act), a.add(use)
	}
	return acts, guest.take(ctx, work)
}

// outcomeOf returns what came of a turn and what it took. An error says that the model could not be asked.
func outcomeOf(prompt string, reply *chat.Reply) (act, Use, error) {
	done := actOf(prompt, reply)
	use := Use{Runs: len(reply.Runs)}
	m := reply.Model
	if m == nil { // the prompt was code
		return done, use, nil
	}
	if m.End == string(agent.Failed) && m.Usage.Output == 0 {
		return done, use, errors.New(oneLine(reply.Text))
	}
	done.Answer = m.Words
	use.Requests, use.Tokens, use.Cost = m.Requests, m.Usage, m.Cost
	if len(m.Unfounded) > 0 {
		use.Unfounded = 1
	}
	return done, use, nil
}
