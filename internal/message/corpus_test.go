package message_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"runpython/internal/extent"
	"runpython/internal/message"
)

// TestSyntaxIsKept has valid statements of Python 3.14 that do something, each
// of which must be a candidate as it is.
func TestSyntaxIsKept(t *testing.T) {
	for _, code := range []string{
		"import a.b as c, d", "from . import a", "from .. import a", "from ... import a", "from ...a.b import (c, d as e,)",
		"from .a import *", "from __future__ import annotations; import os",
		"x = y = 1", "x, *y = z", "*x, = y", "(x, y), z = a", "x[1:2, ::3, ...] = 4", "x.y[0].z += 1", "x: int = 1", "self.x: list[int] = []",
		"x @= y", "x //= 2; y **= 3", "x <<= 1", "x >>= 1", "x = yield_ = 1", "x = -y ** -z", "x = not y", "x = a if b else c",
		"x = a not in b", "x = a is not b", "x = a and not b or c", "x = (y := 2)", "print(y := 2, end='')", "x = [*a, *b]", "x = {**a, 'b': 1}",
		"x = {*a}", "x = (a for b in c if d)", "x = [a async for b in c]", "x = {k: v for k, v in z}", "x = lambda: 0", "x = lambda *a, b=1, **c: (yield)",
		"f(*a, **b)", "f(x for x in y)", "f(a)(b)[c].d", "f(a, b=c, *d, **e)", "f(x)[0](y)", "print(*x, sep='\\n')", "await f()",
		"x = await f() + await g()", "1if x else 2", "x = 0x1for 2", "x = 1_000.5e-3j", "x = .5 + 5. + 1e5", "1..real", "1 .real", "x = 0o17 | 0b11 ^ 0xFF",
		"'a' 'b' \"c\" f'd'", "x = b'a' rb'\\d' Rb'c'", "x = u'a'", "x = r'\\'' + R\"\\\"\"", "x = '''a'b''c\\'''''' ''", "x = 'a\\\nb'",
		"x = f'{a}'", "f'{a!r:>{b}}'", "f'{a=}'", "f'{a[\"b\"]}'", "f'{a['b']}'", "f'{f'{f'{1}'}'}'", "f'{{}}{a}{{'", "f'{a:{b}{c}}'", "f'{a:%H:%M}'",
		"f'{lambda_}{(lambda x: x)(1)}'", "f'{a != b}'", "f'{ {1: 2}[1] }'", "f'{a,}'", "f'''{\na # c\n}'''", "f'''{a:\n}'''", "f'{\na}'", "fr'\\{a}\\d'", "f'\\N{BULLET}{a}'", "f'\\{a}'",
		"t'{a}'", "t'{a!s:x}'", "rt'\\d{a}'", "T'''{a}\n{b}'''", "f'{a:\"}'", "f\"{a:'}\"",
		"match x:\n    case 1 | 2 if y: pass\n    case [a, *_] | (a, _): pass\n    case {'k': v, **rest}: pass\n    case A(b=1): pass\n    case None | -1 | 'x': pass\n    case _: pass",
		"match (x):\n    case _: f()", "match [x]:\n    case _: f()", "match x, y:\n    case _, _: f()", "match *a, b:\n    case _: f()", "match -x:\n    case -1: f()",
		"match not x:\n    case True: f()", "match 'a':\n    case 'a': f()", "match {}:\n    case {}: f()", "match lambda: 0:\n    case _: f()",
		"match = case = type = _ = 1", "match(x)", "match[x]", "case(x)", "type(x)", "type[x]", "type.x", "match, case = x", "match * x", "match -x", "print(match, type)",
		"type X = int", "type X[T: (int, str), *Ts, **P] = list[T]", "if x: type Y = int", "x = 1; type Y = int", "type type = type",
		"def f(a, /, b: int = 1, *args, c, **kw) -> int: ...", "def f(a, *, b): pass", "def f(*, a=1): return", "def f[T](x: T) -> T: return x",
		"class A: pass", "class A(B, metaclass=C):\n    x: int\n    def f(self): ...", "class A[T](B): x = 1", "async def f():\n    async with a as b, c: pass\n    async for d in e: pass\n    else: pass",
		"@a.b(c)\n@d\ndef f(): yield", "@(yield_)\nclass A: ...", "if a:\n\tf()\nelif b: g()\nelse:\n  h()", "while x: break", "while True:\n    continue\nelse: pass",
		"for x, in y: pass", "for x in *a, *b: f()", "for x[0] in y: pass", "for (a, b) in c: d", "with a as (b, c), d: pass", "with (a as b, c as d,): pass", "with (yield_): pass",
		"try: f()\nexcept A: pass\nexcept (B, C) as e: raise D from e\nexcept: raise\nelse: pass\nfinally: pass", "try: f()\nexcept* A as e: pass", "try: f()\nexcept A, B: pass",
		"del x, y[0], (z)", "assert x, 'y'", "assert (x, y)", "raise", "raise A(b) from None", "global x, y", "def f():\n    nonlocal_ = 1\n    return *a, b", "lambda: (yield)", "return_ = 1",
		"def f():\n    x = yield\n    yield from g()\n    yield x, 1\n    await_ = yield 1", "pass", "...; f()", "f(...)", "f(a,\n  b)  # c\n", "x = (1 +\n2)", "x = 1 + \\\n    2", "if x and \\\n   y:\n    f()",
		"x = [\n    1,\n  # c\n\n    2,\n]", "def f():\n    '''doc\n  it's\n'''\n    return 1", "\n\n# c\nf()", "f();", "f();g()", "x = 1;", "\ff()", "if x:\n  # c\n\n  f()\n# d\nf()", "é = ñ + 变量", "x·y = 1", "ªº = 1",
		"print >>f, x", "x = a<b>c", "x = a<-b", "x = ~-+a", "x = ~~a", "x = not not a", "not x in y", "x[a:=1]", "x[*a]", "x[a, *b]", "x = *a, b", "def f():\n    print((yield))", "def f():\n    x = (\n    yield)",
		"s = '''\n```\n'''", "s = 1 # ```", "# pip install x\nf()", "x = '!ls'", "x = 7 % 3",
	} {
		m := message.Read(code)
		if len(m.Candidates) == 0 || m.Candidates[0].Code != code {
			t.Errorf("Read(%q) gives %q", code, codes(m))
		}
	}
}

