package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// roundLimit bounds one round, which takes some seconds.
const roundLimit = 2 * time.Minute

// A suite is the official suite on this machine.
type suite struct {
	installed string // folder with node_modules
	results   string // folder for what it finds
	out       io.Writer
}

// runAll runs all rounds and prints a line for each, and if all is well one with the sum.
func (s suite) runAll(ctx context.Context, all []round) error {
	passed := 0
	var broken error
	for _, r := range all {
		t, err := s.run(ctx, r)
		if err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
		for _, f := range t.failures {
			broken = errors.Join(broken, fmt.Errorf("%s: %s", r.name, f))
		}
		if t.passed != r.passes {
			broken = errors.Join(broken, fmt.Errorf("%s: %d checks passed, rounds.go expects %d", r.name, t.passed, r.passes))
		}
		fmt.Fprintf(s.out, "%s: %d passed, %d failed\n", r.name, t.passed, len(t.failures))
		passed += t.passed
	}
	if broken == nil {
		fmt.Fprintf(s.out, "%d checks passed, 0 failed\n", passed)
	}
	return broken
}

// A check is what the suite writes of one. Its status is SUCCESS, FAILURE, WARNING,
// SKIPPED or INFO.
type check struct {
	ID      string `json:"id"`
	Status  string `json:"status"`
	Message string `json:"errorMessage"`
}

// run runs one round.
func (s suite) run(ctx context.Context, r round) (tally, error) {
	ctx, cancel := context.WithTimeout(ctx, roundLimit)
	defer cancel()
	modules := filepath.Join(s.installed, "node_modules")
	machine := runtime.GOARCH
	if machine == "amd64" {
		machine = "x64" // Node's word for it
	}
	results := filepath.Join(s.results, strings.ReplaceAll(r.name, " ", "-"))
	command := exec.CommandContext(ctx, filepath.Join(modules, "node-linux-"+machine, "bin", "node"),
		append([]string{
			filepath.Join(modules, "@modelcontextprotocol", "conformance", "dist", "index.js"),
			r.command, "--url", r.url, "--output-dir", results,
		}, r.arguments...)...)
	said, err := r.guided(ctx, command)
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && (!exited || r.complete) {
		return tally{}, fmt.Errorf("run the suite: %w\n%s", err, said)
	}
	found, err := readResults(results, folderPrefix(r.command))
	if err != nil {
		return tally{}, err
	}
	return r.judge(found), nil
}

// guided runs the suite, with a person who goes where it asks somebody to go, and returns what it said.
func (r round) guided(ctx context.Context, command *exec.Cmd) ([]byte, error) {
	var said bytes.Buffer
	from, to := io.Pipe()
	command.Stdout, command.Stderr = to, to
	guided := make(chan error, 1)
	go func() {
		err := r.person.guide(ctx, r.url, from, &said)
		_ = from.CloseWithError(err) // so that the suite does not wait for a reader
		guided <- err
	}()
	err := errors.Join(command.Run(), to.Close())
	if lost := <-guided; lost != nil {
		err = lost
	}
	return said.Bytes(), err
}

// readResults returns the checks of each scenario. The suite makes a folder for each of
// them: a prefix, its name and the time.
func readResults(results, prefix string) (map[string][]check, error) {
	const timeLength = len("-2006-01-02T15-04-05-000Z")
	folders, err := os.ReadDir(results)
	if err != nil {
		return nil, fmt.Errorf("read the results: %w", err)
	}
	found := make(map[string][]check)
	for _, f := range folders {
		scenario := strings.TrimPrefix(f.Name(), prefix)
		if scenario = scenario[:max(len(scenario)-timeLength, 0)]; scenario == "" {
			return nil, fmt.Errorf("read the results: %q is no folder of a scenario", f.Name())
		}
		data, err := os.ReadFile(filepath.Join(results, f.Name(), "checks.json"))
		if err != nil {
			return nil, fmt.Errorf("read the results: %w", err)
		}
		var checks []check
		if err := json.Unmarshal(data, &checks); err != nil {
			return nil, fmt.Errorf("read the results of %s: %w", scenario, err)
		}
		found[scenario] = append(found[scenario], checks...)
	}
	return found, nil
}

// A tally is what a round found.
type tally struct {
	passed   int
	failures []string // one line each
}

// judge counts the checks that matter. What a warning says, a server should do, and
// this one does.
func (r round) judge(found map[string][]check) tally {
	t := tally{failures: r.missing(found)}
	needed := make(map[excuse]bool)
	for scenario, checks := range found {
		if len(r.only) > 0 && !slices.Contains(r.only, scenario) {
			continue
		}
		for _, c := range checks {
			e, excused := r.excuseOf(scenario, c.ID)
			wrong := c.Status == "FAILURE" || c.Status == "WARNING"
			switch {
			case excused && wrong:
				needed[e] = true
			case wrong:
				t.failures = append(t.failures, fmt.Sprintf("%s: %s: %s", scenario, c.ID, c.Message))
			case c.Status == "SUCCESS":
				t.passed++
			}
		}
	}
	for _, e := range r.excused {
		if !needed[e] {
			t.failures = append(t.failures, fmt.Sprintf("%s: %s passes: remove its excuse (%s)", e.scenario, e.check, e.why))
		}
	}
	slices.Sort(t.failures)
	return t
}

// missing returns a failure for each scenario that counts and has not been run.
func (r round) missing(found map[string][]check) []string {
	var failures []string
	for _, scenario := range r.only {
		if len(found[scenario]) == 0 {
			failures = append(failures, scenario+": was not run")
		}
	}
	return failures
}

// excuseOf returns what excuses a check.
func (r round) excuseOf(scenario, check string) (excuse, bool) {
	for _, e := range r.excused {
		if e.scenario == scenario && e.check == check {
			return e, true
		}
	}
	return excuse{}, false
}
