// Package openai speaks the chat completions of OpenAI, which most other servers of models speak as well,
// each in its own way: see [Dialect].
//
// # Trust
//
// Answers are hostile: the bounds of package wire hold, and what is put together of the pieces of a stream
// is bounded by those of package llm. Nothing of an answer is run or opened here.
//
// # Failure
//
// As [llm.Model] says. Each request is sent once: package retry sends it again.
package openai

import (
	"context"
	"net/http"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"runpython/internal/llm"
	"runpython/internal/llm/wire"
)

// Echo is what a server wants back of what a model thought, in the messages that it belongs to.
type Echo int

// The echoes.
const (
	NoEcho Echo = iota
	// ReasoningContent is DeepSeek's: the field reasoning_content, even when it is empty, beside calls; without
	// calls it is not wanted.
	ReasoningContent
	// ReasoningDetails is OpenRouter's: the list reasoning_details, unchanged.
	ReasoningDetails
	// ThoughtSignatures is Gemini's: extra_content of each call, and of the message.
	ThoughtSignatures
)

// A Dialect is how a server differs from others.
type Dialect struct {
	// CompletionTokens says that max_completion_tokens bounds an answer and not max_tokens.
	CompletionTokens bool
	// AskUsage says that tokens are counted in a stream only when that is asked for.
	AskUsage bool
	// ShortIDs says that the id of a call must have nine letters and digits (Mistral).
	ShortIDs bool
	Echo     Echo
}

// Config is what a Model is made of.
type Config struct {
	Server  *wire.Server // its Model is what is asked for; "" asks the server for the first that it has
	BaseURL string       // that /chat/completions is put behind
	Name    string       // of the Model, see llm.Model
	HTTP    *http.Client
	Dialect Dialect
	Images  bool           // whether the model sees
	Extra   map[string]any // merged into the body of each request
}

// Model is an llm.Model. It is safe for concurrent use.
type Model struct {
	config  Config
	chats   sdk.ChatCompletionService
	catalog sdk.ModelService

	lock   chan struct{} // guards server; a channel, so that who waits for it can be cancelled
	server *wire.Server
}

// New returns the model of c. It sends nothing.
func New(c Config) *Model {
	// Not the SDK's client: that one takes addresses, keys and headers from the environment, whatever the server.
	options := []option.RequestOption{
		option.WithBaseURL(c.BaseURL), option.WithHTTPClient(c.HTTP), option.WithMaxRetries(0),
	}
	if c.Server.Key != "" {
		options = append(options, option.WithAPIKey(c.Server.Key))
	}
	return &Model{
		config: c, server: c.Server, lock: make(chan struct{}, 1),
		chats: sdk.NewChatCompletionService(options...), catalog: sdk.NewModelService(options...),
	}
}

// Name returns the vendor and the model.
func (m *Model) Name() string { return m.config.Name }

// Complete asks for the next message; see llm.Model.
func (m *Model) Complete(ctx context.Context, r llm.Request) (*llm.Response, error) {
	server, err := m.named(ctx)
	if err != nil {
		return nil, err
	}
	body, err := m.config.body(server.Model, r)
	if err != nil {
		return nil, &llm.Error{Kind: llm.Invalid, Message: "the request to the model cannot be written", Err: err}
	}
	var resp *http.Response
	_, err = m.chats.New(ctx, sdk.ChatCompletionNewParams{}, option.WithMiddleware(server.Do),
		option.WithRequestBody("application/json", body), option.WithResponseBodyInto(&resp))
	if err != nil {
		return nil, server.Broken(ctx, err)
	}
	defer resp.Body.Close()
	a := &answer{server: server, stream: r.Stream, thinking: thinking{echo: m.config.Dialect.Echo}}
	if err := a.read(resp.Body); err != nil {
		return nil, server.Broken(ctx, err)
	}
	return a.response(len(body)), nil
}

// maxModelBytes bounds the name of a model that a server has.
const maxModelBytes = 500

// named returns the server with the name of the model, which is asked for once if the operator gave none.
func (m *Model) named(ctx context.Context) (*wire.Server, error) {
	select {
	case m.lock <- struct{}{}:
		defer func() { <-m.lock }()
	case <-ctx.Done():
		return nil, ctx.Err() //nolint:wrapcheck // documented
	}
	if m.server.Model != "" {
		return m.server, nil
	}
	page, err := m.catalog.List(ctx, option.WithMiddleware(m.server.Do))
	if err != nil {
		return nil, m.server.Broken(ctx, err)
	}
	if page == nil || len(page.Data) == 0 || page.Data[0].ID == "" || len(page.Data[0].ID) > maxModelBytes {
		return nil, &llm.Error{Kind: llm.NoModel, Message: m.server.Name + " names no model of its own: name one with --model"}
	}
	named := *m.server
	named.Model = page.Data[0].ID
	m.server = &named
	return m.server, nil
}
