package guest_test

import "strings"

var stateCases = map[string][]step{
	"CHT-15 variables": {{code: "import math; r = 2"}, {code: "math.pi * r ** 2", value: "12.566370614359172"}},
	"ISO-04 introspection": {{
		code:  "import subprocess\n[k.__name__ for k in ().__class__.__base__.__subclasses__() if k.__name__ == 'Popen']",
		value: "['Popen']",
	}},
	"ISO-07 patched builtins": {
		{code: "import builtins, json, sys, os\nbuiltins.print = None\njson.dumps = None\nsys.stdout = None\nos.write = None"},
		{code: "1 + 1", value: "2"},
		{code: "for n in dir(builtins):\n    if n not in {'BaseException', '__import__', '__build_class__', 'setattr'} and n[0].islower(): builtins.__dict__[n] = None"},
		{code: "1 + 1", value: "2"},
		{code: "1/0", exception: "ZeroDivisionError", traceback: []string{"<run 5>", "    1/0", "ZeroDivisionError: division by zero"}},
		{code: "[1, {2: (3,)}]", value: "[1, {2: (3,)}]"},
	},
	"ISO-07 modules gone": {
		{code: "import sys\nsys.modules.clear()\nsys.meta_path.clear()\nsys.path.clear()\nsys.path_hooks.clear()"},
		{code: "1 + 1", value: "2"},
		{code: "1/0", exception: "ZeroDivisionError", traceback: []string{"    1/0"}},
	},
	"main module": {
		{code: "import sys, __main__\n__main__.__dict__ is globals(), sys.modules['__main__'] is __main__, sys.argv, sys.path[0], '__file__' in globals()", value: "(True, True, [''], '', False)"},
		{code: "globals().clear()"},
		{code: "__name__", value: "'__main__'"},
		{code: "import sys; sys.modules['__main__'] = None"},
		{code: "import __main__; __main__.__name__", value: "'__main__'"},
	},
	"tracebacks beside busy threads": { // their import would wait for each of the threads, at each of its reads
		{code: "import sys\n'traceback' in sys.modules", value: "False"},
		{code: "'traceback' in sys.modules  # a thread may be started here", value: "True"},
	},
	"streams replaced": {
		{code: "import sys, io\nsys.stdout = io.StringIO(); print('swallowed')"},
		{code: "print('back')", stdout: "back\n"},
		{code: "sys.stdout = io.TextIOWrapper(sys.stdout.buffer, encoding='utf-8'); print('ü')", stdout: "ü\n"},
		{code: "print('back')", stdout: "back\n"},
		{code: "sys.stdout.close(); sys.stderr.close()"},
		{code: "print('back')", stdout: "back\n"},
		{code: "sys.stdout.detach();"},
		{code: "print('back'); print('err', file=sys.stderr)", stdout: "back\n", stderr: []string{"err\n"}},
	},
	"descriptors closed": {
		{code: "import os\nos.close(1)"},
		{code: "print('back')", stdout: "back\n"},
		{code: "os.dup2(os.open('/dev/null', os.O_WRONLY), 1); print('lost')"},
		{code: "print('back')", stdout: "back\n"},
	},
	"working directory": {
		{code: "import os\nhome = os.getcwd()\nos.mkdir('sub')\nos.chdir('sub')"},
		{code: "os.path.basename(os.getcwd())", value: "'sub'"},
		{code: "os.rmdir('../sub')"},
		{code: "os.getcwd() == home", value: "True"},
	},
	"trace functions": {
		{code: "import sys\nsys.setprofile(lambda *a: None)\nsys.settrace(lambda *a: None)"},
		{code: "sys.gettrace(), sys.getprofile()", value: "(None, None)"},
	},
	"warnings are shown once a run": {
		{code: "import warnings\nfor _ in range(3): warnings.warn('look')", stderr: []string{"<run 1>:2: UserWarning: look\n  for _ in range(3): warnings.warn('look')\n"}},
		{code: "import warnings\nfor _ in range(3): warnings.warn('look')", stderr: []string{"<run 2>:2: UserWarning: look\n"}},
		{code: "x = '\\d'", stderr: []string{"<run 3>:1: SyntaxWarning"}},
	},
	"TZL-03 time zone": {{
		code:   "from zoneinfo import ZoneInfo\nfrom datetime import datetime\nprint(ZoneInfo('UTC').utcoffset(datetime(2024, 3, 12)), datetime.now().astimezone().utcoffset())",
		stdout: "0:00:00 0:00:00\n",
	}},
	"what a notebook does": {
		{code: "from math import *\nfrom dataclasses import dataclass\nx: int = 5\nclass A: pass\na = A()"},
		{code: "class A:\n    def __repr__(self): return 'new A'\nisinstance(a, A), A()", value: "(False, new A)"},
		{code: "def counter():\n    n = 0\n    def step():\n        nonlocal n\n        n += 1\n        return n\n    return step\nc = counter(); c(); c()", value: "2"},
		{code: "def setx():\n    global x\n    x = sqrt(16)\nsetx(); x", value: "4.0"},
		{code: "del x\nx", exception: "NameError"},
		{code: "match [1, 2]:\n    case [a, b]: print(a + b)", stdout: "3\n"},
		{code: "exec('y = 1'); eval('y + 1')", value: "2"},
		{code: "def gen(): yield from range(3)\nlist(gen())", value: "[0, 1, 2]"},
		{code: "def twice(f): return lambda *a: f(*a) * 2\n@twice\ndef one(): return 1\none()", value: "2"},
		{code: "if True:\n    5"},
		{code: "type Pair[T] = tuple[T, T]\nPair.__value__", value: "tuple[T, T]"},
		{code: "# only a comment"},
		{code: ""},
		{code: "lambda: 1\n'doc'", value: "'doc'"},
	},
}

