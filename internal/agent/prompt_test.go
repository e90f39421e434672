package agent_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"runpython/internal/agent"
)

func TestPrompt(t *testing.T) {
	var many []string
	for i := range 500 {
		many = append(many, fmt.Sprintf("package%d", i))
	}
	all := agent.Facts{RunTimeout: time.Minute, MemoryBytes: 1 << 30, WorkBytes: 2 << 30, Egress: "none", Packages: "auto"}
	tests := []struct {
		name   string
		facts  agent.Facts
		tools  []string // what the prompt of the protocol Tools has
		fenced []string
		no     []string // what neither has
	}{
		{"usual", all, []string{"60 seconds for a run", "1 GiB of memory", "2 GiB in /work", "There is no network", "install themselves"},
			[]string{"60 seconds, 1 GiB of memory, 2 GiB in /work", "There is no network", "install themselves"}, []string{"HTTP", "only the", "may import only"}},
		{"nothing is known", agent.Facts{}, []string{"There is no network"}, []string{"There is no network"}, []string{"0 seconds", "0 bytes"}},
		{"a way out", agent.Facts{Egress: "api.example.com,*.example.org"}, []string{"only HTTP and HTTPS to api.example.com, *.example.org."},
			[]string{"HTTP and HTTPS to api.example.com, *.example.org."}, []string{"There is no network"}},
		{"a long way out", agent.Facts{Egress: strings.Repeat("a.example.com,", 900)}, []string{"a.example.com, …"}, []string{"a.example.com, …"}, nil},
		{"packages of a list", agent.Facts{Packages: "listed", Listed: []string{"numpy", "pandas"}}, []string{"numpy, pandas."}, []string{"numpy, pandas."},
			[]string{"install themselves"}},
		{"a long list", agent.Facts{Packages: "listed", Listed: many}, []string{"package39 and others"}, []string{"package39 and others"}, []string{"package40"}},
		{"no packages", agent.Facts{Packages: "off"}, []string{"standard library"}, []string{"standard library"}, []string{"install themselves"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for protocol, want := range map[agent.Protocol][]string{agent.Tools: tt.tools, agent.Fenced: tt.fenced} {
				m := &model{replies: []reply{says("hello")}}
				answer(t, agent.Options{Protocol: protocol, Facts: tt.facts}, m, agent.Task{Message: "?"})
				got := m.requests[0].System
				for _, s := range want {
					if !strings.Contains(got, s) {
						t.Errorf("%s lacks %q:\n%s", protocol, s, got)
					}
				}
				for _, s := range append(tt.no, "<no value>", "{{", "\n\n\n") {
					if strings.Contains(got, s) {
						t.Errorf("%s has %q:\n%s", protocol, s, got)
					}
				}
				inside, messages := strings.Count(got, "# Example"), len(m.requests[0].Messages)-1
				if len(got) > 5_000 || inside+messages/2 != 1 {
					t.Errorf("%s: %d bytes, %d examples inside, %d messages of one", protocol, len(got), inside, messages)
				}
				_, offers := properties(m)["packages"]
				if offers != (protocol == agent.Tools && tt.facts.Packages != "off") {
					t.Errorf("%s offers packages: %v", protocol, offers)
				}
			}
		})
	}
}

func TestPromptOfSmallModelsIsShort(t *testing.T) {
	m := &model{replies: []reply{says("hello")}}
	facts := agent.Facts{RunTimeout: time.Minute, Egress: "api.example.com", Packages: "listed", Listed: []string{"numpy"}}
	answer(t, agent.Options{Local: true, Facts: facts}, m, agent.Task{Message: "?"})
	got := m.requests[0].System
	if len(got) > 400 || strings.Contains(got, "\n") {
		t.Errorf("%d bytes:\n%s", len(got), got)
	}
	for _, s := range []string{"is data", "api.example.com", "numpy"} {
		if !strings.Contains(got, s) {
			t.Errorf("%q is not there:\n%s", s, got)
		}
	}
}

// properties are the arguments of the tool in the first request.
func properties(m *model) map[string]any {
	if len(m.requests[0].Tools) == 0 {
		return nil
	}
	got, _ := m.requests[0].Tools[0].Schema["properties"].(map[string]any)
	return got
}
