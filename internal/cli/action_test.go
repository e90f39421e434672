package cli_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"runpython/internal/check/checktest"
	"runpython/internal/cli"
)

// An action is the file by which workflows run check.
type action struct {
	Inputs map[string]struct {
		Description string
		Required    bool
		Default     *string
	}
	Outputs map[string]struct{ Value string }
	Runs    struct {
		Using string
		Steps []struct {
			Name, ID, Uses, Shell, Run string
			Env                        map[string]string
		}
	}
}

func readAction(t *testing.T) action {
	t.Helper()
	text, err := os.ReadFile("../../.github/actions/check/action.yml")
	if err != nil {
		t.Fatal(err)
	}
	var a action
	d := yaml.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(&a); err != nil {
		t.Fatal(err)
	}
	return a
}

// Each flag that the action uses exists, each input is used and told, and no input is text of a script.
func TestActionIsInStep(t *testing.T) {
	a := readAction(t)
	var help bytes.Buffer
	if code := cli.Main(context.Background(), fakeProgram(), []string{"check", "--help"}, cli.Streams{In: strings.NewReader(""), Out: &help, Err: &help}); code != 0 {
		t.Fatalf("exit code %d: %s", code, help.String())
	}
	used := ""
	flags := 0
	for _, step := range a.Runs.Steps {
		for _, value := range step.Env {
			used += value + "\n"
		}
		if strings.Contains(step.Run, "${{") {
			t.Errorf("the step %s has an input in its script, where the shell would run it", step.Name)
		}
		if step.ID != "check" {
			continue
		}
		for _, flag := range regexp.MustCompile(`--[a-z][a-z-]+`).FindAllString(step.Run, -1) {
			flags++
			if !strings.Contains(help.String(), "      "+flag+" ") {
				t.Errorf("the action uses %s, which check has not", flag)
			}
		}
	}
	if flags < 10 {
		t.Errorf("the action uses %d flags; did its form change?", flags)
	}
	for name, in := range a.Inputs {
		if !strings.Contains(used, "${{ inputs."+name+" }}") {
			t.Errorf("the input %s is not used", name)
		}
		if in.Description == "" || in.Required == (in.Default != nil) {
			t.Errorf("the input %s has no description, or not exactly one of a default and being required", name)
		}
	}
	for _, name := range []string{"url", "min-score", "baseline"} {
		if _, ok := a.Inputs[name]; !ok {
			t.Errorf("there is no input %s", name)
		}
	}
}

// The script of the action, as a runner would run it: it writes all reports and the summary of the job, ends with the code of check, and
// what is hostile in an input is an argument.
func TestActionRuns(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not installed")
	}
	program, err := exec.LookPath("runpython")
	if err != nil {
		t.Fatal(err)
	}
	a := readAction(t)
	i := slices.IndexFunc(a.Runs.Steps, func(s struct {
		Name, ID, Uses, Shell, Run string
		Env                        map[string]string
	}) bool {
		return s.ID == "check"
	})
	step := a.Runs.Steps[i]
	site := checktest.Serve(t, checktest.Site{Revisions: []string{"2025-06-18"}, Auth: checktest.Calls,
		Tools: []string{`{"name":"look","description":"::error::Looks at things, and more.","inputSchema":{"type":"object"}}`}})
	for name, c := range map[string]struct {
		inputs  map[string]string
		code    int
		reports bool
	}{
		"plain":         {nil, 0, true},
		"gate":          {map[string]string{"min-score": "100"}, 3, true},
		"severity":      {map[string]string{"fail-on": "low"}, 3, true},
		"no server":     {map[string]string{"url": "https://127.0.0.1:1/mcp"}, 2, true},
		"hostile input": {map[string]string{"url": "https://a.test/mcp$(touch${IFS}owned) ;touch owned"}, 1, false},
		"an option":     {map[string]string{"url": "--output=owned"}, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			bin := filepath.Join(dir, "mcp-check-bin")
			if err := os.Mkdir(bin, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(program, filepath.Join(bin, "runpython")); err != nil {
				t.Fatal(err)
			}
			ca := filepath.Join(dir, "ca.pem")
			if err := os.WriteFile(ca, site.PEM, 0o600); err != nil {
				t.Fatal(err)
			}
			summary, output := filepath.Join(dir, "summary"), filepath.Join(dir, "output")
			cmd := exec.CommandContext(t.Context(), bash, "-c", step.Run)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "RUNNER_TEMP="+dir, "GITHUB_STEP_SUMMARY="+summary, "GITHUB_OUTPUT="+output, "RUNPYTHON_CA_BUNDLE="+ca, "RUNPYTHON_RUNSC=/bin/true")
			for variable, value := range step.Env {
				input := strings.TrimSuffix(strings.TrimPrefix(value, "${{ inputs."), " }}")
				text := ""
				if d := a.Inputs[input].Default; d != nil {
					text = *d
				}
				if input == "url" {
					text = site.Endpoint()
				}
				if given, ok := c.inputs[input]; ok {
					text = given
				}
				cmd.Env = append(cmd.Env, variable+"="+text)
			}
			out, _ := cmd.CombinedOutput()
			if code := cmd.ProcessState.ExitCode(); code != c.code {
				t.Errorf("exit code %d, want %d:\n%s", code, c.code, out)
			}
			if !regexp.MustCompile(`(?s)^::stop-commands::([0-9a-f]{32})\n.*\n::[0-9a-f]{32}::\n`).Match(out) {
				t.Errorf("what a server says can be a command of the workflow:\n%s", out)
			}
			for _, file := range []string{"check.json", "check.sarif", "check.html", "check.md", "check.xml", "check.svg"} {
				if info, err := os.Stat(filepath.Join(dir, "mcp-check", file)); c.reports && (err != nil || info.Size() == 0) {
					t.Errorf("%s: %v", file, err)
				}
			}
			if text, err := os.ReadFile(summary); c.reports && (err != nil || len(text) == 0) {
				t.Errorf("the summary of the job: %q, %v", text, err)
			}
			if _, err := os.Stat(filepath.Join(dir, "owned")); err == nil {
				t.Error("an input was run by the shell")
			}
		})
	}
}
