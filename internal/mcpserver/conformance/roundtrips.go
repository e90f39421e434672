package main

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A sealer makes states that clients carry and cannot change.
type sealer struct{ key []byte }

func newSealer() (sealer, error) {
	key := make([]byte, sha256.Size)
	if _, err := rand.Read(key); err != nil {
		return sealer{}, fmt.Errorf("make a key: %w", err)
	}
	return sealer{key}, nil
}

func (s sealer) tag(state string) string {
	h := hmac.New(sha256.New, s.key)
	h.Write([]byte(state))
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

func (s sealer) seal(state string) string { return s.tag(state) + "." + state }

// open returns what was sealed, or an error of the protocol.
func (s sealer) open(sealed string) (string, error) {
	tag, state, _ := strings.Cut(sealed, ".")
	if !hmac.Equal([]byte(tag), []byte(s.tag(state))) {
		return "", invalid("requestState was not made here; send it back as it was")
	}
	return state, nil
}

// A form asks the person for one property.
func form(message, property, kind string) *mcp.ElicitParams {
	schema := fmt.Sprintf(`{"type":"object","properties":{%q:{"type":%q}},"required":[%q]}`, property, kind, property)
	return &mcp.ElicitParams{Message: message, RequestedSchema: json.RawMessage(schema)}
}

// filled returns what the person gave for a property.
func filled(answers mcp.InputResponseMap, key, property string) (any, bool) {
	answer, ok := answers[key].(*mcp.ElicitResult)
	if !ok || answer == nil || answer.Action != "accept" {
		return nil, false
	}
	value, ok := answer.Content[property]
	return value, ok
}

func question(words string, tokens int64) *mcp.CreateMessageParams {
	return &mcp.CreateMessageParams{Messages: []*mcp.SamplingMessage{{Role: "user", Content: text("%s", words)}}, MaxTokens: tokens}
}

// said returns the text that the client's model gave.
func said(answers mcp.InputResponseMap, key string) (string, bool) {
	answer, ok := answers[key].(*mcp.CreateMessageWithToolsResult)
	if !ok || answer == nil {
		return "", false
	}
	for _, c := range answer.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			return t.Text, true
		}
	}
	return "", false
}

func roots(answers mcp.InputResponseMap, key string) (int, bool) {
	answer, ok := answers[key].(*mcp.ListRootsResult)
	if !ok || answer == nil {
		return 0, false
	}
	return len(answer.Roots), true
}

// asking returns the handler of a tool that needs answers: it asks until done says
// what the answers make. With a state, what comes back must be that state.
func (f *fixture) asking(asks mcp.InputRequestMap, state string, done func(mcp.InputResponseMap) (string, bool)) mcp.ToolHandler {
	return func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		again := &mcp.CallToolResult{InputRequests: asks}
		if state != "" {
			again.RequestState = f.sealer.seal(state)
		}
		if sent := req.Params.RequestState; sent != "" {
			if opened, err := f.sealer.open(sent); err != nil {
				return nil, err
			} else if opened != state {
				return nil, invalid("requestState belongs to another call")
			}
		} else if state != "" {
			return again, nil
		}
		if words, ok := done(req.Params.InputResponses); ok {
			return result(text("%s", words))
		}
		return again, nil
	}
}

// addRoundTools adds the tools of the scenarios input-required-result-*, with the
// questions and the keys of answers that those prescribe.
func (f *fixture) addRoundTools() {
	name := form("What is your name?", "name", "string")
	f.tool("test_input_required_result_elicitation", "Asks for a name.", noArguments,
		f.asking(mcp.InputRequestMap{"user_name": name}, "", func(a mcp.InputResponseMap) (string, bool) {
			v, ok := filled(a, "user_name", "name")
			return fmt.Sprintf("Hello, %v!", v), ok
		}))
	f.tool("test_input_required_result_sampling", "Asks the client's model.", noArguments,
		f.asking(mcp.InputRequestMap{"capital_question": question("What is the capital of France?", 100)}, "",
			func(a mcp.InputResponseMap) (string, bool) { return said(a, "capital_question") }))
	f.tool("test_input_required_result_list_roots", "Asks for the client's roots.", noArguments,
		f.asking(mcp.InputRequestMap{"client_roots": &mcp.ListRootsParams{}}, "", func(a mcp.InputResponseMap) (string, bool) {
			n, ok := roots(a, "client_roots")
			return fmt.Sprintf("%d roots", n), ok
		}))
	confirm := mcp.InputRequestMap{"confirm": form("Please confirm", "ok", "boolean")}
	confirmed := func(a mcp.InputResponseMap) (string, bool) {
		_, ok := filled(a, "confirm", "ok")
		return "state-ok", ok
	}
	f.tool("test_input_required_result_request_state", "Gives the client a state to carry.", noArguments,
		f.asking(confirm, "confirm", confirmed))
	f.tool("test_input_required_result_tampered_state", "Refuses a state that was changed.", noArguments,
		f.asking(confirm, "confirm, unchanged", confirmed))
	f.tool("test_input_required_result_multiple_inputs", "Asks three things at once.", noArguments,
		f.asking(mcp.InputRequestMap{"user_name": name, "greeting": question("Generate a greeting", 50), "client_roots": &mcp.ListRootsParams{}},
			"three", func(a mcp.InputResponseMap) (string, bool) {
				who, named := filled(a, "user_name", "name")
				greeting, greeted := said(a, "greeting")
				n, rooted := roots(a, "client_roots")
				return fmt.Sprintf("%s %v (%d roots)", greeting, who, n), named && greeted && rooted
			}))
	f.tool("test_input_required_result_multi_round", "Asks for a name, then for a color.", noArguments, f.askTwice)
	f.tool("test_input_required_result_capabilities", "Asks only what the client can answer.", noArguments, askWhatIsOffered)
}

// askTwice keeps in the state what the first round gave.
func (f *fixture) askTwice(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	first := &mcp.CallToolResult{
		InputRequests: mcp.InputRequestMap{"step1": form("Step 1: What is your name?", "name", "string")},
		RequestState:  f.sealer.seal("first"),
	}
	if req.Params.RequestState == "" {
		return first, nil
	}
	state, err := f.sealer.open(req.Params.RequestState)
	if err != nil {
		return nil, err
	}
	if name, second := strings.CutPrefix(state, "second "); second {
		if c, ok := filled(req.Params.InputResponses, "step2", "color"); ok {
			return result(text("%s likes %v", name, c))
		}
	}
	name, ok := filled(req.Params.InputResponses, "step1", "name")
	if !ok {
		return first, nil
	}
	return &mcp.CallToolResult{
		InputRequests: mcp.InputRequestMap{"step2": form("Step 2: What is your favorite color?", "color", "string")},
		RequestState:  f.sealer.seal(fmt.Sprintf("second %v", name)),
	}, nil
}

func askWhatIsOffered(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if len(req.Params.InputResponses) > 0 {
		return result(text("answered"))
	}
	asks := mcp.InputRequestMap{}
	if c := req.ClientCapabilities(); c != nil {
		if c.Elicitation != nil {
			asks["user_name"] = form("What is your name?", "name", "string")
		}
		if c.Sampling != nil {
			asks["greeting"] = question("Generate a greeting", 50)
		}
		if c.RootsV2 != nil {
			asks["client_roots"] = &mcp.ListRootsParams{}
		}
	}
	if len(asks) == 0 {
		return result(text("the client can answer nothing"))
	}
	return &mcp.CallToolResult{InputRequests: asks}, nil
}
