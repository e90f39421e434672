// Package eval measures how well a model answers: it puts tasks to the program, as a person
// would, and lets Python of the tasks judge what came of it.
//
// A [Task] is what is asked, in one or several turns, files that are there before, and a check:
// Python that asserts something about the answer, what the code has printed, and the files. [Read]
// reads tasks, [Starter] returns those that are inside, [Run] plays them, [Prove] shows that checks
// tell right from wrong.
//
// # Trust
//
// Tasks are the operator's. What a model answers, and what its code prints and writes, is hostile. So
// a check runs in a guest of its own, which gets copies of the files and the texts as data, and it
// imports nothing from among those files. Its message is text for a person, bounded.
//
// # Failure
//
// A task that is not solved is a result. An [Attempt] that could not be played to its end, since the
// model or the program fails, is broken: it says nothing about the model. After maxBroken of them
// in a row Run stops.
package eval

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"runpython/internal/chat"
	"runpython/internal/llm"
)

// A Program is what tasks are put to.
type Program interface {
	// Turn runs one turn; see chat.Service.
	Turn(ctx context.Context, r chat.Request) (*chat.Reply, error)
	// OpenFile returns the content that a file's URI names, which the caller closes.
	OpenFile(ctx context.Context, owner, uri string) (chat.File, io.ReadCloser, error)
	// PutFile writes a file into /work of a chat and returns its id; chatID "" begins one.
	PutFile(ctx context.Context, owner, chatID, path string, r io.Reader) (id string, err error)
	// Model is the model that turns ask, nil when none is configured.
	Model() llm.Model
}

// owner is whom the chats of tasks belong to, so that nobody finds them among their own.
const owner = "eval"

// maxBroken is how many attempts in a row may break before Run gives up.
const maxBroken = 3

// Options say how tasks are played.
type Options struct {
	Repeat   int  // how often each task is played, at least 1
	Parallel int  // attempts at once, at least 1
	OneShot  bool // ask the model once and run its code once, without the loop
	// Begun and Done, if not nil, are called when an attempt begins and when a task has been played as
	// often as it should, in the order of the tasks; one at a time.
	Begun func(task string)
	Done  func(TaskReport)
}

// An Attempt is one playing of a task.
type Attempt struct {
	Passed bool
	Broken bool   // it could not be played to its end: neither passed nor failed
	Why    string // it has not passed, in one line; "" when it has
	Use
	Duration time.Duration // of the turns, without what is around them
}

// Use is what an attempt took.
type Use struct {
	Runs      int // of code
	Requests  int // to the model
	Tokens    llm.Usage
	Cost      float64 // in the currency of the configured prices
	Unfounded int     // turns whose answer has numbers that nothing supports
}

// add returns the sum of two uses.
func (u Use) add(v Use) Use {
	return Use{
		Runs: u.Runs + v.Runs, Requests: u.Requests + v.Requests, Tokens: u.Tokens.Add(v.Tokens),
		Cost: u.Cost + v.Cost, Unfounded: u.Unfounded + v.Unfounded,
	}
}

// A TaskReport is what came of one task.
type TaskReport struct {
	Name     string
	Attempts []Attempt
}

// Passed counts the attempts that have passed.
func (t TaskReport) Passed() int {
	n := 0
	for _, a := range t.Attempts {
		if a.Passed {
			n++
		}
	}
	return n
}

// A Report is what came of a set of tasks.
type Report struct {
	Model   string // its name
	OneShot bool
	Tasks   []TaskReport // in the order of the set; one that was not reached has fewer attempts
}

// Total is the sum of a report.
type Total struct {
	Attempts int // that were played to their end
	Passed   int
	Broken   int
	Use
	Duration time.Duration
}

// Rate returns the part of the attempts that have passed, 0 to 1; 0 without any.
func (t Total) Rate() float64 {
	if t.Attempts == 0 {
		return 0
	}
	return float64(t.Passed) / float64(t.Attempts)
}

// Total sums the report up. Broken attempts are counted and are in no other number.
func (r *Report) Total() Total {
	var sum Total
	for _, t := range r.Tasks {
		sum.Passed += t.Passed()
		for _, a := range t.Attempts {
			if a.Broken {
				sum.Broken++
				continue
			}
			sum.Attempts++
			sum.Use, sum.Duration = sum.add(a.Use), sum.Duration+a.Duration
		}
	}
	return sum
}

// Run plays tasks. When ctx ends or too many attempts break, it returns what there is, and why it
// has stopped.
func Run(ctx context.Context, p Program, tasks []Task, o Options) (*Report, error) {
	report := &Report{Model: p.Model().Name(), OneShot: o.OneShot, Tasks: make([]TaskReport, len(tasks))}
	for i, t := range tasks {
		report.Tasks[i].Name = t.Name
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	r := &round{program: p, options: o, report: report, stop: stop}
	queue := make(chan int)
	var workers sync.WaitGroup
	for range o.Parallel {
		workers.Go(func() {
			for i := range queue {
				r.begin(tasks[i])
				if a := r.play(ctx, tasks[i]); ctx.Err() == nil {
					r.finish(i, a)
				}
			}
		})
	}
	for n := range len(tasks) * o.Repeat {
		select {
		case queue <- n / o.Repeat:
		case <-ctx.Done():
		}
	}
	close(queue)
	workers.Wait()
	return report, context.Cause(ctx)
}

// A round is one playing of a set of tasks.
type round struct {
	program Program
	options Options
	stop    context.CancelCauseFunc

	// mu guards what follows, and makes calls of the options one at a time.
	mu     sync.Mutex
	report *Report
	told   int // tasks that Done was called for
	broken int // attempts in a row
}

func (r *round) begin(t Task) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.options.Begun != nil {
		r.options.Begun(t.Name)
	}
}

// finish notes an attempt at the task of that index.
func (r *round) finish(i int, a Attempt) {
	r.mu.Lock()
	defer r.mu.Unlock()
	task := &r.report.Tasks[i]
	task.Attempts = append(task.Attempts, a)
	for r.told < len(r.report.Tasks) && len(r.report.Tasks[r.told].Attempts) == r.options.Repeat {
		if r.options.Done != nil {
			r.options.Done(r.report.Tasks[r.told])
		}
		r.told++
	}
	r.broken++
	if !a.Broken {
		r.broken = 0
	}
	if r.broken == maxBroken {
		r.stop(fmt.Errorf("%d attempts in a row could not be played, the last one because of this: %s", maxBroken, a.Why))
	}
}
