package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

const (
	hibernatedChats = 1000
	// hibernatedClients begin chats side by side.
	hibernatedClients = 4
	// awakened are restored one after the other, and again so many at once.
	awakened = 100
	// hibernateLimit bounds the wait for the last of them to be on the disk.
	hibernateLimit = 5 * time.Minute
	livingChats    = "runpython_interpreters"
	megabyte       = 1e6
)

// hibernated measures a server with many chats on the disk: what each takes there, the start of the server, the calls of a living
// chat beside them and beside their checkpoints, and how chats come back.
func (b *bench) hibernated(ctx context.Context) (rows []row, err error) {
	own, err := b.withData("hibernated")
	if err != nil {
		return nil, err
	}
	n := b.times(hibernatedChats)
	ids, err := own.hibernate(ctx, n, "x = 1\n1+1")
	if err != nil {
		return nil, err
	}
	disk, err := own.checkpointSizes()
	if err != nil {
		return nil, err
	}
	rows = append(rows, measured("disk of a hibernated chat, bare", disk).wants(atMost("p50", 1)))
	starts := newSeries(each(func(ctx context.Context) (time.Duration, error) {
		s, err := own.serve(ctx, poolSize)
		if err != nil {
			return 0, err
		}
		return s.took, s.stop()
	}), 1)
	rounds(ctx, b.times(20), starts)
	rows = append(rows, starts.row(fmt.Sprintf("server start to ready, %d hibernated chats", n)).wants(atMost("p50", 300)))
	awake, err := own.awaken(ctx, ids)
	return append(rows, awake...), errors.Join(starts.err, err)
}

// awaken measures a server with hibernated chats.
func (b *bench) awaken(ctx context.Context, ids []string) (rows []row, err error) {
	var open closers
	defer open.close(&err)
	s, c, err := b.serveOne(ctx, &open, poolSize)
	if err != nil {
		return nil, err
	}
	living, err := s.chat(ctx, withSessions, &open)
	if err != nil {
		return nil, err
	}
	beside := newSeries(living, b.times(500))
	rounds(ctx, 4, beside)
	one := newSeries(nil, 0)
	count := min(awakened, len(ids)/2)
	for _, id := range ids[:count] {
		_, spent, err := c.say(ctx, id)
		if err != nil {
			return nil, err
		}
		one.add(spent)
	}
	// They are quiet after that, and get their checkpoints one after the other.
	if err := pause(ctx, settleTime); err != nil {
		return nil, err
	}
	checkpointed := newSeries(living, b.times(500))
	rounds(ctx, 4, checkpointed)
	all := newSeries(nil, 0)
	begun := time.Now()
	all.values, err = sayAtOnce(ctx, c, ids[count:2*count])
	together := time.Since(begun)
	return []row{
		beside.row(fmt.Sprintf("call in a living chat beside %d hibernated ones", len(ids))).wants(atMost("p50", 1.5), atMost("p99", 10)),
		checkpointed.row(fmt.Sprintf("call in a living chat while %d others are checkpointed", count)).wants(atMost("p99", 50)),
		one.row("restore of a hibernated chat, bare").wants(atMost("p50", 300)),
		all.row(fmt.Sprintf("restore of %d hibernated chats at once, each", count)),
		single(fmt.Sprintf("restore of %d hibernated chats at once, all", count), "ms", count, float64(together)/float64(time.Millisecond)),
	}, errors.Join(beside.err, checkpointed.err, err)
}

// sayAtOnce returns how long each of some chats takes to answer when all are asked at once, in milliseconds.
func sayAtOnce(ctx context.Context, c *client, ids []string) ([]float64, error) {
	var wait sync.WaitGroup
	s, errs := sample{values: make([]float64, len(ids))}, make([]error, len(ids))
	for i, id := range ids {
		wait.Go(func() {
			_, spent, err := c.say(ctx, id)
			s.values[i], errs[i] = float64(spent)/float64(time.Millisecond), err
		})
	}
	wait.Wait()
	return s.values, errors.Join(errs...)
}

const (
	smallFrame = "import numpy as np, pandas as pd\ndf = pd.DataFrame({'a': range(1000), 'b': np.random.random(1000)})\n1+1"
	largeFrame = "import numpy as np, pandas as pd\ndf = pd.DataFrame(np.random.random((250_000, 100)))\n1+1"
)

