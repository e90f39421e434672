package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

const (
	// preloadedPackages are those of the measurements with a preload.
	preloadedPackages = "numpy,pandas,matplotlib"
	// importPandas is what most chats begin with.
	importPandas = "import pandas\n1+1"
	// compileLimit bounds the wait for the bytecode of all wheels.
	compileLimit = 3 * time.Minute
	// refillEvery is how often it is looked whether the pool is full again.
	refillEvery = 2 * time.Millisecond
)

// packages measures new chats that need pandas: installed for each, and preloaded.
func (b *bench) packages(ctx context.Context) ([]row, error) {
	installed, err := b.installedPackages(ctx)
	if err != nil {
		return installed, err
	}
	preloaded, err := b.preloadedPackages(ctx)
	return append(installed, preloaded...), err
}

// installedPackages measures a server without a preload.
func (b *bench) installedPackages(ctx context.Context) (_ []row, err error) {
	var open closers
	defer open.close(&err)
	s, c, err := b.serveOne(ctx, &open, poolSize)
	if err != nil {
		return nil, err
	}
	if _, _, err = c.send(ctx, "", "!pip install pandas matplotlib\n1+1"); err == nil { // with what will be preloaded
		err = b.awaitBytecode(ctx)
	}
	if err == nil {
		_, _, err = c.send(ctx, "", importPandas)
	}
	if err != nil {
		return nil, err
	}
	const install = "!pip install pandas\n1+1"
	known := newSeries(s.newChats(c, install, nil), 2)
	cached := newSeries(s.newChats(c, install, b.forgetAnswers), 1)
	imported := newSeries(s.newChats(c, importPandas, nil), 2)
	bare := b.uvSeries(ctx)
	rounds(ctx, b.times(10), known, cached, imported, bare)
	rows := []row{
		known.row("install of pandas into a new chat, set known").wants(atMost("p50", 100)),
		cached.row("install of pandas into a new chat, only its wheels cached").wants(atMost("p50", 350)).noted("uv asks the index"),
		imported.compared("import pandas in a new chat", bare, "uv run --with pandas python, all of it cached").wants(atMost("p50", 700)),
		bare.row("uv run --with pandas python -c \"import pandas\""),
	}
	pool, err := b.pool(ctx, s, c, "without a preload")
	return append(rows, pool...), errors.Join(known.err, cached.err, imported.err, err)
}

// preloadedPackages measures a server with one.
func (b *bench) preloadedPackages(ctx context.Context) (_ []row, err error) {
	var open closers
	defer open.close(&err)
	s, c, err := b.serveOne(ctx, &open, poolSize, "--preload", preloadedPackages)
	if err != nil {
		return nil, err
	}
	imported := newSeries(s.newChats(c, importPandas, nil), 2)
	plot := newSeries(s.newChats(c, "import matplotlib.pyplot as plt\nplt.plot([1, 2])\n1+1", nil), 1)
	rounds(ctx, b.times(10), imported, plot)
	pool, err := b.pool(ctx, s, c, "with a preload")
	return append([]row{
		imported.row("import pandas in a new chat, preloaded").wants(atMost("p50", 20)),
		plot.row("a plot in a new chat, preloaded"),
		single("start to ready with a preload", "ms", 1, float64(s.took)/float64(time.Millisecond)),
	}, pool...), errors.Join(imported.err, plot.err, err)
}

// newChats is a batch of first messages of chats, each with a full pool, after prepare if that is not nil.
func (s *server) newChats(c *client, message string, prepare func() error) batch {
	return each(func(ctx context.Context) (time.Duration, error) {
		err := s.awaitPool(ctx, poolSize)
		if err == nil && prepare != nil {
			err = prepare()
		}
		if err != nil {
			return 0, err
		}
		_, spent, err := c.send(ctx, "", message)
		return spent, err
	})
}

// pool measures how long the pool needs for another guest, and what its guests hold.
func (b *bench) pool(ctx context.Context, s *server, c *client, how string) ([]row, error) {
	refill := newSeries(each(func(ctx context.Context) (time.Duration, error) {
		if err := s.awaitPool(ctx, poolSize); err != nil {
			return 0, err
		}
		if _, _, err := c.say(ctx, ""); err != nil {
			return 0, err
		}
		begun := time.Now()
		err := s.watchPool(ctx, poolSize, refillEvery)
		return time.Since(begun), err
	}), 1)
	rounds(ctx, b.times(20), refill)
	found, err := guests(b.data)
	if err != nil {
		return nil, err
	}
	memory, err := held(found[max(0, len(found)-poolSize):]) // the youngest are the pool's
	if err != nil {
		return nil, err
	}
	return []row{
		refill.row("the pool is full again after a new chat, " + how),
		measured("memory of a guest of the pool, "+how, memory),
	}, refill.err
}

// awaitBytecode waits until each wheel of the product's cache is byte-compiled.
func (b *bench) awaitBytecode(ctx context.Context) error {
	place := filepath.Join(b.data, "packages", "python-*", "wheels", "*")
	for begun := time.Now(); time.Since(begun) < compileLimit; {
		wheels, err := filepath.Glob(place)
		if err != nil {
			return fmt.Errorf("wheels of the product: %w", err)
		}
		done, err := filepath.Glob(filepath.Join(place, "compiled"))
		if err != nil {
			return fmt.Errorf("wheels of the product: %w", err)
		}
		if len(wheels) > 0 && len(done) == len(wheels) {
			return nil
		}
		if err := pause(ctx, settleTime); err != nil {
			return err
		}
	}
	return fmt.Errorf("wheels are not compiled after %v", compileLimit)
}

// forgetAnswers makes the product ask uv again for what it has resolved before.
func (b *bench) forgetAnswers() error {
	answers, err := filepath.Glob(filepath.Join(b.data, "packages", "answers", "[0-9a-f]*"))
	for _, name := range answers {
		err = errors.Join(err, os.Remove(name))
	}
	return err
}

// uvSeries is a process of uv that does the same on the machine itself, with the uv on PATH or the product's. It has the
// cache of this benchmark, which the first time fills.
func (b *bench) uvSeries(ctx context.Context) *series {
	uv, err := exec.LookPath("uv")
	if err != nil {
		found, globErr := filepath.Glob(filepath.Join(b.data, "packages", "uv", "*", "uv"))
		if globErr != nil || len(found) == 0 {
			return &series{sample: sample{unit: "ms"}, per: 1, err: errors.Join(errors.New("there is no uv"), err, globErr)}
		}
		uv = found[0]
	}
	python, err := realPython(ctx)
	s := newSeries(each(func(ctx context.Context) (time.Duration, error) {
		return b.process(ctx, uv, "run", "--quiet", "--no-project", "--no-config", "--cache-dir", filepath.Join(b.cache, "uv"),
			"--python", python, "--with", "pandas", "python", "-c", "import pandas; print(1+1)")
	}), 1)
	s.err = err
	return s
}
