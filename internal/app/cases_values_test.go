package app_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"runpython/internal/chat"
)

// valueCases are about what comes back of code that runs: values, output, errors,
// text of all kinds, times and locales.
func valueCases(t *testing.T, data string) {
	a := openAt(t, data, nil)
	play(t, a, resultScenarios)
	play(t, a, asyncScenarios)
	play(t, a, exitScenarios)
	play(t, a, encodingScenarios)
	play(t, a, localeScenarios)
}

var resultScenarios = []scenario{
	{"VAL-02", []step{
		{send: "def main():\n    print('ran')\nif __name__ == '__main__':\n    main()", stdout: "ran\n"},
		{send: "class App:\n    def run(self):\n        print('app', __name__, type(self).__module__)\nif __name__ == \"__main__\":\n    App().run()", stdout: "app __main__ __main__\n"},
		{send: "import sys\nprint(sys.modules['__main__'].App is App)\n__name__ = 'other'", stdout: "True\n"},
		{send: "if __name__ == '__main__': main()", stdout: "ran\n"},
	}},
	{"VAL-02 unittest", []step{{
		send:   "import unittest\nclass T(unittest.TestCase):\n    def test_it(self):\n        self.assertEqual(1, 1)\nif __name__ == '__main__':\n    unittest.main(argv=['x'], exit=False)",
		stderr: anything, check: func(r *chat.Reply) string {
			return unless(strings.Contains(r.Runs[0].Stderr, "Ran 1 test"), "stderr %q; want one test that passed", r.Runs[0].Stderr)
		},
	}}},
	{"VAL-03", []step{
		{send: "x = 5\nx;"},
		{send: "x + 0;  # hidden"},
		{send: "x + 0 # shown;", value: "5"},
		{send: "'a;' + ''", value: "'a;'"},
		{send: "print('p'); x", stdout: "p\n", value: "5"},
		{send: "```python\n[\n x,\n];\n```"},
	}},
	{"VAL-04", []step{
		{send: "%matplotlib inline\nprint('x')", stdout: "x\n", text: []string{"%matplotlib was ignored"}, never: []string{"SyntaxError"}},
		{send: "!pip install cowsay\n%matplotlib inline\nprint('x')", failure: []string{""}, text: []string{"Nothing was run", "--packages off", "%matplotlib was ignored"}, never: []string{"SyntaxError"}},
		{send: "%pip install -q 'numpy>=2' pandas[excel]\n1 + 1", failure: []string{""}, text: []string{"Nothing was run", "--packages off"}, never: []string{"SyntaxError"}},
		{send: "```python\n!pip install cowsay\n```", failure: []string{""}, text: []string{"Nothing was run", "--packages off"}, never: []string{"SyntaxError"}},
		{send: "!ls -la\nprint('x')", failure: []string{"    !ls -la", "line 1", "subprocess.run(\"ls -la\", shell=True)"}, never: []string{"raise SyntaxError"}},
		{send: "%%time\nprint('x')", stdout: "x\n", never: []string{"SyntaxError"}},
	}},
	{"VAL-07", []step{
		{send: "import os, subprocess\nprint('a', flush=True)\nos.write(1, b'b\\n')\nsubprocess.run(['echo', 'c']);", stdout: "a\nb\nc\n"},
		{send: "os.system('echo by the shell; echo to stderr >&2');", stdout: "by the shell\n", stderr: "to stderr\n"},
		{send: "import ctypes\nctypes.CDLL(None).puts(b'by C code');", stdout: "by C code\n"},
		{send: "import sys\nprint('err', file=sys.stderr)\nsys.__stdout__.write('raw\\n');", stdout: "raw\n", stderr: "err\n"},
		{send: "with open('/dev/stdout', 'w') as f: f.write('by path\\n');", stdout: "by path\n"},
		{send: "print('first')\nos.write(1, b'second\\n');\nprint('third', end='')", stdout: "first\nsecond\nthird"},
	}},
	{"VAL-08", []step{
		{send: "kept = 1\n2 ** 20000", value: "398027684033796659235430720619…(6,021 digits in all)…869570675234892321663406309376"},
		{send: "{'k': -10 ** 5000}", value: "{'k': -100000000000000000000000000000…(5,001 digits in all)…000000000000000000000000000000}"},
		{send: "str(2 ** 20000)", failure: []string{"ValueError", "set_int_max_str_digits"}},
		{send: "class B:\n    def __repr__(self): raise ValueError('no text')\n[B()]", value: "[<B object; its __repr__ raised ValueError: no text>]"},
		{send: "class S:\n    def __repr__(self): return 5\nS()", value: anything, text: []string{"<S object", "TypeError"}},
		{send: "class E:\n    def __repr__(self):\n        import sys; sys.exit(3)\nE()", value: anything, text: []string{"<E object", "SystemExit"}},
		{send: "print(kept)", stdout: "1\n"},
	}},
	{"VAL-09", []step{
		{send: "kept = 1\nclass R:\n    def __repr__(self):\n        while True:\n            pass"},
		{send: "R()", timeout: shortTime, failure: []string{"Stopped after 1 s", "variables are kept"}},
		{send: "[R()]", timeout: shortTime, failure: []string{"Stopped after 1 s"}},
		{send: "class H:\n    def __repr__(self): return 'x' * 10_000_000\nH()", value: anything, check: valueCut},
		{send: "print(kept)", stdout: "1\n"},
	}},
	{"VAL-11", []step{
		{
			send: "from __future__ import annotations\nimport dataclasses, pickle, inspect\n@dataclasses.dataclass\nclass P:\n    x: int = 1\ndef f():\n    return 1\n" +
				"print(pickle.loads(pickle.dumps(P())).x, 'return 1' in inspect.getsource(f))",
			stdout: "1 True\n",
		},
		{send: "inspect.getsource(f)", value: `'def f():\n    return 1\n'`},
		{send: "import copy, typing\nprint(copy.deepcopy(P(3)), typing.get_type_hints(P), pickle.loads(pickle.dumps(f)) is f)", stdout: "P(x=3) {'x': <class 'int'>} True\n"},
		{send: "def g():\n    return f() / 0\ng()", failure: []string{"ZeroDivisionError", "return f() / 0", "line 3, in <module>\n    g()"}},
	}},
}

