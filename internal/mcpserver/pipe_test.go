package mcpserver_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"runpython/internal/chat"
	"runpython/internal/mcpserver"
)

// TestStdioBlanks: white space around a message means nothing; what else follows on its line is
// one message's fault, not the end of the server.
func TestStdioBlanks(t *testing.T) {
	c := startStdio(t, &fakeChat{})
	c.open()
	const ping = `{"jsonrpc":"2.0","id":5,"method":"ping"}`
	for _, line := range []string{ping + " ", ping + "\t", " \t" + ping + " \r"} {
		c.send(line)
		c.expect(`"id":5,"result"`)
	}
	for _, line := range []string{ping + ping, ping + " x", ping + "\x00"} {
		c.send(line)
		c.expect("-32700")
	}
	c.send(ping)
	c.expect(`"id":5,"result"`)
	c.close()
}

// TestStdioSameID: a request with the id of one that is in flight is refused, whatever the
// spelling, and does not hold up the end. Once that has been answered the id is free.
func TestStdioSameID(t *testing.T) {
	for _, ids := range [][2]string{{"7", "7"}, {`"seven"`, `"\u0073even"`}} {
		g := newGatedChat()
		c := startStdio(t, g)
		c.open()
		call := func(id, message string) string {
			return strings.Replace(callBody(legacy, message), `"id":1`, `"id":`+id, 1)
		}
		c.send(call(ids[0], "wait"))
		<-g.began
		c.send(`{"jsonrpc":"2.0","id":` + ids[1] + `,"method":"ping"}`)
		c.expect("has not been answered yet")
		close(g.gate)
		c.expect("later")
		c.send(call(ids[0], "now"))
		c.expect("at once")
		c.close()
	}
}

// TestStdioQuestionWithoutClient: when the input ends nobody answers a question any more,
// neither one that is open nor the next; the code is told at once.
func TestStdioQuestionWithoutClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startStdio(t, asking())
		c.send(strings.Replace(initialize, `"capabilities":{}`, `"capabilities":{"elicitation":{}}`, 1))
		c.expect(`"protocolVersion"`)
		began := time.Now()
		c.send(stdioCall(1, "first?\nsecond?"))
		c.expect(`"method":"elicitation/create"`)
		c.in.Close()
		c.expect(`unasked \"\"\nunasked`)
		c.close()
		if took := time.Since(began); took > 0 { // of the bubble's time, which only waiting takes
			t.Errorf("the end took %v", took)
		}
	})
}

// TestStdioClientThatDoesNotRead: an answer that nobody reads holds up neither the end of the
// context nor that of the input for ever, nor Close after it.
func TestStdioClientThatDoesNotRead(t *testing.T) {
	for _, end := range []string{"context", "input"} {
		t.Run(end, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := mcpserver.New(mcpserver.Options{Version: "test", Chat: &fakeChat{turn: func(context.Context, chat.Request) (*chat.Reply, error) {
					return &chat.Reply{ChatID: chatID, Text: strings.Repeat("x", 60_000)}, nil
				}}})
				in, client := io.Pipe()
				unread, out := io.Pipe()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				served := make(chan error, 1)
				go func() { served <- s.ServeStdio(ctx, in, out) }()
				var lines bytes.Buffer
				fmt.Fprintln(&lines, initialize)
				for id := range 6 {
					fmt.Fprintln(&lines, stdioCall(id+1, "x"))
				}
				if _, err := lines.WriteTo(client); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				began := time.Now()
				if end == "context" {
					cancel()
				} else {
					client.Close()
				}
				if err := <-served; err == nil {
					t.Error("ServeStdio() = nil, although nothing was read")
				}
				if err := s.Close(); err != nil {
					t.Errorf("Close() = %v", err)
				}
				if took := time.Since(began); took > 31*time.Second {
					t.Errorf("the end took %v", took)
				}
				unread.Close() // lets the write that is left behind end
			})
		})
	}
}
