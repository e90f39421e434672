package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The revisions of the protocol that are measured: the newest with sessions, which
// most clients speak, and the one in which each request stands alone.
const (
	withSessions = "2025-11-25"
	stateless    = "2026-07-28"
)

// callLimit bounds one call.
const callLimit = 60 * time.Second

// A client is a session with an MCP server over connections of its own. Close it.
type client struct {
	session   *mcp.ClientSession
	transport *http.Transport
}

// A target is an MCP server and how to speak with it.
type target struct {
	url      string
	revision string      // "" for what the server likes best
	header   http.Header // may be nil
	noStream bool        // it cannot keep a stream for messages that nobody asked for
}

// connect opens a session.
func connect(ctx context.Context, t target) (*client, error) {
	c := &client{transport: &http.Transport{MaxIdleConnsPerHost: 4}}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil).Connect(ctx,
		&mcp.StreamableClientTransport{
			Endpoint: t.url, MaxRetries: -1, DisableStandaloneSSE: t.noStream,
			HTTPClient: &http.Client{Transport: withHeader{c.transport, t.header}},
		},
		&mcp.ClientSessionOptions{ProtocolVersion: t.revision})
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", t.url, err)
	}
	c.session = session
	if got := session.InitializeResult().ProtocolVersion; t.revision != "" && got != t.revision {
		return nil, errors.Join(fmt.Errorf("%s speaks revision %s and not %s", t.url, got, t.revision), c.close())
	}
	return c, nil
}

func (c *client) close() error {
	err := c.session.Close()
	c.transport.CloseIdleConnections()
	return err
}

// call calls a tool. The time is that from the call to the decoded answer.
func (c *client) call(ctx context.Context, tool string, arguments map[string]any) (*mcp.CallToolResult, time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	begun := time.Now()
	result, err := c.session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
	spent := time.Since(begun)
	if err != nil {
		return nil, 0, fmt.Errorf("call %s: %w", tool, err)
	}
	if result.IsError {
		return nil, 0, fmt.Errorf("call %s: %s", tool, textOf(result))
	}
	return result, spent, nil
}

// say evaluates 1+1 in a chat of the product, "" for a new one, and returns the chat's id.
func (c *client) say(ctx context.Context, chat string) (string, time.Duration, error) {
	return c.send(ctx, chat, "1+1")
}

// send is say for a message whose last line is 1+1.
func (c *client) send(ctx context.Context, chat, message string) (string, time.Duration, error) {
	arguments := map[string]any{"message": message}
	if chat != "" {
		arguments["chat_id"] = chat
	}
	result, spent, err := c.call(ctx, "chat", arguments)
	if err != nil {
		return "", 0, err
	}
	id, _ := result.Meta["runpython/chatId"].(string)
	if text := textOf(result); !answersTwo(text) || id == "" || chat != "" && id != chat {
		return "", 0, fmt.Errorf("%q in the chat %q is answered with %q by the chat %q", message, chat, text, id)
	}
	return id, spent, nil
}

// read reads a resource that is text.
func (c *client) read(ctx context.Context, uri string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	result, err := c.session.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
	if err != nil {
		return "", fmt.Errorf("read %s: %w", uri, err)
	}
	if len(result.Contents) != 1 {
		return "", fmt.Errorf("read %s: it has %d parts", uri, len(result.Contents))
	}
	return result.Contents[0].Text, nil
}

// answersTwo reports whether a line of an answer is the value of 1+1.
func answersTwo(text string) bool {
	return slices.ContainsFunc(strings.Split(text, "\n"), func(line string) bool { return strings.TrimSpace(line) == "2" })
}

func textOf(result *mcp.CallToolResult) string {
	var texts []string
	for _, c := range result.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			texts = append(texts, t.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// withHeader adds fields to each request.
type withHeader struct {
	next   http.RoundTripper
	header http.Header
}

// RoundTrip implements [http.RoundTripper].
func (w withHeader) RoundTrip(r *http.Request) (*http.Response, error) {
	if len(w.header) > 0 {
		r = r.Clone(r.Context())
		maps.Copy(r.Header, w.header)
	}
	return w.next.RoundTrip(r)
}
