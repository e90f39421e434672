package message_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/message"
)

// TestInstallLines has the ways in which people ask for packages.
func TestInstallLines(t *testing.T) {
	tests := []struct {
		line  string
		want  []string
		notes []string
	}{
		{line: "!pip install cowsay", want: []string{"cowsay"}},
		{line: "%pip install cowsay", want: []string{"cowsay"}},
		{line: "! pip install a b", want: []string{"a", "b"}},
		{line: "!pip3 install a", want: []string{"a"}},
		{line: "!python -m pip install a", want: []string{"a"}},
		{line: "!{sys.executable} -m pip install a", want: []string{"a"}},
		{line: "!uv pip install a", want: []string{"a"}},
		{line: "!uv add a", want: []string{"a"}},
		{line: "pip install cowsay", want: []string{"cowsay"}},
		{line: "$ pip install cowsay", want: []string{"cowsay"}},
		{line: "python3 -m pip install cowsay", want: []string{"cowsay"}},
		{line: `!pip install "pandas >= 2, < 3" 'b[x, y]' # why`, want: []string{"pandas>=2,<3", "b[x,y]"}},
		{line: "!pip install pandas>=2 numpy==1.* c~=1.0", want: []string{"pandas>=2", "numpy==1.*", "c~=1.0"}},
		{line: `!pip install a; touch x && pip install y`, want: []string{"a"}, notes: []string{`"; touch x && pip install y" was left out of the packages`}},
		{line: `!pip install a&&touch x`, want: []string{"a"}, notes: []string{`"&&touch x" was left out of the packages`}},
		{line: `!pip install "a ; python_version < '4'"`, want: []string{"a; python_version < '4'"}},
		{line: "!pip install a \\\n    b", want: []string{"a", "b"}},
		{line: "!pip install a a A", want: []string{"a", "A"}},
		{line: "!pip install -q -U a", want: []string{"a"}, notes: []string{`"-q" was left out of the packages`, `"-U" was left out of the packages`}},
		{
			line: "!pip install --index-url https://example.com/simple a", want: []string{"a"},
			notes: []string{`"--index-url https://example.com/simple" was left out of the packages`},
		},
		{line: "!pip install -r requirements.txt", notes: []string{`"-r requirements.txt" was left out of the packages`}},
		{line: "!pip install a > /dev/null 2>&1", want: []string{"a"}, notes: []string{`"> /dev/null 2>&1" was left out of the packages`}},
		{line: "!pip install a && rm x", want: []string{"a"}, notes: []string{`"&& rm x" was left out of the packages`}},
		{line: "!pip install git+https://example.com/a ./b ../c /d", notes: []string{
			`"git+https://example.com/a" was left out of the packages`, `"./b" was left out of the packages`,
			`"../c" was left out of the packages`, `"/d" was left out of the packages`,
		}},
		{line: `!pip install "a @ https://example.com/a.whl"`, notes: []string{`"a @ https://example.com/a.whl" was left out of the packages`}},
		{
			line: "!pip install --frobnicate a b", notes: []string{
				`no packages were taken from "!pip install --frobnicate a b", whose option --frobnicate is not known here`,
			},
		},
		{line: "!pip install", want: nil},
	}
	for _, tt := range tests {
		t.Run(tt.line, func(t *testing.T) {
			m := message.Read("```python\n" + tt.line + "\nprint('x')\n```")
			if diff := cmp.Diff(tt.want, m.Requirements); diff != "" {
				t.Errorf("requirements (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.notes, m.Notes); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
			want := "# " + strings.ReplaceAll(tt.line, "\n", "\n# ") + "\nprint('x')\n"
			if diff := cmp.Diff([]string{want}, codes(m)); diff != "" {
				t.Errorf("candidates (-want +got):\n%s", diff)
			}
		})
	}
}

// TestPackagesAlone has messages that only ask for packages.
func TestPackagesAlone(t *testing.T) {
	for _, text := range []string{"!pip install cowsay", "pip install cowsay", "```python\n%pip install cowsay\n```"} {
		m := message.Read(text)
		if m.Kind != message.Code || len(m.Candidates) != 1 || m.Candidates[0].MustAct {
			t.Errorf("Read(%q) is %v with %+v, want code that need not act", text, m.Kind, m.Candidates)
		}
		if diff := cmp.Diff([]string{"cowsay"}, m.Requirements); diff != "" {
			t.Errorf("Read(%q): requirements (-want +got):\n%s", text, diff)
		}
	}
}

func TestManyPackages(t *testing.T) {
	var text strings.Builder
	for i := range 100 {
		text.WriteString("!pip install a" + strings.Repeat("b", i) + " " + strings.Repeat("c", 300) + "\n")
	}
	m := message.Read(text.String())
	if len(m.Requirements) != message.MaxRequirements {
		t.Errorf("%d requirements, want %d", len(m.Requirements), message.MaxRequirements)
	}
	if want := "only the first 64 packages were taken"; m.Notes[0] != want {
		t.Errorf("first note %q, want %q", m.Notes[0], want)
	}
}

// TestMagics is VAL-04: each notebook line is honoured, ignored with a note, or, in
// TestRefusedMagics, refused with what to write instead.
func TestMagics(t *testing.T) {
	tests := []struct {
		name, code, want string
		notes            []string
	}{
		{"VAL-04 matplotlib", "%matplotlib inline\nf(1)\n", "# %matplotlib inline\nf(1)\n", []string{"%matplotlib was ignored"}},
		{"VAL-04 autoreload", "%load_ext autoreload\n%autoreload 2\n", "# %load_ext autoreload\n# %autoreload 2\n",
			[]string{"%load_ext was ignored", "%autoreload was ignored"}},
		{"VAL-04 time", "%time x = f(1)\n", "x = f(1)\n", []string{"%time was ignored: what follows it ran once"}},
		{"VAL-04 timeit", "%timeit -n 100 -r3 f(-1)\n", "f(-1)\n", []string{"%timeit was ignored: what follows it ran once"}},
		{"VAL-04 cell magic", "%%time\nf(1)\n", "# %%time\nf(1)\n", []string{"%time was ignored: what follows it ran once"}},
		{"VAL-04 capture", "%%capture out\nf(1)\n", "# %%capture out\nf(1)\n", []string{"%capture was ignored"}},
		{"VAL-04 python cell", "%%python3\nf(1)\n", "\nf(1)\n", nil},
		{"VAL-04 in a block", "if x:\n    %matplotlib inline\n", "if x:\n    pass  # %matplotlib inline\n", []string{"%matplotlib was ignored"}},
		{"VAL-04 modulo on the next line", "x = (7\n% 4)\ny = 7 \\\n% 4\n", "x = (7\n% 4)\ny = 7 \\\n% 4\n", nil},
		{"VAL-04 in a string", "x = '''\n!ls\n%who\npip install a\n'''\n", "x = '''\n!ls\n%who\npip install a\n'''\n", nil},
		{"VAL-04 in a string with a quote", "x = f'''{\"'\"}\n!ls\n'''\n", "x = f'''{\"'\"}\n!ls\n'''\n", nil},
		{"VAL-04 a quote in a shell line", "!pip install a # it's\nf('''\n!ls\n''')\n", "# !pip install a # it's\nf('''\n!ls\n''')\n", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := message.Read("```python\n" + tt.code + "```")
			if diff := cmp.Diff([]string{tt.want}, codes(m)); diff != "" {
				t.Errorf("candidates (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.notes, m.Notes); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRefusedMagics is VAL-04: a line that cannot run stays as the person wrote it, so
// that Python's error shows it, and is told with what to write instead.
func TestRefusedMagics(t *testing.T) {
	tests := []struct{ name, code, line, instead string }{
		{"VAL-04 shell", "!ls -la\nf(1)\n", "!ls -la", `use subprocess.run("ls -la", shell=True)`},
		{"VAL-04 cd and more", "!cd /tmp && ls\n", "!cd /tmp && ls", `use subprocess.run("cd /tmp && ls", shell=True)`},
		{"VAL-04 cd", "!cd /tmp\n", "!cd /tmp", `use os.chdir("/tmp")`},
		{"VAL-04 magic", "%who\n", "%who", "use dir() or globals()"},
		{"VAL-04 unknown magic", "%frob\n", "%frob", "write the Python that it stands for"},
		{"VAL-04 conda", "!conda install x\n", "!conda install x", "ask for packages of PyPI with !pip install NAME"},
		{"VAL-04 assigned shell", "x = !ls\n", "x = !ls",
			"use subprocess.run(command, shell=True, capture_output=True, text=True).stdout"},
		{"VAL-04 assigned magic", "x = %pwd\n", "x = %pwd", "write the Python that it stands for"},
		{"VAL-04 help", "df.head?\n", "df.head?", "use help(name)"},
		{"VAL-04 two of them", "!ls\n%who\n", "!ls", `use subprocess.run("ls", shell=True)`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := message.Read("```python\n" + tt.code + "```")
			want := []message.Candidate{{
				Code: tt.code, RunAnyway: true,
				Refusal: fmt.Sprintf(`line 1: "%s" is notebook syntax that does not run here; %s`, tt.line, tt.instead),
			}}
			if diff := cmp.Diff(want, m.Candidates); diff != "" {
				t.Errorf("candidates (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRefusedLine counts the lines of the joined code, from which no packages are installed then.
func TestRefusedLine(t *testing.T) {
	m := message.Read("```python\n%matplotlib inline\n!pip install x\n```\n```python\ny = 2\n!ls\n```")
	want := message.Candidate{
		Code: "# %matplotlib inline\n# !pip install x\ny = 2\n!ls\n", RunAnyway: true,
		Refusal: `line 4: "!ls" is notebook syntax that does not run here; use subprocess.run("ls", shell=True)`,
	}
	if diff := cmp.Diff([]message.Candidate{want}, m.Candidates); diff != "" {
		t.Errorf("candidates (-want +got):\n%s", diff)
	}
	if m.Requirements != nil {
		t.Errorf("requirements %q, want none", m.Requirements)
	}
}

// TestForeignCells is VAL-04 and MSG-05: a cell of another language does not run.
func TestForeignCells(t *testing.T) {
	m := message.Read("```python\n%%bash\necho hi\n```\n```python\nf(1)\n```")
	want := message.Message{
		Kind:       message.Mixed,
		Prose:      "```python\n%%bash\necho hi\n```",
		Candidates: []message.Candidate{{Code: "f(1)\n", RunAnyway: true}},
		Notes:      []string{"a %%bash block was not run: only Python runs here; use subprocess.run(command, shell=True)"},
	}
	if diff := cmp.Diff(want, m); diff != "" {
		t.Errorf("blocks (-want +got):\n%s", diff)
	}
	for _, text := range []string{"%%bash\necho hi", "```python\n%%bash\necho hi\n```", "```\n%%bash\necho hi\n```"} {
		want := message.Message{Kind: message.Prose, Prose: text, Notes: want.Notes}
		if diff := cmp.Diff(want, message.Read(text)); diff != "" {
			t.Errorf("Read(%q) (-want +got):\n%s", text, diff)
		}
	}
}

// TestForeignCellAdvice is VAL-04: a cell that does not run says what does.
func TestForeignCellAdvice(t *testing.T) {
	tests := []struct{ text, want string }{
		{"%%writefile a.py\nx = 1", `a %%writefile block was not run: only Python runs here; use open("name", "w").write(...)`},
		{"%%sh\nls", "a %%sh block was not run: only Python runs here; use subprocess.run(command, shell=True)"},
		{"%%html\n<p>", "a %%html block was not run: only Python runs here"},
	}
	for _, tt := range tests {
		want := message.Message{Kind: message.Prose, Prose: tt.text, Notes: []string{tt.want}}
		if diff := cmp.Diff(want, message.Read(tt.text)); diff != "" {
			t.Errorf("Read(%q) (-want +got):\n%s", tt.text, diff)
		}
	}
}