var asyncScenarios = []scenario{
	{"ASY-01", []step{
		{send: "import asyncio\nasync def f():\n    return 'hi'\nprint(asyncio.run(f()))", stdout: "hi\n"},
		{send: "with asyncio.Runner() as r: print(r.run(f()), r.run(f()))", stdout: "hi hi\n"},
		{send: "loop = asyncio.new_event_loop()\nprint(loop.run_until_complete(f()))\nloop.close()", stdout: "hi\n"},
		{send: "print(asyncio.run(f()))", stdout: "hi\n"},
	}},
	{"ASY-02", []step{
		{send: "import asyncio\nawait asyncio.sleep(0)\n'ok'", value: "'ok'"},
		{send: "async def f():\n    return 'hi'\nprint(asyncio.run(f()))", stdout: "hi\n"},
		{send: "await f()", value: "'hi'"},
		{send: "for x in [await f() for _ in range(2)]: print(x)\nasync with asyncio.timeout(5): y = await asyncio.gather(f(), f())\ny", stdout: "hi\nhi\n", value: "['hi', 'hi']"},
		{send: "q = asyncio.Queue()\nawait q.put(1)"},
		{send: "await q.get()", value: "1"},
	}},
	{"ASY-03", []step{
		{send: "import asyncio\ndef lib():\n    async def g():\n        return 7\n    return asyncio.run(g())\nlib()", value: "7"},
		{send: "await asyncio.to_thread(lib)", value: "7"},
	}},
	{"ASY-04", []step{
		{
			send:  "import asyncio\nasync def late():\n    await asyncio.sleep(0.2)\n    print('late')\nt = asyncio.create_task(late())\nawait asyncio.sleep(0)\n'started'",
			value: "'started'", text: []string{"Note: ", "cancelled"},
		},
		{send: "import time; time.sleep(0.4); print('only mine')", stdout: "only mine\n", never: []string{"late"}},
		{send: "await asyncio.sleep(0.3); print('mine')", stdout: "mine\n", never: []string{"late"}},
	}},
	{"ASY-04 a task that does not let itself be cancelled", []step{
		{
			send:    "import asyncio\nasync def stubborn():\n    while True:\n        try:\n            await asyncio.sleep(0.1)\n        except asyncio.CancelledError:\n            pass\nt = asyncio.create_task(stubborn())\nawait asyncio.sleep(0)\n'started'",
			timeout: 2 * shortTime, value: "'started'", text: []string{"Note: "},
		},
		{send: "print('mine')", stdout: "mine\n"},
	}},
}

