package chat

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"runpython/internal/agent"
	"runpython/internal/excerpt"
	"runpython/internal/fault"
	"runpython/internal/kernel"
	"runpython/internal/llm"
	"runpython/internal/message"
	"runpython/internal/pypi/names"
	"runpython/internal/store"
)

// An Agent answers requests in plain language with a model and the code that it writes;
// *agent.Agent is one. It bounds runs, tokens and time of a task, and what it keeps of one.
type Agent interface {
	Answer(ctx context.Context, t agent.Task) (*agent.Answer, error)
	Model() string // the name of its model
}

// inquiry is a turn in plain language; its chat belongs to it. A model is asked, whose code runs.
type inquiry struct {
	service *Service
	chat    *conversation
	request Request
	runs    []*execution // in their order; the text of the message may have been tried as code first
}

// answer has the agent answer, and words the reply.
func (q *inquiry) answer(ctx context.Context) (*Reply, error) {
	c := q.chat
	c.used.Store(q.service.options.Now().UnixNano())
	reply := &Reply{}
	reply.State, reply.StateReason = c.state()
	answer, err := q.service.options.Agent.Answer(ctx, agent.Task{
		Message: q.request.Message, History: c.history, Run: q.run,
		Progress: func(step string) { report(q.request, Progress{Step: step}) },
	})
	if ctx.Err() != nil {
		return nil, fault.New(fault.Canceled, ctx.Err(), "the call was stopped while a model worked on it; what its code has done is kept")
	}
	if err != nil {
		return nil, fmt.Errorf("answer: %w", err)
	}
	// From here on the caller may be gone, but what was said is kept.
	save, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTimeout)
	defer cancel()
	if err := q.service.save(save, c); err != nil && (!c.saved || errors.Is(err, store.ErrLost)) {
		return nil, err
	}
	reply.ChatID = c.id
	reply.Model = &ModelUse{
		Name: q.service.options.Agent.Model(), End: string(answer.End), Requests: answer.Requests, Usage: answer.Usage, Cost: answer.Cost,
		Words: answer.Words, Unfounded: answer.Unfounded,
	}
	q.gather(reply)
	q.word(reply, answer)
	return q.service.noteIn(ctx, c, answer.Exchange, reply)
}

// run runs code of the model.
func (q *inquiry) run(ctx context.Context, c agent.Code) (*agent.Outcome, error) {
	x := &execution{service: q.service, chat: q.chat, request: q.request, message: message.Message{
		Kind: message.Code, Candidates: c.Readings, Requirements: c.Packages,
	}}
	reply, err := x.run(ctx)
	if err != nil {
		return nil, err
	}
	q.runs = append(q.runs, x)
	outcome := &agent.Outcome{Text: reply.Text, Code: x.code(), Error: x.failure(), Missing: x.missing()}
	for _, picture := range reply.Images {
		outcome.Images = append(outcome.Images, llm.Image{MIMEType: picture.MIMEType, Data: picture.Data})
	}
	return outcome, nil
}

// failure says in one line why a run was none that went well, "" for one that did.
func (x *execution) failure() string {
	if !x.reply.IsError {
		return ""
	}
	r := x.result
	switch {
	case r == nil:
		return "nothing was run"
	case r.Error != nil && r.Status == kernel.Failed:
		return strings.TrimSuffix(r.Error.Type+": "+r.Error.Message, ": ")
	case r.Status == kernel.Exited:
		return exitSentence(r)
	}
	if limit := x.limitSentence(); limit != "" {
		return limit
	}
	return strings.Join(x.problems, " ")
}

// missing returns the distribution that would bring what an import has not found, "" where there
// is none or where it was tried.
func (x *execution) missing() string {
	r := x.result
	if r == nil || r.Error == nil || x.shipment.reasons > 0 || !x.canInstall() {
		return ""
	}
	module := missingModule(r.Error)
	if _, never := names.Unavailable(module); module == "" || never {
		return ""
	}
	name, _ := names.Distribution(module)
	return name
}

// missingModule reads from an error which module is missing: from that of an import, and from the
// words in which libraries ask for a dependency that they import only when it is used.
func missingModule(e *kernel.Exception) string {
	for _, before := range []string{"No module named '", "Missing optional dependency '"} {
		_, rest, found := strings.Cut(e.Message, before)
		module, _, closed := strings.Cut(rest, "'")
		if found && closed && (e.Type == "ModuleNotFoundError" || e.Type == "ImportError") {
			module, _, _ = strings.Cut(module, ".")
			return module
		}
	}
	return ""
}

