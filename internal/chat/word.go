package chat

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"runpython/internal/excerpt"
	"runpython/internal/kernel"
	"runpython/internal/message"
)

// MaxTextBytes bounds the text of a reply: about 10,000 tokens, which every client's model can take.
const MaxTextBytes = 40_000

// MaxStreamBytes bounds each stream in a Run.
const MaxStreamBytes = 64 << 10

const (
	// shownStream is what the text shows of a stream; the whole is a file.
	shownStream = 16_000
	// shownValue is what the text shows of a value, a table or a traceback.
	shownValue = 12_000
)

// needsCode answers a message without code.
const needsCode = "No Python code was found in the message, and no language model is configured that could write it. " +
	"Send Python code: a fenced block that begins with ```python, or code alone. It runs at once, and the chat_id of the reply continues with its variables."

// noVariable says why a message of one name ended in a NameError.
const noVariable = "A message that is only a name shows that variable, since no language model is configured that could answer anything else. " +
	"Send Python code: a fenced block that begins with ```python, or code alone."

// noProse says why a message that may be prose ended in a NameError.
const noProse = "The message was taken as Python, since no language model is configured that could answer anything else. " +
	"Send Python code: a fenced block that begins with ```python, or code alone."

// withoutCodeText answers a message that has nothing to run, with what was left out of it.
func withoutCodeText(m message.Message) string {
	var b blocks
	b.text(needsCode)
	b.notes(m.Notes)
	return b.String()
}

// word fills in the reply: its run, its text, and whether it is an error.
func (x *execution) word() {
	r := x.result
	x.reply.Packages = x.shipment.packages
	x.reply.Runs = append(x.reply.Runs, x.newRun())
	x.reply.IsError = x.reply.IsError || r.Status != kernel.OK && (r.Status != kernel.Exited || r.ExitCode != 0)
	var b blocks
	x.wordOutcome(&b)
	installed := x.shipment.wordPackages()
	if b.empty() && len(r.Images) == 0 && installed == "" {
		b.text("The code ran and printed nothing.")
	}
	if installed != "" {
		b.text(escaped(installed))
	}
	wordFiles(&b, x.reply.Files, x.printed)
	b.notes(x.notes())
	x.reply.Text = b.String()
}

// wordOutcome tells what came of a run, apart from packages, files and notes.
func (x *execution) wordOutcome(b *blocks) {
	r := x.result
	if limit := x.limitSentence(); limit != "" {
		b.text(limit)
	}
	x.wordProblems(b)
	b.fence("Output:", r.Stdout.Text(shownStream))
	b.fence("Standard error:", r.Stderr.Text(shownStream))
	x.wordValue(b)
	if r.Error != nil && r.Status != kernel.Memory && r.Status != kernel.TimedOut && r.Status != kernel.Canceled {
		b.fence("Error:", excerpt.Middle(x.traceback(), shownValue))
	}
	if r.Status == kernel.Exited {
		b.text(exitSentence(r))
		b.fence("It said:", excerpt.Middle(r.ExitText, shownValue))
	}
	if hint := x.hint(); hint != "" {
		x.reply.Problems = append(x.reply.Problems, hint)
		b.text(hint)
	}
	b.fence("Printed between the calls, by what an earlier one left running:", r.Late.Text(shownValue))
}

func (x *execution) newRun() Run {
	r := x.result
	run := Run{
		Stdout: r.Stdout.Text(MaxStreamBytes), Stderr: r.Stderr.Text(MaxStreamBytes), Status: r.Status, Duration: r.Duration, Error: x.limitSentence(),
	}
	run.Code, run.Limited = x.chosen().Code, run.Error != ""
	if r.Value != nil {
		run.Value = r.Value.Text
	}
	if r.Error != nil && run.Error == "" {
		run.Error = x.traceback()
	}
	if r.Status == kernel.Exited && r.ExitCode != 0 && run.Error == "" {
		run.Error = exitSentence(r)
		if r.ExitText != "" {
			run.Error += " It said: " + r.ExitText
		}
	}
	return run
}

