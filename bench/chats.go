package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// first measures the first call of new chats: with a guest in the pool, with a guest
// restored for it, with one started for it.
func (b *bench) first(ctx context.Context) ([]row, error) {
	filled, filledErr := b.firstFilled(ctx)
	rows := []row{filled.row("first call of a new chat, pool filled").wants(atMost("p50", 5))}
	empty, emptyErr := b.firstEmpty(ctx)
	return append(rows, empty...), errors.Join(filledErr, emptyErr)
}

func (b *bench) firstFilled(ctx context.Context) (_ *series, err error) {
	first := newSeries(nil, 1)
	var open closers
	defer open.close(&err)
	s, c, err := b.serveOne(ctx, &open, poolSize)
	if err != nil {
		return first, err
	}
	first.do = s.newChats(c, "1+1", nil)
	rounds(ctx, b.times(40), first)
	return first, first.err
}

// firstEmpty measures a server without a pool, beside new sessions of ipykernel.
func (b *bench) firstEmpty(ctx context.Context) (_ []row, err error) {
	var open closers
	defer open.close(&err)
	kernel := b.kernelSeries(ctx, "new", 2, &open)
	image, err := b.firstAlone(ctx, 3, true, kernel)
	if err != nil {
		return nil, err
	}
	if err := b.removeImage(); err != nil {
		return nil, err
	}
	plain, err := b.firstAlone(ctx, 2, false)
	// The parts after this one have an image again, like every server that once had a pool.
	err = errors.Join(err, b.fill(ctx))
	limit := atMost("p50", 220)
	return []row{
		image.row("first call of a new chat, pool empty").wants(limit).noted("a guest is restored for it"),
		plain.row("first call of a new chat, no image").wants(limit).noted("a guest is started from nothing for it"),
		image.compared("first call, pool empty, against ipykernel", kernel, "a new kernel of ipykernel and its first call").wants(atMost("ratio", 0.3333)),
		kernel.row("ipykernel new session"),
	}, err
}

// firstAlone measures first calls without a pool, per of them in a round, in turn with
// other series. It makes sure that guests came from an image, or not.
func (b *bench) firstAlone(ctx context.Context, per int, fromImage bool, others ...*series) (_ *series, err error) {
	first := newSeries(nil, per)
	var open closers
	defer open.close(&err)
	s, c, err := b.serveOne(ctx, &open, 0)
	if err != nil {
		return first, err
	}
	first.do = each(func(ctx context.Context) (time.Duration, error) {
		_, spent, err := c.say(ctx, "")
		return spent, err
	})
	rounds(ctx, b.times(10), append(others, first)...)
	n, err := s.gauge(ctx, restored)
	if err == nil && (n > 0) != fromImage {
		err = fmt.Errorf("%d guests were restored, wanted some: %t", n, fromImage)
	}
	return first, errors.Join(first.err, err)
}

const (
	idleChats = 10
	idleTime  = 10 * time.Second
	// settleTime is what the guests have to come to rest.
	settleTime = 2 * time.Second
)

