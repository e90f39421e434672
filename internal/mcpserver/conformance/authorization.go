package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// userName is who has an account at the authorization server.
const userName = "person"

// callbackLimit bounds the visit to the suite with what the person comes back with.
const callbackLimit = 30 * time.Second

// An issuer is the authorization server of the shipped program, with a person who has an account there and a client
// that the operator has registered, a public one: the suite shows no secret to a server that takes public ones.
type issuer struct {
	url    string
	person person
	client string // its id
	port   int    // of the suite, where the person comes back
}

// serveIssuer runs the shipped program where people sign in, while use runs. script is the person, in Python.
func serveIssuer(ctx context.Context, path, data, script string, use func(issuer) error) error {
	ports, err := freePorts(ctx)
	if err != nil {
		return err
	}
	i := issuer{
		url: "http://127.0.0.1:" + strconv.Itoa(ports[0]), port: ports[1],
		person: person{script: script, password: rand.Text()},
	}
	p := shipped{path: path, data: data, arguments: []string{"--listen", strings.TrimPrefix(i.url, "http://"), "--public-url", i.url}}
	return p.serve(ctx, func(string) error {
		if _, err := p.run(ctx, i.person.password, "user", "add", userName, "--password-stdin"); err != nil {
			return err
		}
		back := "http://127.0.0.1:" + strconv.Itoa(i.port) + "/callback"
		said, err := p.run(ctx, "", "client", "register", "suite", "--redirect-uri", back)
		if err != nil {
			return err
		}
		id, ok := strings.CutPrefix(strings.TrimSpace(said), "client_id: ")
		if !ok {
			return fmt.Errorf("register a client: the program printed %q", said)
		}
		i.client = id
		return use(i)
	})
}

// freePorts returns two ports that nobody listens at.
func freePorts(ctx context.Context) (ports [2]int, err error) {
	var c net.ListenConfig
	for i := range ports {
		l, listenErr := c.Listen(ctx, "tcp", "127.0.0.1:0")
		if listenErr != nil {
			return ports, fmt.Errorf("find a free port: %w", listenErr)
		}
		defer func() { err = errors.Join(err, l.Close()) }()
		address, ok := l.Addr().(*net.TCPAddr)
		if !ok {
			return ports, errors.New("find a free port: it has no number")
		}
		ports[i] = address.Port
	}
	return ports, nil
}

// A person signs in and always says yes: a browser without scripts, which the drivers of clients share.
type person struct{ script, password string }

// visit goes to a page of the authorization server, and from there back to the suite.
func (p person) visit(ctx context.Context, url string) (err error) {
	ctx, cancel := context.WithTimeout(ctx, callbackLimit)
	defer cancel()
	command := exec.CommandContext(ctx, "python3", p.script, "allow", url)
	command.Env = append(os.Environ(), "RUNPYTHON_CLIENT_USER="+userName, "RUNPYTHON_CLIENT_PASSWORD="+p.password)
	var said bytes.Buffer
	command.Stderr = &said
	back, err := command.Output()
	if err != nil {
		return fmt.Errorf("let the person allow it: %w\n%s", err, said.Bytes())
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSpace(string(back)), http.NoBody)
	if err != nil {
		return fmt.Errorf("come back to the suite: %w", err)
	}
	res, err := (&http.Client{}).Do(r)
	if err != nil {
		return fmt.Errorf("come back to the suite: %w", err)
	}
	defer func() { err = errors.Join(err, res.Body.Close()) }()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("come back to the suite: status %d", res.StatusCode)
	}
	return nil
}

// guide reads what the suite prints and sends the person wherever it asks somebody to go. What it has read is in log.
func (p person) guide(ctx context.Context, issuer string, from io.Reader, log io.Writer) error {
	var broken error
	lines := bufio.NewScanner(io.TeeReader(from, log))
	for lines.Scan() {
		if line := strings.TrimSpace(lines.Text()); strings.HasPrefix(line, issuer+"/authorize?") && broken == nil {
			broken = p.visit(ctx, line)
		}
	}
	return errors.Join(broken, lines.Err())
}
