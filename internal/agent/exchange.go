package agent

import (
	"slices"

	"runpython/internal/excerpt"
)

// Bounds of what a chat keeps.
const (
	// MaxExchangeBytes bounds an Exchange, all of its texts together.
	MaxExchangeBytes = 64 << 10
	// MaxExchanges and MaxHistoryBytes bound those of a chat; the oldest go.
	MaxExchanges    = 50
	MaxHistoryBytes = 256 << 10

	maxMessageBytes = 48 << 10 // of the message, for a model
	keptMessage     = 16 << 10 // … and as it is kept
	keptCode        = 16 << 10
	keptResult      = 4 << 10
	keptWords       = 8 << 10
	keptSteps       = 16
)

// Remember returns the exchanges of a chat with the latest one, within the bounds of this package. It does not
// change the array behind history. A turn without a model, in which the person has sent code, is an Exchange
// of one Step.
func Remember(history []Exchange, latest Exchange) []Exchange {
	return bounded(append(slices.Clip(history), latest.bounded()))
}

// HistoryBytes returns the bytes of all texts of exchanges.
func HistoryBytes(history []Exchange) int {
	n := 0
	for _, e := range history {
		n += e.size()
	}
	return n
}

// bounded returns the latest exchanges that are within the bounds of a history.
func bounded(history []Exchange) []Exchange {
	first, total := len(history), 0
	for first > 0 && len(history)-first < MaxExchanges {
		total += history[first-1].size()
		if total > MaxHistoryBytes {
			break
		}
		first--
	}
	return history[first:]
}

// size returns the bytes of all texts of e.
func (e Exchange) size() int {
	n := len(e.Message) + len(e.Answer)
	for _, s := range e.Steps {
		n += len(s.Said) + len(s.Code) + len(s.Result)
	}
	return n
}

// bounded returns e with its texts shortened, their middle left out, so that it keeps to MaxExchangeBytes. Of
// more steps than that allows, those in the middle go: the first tells how the task began, the last what it led to.
func (e Exchange) bounded() Exchange {
	e.Message, e.Answer = excerpt.Middle(e.Message, keptMessage), excerpt.Middle(e.Answer, keptWords)
	steps := slices.Clone(e.Steps)
	if n := len(steps); n > keptSteps {
		steps = slices.Delete(steps, 1, 1+n-keptSteps)
	}
	for i, s := range steps {
		steps[i] = Step{
			Said: excerpt.Middle(s.Said, keptResult), Code: excerpt.Middle(s.Code, keptCode),
			Result: excerpt.Middle(s.Result, keptResult), Failed: s.Failed,
		}
	}
	e.Steps = steps
	for len(e.Steps) > 1 && e.size() > MaxExchangeBytes {
		e.Steps = slices.Delete(e.Steps, (len(e.Steps)-1)/2, (len(e.Steps)-1)/2+1)
	}
	return e
}
