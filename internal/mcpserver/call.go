package mcpserver

import (
	"context"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"runpython/internal/chat"
	"runpython/internal/fault"
)

// callChat is one call of the tool.
func (s *Server) callChat(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	args, malformed := decodeArguments(req.Params.Arguments)
	if malformed != nil {
		return nil, malformed
	}
	s.flights.join()
	defer s.flights.end()
	ctx, end := s.calls.begin(ctx, req.Session)
	defer end()
	r := chat.Request{Owner: ownerOf(req), ChatID: args.chatID, Message: args.message}
	if modern(req.ProtocolVersion()) {
		if req.Params.RequestState != "" || takesForms(req) {
			return s.converse(ctx, req, r)
		}
	} else {
		r.Ask = s.elicit(req)
	}
	stopProgress := s.follow(ctx, req, &r)
	reply, err := s.turn(ctx, r, stopProgress)
	return s.answered(ctx, req, reply, err)
}

// answered puts what has become of a turn into the form of the protocol.
func (s *Server) answered(ctx context.Context, req *mcp.CallToolRequest, reply *chat.Reply, err error) (*mcp.CallToolResult, error) {
	if kind, _ := fault.Shown(err); err != nil && kind == fault.Busy {
		s.tasks.notRun(req)
	}
	// A turn that was cancelled still has a reply, which is nobody's any more.
	if err != nil || context.Cause(ctx) != nil {
		return s.failedCall(ctx, req, err)
	}
	return s.result(ctx, reply), nil
}

// follow makes the progress of a turn known: by notifications to a caller that asks for
// them, and as the message of the task that the call may become. The function that it
// returns ends the notifications.
func (s *Server) follow(ctx context.Context, req *mcp.CallToolRequest, r *chat.Request) (stop func()) {
	stop = func() {}
	report := func(chat.Progress) {}
	token, wanted := progressToken(req)
	if wanted {
		p := newProgress(func(message string, step float64) error {
			return req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
				ProgressToken: token, Message: message, Progress: step,
			})
		})
		report, stop = p.report, p.stop
	}
	run := s.tasks.of(req)
	switch {
	case run != nil:
		run.whenDetached(stop)
		var lines noter
		r.Progress = func(p chat.Progress) {
			report(p)
			if note := lines.note(p); note != "" {
				run.task.Note(note)
			}
		}
	case wanted:
		r.Progress = report
	}
	return stop
}

// turn runs one turn and stops its progress also when the Chatter panics.
func (s *Server) turn(ctx context.Context, r chat.Request, stopProgress func()) (*chat.Reply, error) {
	defer stopProgress()
	reply, err := s.chat.Turn(ctx, r)
	if err == nil && reply == nil {
		err = errors.New("the chat returned neither a reply nor an error")
		s.log.ErrorContext(ctx, "turn", "error", err) // the Chatter does not know
	}
	return reply, err
}

// failedCall tells the caller of a turn that has no reply. A malformed call is a
// protocol error; what a model can react to is a result with isError; a call that
// was cancelled gets no answer. The cause is logged by the Chatter.
//
// Bounds of the caller's own are refused as HTTP does (RFC 6585, 4) where requests stand alone. Clients
// of sessions take 429 for the end of theirs, the Python SDK 1 among them, so they get a result, as pipes do.
func (s *Server) failedCall(ctx context.Context, req *mcp.CallToolRequest, err error) (*mcp.CallToolResult, error) {
	kind, shown := fault.Shown(err)
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, errStopping):
		return errorResult("The server is stopping and has ended this call; what its code did until then may be there. Chats are kept: go on with the same chat_id in a moment."), nil
	case cause != nil, kind == fault.Canceled:
		return nil, errCancelled()
	case kind == fault.Invalid:
		return nil, invalidParams(shown)
	}
	if e, ok := errors.AsType[*fault.Error](err); ok && e.RetryAfter > 0 && modern(req.ProtocolVersion()) && byHTTP(req) {
		return nil, tooManyCalls(e.RetryAfter, shown)
	}
	return errorResult(shown), nil
}

func errorResult(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: visible(text)}}}
}

// maxTokenBytes bounds a progress token, which every notification repeats.
const maxTokenBytes = 256

// progressToken returns the token with which the caller asked for progress.
func progressToken(req *mcp.CallToolRequest) (any, bool) {
	switch token := req.Params.GetProgressToken().(type) {
	case string:
		return token, len(token) <= maxTokenBytes
	case float64, int64, int:
		return token, true
	}
	return nil, false
}
