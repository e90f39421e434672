package chat

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"runpython/internal/fault"
	"runpython/internal/kernel"
	"runpython/internal/message"
	"runpython/internal/store"
)

// execution is the run of some code, with all that is told of it; its chat belongs to it. A turn
// without a model is one; one with a model may have several.
type execution struct {
	service *Service
	chat    *conversation
	request Request
	message message.Message
	reply   Reply
	result  *kernel.Result // nil before the code has run

	printed   map[string]int64 // bytes of each stream, by the name of its result
	replayed  []string         // what was done to get the variables back, as sentences
	problems  []string         // what went wrong beside the code, as sentences
	again     int              // number of the turn of which it is a run that was before, else 0
	noted     bool             // the turn is noted right after a run of code, with the record of the chat
	initial   []store.File     // what fill puts into place, nil for the files of the chat
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

// run runs the code of the message and words the reply. Bare text that has turned out to be no
// code is not saved as a chat that has begun.
func (x *execution) run(ctx context.Context) (*Reply, error) {
	c := x.chat
	c.used.Store(x.service.options.Now().UnixNano())
	result, err := x.execute(ctx)
	if refused, ok := errors.AsType[*refusedError](err); ok {
		return x.refuse(refused), nil
	}
	if err != nil {
		return nil, err
	}
	x.result = result
	if result.Status == kernel.NotCode && !c.saved {
		return &Reply{IsError: true, State: New, Text: withoutCodeText(x.message)}, nil
	}
	// From here on the caller may be gone, but what the code did is kept.
	save, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTimeout)
	defer cancel()
	if result.Status != kernel.NotCode {
		c.runs++
	}
	if text := x.wordMisplaced(); text != "" {
		x.problems = append(x.problems, text)
	}
	x.reply.ChatID = c.id
	if err := x.record(save); err != nil {
		return nil, err
	}
	x.report(Progress{Step: "saving"})
	if err := errors.Join(x.keepFiles(save), x.keepResults(save)); err != nil {
		x.notKept(ctx, err)
	}
	if result.Status == kernel.NotCode {
		x.wordNotCode()
	} else {
		x.word()
	}
	if result.Reset {
		x.reply.State, x.reply.StateReason = Reset, "this run has ended the interpreter"
	}
	if result.Lost {
		x.service.logEnd(ctx, c, x.service.end(c, c.loss))
	}
	return &x.reply, nil
}

// record writes the record of the chat after a run. Where the turn is noted next, that writes the record as well. An
// error means that there is no chat.
func (x *execution) record(ctx context.Context) error {
	c := x.chat
	if c.saved && x.noted && x.result.Status != kernel.NotCode {
		return nil
	}
	if err := x.service.save(ctx, c); err != nil {
		if !c.saved || errors.Is(err, store.ErrLost) {
			return err
		}
		x.reply.IsError = true
		x.problems = append(x.problems, x.service.unrecorded(ctx, c, err))
	}
	return nil
}

// wasWords reports whether what was tried as code is for a model instead, if there is one.
func (x *execution) wasWords() bool { return x.notCode() || x.mayBeProse() }

// notCode reports whether the text that was tried turned out to be no Python.
func (x *execution) notCode() bool { return x.result != nil && x.result.Status == kernel.NotCode }

// mayBeProse reports whether bare text was taken as Python and has then named what is not there.
func (x *execution) mayBeProse() bool {
	return x.result != nil && x.result.Error != nil && x.result.Error.Type == "NameError" &&
		(x.message.Kind == message.Prose || x.message.Lone != "")
}

// wordNotCode answers a message whose bare text turned out not to be code. What was left
// running may have changed files all the same.
func (x *execution) wordNotCode() {
	x.reply.IsError = true
	var b blocks
	b.text(needsCode)
	x.wordProblems(&b)
	wordFiles(&b, x.reply.Files, nil)
	b.notes(x.message.Notes)
	b.notes(x.result.Notes)
	x.reply.Text = b.String()
}

// notKept tells that what the run made could not be kept; its output is shown all the same.
func (x *execution) notKept(ctx context.Context, err error) {
	_, shown := fault.Shown(err)
	x.service.options.Log.ErrorContext(ctx, "keep what a run made", "chat", x.chat.id, "error", err)
	x.reply.IsError = true
	x.problems = append(x.problems, "Files or pictures of this run could not be kept: "+shown)
}

