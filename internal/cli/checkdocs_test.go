package cli_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"runpython/internal/check"
	"runpython/internal/cli"
)

// docs/check.md has each flag of check and of check watch, each category and the severities of each signal.
func TestCheckIsDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/check.md")
	if err != nil {
		t.Fatal(err)
	}
	docs := string(text)
	for _, args := range [][]string{{"check", "--help"}, {"check", "watch", "--help"}} {
		var help bytes.Buffer
		if code := cli.Main(context.Background(), fakeProgram(), args, cli.Streams{In: strings.NewReader(""), Out: &help, Err: &help}); code != 0 {
			t.Fatalf("exit code %d: %s", code, help.String())
		}
		own, _, _ := strings.Cut(help.String(), "Flags of all commands:")
		flags := regexp.MustCompile(`(?m)^      (--[a-z-]+) `).FindAllStringSubmatch(own, -1)
		if len(flags) < 20 {
			t.Errorf("%v tells %d flags; did its form change?", args, len(flags))
		}
		for _, flag := range flags {
			if !regexp.MustCompile("`" + flag[1] + "[ `]").MatchString(docs) {
				t.Errorf("docs/check.md does not have %s", flag[1])
			}
		}
	}
	for _, r := range check.Rules() {
		if row := fmt.Sprintf("| `%s` | %s | %s |\n", r.ID, r.Fail, r.Partial); !strings.Contains(docs, row) {
			t.Errorf("docs/check.md has no row %s", row)
		}
	}
	for _, id := range check.CategoryIDs() {
		if !strings.Contains(docs, "`"+id+"`") {
			t.Errorf("docs/check.md does not have the category %s", id)
		}
	}
}
