package kernel

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// errDied ends an operation during which the interpreter has ended. The guest
// lives, and init answers from then on.
var errDied = errors.New("the interpreter has ended")

// converse takes the messages of one operation until handle says that it is over.
// All of it is done within limit: a guest that is not done then, or that grows
// meanwhile to twice its memory limit, is ended. When ctx ends the operation is given
// up; what the guest still answers to it is dropped by the next one.
func (k *Kernel) converse(ctx context.Context, limit time.Duration, handle func(*message) (over bool)) error {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		select {
		case m, ok := <-k.post.messages:
			switch {
			case !ok:
				return k.lose()
			case m.Op == "died":
				k.note(m)
				return errDied
			case handle(m):
				return nil
			}
		case <-k.watch.ticks:
			if held := k.guest.MemoryBytes(); held > 2*k.config.Limits.MemoryBytes {
				return k.giveUp(fmt.Errorf("guest %s holds %d bytes, more than twice its limit", k.guest.ID, held))
			}
		case <-timer.C:
			return k.giveUp(fmt.Errorf("guest %s did not answer within %v", k.guest.ID, limit))
		case <-ctx.Done():
			return fmt.Errorf("wait for guest %s: %w", k.guest.ID, ctx.Err())
		}
	}
}

// giveUp ends the guest.
func (k *Kernel) giveUp(err error) error {
	k.guest.Kill()
	k.lost.Store(true)
	return err
}

// lose notes that the guest has ended and says why.
func (k *Kernel) lose() error {
	k.lost.Store(true)
	return fmt.Errorf("guest %s has ended: %w", k.guest.ID, k.broken)
}

// note takes it that the interpreter has ended while no run was under way.
func (k *Kernel) note(m *message) {
	k.dead, k.renewed, k.files = true, true, m.Files.report()
}

// say sends a message that the guest must take.
func (k *Kernel) say(header any, body []byte) error {
	if err := k.wire.send(header, body); err != nil {
		return k.giveUp(err)
	}
	return nil
}

// awake begins an operation: it lets the guest go on. Code that the last one has left
// running may have ended the guest. The caller ends the operation with rest, also after an error.
func (k *Kernel) awake() error {
	if k.lost.Load() {
		return fmt.Errorf("guest %s has ended", k.guest.ID)
	}
	k.wakeUp()
	select {
	case m, ok := <-k.post.messages:
		if !ok {
			return k.lose()
		}
		if m.Op == "died" {
			k.note(m)
		}
	default:
	}
	return nil
}

// restart begins a new interpreter in the guest, when the last one has ended.
func (k *Kernel) restart(ctx context.Context) error {
	if !k.dead {
		return nil
	}
	if err := k.say(map[string]any{"op": "start"}, nil); err != nil {
		return err
	}
	if err := k.greet(ctx); err != nil {
		return err
	}
	k.dead = false
	k.settle(ctx)
	return nil
}

const (
	// settleEvery is how often it is looked whether memory is still given back, and settleTime how long.
	settleEvery = 20 * time.Millisecond
	settleTime  = time.Second
	// settled is how many bytes fewer are no fall.
	settled = 1 << 20
)

// settle waits until the memory of the interpreter that has ended has stopped to fall: gVisor gives it back a
// moment later, and it must not count against the next run.
func (k *Kernel) settle(ctx context.Context) {
	tick := time.NewTicker(settleEvery)
	defer tick.Stop()
	limited, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	for before := k.guest.MemoryBytes(); ; {
		select {
		case <-limited.Done():
			return
		case <-tick.C:
		}
		now := k.guest.MemoryBytes()
		if now > before-settled {
			return
		}
		before = now
	}
}

// greet begins with a new interpreter: seeds it, learns its number. An answer that
// does not come ends the guest.
func (k *Kernel) greet(ctx context.Context) error {
	if err := k.say(hello(), nil); err != nil {
		return err
	}
	err := k.converse(ctx, answerDeadline, func(m *message) bool {
		if m.Op != "hello" || m.PID <= 1 {
			return false
		}
		k.pid = m.PID
		return true
	})
	if err != nil {
		return err
	}
	return k.label()
}

// label tells the guest's host whose interpreter it is. Without a label it is not rescued.
func (k *Kernel) label() error {
	if k.config.Label == "" {
		return nil
	}
	return k.guest.Label(k.config.Label, k.pid) //nolint:wrapcheck // says what it is
}
