package guest_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/extent"
)

// needsProgram asks for the needs of code as the kernel does. Arguments: folder of the kernel, folder of packages, of the
// chat. What the chat did before is run first; what it notes in `events` after that must not have happened.
const needsProgram = `
import sys, json
sys.path.insert(0, sys.argv[1])
import codec, imports, needs, pristine
pristine.withdraw()
sys.path[:] = ["", *sys.path, sys.argv[2]]
case, names = json.load(sys.stdin), {"events": []}
chat = needs.Needs(names, sys.argv[3])
exec(case["before"], names)
del names["events"][:]
tree = compile(case["code"], "<run 1>", "exec", 0x400 | 0x2000, True) if case["code"] else None
found = imports.collect(case["code"], tree)
needed, optional = chat.missing(found) if found is not None else ([], [])
sys.stdout.write(codec.encode([needed, optional, [str(event) for event in names["events"]]]))
`

// A needsCase is code of a chat and what it needs.
type needsCase struct {
	files    map[string]string // in the chat's folder, or in that of packages below "env/"
	before   string            // what the chat has run
	code     string
	needed   []string
	optional []string
}

// The ids name the reported failures that the cases are.
var needsCases = map[string]needsCase{
	"PKG-05 dotted imports": {code: "import matplotlib.pyplot as plt\nfrom os.path import join\nprint('ok')", needed: []string{"matplotlib.pyplot"}},
	"PKG-07 words that are no imports": {
		code: "'''Notes:\nimport nothing_real_here\nfrom a book by K&R\n'''\n# import also_not_real\nx = f'import {1}'\nimport_this = 1\nprint('hello')",
	},
	"PKG-16 tried first, needed later": {
		code: "try:\n    import cowsay\nexcept ModuleNotFoundError:\n    pass\nimport cowsay\nprint('ok')", needed: []string{"cowsay"},
	},
	"no import": {code: "print(1)"},
	"forms": {
		code:   "import a1, a2.b.c as d, os\nfrom a3 import x, y as z\nfrom a4.b import *\nfrom . import r1\nfrom .r2 import x\nfrom __future__ import annotations",
		needed: []string{"a1", "a2.b.c", "a3.x", "a3.y", "a4.b"},
	},
	"any depth": {
		code: "class C:\n    async def f(self):\n        for x in y:\n            match x:\n                case 1:\n                    with z:\n                        import deep\n" +
			"while True:\n    break\nelse:\n    import other\nlambda: __import__('called')\nawait g(__import__('awaited.part'))",
		needed: []string{"deep", "other", "called", "awaited.part"},
	},
	"calls": {
		code: "import importlib\nfrom importlib import import_module\nimportlib.import_module('a1.b')\nimport_module(name='no')\nimport_module('.rel', 'p')\n" +
			"import_module('a-b')\n__import__('')\n__import__(x)\n__import__(*['s'])\nx.import_module(y, 'no')\n__import__('a2', fromlist=['z'])",
		needed: []string{"a1.b", "a2"},
	},
	"standard library": {code: "import tkinter, turtle, winreg, _socket, xml.etree.ElementTree as e, concurrent.futures, sys, __main__"},

	"optional": {
		code: "try:\n    import a1\nexcept ImportError:\n    a1 = None\ntry:\n    import a2\nexcept (ValueError, ModuleNotFoundError): ...\n" +
			"try:\n    import a3\nexcept Exception as e:\n    print(e)\ntry:\n    def f():\n        import a4\nexcept:\n    pass\n" +
			"try:\n    import a5\nexcept* builtins.ImportError:\n    pass\nfrom contextlib import suppress\nwith open('f'), suppress(ImportError):\n    import a6",
		optional: []string{"a1", "a2", "a3", "a4", "a5", "a6"},
	},
	"not optional": {
		code: "try:\n    import a1\nexcept KeyError:\n    import a2\ntry:\n    import a3\nfinally:\n    import a4\ntry:\n    import a5\nexcept ImportError:\n    print('needs a5')\n    raise\n" +
			"try:\n    import a6\nexcept ImportError as e:\n    raise SystemExit(1) from e\nimport sys\ntry:\n    import a7\nexcept ImportError:\n    sys.exit('needs a7')\nwith suppress(ValueError):\n    import a8",
		needed: []string{"a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8"},
	},
	"one or the other": {
		code: "try:\n    import cupy as xp\nexcept ImportError:\n    import numpy as xp\ntry:\n    import tomllib\nexcept ImportError:\n    import tomli as tomllib\n" +
			"try:\n    import torch\nexcept ImportError:\n    torch = None\nelse:\n    import torchvision\ntry:\n    import json\nexcept ImportError:\n    import simplejson\nelse:\n    import jsonlines\n" +
			"try:\n    f()\nexcept ImportError:\n    import hint\ntry:\n    import u1\nexcept ImportError:\n    try:\n        import u2\n    except ImportError:\n        import u3",
		needed: []string{"numpy", "jsonlines", "hint", "u3"}, optional: []string{"cupy", "torch", "u1", "u2"},
	},
	"installed by the code itself": {
		code:   "try:\n    import cowsay\nexcept ImportError:\n    import subprocess, sys\n    subprocess.run([sys.executable, '-m', 'pip', 'install', 'cowsay'])\n    import cowsay",
		needed: []string{"cowsay"},
	},
	"branches that are not taken": {
		code: "import sys, os, typing\nif typing.TYPE_CHECKING:\n    import a1\nelse:\n    import n1\nif not TYPE_CHECKING:\n    import n2\nif sys.version_info >= (3, 11):\n    import n3\nelse:\n    import a2\n" +
			"if sys.version_info < (3,):\n    import a3\nif sys.platform == 'win32':\n    import a4\nelif os.name != 'nt':\n    import n4\nif 0:\n    import a5\nif sys.version_info > (3, 'x'):\n    import n5\nif __name__ == '__main__':\n    import n6\nif (3, 8) < sys.version_info:\n    import n7",
		needed: []string{"n1", "n2", "n3", "n4", "n5", "n6", "n7"},
	},

	"modules of the chat": {
		files: map[string]string{
			"helper.py": "", "pack/__init__.py": "", "space/part.py": "", "old.pyc": "", "fast.abi3.so": "", "outer/inner/code.py": "", "pandas/sales.csv": "1", "empty/.keep": "",
		},
		code:   "import helper, pack.sub, space.part, space.gone, old, fast, outer.inner, pandas, empty\nfrom space import x",
		needed: []string{"pandas", "empty"},
	},
	"modules that the code writes, folders that it adds": {
		files:  map[string]string{"lib/inner.py": ""},
		code:   "import sys\nsys.path.insert(0, 'lib')\nimport inner\nopen('made.py', 'w').write('x = 1')\nopen(f'{d}/deep.py', 'w')\nopen('p/pack/__init__.py', 'w')\nimport made, deep, pack\nimport matplotlib.pyplot",
		needed: []string{"matplotlib.pyplot"},
	},
	"archive on the path": {
		before: "import sys, zipfile\nwith zipfile.ZipFile('a.zip', 'w') as z: z.writestr('zipped.py', '')\nopen('bad.zip', 'w').write('PK no archive')\nsys.path += ['a.zip', 'bad.zip']",
		code:   "import zipped, unzipped", needed: []string{"unzipped"},
	},
	"names of the chat": {
		before: "import sys, types\nsys.modules['put'] = types.ModuleType('put')\nsys.modules['blocked'] = None\nsys.modules['odd'] = 3\nclass utils: pass\ndef tools(): pass\nrequests = [1]\npackage = types.ModuleType('package')\npackage.__path__ = []\nsys.modules['package'] = package",
		code:   "import put, blocked, odd, utils, requests, package.sub\nfrom tools import x", needed: []string{"requests"},
	},
	"installed packages": {
		files:  map[string]string{"env/present/__init__.py": "", "env/single.py": "", "env/google/protobuf/__init__.py": ""},
		code:   "import present, single, present.gone, google, google.protobuf.message\nfrom google.cloud import storage\nfrom google import genai",
		needed: []string{"google.cloud.storage", "google.genai"},
	},
	"namespace that is loaded": {
		files:  map[string]string{"env/google/protobuf/__init__.py": ""},
		before: "import google.protobuf", code: "import google.protobuf, google.genai", needed: []string{"google.genai"},
	},

	"nothing of the chat is called": {
		files: map[string]string{"env/google/protobuf/__init__.py": ""},
		before: `
import sys, types, google
class Finder:
    def find_spec(self, *arguments): events.append(arguments)
    def invalidate_caches(self): events.append("invalidate")
sys.meta_path.insert(0, Finder())
sys.path_hooks.insert(0, lambda path: events.append(path))
sys.path_importer_cache.clear()
class Text(str):
    def __getattribute__(self, name): events.append(name); return str.__getattribute__(self, name)
    def startswith(self, *arguments): events.append("startswith"); return True
class Entry:
    def __fspath__(self): events.append("fspath"); return "/"
sys.path += [Text("/x"), Entry(), 5, b"/y", "\ud800", "nul\0"]
class Meta(type):
    def __getattribute__(self, name): events.append(name); return type.__getattribute__(self, name)
    def __instancecheck__(self, other): events.append("instance"); return True
class Value(metaclass=Meta):
    @property
    def __class__(self): events.append("class"); return type
value = Value()
class Module(types.ModuleType):
    def __getattribute__(self, name): events.append(name); return types.ModuleType.__getattribute__(self, name)
sys.modules["watched"] = Module("watched")
class Path(list):
    def __iter__(self): events.append("iter"); return list.__iter__(self)
google.__path__ = Path(["/tmp"])
`,
		code: "import Value, value, watched.sub, google.genai, absent", needed: []string{"value", "google.genai", "absent"},
	},
	"builtins that the chat has broken": {
		before: "import builtins, sys\nfor name in ('isinstance', 'any', 'all', 'len', 'type', 'map', 'vars', 'issubclass', 'enumerate'): setattr(builtins, name, None)\nsys.path = None\nsys.stdlib_module_names = ()",
		code:   "import absent, os", needed: []string{"absent"},
	},
	"names in other scripts": {
		code:   "import ｎｕｍｐｙ, pаndas, größe\n__import__('\\ud800')\n__import__('a\\0b')\n__import__('../x')",
		needed: []string{"numpy", "pаndas", "größe"},
	},
	"long names": {
		code:   "import a.b.c.d.e.f.g.h, " + strings.Repeat("x", 300) + "\n__import__('" + strings.Repeat("y.", 20_000) + "y')",
		needed: []string{"a.b.c.d.e", "y.y.y.y.y"},
	},
}

