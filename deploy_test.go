package runpython_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"gopkg.in/yaml.v3"

	"runpython/internal/config"
)

func TestSystemdUnit(t *testing.T) {
	verify, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed")
	}
	text, err := os.ReadFile("deploy/systemd/runpython.service")
	if err != nil {
		t.Fatal(err)
	}
	const program = "/usr/local/bin/runpython"
	if !bytes.Contains(text, []byte("\nExecStart="+program+" serve\n")) {
		t.Error("the unit does not start the server")
	}
	unit := filepath.Join(t.TempDir(), "runpython.service") // with a program that is on this machine
	if err := os.WriteFile(unit, bytes.ReplaceAll(text, []byte("="+program), []byte("=/bin/true")), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), verify, "verify", unit).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
}

// Files of deploy name settings that exist, with values that are taken.
func TestDeployedSettings(t *testing.T) {
	var compose struct {
		Services map[string]struct {
			Build       struct{ Context, Dockerfile string }
			Environment map[string]string
		}
	}
	text, err := os.ReadFile("deploy/container/compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &compose); err != nil {
		t.Fatal(err)
	}
	service := compose.Services["runpython"]
	if _, err := os.Stat(filepath.Join("deploy/container", service.Build.Context, service.Build.Dockerfile)); err != nil {
		t.Errorf("the service is built of what is not there: %v", err)
	}
	found := map[string]map[string]string{"deploy/container/compose.yaml": service.Environment}
	for file, line := range map[string]string{"deploy/container/Containerfile": "ENV ", "deploy/systemd/runpython.service": "Environment="} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		found[file] = map[string]string{}
		for l := range strings.Lines(string(text)) {
			if rest, ok := strings.CutPrefix(strings.TrimSpace(l), line); ok {
				for _, m := range regexp.MustCompile(`(RUNPYTHON_[A-Z_]+)=(\S+)`).FindAllStringSubmatch(rest, -1) {
					found[file][m[1]] = m[2]
				}
			}
		}
	}
	for file, variables := range found {
		if len(variables) == 0 {
			t.Errorf("%s sets no variables", file)
		}
		for name := range variables {
			for _, unknown := range config.UnknownVariables([]string{name}) {
				t.Errorf("%s: %s", file, unknown)
			}
		}
		lookup := func(name string) (string, bool) {
			if name == "HOME" {
				return "/root", true
			}
			v, ok := variables[name]
			return v, ok
		}
		flags := config.NewFlags(config.Default(lookup))
		flags.AddOf("serve", pflag.NewFlagSet("serve", pflag.ContinueOnError))
		c, err := flags.Load(lookup)
		if err != nil {
			t.Errorf("%s: %v", file, err)
		}
		if err := c.CheckServe(); err != nil && file == "deploy/container/compose.yaml" {
			t.Errorf("%s: %v", file, err)
		}
	}
}
