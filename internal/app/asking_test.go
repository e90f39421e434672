package app_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"runpython/internal/app"
	"runpython/internal/chat"
	"runpython/internal/extent"
	"runpython/internal/fault"
)

// Both eras of the protocol; see docs/adr/0010.
const (
	withSessions = "2025-11-25"
	standAlone   = "2026-07-28"
)

// connectPerson connects a client of the official SDK whose person answers with what
// answer returns, nil to decline.
func connectPerson(t *testing.T, transport mcp.Transport, version string, answer func(question string) *string) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			text := answer(r.Params.Message)
			if text == nil {
				return &mcp.ElicitResult{Action: "decline"}, nil
			}
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"answer": *text}}, nil
		},
	})
	session, err := client.Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(func() { _ = session.Close() }) // the server may be gone
	return session
}

// pipes serves a over pipes until the test ends, and returns the client's end.
func pipes(t *testing.T, a *app.App) mcp.Transport {
	t.Helper()
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- a.ServeStdio(t.Context(), fromClient, toClient) }()
	t.Cleanup(func() {
		_ = toServer.Close()
		if err := <-ended; err != nil {
			t.Errorf("stdio: %v", err)
		}
	})
	return &mcp.IOTransport{Reader: fromServer, Writer: toServer}
}

// input() asks the person, in both eras, over HTTP and over pipes.
func TestInputAsksThePerson(t *testing.T) {
	extent.Slow(t)
	a := open(t, nil)
	url, _ := serve(t, a)
	for name, transport := range map[string]func(t *testing.T) mcp.Transport{
		"HTTP":  func(*testing.T) mcp.Transport { return &mcp.StreamableClientTransport{Endpoint: url, MaxRetries: -1} },
		"stdio": func(t *testing.T) mcp.Transport { return pipes(t, a) },
	} {
		for _, version := range []string{withSessions, standAlone} {
			t.Run(name+" "+version, func(t *testing.T) {
				var questions []string
				answers := []string{"3", "Žluťoučký kůň 🐎"}
				s := connectPerson(t, transport(t), version, func(question string) *string {
					questions = append(questions, question)
					if len(questions) > len(answers) {
						return nil
					}
					return &answers[len(questions)-1]
				})
				const code = "print('What is', 1 + 1, '+ 1?')\nx = int(input('x = '))\nname = input('Your name: ')\nprint(f'{name} says {x}')"
				result, text, id := call(t, s, "", code)
				if result.IsError || !strings.Contains(text, "What is 2 + 1?\nx = 3\nYour name: Žluťoučký kůň 🐎\nŽluťoučký kůň 🐎 says 3\n") {
					t.Fatalf("error %v, text:\n%s", result.IsError, text)
				}
				if len(questions) != 2 || !strings.Contains(questions[0], "asks:\nx =\n") || !strings.Contains(questions[0], "What is 2 + 1?") {
					t.Errorf("questions %q", questions)
				}
				result, text, _ = call(t, s, id, "y = 5\nname = input('Again? ')")
				if !result.IsError || !strings.Contains(text, "EOFError: input() got no answer, the person declined to answer") {
					t.Errorf("declined: error %v, text:\n%s", result.IsError, text)
				}
				if result, text, _ = call(t, s, id, "x, y"); result.IsError || !strings.Contains(text, "(3, 5)") || !strings.Contains(text, "kept") {
					t.Errorf("afterwards: error %v, text:\n%s", result.IsError, text)
				}
				result, text, _ = call(t, s, id, "import getpass\ngetpass.getpass()")
				if !result.IsError || !strings.Contains(text, "a secret must not be asked for") || len(questions) != 3 {
					t.Errorf("getpass: %d questions, text:\n%s", len(questions), text)
				}
			})
		}
	}
}

// While the code waits for the person, another call of the chat is told so at once; when
// the client goes away the run ends, and variables are kept.
func TestChatThatWaitsForThePerson(t *testing.T) {
	extent.Long(t)
	url, _ := serve(t, open(t, nil))
	for _, version := range []string{withSessions, standAlone} {
		t.Run(version, func(t *testing.T) {
			asked, answer := make(chan string, 1), make(chan *string)
			s := connectPerson(t, &mcp.StreamableClientTransport{Endpoint: url, MaxRetries: -1}, version, func(question string) *string {
				asked <- question
				return <-answer
			})
			other := connect(t, &mcp.StreamableClientTransport{Endpoint: url})
			_, _, id := call(t, other, "", "x = 1")
			params := &mcp.CallToolParams{Name: "chat", Arguments: map[string]any{"chat_id": id, "message": "x = 2\nname = input('name? ')\nx = 3"}}
			answered := make(chan *mcp.CallToolResult, 1)
			go func() {
				r, err := s.CallTool(t.Context(), params)
				if err != nil {
					t.Errorf("the call that asks: %v", err)
				}
				answered <- r
			}()
			<-asked
			if r, err := other.CallTool(t.Context(), &mcp.CallToolParams{Name: "chat", Arguments: map[string]any{"chat_id": id, "message": "x"}}); err != nil ||
				!r.IsError || !strings.Contains(r.Content[0].(*mcp.TextContent).Text, "waits for the answer") {
				t.Errorf("meanwhile: %+v, %v; want that the chat waits", r, err)
			}
			ada := "Ada"
			answer <- &ada
			if r := <-answered; r == nil || r.IsError {
				t.Errorf("the call that asks: %+v", r)
			}
			if _, text, _ := call(t, other, id, "x, name"); !strings.Contains(text, "(3, 'Ada')") {
				t.Errorf("afterwards:\n%s", text)
			}
		})
	}
}

// A client that leaves while the person is asked: the run ends and the chat goes on.
func TestClientThatLeavesWhileAsking(t *testing.T) {
	extent.Long(t)
	a := open(t, nil)
	url, _ := serve(t, a)
	asked := make(chan string, 1)
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	s := connectPerson(t, &mcp.StreamableClientTransport{Endpoint: url, MaxRetries: -1}, withSessions, func(question string) *string {
		asked <- question
		<-ctx.Done()
		return nil
	})
	_, _, id := call(t, s, "", "x = 1")
	gone := make(chan error, 1)
	go func() {
		_, err := s.CallTool(ctx, &mcp.CallToolParams{Name: "chat", Arguments: map[string]any{"chat_id": id, "message": "x = 2\ninput('name? ')\nx = 3"}})
		gone <- err
	}()
	<-asked
	leave()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("the call of the client that left: %v", err)
	}
	// The chat turns calls away until the run has ended.
	for {
		reply, err := a.Turn(t.Context(), chat.Request{ChatID: id, Message: "print(x)"})
		if kind, _ := fault.Shown(err); err != nil && kind == fault.Busy {
			continue
		}
		if err != nil || reply.State != chat.Kept || reply.Runs[0].Stdout != "2\n" {
			t.Errorf("afterwards: %+v, %v; want x kept", reply, err)
		}
		return
	}
}