// frames measures hibernated chats with pandas.
func (b *bench) frames(ctx context.Context) (rows []row, err error) {
	own, err := b.withData("frames")
	if err != nil {
		return nil, err
	}
	for _, of := range []struct {
		name, code string
		flags      []string
		disk       goal
	}{
		{"pandas preloaded, small frame", smallFrame, []string{"--preload", "numpy,pandas"}, atMost("p50", 8)},
		{"pandas installed, small frame", smallFrame, nil, atMost("p50", 8)},
		{"pandas preloaded, 200 MB frame", largeFrame, []string{"--preload", "numpy,pandas"}, atMost("p50", 220)},
	} {
		more, err := own.restores(ctx, of.code, of.flags)
		if err != nil {
			return rows, err
		}
		rows = append(rows,
			more[0].row("restore of a hibernated chat, "+of.name).wants(atMost("p50", 300)),
			measured("disk of a hibernated chat, "+of.name, &more[1].sample).wants(of.disk))
	}
	return rows, nil
}

// restores has a chat hibernate and come back again and again, and returns how long that took, and what it took on the disk.
func (b *bench) restores(ctx context.Context, code string, flags []string) (_ [2]*series, err error) {
	spent, disk := newSeries(nil, 0), newSeries(nil, 0)
	var open closers
	defer open.close(&err)
	s, c, err := b.serveOne(ctx, &open, 1, append(flags, "--idle", "1s")...)
	if err != nil {
		return [2]*series{}, err
	}
	if err := s.awaitPool(ctx, 1); err != nil {
		return [2]*series{}, err
	}
	id, _, err := c.send(ctx, "", code)
	for range b.times(40) {
		if err == nil {
			err = s.awaitHibernated(ctx)
		}
		if err != nil {
			return [2]*series{}, err
		}
		sizes, sizesErr := b.checkpointSizes()
		if sizesErr != nil {
			return [2]*series{}, sizesErr
		}
		disk.values, disk.unit = append(disk.values, sizes.quantile(1)), sizes.unit
		var once time.Duration
		if _, once, err = c.say(ctx, id); err == nil {
			spent.add(once)
		}
	}
	return [2]*series{spent, disk}, err
}

// withData is the benchmark with another data folder, which has the same interpreter and packages.
func (b *bench) withData(name string) (*bench, error) {
	own := *b
	own.data = filepath.Join(b.dir, name)
	err := os.Mkdir(own.data, 0o700)
	for _, shared := range []string{"interpreter", "packages"} {
		if err == nil {
			err = os.Symlink(filepath.Join(b.data, shared), filepath.Join(own.data, shared))
		}
	}
	if err != nil {
		return nil, fmt.Errorf("data folder: %w", err)
	}
	return &own, os.MkdirAll(filepath.Join(b.data, "packages"), 0o700) //nolint:wrapcheck // names the folder
}

// hibernate begins chats and lets all of them hibernate.
func (b *bench) hibernate(ctx context.Context, n int, code string) (ids []string, err error) {
	var open closers
	defer open.close(&err)
	s, c, err := b.serveOne(ctx, &open, hibernatedClients, "--idle", "1s")
	if err != nil {
		return nil, err
	}
	ids, errs := make([]string, n), make([]error, hibernatedClients)
	var clients sync.WaitGroup
	for first := range hibernatedClients {
		clients.Go(func() {
			for i := first; i < n && errs[first] == nil; i += hibernatedClients {
				ids[i], _, errs[first] = c.send(ctx, "", code)
			}
		})
	}
	clients.Wait()
	return ids, errors.Join(errors.Join(errs...), s.awaitHibernated(ctx))
}

// awaitHibernated waits until no chat lives.
func (s *server) awaitHibernated(ctx context.Context) error {
	for begun := time.Now(); time.Since(begun) < hibernateLimit; {
		living, err := s.gauge(ctx, livingChats)
		if err != nil || living == 0 {
			return err
		}
		if err := pause(ctx, fillEvery); err != nil {
			return err
		}
	}
	return fmt.Errorf("chats live after %v%s", hibernateLimit, s.said.last())
}

// checkpointSizes returns what each checkpoint takes on the disk, without the image from which it differs.
func (b *bench) checkpointSizes() (*sample, error) {
	folders, err := os.ReadDir(filepath.Join(b.data, "checkpoints"))
	if err != nil {
		return nil, fmt.Errorf("checkpoints: %w", err)
	}
	s := &sample{unit: "MB"}
	for _, f := range folders {
		var bytes int64
		err := filepath.WalkDir(filepath.Join(b.data, "checkpoints", f.Name()), func(_ string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if entry.Name() == "base" {
				return fs.SkipDir
			}
			info, err := entry.Info()
			if err != nil {
				return err
			}
			if stat, ok := info.Sys().(*syscall.Stat_t); ok {
				bytes += stat.Blocks * 512
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("checkpoints: %w", err)
		}
		s.values = append(s.values, float64(bytes)/megabyte)
	}
	if len(s.values) == 0 {
		return nil, errors.New("there are no checkpoints")
	}
	return s, nil
}
