package eval

import (
	"context"
	"time"

	"runpython/internal/llm"
	"runpython/internal/message"
)

// oneShotPrompt is all that a model is told that is asked without the loop. It has the example of the
// agent's own prompt, without which small models answer from memory: the loop is compared, not the prompt.
const oneShotPrompt = "Reply with one Python program in a single ```python block that does what is asked and prints the result. " +
	"It runs once, in the folder where the files are.\n\n" +
	"Example request: How much is 17 % of 2340?\nExample reply:\n```python\nprint(2340 * 17 / 100)\n```"

// oneShotTokens bounds the answer of a model that is asked without the loop.
const oneShotTokens = 2048

// ask puts the task to the model itself, once for each turn, and runs the Python of its answer as a
// script is run: what it prints counts, not the value of its last expression and no figure that it
// leaves open, nothing is repaired, and nothing but the files is there in the next turn. The packages
// that it imports are installed all the same: they are not what is compared.
func (r *round) ask(ctx context.Context, t Task, work files, a *Attempt) ([]act, error) {
	var acts []act
	var said []llm.Message
	for _, turn := range t.Turns {
		said = append(said, llm.Message{Role: llm.User, Text: turn.Prompt})
		begun := time.Now()
		response, err := r.program.Model().Complete(ctx, llm.Request{System: oneShotPrompt, Messages: said, MaxTokens: oneShotTokens})
		if err != nil {
			return nil, err //nolint:wrapcheck // an llm.Error, which says all
		}
		a.Requests++
		a.Tokens = a.Tokens.Add(response.Usage)
		said = append(said, response.Message)
		act, err := r.script(ctx, response.Message.Text, work)
		a.Duration += time.Since(begun)
		if err != nil {
			return nil, err
		}
		act.Prompt = turn.Prompt
		a.Runs += len(act.Runs)
		acts = append(acts, act)
	}
	return acts, nil
}

// script runs the Python of an answer in a chat of its own, and adds the files that it makes to work.
func (r *round) script(ctx context.Context, text string, work files) (act, error) {
	read := message.ReadReply(text)
	done := act{Answer: read.Prose, Runs: []actRun{}}
	if len(read.Candidates) == 0 {
		return done, nil
	}
	guest := room{program: r.program}
	if err := guest.putAll(ctx, work); err != nil {
		return act{}, err
	}
	reply, err := guest.run(ctx, read.Candidates[0].Code)
	if err != nil {
		return act{}, err
	}
	for _, run := range reply.Runs {
		done.Runs = append(done.Runs, actRun{Code: run.Code, Stdout: run.Stdout, Stderr: run.Stderr, Error: run.Error})
		done.Output += ended(run.Stdout)
	}
	return done, guest.take(ctx, work)
}
