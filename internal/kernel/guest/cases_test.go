package guest_test

import (
	"strings"
	"syscall"
)

// The names begin with the id of the reported failure that the case is, or end in what it is about.

var valueCases = map[string][]step{
	"VAL-02 main guard":    {{code: "def main():\n    print('ran')\nif __name__ == '__main__':\n    main()", stdout: "ran\n"}},
	"VAL-03 semicolon":     {{code: "x = 5\nx;"}, {code: "x", value: "5"}, {code: "x # ;", value: "5"}, {code: "'é;' ; # no"}, {code: "(x,\nx) \\\n;"}},
	"VAL-07 order on fd 1": {{code: "import os, subprocess\nprint('a', flush=True)\nos.write(1, b'b\\n')\nsubprocess.run(['echo', 'c']);", stdout: "a\nb\nc\n"}},
	"VAL-08 long integer": {
		{code: "2 ** 20000", value: "398027684033796659235430720619…(6,021 digits in all)…869570675234892321663406309376"},
		{code: "[-10**5000]", value: "[-100000000000000000000000000000…(5,001 digits in all)…000000000000000000000000000000]"},
		{code: "1 << (1 << 24)", value: "<int of about 5,050,446 digits>"},
		{code: "2 ** 100", value: "1267650600228229401496703205376"},
	},
	"VAL-09 endless repr": {
		{
			code:     "class R:\n    def __repr__(self):\n        print('in repr')\n        while True:\n            pass\nx = 1\nR()",
			signalAt: "in repr", stdout: "in repr\n", exception: "KeyboardInterrupt", traceback: []string{"in __repr__"},
		},
		{code: "x", value: "1"},
	},
	"VAL-09 broken repr": {
		{code: "class R:\n    def __repr__(self): raise ValueError('bad')\nR()", value: "<R object; its __repr__ raised ValueError: bad>"},
		{code: "{'k': R()}", value: "{'k': <R object; its __repr__ raised ValueError: bad>}"},
		{code: "class R:\n    def __repr__(self): return 5\nR()", value: "<R object; its __repr__ raised TypeError: __repr__ returned non-string (type int)>"},
		{code: "class R:\n    def __repr__(self): raise SystemExit(3)\nR()", value: "<R object; its __repr__ raised SystemExit: 3>"},
		{code: "class R:\n    def __repr__(self): return 'x' * 10**15\nR()", value: "<R object; its __repr__ raised MemoryError>"},
		{code: "class R:\n    def __repr__(self): return repr(self)\nR()", value: "<R object; its __repr__ raised RecursionError: maximum recursion depth exceeded>"},
		{code: "class R:\n    def __repr__(self): return type('S', (str,), {'encode': None, '__str__': None})('fine')\nR()", value: "fine"},
		{code: "class R:\n    def __getattr__(self, name): 1/0\n    def __repr__(self): return 'R'\nR()", value: "R"},
		{code: "class R:\n    __class__ = property(lambda self: 1/0)\n    def __repr__(self): return 'R'\nR()", value: "R"},
	},
	"VAL-11 real main": {{
		code: "from __future__ import annotations\nimport dataclasses, pickle, inspect\n@dataclasses.dataclass\nclass P:\n    x: int = 1\ndef f():\n    return 1\n" +
			"print(pickle.loads(pickle.dumps(P())).x, 'return 1' in inspect.getsource(f))", stdout: "1 True\n",
	}, {code: "inspect.getsource(f)", value: `'def f():\n    return 1\n'`}},
	"containers": {
		{code: "[1, 'a', (2,), {3: {4}}, frozenset(), set(), b'x', None, ...]", value: "[1, 'a', (2,), {3: {4}}, frozenset(), set(), b'x', None, Ellipsis]"},
		{code: "a = []; a.append(a); a", value: "[[...]]"},
		{code: "print(repr(list(range(1000)))[:-1] == '' or 1); x = list(range(2000)); x[:3] + [x][:0]", stdout: "1\n", value: "[0, 1, 2]"},
		{code: "None"},
		{code: "x = []\nfor _ in range(5000): x = [x]\nx", value: strings.Repeat("[", 50) + "[...]" + strings.Repeat("]", 50)},
	},
	"last value in _": {{code: "40 + 1", value: "41"}, {code: "_ + 1", value: "42"}, {code: "_ = 5"}, {code: "1", value: "1"}, {code: "_", value: "5"}},
	"TXT-02 characters": {
		{code: "print(len('🍸'), '🍸')", stdout: "1 🍸\n"},
		{code: "print('\\ud800')", stdout: "\\ud800\n"},
		{code: "'\\udcff'", value: `'\udcff'`},
		{code: "raise ValueError('\\ud800')", exception: "ValueError", traceback: []string{`ValueError: \ud800`}},
		{code: "größe = 'ä'; größe", value: "'ä'"},
	},
	"OUT-10 control characters": {{code: "print('\\x1b]0;owned\\x07\\u202eabc')", stdout: "\x1b]0;owned\x07\u202eabc\n"}},
	"display": {
		{code: "display([1, 2], 'a')", stdout: "[1, 2]\n'a'\n"},
		{code: "class P:\n    def _repr_png_(self): return b'no picture'\nP.__repr__ = lambda self: 'P'\nP()", value: "P", notes: []string{"neither PNG nor JPEG"}},
		{code: "class P:\n    def _repr_png_(self): 1/0\n    def __repr__(self): return 'P'\nP()", value: "P", notes: []string{"ZeroDivisionError"}},
	},
}