func TestNeeds(t *testing.T) {
	for name, test := range needsCases {
		t.Run(name, func(t *testing.T) {
			needed, optional := needs(t, test)
			if diff := cmp.Diff(test.needed, needed); diff != "" {
				t.Errorf("needed (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.optional, optional); diff != "" {
				t.Errorf("optional (-want +got):\n%s", diff)
			}
		})
	}
}

// TestNeedsAreBounded gives much code: what is reported has a bound, whatever the code's size.
func TestNeedsAreBounded(t *testing.T) {
	extent.Slow(t)
	const size = 1 << 20
	fill := func(line func(i int) string) string {
		var b strings.Builder
		for i := 0; b.Len() < size; i++ {
			b.WriteString(line(i))
		}
		return b.String()
	}
	number := func(i int) string {
		return strings.Repeat("x", 1+i%20) + "_" + strings.Repeat("y", 1+i/20%40) + strings.Repeat("z", i/800)
	}
	nested := "import n1\n"
	for depth := range 90 {
		nested += strings.Repeat(" ", depth) + "try:\n"
		if depth%15 == 0 { // no more blocks than this may be nested in one function
			nested = strings.TrimSuffix(nested, "try:\n") + "def f():\n"
		}
	}
	nested += strings.Repeat(" ", 90) + "import n2\n"
	for depth := 89; depth >= 0; depth-- {
		if depth%15 != 0 {
			nested += strings.Repeat(" ", depth) + "except ImportError:\n" + strings.Repeat(" ", depth+1) + "import n3\n"
		}
	}
	for name, test := range map[string]struct {
		code  string
		count int // of needed and optional modules
	}{
		"different modules": {fill(func(i int) string { return "import " + number(i) + "\n" }), 500},
		"one module":        {fill(func(int) string { return "import x\n" }), 1},
		"parts of one":      {"from x import a" + fill(func(i int) string { return "," + number(i) }), 32},
		"calls":             {"import x\n" + fill(func(i int) string { return "__import__('" + number(i) + "')\n" }), 500},
		"one try":           {"try:\n" + fill(func(i int) string { return " import " + number(i) + "\n" }) + "except ImportError: import x", 500},
		"nested":            {nested, 3},
	} {
		t.Run(name, func(t *testing.T) {
			needed, optional := needs(t, needsCase{code: test.code})
			if got := len(needed) + len(optional); got != test.count {
				t.Errorf("%d modules are reported, want %d", got, test.count)
			}
		})
	}
}

// needs runs the program for a case and returns what it reports.
func needs(t *testing.T, test needsCase) (needed, optional []string) {
	t.Helper()
	work, packages := t.TempDir(), t.TempDir()
	for name, text := range test.files {
		path := filepath.Join(work, name)
		if below, ok := strings.CutPrefix(name, "env/"); ok {
			path = filepath.Join(packages, below)
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	input, err := json.Marshal(map[string]string{"before": test.before, "code": test.code})
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	program := command(t, needsProgram, packages, work)
	program.Dir, program.Stdin, program.Stderr = work, bytes.NewReader(input), &stderr
	output, err := program.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	var reported [3][]any
	if err := json.Unmarshal(output, &reported); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	if len(reported[2]) > 0 {
		t.Errorf("code of the chat was called: %v", reported[2])
	}
	return texts(reported[0]), texts(reported[1])
}

func texts(values []any) []string {
	var all []string
	for _, value := range values {
		text, _ := value.(string)
		all = append(all, text)
	}
	return all
}
