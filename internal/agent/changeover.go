package agent

import "sync"

// maxAstray is how many replies in a row may miss the protocol Tools before Auto changes over to Fenced.
const maxAstray = 2

// A chooser decides which protocol a task begins with, and learns from how tasks go. It is safe for concurrent use.
//
// Only a model that has never made a call is given up for the process: one task that goes wrong, maybe because
// somebody wants it to, must not change how others are served.
type chooser struct {
	mu     sync.Mutex
	first  Protocol
	fixed  bool // the operator has chosen
	proven bool // the model has made a call in the form of the schema
	astray int  // replies in a row that missed it, over tasks
}

func newChooser(o Options) *chooser {
	switch {
	case o.Protocol != Auto:
		return &chooser{first: o.Protocol, fixed: true}
	case o.GoodAtTools:
		return &chooser{first: Tools}
	}
	return &chooser{first: Fenced}
}

// protocol returns what a task begins with.
func (c *chooser) protocol() Protocol {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.first
}

// kept notes a call in the form of the schema.
func (c *chooser) kept() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.proven, c.astray = true, 0
}

// missed notes a reply that misses the protocol, the n-th of its task in a row, and reports whether the task
// is to change over.
func (c *chooser) missed(n int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fixed {
		return false
	}
	c.astray++
	if !c.proven && c.astray >= maxAstray {
		c.first = Fenced
		return true
	}
	return n >= maxAstray
}

// refused notes that the server says that it takes no tools, and reports whether the task is to change over. A
// server that has taken them may only repeat what somebody has written.
func (c *chooser) refused() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fixed {
		return false
	}
	if !c.proven {
		c.first = Fenced
	}
	return true
}
