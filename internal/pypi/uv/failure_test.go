package uv_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/pypi/requirement"
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
	"a need that nothing meets": {
		"error: No solution found when resolving dependencies\n  cause: Because only goodone==1.0 is available and all versions of needsit depend on goodone>=5, we can conclude that all versions of needsit cannot be used.\n         And because you require needsit, we can conclude that your requirements are unsatisfiable.\n",
		"needsit cannot be installed, since no versions go together: needsit needs goodone >=5",
	},
	"a need of the only version": {
		"error: No solution found when resolving dependencies\n  cause: Because only goodone<=1.0 is available and needsit==1.0 depends on goodone>=5, we can conclude that needsit==1.0 cannot be used.\n         And because only needsit==1.0 is available and you require needsit, we can conclude that your requirements are unsatisfiable.\n",
		"needsit cannot be installed, since no versions go together: needsit 1.0 needs goodone >=5",
	},
	"no archive": {
		"error: No solution found when resolving dependencies\n  cause: Because badhash==1.0 has an invalid package format and only badhash==1.0 is available, we can conclude that all versions of badhash cannot be used.\n         And because you require badhash, we can conclude that your requirements are unsatisfiable.\n\nhint: The structure of `badhash` (v1.0) was invalid:\n  Failed to read from zip file",
		"badhash 1.0 is not as wheels must be, so it is not installed; another version may be",
	},
	"a need by its address": {
		"error: Failed to resolve dependencies for package `md==1.0`\n  cause: Package `goodone` was included as a URL dependency. URL dependencies must be expressed as direct requirements or constraints. Consider adding `goodone @ http://169.254.169.254/x.whl` to your dependencies or constraints file.",
		"what was asked for needs goodone from an address of its own, and packages come only from the package index here",
	},
	"invalid metadata": {
		"error: No solution found when resolving dependencies\n  cause: Because md2==1.0 has invalid metadata and only md2==1.0 is available, we can conclude that all versions of md2 cannot be used.\n         And because you require md2, we can conclude that your requirements are unsatisfiable.",
		"md2 1.0 is not as wheels must be, so it is not installed; another version may be",
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

// uv says of a withdrawn version that it has no usable wheels. That is not why two wishes exclude each other.
func TestExplainContradictionBesideWithdrawnVersion(t *testing.T) {
	const text = "error: No solution found when resolving dependencies\n  cause: Because all of:\n             pandas>=3.0.0,<=3.0.3\n             pandas>=3.0.5\n         depend on numpy>=2.3.3 and pandas==3.0.4 has no usable wheels, we can conclude that pandas>=3.0.0 depends on numpy>=2.3.3.\n         And because you require numpy<2 and pandas>=3, we can conclude that your requirements are unsatisfiable.\n"
	var asked []requirement.Requirement
	for _, wish := range []string{"numpy<2", "pandas>=3"} {
		r, err := requirement.Parse(wish)
		if err != nil {
			t.Fatal(err)
		}
		asked = append(asked, r)
	}
	const want = "numpy <2 and pandas >=3 do not go together: pandas >=3.0.5 needs numpy >=2.3.3, pandas >=3.0.0 needs numpy >=2.3.3"
	if diff := cmp.Diff(want, uv.Explain(text, asked...)); diff != "" {
		t.Error(diff)
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
