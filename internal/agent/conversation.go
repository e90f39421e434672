package agent

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"runpython/internal/excerpt"
	"runpython/internal/llm"
	"runpython/internal/message"
)

// toolName is the one tool of the protocol Tools.
const toolName = "run_python"

// A conversation is all that a model is shown but the system prompt.
type conversation struct {
	marker  marker
	history []Exchange
	message string
	entries []entry // of the task at hand
}

// An entry is a reply of the model with what it was told on that.
type entry struct {
	said     string     // the text of the reply without its code
	calls    []llm.Call // of the reply, in the form of the schema; none when the code stood in the text
	thinking any        // what the vendor wants to have back with the calls
	told     []told     // on each call; else one
}

// told is what a model was told on one call, or on code in its text.
type told struct {
	code   string // that was run, "" for none
	output string
	failed bool
	note   string // of ours, after the output
	images []llm.Image
}

// render returns the conversation in a protocol, made as small as f says.
func (c *conversation) render(p Protocol, f fitting) []llm.Message {
	var m messages
	if n := f.turns; n > 0 {
		m.user(fmt.Sprintf("(%d earlier requests of this chat are left out.)", n))
	}
	for i, e := range c.history[f.turns:] {
		c.renderExchange(&m, p, e, exchangeAt{number: f.turns + i, resultBytes: f.historyBytes})
	}
	m.user(excerpt.Middle(c.message, f.messageBytes))
	if f.entries > 0 {
		m.user(fmt.Sprintf("(%d earlier steps on this request are left out.)", f.entries))
	}
	shown := c.entries[f.entries:]
	for i, e := range shown {
		last := i == len(shown)-1
		bytes := f.entryBytes
		if last {
			bytes = f.lastBytes
		}
		c.renderEntry(&m, p, e, entryFit{resultBytes: bytes, codeBytes: f.codeBytes, images: last})
	}
	return m.all
}

// entryFit says how an entry is shown.
type entryFit struct {
	resultBytes, codeBytes int
	images                 bool
}

func (c *conversation) renderEntry(m *messages, p Protocol, e entry, f entryFit) {
	if p == Tools && len(e.calls) > 0 {
		m.add(llm.Message{Role: llm.Assistant, Text: e.said, Calls: e.shownCalls(f.codeBytes), Thinking: e.thinking})
		for i, t := range e.told {
			m.add(llm.Message{
				Role: llm.Tooling, CallID: e.calls[i].ID, Failed: t.failed, Text: c.toldText(t, f), Images: t.shownImages(f),
			})
		}
		return
	}
	text := e.said
	var answer []string
	var images []llm.Image
	for _, t := range e.told {
		if t.code != "" {
			text = paragraphs(text, block(excerpt.Middle(t.code, f.codeBytes)))
		}
		answer = append(answer, c.toldText(t, f))
		images = append(images, t.shownImages(f)...)
	}
	if text != "" {
		m.add(llm.Message{Role: llm.Assistant, Text: text})
	}
	m.add(llm.Message{Role: llm.User, Text: paragraphs(answer...), Images: images})
}

// shownCalls returns the calls of e with at most some bytes of code in each.
func (e entry) shownCalls(codeBytes int) []llm.Call {
	calls := slices.Clone(e.calls)
	for i, t := range e.told {
		if len(t.code) > codeBytes {
			calls[i].Arguments = arguments(Code{Source: excerpt.Middle(t.code, codeBytes)})
		}
	}
	return calls
}

func (t told) shownImages(f entryFit) []llm.Image {
	if !f.images {
		return nil
	}
	return t.images
}

// toldText is what a model is told, at most some bytes of the output.
func (c *conversation) toldText(t told, f entryFit) string {
	output := ""
	if t.code != "" {
		output = c.marker.mark(excerpt.Middle(t.output, f.resultBytes))
	}
	return paragraphs(output, t.note)
}

// exchangeAt says which exchange of the history is shown, and how much of its results.
type exchangeAt struct{ number, resultBytes int }

func (c *conversation) renderExchange(m *messages, p Protocol, e Exchange, at exchangeAt) {
	m.user(e.Message)
	for i, s := range e.Steps {
		output := c.marker.mark(excerpt.Middle(s.Result, at.resultBytes))
		switch {
		case s.Said == "" && e.Answer == "" && strings.Contains(e.Message, strings.TrimSpace(s.Code)):
			// The person has sent the code.
			m.user("This code was run.\n\n" + output)
		case p == Tools:
			call := llm.Call{ID: fmt.Sprintf("h%04d%04d", at.number%10_000, i), Name: toolName, Arguments: arguments(Code{Source: s.Code})}
			m.add(llm.Message{Role: llm.Assistant, Text: s.Said, Calls: []llm.Call{call}})
			m.add(llm.Message{Role: llm.Tooling, CallID: call.ID, Failed: s.Failed, Text: output})
		default:
			m.add(llm.Message{Role: llm.Assistant, Text: paragraphs(s.Said, block(s.Code))})
			m.user(output)
		}
	}
	switch {
	case e.Answer != "":
		m.add(llm.Message{Role: llm.Assistant, Text: e.Answer})
	case len(e.Steps) == 0:
		m.add(llm.Message{Role: llm.Assistant, Text: "(This was not answered.)"})
	}
}

// messages are a conversation that is being written. Models of some servers refuse two messages of the
// person in a row, so these become one.
type messages struct{ all []llm.Message }

func (m *messages) user(text string) { m.add(llm.Message{Role: llm.User, Text: text}) }

func (m *messages) add(next llm.Message) {
	if n := len(m.all); n > 0 && next.Role != llm.Tooling && m.all[n-1].Role == next.Role && len(m.all[n-1].Calls) == 0 {
		last := &m.all[n-1]
		last.Text = paragraphs(last.Text, next.Text)
		last.Images = append(last.Images, next.Images...)
		last.Calls, last.Thinking = next.Calls, next.Thinking
		return
	}
	m.all = append(m.all, next)
}

// paragraphs joins texts that are not empty.
func paragraphs(texts ...string) string {
	var all []string
	for _, t := range texts {
		if t != "" {
			all = append(all, t)
		}
	}
	return strings.Join(all, "\n\n")
}

// block returns code as a fenced block, with a fence that is not in it.
func block(code string) string {
	fence := strings.Repeat("`", max(3, message.LongestRun(code, '`')+1))
	return fence + "python\n" + strings.TrimRight(code, "\n") + "\n" + fence
}

// arguments returns what a call for code looks like in the form of the schema.
func arguments(c Code) string {
	text, err := json.Marshal(struct {
		Code     string   `json:"code"`
		Packages []string `json:"packages,omitempty"`
	}{c.Source, c.Packages})
	if err != nil { // strings always become JSON
		panic(err)
	}
	return string(text)
}
