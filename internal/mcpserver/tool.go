package mcpserver

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const toolName = "chat"

// Every client sends the tool's definition to its model with every request, so
// each word costs all users: definition, annotations included, stays within 110
// tokens. What needs more room stands in the instructions, which are sent once.
const (
	describeTask = "Python sandbox returning text, images, files; chats live %s"
	describeCode = "Send Python; sandbox returns text, images, files; chats live %s"

	messageTask = "Task or code"
	messageCode = "Code"
)

// inputSchema has no pattern for chat_id and no lengths: an ill-formed id must
// look like an unknown one, and the reply to a message that is too long names
// the limit, which a client's own validation would not.
const inputSchema = `{"type":"object","properties":{` +
	`"message":{"type":"string","description":%q},` +
	`"chat_id":{"type":"string","description":"To continue"}},` +
	`"required":["message"],"additionalProperties":false,"examples":[{"message":"1+1"}]}`

func toolDefinition(o Options) *mcp.Tool {
	description, message := describeTask, messageTask
	if o.NeedsCode {
		description, message = describeCode, messageCode
	}
	destructive := false
	return &mcp.Tool{
		Name:        toolName,
		Title:       "Run Python",
		Description: fmt.Sprintf(description, lifetime(o.KeepFor)),
		InputSchema: json.RawMessage(fmt.Sprintf(inputSchema, message)),
		Annotations: &mcp.ToolAnnotations{
			DestructiveHint: &destructive,
			OpenWorldHint:   &o.OpenWorld,
		},
	}
}

// lifetime says d in the largest unit that divides it, as few words as possible.
func lifetime(d time.Duration) string {
	const day = 24 * time.Hour
	count, unit := int64(d/time.Minute), "minute"
	switch {
	case d <= 0:
		return "until restart"
	case d%day == 0:
		count, unit = int64(d/day), "day"
	case d >= time.Hour:
		count, unit = int64(d/time.Hour), "hour"
	}
	if count != 1 {
		unit += "s"
	}
	return fmt.Sprintf("%d %s", count, unit)
}

// instructions are sent once to each client, and by many clients to their model with every request: 90 tokens at most.
func instructions(o Options) string {
	text := "Runs Python in a sandbox. "
	if o.NeedsCode {
		text += "Write the code yourself: bare, or in fenced blocks, which run in order. "
	} else {
		text += "Ask in plain language, or send code, which runs as it is. "
	}
	text += "Pass the chat_id of a reply to go on with its variables and files; without it all is fresh. " +
		"The last value is shown, open figures come as images. "
	if o.Packages {
		text += "PyPI packages that are imported are installed; others by !pip install NAME. "
	}
	if !o.OpenWorld {
		text += "Code has no network. "
	}
	return text + "Files are resource links: use resources/read."
}
