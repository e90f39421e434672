package agent

import (
	"fmt"
	"time"

	"runpython/internal/llm"
)

const (
	// leastReply is how many tokens must be left of a budget for a request to make sense; smallReply how
	// many may be left for a reply before its length is bounded by what is left.
	leastReply = 64
	smallReply = 4_096
	// smallWindow is the largest window in which the length of a reply is bounded: some servers count it to
	// the conversation, and small models go on for ever.
	smallWindow = 32_768
	// answerReserve is kept of the time of a task for handing over what there is, or a part of the time where that is short.
	answerReserve = 5 * time.Second
	reserveShare  = 10
	// maxComplaints is how often in a row a model is told that its reply is of no use.
	maxComplaints = 2
	// maxSameOutputs is how often in a row code may give the output of the one before: a small model writes code for
	// ever. In the protocol Tools only the same code counts.
	maxSameOutputs = 2
)

// working returns how much of the time of a task is for models and code.
func (o Options) working() time.Duration {
	return o.Timeout - min(answerReserve, o.Timeout/reserveShare)
}

// whatThereIs ends a sentence about a limit.
func (w *work) whatThereIs() string {
	if w.answer.Runs == 0 {
		return "No code was run."
	}
	return "What the code has given so far is shown."
}

// overBudget reports whether the next request, of so many tokens, would pass a limit, and ends the task then.
func (w *work) overBudget(tokens int) bool {
	o, used := w.agent.options, w.answer.Usage.Input+w.answer.Usage.Output
	cost := w.answer.Cost + o.Prices.of(llm.Usage{Input: tokens})
	switch {
	case o.MaxTokens > 0 && used+tokens+leastReply > o.MaxTokens:
		w.end(Tokens, fmt.Sprintf("Stopped after %d tokens: the next request to the model has about %d, and a turn may have %d (--max-tokens). %s Ask for less at once.",
			used, tokens, o.MaxTokens, w.whatThereIs()))
	case o.MaxCost > 0 && cost > o.MaxCost:
		w.end(Money, fmt.Sprintf("Stopped: the turn has cost %.4f, and with the next request to the model it would cost more than the %g that it may (--max-cost). %s Ask for less at once.",
			w.answer.Cost, o.MaxCost, w.whatThereIs()))
	}
	return w.at == ended
}

// replyTokens returns the bound of the next reply, 0 for that of the vendor.
func (w *work) replyTokens() int {
	o := w.agent.options
	most := 0
	if o.Window <= smallWindow && (o.Local || o.Window < defaultWindow) {
		most = o.Window / replyShare
	}
	if o.MaxTokens > 0 {
		left := o.MaxTokens - w.answer.Usage.Input - w.answer.Usage.Output
		if left < smallReply && (most == 0 || left < most) {
			most = max(left, leastReply)
		}
	}
	return most
}

// endOfRuns ends a task whose model wants to run more code than it may.
func (w *work) endOfRuns() {
	runs := fmt.Sprintf("%d runs", w.answer.Runs)
	if w.answer.Runs == 1 {
		runs = "1 run"
	}
	w.end(Runs, fmt.Sprintf("Stopped after %s, the most that a turn may have (--max-runs), without an answer of the model. %s Ask to go on, or for a smaller step.",
		runs, w.whatThereIs()))
}

func (w *work) endOfTime() {
	w.end(Time, fmt.Sprintf("Stopped after %s, the longest that a turn may take (--turn-timeout). %s Ask to go on, or for a smaller step.",
		w.agent.options.Timeout, w.whatThereIs()))
}