// execute runs the code in the chat's interpreter, of which it starts one if
// there is none. An interpreter that is lost before the code has begun is replaced once.
func (x *execution) execute(ctx context.Context) (*kernel.Result, error) {
	for attempt := 0; ; attempt++ {
		if err := x.ensureKernel(ctx); err != nil {
			return nil, err
		}
		if attempt == 0 { // else they are among the packages that were put back
			if err := x.checkPython(); err != nil {
				return nil, err
			}
			if err := x.installAsked(ctx); err != nil {
				return nil, err
			}
			if err := x.fit(ctx); err != nil {
				return nil, err
			}
		}
		x.report(Progress{Step: "running"})
		x.chat.touched.Add(1)
		result, err := x.chat.kernel.Run(ctx, kernel.Request{
			Candidates: candidates(x.message), Timeout: x.request.RunTimeout, Output: x.output(),
			Ask: x.ask(), Questions: x.request.Questions,
			Supply: x.supply(), Installed: x.shipment.done, Changed: x.shipment.changed,
		})
		if errors.Is(err, errUnfit) {
			if err := x.fit(ctx); err != nil {
				return nil, err
			}
			continue
		}
		x.chat.fresh = false
		if err == nil {
			x.tellInterrupted()
			if result.Renewed && x.reply.State != New && x.reply.State != Reset {
				x.reply.State, x.reply.StateReason = Reset, "its interpreter ended between the calls"
			}
			x.chat.loss = x.lossOf(result)
			return result, nil
		}
		x.service.logEnd(ctx, x.chat, x.service.end(x.chat, lossEnded))
		if attempt > 0 || ctx.Err() != nil {
			return nil, x.stopped(ctx, fmt.Errorf("run: %w", err))
		}
		x.service.options.Log.WarnContext(ctx, "an interpreter was lost before a run", "chat", x.chat.id, "error", err)
	}
}

// stopped tells a call that its caller has stopped from a failure of ours.
func (x *execution) stopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fault.New(fault.Canceled, err, "the call was stopped before the code ran")
	}
	return err
}

// ensureKernel sees to it that the chat has an interpreter, and notes what became of its variables.
func (x *execution) ensureKernel(ctx context.Context) error {
	c := x.chat
	if c.kernel != nil && c.kernel.Lost() {
		x.service.logEnd(ctx, c, x.service.end(c, lossEnded))
	}
	x.reply.State, x.reply.StateReason = c.state()
	if c.kernel != nil {
		return nil
	}
	if c.replay != store.NoReplay {
		if done, err := x.replay(ctx); done || err != nil {
			return err
		}
	}
	if done, err := x.resume(ctx); done || err != nil {
		return err
	}
	x.report(Progress{Step: "starting"})
	if err := x.service.start(ctx, c, func(dir string) error { return x.fill(ctx, dir) }); err != nil {
		return x.stopped(ctx, fmt.Errorf("start an interpreter: %w", err))
	}
	return x.putBack(ctx)
}

// resume gives the chat the interpreter of its checkpoint, if it has a usable one.
func (x *execution) resume(ctx context.Context) (done bool, err error) {
	c := x.chat
	if !c.restorable() || c.replay != store.NoReplay {
		return false, nil
	}
	x.report(Progress{Step: "restoring"})
	lost, err := x.service.resume(ctx, c, func(environment string, preloaded bool) error {
		return x.restock(ctx, environment, preloaded)
	})
	if err != nil {
		return false, x.stopped(ctx, fmt.Errorf("restore an interpreter: %w", err))
	}
	if lost != "" {
		c.setCheckpoint(nil, 0)
		if c.loss == "" {
			c.loss = lost
		}
	}
	x.reply.State, x.reply.StateReason = c.state()
	return lost == "", nil
}

// tellInterrupted tells once that the run under way was interrupted when its server was killed, in a restored interpreter.
func (x *execution) tellInterrupted() {
	if x.chat.interrupted {
		x.problems = append(x.problems, "The server was killed while earlier code of this chat was running: that code was interrupted, and what it printed may be lost; what it had done until then is there.")
	}
	x.chat.interrupted, x.chat.resumed = false, false
}

// lossOf tells why the next turn will not find the variables, "" if it will.
func (x *execution) lossOf(r *kernel.Result) string {
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

// code is what was run, or was to be run.
func (x *execution) code() string {
	if x.result != nil {
		return x.chosen().Code
	}
	if len(x.message.Candidates) > 0 {
		return x.message.Candidates[0].Code
	}
	return ""
}

func (x *execution) report(p Progress) {
	x.progress.Lock()
	defer x.progress.Unlock()
	report(x.request, p)
}

// report passes on what is going on, to whoever wants to know it.
func report(r Request, p Progress) {
	if r.Progress != nil {
		r.Progress(p)
	}
}

// output returns what passes the code's output on as it comes, nil when nobody listens.
func (x *execution) output() func(stdout, stderr []byte) {
	if x.request.Progress == nil {
		return nil
	}
	var out, err splitter
	return func(stdout, stderr []byte) {
		p := Progress{Step: "output", Stdout: out.next(stdout), Stderr: err.next(stderr)}
		if p.Stdout != "" || p.Stderr != "" { // not a part of a character only
			x.report(p)
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
