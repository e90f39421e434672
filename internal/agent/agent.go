// Package agent answers requests in plain language: it asks a model, runs the Python that the
// model writes, shows the model what came of it, and ends with an answer or at a limit.
//
// An [Agent] is made once of its [Options]; [Agent.Answer] carries out one [Task], in the steps that stand
// in loop.go. How model and code speak with each other is a [Protocol]: tool calls, or fenced blocks. What a
// chat keeps of a task is an [Exchange], and a list of them is all that later tasks know of it.
//
// # Trust
//
// The model is hostile: it may have read, in a file or in what code prints, text of somebody who wants to
// steer it. All that it can do is name code and packages, which whoever runs them judges; it cannot
// widen a limit, a policy or what it is shown. Output goes to it between marks that nobody can know who
// writes the output, see data.go. It is shown the chat of its task and nothing else.
//
// # Failure
//
// A limit, a model that cannot be used or says nothing of use, and code that does not come right are an
// [Answer] whose End and Why tell of it, with what there is. An error is that of Task.Run or of the context.
package agent

import (
	"context"

	"runpython/internal/llm"
	"runpython/internal/message"
)

// A Task is a request that an Agent is to carry out.
type Task struct {
	Message string     // of the person
	History []Exchange // what was said and done in the chat before, the oldest first
	// Run runs code in the chat. An error of it ends the task: the chat is gone, or the caller. Code
	// that fails is an Outcome.
	Run func(ctx context.Context, c Code) (*Outcome, error)
	// Progress, if not nil, is told what is being done: "writing code", "fixing: KeyError".
	Progress func(step string)
}

// Code is Python that a model has written.
type Code struct {
	Source string // at most MaxCodeBytes
	// Readings are Source and, after it, readings of it in which slips of typing are repaired: the first
	// one that compiles is to be run. There is at least one.
	Readings []message.Candidate
	// Packages are requirements that it asks for beside what the code imports, in the form of PEP 508; at
	// most MaxPackages. Whether they may be installed is decided by whoever runs the code.
	Packages []string
}

// An Outcome is what came of running code.
type Outcome struct {
	Text    string      // for the model: output, value, error, files, as a person sees it too
	Code    string      // the reading that was run, "" for Code.Source
	Error   string      // "KeyError: 'a'" or the limit that ended the run, "" when it went well
	Missing string      // the module that the code has not found and that may be installed: it is run again with it; "" for none
	Images  []llm.Image // that the code showed
}

// An Exchange is one turn of a chat as a model is told of it later. It is kept with the chat.
type Exchange struct {
	Message string `json:"message"`
	Steps   []Step `json:"steps,omitempty"`
	Answer  string `json:"answer,omitempty"` // the model's last words, "" where no model took part
}

// A Step is one run in an Exchange.
type Step struct {
	Said   string `json:"said,omitempty"` // what the model wrote before the code
	Code   string `json:"code"`
	Result string `json:"result"` // Outcome.Text, maybe shortened
	Failed bool   `json:"failed,omitempty"`
}

// An End tells how a task ended.
type End string

// The ends. All but Answered are told to the person, with what there is.
const (
	Answered End = "answered"
	Runs     End = "runs"     // as many runs as are allowed
	Tokens   End = "tokens"   // as many tokens as are allowed
	Money    End = "money"    // as much money as is allowed
	Time     End = "time"     // the time of a turn
	Repeated End = "repeated" // the same code failed twice
	Refused  End = "refused"  // the model declines
	Failed   End = "failed"   // the model cannot be used, or answers nothing of use
)

// An Answer is what an Agent has to say in the end.
type Answer struct {
	End   End
	Words string // of the model; may be "" where End is not Answered
	Why   string // one or two sentences for the person where End is not Answered: what happened, and what to do
	// Unfounded are numbers of Words that are in nothing that the model was given in this chat, as
	// they stand there.
	Unfounded []string
	Exchange  Exchange
	Runs      int // that the model asked for, reruns after an install included
	Requests  int // to the model
	Usage     llm.Usage
	Cost      float64 // in the currency of the configured prices, 0 without any
}
