package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	loadClients = 50
	// loadPassword is that of accounts which exist as long as the folder of a run.
	loadPassword = "correct horse battery staple"
	// accountsAtOnce is how many processes make accounts at the same time.
	accountsAtOnce = 4
	// calmShare of the time has the clients alone: it warms all up, and is what the rest is compared with.
	calmShare = 5
)

// load is many clients with tokens at full rate, beside one that sends garbage and one that opens connections and
// never closes them, also when all is over; only a quick run does not wait until the server has closed them. What it cannot find as it must be is an error: an answered call without effect, an answer of the
// server's own failure, a server that does not come back to what it was.
func (b *bench) load(ctx context.Context) (_ []row, err error) {
	var open closers
	defer open.close(&err)
	tokens, err := b.accounts(ctx)
	if err != nil {
		return nil, err
	}
	s, err := b.serveSignedIn(ctx)
	if err != nil {
		return nil, err
	}
	open.add(s.stop)
	var counters []*counter
	for _, token := range tokens[:loadClients] {
		c, err := s.counter(ctx, token, &open)
		if err != nil {
			return nil, err
		}
		counters = append(counters, c)
	}
	calmTime := b.loadTime / calmShare
	calm, err := count(ctx, counters, calmTime)
	if err != nil {
		return nil, err
	}
	hangUp(counters)
	before, err := s.rest(ctx, nil)
	if err != nil {
		return nil, err
	}
	rude := s.beRude(ctx, tokens[loadClients])
	open.add(rude.close)
	loaded, err := count(ctx, counters, b.loadTime)
	if err := errors.Join(err, rude.stop()); err != nil {
		return nil, err
	}
	if b.quick {
		if err := rude.close(); err != nil {
			return nil, err
		}
	}
	hangUp(counters)
	after, err := s.rest(ctx, &before)
	if err != nil {
		return nil, err
	}
	for _, c := range counters {
		if err := c.exact(ctx); err != nil {
			return nil, err
		}
	}
	beside := fmt.Sprintf("beside %d requests of garbage and %d connections that nobody closed; every counter is exact", rude.sent.Load(), rude.opened.Load())
	rate := float64(len(loaded.values)) / b.loadTime.Seconds()
	return []row{
		measured(fmt.Sprintf("load of %d clients with tokens for %v", loadClients, b.loadTime), loaded).
			against(fmt.Sprintf("the same clients alone, for %v", calmTime), calm.quantile(0.5)).noted(beside),
		single("calls of them", "calls/s", len(loaded.values), rate).against("the same clients alone", float64(len(calm.values))/calmTime.Seconds()),
		single("memory of the server afterwards", "MiB", 1, after.mib()).against("before", before.mib()),
		single("descriptors of the server afterwards", "", 1, float64(after.descriptors)).against("before", float64(before.descriptors)),
		single("goroutines of the server afterwards", "", 1, float64(after.goroutines)).against("before", float64(before.goroutines)),
	}, nil
}

// hangUp closes connections that clients keep for later, so that what is left is what the server keeps.
func hangUp(counters []*counter) {
	for _, c := range counters {
		c.transport.CloseIdleConnections()
	}
}

// accounts makes an account with a token for each client, and one for who is rude.
func (b *bench) accounts(ctx context.Context) ([]string, error) {
	tokens, failures := make([]string, loadClients+1), make([]error, loadClients+1)
	places := make(chan struct{}, accountsAtOnce)
	var all sync.WaitGroup
	for i := range tokens {
		all.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			name := "load-" + strconv.Itoa(i)
			if _, failures[i] = b.command(ctx, loadPassword, "user", "add", name, "--password-stdin"); failures[i] == nil {
				tokens[i], failures[i] = b.command(ctx, "", "token", "create", "load", "--user", name, "--expires", "1d")
			}
		})
	}
	all.Wait()
	return tokens, errors.Join(failures...)
}

// command runs a command of the product and returns what it prints.
func (b *bench) command(ctx context.Context, input string, arguments ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	command := exec.CommandContext(ctx, b.program, append(arguments, "--data", b.data)...)
	said := newLines()
	command.Stdin, command.Stderr = strings.NewReader(input), said
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w%s", strings.Join(arguments, " "), err, said.last())
	}
	return strings.TrimSpace(string(out)), nil
}

// serveSignedIn starts the product where people sign in.
func (b *bench) serveSignedIn(ctx context.Context) (*server, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("find a free port: %w", err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		return nil, fmt.Errorf("find a free port: %w", err)
	}
	// A client at full rate has more calls than an account may have in a minute.
	return b.serve(ctx, poolSize, "--listen", address, "--public-url", "http://"+address, "--user-calls", "0")
}

// A counter is a client whose chat counts its calls.
type counter struct {
	*client
	chat  string
	calls int // that were answered
}

// counter begins a chat of the owner of a token.
func (s *server) counter(ctx context.Context, token string, open *closers) (*counter, error) {
	c, err := connect(ctx, target{url: s.url, revision: withSessions, header: http.Header{"Authorization": {"Bearer " + token}}})
	if err != nil {
		return nil, err
	}
	open.add(c.close)
	result, _, err := c.call(ctx, "chat", map[string]any{"message": "n = 0\nn"})
	if err != nil {
		return nil, err
	}
	id, _ := result.Meta["runpython/chatId"].(string)
	return &counter{client: c, chat: id}, nil
}

// next makes a call that counts, and looks whether the answer has counted all calls before.
func (c *counter) next(ctx context.Context) (time.Duration, error) {
	result, spent, err := c.call(ctx, "chat", map[string]any{"chat_id": c.chat, "message": "n += 1\nn"})
	if err != nil {
		return 0, err
	}
	c.calls++
	return spent, c.says(textOf(result))
}

// says looks for the number of calls in an answer.
func (c *counter) says(text string) error {
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) == strconv.Itoa(c.calls) {
			return nil
		}
	}
	return fmt.Errorf("after %d calls the chat %s says %q", c.calls, c.chat, text)
}

// exact asks the chat what it has counted, and lets it write that into a file, which is read.
func (c *counter) exact(ctx context.Context) error {
	result, _, err := c.call(ctx, "chat", map[string]any{"chat_id": c.chat, "message": "print(n, file=open('n.txt', 'w'))\nn"})
	if err != nil {
		return err
	}
	if err := c.says(textOf(result)); err != nil {
		return err
	}
	content, err := c.read(ctx, "runpython://chats/"+c.chat+"/files/n.txt")
	if err != nil {
		return err
	}
	return c.says(content)
}

// count lets all clients call for some time, and returns how long each call took.
func count(ctx context.Context, counters []*counter, spent time.Duration) (*sample, error) {
	times, failures := make([]sample, len(counters)), make([]error, len(counters))
	end := time.Now().Add(spent)
	var clients sync.WaitGroup
	for i, c := range counters {
		clients.Go(func() {
			for time.Now().Before(end) && failures[i] == nil {
				var took time.Duration
				if took, failures[i] = c.next(ctx); failures[i] == nil {
					times[i].add(took)
				}
			}
		})
	}
	clients.Wait()
	all := &sample{unit: "ms"}
	for _, t := range times {
		all.values = append(all.values, t.values...)
	}
	return all, errors.Join(failures...)
}
