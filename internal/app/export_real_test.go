package app_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/chat"
	"runpython/internal/extent"
	"runpython/internal/guesttest"
	"runpython/internal/notebook"
	"runpython/internal/pypi/indextest"
)

// analysis is a chat with all that an export has to carry: packages, a table, a picture, an error, any characters, await, files.
var analysis = []string{
	"print('größe 漢字 🎉', end='\\r\\n')\nimport pandas as pd\ndf = pd.DataFrame({'ß': [1, 2]})\ndf",
	"import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()",
	"1/0",
	"import asyncio\nawait asyncio.sleep(0, '\\x1b[1m\\u2028')",
	"```python\nopen('data.csv', 'w').write('x')\n```",
	"import sys; print(len(df), open('data.csv').read()); print('aside', file=sys.stderr)",
}

// A real chat exported as a notebook is valid for Jupyter, and as a script prints with uv what the chat has shown; and both come
// back as a chat that is exported to the same cells.
func TestExportOfRealChat(t *testing.T) {
	extent.Long(t)
	data := guesttest.Data(t)
	a := openAt(t, data, fromIndex(t))
	var id string
	var shown strings.Builder
	for _, message := range analysis {
		reply := turn(t, a, id, message)
		id = reply.ChatID
		for _, r := range reply.Runs {
			shown.WriteString(r.Stdout)
			if r.Value != "" {
				shown.WriteString(r.Value + "\n")
			}
		}
	}
	r := recordsAt(t, data)
	book := exported(t, r, id)
	file := filepath.Join(t.TempDir(), "chat.ipynb")
	if err := os.WriteFile(file, book, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Run("nbformat", func(t *testing.T) {
		guesttest.Jupyter(t, "import sys, nbformat\nnbformat.validate(nbformat.read(sys.argv[1], as_version=nbformat.NO_CONVERT))", file)
	})
	t.Run("import", func(t *testing.T) {
		if diff := cmp.Diff(cellsOf(t, book), cellsOf(t, exported(t, r, imported(t, r, book, false)))); diff != "" {
			t.Errorf("cells (-first +second):\n%s", diff)
		}
	})
	t.Run("uv run", func(t *testing.T) {
		transcript, err := r.Transcript(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(shown.String(), runScript(t, transcript)); diff != "" {
			t.Errorf("it prints (-chat +script):\n%s", diff)
		}
	})
}

// runScript executes a chat as a script by uv, with the interpreter that guests have and packages of the index, and returns what it prints.
func runScript(t *testing.T, transcript *chat.Transcript) string {
	t.Helper()
	var script bytes.Buffer
	if err := notebook.WriteScript(&script, notebook.Source{Chat: transcript, Python: "3.14.6"}); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "chat.py")
	if err := os.WriteFile(file, script.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), indextest.UV(t), "run", "--no-project", "--no-python-downloads", "--python", guesttest.Python(t).Executable(), "--script", file)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &stdout, &stderr
	cmd.Env = append(os.Environ(), "MPLBACKEND=agg", "PYTHONUTF8=1")
	if err := cmd.Run(); err != nil {
		t.Fatalf("uv run: %v\n%s\n%s", err, stderr.String(), script.String())
	}
	if !strings.Contains(stderr.String(), "ZeroDivisionError") {
		t.Errorf("the error of the chat is not in its error output:\n%s", stderr.String())
	}
	return stdout.String()
}

// A notebook that Jupyter executes anew has the outputs that the chat had.
func TestExportIsExecutedByJupyter(t *testing.T) {
	data := guesttest.Data(t)
	a := openAt(t, data, nil)
	first := turn(t, a, "", "x = 6 * 7\nprint('größe', x)\nx")
	turn(t, a, first.ChatID, "import asyncio\nawait asyncio.sleep(0, x + 1)")
	book := exported(t, recordsAt(t, data), first.ChatID)
	file := filepath.Join(t.TempDir(), "chat.ipynb")
	if err := os.WriteFile(file, book, 0o600); err != nil {
		t.Fatal(err)
	}
	guesttest.Jupyter(t, execute, file)
}

// execute executes a notebook and compares the outputs of its cells.
const execute = `
import sys, warnings
warnings.simplefilter("default")
import nbclient, nbformat
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import AsyncKernelManager

def outputs(book):
    return [[{k: v for k, v in o.items() if k not in ("execution_count", "metadata")} for o in c.get("outputs", [])] for c in book.cells]

class Specs(KernelSpecManager):
    def get_kernel_spec(self, name):
        return KernelSpec(argv=[sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"], display_name=name, language="python")

class Manager(AsyncKernelManager):
    def __init__(self, **kwargs):
        super().__init__(**{**kwargs, "kernel_spec_manager": Specs()})

book = nbformat.read(sys.argv[1], as_version=nbformat.NO_CONVERT)
before = outputs(book)
nbclient.NotebookClient(book, timeout=120, kernel_manager_class=Manager).execute()
if outputs(book) != before:
    sys.exit(f"{before} became {outputs(book)}")
`
