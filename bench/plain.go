package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"
)

// plainRequest is no code, so a model answers it.
const plainRequest = "How much is one plus one?"

// A scriptedModel is a server of OpenAI's chat completions that answers at once: a request of the person
// with a block of code, what came of that with words. What a turn takes with it is what the product adds.
type scriptedModel struct {
	server   *http.Server
	listener net.Listener
}

func openScriptedModel(ctx context.Context) (*scriptedModel, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for the scripted model: %w", err)
	}
	m := &scriptedModel{listener: listener}
	m.server = &http.Server{Handler: http.HandlerFunc(m.complete), ReadHeaderTimeout: callLimit}
	go func() { _ = m.server.Serve(listener) }() // it ends with close
	return m, nil
}

func (m *scriptedModel) url() string { return "http://" + m.listener.Addr().String() + "/v1" }

func (m *scriptedModel) close() error { return m.server.Close() }

// complete answers one request as a stream of two events.
func (m *scriptedModel) complete(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Messages []struct {
			Content string `json:"content"`
		} `json:"messages"`
	}
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || len(asked.Messages) == 0 {
		http.Error(w, "no messages", http.StatusBadRequest)
		return
	}
	text := "```python\n1+1\n```\n"
	if strings.Contains(asked.Messages[len(asked.Messages)-1].Content, "--- output ") {
		text = "It is 2."
	}
	w.Header().Set("Content-Type", "text/event-stream")
	quoted, err := json.Marshal(text)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	const event = `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"scripted","choices":[{"index":0,"delta":%s,"finish_reason":%s}]}` + "\n\n"
	_, _ = fmt.Fprintf(w, event+event+"data: [DONE]\n\n", // a client that has left hears nothing
		`{"role":"assistant","content":`+string(quoted)+`}`, "null", "{}", `"stop"`)
}

// plain measures what a turn in plain language takes beside its model and its run.
func (b *bench) plain(ctx context.Context) (_ []row, err error) {
	var open closers
	defer open.close(&err)
	model, err := openScriptedModel(ctx)
	if err != nil {
		return nil, err
	}
	open.add(model.close)
	s, asks, err := b.serveOne(ctx, &open, poolSize, "--model-url", model.url(), "--model", "scripted", "--model-protocol", "fenced")
	if err != nil {
		return nil, err
	}
	code, err := s.chat(ctx, withSessions, &open)
	if err != nil {
		return nil, err
	}
	id, _, err := asks.send(ctx, "", plainRequest)
	if err != nil {
		return nil, err
	}
	asked := newSeries(each(func(ctx context.Context) (time.Duration, error) {
		_, spent, err := asks.send(ctx, id, plainRequest)
		return spent, err
	}), 50)
	run := newSeries(code, 50)
	rounds(ctx, b.times(10), asked, run)
	rows := []row{asked.row("turn in plain language, a model that answers at once"), run.row("the same code, sent as such")}
	if err := errors.Join(asked.err, run.err); err != nil {
		return rows, err
	}
	added := single("what a model's loop adds to a run", "ms", len(asked.values), asked.quantile(0.5)-run.quantile(0.5))
	return append(rows, added.wants(atMost("p50", 3)).noted("with both requests to the scripted model")), nil
}