// gather puts into the reply what the runs have made.
func (q *inquiry) gather(reply *Reply) {
	files := make(map[string]int) // place in reply.Files, by URI
	last := q.last()
	for i, x := range q.runs {
		from := &x.reply
		switch {
		case i == 0:
			reply.State, reply.StateReason = from.State, from.StateReason
		case from.State == Reset:
			reply.State, reply.StateReason = Reset, from.StateReason
		}
		reply.Runs = append(reply.Runs, from.Runs...)
		reply.Packages = append(reply.Packages, from.Packages...)
		if len(from.Images) > 0 { // those of a run that was tried before are there as files
			reply.Images = from.Images
		}
		for _, f := range from.Files {
			if at, there := files[f.URI]; there {
				reply.Files[at] = f
				continue
			}
			files[f.URI] = len(reply.Files)
			reply.Files = append(reply.Files, f)
		}
		if x != last {
			reply.Problems = append(reply.Problems, x.replayed...)
		}
		for _, p := range from.Problems {
			if x == last && !slices.Contains(reply.Problems, p) { // what was wrong before was mended
				reply.Problems = append(reply.Problems, p)
			}
		}
	}
	reply.Files = reply.Files[:min(len(reply.Files), listedFiles)]
}

// last returns the run that counts, nil where no code was meant to run.
func (q *inquiry) last() *execution {
	for _, x := range slices.Backward(q.runs) {
		if !x.wasWords() {
			return x
		}
	}
	return nil
}

// word words the reply: the answer, and how it came about.
func (q *inquiry) word(reply *Reply, a *agent.Answer) {
	last := q.last()
	reply.IsError = a.End != agent.Answered || last != nil && last.reply.IsError
	var b blocks
	if words := strings.TrimSpace(a.Words); words != "" {
		b.text(inert(excerpt.Middle(words, shownWords)))
	}
	if a.End != agent.Answered {
		b.text(escaped(a.Why))
	}
	if len(a.Unfounded) > 0 {
		b.text(unfounded(a.Unfounded))
	}
	for _, x := range q.runs {
		for _, sentence := range x.replayed {
			if x != last {
				b.text(escaped(sentence))
			}
		}
	}
	var notes []string
	var printed map[string]int64
	if last != nil {
		b.fenceOf("python", "Code:", excerpt.Middle(last.code(), shownCode))
		if last.result == nil { // it was refused
			b.text(last.reply.Text)
		} else {
			last.wordOutcome(&b)
			notes = last.notes()
		}
		printed = last.printed
	}
	installed := q.installed()
	if text := installed.wordPackages(); text != "" {
		b.text(escaped(text))
	}
	wordFiles(&b, reply.Files, printed)
	b.notes(notes)
	b.text(effort(reply))
	reply.Text = b.String()
}

const (
	// shownWords is what the text shows of a model's words, shownCode of its code.
	shownWords = 12_000
	shownCode  = 12_000
	// toldNumbers is how many numbers without ground are named.
	toldNumbers = 5
)

// installed is what all runs have installed.
func (q *inquiry) installed() shipment {
	var all shipment
	for _, x := range q.runs {
		all.packages = append(all.packages, x.shipment.packages...)
		all.removed = append(all.removed, x.shipment.removed...)
	}
	return all
}

// unfounded marks what a model says as its own word.
func unfounded(numbers []string) string {
	text := listed(numbers, toldNumbers, code)
	if len(numbers) == 1 {
		return "The number " + text + " in this answer is the model's own word: nothing that was run has shown it."
	}
	return "The numbers " + text + " in this answer are the model's own word: nothing that was run has shown them."
}

// effort says in one line what the answer took.
func effort(r *Reply) string {
	m := r.Model
	text := fmt.Sprintf("%s: %s, %s, %s in and %s out", code(m.Name), counted(int64(len(r.Runs)), "run"), counted(int64(m.Requests), "request"),
		counted(int64(m.Usage.Input), "token"), counted(int64(m.Usage.Output), "token"))
	if m.Usage.Estimated {
		text += " (estimated)"
	}
	if m.Cost > 0 {
		text += fmt.Sprintf(", cost %.4f", m.Cost)
	}
	return "By " + text + "."
}