// wordProblems tells what went wrong beside the code.
func (x *execution) wordProblems(b *blocks) {
	x.reply.Problems = x.problems
	for _, p := range x.problems {
		b.text(escaped(p))
	}
	b.fence("The end of what the build printed:", x.shipment.buildLog)
}

// chosen returns the candidate that was run, an empty one if the guest names none that is there.
func (x *execution) chosen() message.Candidate {
	at := x.result.Chosen
	if at < 0 || at >= len(x.message.Candidates) {
		return message.Candidate{}
	}
	return x.message.Candidates[at]
}

// traceback returns the text of an exception. A line that only notebooks understand is a mere
// SyntaxError to Python, so what to write instead follows.
func (x *execution) traceback() string {
	r, refusal := x.result, x.chosen().Refusal
	if refusal == "" {
		return r.Error.Traceback
	}
	return strings.TrimRight(r.Error.Traceback, "\n") + "\n" + refusal + "\n"
}

// hint says what an error means here, "" when there is nothing to add.
func (x *execution) hint() string {
	r := x.result
	switch {
	case r.Error == nil:
		return ""
	case x.mayBeProse() && x.message.Lone != "":
		return noVariable
	case x.mayBeProse():
		return noProse
	}
	if hint := x.missingHint(r.Error); hint != "" {
		return hint
	}
	hint := x.service.options.Limits.hintFor(r.Error)
	if hint == "" || !strings.Contains(r.Error.Message, noSpace) {
		return hint
	}
	room, err := x.service.options.Content.Room()
	if err != nil || room >= x.service.options.Limits.WorkBytes {
		return hint
	}
	return hint + fmt.Sprintf(" But the server's disk has room for %s only: tell the operator.", excerpt.Size(room))
}

func (x *execution) wordValue(b *blocks) {
	r := x.result
	if r.Table != nil {
		if table := tableText(r.Table.Markdown, shownValue); table != "" {
			b.text(fmt.Sprintf("Value, %s × %s:", counted(r.Table.Rows, "row"), counted(r.Table.Columns, "column")))
			b.text(table)
			return
		}
	}
	if r.Value != nil {
		b.fence("Value:", excerpt.Middle(r.Value.Text, shownValue))
	}
}

// counted returns a number of things in words: 1 row, 5,000,000 rows.
func counted(n int64, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits + " " + thing + "s"
}

// limitSentence tells which limit ended the run, in numbers, what became of the
// variables and what to do; "" when none did.
func (x *execution) limitSentence() string {
	r, limits := x.result, x.service.options.Limits
	variables := "The variables are kept."
	if r.Reset {
		variables = "The variables are lost, the files are kept."
	}
	if r.Lost {
		variables = "The variables are lost, and so are files that this run wrote."
	}
	switch r.Status {
	case kernel.TimedOut:
		return fmt.Sprintf("Stopped after %s: that is the time limit of a run (--run-timeout). %s Do the work in smaller steps, or ask the operator for more time.",
			seconds(x.timeout()), variables)
	case kernel.Memory:
		return fmt.Sprintf("Stopped: the code needed more than %s of memory, the limit of a chat (--memory). %s Work on less data at a time.",
			excerpt.Size(limits.MemoryBytes), variables)
	case kernel.Files:
		return fmt.Sprintf("Stopped: the code made more than %d files in /work, the limit of a chat. %s Delete files or use fewer.", limits.WorkFiles, variables)
	case kernel.Canceled:
		return fmt.Sprintf("Stopped after %s, because the call was stopped. %s", seconds(r.Duration), variables)
	case kernel.Crashed:
		how := fmt.Sprintf("ended with status %d", r.ExitCode)
		switch {
		case r.Signal != "":
			how = "crashed (" + r.Signal + ")"
		case r.Lost:
			how = "ended with its sandbox"
		case r.ExitCode == kernel.ChannelLost:
			how += ", as it does when code closes descriptors that it has not opened"
		}
		return fmt.Sprintf("The interpreter %s. %s The next call begins with a new interpreter.", how, variables)
	case kernel.OK, kernel.Failed, kernel.Exited, kernel.NotCode: // no limit
	}
	return ""
}

