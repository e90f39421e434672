package eval_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/eval"
)

func TestRead(t *testing.T) {
	got, err := eval.Read([]byte(`
# Comments are for people.
- name: sum
  prompt: What is 2 + 2?
  check: expect_number(4)
- name: two-turns
  prompt:
    - Load data/a.csv.
    - How many rows has it?
  files: &data
    data/a.csv: |
      x
      1
  setup: open("b", "w").write("b")
  check: expect_number(1)
  right: [rows = 1, print(rows)]
  wrong:
    - rows = 2
    - |
      print(rows)
- name: same-files
  prompt: Again.
  files: *data
  check: |
    assert True
`))
	if err != nil {
		t.Fatal(err)
	}
	files := []eval.File{{Path: "data/a.csv", Text: "x\n1\n"}}
	want := []eval.Task{
		{Name: "sum", Turns: []eval.Turn{{Prompt: "What is 2 + 2?"}}, Check: "expect_number(4)"},
		{
			Name: "two-turns", Files: files, Setup: `open("b", "w").write("b")`, Check: "expect_number(1)",
			Turns: []eval.Turn{
				{Prompt: "Load data/a.csv.", Right: "rows = 1", Wrong: "rows = 2"},
				{Prompt: "How many rows has it?", Right: "print(rows)", Wrong: "print(rows)\n"},
			},
		},
		{Name: "same-files", Turns: []eval.Turn{{Prompt: "Again."}}, Files: files, Check: "assert True\n"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What is wrong with a set is told with the line and what would be right.
func TestReadRefuses(t *testing.T) {
	const task = "- name: a\n  prompt: p\n  check: c\n"
	for name, c := range map[string]struct{ text, want string }{
		"nothing":           {"# later\n", "there are no tasks in it"},
		"no list":           {"name: a\n", "line 1: it must be a list of 1 to 1000 tasks"},
		"an empty list":     {"[]\n", "line 1: it must be a list of 1 to 1000 tasks"},
		"no YAML":           {"- name: \"a\n", "found unexpected end of stream"},
		"two documents":     {task + "---\n" + task, "one YAML document"},
		"no mapping":        {"- a\n", "line 1: a task must be a list of"},
		"a wrong key":       {"- name: a\n  promt: p\n", `line 2: unknown key "promt"; a task has name, prompt, files,`},
		"a key twice":       {"- name: a\n  name: b\n", "line 2: the key name is there twice"},
		"a task twice":      {task + task, `line 4: there is a task "a" before`},
		"a wrong name":      {"- name: A b\n  prompt: p\n  check: c\n", "lower-case letters"},
		"no prompt":         {"- name: a\n  check: c\n", `line 1: task "a": it must have a prompt`},
		"an empty prompt":   {"- name: a\n  prompt: [p, ' ']\n  check: c\n", "a prompt is empty"},
		"no check":          {"- name: a\n  prompt: p\n", "it must have a check"},
		"too few solutions": {"- name: a\n  prompt: [p, q]\n  check: c\n  right: r\n", "one entry for each of its 2 turns"},
		"text as a mapping": {"- name: a\n  prompt: p\n  check: {c: d}\n", "line 3: check: must be text"},
		"texts in a list":   {"- name: a\n  prompt: [[p]]\n  check: c\n", "prompt: must be text, or a list of texts"},
		"files as a list":   {"- name: a\n  prompt: p\n  files: [f]\n", "files: must be at most 100 lines"},
		"a path above":      {"- name: a\n  prompt: p\n  files: {../f: x}\n", `the path "../f" must be relative to /work`},
		"an absolute path":  {"- name: a\n  prompt: p\n  files: {/etc/f: x}\n", `the path "/etc/f" must be relative to /work`},
		"our own folder":    {"- name: a\n  prompt: p\n  files: {.runpython-eval/f: x}\n", "must be relative to /work"},
		"no text as a file": {"- name: a\n  prompt: p\n  files: {f: [x]}\n", "files: f: must be text"},
		"too large":         {strings.Repeat("#", eval.MaxSetBytes+1), "the most is 4194304"},
		"too many turns":    {"- name: a\n  prompt: [" + strings.Repeat("p,", eval.MaxTurns+1) + "]\n  check: c\n", "at most 20"},
	} {
		t.Run(name, func(t *testing.T) {
			tasks, err := eval.Read([]byte(c.text))
			if err == nil {
				t.Fatalf("Read gives %+v, want an error with %q", tasks, c.want)
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %q, want one with %q", err, c.want)
			}
		})
	}
}

func FuzzRead(f *testing.F) {
	f.Add("- name: a\n  prompt: [p, q]\n  files: &f {a: b}\n  check: c\n  right: [r, s]\n")
	f.Add("- &a {name: a, prompt: *a}\n")
	f.Add("- name: a\n  <<: {prompt: p}\n")
	f.Fuzz(func(t *testing.T, text string) {
		tasks, err := eval.Read([]byte(text))
		if (err == nil) != (len(tasks) > 0) {
			t.Errorf("Read(%q) = %+v, %v", text, tasks, err)
		}
		for _, task := range tasks {
			if task.Name == "" || len(task.Turns) == 0 || task.Check == "" {
				t.Errorf("Read(%q) gives %+v", text, task)
			}
		}
	})
}

func TestSelect(t *testing.T) {
	tasks := []eval.Task{{Name: "csv-a"}, {Name: "csv-b"}, {Name: "sql-a"}}
	for pattern, want := range map[string][]eval.Task{"": tasks, "csv-*": tasks[:2], "*-a": {tasks[0], tasks[2]}, "sql-a": tasks[2:]} {
		got, err := eval.Select(tasks, pattern)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("Select(%q): %v (-want +got):\n%s", pattern, err, diff)
		}
	}
	for pattern, want := range map[string]string{"x": "no task matches", "[": "syntax error"} {
		if _, err := eval.Select(tasks, pattern); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Select(%q) = %v, want %q", pattern, err, want)
		}
	}
}