var awaitCases = map[string][]step{
	"ASY-01 asyncio.run": {{code: "import asyncio\nasync def f():\n    return 'hi'\nprint(asyncio.run(f()))", stdout: "hi\n"}},
	"ASY-02 top-level await": {
		{code: "import asyncio\nawait asyncio.sleep(0)\n'ok'", value: "'ok'"},
		{code: "async def f():\n    return 'hi'\nprint(asyncio.run(f()))", stdout: "hi\n"},
		{code: "await f()", value: "'hi'"},
		{code: "t = asyncio.create_task(f())\nawait t", value: "'hi'"},
		{code: "async def g():\n    yield 1\n    yield 2\n[x async for x in g()]", value: "[1, 2]"},
		{code: "async for x in g(): print(x)", stdout: "1\n2\n"},
		{code: "async with asyncio.timeout(5): y = 3\ny", value: "3"},
		{code: "await asyncio.gather(f(), f());"},
	},
	"ASY-03 asyncio.run in a library": {{code: "import asyncio\ndef lib():\n    async def g():\n        return 7\n    return asyncio.run(g())\nlib()", value: "7"}},
	"ASY-04 task left over": {
		{
			code:  "import asyncio\nasync def late():\n    await asyncio.sleep(2)\n    print('late')\nt = asyncio.create_task(late())\nawait asyncio.sleep(0)\n'started'",
			value: "'started'", notes: []string{"1 task had not ended with the run and was cancelled: Task-"},
		},
		{code: "t.cancelled()", value: "True"},
	},
	"interrupt while waiting": {
		{
			code: "import asyncio, os, signal\nasync def f():\n    asyncio.get_running_loop().call_later(0.1, os.kill, os.getpid(), signal.SIGINT)\n" +
				"    try:\n        await asyncio.sleep(100)\n    finally:\n        print('cleaned')\nawait f()",
			stdout: "cleaned\n", exception: "KeyboardInterrupt", traceback: []string{"await asyncio.sleep(100)"},
		},
		{code: "await asyncio.sleep(0, 'goes on')", value: "'goes on'"},
	},
	"errors and exits": {
		{code: "async def f(): return 1/0\nawait f()", exception: "ZeroDivisionError", traceback: []string{"Traceback (most recent call last):\n  File \"<run 1>\", line 2, in <module>"}},
		{code: "import sys\nasync def g(): sys.exit(4)\nawait g()", status: "exit", exit: 4},
		{code: "import asyncio\nasyncio.get_event_loop().close()"},
		{code: "await asyncio.sleep(0, 5)", value: "5"},
		{code: "await 5", exception: "TypeError"},
	},
}

var exitCases = map[string][]step{
	"EXT-03 /dev/stdin": {{code: "import sys\nprint(repr(open('/dev/stdin').read()), repr(sys.stdin.read()), list(sys.stdin))", stdout: "'' '' []\n"}},
	"EXT-04 sys.exit": {
		{code: "import sys\nx = 41\nsys.exit(0)", status: "exit"},
		{code: "print(x + 1)", stdout: "42\n"},
		{code: "sys.exit('went wrong')", status: "exit", exit: 1, exitText: "went wrong"},
		{code: "sys.exit(-1)", status: "exit", exit: 255},
		{code: "sys.exit(10**30)", status: "exit", exit: 0},
		{code: "exit()", status: "exit"},
		{code: "quit(2)", status: "exit", exit: 2},
		{code: "sys.stdin.read()", value: "''"},
	},
	"EXT-06 os._exit":    {{code: "import os\nos._exit(3)", status: "died"}},
	"EXT-07 crash":       {{code: "import ctypes\nprint('so far')\nctypes.string_at(0)", status: "died", stdout: "so far\n"}},
	"input":              {{code: "input('name? ')", exception: "EOFError", traceback: []string{"    input('name? ')", "assign the value in the code instead"}}},
	"getpass":            {{code: "import getpass\ngetpass.getpass()", exception: "EOFError", traceback: []string{"assign the value in the code instead"}}},
	"breakpoint":         {{code: "breakpoint()\n1", value: "1", stderr: []string{"breakpoint() is ignored here"}}},
	"interactive help":   {{code: "import io, contextlib\nwith contextlib.redirect_stdout(io.StringIO()): help()"}},
	"channel closed":     {{code: "import os\nos.closerange(3, 4096)", status: "died"}},
	"SystemExit subtype": {{code: "class Stop(SystemExit):\n    code = property(lambda self: 1/0)\nraise Stop", status: "exit", exit: 1}},
}

