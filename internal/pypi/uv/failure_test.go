package uv_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/pypi/uv"
)

// printed is what several versions of uv print, with the line that becomes of it.
var printed = map[string]struct{ text, want string }{
	"no such project": {
		"error: No solution found when resolving dependencies\n  cause: Because nosuch was not found in the package registry and you require nosuch, we can conclude that your requirements are unsatisfiable.\n",
		`the package index has no package named "nosuch"; look at the spelling, the name to install can differ from the name to import`,
	},
	"with a frame": {
		"  × No solution found when resolving dependencies:\n  ╰─▶ Because nosuch was not found in the\n      package registry and you require nosuch, we can\n      conclude that your requirements are unsatisfiable.\n",
		`the package index has no package named "nosuch"; look at the spelling, the name to install can differ from the name to import`,
	},
	"credentials before the name": {
		"error: No solution found\n  cause: Because aa was not found in the package registry and you require aa, x.\n\nhint: An index URL (http://127.0.0.1:8977/auth) could not be queried due to a lack of valid authentication credentials (401 Unauthorized)\n",
		"the package index wants credentials that this server does not have (401); nothing is taken from another index instead",
	},
	"conflict": {
		"error: No solution found when resolving dependencies\n  cause: Because all versions of cc depend on bb<2 and all versions of aa depend on bb>=2, we can conclude that all versions of aa and all versions of cc are incompatible.\n         And because you require aa and cc, we can conclude that your requirements are unsatisfiable.\n",
		"aa and cc do not go together: cc needs bb <2, aa needs bb >=2",
	},
	"source": {
		"error: No solution found\n  cause: Because sd==1.0 has no usable wheels and only sd==1.0 is available, we can conclude that all versions of sd cannot be used.\n",
		"sd 1.0 comes as source only, and only wheels are installed here",
	},
	"other Python": {
		"error: No solution found\n  cause: Because all versions of old have no wheels with a matching Python ABI tag (e.g., `cp314`) and you require old, x.\n\nhint: You require CPython 3.14 (`cp314`), but we only found wheels for `old` (v1.0) with the following Python ABI tags: `cp38`, `cp39`\n",
		"old has no wheel for Python 3.14 on this machine (version 1.0 has some for cp38, cp39)",
	},
	"unreachable": {
		"error: Request failed after 3 retries in 10.6s\n  cause: Failed to fetch: http://user:****@127.0.0.1:9/simple/aa/\n  cause: tcp connect error\n",
		"the package index cannot be reached, so no package can be installed now; code that needs none works",
	},
	"status": {
		"error: Failed to fetch: http://127.0.0.1:8977/500/aa/\n  cause: HTTP status server error (503 Service Unavailable) for url (http://127.0.0.1:8977/500/aa/)\n",
		"the package index answers with an error (503); try again later",
	},
	"contradiction": {
		"error: No solution found\n  cause: you require bb<2 and bb>3, which are incompatible\n",
		"bb <2 and bb >3 do not go together",
	},
	"something new": {"error: the moon is full\n", "the packages could not be resolved; the operator's log has the reason"},
	"nothing":       {"", "the packages could not be resolved; the operator's log has the reason"},
}

func TestExplain(t *testing.T) {
	for name, test := range printed {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, uv.Explain(test.text)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWarnings(t *testing.T) {
	got := uv.Warnings("Resolved 1 package in 6ms\nwarning: `yk==1.0` is yanked (reason: \"see </a>\")\nwarning: The package `bb==2.0` does not have an extra named `x`\n")
	want := []string{
		"yk 1.0 was withdrawn by its authors (yanked); it is installed since it was asked for by its exact version",
		`bb 2.0 has no extra "x"`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// What uv prints holds text of an index: whatever that is, a message is one bounded line
// of plain words.
func FuzzExplain(f *testing.F) {
	for _, p := range printed {
		f.Add(p.text)
	}
	line := regexp.MustCompile(`^[a-zA-Z0-9 .,;:"'()<>=!~*+_\[\]-]+$`)
	f.Fuzz(func(t *testing.T, text string) {
		got := uv.Explain(text)
		if len(got) > 3000 || !line.MatchString(got) || strings.Contains(got, "://") {
			t.Errorf("Explain(%q) = %q", text, got)
		}
	})
}
