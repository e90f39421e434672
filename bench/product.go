package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// build makes the static program as a release has it, in the benchmark's folder.
func (b *bench) build(ctx context.Context) error {
	b.program = filepath.Join(b.dir, "runpython")
	command := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", b.program, "runpython/cmd/runpython")
	command.Env = append(command.Environ(), "CGO_ENABLED=0")
	if said, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("build the program: %w: %s", err, said)
	}
	return nil
}

// A server is a running product. Stop it.
type server struct {
	*child
	url   string
	admin string
	took  time.Duration // from the start of the process to its ready line
}

// serve starts the product with a pool of so many guests, some flags, and everything else by default.
func (b *bench) serve(ctx context.Context, pool int, flags ...string) (*server, error) {
	s := &server{child: newChild(ctx, b.program, append([]string{"serve", "--data", b.data, "--pool", strconv.Itoa(pool),
		"--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"}, flags...)...)}
	begun := time.Now()
	err := s.start()
	if err == nil {
		s.admin, err = s.await(ctx, regexp.MustCompile(` admin: (http://\S+)$`))
	}
	if err == nil {
		s.url, err = s.await(ctx, regexp.MustCompile(` ready: (http://\S+)$`))
	}
	s.took = time.Since(begun)
	if err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

// serveOne starts the product as serve does and connects a client to it; open gets the ends of both.
func (b *bench) serveOne(ctx context.Context, open *closers, pool int, flags ...string) (*server, *client, error) {
	s, err := b.serve(ctx, pool, flags...)
	if err != nil {
		return nil, nil, err
	}
	open.add(s.stop)
	c, err := connect(ctx, target{url: s.url, revision: withSessions})
	if err != nil {
		return nil, nil, err
	}
	open.add(c.close)
	return s, c, nil
}

const (
	pooled    = "runpython_guests_pooled"
	restored  = "runpython_guests_restored_total"
	gaugesMax = 1 << 20 // bytes of an answer to /metrics
	fillLimit = 30 * time.Second
	fillEvery = 20 * time.Millisecond
)

// awaitPool waits until so many guests are ready for new chats.
func (s *server) awaitPool(ctx context.Context, guests int) error {
	return s.watchPool(ctx, guests, fillEvery)
}

// watchPool is awaitPool with a look at the pool as often as every says.
func (s *server) watchPool(ctx context.Context, guests int, every time.Duration) error {
	for begun := time.Now(); time.Since(begun) < fillLimit; {
		n, err := s.gauge(ctx, pooled)
		if err != nil {
			return err
		}
		if n >= guests {
			return nil
		}
		if err := pause(ctx, every); err != nil {
			return err
		}
	}
	return fmt.Errorf("the pool does not have %d guests after %v%s", guests, fillLimit, s.said.last())
}

// gauge reads one number of the product's metrics.
func (s *server) gauge(ctx context.Context, name string) (int, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.admin+"/metrics", nil)
	if err != nil {
		return 0, fmt.Errorf("metrics: %w", err)
	}
	web := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := web.Do(request)
	if err != nil {
		return 0, fmt.Errorf("metrics: %w", err)
	}
	defer func() { _ = answer.Body.Close() }() // only read from
	text, err := io.ReadAll(io.LimitReader(answer.Body, gaugesMax))
	if err != nil {
		return 0, fmt.Errorf("metrics: %w", err)
	}
	return parseGauge(string(text), name)
}

// parseGauge finds a number without labels in Prometheus' text format.
func parseGauge(text, name string) (int, error) {
	for line := range strings.Lines(text) {
		if value, found := strings.CutPrefix(line, name+" "); found {
			n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil {
				return 0, fmt.Errorf("metrics: %w", err)
			}
			return int(n), nil
		}
	}
	return 0, fmt.Errorf("metrics have no %s", name)
}

// fill lets the product unpack its interpreter and make the image of its pool, once, and ends it again.
func (b *bench) fill(ctx context.Context) error {
	s, err := b.serve(ctx, 1)
	if err != nil {
		return err
	}
	return errors.Join(s.awaitPool(ctx, 1), s.stop())
}

// removeImage makes the product start guests from nothing until it has made another image.
func (b *bench) removeImage() error {
	return os.RemoveAll(filepath.Join(b.data, "images"))
}
