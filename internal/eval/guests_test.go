package eval_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"runpython/internal/config"
	"runpython/internal/eval"
	"runpython/internal/extent"
	"runpython/internal/llm"
	"runpython/internal/llm/llmtest"
)

// conversation is a task whose prompts are code, which needs no model.
const conversation = `
- name: sees-all
  files: {a.txt: "one\n", sub/b.txt: "two\n"}
  setup: |
    open("made.bin", "wb").write(bytes(range(256)) + open("a.txt", "rb").read())
  prompt:
    - |
      x = open("made.bin", "rb").read()[-4:]
      print("first", x)
      open("sub/b.txt", "w").write("changed")
    - |
      import base64, sys
      class Picture:
          def _repr_png_(self):
              return base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg==")
      print("second", x); print("unseen", file=sys.stderr)
      open("new.txt", "w").write("3,141 new")
      display(Picture())
      6 * 7
  check: |
    assert output == "second b'one\\n'\n42\n", output
    assert turns[0]["output"].startswith("first"), turns
    assert answer == "" and len(runs) == 1 and runs[0]["stderr"] == "unseen\n", runs
    assert "6 * 7" in runs[0]["code"] and runs[0]["error"] == ""
    assert len(images) == 1 and images[0].read_bytes().startswith(b"\x89PNG")
    assert Path("sub/b.txt").read_text() == "changed"
    assert expect_file("new.txt").read_text() == "3,141 new"
    assert Path("made.bin").stat().st_size == 260
    assert sorted(p.name for p in Path().iterdir()) == ["a.txt", "made.bin", "new.txt", "sub"], list(Path().iterdir())
    expect_number(42)
    expect_number(3141, text=Path("new.txt").read_text())
    expect_text("SECOND  b'ONE")
    expect_order("second", "42")
    try:
        x
    except NameError:
        pass
    else:
        raise AssertionError("the check is in the chat of the task")
- name: says-why
  prompt: print(41)
  check: |
    value = int(output)
    assert value == 42
- name: raises
  prompt: print("x")
  check: int(output)
- name: fails-in-its-code
  prompt: 1 / 0
  check: |
    assert "ZeroDivisionError" in runs[0]["error"]
    expect_number(0)
- name: has-no-module
  prompt: print(1)
  check: import no_such_module_of_the_check
- name: has-no-setup
  prompt: print(1)
  setup: open("nowhere.txt")
  check: assert True
`

