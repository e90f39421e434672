package main

import "strconv"

// A round is one run of the suite.
type round struct {
	name      string
	command   string   // of the suite
	url       string   // of what it meets
	arguments []string // of the suite
	complete  bool     // the suite itself must be content, with all that it ran
	only      []string // the scenarios that count, each of which must have run; empty means all
	excused   []excuse
	passes    int    // checks
	person    person // who goes where the suite asks somebody to go
}

// The commands of the suite, and what the names of their folders of results begin with.
const (
	server        = "server"
	authorization = "authorization"
)

func folderPrefix(command string) string {
	return map[string]string{server: "server-", authorization: "authorization-server-"}[command]
}

// An excuse is a check that cannot pass, and why. When it passes after all, the excuse
// must go.
type excuse struct{ scenario, check, why string }

// rounds are all that must hold, with the numbers that make sure that it was run.
func rounds(fixture, shipped string, i issuer) []round {
	all := []round{
		{name: "fixture 2026-07-28", url: fixture, arguments: required("2026-07-28"), complete: true, passes: 196},
		{name: "fixture 2025-11-25", url: fixture, arguments: required("2025-11-25"), complete: true, passes: 80},
		{name: "fixture 2025-06-18", url: fixture, arguments: applicable("2025-06-18"), complete: true, passes: 56},
		{name: "fixture 2025-03-26", url: fixture, arguments: applicable("2025-03-26"), complete: true, passes: 3},
		{name: "shipped 2026-07-28", url: shipped, arguments: required("2026-07-28"), only: shippedAlone(), excused: oneTool(), passes: 57},
		{name: "shipped 2025-11-25", url: shipped, arguments: required("2025-11-25"), only: shippedSessions(), passes: 16},
		{name: "shipped 2025-06-18", url: shipped, arguments: applicable("2025-06-18"),
			only: []string{"server-initialize", "server-session-lifecycle", "ping", "tools-list", "resources-list"}, passes: 12},
		{name: "shipped 2025-03-26", url: shipped, arguments: applicable("2025-03-26"), only: []string{"server-session-lifecycle"}, passes: 3},
	}
	for n := range all {
		all[n].command = server
	}
	return append(all, round{
		name: "authorization server", command: authorization, url: i.url, person: i.person, passes: 3,
		arguments: []string{"--client-id", i.client, "--resource", i.url + "/mcp", "--port", strconv.Itoa(i.port)},
		only:      []string{"authorization-server-metadata-endpoint", "authorization-code-grant"},
	})
}

// required is what conformance to a revision means, frozen when that was published,
// and beside it what the suite runs without counting it.
func required(revision string) []string { return []string{"--requirements", revision} }

// applicable is what the suite knows of a revision for which nothing was frozen.
func applicable(revision string) []string {
	return []string{"--suite", "all", "--spec-version", revision}
}

// shippedAlone are scenarios of the revision without sessions that the shipped program
// passes: those that need no tool but one that exists.
func shippedAlone() []string {
	return []string{
		"caching", "dns-rebinding-protection", "http-header-validation", "input-required-result-unsupported-methods",
		"resources-list", "sep-2164-resource-not-found", "server-sse-multiple-streams", "server-stateless", "tools-list",
	}
}

// shippedSessions are those of the newest revision with sessions.
func shippedSessions() []string {
	return []string{
		"dns-rebinding-protection", "ping", "resources-list", "server-initialize", "server-session-lifecycle",
		"server-sse-multiple-streams", "tools-list",
	}
}

// oneTool excuses checks within shippedAlone that look for something else than chat.
func oneTool() []excuse {
	const tool, prompts, call = "it needs a tool of the fixture", "there are no prompts", "it calls chat without a message"
	return []excuse{
		{"caching", "sep-2549-prompts-list-caching-hints", prompts},
		{"http-header-validation", "sep-2243-server-accepts-whitespace-header-value", call},
		{"server-stateless", "sep-2575-http-server-no-independent-requests-on-stream", tool},
		{"server-stateless", "sep-2575-missing-capability-http-400", tool},
		{"server-stateless", "sep-2575-server-no-log-without-loglevel", tool},
		{"server-stateless", "sep-2575-server-rejects-undeclared-capability", tool},
	}
}
