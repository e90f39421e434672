package mcpserver

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"runpython/internal/chat"
	"runpython/internal/excerpt"
)

// arguments are those of one call of the tool.
type arguments struct {
	message string // not blank, at most chat.MaxMessageBytes
	chatID  string // "" begins a chat; anything else is decided by the Chatter
}

// usage follows every complaint about arguments: a model that guessed them wrong
// finds there what to send.
const usage = `; chat takes "message" (string, required: a request in plain language, Python code, or both) ` +
	`and "chat_id" (string, optional: from the last line of a reply)`

// decodeArguments reads the arguments of a call. A chat_id that is null or ""
// counts as absent. The error tells the caller what to send instead.
func decodeArguments(raw json.RawMessage) (arguments, *jsonrpc.Error) {
	if len(raw) == 0 || string(raw) == "null" {
		return arguments{}, invalidParams("arguments are missing" + usage)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return arguments{}, invalidParams("arguments must be a JSON object, not " + jsonKind(raw) + usage)
	}
	var unknown []string
	for name := range fields {
		if name != "message" && name != "chat_id" {
			unknown = append(unknown, fmt.Sprintf("%q", excerpt.Begin(name, maxExcerpt)))
		}
	}
	if len(unknown) > 0 {
		return arguments{}, invalidParams(unknownArguments(unknown) + usage)
	}
	var args arguments
	if complaint := decodeString("message", fields["message"], &args.message); complaint != "" {
		return arguments{}, invalidParams(complaint)
	}
	if complaint := decodeString("chat_id", fields["chat_id"], &args.chatID); complaint != "" {
		return arguments{}, invalidParams(complaint)
	}
	if given := fields["message"]; given == nil || string(given) == "null" {
		return arguments{}, invalidParams("message is missing" + usage)
	}
	if blank(args.message) {
		return arguments{}, invalidParams("message is empty; send a request in plain language, Python code, or both")
	}
	if n := len(args.message); n > chat.MaxMessageBytes {
		return arguments{}, invalidParams(fmt.Sprintf("message has %d bytes, the limit is %d (1 MiB); send less, or let the code read a file",
			n, chat.MaxMessageBytes))
	}
	return args, nil
}

// decodeString stores a JSON string in s, leaves s alone if value is null or
// absent, and otherwise returns a complaint.
func decodeString(name string, value json.RawMessage, s *string) string {
	if value != nil && json.Unmarshal(value, s) != nil {
		return fmt.Sprintf("%s must be a string, not %s%s", name, jsonKind(value), usage)
	}
	return ""
}

// maxNamed is how many unknown arguments a complaint names.
const maxNamed = 5

func unknownArguments(names []string) string {
	slices.Sort(names)
	if n := len(names); n > maxNamed {
		names = append(names[:maxNamed], fmt.Sprintf("and %d more", n-maxNamed))
	}
	return "unknown argument " + strings.Join(names, ", ")
}

// blank reports whether nothing is left of s without spaces and byte order marks.
func blank(s string) bool {
	return strings.TrimFunc(s, func(r rune) bool { return unicode.IsSpace(r) || r == '\ufeff' || r == '\u200b' }) == ""
}

// jsonKind names the type of a JSON value in the words of JSON.
func jsonKind(raw json.RawMessage) string {
	if len(raw) == 0 {
		return "nothing"
	}
	switch raw[0] {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}

// maxExcerpt is how many bytes of a client's own words an error repeats.
const maxExcerpt = 60
