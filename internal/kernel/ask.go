package kernel

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// A Question is what code asks the person for, with input() or by reading standard
// input. Its texts come from the code and are hostile; they are valid UTF-8.
type Question struct {
	Prompt string // of input(), or a sentence that tells what is read; at most 4 KiB
	Output string // the end of what was printed since the answer before, without the prompt; at most 2 KiB
}

// An Outcome is what became of a Question.
type Outcome string

// The outcomes of a question.
const (
	Typed     Outcome = "typed"     // the person has answered with a text
	Declined  Outcome = "declined"  // the person does not want to answer
	Dismissed Outcome = "dismissed" // the person has closed the question
	Unasked   Outcome = "unasked"   // the question could not be shown
)

// An Answer is the outcome of a question.
type Answer struct {
	Outcome Outcome
	Text    string // for Typed: one line or several, at most 32 KiB
}

// Bounds of questions. More than the guest's own part of them ends the guest.
const (
	questionsPerRun = 100              // unless the Request says fewer
	questionTimeout = 10 * time.Minute // that the questions of a run stay open, together, unless the Config says otherwise
	promptBytes     = 4 << 10
	answerBytes     = 32 << 10 // of UTF-8; the answer has to fit into a packet
	contextBytes    = 2 << 10  // of output that goes with a question
)

// questions is how many questions the run may ask.
func (req Request) questions() int {
	switch {
	case req.Ask == nil:
		return 0
	case req.Questions > 0 && req.Questions < questionsPerRun:
		return req.Questions
	}
	return questionsPerRun
}

// ask takes a question of the code. Until it is answered the guest stands still, so that
// the wait neither counts as time of the run nor can be used to compute.
func (r *run) ask(ctx context.Context, m *message) error {
	k := r.kernel
	if len(m.body) > promptBytes {
		return fmt.Errorf("%w: a question of %d bytes", errProtocol, len(m.body))
	}
	if m.N != r.n { // of a run that was given up
		return nil
	}
	if r.asked++; r.asked > 2*questionsPerRun { // nobody would read that many refusals
		return fmt.Errorf("%w: %d questions in a run", errProtocol, r.asked)
	}
	switch {
	case r.why != "":
		return r.tell(m.ID, stopped, "")
	case r.pause != nil || r.outside.Load() || r.asked > r.request.questions():
		return r.tell(m.ID, "it may not ask now", "")
	}
	left := k.questionTimeout() - r.answering
	if left <= 0 {
		return r.tell(m.ID, r.late(), "")
	}
	k.stdout.drain()
	prompt := strings.ToValidUTF8(string(m.body), "\uFFFD")
	asked := Question{Prompt: prompt, Output: strings.TrimPrefix(k.stdout.context(prompt), r.echo)}
	id := m.ID
	r.standBy(ctx, left, func(why string) error { return r.tell(id, why, "") }, func(ctx context.Context) func() error {
		a := r.request.Ask(ctx, asked)
		late := ctx.Err() != nil
		return func() error { return r.answered(id, a, late) }
	})
	return nil
}

func (k *Kernel) questionTimeout() time.Duration {
	if k.config.QuestionTimeout > 0 {
		return k.config.QuestionTimeout
	}
	return questionTimeout
}

// answered tells the code the answer to a question, or why there is none.
func (r *run) answered(id int, a Answer, late bool) error {
	r.echo = ""
	text, refusal := strings.ToValidUTF8(a.Text, "\uFFFD"), ""
	switch {
	case a.Outcome == Typed && len(text) > answerBytes:
		refusal = fmt.Sprintf("it has %d bytes, the most is %d", len(text), answerBytes)
	case a.Outcome == Typed:
		line, _, _ := strings.Cut(text, "\n")
		r.echo = line + "\n"
		return r.tell(id, "", text)
	case a.Outcome == Declined:
		refusal = "the person declined to answer"
	case a.Outcome == Dismissed:
		refusal = "the person closed the question"
	case late:
		refusal = r.late()
	default:
		refusal = unable
	}
	return r.tell(id, refusal, "")
}

// late is why there is no answer when the run has waited for as long as it may.
func (r *run) late() string {
	most := minutes(r.kernel.questionTimeout())
	if r.asked > 1 {
		return "this run has waited " + most + " for answers, the most it may"
	}
	return "nobody answered within " + most
}

// tell sends the answer to a question, or why there is none.
func (r *run) tell(id int, refusal, text string) error {
	return r.kernel.wire.send(map[string]any{"op": "answer", "n": r.n, "id": id, "refused": refusal}, []byte(text))
}

// context returns the end of what was printed since it was last called in this run, without a
// prompt at its end.
func (s *stream) context(prompt string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	printed := s.run.printed()
	last := s.run.last(int(min(contextBytes+int64(len(prompt)), printed-s.told)))
	s.told = printed
	text := strings.TrimSuffix(strings.ToValidUTF8(string(last), ""), prompt)
	if over := len(text) - contextBytes; over > 0 {
		text = strings.ToValidUTF8(text[over:], "")
	}
	return text
}

// minutes says a duration as people do: 10 minutes, 30s.
func minutes(d time.Duration) string {
	switch {
	case d == time.Minute:
		return "1 minute"
	case d%time.Minute == 0:
		return fmt.Sprintf("%d minutes", d/time.Minute)
	}
	return d.String()
}
