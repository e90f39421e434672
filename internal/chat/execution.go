package chat

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"runpython/internal/fault"
	"runpython/internal/kernel"
	"runpython/internal/message"
)

// turn is one turn under way; its chat belongs to it.
type turn struct {
	service *Service
	chat    *conversation
	request Request
	message message.Message
	reply   Reply

	printed   map[string]int64 // bytes of each stream, by the name of its result
	problems  []string         // what went wrong beside the code, as sentences
	misplaced []string         // paths of files that fill has left out
	shipment  shipment         // packages
	progress  sync.Mutex       // one report at a time
}

func readMessage(text string) (message.Message, error) {
	if len(text) > MaxMessageBytes {
		return message.Message{}, fault.New(fault.Invalid, nil,
			fmt.Sprintf("message has %d bytes; the most is %d: put large data into a file", len(text), MaxMessageBytes))
	}
	read := message.Read(text)
	if read.Kind == message.Empty {
		return read, fault.New(fault.Invalid, nil, "message is empty; send a request or Python code")
	}
	return read, nil
}

// run runs the code of the message and words the reply.
func (t *turn) run(ctx context.Context) (*Reply, error) {
	c := t.chat
	c.used.Store(time.Now().UnixNano())
	result, err := t.execute(ctx)
	if refused, ok := errors.AsType[*refusedError](err); ok {
		return t.refuse(ctx, refused), nil
	}
	if err != nil || result.Status == kernel.NotCode && !c.saved {
		t.undo(ctx)
	}
	if err != nil {
		return nil, err
	}
	if result.Status == kernel.NotCode && !c.saved {
		return &Reply{IsError: true, State: New, Text: withoutCodeText(t.message)}, nil
	}
	// From here on the caller may be gone, but what the code did is kept.
	save, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTimeout)
	defer cancel()
	if result.Status != kernel.NotCode {
		c.turns++
	}
	if text := t.wordMisplaced(); text != "" {
		t.problems = append(t.problems, text)
	}
	t.reply.ChatID = c.id
	if err := t.service.save(save, c); err != nil {
		t.undo(ctx)
		return nil, err
	}
	t.report(Progress{Step: "saving"})
	if err := errors.Join(t.keepFiles(save, result), t.keepResults(save, result)); err != nil {
		t.notKept(ctx, err)
	}
	if result.Status == kernel.NotCode {
		t.wordNotCode(result)
	} else {
		t.word(result)
	}
	if result.Reset {
		t.reply.State, t.reply.StateReason = Reset, "this run has ended the interpreter"
	}
	if result.Lost {
		t.service.logEnd(ctx, c, t.service.end(c, c.loss))
	}
	return &t.reply, nil
}

// undo takes back a chat that was begun with this turn and of which the caller hears nothing.
func (t *turn) undo(ctx context.Context) {
	if !t.chat.saved {
		t.service.drop(t.chat)
		t.service.logEnd(ctx, t.chat, t.service.end(t.chat, "the chat has not begun"))
	}
}

// wordNotCode answers a message whose bare text turned out not to be code. What was left
// running may have changed files all the same.
func (t *turn) wordNotCode(r *kernel.Result) {
	t.reply.IsError = true
	var b blocks
	b.text(needsCode)
	t.wordProblems(&b)
	t.wordFiles(&b)
	b.notes(t.message.Notes)
	b.notes(r.Notes)
	t.reply.Text = b.String()
}

// notKept tells that what the run made could not be kept; its output is shown all the same.
func (t *turn) notKept(ctx context.Context, err error) {
	_, shown := fault.Shown(err)
	t.service.options.Log.ErrorContext(ctx, "keep what a run made", "chat", t.chat.id, "error", err)
	t.reply.IsError = true
	t.problems = append(t.problems, "Files or pictures of this run could not be kept: "+shown)
}

