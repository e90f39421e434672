package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"runpython/internal/excerpt"
	"runpython/internal/llm"
	"runpython/internal/pattern"
)

// What the model is told beside an output.
const (
	thenAnswer  = "Answer the request in one short sentence."
	orGoOn      = "If the output does not answer it yet, send the next block of code instead."
	thenMend    = "The code failed. Send the whole corrected code in one ```python block."
	lastRun     = "No more code can be run for this request. Answer now, from what there is."
	sameOutput  = "The output is the same as before. Answer now, without code."
	notPackages = "These are no names of packages, or too many, and were left out: %s."
)

// run runs the next code that the reply asks for.
func (w *work) run(ctx context.Context) error {
	if w.answer.Runs >= w.agent.options.MaxRuns {
		w.endOfRuns()
		return nil
	}
	next := w.move.jobs[0]
	w.move.jobs = w.move.jobs[1:]
	outcome, err := w.carryOut(ctx, next.code)
	if err != nil {
		return err
	}
	source := next.code.Source
	if outcome.Code != "" {
		source = outcome.Code
	}
	w.note(next, source, outcome)
	if len(w.move.jobs) > 0 && outcome.Error == "" && w.answer.Runs < w.agent.options.MaxRuns {
		return nil
	}
	w.tell()
	switch {
	case outcome.Error != "" && w.failures[w.lastCode] > 1:
		w.end(Repeated, "Stopped: the model has sent the same code twice, and it failed both times. "+
			"The error is shown. Say more about what you want, or send the code as it should be.")
	case w.same >= maxSameOutputs:
		w.say("")
	case ctx.Err() != nil:
		return ctx.Err()
	default:
		w.at = asking
	}
	return nil
}

// carryOut runs code, and once more when a module is missing that can be had.
func (w *work) carryOut(ctx context.Context, c Code) (*Outcome, error) {
	w.progress("running")
	w.answer.Runs++
	outcome, err := w.task.Run(ctx, c)
	if err != nil {
		return nil, err
	}
	again := outcome.Error != "" && outcome.Missing != "" && !slices.Contains(c.Packages, outcome.Missing) && ctx.Err() == nil
	if !again || w.answer.Runs >= w.agent.options.MaxRuns {
		return outcome, nil
	}
	w.progress("running")
	w.answer.Runs++
	c.Packages = append(slices.Clone(c.Packages), outcome.Missing)
	return w.task.Run(ctx, c)
}

// note keeps what came of a run.
func (w *work) note(j job, source string, o *Outcome) {
	norm := normalised(source)
	if o.Error != "" {
		w.failures[norm]++
	}
	if w.ranWell() && o.Error == "" && o.Text == w.last.Text && (w.protocol == Fenced || norm == w.lastCode) {
		w.same++
	} else {
		w.same = 0
	}
	w.last, w.lastCode = o, norm
	t := &w.move.entry.told[j.at]
	t.code, t.output, t.failed = source, o.Text, o.Error != ""
	if len(j.leftOut) > 0 {
		t.note = fmt.Sprintf(notPackages, strings.Join(j.leftOut, ", "))
	}
	if w.agent.options.Images {
		t.images = shownImages(o.Images)
	}
	said := ""
	if j.at == 0 {
		said = w.move.entry.said
	}
	w.steps = append(w.steps, Step{Said: said, Code: source, Result: o.Text, Failed: o.Error != ""})
}

// shownImages returns the first pictures of those that a model may be shown.
func shownImages(all []llm.Image) []llm.Image {
	var shown []llm.Image
	for _, i := range all {
		if len(i.Data) <= MaxImageBytes && len(shown) < MaxImages {
			shown = append(shown, i)
		}
	}
	return shown
}

