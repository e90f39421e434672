// Program conformance holds the HTTP face of the server against the official
// conformance suite of the Model Context Protocol.
//
//	go run ./internal/mcpserver/conformance -suite DIR -program bin/runpython
//	go run ./internal/mcpserver/conformance -serve 127.0.0.1:8001
//
// DIR is where .ci/conformance/install has put the suite and its Node. The suite
// prescribes tools, prompts and resources by name, which no product has. So most
// rounds meet a fixture that has them, served by [mcpserver.NewEndpoint] as the
// product is: the same guards, sessions, streams and answers, with another server
// behind them. The others meet the shipped program, with the scenarios that its one
// tool can pass, and its authorization server, where a scripted person signs in for the suite. rounds.go lists all of them and how many checks pass in each; with
// another number, also a larger one, the program fails, so that a suite that skips
// something does not pass for one that holds.
//
// The second form serves the fixture until it is interrupted, for other programs.
//
// # Trust
//
// The suite is foreign code of a pinned version. It runs as the developer who
// starts it, and its verdicts are believed.
//
// # Failure
//
// Each check that does not pass is printed with its message. The last line is
// "N checks passed, 0 failed", or the exit code is 1.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"runpython/internal/mcpserver"
)

// runLimit bounds all rounds together.
const runLimit = 10 * time.Minute

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "conformance:", err)
		}
		os.Exit(1)
	}
}

func run(ctx context.Context, arguments []string, out io.Writer) error {
	flags := flag.NewFlagSet("conformance", flag.ContinueOnError)
	installed := flags.String("suite", "", "folder with the suite and its Node, which .ci/conformance/install prints")
	program := flags.String("program", "bin/runpython", "the shipped program")
	script := flags.String("person", ".ci/clients.d/person.py", "who signs in")
	serve := flags.String("serve", "", "serve the fixture on this address and run nothing")
	if err := flags.Parse(arguments); err != nil {
		return err //nolint:wrapcheck // it has been printed with the usage
	}
	if *serve != "" {
		return serveFixture(ctx, *serve, func(url string) error {
			fmt.Fprintln(out, url)
			<-ctx.Done()
			return nil
		})
	}
	if *installed == "" {
		return errors.New("-suite is missing: give it the folder that .ci/conformance/install prints")
	}
	ctx, cancel := context.WithTimeout(ctx, runLimit)
	defer cancel()
	folder, err := os.MkdirTemp("", "conformance-")
	if err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	s := suite{installed: *installed, results: filepath.Join(folder, "results"), out: out}
	open := shipped{path: *program, data: filepath.Join(folder, "open"), arguments: []string{"--listen", "127.0.0.1:0"}}
	err = serveFixture(ctx, "127.0.0.1:0", func(fixtureURL string) error {
		return open.serve(ctx, func(programURL string) error {
			return serveIssuer(ctx, *program, filepath.Join(folder, "signin"), *script, func(i issuer) error {
				return s.runAll(ctx, rounds(fixtureURL, programURL, i))
			})
		})
	})
	return errors.Join(err, os.RemoveAll(folder))
}

// headerTimeout is how long a client of the fixture may take to say what it wants.
const headerTimeout = 10 * time.Second

// closeGrace is what tasks of the fixture have to end.
const closeGrace = 5 * time.Second

func closeTasks(ctx context.Context, tasks *mcpserver.Tasks) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeGrace)
	defer cancel()
	return tasks.Close(ctx)
}

// serveFixture serves the fixture while use runs.
func serveFixture(ctx context.Context, address string, use func(url string) error) error {
	fixture, tasks, err := newFixture()
	if err != nil {
		return err
	}
	var c net.ListenConfig
	listener, err := c.Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	server := &http.Server{
		Handler:           mcpserver.NewEndpoint(mcpserver.EndpointOptions{Server: fixture}),
		ReadHeaderTimeout: headerTimeout,
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	err = use("http://" + listener.Addr().String() + "/mcp")
	err = errors.Join(err, server.Close(), closeTasks(ctx, tasks))
	if served := <-ended; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}
