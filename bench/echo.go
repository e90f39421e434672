package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// echoCommand is the first argument with which this program is the echo server: the SDK, one
// tool that returns what it gets, and nothing of the product. Like the product it is
// a process of its own.
const echoCommand = "serve-echo"

// serveEcho serves until the process is told to end.
func serveEcho(ctx context.Context, stderr io.Writer) error {
	server := mcp.NewServer(&mcp.Implementation{Name: "echo", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "echo", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(r.Params.Arguments)}}}, nil
		})
	same := func(*http.Request) *mcp.Server { return server }
	alone := mcp.NewStreamableHTTPHandler(same, &mcp.StreamableHTTPOptions{Stateless: true, PropagateRequestCancellation: true})
	sessions := mcp.NewStreamableHTTPHandler(same, nil)
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Protocol-Version") >= stateless {
			alone.ServeHTTP(w, r)
			return
		}
		sessions.ServeHTTP(w, r)
	})
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	web := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() { _ = web.Close() }) // open streams are not waited for
	defer stop()
	fmt.Fprintf(stderr, "ready: http://%s/mcp\n", listener.Addr())
	if err := web.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}

// An echo is the running echo server and a session with it. Close it.
type echo struct {
	*client
	server *child
	url    string
}

func (b *bench) openEcho(ctx context.Context) (*echo, error) {
	e := &echo{server: newChild(ctx, b.self, echoCommand)}
	err := e.server.start()
	if err == nil {
		e.url, err = e.server.await(ctx, regexp.MustCompile(`^ready: (\S+)$`))
	}
	if err == nil {
		e.client, err = connect(ctx, target{url: e.url, revision: withSessions})
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("echo server: %w", err), e.server.stop())
	}
	return e, nil
}

func (e *echo) close() error { return errors.Join(e.client.close(), e.server.stop()) }

// callEcho calls the echo tool with what the product's tool would get.
func callEcho(ctx context.Context, c *client) (time.Duration, error) {
	result, spent, err := c.call(ctx, "echo", map[string]any{"message": "1+1", "chat_id": "abcdefghijklmnopqrstuvwxyz"})
	if err != nil {
		return 0, err
	}
	if text := textOf(result); len(text) < len("1+1") {
		return 0, fmt.Errorf("the echo is %q", text)
	}
	return spent, nil
}
