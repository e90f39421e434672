package agent

import (
	"context"
	"crypto/rand"
	"maps"
	"slices"
	"strings"

	"runpython/internal/llm"
)

// An Agent carries out tasks. It is safe for concurrent use, keeps nothing of a task but what it learns about
// the model, and has nothing to be closed.
type Agent struct {
	options Options
	marker  marker
	gauge   gauge
	chooser *chooser
	prompts map[Protocol]prompt
}

// New returns an Agent. It panics where Model or Log is missing.
func New(o Options) *Agent {
	if o.Model == nil || o.Log == nil {
		panic("agent: New without a Model or a Log")
	}
	o = o.withDefaults()
	a := &Agent{options: o, chooser: newChooser(o), prompts: map[Protocol]prompt{}}
	a.marker.secret = make([]byte, 32)
	_, _ = rand.Read(a.marker.secret) // never returns an error
	for _, p := range []Protocol{Tools, Fenced} {
		prompt, err := promptFor(p, o)
		if err != nil {
			panic(err) // the files are part of the program
		}
		a.prompts[p] = prompt
	}
	return a
}

// Model returns the name of the model, as the operator has it.
func (a *Agent) Model() string { return a.options.Model.Name() }

// Answer carries out a task. Limits, a model that fails and code that fails are an Answer; an error is
// that of t.Run or that of ctx, and then there is no Answer. Answer calls t.Run and t.Progress from its own
// goroutine, one at a time.
func (a *Agent) Answer(ctx context.Context, t Task) (*Answer, error) {
	w := &work{
		agent: a, task: t, protocol: a.chooser.protocol(), failures: map[string]int{},
		conversation: conversation{marker: a.marker, history: bounded(t.History), message: t.Message},
		answer:       &Answer{End: Answered},
	}
	working, cancel := context.WithTimeout(ctx, a.options.working())
	defer cancel()
	for w.at != ended {
		err := w.step(working)
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case working.Err() != nil:
			w.endOfTime()
		default:
			return nil, err
		}
	}
	w.finish()
	return w.answer, nil
}

// A state is where a task stands.
type state int

// The states. A task begins with asking; reading follows it, and leads to running, back to asking, or
// to the end.
const (
	asking  state = iota // the model is to be asked for its next step
	reading              // it has replied
	running              // it wants code to be run
	ended                // the answer is there
)

// work is a task under way.
type work struct {
	agent        *Agent
	task         Task
	protocol     Protocol
	conversation conversation
	answer       *Answer

	at      state
	reply   *llm.Response
	move    move // what the reply means
	shrinks int  // how often the server has found the conversation too long

	called     bool // the model has called the tool
	astray     int  // replies in a row that missed the protocol
	complaints int  // replies in a row that were of no use

	last     *Outcome       // of the last run, nil before the first
	lastCode string         // … its code, normalised
	same     int            // runs in a row that gave the output of the one before
	failures map[string]int // of each code, normalised
	steps    []Step         // with whole outputs
}

// step does what is due in the state that the task is in.
func (w *work) step(ctx context.Context) error {
	switch w.at {
	case asking:
		return w.ask(ctx)
	case reading:
		w.read()
	case running:
		return w.run(ctx)
	case ended:
	}
	return nil
}

// ask asks the model for its next step.
func (w *work) ask(ctx context.Context) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	r, bytes := w.request()
	if w.overBudget(w.agent.gauge.tokens(bytes)) {
		return nil
	}
	w.progress(w.doing())
	w.answer.Requests++
	reply, err := w.agent.options.Model.Complete(ctx, r)
	if err != nil {
		return w.notAnswered(ctx, err)
	}
	w.answer.Usage = w.answer.Usage.Add(reply.Usage)
	w.answer.Cost += w.agent.options.Prices.of(reply.Usage)
	w.agent.gauge.learn(bytes, reply.Usage)
	w.reply, w.at = reply, reading
	return nil
}