// idle measures what ten idle chats and the pool cost.
func (b *bench) idle(ctx context.Context) (_ []row, err error) {
	var open closers
	defer open.close(&err)
	s, c, err := b.serveOne(ctx, &open, poolSize)
	if err != nil {
		return nil, err
	}
	for range idleChats {
		id, _, err := c.say(ctx, "")
		if err == nil {
			_, _, err = c.say(ctx, id)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := errors.Join(s.awaitPool(ctx, poolSize), pause(ctx, settleTime)); err != nil {
		return nil, err
	}
	memory, err := b.memory()
	if err != nil {
		return nil, err
	}
	ofGuests, ofServer, err := b.processorTime(ctx, s)
	if err != nil {
		return nil, err
	}
	share := func(d time.Duration) float64 { return 100 * float64(d) / float64(idleTime) }
	return []row{
		b.besideKernel(ctx, measured("memory of a living idle chat", memory)).wants(atMost("p50", 25)),
		single("processor time of 10 idle chats and the pool", "% of a core", idleChats+poolSize, share(ofGuests)).wants(atMost("p50", 0)),
		single("processor time of the server beside them", "% of a core", 1, share(ofServer)),
	}, nil
}

// memory returns what the guest of each chat holds. The youngest guests are the pool's.
func (b *bench) memory() (*sample, error) {
	found, err := guests(b.data)
	if err != nil {
		return nil, err
	}
	if len(found) != idleChats+poolSize {
		return nil, fmt.Errorf("%d guests are there, wanted %d", len(found), idleChats+poolSize)
	}
	return held(found[:idleChats])
}

// held returns what each of some guests holds.
func held(groups []group) (*sample, error) {
	all := &sample{unit: "MiB"}
	for _, g := range groups {
		n, err := g.memory()
		if err != nil {
			return nil, err
		}
		all.values = append(all.values, float64(n)/(1<<20))
	}
	return all, nil
}

// besideKernel puts the anonymous memory of an idle kernel of ipykernel beside a row of ours.
func (b *bench) besideKernel(ctx context.Context, r row) row {
	k, err := b.openKernel(ctx)
	if err != nil {
		return r.without(err)
	}
	a, err := k.ask("memory", 1)
	if err := errors.Join(err, k.close()); err != nil {
		return r.without(err)
	}
	return r.against("anonymous memory of an idle ipykernel", float64(a.Bytes)/(1<<20))
}

// processorTime returns what the guests and the server use in idleTime.
func (b *bench) processorTime(ctx context.Context, s *server) (ofGuests, ofServer time.Duration, err error) {
	var spent [2][2]time.Duration // before, after; guests, server
	for i := range spent {
		if i == 1 {
			if err := pause(ctx, idleTime); err != nil {
				return 0, 0, err
			}
		}
		found, err := guests(b.data)
		if err != nil {
			return 0, 0, err
		}
		if len(found) != idleChats+poolSize {
			return 0, 0, fmt.Errorf("%d guests are there, wanted %d", len(found), idleChats+poolSize)
		}
		for _, g := range found {
			spent[i][0] += g.spent()
		}
		if spent[i][1], err = spentBy(s.command.Process.Pid); err != nil {
			return 0, 0, err
		}
	}
	return spent[1][0] - spent[0][0], spent[1][1] - spent[0][1], nil
}

const (
	floodClients = 8
	floodTime    = 5 * time.Second
	// floodWarmUp is for the first calls of chats, which touch pages of their guests for the first time.
	floodWarmUp = time.Second
)

// throughput lets eight clients call at once, each in a chat of its own, and then the echo.
func (b *bench) throughput(ctx context.Context) (_ []row, err error) {
	var open closers
	defer open.close(&err)
	s, err := b.serve(ctx, poolSize)
	if err != nil {
		return nil, err
	}
	open.add(s.stop)
	var chats []batch
	for range floodClients {
		chat, err := s.chat(ctx, withSessions, &open)
		if err != nil {
			return nil, err
		}
		chats = append(chats, chat)
	}
	if err := s.awaitPool(ctx, poolSize); err != nil {
		return nil, err
	}
	echo, err := b.openEcho(ctx)
	if err != nil {
		return nil, err
	}
	open.add(echo.close)
	var echoes []batch
	for range floodClients {
		c, err := connect(ctx, target{url: echo.url, revision: withSessions})
		if err != nil {
			return nil, err
		}
		open.add(c.close)
		echoes = append(echoes, each(func(ctx context.Context) (time.Duration, error) { return callEcho(ctx, c) }))
	}
	if _, err := flood(ctx, chats, floodWarmUp); err != nil {
		return nil, err
	}
	runs, err := flood(ctx, chats, floodTime)
	if err != nil {
		return nil, err
	}
	calls, err := flood(ctx, echoes, floodTime)
	r := single("living chats, 8 clients", "runs/s", runs, float64(runs)/floodTime.Seconds()).
		against("the bare SDK echo tool, 8 clients", float64(calls)/floodTime.Seconds()).wants(atLeast("p50", 1000))
	return []row{r}, err
}

// flood does all batches at once, again and again for some time, and returns how often
// the work was done.
func flood(ctx context.Context, all []batch, spent time.Duration) (int, error) {
	counts, failures := make([]int, len(all)), make([]error, len(all))
	end := time.Now().Add(spent)
	var clients sync.WaitGroup
	for i, do := range all {
		clients.Go(func() {
			for time.Now().Before(end) && failures[i] == nil {
				var done []time.Duration
				done, failures[i] = do(ctx, 1)
				counts[i] += len(done)
			}
		})
	}
	clients.Wait()
	sum := 0
	for _, n := range counts {
		sum += n
	}
	return sum, errors.Join(failures...)
}

// starts measures the time from the start of the server's process to its ready line.
func (b *bench) starts(ctx context.Context) ([]row, error) {
	s := newSeries(each(func(ctx context.Context) (time.Duration, error) {
		s, err := b.serve(ctx, poolSize)
		if err != nil {
			return 0, err
		}
		return s.took, s.stop()
	}), 1)
	rounds(ctx, b.times(20), s)
	return []row{s.row("server start to ready").wants(atMost("p50", 300))}, s.err
}