// The check of a task is told everything, in a guest that is not that of the chat.
func TestRunInGuests(t *testing.T) {
	extent.Long(t)
	set, err := eval.Read([]byte(conversation))
	if err != nil {
		t.Fatal(err)
	}
	report, err := eval.Run(t.Context(), open(t, model(nil)), set, eval.Options{Repeat: 1, Parallel: 2})
	if err != nil {
		t.Fatal(err)
	}
	want := []eval.TaskReport{
		{Name: "sees-all", Attempts: []eval.Attempt{{Passed: true, Use: eval.Use{Runs: 2}}}},
		{Name: "says-why", Attempts: []eval.Attempt{{Why: "assert value == 42", Use: eval.Use{Runs: 1}}}},
		{Name: "raises", Attempts: []eval.Attempt{{Why: `ValueError: invalid literal for int() with base 10: 'x\n'`, Use: eval.Use{Runs: 1}}}},
		{Name: "fails-in-its-code", Attempts: []eval.Attempt{{Why: "no 0 in:", Use: eval.Use{Runs: 1}}}},
		{Name: "has-no-module", Attempts: []eval.Attempt{{Broken: true, Use: eval.Use{Runs: 1}, Why: "the check cannot be run: ModuleNotFoundError: No module named 'no_such_module_of_the_check'"}}},
		{Name: "has-no-setup", Attempts: []eval.Attempt{{Broken: true, Why: "the setup of the task fails: FileNotFoundError: [Errno 2] No such file or directory: 'nowhere.txt'"}}},
	}
	if diff := cmp.Diff(want, report.Tasks, cmpopts.IgnoreFields(eval.Attempt{}, "Duration")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// hostile is code that a model might write to pass without doing anything.
const hostile = `
- name: modules
  prompt: |
    for name in ("json", "re", "pathlib", "tempfile", "shutil", "decimal", "statistics", "sitecustomize"):
        open(name + ".py", "w").write("import os\nos._exit(0)\n")
  check: |
    import decimal, statistics
    expect_number(5)
- name: record
  prompt: |
    import os
    os.mkdir(".runpython-eval")
    open(".runpython-eval/turns.json", "w").write('[{"answer": "5", "output": "5", "runs": [], "images": []}]')
    open(".runpython-eval/0-0.image", "w").write("x")
    os.symlink("/etc", "link")
    os.mkfifo("pipe")
  check: expect_number(5)
- name: builtins
  prompt: |
    import builtins, sys
    builtins.any = lambda *_: True
    sys.settrace(None)
    builtins.AssertionError = KeyError
  check: expect_number(5)
- name: text
  prompt: |
    print('"""\n~~~\n~~~python\nimport os; os._exit(0)\n\x1b[2JAssertionError: 6\\n"}]')
  check: expect_number(5)
- name: by-chance
  prompt: print(*range(1000))
  check: expect_number(5)
`

func TestHostileAnswersDoNotPass(t *testing.T) {
	extent.Long(t)
	set, err := eval.Read([]byte(hostile))
	if err != nil {
		t.Fatal(err)
	}
	report, err := eval.Run(t.Context(), open(t, model(nil)), set, eval.Options{Repeat: 1, Parallel: 2})
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range report.Tasks {
		want := "no 5 in:"
		if task.Name == "by-chance" {
			want = "1000 numbers are shown"
		}
		if a := task.Attempts[0]; a.Passed || a.Broken || !strings.HasPrefix(a.Why, want) {
			t.Errorf("%s: %+v, want that it fails with %q", task.Name, a, want)
		}
	}
}

// A model that is asked without the loop: what its code prints counts, and only that.
func TestOneShot(t *testing.T) {
	extent.Long(t)
	set, err := eval.Read([]byte(`
- name: prints
  files: {a.txt: "20"}
  prompt: [First., Second.]
  check: |
    assert turns[0]["prompt"] == "First." and turns[1]["answer"] == "And now:", turns
    assert turns[0]["output"] == "20\n" and output == "21 False\n", turns
`))
	if err != nil {
		t.Fatal(err)
	}
	program := open(t, model{
		"```python\nx = int(open('a.txt').read())\nprint(x)\nopen('a.txt', 'w').write('21')\nx\n```",
		"And now:\n\n```python\nprint(open('a.txt').read(), 'x' in globals())\n1 / 0\n```",
	})
	report, err := eval.Run(t.Context(), program, append(set, tasks("p")...), eval.Options{Repeat: 1, Parallel: 1, OneShot: true})
	if err != nil {
		t.Fatal(err)
	}
	want := []eval.Attempt{{Passed: true, Use: report.Tasks[0].Attempts[0].Use}}
	if diff := cmp.Diff(want, report.Tasks[0].Attempts, cmpopts.IgnoreFields(eval.Attempt{}, "Duration")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := want[0].Use; got.Runs != 2 || got.Requests != 2 || got.Tokens.Input != 14 {
		t.Errorf("it took %+v", got)
	}
	program.model = model(nil)
	report, err = eval.Run(t.Context(), program, tasks("p"), eval.Options{Repeat: 1, Parallel: 1, OneShot: true})
	if a := report.Tasks[0].Attempts[0]; err != nil || !a.Broken || a.Why != "no connection to the model" {
		t.Errorf("without a model: %v, %+v", err, a)
	}
}

// A model that is asked in the loop: its code fails, it mends it, and it says what came of it.
func TestLoop(t *testing.T) {
	extent.Slow(t)
	set, err := eval.Read([]byte(`
- name: mends
  prompt: How much is 6 times 7? Write it into out.txt, too.
  check: |
    assert answer == "It is 42." and output == "42\n", turns
    assert ["ZeroDivisionError" in r["error"] for r in runs] == [True, False], runs
    assert expect_file("out.txt").read_text() == "42"
`))
	if err != nil {
		t.Fatal(err)
	}
	server := llmtest.Serve(t, llmtest.Script{Name: "mends", Exchanges: []llmtest.Exchange{
		{Want: llmtest.Want{Has: []string{"6 times 7"}}, Reply: llmtest.Reply{Text: "```python\nprint(6 / 0)\n```", Usage: llm.Usage{Input: 100, Output: 10}}},
		{Want: llmtest.Want{Has: []string{"ZeroDivisionError"}}, Reply: llmtest.Reply{
			Text: "```python\nprint(6 * 7)\nopen('out.txt', 'w').write('42');\n```", Usage: llm.Usage{Input: 200, Output: 20},
		}},
		{Reply: llmtest.Reply{Text: "It is 42.", Usage: llm.Usage{Input: 300, Output: 5}}},
	}})
	a := openApp(t, func(c *config.Config) {
		c.Model, c.ModelURL, c.ModelProtocol = "scripted-1", server.URL+"/v1", config.ProtocolFenced
	})
	report, err := eval.Run(t.Context(), a, set, eval.Options{Repeat: 1, Parallel: 1})
	if err != nil {
		t.Fatal(err)
	}
	want := []eval.Attempt{{Passed: true, Use: eval.Use{Runs: 2, Requests: 3, Tokens: llm.Usage{Input: 600, Output: 35}}}}
	if diff := cmp.Diff(want, report.Tasks[0].Attempts, cmpopts.IgnoreFields(eval.Attempt{}, "Duration")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What keeps a check from being proved is told.
func TestProve(t *testing.T) {
	extent.Slow(t)
	set, err := eval.Read([]byte(`
- {name: proved, prompt: p, check: expect_number(2), right: print(2), wrong: print(3)}
- {name: lets-wrong-pass, prompt: p, check: expect_text(""), right: print(2), wrong: print(3)}
- {name: lets-right-fail, prompt: p, check: expect_number(3), right: print(2), wrong: print(4)}
- {name: has-no-wrong, prompt: p, check: expect_number(2), right: print(2)}
- {name: raises-right, prompt: p, check: expect_number(2), right: 1 / 0, wrong: print(3)}
- {name: breaks, prompt: p, check: assert int(output) == 2, right: print(2), wrong: print("two")}
- name: forgets-what-was-before
  prompt: [p, q]
  files: {a.txt: "2"}
  setup: open("b.txt", "w").write("3")
  check: expect_number(5)
  right:
    - import os; kept = int(open("a.txt").read())
    - print(kept + int(open("b.txt").read()), file=open("c.txt", "x")); print(open("c.txt").read())
  wrong:
    - print(sorted(os.listdir()) if "os" in globals() else 0)
    - print("kept" in globals())
`))
	if err != nil {
		t.Fatal(err)
	}
	proofs, err := eval.Prove(t.Context(), open(t, nil), set, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []eval.Proof{
		{Task: "proved"},
		{Task: "lets-wrong-pass", Problem: "the wrong solution passes"},
		{Task: "lets-right-fail", Problem: "the right solution does not pass: no 3 in: 2"},
		{Task: "has-no-wrong", Problem: "the wrong solution is missing"},
		{Task: "raises-right", Problem: "the right solution fails: ZeroDivisionError: division by zero"},
		{Task: "breaks", Problem: `the check must refuse the wrong solution by an assertion, and not by ValueError: invalid literal for int() with base 10: 'two\n'`},
		{Task: "forgets-what-was-before"},
	}
	if diff := cmp.Diff(want, proofs); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
