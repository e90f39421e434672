package agent

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
)

// An answer is the word of the model. Those of its numbers that it cannot have from anywhere are told
// apart: that is the part of a wrong answer which a machine can see.
//
// A number is founded if it stands in the outputs, the code or the request of the task, in what the chat
// has before it, or among the limits that the model is told; if one that stands there gives it when rounded to the digits that
// it has; or as percent, thousand, million and the like of one. Signs are not looked at, nor how thousands and
// decimals are set apart. Whole numbers up to smallNumber, 100 %, ordinals, the numbers of list items and
// digits in names are no statements and are not looked at.

const (
	// MaxUnfounded is how many numbers of an answer are told.
	MaxUnfounded = 8
	// maxGivenBytes bounds the text in which numbers are looked for.
	maxGivenBytes = 1 << 20
	smallNumber   = 10
)

// unfounded returns the numbers of words that stand in none of the given texts, each once.
func unfounded(words string, given []string) []string {
	if words == "" {
		return nil
	}
	var all []string
	var known *knownNumbers // most answers have no number that needs it
	numbersIn(words, func(w written) bool {
		if w.label || w.isSmall() || slices.Contains(all, w.text) {
			return true
		}
		if known == nil {
			known = knownFrom(given)
		}
		if !known.founds(w) {
			all = append(all, w.text)
		}
		return len(all) < MaxUnfounded
	})
	return all
}

// sharesNumber reports whether a number of words stands in text.
func sharesNumber(words, text string) bool {
	known := knownFrom([]string{text})
	shares := false
	numbersIn(words, func(w written) bool {
		shares = !w.label && known.founds(w)
		return !shares
	})
	return shares
}

// isSmall reports whether w is a number that everybody says.
func (w written) isSmall() bool {
	return slices.ContainsFunc(w.readings, func(r []value) bool {
		return !slices.ContainsFunc(r, func(v value) bool {
			whole := v.is == math.Trunc(v.is) && v.unit >= 0.01
			return !whole || v.is > smallNumber
		})
	}) && (!strings.ContainsAny(w.text, "%.,") || strings.HasPrefix(w.text, "100") || w.readings[0][0].is == 0)
}

// knownNumbers are the numbers of texts.
type knownNumbers struct {
	values []float64 // sorted
	long   []string  // digits of those that a float64 does not hold
}

func knownFrom(given []string) *knownNumbers {
	k := &knownNumbers{}
	room := maxGivenBytes
	for _, text := range given {
		text = text[:min(len(text), room)]
		room -= len(text)
		numbersIn(text, func(w written) bool {
			for _, r := range append(w.readings, w.begin) {
				for _, v := range r {
					k.values = append(k.values, v.is)
					if v.long != "" {
						k.long = append(k.long, v.long)
					}
				}
			}
			return true
		})
	}
	sort.Float64s(k.values)
	return k
}

// founds reports whether w may be one of the known numbers, or a rounded one.
func (k *knownNumbers) founds(w written) bool {
	return slices.ContainsFunc(w.readings, func(r []value) bool {
		return !slices.ContainsFunc(r, func(v value) bool { return !k.has(v) })
	})
}

func (k *knownNumbers) has(v value) bool {
	if v.long != "" {
		// The last digit may be rounded.
		return slices.ContainsFunc(k.long, func(l string) bool {
			return l == v.long || len(l) > len(v.long) && strings.HasPrefix(l, v.long[:len(v.long)-1])
		})
	}
	if math.IsInf(v.is, 0) {
		return len(k.values) > 0 && math.IsInf(k.values[len(k.values)-1], 0)
	}
	// Half of the last digit, and what float64 loses.
	slack := v.unit/2 + math.Abs(v.is)*1e-12 + 1e-12*v.unit
	at := sort.SearchFloat64s(k.values, v.is-slack)
	return at < len(k.values) && k.values[at] <= v.is+slack
}

// given returns all texts that the model was given on this task, and what it wrote for them to come about.
func (w *work) given() []string {
	all := []string{w.task.Message}
	for _, s := range w.steps {
		all = append(all, s.Result)
	}
	for _, s := range w.steps {
		all = append(all, s.Code)
	}
	for _, e := range slices.Backward(w.conversation.history) {
		all = append(all, e.Message, e.Answer)
		for _, s := range e.Steps {
			all = append(all, s.Code, s.Result)
		}
	}
	return append(all, fmt.Sprint(w.agent.options.told()))
}