// tell adds the reply and what came of it to the conversation, with what is expected next.
func (w *work) tell() {
	e := &w.move.entry
	for _, j := range w.move.jobs {
		why := saidNotRun
		if w.ranWell() {
			why = saidNoMore
		}
		e.told[j.at] = told{note: why, failed: true}
	}
	w.move.jobs = nil
	note := ""
	switch {
	case w.answer.Runs >= w.agent.options.MaxRuns:
		note = lastRun
	case w.same > 0:
		note = sameOutput
	case w.protocol == Fenced && w.ranWell() && w.agent.options.isSmall():
		note = thenAnswer
	case w.protocol == Fenced && w.ranWell():
		note = thenAnswer + " " + orGoOn
	case w.protocol == Fenced:
		note = thenMend
	case len(e.calls) == 0:
		note = saidUseTool
	}
	t := &e.told[len(e.told)-1]
	t.note = paragraphs(t.note, note)
	w.conversation.entries = append(w.conversation.entries, *e)
}

// repeatsItself reports whether a reply has the code again that has just run well. With tools it may be meant: to see
// whether something has changed.
func (w *work) repeatsItself(m move) bool {
	return w.protocol == Fenced && w.ranWell() && len(m.jobs) == 1 && normalised(m.jobs[0].code.Source) == w.lastCode
}

// wordsOfResult returns words that stand beside repeated code if they tell of its result, which means that they
// have a number of its output.
func (w *work) wordsOfResult(words string) string {
	if sharesNumber(words, w.last.Text) {
		return words
	}
	return ""
}

// normalised returns code without what does not change what it does: comments on lines of their own,
// blank lines, and white space at the end of lines.
func normalised(code string) string {
	var out strings.Builder
	for line := range strings.Lines(code) {
		line = strings.TrimRight(line, " \t\r\n")
		if bare := strings.TrimLeft(line, " \t"); bare != "" && bare[0] != '#' {
			out.WriteString(line)
			out.WriteByte('\n')
		}
	}
	return out.String()
}

// exceptionClass matches the name of a class of exceptions. It comes from the guest.
var exceptionClass = pattern.New(`^[A-Za-z_][A-Za-z0-9_.]{0,59}$`)

// classOf returns ": KeyError" for "KeyError: 'a'", "" where no class stands there.
func classOf(text string) string {
	class, _, _ := strings.Cut(text, ":")
	if !exceptionClass().MatchString(class) {
		return ""
	}
	return ": " + class
}

// endRefused ends a task that the model declines.
func (w *work) endRefused(words string) {
	w.answer.Words = words
	w.end(Refused, "The model declines to carry this out. "+w.whatThereIs()+" Word the request in another way, or send Python code, which runs without a model.")
}

// endUseless ends a task with whose replies nothing can be done.
func (w *work) endUseless() {
	w.end(Failed, fmt.Sprintf("The model has sent %d replies in a row with which nothing could be done. %s Try again, word the request in another way, or send Python code, which runs without a model.",
		w.complaints, w.whatThereIs()))
}

// notAnswered decides what comes after a request that has failed.
func (w *work) notAnswered(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	kind := llm.KindOf(err)
	switch {
	case kind == llm.TooLong && w.shrinks < maxShrinks:
		w.shrinks++
		return nil
	case kind == llm.NoTools && w.protocol == Tools && w.agent.chooser.refused():
		w.changeOver()
		return nil
	}
	w.agent.options.Log.WarnContext(ctx, "the model has not answered", "model", w.agent.options.Model.Name(), "kind", string(kind), "error", err)
	message := "it ends with an error that the log of the server has"
	if kind != "" {
		message = excerpt.Begin(err.Error(), maxWhyBytes)
	}
	w.end(Failed, fmt.Sprintf("The model gave no answer: %s. %s %s", message, w.whatThereIs(), adviceFor(kind)))
	return nil
}

// maxWhyBytes bounds what an error of a model adds to a sentence.
const maxWhyBytes = 300

// adviceFor says what to do about a model that fails.
func adviceFor(kind llm.Kind) string {
	switch kind {
	case llm.Limited, llm.Overloaded, llm.Unreachable, llm.Cut:
		return "Try again later. Python code runs without a model."
	case llm.TooLong, llm.Oversized:
		return "Ask for less at once, or begin a new chat. Python code runs without a model."
	case llm.NoTools:
		return "Tell the operator: --model-protocol fenced does without tools. Python code runs without a model."
	case llm.Unauthorized, llm.NoModel, llm.Invalid:
	}
	return "Tell the operator. Python code runs without a model."
}