var threadCases = map[string][]step{
	"THR-01 output of an earlier run's thread": {
		{code: "import threading\ngo, gone = threading.Event(), threading.Event()\ndef work():\n    go.wait()\n    print('bg')\n    gone.set()\nthreading.Thread(target=work, daemon=True).start()\n'call 1 done'", value: "'call 1 done'"},
		{code: "go.set(); gone.wait()\nprint('only mine')", stdout: "only mine\n", late: "bg\n"},
		{code: "t = threading.Thread(target=print, args=('of this run',)); t.start(); t.join()", stdout: "of this run\n"},
	},
	"THR-02 thread that does not end": {{code: "import threading, time\nthreading.Thread(target=time.sleep, args=(3600,)).start()\n'done'", value: "'done'"}},
	"THR exception in a thread":       {{code: "import threading\ndef boom(): 1/0\nt = threading.Thread(target=boom); t.start(); t.join()", stderr: []string{"in boom", "ZeroDivisionError"}}},
	"THR-03 multiprocessing": {
		{code: "import multiprocessing as mp\ndef sq(x):\n    return x * x\nif __name__ == '__main__':\n    with mp.Pool(2) as p:\n        print(p.map(sq, [1, 2, 3]))", stdout: "[1, 4, 9]\n"},
		{code: "from concurrent.futures import ProcessPoolExecutor\nwith ProcessPoolExecutor(2) as e: print(list(e.map(sq, [4, 5])))", stdout: "[16, 25]\n"},
		{code: "pool = mp.Pool(2); pool.map(sq, [6])", value: "[36]", notes: []string{"pool of processes that was open"}},
		{code: "pool.map(sq, [7])", exception: "ValueError", traceback: []string{"Pool not running"}},
	},
	"THR-04 spawn":      {{code: "import multiprocessing as mp\ndef sq(x):\n    return x * x\nwith mp.get_context('spawn').Pool(2) as p:\n    print(p.map_async(sq, [1, 2]).get(timeout=60))", stdout: "[1, 4]\n", notes: []string{"by fork"}}},
	"THR-05 forkserver": {{code: "import multiprocessing as mp\nctx = mp.get_context('forkserver')\np = ctx.Process(target=print, args=('child',))\np.start(); p.join(60)\nprint(p.exitcode)", stdout: "child\n0\n", notes: []string{"by fork"}}},
	"THR shared memory over runs": {
		{code: "from multiprocessing import shared_memory\nm = shared_memory.SharedMemory(create=True, size=10); m.buf[0] = 7"},
		{code: "m.buf[0]", value: "7"},
		{code: "m.close(); m.unlink()"},
	},
	"THR-07 signal handlers": {
		{code: "import signal, time\nold = signal.signal(signal.SIGALRM, lambda *a: print('alarm'))\nsignal.setitimer(signal.ITIMER_REAL, 0.05)\nsignal.pause()", stdout: "alarm\n"},
		{code: "signal.getsignal(signal.SIGALRM) is old, signal.getitimer(signal.ITIMER_REAL)", value: "(True, (0.0, 0.0))"},
		{code: "signal.signal(signal.SIGINT, signal.SIG_IGN);"},
		{code: "print('on')\nwhile True: pass", signalAt: "on", stdout: "on\n", exception: "KeyboardInterrupt"},
	},
	"THR alarms that outlive the run": {
		{code: "import signal\ndef h(*a): raise TimeoutError('alarm')\nsignal.signal(signal.SIGALRM, h)\nsignal.alarm(1)\n'quick'", value: "'quick'"},
		{code: "import time\ntime.sleep(1.2)\n'not struck'", value: "'not struck'"},
	},
	"fork": {
		{code: "import os\nprint('once ', end='')\nif os.fork() == 0:\n    print('child')\nelse:\n    os.wait()\n    print('parent')", stdout: "once child\nparent\n"},
		{code: "if os.fork() == 0: 1/0\nos.waitstatus_to_exitcode(os.wait()[1])", value: "1", stderr: []string{"    if os.fork() == 0: 1/0\n", "ZeroDivisionError"}},
		{code: "if os.fork() == 0: exit(7)\nos.waitstatus_to_exitcode(os.wait()[1])", value: "7"},
	},
	"processes left over": {
		{code: "import subprocess\np = subprocess.Popen(['sleep', '999']);", notes: []string{"1 process that had not ended was stopped"}},
		{code: "p.wait(60)", value: "-9"},
	},
	"MEM-08 zombies": {
		{code: "import os, time\nfor _ in range(40):\n    if os.fork() == 0: os._exit(0)\ntime.sleep(0.2)"},
		{code: "1", value: "1"},
		{code: "len(open(f'/proc/self/task/{os.getpid()}/children').read().split()) <= 16", value: "True"},
	},
}