// request returns the next request and its size in bytes.
func (w *work) request() (r llm.Request, bytes int) {
	o, prompt := w.agent.options, w.agent.prompts[w.protocol]
	r = llm.Request{System: prompt.system, Tools: w.protocol.tools(o.Facts), MaxTokens: w.replyTokens(), Extra: o.Extra}
	example := prompt.example
	if w.ranWell() && o.isSmall() {
		example = nil // a small model would put the result into words for the example's request
	}
	fixed := len(prompt.system) + sizeOfTools(r.Tools) + sizeOf(example)
	window := (o.Window - min(o.Window/replyShare, replyTokens)) >> w.shrinks
	said := w.conversation.fit(w.protocol, o.whole(), max(w.agent.gauge.bytes(window)-fixed, 0))
	r.Messages = slices.Concat(example, said)
	if w.ranWell() {
		r.Extra = inWords(o.Extra)
	}
	return r, fixed + sizeOf(said)
}

// ranWell reports whether the next reply may be an answer in words, since there is a result.
func (w *work) ranWell() bool { return w.last != nil && w.last.Error == "" }

// constraints are keys by which servers are told what form a reply must have. They would keep a model from
// answering in words.
func constraints() []string {
	return []string{
		"grammar", "guided_grammar", "guided_regex", "guided_choice", "guided_json",
		"structured_outputs", "response_format", "json_schema", "format",
	}
}

// inWords returns extra with its constraints set to nil, which takes them out of the request.
func inWords(extra map[string]any) map[string]any {
	out := maps.Clone(extra)
	for _, key := range constraints() {
		if _, ok := out[key]; ok {
			out[key] = nil
		}
	}
	return out
}

// doing says what the model is asked for.
func (w *work) doing() string {
	switch {
	case w.last == nil:
		return "writing code"
	case w.last.Error == "":
		return "answering"
	}
	return "fixing" + classOf(w.last.Error)
}

func (w *work) progress(step string) {
	if w.task.Progress != nil {
		w.task.Progress(step)
	}
}

// read decides what comes after a reply.
func (w *work) read() {
	m := read(w.reply, w.protocol, w.called, w.ranWell())
	w.move = m
	if m.refused {
		w.endRefused(m.words)
		return
	}
	changed := w.protocol == Tools && w.changesOver(m)
	if changed {
		w.changeOver()
	}
	switch {
	case m.complaint != "" && changed:
		w.at = asking
		return
	case m.complaint != "":
		w.complain(m)
		return
	}
	w.complaints = 0
	switch {
	case len(m.jobs) == 0:
		w.say(m.words)
	case w.repeatsItself(m):
		// Small models send their code again where they should put its result into words.
		w.say(w.wordsOfResult(m.words))
	default:
		w.at = running
	}
}

// changesOver notes whether the model keeps to the protocol Tools, and reports whether Auto gives that up.
func (w *work) changesOver(m move) bool {
	w.called = w.called || len(m.entry.calls) > 0 && len(m.jobs) > 0
	if m.astray {
		w.astray++
		return w.agent.chooser.missed(w.astray)
	}
	if w.astray = 0; len(m.entry.calls) > 0 {
		w.agent.chooser.kept()
	}
	return false
}

// changeOver goes on in the protocol Fenced. What the model was told about its calls would only mislead it there.
func (w *work) changeOver() {
	w.agent.options.Log.Info("the model makes no use of tools: it is asked for fenced code", "model", w.agent.options.Model.Name())
	w.protocol, w.complaints = Fenced, 0
	w.conversation.entries = slices.DeleteFunc(w.conversation.entries, func(e entry) bool {
		return !slices.ContainsFunc(e.told, func(t told) bool { return t.code != "" })
	})
}

// complain tells the model that nothing could be done with its reply, or ends the task when it was told before.
func (w *work) complain(m move) {
	if m.complaint == saidNothing && w.ranWell() {
		w.say("")
		return
	}
	if w.complaints++; w.complaints > maxComplaints {
		w.endUseless()
		return
	}
	e := m.entry
	if len(e.told) == 0 {
		e.told = []told{{note: m.complaint, failed: true}}
	}
	w.conversation.entries = append(w.conversation.entries, e)
	w.at = asking
}

// say ends the task with an answer.
func (w *work) say(words string) {
	w.answer.Words = strings.TrimSpace(words)
	w.end(Answered, "")
}

// end ends the task.
func (w *work) end(how End, why string) { w.answer.End, w.answer.Why, w.at = how, why, ended }

// finish completes the answer.
func (w *work) finish() {
	w.answer.Exchange = Exchange{Message: w.task.Message, Steps: w.steps, Answer: w.answer.Words}.bounded()
	w.answer.Unfounded = unfounded(w.answer.Words, w.given())
}
