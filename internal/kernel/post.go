package kernel

import "sync"

// A post hands messages of the guest to the operation under way. Between two operations
// nobody wants them, and a guest that has sent a few large ones would hold the host's memory
// for as long as its chat is idle. So they are dropped then, but for the one that
// tells of the end of the interpreter.
type post struct {
	messages chan *message // unbuffered; closed when the guest has ended or broken the protocol

	mu   sync.Mutex    // guards what follows
	idle chan struct{} // closed between operations
	died *message      // came between operations; without a body
}

func newPost() *post {
	p := &post{messages: make(chan *message), idle: make(chan struct{})}
	close(p.idle)
	return p
}

// open begins an operation. It returns what has told of the end of the interpreter since the one before, or nil.
func (p *post) open() (died *message) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.isIdle() {
		p.idle = make(chan struct{})
	}
	died, p.died = p.died, nil
	return died
}

// shut ends an operation; the message that waits for it is dropped.
func (p *post) shut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.isIdle() {
		close(p.idle)
	}
}

// isIdle is for whoever holds mu.
func (p *post) isIdle() bool {
	select {
	case <-p.idle:
		return true
	default:
		return false
	}
}

// deliver waits until an operation has taken m, or drops it. It returns false when done is closed.
func (p *post) deliver(m *message, done <-chan struct{}) bool {
	for {
		p.mu.Lock()
		idle := p.idle
		p.mu.Unlock()
		select {
		case <-idle: // before anything else: whoever takes messages now is of a later operation
			if p.drop(m) {
				return true
			}
			continue
		default:
		}
		select {
		case p.messages <- m:
			return true
		case <-done:
			return false
		case <-idle:
			if p.drop(m) {
				return true
			}
		}
	}
}

// drop drops m, unless the next operation has begun meanwhile, which then gets it.
func (p *post) drop(m *message) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.isIdle() {
		return false
	}
	if m.Op == "died" {
		m.body = nil
		p.died = m
	}
	return true
}