func (x *execution) timeout() time.Duration {
	limit := x.service.options.Limits.RunTimeout
	if x.request.RunTimeout > 0 {
		limit = min(limit, x.request.RunTimeout)
	}
	return limit
}

func exitSentence(r *kernel.Result) string {
	return fmt.Sprintf("The code ended itself with exit status %d.", r.ExitCode)
}

// noSpace is how the system says that a disk is full.
const noSpace = "[Errno 28]"

// hints tell, by the system's words for it, which limit an error comes from, in numbers.
func (l Limits) hints() map[string]string {
	return map[string]string{
		"[Errno 27]":             fmt.Sprintf("/work may hold %s, also in one file (--work-size).", excerpt.Size(l.WorkBytes)),
		"[Errno 122]":            fmt.Sprintf("/work may hold %d files and folders: delete some, or use fewer.", l.WorkFiles),
		noSpace:                  fmt.Sprintf("/work may hold %s (--work-size); /tmp and /dev/shm hold %s each.", excerpt.Size(l.WorkBytes), excerpt.Size(l.MemoryBytes/2)),
		"[Errno 24]":             fmt.Sprintf("A process may have %d files open (--open-files).", l.OpenFiles),
		"[Errno 11]":             fmt.Sprintf("A chat may have %d processes and threads (--processes).", l.Processes),
		"can't start new thread": fmt.Sprintf("A chat may have %d processes and threads (--processes).", l.Processes),
	}
}

// hintFor says what an error means in this sandbox, "" when there is nothing to add.
func (l Limits) hintFor(e *kernel.Exception) string {
	for words, hint := range l.hints() {
		if strings.Contains(e.Message, words) {
			return hint
		}
	}
	// Libraries have errors of their own for it; the system's words are in all of them.
	for _, words := range []string{"Network is unreachable", "Name or service not known", "Temporary failure in name resolution"} {
		if strings.Contains(e.Message, words) {
			if l.Egress != "" && l.Egress != "none" {
				return "The sandbox has no network but a proxy, which HTTP clients find in HTTPS_PROXY; what it lets through is up to the operator (--egress)."
			}
			return "The sandbox has no network."
		}
	}
	return ""
}

// partOf says how much of the output a result holds.
func partOf(f File, printed int64) string {
	if f.Size < printed {
		return " of " + counted(printed, "byte") + ", the middle is left out"
	}
	return ""
}

// wordFiles lists files; printed is how many bytes the streams had of which some are results.
func wordFiles(b *blocks, files []File, printed map[string]int64) {
	if len(files) == 0 {
		return
	}
	lines := make([]string, 0, len(files))
	for _, f := range files {
		what := counted(f.Size, "byte")
		if f.Result {
			what = "the output, " + what + partOf(f, printed[f.Path])
		}
		if f.Skipped != "" {
			what = "not fetched: " + f.Skipped
		}
		lines = append(lines, fmt.Sprintf("- %s (%s)", code(shortPath(f.Path)), what))
	}
	b.text("Files:\n" + strings.Join(lines, "\n"))
}

// notes are what the reading of the message and the run have to say beside.
func (x *execution) notes() []string {
	var notes []string
	if note := x.chosen().Note; note != "" {
		notes = append(notes, note)
	}
	notes = append(notes, x.message.Notes...)
	notes = append(notes, x.shipment.warnings...)
	return append(notes, x.result.Notes...)
}

func seconds(d time.Duration) string {
	if d%time.Second == 0 {
		return fmt.Sprintf("%d s", d/time.Second)
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}
