package chat

import (
	"context"

	"runpython/internal/fault"
	"runpython/internal/kernel"
)

// A Question is what code asks the person for. Its texts come from the code and are hostile.
type Question = kernel.Question

// An Answer is what became of a Question.
type Answer = kernel.Answer

// The outcomes of a question.
const (
	Typed     = kernel.Typed
	Declined  = kernel.Declined
	Dismissed = kernel.Dismissed
	Unasked   = kernel.Unasked
)

// ask returns what asks the person for the code, nil when nobody can be asked.
func (x *execution) ask() func(context.Context, Question) Answer {
	if x.request.Ask == nil {
		return nil
	}
	return func(ctx context.Context, q Question) Answer {
		x.report(Progress{Step: "asking"})
		defer x.report(Progress{Step: "running"})
		defer x.chat.asks()() // also when Ask panics, which the kernel recovers
		return x.request.Ask(ctx, q)
	}
}

// asks turns away whoever waits for the chat or comes, until answered is called: the
// person whose answer the code waits for may take minutes.
func (c *conversation) asks() (answered func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.asking)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.asking = make(chan struct{})
	}
}

// question is closed while code of the chat waits for an answer.
func (c *conversation) question() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.asking
}

// errAsking answers what comes while code of the chat waits for an answer.
func errAsking() error {
	return fault.New(fault.Busy, nil, "the code that runs in this chat has asked the person a question with input() and waits for the answer, "+
		"for 10 minutes at most; nothing else can run in this chat before: have the question answered, try again later, or use another chat")
}