// TestStandardLibraryIsKept reads the modules of a standard library, each of which
// must be code whose first candidate is the module as it is.
func TestStandardLibraryIsKept(t *testing.T) {
	extent.Slow(t)
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("needs python3 for a corpus: ", err)
	}
	out, err := exec.CommandContext(t.Context(), python, "-c", "import sysconfig; print(sysconfig.get_path('stdlib'))").Output()
	if err != nil {
		t.Skip("needs the place of python3's standard library: ", err)
	}
	root := strings.TrimSpace(string(out))
	files := 0
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "test" || d.Name() == "tests" || d.Name() == "site-packages" || d.Name() == "dist-packages" || d.Name() == "lib2to3"):
			return fs.SkipDir // some of these are not meant to compile
		case filepath.Ext(path) != ".py":
			return nil
		}
		source, err := os.ReadFile(path)
		if err != nil || !utf8.Valid(source) {
			return err
		}
		files++
		checkModule(t, path, string(source))
		return nil
	})
	if err != nil {
		t.Fatalf("walk the standard library: %v", err)
	}
	if files == 0 {
		t.Skip("needs the sources of the standard library, found none in " + root)
	}
}

func checkModule(t *testing.T, path, source string) {
	t.Helper()
	source = strings.ReplaceAll(strings.TrimPrefix(source, "\ufeff"), "\r\n", "\n")
	m := message.Read(source)
	if len(m.Candidates) == 0 {
		if hasStatement(source) {
			t.Errorf("%s: no candidate", path)
		}
		return
	}
	if m.Kind != message.Code || m.Candidates[0].Code != source {
		t.Errorf("%s: kind %v, or the first candidate is another text", path, m.Kind)
	}
}

// hasStatement reports whether a module has a line that surely is a statement;
// some have a docstring only.
func hasStatement(source string) bool {
	for line := range strings.Lines(source) {
		if strings.HasPrefix(line, "import ") || strings.HasPrefix(line, "def ") || strings.HasPrefix(line, "class ") {
			return true
		}
	}
	return false
}