// execute runs the code in the chat's interpreter, of which it starts one if
// there is none. An interpreter that is lost before the code has begun is replaced once.
func (t *turn) execute(ctx context.Context) (*kernel.Result, error) {
	for attempt := 0; ; attempt++ {
		if err := t.ensureKernel(ctx); err != nil {
			return nil, err
		}
		if attempt == 0 { // else they are among the packages that were put back
			if err := t.installAsked(ctx); err != nil {
				return nil, err
			}
		}
		t.report(Progress{Step: "running"})
		result, err := t.chat.kernel.Run(ctx, kernel.Request{
			Candidates: candidates(t.message), Timeout: t.request.RunTimeout, Output: t.output(),
			Ask: t.ask(), Questions: t.request.Questions,
			Supply: t.supply(), Installed: t.shipment.done, Changed: t.shipment.changed,
		})
		if err == nil {
			if result.Renewed && t.reply.State == Kept {
				t.reply.State, t.reply.StateReason = Reset, "its interpreter ended between the calls"
			}
			t.chat.loss = t.lossOf(result)
			return result, nil
		}
		t.service.logEnd(ctx, t.chat, t.service.end(t.chat, "its sandbox has ended unexpectedly"))
		if attempt > 0 || ctx.Err() != nil {
			return nil, t.stopped(ctx, fmt.Errorf("run: %w", err))
		}
		t.service.options.Log.WarnContext(ctx, "an interpreter was lost before a run", "chat", t.chat.id, "error", err)
	}
}

// stopped tells a call that its caller has stopped from a failure of ours.
func (t *turn) stopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fault.New(fault.Canceled, err, "the call was stopped before the code ran")
	}
	return err
}

// ensureKernel sees to it that the chat has an interpreter, and notes what became of its variables.
func (t *turn) ensureKernel(ctx context.Context) error {
	c := t.chat
	if c.kernel != nil && c.kernel.Lost() {
		t.service.logEnd(ctx, c, t.service.end(c, "its sandbox has ended unexpectedly"))
	}
	t.reply.State, t.reply.StateReason = c.state()
	if c.kernel != nil {
		return nil
	}
	t.report(Progress{Step: "starting"})
	if err := t.service.start(ctx, c, func(dir string) error { return t.fill(ctx, dir) }); err != nil {
		return t.stopped(ctx, fmt.Errorf("start an interpreter: %w", err))
	}
	return t.putBack(ctx)
}

// lossOf tells why the next turn will not find the variables, "" if it will.
func (t *turn) lossOf(r *kernel.Result) string {
	if !r.Reset {
		return ""
	}
	why := "the last run has ended its interpreter"
	switch r.Status {
	case kernel.TimedOut:
		why = "the last run did not react at its time limit, so its interpreter was ended"
	case kernel.Memory:
		why = "the last run needed too much memory, so its interpreter was ended"
	case kernel.Canceled:
		why = "the last run did not react when it was stopped, so its interpreter was ended"
	case kernel.Files:
		why = "the last run made too many files, so its interpreter was ended"
	case kernel.Crashed:
		why = "its interpreter crashed in the last run"
	case kernel.OK, kernel.Failed, kernel.Exited, kernel.NotCode: // these keep it
	}
	if r.Lost {
		why += "; files that that run wrote are lost too"
	}
	return why
}

func candidates(m message.Message) []kernel.Candidate {
	all := make([]kernel.Candidate, len(m.Candidates))
	for i, c := range m.Candidates {
		all[i] = kernel.Candidate{Code: c.Code, MustAct: c.MustAct, RunAnyway: c.RunAnyway}
	}
	return all
}

func (t *turn) report(p Progress) {
	if t.request.Progress == nil {
		return
	}
	t.progress.Lock()
	defer t.progress.Unlock()
	t.request.Progress(p)
}

// output returns what passes the code's output on as it comes, nil when nobody listens.
func (t *turn) output() func(stdout, stderr []byte) {
	if t.request.Progress == nil {
		return nil
	}
	var out, err splitter
	return func(stdout, stderr []byte) {
		p := Progress{Step: "output", Stdout: out.next(stdout), Stderr: err.next(stderr)}
		if p.Stdout != "" || p.Stderr != "" { // not a part of a character only
			t.report(p)
		}
	}
}

// splitter makes text of pieces of a stream that may be cut within a character.
type splitter struct{ rest []byte }

func (s *splitter) next(piece []byte) string {
	if len(piece) == 0 {
		return ""
	}
	data := append(s.rest, piece...)
	end := len(data)
	for i := 1; i < utf8.UTFMax && i <= len(data); i++ {
		if b := data[len(data)-i]; utf8.RuneStart(b) {
			if !utf8.FullRune(data[len(data)-i:]) {
				end = len(data) - i
			}
			break
		}
	}
	s.rest = append([]byte(nil), data[end:]...)
	return strings.ToValidUTF8(string(data[:end]), "\uFFFD")
}
