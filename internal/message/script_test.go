package message_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/message"
)

func TestScriptHeader(t *testing.T) {
	ignored := func(why string) []string { return []string{"the script header was ignored: " + why} }
	tests := []struct {
		name   string
		header string // without "# "
		reqs   []string
		python string
		notes  []string
	}{
		{
			name:   "both keys",
			header: "requires-python = \">=3.11,<4\"\ndependencies = [\n  \"requests<3\",\n  'rich[jupyter] >= 10', # why\n]",
			reqs:   []string{"requests<3", "rich[jupyter]>=10"}, python: ">=3.11,<4",
		},
		{name: "one line", header: `dependencies = ["a","b"]`, reqs: []string{"a", "b"}},
		{name: "quoted key", header: `"dependencies" = ["a"]`, reqs: []string{"a"}},
		{name: "marker", header: `dependencies = ["a; sys_platform == 'linux'"]`, reqs: []string{"a; sys_platform == 'linux'"}},
		{name: "escape", header: `dependencies = ["\u0061"]`, reqs: []string{"a"}},
		{name: "empty", header: "dependencies = []"},
		{name: "comments and blanks", header: "# hello\n\ndependencies = [ # x\n# y\n\n'a', ]", reqs: []string{"a"}},
		{
			name: "tool table", header: "dependencies = ['a']\n[tool.uv]\nexclude-newer = \"2026-01-01\"", reqs: []string{"a"},
			notes: []string{"the tool tables of the script header were ignored"},
		},
		{name: "address", header: `dependencies = ["a @ https://example.com/a"]`,
			notes: ignored(`the dependency "a @ https://example.com/a" is no package name with versions`)},
		{name: "option", header: `dependencies = ["--index-url=x"]`,
			notes: ignored(`the dependency "--index-url=x" is no package name with versions`)},
		{name: "unknown key", header: "name = 'x'\ndependencies = ['a']", notes: ignored(`the key "name" is not known`)},
		{name: "no list", header: "dependencies = 'a'", notes: ignored("dependencies is no list of strings")},
		{name: "no string", header: "dependencies = [1]", notes: ignored("a string is missing")},
		{name: "not closed", header: "dependencies = ['a'", notes: ignored("a comma or ] is missing in dependencies")},
		{name: "string not closed", header: "dependencies = ['a]", notes: ignored("a string is not closed")},
		{name: "multi-line string", header: "requires-python = '''>=3'''", notes: ignored("it has a multi-line string")},
		{name: "wrong escape", header: `dependencies = ["\x61"]`, notes: ignored(`the escape \x is not known`)},
		{name: "wrong version", header: "requires-python = 'new'", notes: ignored(`requires-python is "new"`)},
		{name: "two values", header: "requires-python = '>=3' '>=4'", notes: ignored("something stands after the value of requires-python")},
		{name: "no TOML", header: "what is this", notes: ignored(`"what is this" is not a line of TOML that is understood here`)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			code := script(tt.header) + "print(1)\n"
			m := message.Read(code)
			if diff := cmp.Diff([]string{code}, codes(m)); diff != "" {
				t.Errorf("candidates (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.reqs, m.Requirements); diff != "" {
				t.Errorf("requirements (-want +got):\n%s", diff)
			}
			if m.RequiresPython != tt.python {
				t.Errorf("requires-python %q, want %q", m.RequiresPython, tt.python)
			}
			if diff := cmp.Diff(tt.notes, m.Notes); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
		})
	}
}

// script returns a script header that contains the lines of document.
func script(document string) string {
	var out strings.Builder
	out.WriteString("# /// script\n")
	for line := range strings.SplitSeq(document, "\n") {
		out.WriteString(strings.TrimRight("# "+line, " ") + "\n")
	}
	out.WriteString("# ///\n")
	return out.String()
}

// TestWhereHeadersStand reads a header only where PEP 723 has it.
func TestWhereHeadersStand(t *testing.T) {
	one := script("dependencies = ['a']")
	tests := []struct {
		name, code string
		reqs       []string
		notes      []string
	}{
		{"after code", "import a\n" + one + "f(1)\n", []string{"a"}, nil},
		{"in a block", "```python\n" + one + "f(1)\n```", []string{"a"}, nil},
		{"not closed", "# /// script\n# dependencies = ['a']\nf(1)\n", nil, nil},
		{"interrupted", "# /// script\n# dependencies = ['a']\n\n# ///\nf(1)\n", nil, nil},
		{"other type", strings.Replace(one, "script", "pyproject", 1) + "f(1)\n", nil, nil},
		{"in a string", "x = '''\n" + one + "'''\nf(1)\n", nil, nil},
		{"indented", "if x:\n    " + strings.ReplaceAll(one, "\n", "\n    ") + "f(1)\n", nil, nil},
		{"closing line inside", "# /// script\n# dependencies = [\n# 'a',\n# ///\n# ]\n# ///\nf(1)\n", nil,
			[]string{"the script header was ignored: a string is missing"}},
		{"two", one + "\n" + one + "f(1)\n", nil, []string{"the script header was ignored: there is more than one"}},
		{"too long", script("dependencies = ['a'] # "+strings.Repeat("x", 70000)) + "f(1)\n", nil,
			[]string{"the script header was ignored: it has more than 65536 bytes"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := message.Read(tt.code)
			if diff := cmp.Diff(tt.reqs, m.Requirements); diff != "" {
				t.Errorf("requirements (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.notes, m.Notes); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
		})
	}
}
