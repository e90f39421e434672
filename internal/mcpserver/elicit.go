package mcpserver

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"runpython/internal/chat"
)

// answerField is the only field of the form in which a person answers a question.
const answerField = "answer"

// answerSchema does not require the field: a person may send the empty line.
const answerSchema = `{"type":"object","properties":{"` + answerField + `":{"type":"string","title":"Answer"}}}`

// form puts a question of the code into a form. Its text says who asks: the code was
// written by strangers and could pose as somebody else. Secrets must not be asked
// for by forms (MCP, elicitation), which is why nothing here asks for a password.
func form(q chat.Question) *mcp.ElicitParams {
	prompt, output := strings.TrimSpace(visible(q.Prompt)), strings.TrimSpace(visible(q.Output))
	text := "The Python code that runs in the sandbox waits for input."
	if prompt != "" {
		text = "The Python code that runs in the sandbox asks:\n" + prompt
	}
	if output != "" {
		text += "\n\nIts output before:\n" + output
	}
	return &mcp.ElicitParams{
		Mode: "form", Message: text + "\n\nDo not type passwords or other secrets.",
		RequestedSchema: json.RawMessage(answerSchema),
	}
}

// answerOf reads what became of a form.
func answerOf(r *mcp.ElicitResult) chat.Answer {
	switch r.Action {
	case "accept":
		switch text := r.Content[answerField].(type) {
		case string:
			return chat.Answer{Outcome: chat.Typed, Text: text}
		case nil: // left empty, unless the client has answered another form
			if _, named := r.Content[answerField]; named || len(r.Content) == 0 {
				return chat.Answer{Outcome: chat.Typed}
			}
		}
	case "decline":
		return chat.Answer{Outcome: chat.Declined}
	case "cancel":
		return chat.Answer{Outcome: chat.Dismissed}
	}
	return chat.Answer{Outcome: chat.Unasked}
}

// takesForms reports whether a client can put a form before its person. One that names no
// mode means forms.
func takesForms(req *mcp.CallToolRequest) bool {
	c := req.ClientCapabilities()
	return c != nil && c.Elicitation != nil && (c.Elicitation.Form != nil || c.Elicitation.URL == nil)
}

// elicit returns what asks the person behind a client of the era with sessions, by a
// request of ours on the stream of the call; nil if the client cannot ask.
func (s *Server) elicit(req *mcp.CallToolRequest) func(context.Context, chat.Question) chat.Answer {
	if !takesForms(req) {
		return nil
	}
	return func(ctx context.Context, q chat.Question) chat.Answer {
		result, err := req.Session.Elicit(ctx, form(q))
		if err != nil { // the client has failed, or is gone; the code is told
			return chat.Answer{Outcome: chat.Unasked}
		}
		return answerOf(result)
	}
}
