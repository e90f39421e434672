package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// callLimit bounds one call, the install included.
const callLimit = 5 * time.Minute

// stopGrace is what the program may take to end all chats.
const stopGrace = 2 * time.Minute

//go:embed look.py
var look string

// endInterpreter frees the memory of a chat that is over.
const endInterpreter = "import os; os._exit(0)"

// A client is an MCP session with the program. Close it.
type client struct {
	*mcp.ClientSession
}

// connect starts the program as a server of standard input and output.
func connect(ctx context.Context, program, data string) (*client, error) {
	command := exec.CommandContext(ctx, program, "stdio", "--data", data, "--log-level", "error")
	command.Stderr = os.Stderr
	session, err := mcp.NewClient(&mcp.Implementation{Name: "survey", Version: "1"}, nil).Connect(ctx, &mcp.CommandTransport{Command: command, TerminateDuration: stopGrace}, nil)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", program, err)
	}
	return &client{session}, nil
}

// A visit is what became of one import in a chat of its own.
type visit struct {
	call    time.Duration // from the question to the answer: install, import and all else
	found   found
	failure string // "" for none
}

// found is what look.py has written.
type found struct {
	Seconds float64             `json:"seconds"` // of the import alone
	Version string              `json:"version"`
	Offers  map[string][]string `json:"offers"` // import names by distribution
}

// A row is one package and its two visits.
type row struct {
	listed
	fresh, again visit
}

// survey visits each package while nothing of it is there, and then all of them again.
func (c *client) survey(ctx context.Context, list []listed, out io.Writer) ([]row, error) {
	rows := make([]row, len(list))
	for _, pass := range []string{"first", "again"} {
		for i, p := range list {
			v, err := c.visit(ctx, p)
			if err != nil {
				return nil, err
			}
			fmt.Fprintf(out, "%s %d %s: %s, %.2f s, import %.2f s %s\n", pass, i+1, p.name, v.found.Version, v.call.Seconds(), v.found.Seconds, v.failure)
			rows[i].listed = p
			if pass == "first" {
				rows[i].fresh = v
			} else {
				rows[i].again = v
			}
		}
	}
	return rows, nil
}

// visit imports a package in a new chat.
func (c *client) visit(ctx context.Context, p listed) (v visit, err error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	code := fmt.Sprintf("import time\nbegan = time.perf_counter()\nimport %s\ntook = time.perf_counter() - began\nname, module = %q, %q\n%s", p.module, p.name, p.module, look)
	begun := time.Now()
	result, err := c.say(ctx, code, "")
	v.call = time.Since(begun)
	if err != nil {
		return v, err
	}
	if result.IsError {
		v.failure = lastWords(result)
		return v, nil
	}
	if err := c.read(ctx, result, &v.found); err != nil {
		return v, fmt.Errorf("%s: %w", p.name, err)
	}
	id, _ := result.Meta["runpython/chatId"].(string)
	_, err = c.say(ctx, endInterpreter, id)
	return v, err
}

// say sends a message to a chat, "" for a new one.
func (c *client) say(ctx context.Context, message, chat string) (*mcp.CallToolResult, error) {
	arguments := map[string]any{"message": message}
	if chat != "" {
		arguments["chat_id"] = chat
	}
	result, err := c.CallTool(ctx, &mcp.CallToolParams{Name: "chat", Arguments: arguments})
	if err != nil {
		return nil, fmt.Errorf("call the tool: %w", err)
	}
	return result, nil
}

// read reads the file that a run has written.
func (c *client) read(ctx context.Context, result *mcp.CallToolResult, into *found) error {
	for _, part := range result.Content {
		link, ok := part.(*mcp.ResourceLink)
		if !ok {
			continue
		}
		file, err := c.ReadResource(ctx, &mcp.ReadResourceParams{URI: link.URI})
		if err != nil {
			return fmt.Errorf("read %s: %w", link.Name, err)
		}
		if len(file.Contents) != 1 {
			return fmt.Errorf("read %s: %d contents", link.Name, len(file.Contents))
		}
		if err := json.Unmarshal([]byte(file.Contents[0].Text), into); err != nil {
			return fmt.Errorf("read %s: %w", link.Name, err)
		}
		return nil
	}
	return errors.New("the run has written no file")
}

// exception is the line of a traceback that says what was raised.
var exception = regexp.MustCompile(`^[A-Za-z_][\w.]*: `)

// lastWords returns the line of an answer that says what went wrong: why something is not
// installed, else the exception.
func lastWords(result *mcp.CallToolResult) string {
	if len(result.Content) == 0 {
		return "an answer without content"
	}
	text, ok := result.Content[0].(*mcp.TextContent)
	if !ok {
		return "an answer without text"
	}
	lines := strings.Split(text.Text, "\n")
	for _, line := range lines {
		if strings.HasPrefix(line, "Not installed") || exception.MatchString(line) {
			return line
		}
	}
	return lines[0]
}