var exitScenarios = []scenario{
	{"EXT-03", []step{
		{send: "print(repr(open('/dev/stdin').read()))", stdout: "''\n"},
		{send: "import sys\nprint(repr(sys.stdin.read()), repr(sys.stdin.readline()), list(sys.stdin))", stdout: "'' '' []\n"},
		{send: "print(repr(open('/dev/fd/0').read()), repr(open('/proc/self/fd/0').read()))", stdout: "'' ''\n"},
		{send: "import os\nprint(os.read(0, 10))", stdout: "b''\n"},
		{send: "import subprocess\nprint(subprocess.run(['cat'], capture_output=True).stdout)", stdout: "b''\n"},
		{send: "name = input('name? ')", stdout: anything, failure: []string{"EOFError", "assign the value"}},
		{send: "print('fine')", stdout: "fine\n"},
	}},
	{"EXT-04", []step{
		{send: "import sys\nx = 41\nsys.exit(0)", text: []string{"exit status 0"}},
		{send: "print(x + 1)", stdout: "42\n"},
		{send: "exit()", text: []string{"exit status 0"}},
		{send: "quit(3)", failure: []string{"exit status 3"}},
		{send: "raise SystemExit('bad input')", failure: []string{"exit status 1", "bad input"}},
		{send: "print('before')\ndef f(): sys.exit(2)\ntry:\n    f()\nfinally:\n    print('cleaned')", stdout: "before\ncleaned\n", failure: []string{"exit status 2"}},
		{send: "async def f(): sys.exit(4)\nawait f()", failure: []string{"exit status 4"}},
		{send: "import threading\nt = threading.Thread(target=sys.exit, args=(5,)); t.start(); t.join()\nx + 1", value: "42"},
	}},
	{"EXT-06", []step{
		{send: "import os\nprint('so far')\nprint('half', end='')\nos._exit(3)", stdout: "so far\nhalf", failure: []string{"ended with status 3", "variables are lost"}},
		{send: "print('alive')", stdout: "alive\n", state: chat.Reset},
		{send: "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", failure: []string{"SIGKILL", "variables are lost"}},
		{send: "print('alive')", stdout: "alive\n", state: chat.Reset},
		{send: "import os\nos.execv('/bin/echo', ['echo', 'replaced'])", stdout: "replaced\n", failure: []string{"ended with status 0", "variables are lost"}},
		{send: "print('alive')", stdout: "alive\n", state: chat.Reset},
		{send: "x = 1\nimport os\nif os.fork() == 0: os._exit(9)\nos.wait()[1] >> 8", value: "9"},
		{send: "print(x)", stdout: "1\n"},
	}},
	{"EXT-07", []step{
		{send: "import ctypes\nprint('so far')\nctypes.string_at(0)", stdout: "so far\n", failure: []string{"crashed (SIGSEGV)", "variables are lost"}},
		{send: "print('alive')", stdout: "alive\n", state: chat.Reset},
		{send: "import os\nprint('so far', end=' ')\nos.abort()", stdout: "so far ", failure: []string{"crashed (SIGABRT)"}},
		{send: "print('alive')", stdout: "alive\n", state: chat.Reset},
		{send: "import threading, ctypes\nthreading.Thread(target=ctypes.string_at, args=(0,)).start()\nimport time; time.sleep(30)", failure: []string{"crashed (SIGSEGV)"}},
		{send: "import subprocess, sys\nx = 1\nsubprocess.run([sys.executable, '-c', 'import ctypes; ctypes.string_at(0)']).returncode", value: "-11", state: chat.Reset},
		{send: "print(x)", stdout: "1\n"},
	}},
}

var encodingScenarios = []scenario{
	{"TXT-02", []step{
		{send: "print(len('🍸'), '🍸')", stdout: "1 🍸\n"},
		{send: "'\\ud83c\\udf78' + ''", value: `'\ud83c\udf78'`},
		{send: "print('\\ud83c', end='!')\n'\\udf78'", stdout: anything, value: `'\udf78'`, check: validText},
		{send: "import sys\nsys.stdout.buffer.write(b'\\xff\\xfe\\n'); sys.stdout.flush()\nraise ValueError('\\ud83c')", stdout: "\ufffd\n", failure: []string{"ValueError"}, check: validText},
		{send: "größe, 名 = 'ä', 2\nprint(größe, 名, 'עברית', 'e\\u0301', '\\u0000.')", stdout: "ä 2 עברית e\u0301 \x00.\n"},
	}},
	{"TXT-06", []step{
		{send: "```python\r\nif True:\r\n    print('a')\r\n```\r\n", stdout: "a\n"},
		{send: "if True:\r\n    print('a')\r\n", stdout: "a\n"},
		{send: "Do this:\r\n\r\n~~~py\r\ns = '''x\r\ny'''\r\nprint(len(s))\r\n~~~\r\nThanks\r\n", stdout: "3\n"},
		{send: "x = 1\rprint(x)\r", stdout: "1\n"},
	}},
	{"TXT-07", []step{
		{send: `x = 1\nfor i in range(2):\n    print(x + i)`, stdout: "1\n2\n"},
		{send: `for i in range(2):\n\tprint(i)`, stdout: "0\n1\n"},
		{send: `def f():\r\n\treturn \"q\"\r\nprint(f())`, stdout: "q\n"},
		{send: "```python\n" + `y = 2\nprint(y)` + "\n```", stdout: "2\n"},
		{send: `print('a\nb')`, stdout: "a\nb\n"},
		{send: `print('one\\n')`, stdout: "one\\n\n"},
		{send: `if x == 1:\n    print('a\\nb')`, stdout: "a\nb\n"},
	}},
	{"TXT-08", []step{
		{send: "x\u00a0=\u00a0'ok'\nprint(\u201chi\u201d)", stdout: "hi\n", text: []string{"Note: "}},
		{send: "print(x)\u200b", stdout: "ok\n"},
		{send: "print(\u2018single\u2019 + \u00ab1\u00bb)", stdout: anything, failure: []string{""}, text: []string{"U+2018", "line 1"}},
		{send: "print('\u201cquoted\u201d\u00a0text')", stdout: "\u201cquoted\u201d\u00a0text\n", never: []string{"Note: "}},
	}},
}

