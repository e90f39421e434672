package agent_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/agent"
)

func TestArguments(t *testing.T) {
	const code = "print(1)"
	tests := []struct {
		name string
		text string
		code string // "" where there is none
		pkgs []string
		out  []string // packages that are left out
	}{
		{"as the schema has it", `{"code": "print(1)", "packages": ["openpyxl>=3"]}`, code, []string{"openpyxl>=3"}, nil},
		{"nulls", `{"code": "print(1)", "packages": null}`, code, nil, nil},
		{"string in a string", `"{\"code\": \"print(1)\"}"`, code, nil, nil},
		{"string in a string in a string", `"\"{\\\"code\\\": \\\"print(1)\\\"}\""`, code, nil, nil},
		{"code as a JSON string", `"print(1)"`, code, nil, nil},
		{"code that is no JSON", "print(1)\nprint(2)", "print(1)\nprint(2)", nil, nil},
		{"code in a fence", "```python\nprint(1)\n```", "print(1)\n", nil, nil},
		{"code in a fence in the object", `{"code": "` + "```python\\nprint(1)\\n```" + `"}`, "print(1)\n", nil, nil},
		{"code in an object in the code", `{"code": "{\"code\": \"print(1)\"}"}`, code, nil, nil},
		{"a dictionary", `{"code": "{\"a\": 1, \"b\": 2}"}`, `{"a": 1, "b": 2}`, nil, nil},
		{"another name", `{"python_code": "print(1)"}`, code, nil, nil},
		{"a name nobody thought of", `{"snippet": "print(1)", "packages": ["rich"]}`, code, []string{"rich"}, nil},
		{"a whole call", `{"name": "run_python", "arguments": {"code": "print(1)"}}`, code, nil, nil},
		{"a whole call with a string", `{"name": "run_python", "arguments": "{\"code\": \"print(1)\"}"}`, code, nil, nil},
		{"lines", `{"code": ["x = 1", "print(x)"]}`, "x = 1\nprint(x)", nil, nil},
		{"raw line breaks", "{\"code\": \"x = 1\nprint(x)\t# \\\"x\\\"\"}", "x = 1\nprint(x)\t# \"x\"", nil, nil},
		{"a line that goes on, raw", "{\"code\": \"print(1 + \\\n2)\"}", "print(1 + \\\n2)", nil, nil},
		{"prompts", `{"code": ">>> print(1)\n1"}`, "print(1)\n", nil, nil},
		{"an expression", `{"code": "17*23"}`, "17*23", nil, nil},
		{"a name", `{"code": "x"}`, "x", nil, nil},
		{"a number", `{"code": "42"}`, "42", nil, nil},
		{"packages in one string", `{"code": "print(1)", "packages": "rich, openpyxl"}`, code, []string{"rich", "openpyxl"}, nil},
		{"packages twice", `{"code": "!pip install rich\nprint(1)", "packages": ["rich"]}`, "# !pip install rich\nprint(1)", []string{"rich"}, nil},
		{"what is no package", `{"code": "print(1)", "packages": ["--index-url=http://127.0.0.1:9/", "git+https://example.test/x.git", "six; touch /tmp/x", "./evil.whl", "rich"]}`,
			code, []string{"rich"}, []string{"--index-url=http://127.0.0.1:9/", "git+https://example.test/x.git", "six; touch /tmp/x", "./evil.whl"}},
		{"limits are no arguments", `{"code": "print(1)", "timeout": 3600, "network": true, "egress": "*"}`, code, nil, nil},
		{"several texts", `{"first": "print(1)", "second": "print(2)"}`, "", nil, nil},
		{"no code", `{"packages": ["rich"]}`, "", nil, nil},
		{"empty code", `{"code": "  "}`, "", nil, nil},
		{"an empty object", `{}`, "", nil, nil},
		{"nothing", "", "", nil, nil},
		{"a list", `[1, 2]`, "", nil, nil},
		{"a number alone", `17`, "", nil, nil},
		{"prose", "I would like to run some code please", "", nil, nil},
		{"JSON that is cut off", `{"code": "print(1)`, "", nil, nil},
		{"too deep", strings.Repeat(`{"arguments": `, 20) + `{"code": "print(1)"}` + strings.Repeat("}", 20), "", nil, nil},
		{"too long", `{"code": "` + strings.Repeat("print(1);", agent.MaxCodeBytes/9+1) + `"}`, "", nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, out, ok := agent.ReadArguments(tt.text)
			if ok != (tt.code != "") || c.Source != tt.code {
				t.Errorf("code = %q, %v; want %q", c.Source, ok, tt.code)
			}
			if d := cmp.Diff([][]string{tt.pkgs, tt.out}, [][]string{c.Packages, out}); d != "" {
				t.Errorf("packages, left out (-want +got):\n%s", d)
			}
			if ok && (len(c.Readings) == 0 || c.Readings[0].Code != c.Source || !c.Readings[0].RunAnyway) {
				t.Errorf("readings of %q: %+v", c.Source, c.Readings)
			}
		})
	}
}

func TestArgumentsKeepRepairs(t *testing.T) {
	c, _, _ := agent.ReadArguments(`{"code": "print(“a”)"}`)
	if len(c.Readings) != 2 || c.Readings[1].Code != `print("a")` {
		t.Errorf("readings %+v, want one with plain quotes", c.Readings)
	}
}

func TestPackagesAreBounded(t *testing.T) {
	c, out, _ := agent.ReadArguments(`{"code": "print(1)", "packages": "` + strings.Repeat("a1 b2 c3 ", 3) + manyNames(100) + `"}`)
	if len(c.Packages) != agent.MaxPackages || len(out) != agent.MaxPackages {
		t.Errorf("%d packages, %d left out; want %d each", len(c.Packages), len(out), agent.MaxPackages)
	}
}

func manyNames(n int) string {
	var all strings.Builder
	for i := range n {
		all.WriteString(" p" + strings.Repeat("x", i+1))
	}
	return all.String()
}

func FuzzArguments(f *testing.F) {
	f.Add(`{"code": "print(1)", "packages": ["a", "-r x"]}`)
	f.Add(`"{\"code\": [\"a\", \"b\"]}"`)
	f.Add("{\"arguments\": {\"x\": \"y\n\"}}")
	f.Fuzz(func(t *testing.T, text string) {
		c, out, ok := agent.ReadArguments(text)
		if ok && (c.Source == "" || len(c.Source) > agent.MaxCodeBytes || len(c.Readings) == 0) {
			t.Errorf("code %q with %d readings", c.Source, len(c.Readings))
		}
		if len(c.Packages) > agent.MaxPackages || len(out) > agent.MaxPackages {
			t.Errorf("%d packages, %d left out", len(c.Packages), len(out))
		}
		for _, p := range c.Packages {
			if strings.HasPrefix(p, "-") || strings.ContainsAny(p, "\n/@") {
				t.Errorf("package %q", p)
			}
		}
	})
}
