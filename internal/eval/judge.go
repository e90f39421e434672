package eval

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"runpython/internal/chat"
	"runpython/internal/excerpt"
)

// recordFolder is where what is judged is handed to prelude.py, beside the files of the task.
const recordFolder = ".runpython-eval/"

// prelude is what runs in a guest before a check; it gives the check its names.
//
//go:embed prelude.py
var prelude string

// A verdict is what a check says.
type verdict struct {
	passed bool
	why    string // it has not passed, in one line
	breaks bool   // it has ended with another exception than that of an assertion
}

// judge lets a check judge what came of a task. The files are in the room already. An error says that
// the check could not be run; another exception of its own is a verdict.
func (r *room) judge(ctx context.Context, check string, acts []act) (verdict, error) {
	record, err := json.Marshal(acts)
	if err != nil {
		return verdict{}, fmt.Errorf("hand a check what it judges: %w", err)
	}
	if err := r.put(ctx, recordFolder+"turns.json", record); err != nil {
		return verdict{}, err
	}
	for i, a := range acts {
		for j, data := range a.images {
			if err := r.put(ctx, fmt.Sprintf("%s%d-%d.image", recordFolder, i, j), data); err != nil {
				return verdict{}, err
			}
		}
	}
	reply, err := r.run(ctx, prelude)
	if err != nil {
		return verdict{}, err
	}
	if reply.IsError {
		return verdict{}, errors.New("what comes before a check fails: " + problemOf(reply))
	}
	if reply, err = r.run(ctx, check); err != nil {
		return verdict{}, err
	}
	return verdictOf(reply)
}

func verdictOf(reply *chat.Reply) (verdict, error) {
	if !reply.IsError {
		return verdict{passed: true}, nil
	}
	why := problemOf(reply)
	if len(reply.Runs) == 0 || strings.HasPrefix(why, "ModuleNotFoundError") || strings.HasPrefix(why, "SyntaxError") {
		return verdict{}, errors.New("the check cannot be run: " + why)
	}
	asserts := strings.HasPrefix(why, assertion)
	return verdict{why: strings.TrimPrefix(why, assertion+": "), breaks: !asserts}, nil
}

// assertion is the exception by which a check says no.
const assertion = "AssertionError"

// maxWhyBytes bounds the sentence that says why something has not passed.
const maxWhyBytes = 300

// problemOf returns what a reply says went wrong, in one line: the exception of the last run if
// there is one.
func problemOf(reply *chat.Reply) string {
	text := reply.Text
	if n := len(reply.Runs); n > 0 && reply.Runs[n-1].Error != "" {
		text = exceptionIn(reply.Runs[n-1].Error)
	} else if len(reply.Problems) > 0 {
		text = strings.Join(reply.Problems, " ")
	}
	return oneLine(text)
}

// exceptionIn returns what stands below the last line of code in a traceback; of an assertion
// without a message, with that line.
func exceptionIn(traceback string) string {
	lines := strings.Split(strings.TrimSpace(traceback), "\n")
	start, statement := 0, ""
	for i, line := range lines[:len(lines)-1] {
		if !strings.HasPrefix(line, "  ") {
			continue
		}
		start = i + 1
		if text := strings.TrimSpace(line); strings.HasPrefix(text, "assert ") {
			statement = text
		}
	}
	text := strings.Join(lines[start:], " ")
	if text == assertion && statement != "" {
		text += ": " + statement
	}
	return text
}

// oneLine makes one line of text, which it shortens.
func oneLine(text string) string {
	return excerpt.Begin(strings.Join(strings.Fields(text), " "), maxWhyBytes)
}
