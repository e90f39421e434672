package agent

import (
	"slices"
	"strings"

	"runpython/internal/excerpt"
	"runpython/internal/llm"
	"runpython/internal/message"
)

// A move is what a reply of the model means.
type move struct {
	entry   entry
	jobs    []job
	words   string // the answer, where there are no jobs and no complaint
	refused bool
	// complaint is what the model is told when nothing can be done with the reply, "" otherwise.
	complaint string
	// astray means that the reply does not keep to the protocol Tools.
	astray bool
}

// A job is code that a reply asks for.
type job struct {
	order
	at int // its place in entry.told
}

// What a model is told about a reply that is of no use.
const (
	saidNothing    = "Your reply was empty. Answer the request."
	saidTooMuch    = "Your reply was cut off before its end, so it was not run. Send shorter code."
	saidTooLong    = "The code is longer than can be run, so it was not. Send shorter code, in several steps."
	saidNoCode     = `No code was found in the arguments. They are a JSON object such as {"code": "print(6 * 7)"}.`
	saidOtherTool  = "There is no such tool. The only one is run_python, with the argument code."
	saidOneTooMany = "This call was not carried out: too many at once. Make it again if it is still needed."
	saidNotRun     = "This call was not carried out, since the code of the one before it failed."
	saidNoMore     = "This call was not carried out: no more code can be run for this request."
	saidUseTool    = "The code of your reply was run. Next time call run_python with it."
)

// read finds out what a reply means. called is whether the model has called the tool on this task, ran
// whether the last code ran well.
func read(r *llm.Response, p Protocol, called, ran bool) move {
	if r.Stop == llm.Refused {
		return move{refused: true, words: strings.TrimSpace(r.Message.Text)}
	}
	if len(r.Message.Calls) > 0 {
		return readCalls(r, p)
	}
	text := strings.TrimSpace(r.Message.Text)
	if o, ok := callInText(text); ok {
		if o.unusable {
			return move{entry: entry{said: kept(text)}, complaint: cutOr(r, saidNoCode), astray: true}
		}
		m := move{astray: true, jobs: []job{{order: o}}}
		m.entry.told = []told{{code: o.code.Source}}
		return m
	}
	reply := message.ReadReply(text)
	o := orderFrom(reply, nil)
	switch {
	case text == "":
		return move{complaint: cutOr(r, saidNothing)}
	case p == Tools && called, reply.Bare && ran, len(reply.Candidates) == 0:
		// Code in words that follow calls shows what was done; a line such as "x = 5" after a result is the result.
		if r.Stop == llm.Length {
			text += " …"
		}
		return move{words: text}
	case o.tooLong:
		return move{entry: entry{said: kept(reply.Before)}, complaint: saidTooLong}
	case r.Stop == llm.Length && (reply.Open || reply.Bare):
		return move{entry: entry{said: kept(reply.Before)}, complaint: saidTooMuch}
	}
	m := move{entry: entry{said: kept(reply.Before), told: []told{{code: o.code.Source}}}, jobs: []job{{order: o}}, astray: p == Tools}
	m.words = reply.Prose
	return m
}

// kept shortens what stands beside code.
func kept(said string) string { return excerpt.Middle(said, keptResult) }

// cutOr returns the complaint about a reply of which there is nothing to use.
func cutOr(r *llm.Response, complaint string) string {
	if r.Stop == llm.Length {
		return saidTooMuch
	}
	return complaint
}

// readCalls reads a reply that has calls. Each becomes one in the form of the schema, so that no
// server stumbles over it when it is sent back, and each has something told on it.
func readCalls(r *llm.Response, p Protocol) move {
	m := move{entry: entry{said: kept(strings.TrimSpace(r.Message.Text)), thinking: r.Message.Thinking}}
	unusable := 0
	for i, c := range r.Message.Calls[:min(len(r.Message.Calls), llm.MaxCalls)] {
		o := readArguments(c.Arguments)
		answer := told{code: o.code.Source}
		if r.Stop == llm.Length && i == len(r.Message.Calls)-1 {
			o, answer = order{unusable: true}, told{note: saidTooMuch, failed: true}
		}
		switch {
		case answer.note != "":
		case o.tooLong:
			answer = told{note: saidTooLong, failed: true}
		case o.unusable && c.Name != toolName:
			answer = told{note: saidOtherTool, failed: true}
		case o.unusable:
			answer = told{note: saidNoCode, failed: true}
		case len(m.jobs) == MaxCallsAtOnce:
			o.code.Source, answer = kept(o.code.Source), told{note: saidOneTooMany, failed: true}
		default:
			m.jobs = append(m.jobs, job{order: o, at: i})
		}
		if o.unusable {
			unusable++
		}
		m.entry.calls = append(m.entry.calls, llm.Call{ID: c.ID, Name: toolName, Arguments: arguments(o.code)})
		m.entry.told = append(m.entry.told, answer)
	}
	m.astray = unusable > 0 && p == Tools
	if len(m.jobs) == 0 {
		m.complaint = m.entry.told[0].note
	}
	return m
}

// callInText finds a call that the model, or its server, has written as text: the JSON of one, maybe
// between tags or in a block, or the bare name of the tool.
func callInText(text string) (o order, ok bool) {
	if _, inner, tagged := strings.Cut(text, "<tool_call>"); tagged {
		text, _, _ = strings.Cut(inner, "</tool_call>")
	}
	text = strings.TrimSpace(text)
	if strings.Trim(strings.TrimPrefix(text, "functions."), ":() \n") == toolName {
		return order{unusable: true}, true
	}
	if inner, fenced := strings.CutPrefix(text, "```json"); fenced {
		text = strings.TrimSuffix(strings.TrimSpace(inner), "```")
	}
	value, isJSON := decode(text)
	object, isObject := value.(map[string]any)
	if !isJSON || !isObject {
		return order{}, false
	}
	if object["name"] == toolName {
		return orderInObject(object, maxWrapping), true
	}
	for name := range object {
		if !slices.Contains([]string{"code", "packages"}, name) {
			return order{}, false
		}
	}
	code, _ := object["code"].(string)
	o = orderOf(code, words(object["packages"]), false)
	return o, !o.unusable
}
