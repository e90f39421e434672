package kernel

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"time"

	"runpython/internal/excerpt"
)

// A step is something that is said to a new guest, and the answer that ends it.
type step struct {
	say    any
	answer string
}

// A greeting is what was learned of a guest before anybody got it.
type greeting struct {
	pid  int      // of the interpreter
	turn int      // number of the last run, of a guest that was restored
	died *message // the interpreter has ended before, and nobody has been told
}

// resume says hello to a guest that was restored from a chat's checkpoint: its interpreter answers or, if
// that has ended, init. unheard says that the host before was killed, and may not have kept what its last run has told.
func resume(ctx context.Context, channel *os.File, token string, unheard bool) (g greeting, err error) {
	again := hello()
	again["restored"], again["unheard"] = true, unheard
	err = speak(ctx, channel, token, []step{{again, "hello"}}, func(m *message) {
		if g = (greeting{pid: m.PID, turn: m.N}); m.Op == "died" {
			g = greeting{died: m}
		}
	})
	if err == nil && g.died == nil && (g.pid <= 1 || g.turn < 0) {
		err = fmt.Errorf("%w: it has no number", errProtocol)
	}
	if err != nil {
		return g, fmt.Errorf("greet the restored guest: %w", err)
	}
	return g, nil
}

// warmUp says hello to a new guest and lets it do once what it will do for a chat:
// the first touch of each page costs in a guest, some 8 ms in all, and is better
// paid while the guest waits in the pool than by the first call. It returns the
// interpreter's number.
func warmUp(ctx context.Context, channel *os.File, token string) (pid int, err error) {
	run := func(code string) any {
		return map[string]any{"op": "run", "n": 0, "candidates": []Candidate{{Code: code}}}
	}
	steps := []step{{hello(), "hello"}, {run("1+1"), "done"}, {run("del _"), "done"}, {hello(), "hello"}}
	err = speak(ctx, channel, token, steps, func(m *message) { pid = max(pid, m.PID) })
	if err != nil {
		return 0, fmt.Errorf("greet the guest: %w", err)
	}
	return pid, nil
}

// toldProblems bounds the modules whose import has failed that are told of.
const toldProblems = 20

// preload imports modules in a new guest, of which an image is made then.
func preload(ctx context.Context, channel *os.File, token string, modules []string) (problems []string, err error) {
	steps := []step{{map[string]any{"op": "preload", "modules": modules}, "preloaded"}}
	err = speak(ctx, channel, token, steps, func(m *message) { problems = m.Problems })
	if err != nil {
		return nil, fmt.Errorf("import in the guest: %w", err)
	}
	problems = problems[:min(len(problems), toldProblems)]
	for i, p := range problems {
		problems[i] = excerpt.Middle(p, noteBytes)
	}
	return problems, nil
}

// speak takes the steps with a guest that nobody else speaks with, and hears each answer, of which one is that
// the interpreter has ended. Reading is bounded by
// the deadline of ctx, or answerDeadline, and by the end of ctx, whichever comes first.
func speak(ctx context.Context, channel *os.File, token string, steps []step, hear func(*message)) error {
	w := newWire(channel, token)
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(answerDeadline)
	}
	if err := channel.SetReadDeadline(deadline); err != nil {
		return err //nolint:wrapcheck // by the callers
	}
	stop := context.AfterFunc(ctx, func() { _ = channel.SetReadDeadline(time.Unix(1, 0)) }) // only fails when closed
	for _, s := range steps {
		err := w.send(s.say, nil)
		var m *message
		if err == nil {
			m, err = w.await(s.answer, "died")
		}
		if err != nil {
			stop()
			return err
		}
		hear(m)
	}
	if !stop() {
		return ctx.Err() //nolint:wrapcheck // by the callers
	}
	return channel.SetReadDeadline(time.Time{}) //nolint:wrapcheck // only fails when closed
}

func hello() map[string]any {
	seed := make([]byte, 64)
	_, _ = rand.Read(seed) // never fails
	return map[string]any{"op": "hello", "seed": hex.EncodeToString(seed)}
}
