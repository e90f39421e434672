package console_test

import (
	"testing"

	"runpython/internal/cli/console"
)

// Where Enter sends and where it asks for more.
func TestUnfinished(t *testing.T) {
	for _, tt := range []struct {
		text string
		want bool
	}{
		{"print(1)", false},
		{"for i in range(3):", true},
		{"for i in range(3):\n    print(i)", true},
		{"for i in range(3):\n    print(i)\n", false},
		{"for i in range(3): print(i)", false},
		{"if x:  # why", true},
		{"@decorator", true},
		{"@decorator\ndef f(): pass", true},
		{"@decorator\ndef f(): pass\n", false},
		{"f(1,", true},
		{"f(1,\n2)", false},
		{"f(1,\n", false}, // the way out for prose such as :(
		{"x = [\n  {'a': (1,", true},
		{"x = {1: 2}", false},
		{"d = {'a':\n1}", false},
		{"x = '(['", false},
		{"x = \"it's (\"", false},
		{"x = 'a\\'(' # (", false},
		{"x = 1 # (", false},
		{"s = '''a", true},
		{"s = '''a\n", true}, // an empty line belongs to the string
		{"s = '''a\n'''", false},
		{"s = \"\"\"a\\\"\"\"", true},
		{"s = '''it\\''' '''", false},
		{"s = '''a''' + '''", true},
		{"x = 1 + \\", true},
		{"x = 1 + \\\n2", false},
		{"What's 2+2?", false},
		{"Here is what I want:", true},
		{"a )))", false},
		{"```python", true},
		{"```python\nfor i in x:\n\n", true},
		{"```python\nx = 1\n```", false},
		{"```\n~~~", true},
		{"````\n```", true},
		{"````\n`````", false},
		{"~~~ python\nx\n~~~", false},
		{"    ```", false},
		{"```inline``` code", false},
		{"text\n```\nf(\n```", false},
		{"x[1:", true},
		{"lambda: 0", false},
		{"", false},
		{"   ", false},
		{"f(\xff\xfe", true},
	} {
		if got := console.Unfinished(tt.text, false); got != tt.want {
			t.Errorf("unfinished(%q) = %v, want %v", tt.text, got, tt.want)
		}
	}
	if console.Unfinished("def f():\n    return 1", true) {
		t.Error("a block that came whole asks for more")
	}
	if !console.Unfinished("def f():", true) {
		t.Error("an open head that came whole does not ask for more")
	}
}