// unless returns a problem unless it is all right.
func unless(right bool, format string, args ...any) string {
	if right {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

func validText(r *chat.Reply) string {
	all := r.Text + r.Runs[0].Stdout + r.Runs[0].Stderr + r.Runs[0].Value + r.Runs[0].Error
	return unless(utf8.ValidString(all), "not UTF-8: %q", all)
}

// cutBytes is more than what is passed on of a value or an error, and less than what the code made.
const cutBytes = 1 << 17

func valueCut(r *chat.Reply) string {
	v := r.Runs[0].Value
	return unless(len(v) < cutBytes && strings.Contains(v, "left out"), "value of %d bytes; want it cut, and said so", len(v))
}

var localeScenarios = []scenario{
	{"TZL-01", []step{
		{send: "from zoneinfo import ZoneInfo, available_timezones\nfrom datetime import datetime\nprint(datetime(2024, 7, 1, tzinfo=ZoneInfo('Europe/Berlin')).utcoffset())", stdout: "2:00:00\n"},
		{send: "print(datetime(2024, 1, 1, tzinfo=ZoneInfo('Asia/Kolkata')).utcoffset(), len(available_timezones()) > 400)", stdout: "5:30:00 True\n"},
		{send: "ZoneInfo('Mars/Base')", failure: []string{"ZoneInfoNotFoundError"}},
	}},
	{"TZL-02", []step{
		{send: "import os, time\nos.environ['TZ'] = 'Europe/Berlin'\ntime.tzset()\nprint(time.tzname[0])", stdout: "CET\n"},
		{send: "import subprocess\nprint(subprocess.run(['date', '-d', '@0', '+%H'], capture_output=True, text=True).stdout)", stdout: "01\n\n"},
		{send: "os.environ['TZ'] = 'America/New_York'; time.tzset(); print(time.tzname, time.localtime(1_700_000_000).tm_hour)", stdout: "('EST', 'EDT') 17\n"},
	}},
	{"TZL-03", []step{
		{send: "from zoneinfo import ZoneInfo\nfrom datetime import datetime\nprint(ZoneInfo('UTC').utcoffset(datetime(2024, 3, 12)), datetime.now().astimezone().utcoffset())", stdout: "0:00:00 0:00:00\n"},
		{send: "import time\nprint(time.tzname, time.timezone, abs(time.time() - datetime.now().timestamp()) < 1)", stdout: "('UTC', 'UTC') 0 True\n"},
	}},
	{"TZL-04", []step{
		{send: "import locale, sys\nprint(locale.setlocale(locale.LC_ALL, ''), locale.getpreferredencoding(), sys.getfilesystemencoding())", stdout: "C.UTF-8 UTF-8 utf-8\n"},
		{
			send:   "try:\n    locale.setlocale(locale.LC_ALL, 'de_DE.UTF-8')\n    print(locale.format_string('%.2f', 1234.5, grouping=True))\nexcept locale.Error as e:\n    print(e)",
			stdout: anything, check: func(r *chat.Reply) string {
				got := r.Runs[0].Stdout
				return unless(got == "1.234,50\n" || got == "unsupported locale setting\n", "stdout %q; want the German number, or that the locale is not there", got)
			},
		},
		{send: "print(locale.setlocale(locale.LC_ALL, 'C.UTF-8'), 'ß'.upper(), sorted(['ä', 'z']))", stdout: "C.UTF-8 SS ['z', 'ä']\n"},
	}},
}