var limitCases = map[string][]step{
	"TIM-01 busy loop": {
		{code: "x = 7\nprint('on')\nwhile True:\n    pass", signalAt: "on", stdout: "on\n", exception: "KeyboardInterrupt", traceback: []string{"in <module>"}},
		{code: "x", value: "7"},
	},
	"TIM-04 output before the time limit": {{code: "import time, os, signal, threading\nthreading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()\n" +
		"print('step 1')\nprint('no newline', end='')\ntime.sleep(999)", stdout: "step 1\nno newline", exception: "KeyboardInterrupt"}},
	"TIM interrupt that is caught": {{
		code:     "import time\ntry:\n    print('on')\n    time.sleep(999)\nexcept KeyboardInterrupt:\n    print('caught')",
		signalAt: "on", stdout: "on\ncaught\n",
	}},
	"TIM interrupt of a subprocess": {{code: "import subprocess\np = subprocess.Popen(['sleep', '999'])\ntry:\n    print('on')\n    p.wait()\nfinally:\n    p.kill(); p.wait()", signalAt: "on", stdout: "on\n", exception: "KeyboardInterrupt"}},
	"TIM interrupt of a regular expression": {
		{code: "import re\nprint('on')\nre.match('(a+)+b', 'a' * 60)", signalAt: "on", stdout: "on\n", exception: "KeyboardInterrupt"},
	},
	"TIM interrupt of display and hooks": {{code: "print('on')\nwhile True: id(display)", signalAt: "on", stdout: "on\n", exception: "KeyboardInterrupt"}},
	"MEM limit signal": {
		{code: "big = [1]\nprint('on')\nwhile True: pass", signalAt: "on", signal: syscall.SIGXCPU, stdout: "on\n", exception: "MemoryError", traceback: []string{"the memory limit of 1 GiB was reached"}},
		{code: "big", value: "[1]"},
	},
	"MEM-01 impossible allocation": {{code: "bytearray(1 << 62)", exception: "MemoryError"}},
	"MEM-09 recursion": {
		{code: "def r(): r()\nr()", exception: "RecursionError", traceback: []string{"[Previous line repeated"}},
		{code: "import sys\nsys.setrecursionlimit(10**6)\ndef deep(n): return 0 if n == 0 else 1 + deep(n - 1)\ndeep(50_000)", value: "50000"},
		{code: "sys.setrecursionlimit(60)"},
		{code: "[[[1]]]", value: "[[[1]]]"},
	},
	"MEM-09 stack overflow is an error or the end of the process, not of the kernel's loop": {
		{code: "import sys\nsys.setrecursionlimit(10**7)\nclass A:\n    def __getattr__(self, k):\n        return getattr(self, k + 'x')\nA().q", exception: "RecursionError"},
		{code: "1", value: "1"},
	},
	"MEM-12 no descriptors left": {
		{code: "import os\nfds = []\ntry:\n    while True:\n        fds.append(os.open('/dev/null', os.O_RDONLY))\nexcept OSError as e:\n    print(e.errno)", stdout: "24\n"},
		{code: "1/0", exception: "ZeroDivisionError", traceback: []string{"  File \"<run 2>\", line 1, in <module>\n    1/0\n"}},
		{code: "for fd in fds: os.close(fd)"},
		{code: "1/0", exception: "ZeroDivisionError", traceback: []string{"    ~^~"}},
	},
	"signals outside of runs have no effect": {{code: "import os, signal, threading\nt = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)); t.start()"}, {code: "t.join()", exception: "KeyboardInterrupt"}},
	"late __del__":                           {{code: "class D:\n    def __del__(self): raise ValueError('gone')\nd = D()"}, {code: "del d", stderr: []string{"ValueError: gone"}}},
}
