// Program survey writes docs/packages.md: the most downloaded packages, each installed
// by its import name and imported in a guest of the shipped program.
//
//	go run ./internal/pypi/survey -program bin/runpython -out docs/packages.md
//
// It is an MCP client of "runpython stdio", with everything by default but an own data
// folder, and needs a package index. Each package gets a chat of its own, twice: when
// nobody has it yet, and when the server has it in its cache. What the wheels really
// offer is compared with the table of import names that package names has.
//
// packages.txt lists the packages. It is no part of the program.
//
// # Trust
//
// It believes what the guest says of itself: whoever starts it measures the program,
// not the packages.
//
// # Failure
//
// A package that packages.txt does not excuse and that cannot be imported, or one that
// it excuses and that can, is printed, and the exit code is 1. The page is written
// all the same.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// runLimit bounds all calls together.
const runLimit = time.Hour

// Files of the tree, from its root.
const (
	tableFile   = "internal/pypi/names/data/imports.txt"
	sourcesFile = "internal/pypi/names/data/README.md" // tells of which day the list of downloads is
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "survey:", err)
		}
		os.Exit(1)
	}
}

func run(ctx context.Context, arguments []string, out io.Writer) (err error) {
	flags := flag.NewFlagSet("survey", flag.ContinueOnError)
	program := flags.String("program", "bin/runpython", "the shipped program")
	page := flags.String("out", "docs/packages.md", "the page to write")
	only := flags.String("only", "", "packages, separated by commas, instead of all; no page is written")
	if err := flags.Parse(arguments); err != nil {
		return err //nolint:wrapcheck // it has been printed with the usage
	}
	list, err := packages()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, runLimit)
	defer cancel()
	data, err := os.MkdirTemp("", "survey-")
	if err != nil {
		return fmt.Errorf("make a data folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(data)) }()
	s, err := connect(ctx, *program, data)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	rows, err := s.survey(ctx, imported(list, *only), out)
	if err != nil {
		return err
	}
	importNames, err := os.ReadFile(tableFile)
	if err != nil {
		return fmt.Errorf("table of import names: %w", err)
	}
	table := compare(rows, string(importNames))
	table.print(out)
	if *only == "" {
		if err := write(ctx, *page, *program, pageData{list, rows, table}); err != nil {
			return err
		}
	}
	return surprises(rows)
}
