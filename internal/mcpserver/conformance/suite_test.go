package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fakeSuite returns a suite whose Node is a script: it writes the checks that it is
// given as the official one does, and ends with a status.
func fakeSuite(t *testing.T, status int, scenarios map[string][]check) (suite, *bytes.Buffer) {
	t.Helper()
	var script strings.Builder
	script.WriteString("#!/bin/sh\nset -eu\n")
	for scenario, checks := range scenarios {
		data, err := json.Marshal(checks)
		if err != nil {
			t.Fatal(err)
		}
		// $6 is what follows --output-dir.
		fmt.Fprintf(&script, "mkdir -p \"$6/server-%[1]s-2026-11-30T12-00-00-000Z\"\ncat >\"$6/server-%[1]s-2026-11-30T12-00-00-000Z/checks.json\" <<'END'\n%[2]s\nEND\n", scenario, data)
	}
	fmt.Fprintf(&script, "mkdir -p \"$6\"\necho said\nexit %d\n", status)
	installed := t.TempDir()
	for _, machine := range []string{"x64", "arm64"} {
		bin := filepath.Join(installed, "node_modules", "node-linux-"+machine, "bin")
		if err := os.MkdirAll(bin, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(bin, "node"), []byte(script.String()), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	out := new(bytes.Buffer)
	return suite{installed: installed, results: t.TempDir(), out: out}, out
}

func TestRounds(t *testing.T) {
	good := check{ID: "good", Status: "SUCCESS"}
	for _, test := range []struct {
		name   string
		status int
		found  map[string][]check
		round  round
		want   string // of the last line
		errs   string // part of the error, "" if there is none
	}{
		{
			name:  "all is well",
			found: map[string][]check{"ping": {good, {ID: "note", Status: "INFO"}}, "server-stateless": {good}},
			round: round{complete: true, only: []string{"ping", "server-stateless"}, passes: 2}, want: "2 checks passed, 0 failed",
		},
		{
			name:  "a check fails",
			found: map[string][]check{"ping": {good, {ID: "bad", Status: "FAILURE", Message: "no pong"}}},
			round: round{passes: 1}, want: "r: 1 passed, 1 failed", errs: "r: ping: bad: no pong",
		},
		{
			name:  "a check warns",
			found: map[string][]check{"ping": {good, {ID: "poor", Status: "WARNING", Message: "slow"}}},
			round: round{passes: 1}, want: "r: 1 passed, 1 failed", errs: "r: ping: poor: slow",
		},
		{
			name:  "a check is skipped",
			found: map[string][]check{"ping": {good, {ID: "rest", Status: "SKIPPED"}}},
			round: round{passes: 2}, want: "r: 1 passed, 0 failed", errs: "1 checks passed, rounds.go expects 2",
		},
		{
			name:  "a scenario is not run",
			found: map[string][]check{"ping": {good}},
			round: round{only: []string{"ping", "caching"}, passes: 1}, want: "r: 1 passed, 1 failed", errs: "caching: was not run",
		},
		{
			name:  "the suite runs nothing",
			round: round{passes: 0, only: []string{"ping"}}, want: "r: 0 passed, 1 failed", errs: "ping: was not run",
		},
		{
			name:  "more passes than is expected",
			found: map[string][]check{"ping": {good, good}},
			round: round{passes: 1}, want: "r: 2 passed, 0 failed", errs: "2 checks passed, rounds.go expects 1",
		},
		{
			name:  "the suite is not content",
			found: map[string][]check{"ping": {good}}, status: 1,
			round: round{complete: true, passes: 1}, errs: "exit status 1\nsaid",
		},
		{
			name:  "what need not count is left out",
			found: map[string][]check{"ping": {good}, "prompts-list": {good, {ID: "bad", Status: "FAILURE"}}}, status: 1,
			round: round{only: []string{"ping"}, passes: 1}, want: "1 checks passed, 0 failed",
		},
		{
			name:  "a check is excused",
			found: map[string][]check{"ping": {good, {ID: "bad", Status: "FAILURE"}}}, status: 1,
			round: round{excused: []excuse{{"ping", "bad", "because"}}, passes: 1}, want: "1 checks passed, 0 failed",
		},
		{
			name:  "an excuse is stale",
			found: map[string][]check{"ping": {good}},
			round: round{excused: []excuse{{"ping", "good", "because"}}, passes: 1}, want: "r: 1 passed, 1 failed", errs: "remove its excuse (because)",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, out := fakeSuite(t, test.status, test.found)
			test.round.name = "r"
			test.round.command = server
			err := s.runAll(t.Context(), []round{test.round})
			if (err == nil) != (test.errs == "") || (err != nil && !strings.Contains(err.Error(), test.errs)) {
				t.Errorf("runAll = %v, want an error with %q", err, test.errs)
			}
			lines := strings.Split(strings.TrimSpace(out.String()), "\n")
			if diff := cmp.Diff(test.want, lines[len(lines)-1]); diff != "" {
				t.Errorf("last line (-want +got):\n%s", diff)
			}
		})
	}
}
