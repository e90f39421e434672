package mcpserver

import (
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// A typedParam is a parameter and what the protocol wants it to be, in the words of jsonKind.
type typedParam struct{ name, kind string }

const (
	aString  = "a string"
	anObject = "an object"
)

// typedParams returns the parameters of a method whose types matter before the SDK decodes them:
// of a wrong one it could not say the name. nil means that the method has none.
func typedParams(method string) []typedParam {
	switch method {
	case methodCallTool:
		return []typedParam{{"name", aString}, {"requestState", aString}, {"inputResponses", anObject}}
	case "resources/read":
		return []typedParam{{"uri", aString}}
	case methodGetTask, methodUpdateTask, methodCancelTask:
		return []typedParam{{"taskId", aString}, {"inputResponses", anObject}}
	}
	return nil
}

// paramsRefusal returns the error for a call whose parameters are missing or of another type than
// the protocol gives them, or nil.
func paramsRefusal(m envelope) *jsonrpc.Error {
	typed := typedParams(m.method)
	if typed == nil || !m.call() {
		return nil
	}
	var params json.RawMessage
	if !readMember(m, &params, "params") {
		return invalidParams("params are missing")
	}
	var given map[string]json.RawMessage
	if json.Unmarshal(params, &given) != nil {
		return invalidParams("params must be an object, not " + jsonKind(params))
	}
	for _, p := range typed {
		value, ok := given[p.name]
		if kind := jsonKind(value); ok && kind != p.kind && kind != "null" {
			return invalidParams(fmt.Sprintf("%s must be %s, not %s", p.name, p.kind, kind))
		}
	}
	return nil
}