var sourceCases = map[string][]step{
	"syntax error":         {{code: "x = 1\n1 +", exception: "SyntaxError", traceback: []string{"  File \"<run 1>\", line 2\n    1 +\n       ^\nSyntaxError: invalid syntax"}}},
	"late syntax error":    {{code: "x = 1\nreturn x", exception: "SyntaxError", traceback: []string{"line 2\n    return x\n    ^^^^^^^^\n"}}},
	"null byte":            {{code: "x = 1\x00", exception: "SyntaxError", traceback: []string{"null bytes"}}},
	"nested parentheses":   {{code: strings.Repeat("(", 300), exception: "SyntaxError", traceback: []string{"too many nested parentheses"}}},
	"nested blocks":        {{code: nestedBlocks(120), exception: "IndentationError"}},
	"long expression":      {{code: strings.Repeat("1+", 20000) + "1", value: "20001"}},
	"long line":            {{code: "x = '" + strings.Repeat("y", 1<<20) + "'\nlen(x)", value: "1048576"}},
	"a megabyte of lines":  {{code: strings.Repeat("x = 1234567\n", 80_000) + "x", value: "1234567"}},
	"byte order mark":      {{code: "\ufeffx = 1\r\nx\r\n", value: "1"}},
	"tabs and spaces":      {{code: "if 1:\n\tx = 1\n        y = 2", exception: "TabError"}},
	"future features stay": {{code: "from __future__ import annotations"}, {code: "def f(x: Missing): ...\nf.__annotations__", value: "{'x': 'Missing'}"}},
	"tracebacks": {
		{code: "def f():\n    return 1/0\nf()", exception: "ZeroDivisionError", traceback: []string{
			"Traceback (most recent call last):\n  File \"<run 1>\", line 3, in <module>\n    f()\n    ~^^\n  File \"<run 1>\", line 2, in f\n    return 1/0\n           ~^~\nZeroDivisionError: division by zero",
		}},
		{code: "f()", exception: "ZeroDivisionError", traceback: []string{"  File \"<run 1>\", line 2, in f\n    return 1/0\n"}},
		{code: "try:\n    f()\nexcept Exception as e:\n    raise KeyError('k') from e", exception: "KeyError", traceback: []string{"direct cause"}},
		{code: "raise ExceptionGroup('two', [ValueError(1), TypeError('x')])", exception: "ExceptionGroup", traceback: []string{"| ValueError: 1"}},
		{code: "e = ValueError('a'); e.add_note('a note'); raise e", exception: "ValueError", traceback: []string{"a note"}},
		{code: "import json; json.loads('{')", exception: "json.decoder.JSONDecodeError", traceback: []string{"line 1 column 2"}},
		{code: "import math; math.sqr(2)", exception: "AttributeError", traceback: []string{"Did you mean: 'sqrt'?"}},
		{code: "class E(Exception):\n    def __str__(self): 1/0\nraise E", exception: "E", traceback: []string{"<exception str() failed>"}},
		{code: "raise ValueError('x' * 10**6)", exception: "ValueError", traceback: []string{"bytes left out …"}},
		{code: "e = None\nfor i in range(3000):\n    try: raise ValueError(i) from e\n    except ValueError as x: e = x\nraise e", exception: "ValueError", traceback: []string{"ValueError: 2999"}},
	},
}

func nestedBlocks(depth int) string {
	var b strings.Builder
	for i := range depth {
		b.WriteString(strings.Repeat(" ", i) + "if 1:\n")
	}
	return b.String() + strings.Repeat(" ", depth) + "pass"
}
