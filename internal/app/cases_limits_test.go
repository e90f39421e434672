package app_test

import (
	"context"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"

	"runpython/internal/app"
	"runpython/internal/chat"
	"runpython/internal/config"
)

// limitCases are about code that goes on too long, prints too much or takes
// too many of the guest's processes and descriptors.
func limitCases(t *testing.T, data string) {
	a := openAt(t, data, nil)
	long(t, "OUT-02", func(t *testing.T) { floods(t, a) }) // before the others: it looks at the memory of this process
	long(t, "OUT-05", func(t *testing.T) { wholeOutput(t, a) })
	long(t, "TIM-06", func(t *testing.T) {
		clampScenario.play(t, openAt(t, data, func(c *config.Config, _ *app.Build) { c.RunTimeout, c.Pool = shortTime, 0 }))
	})
	long(t, "MEM-05", func(t *testing.T) {
		sizeScenario.play(t, openAt(t, data, func(c *config.Config, _ *app.Build) { c.CPUs, c.MemoryBytes, c.Pool = 1, 300<<20, 0 }))
	})
	playAlone(t, a, bombScenarios) // they leave no time to others
	play(t, a, timeScenarios)
	play(t, a, outputScenarios)
	play(t, a, processScenarios)
}

// processList prints what lives in the guest beside init and the interpreter, and how many
// have ended and were not waited for, if those are more than an interpreter keeps.
const processList = `import os
ended = []
for p in sorted(set(filter(str.isdigit, os.listdir('/proc'))) - {'1', str(os.getpid())}, key=int):
    name, _, state = open(f'/proc/{p}/stat').read().rpartition(')')
    if state.split()[0] in 'ZX':
        ended.append(p)
    else:
        print(name, state.split()[0], open(f'/proc/{p}/cmdline').read())
if len(ended) > 16: print(len(ended), 'have ended')
`

const timedOut = "Stopped after 1 s: that is the time limit of a run (--run-timeout)."

var (
	keptAt = []string{timedOut, variablesKept}
	lostAt = []string{timedOut, "The variables are lost, the files are kept."}
)

// overtime is a scenario of code that the time limit interrupts.
func overtime(name, code string) scenario {
	return scenario{name, []step{
		{send: "kept = 42"},
		{send: code, timeout: shortTime, failure: keptAt, text: []string{timedOut}},
		{send: "print(kept)", stdout: "42\n"},
	}}
}

// stubborn is a scenario of code that only the end of its interpreter ends.
func stubborn(name, code string) scenario {
	return scenario{name, []step{
		{send: "kept = open('kept.txt', 'w').write('x')", files: []string{"kept.txt"}},
		{send: code, timeout: shortTime, failure: lostAt, text: []string{timedOut}},
		{send: "print(open('kept.txt').read(), 'kept' in globals())", stdout: "x False\n", state: chat.Reset, check: func(r *chat.Reply) string {
			return unless(strings.Contains(r.StateReason, "time limit"), "reason %q; want the time limit", r.StateReason)
		}},
		{send: processList},
	}}
}

var timeScenarios = []scenario{
	overtime("TIM-01", "while True:\n    pass"),
	overtime("TIM-01 sleep", "import time; time.sleep(999)"),
	overtime("TIM-01 regular expression", "import re; re.match('(a+)+b', 'a' * 60)"),
	overtime("TIM-01 big integer", "for n in range(10**9): (3 ** 4000) % 7919"),
	overtime("TIM-01 waiting for a lock", "import threading\nl = threading.Lock()\nl.acquire()\nl.acquire()"),
	overtime("TIM-01 waiting for a thread", "import threading, time\nt = threading.Thread(target=time.sleep, args=(999,), daemon=True)\nt.start()\nt.join()"),
	overtime("TIM-01 waiting for a queue", "import queue; queue.Queue().get()"),
	overtime("TIM-01 waiting for a connection", "import socket\ns = socket.create_server(('127.0.0.1', 0))\ns.accept()"),
	overtime("TIM-01 waiting for a task", "import asyncio\nawait asyncio.sleep(999)"),
	overtime("TIM-01 waiting for a program", "import subprocess; subprocess.run(['sleep', '999'])"),
	overtime("TIM-01 workers", "import multiprocessing, time\nwith multiprocessing.Pool(2) as p: p.map(time.sleep, [999, 999])"),
	stubborn("TIM-02", "import time\nwhile True:\n    try:\n        time.sleep(0.2)\n    except BaseException:\n        pass"),
	stubborn("TIM-02 signals ignored", "import signal\nfor s in signal.valid_signals() - {9, 19}: signal.signal(s, signal.SIG_IGN)\nsignal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())\nwhile True: pass"),
	{"TIM-02 an interrupt that is caught and obeyed", []step{
		{
			send:    "kept = 42\nimport time\ntry:\n    time.sleep(999)\nexcept KeyboardInterrupt:\n    print('tidied up')",
			timeout: shortTime, stdout: "tidied up\n", failure: keptAt,
		},
		{send: "print(kept)", stdout: "42\n"},
	}},
	{"TIM-04", []step{
		{send: "import time\nprint('step 1')\ntime.sleep(999)", timeout: shortTime, stdout: "step 1\n", failure: keptAt, text: []string{"step 1"}},
		{send: "print('no newline', end='')\nimport sys; print('err', end='', file=sys.stderr)\ntime.sleep(999)", timeout: shortTime, stdout: "no newline", stderr: "err", failure: keptAt},
		{send: "import subprocess; subprocess.run('echo child; sleep 999', shell=True)", timeout: shortTime, stdout: "child\n", failure: keptAt},
		{send: "import collections, itertools\nprint('before the C code')\nopen('made.txt', 'w').write('x')\ncollections.deque(itertools.repeat(1), maxlen=0)", timeout: shortTime, stdout: "before the C code\n", failure: lostAt, files: []string{"made.txt"}},
	}},
	{"TIM-05", []step{
		{
			send:    "import subprocess\nsubprocess.Popen('while true; do echo x; sleep 1; done', shell=True)\nwhile True:\n    pass",
			timeout: shortTime, stdout: anything, failure: keptAt,
		},
		{send: processList},
	}},
	{"TIM-05 children in sessions of their own", []step{
		{
			send: "import subprocess, os\nfor _ in range(3): subprocess.Popen(['setsid', 'sh', '-c', 'trap \"\" INT TERM HUP; sleep 999 & while true; do sleep 1; done'])\n" +
				"if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        while True: pass\n    os._exit(0)\nwhile True:\n    pass",
			timeout: shortTime, failure: keptAt,
		},
		{send: processList},
	}},
	{"TIM-05 children of code that comes to its end", []step{
		{send: "import subprocess\nfor _ in range(3): subprocess.Popen(['setsid', 'nohup', 'sleep', '999'], stdout=1, stderr=subprocess.STDOUT);"},
		{send: processList},
	}},
	stubborn("TIM-07", "import collections, itertools\ncollections.deque(itertools.repeat(1), maxlen=0)"),
	stubborn("TIM-07 a finally that does not end", "try:\n    while True: pass\nfinally:\n    while True: pass"),
}

// floods prints more than this process may keep, and looks at what it takes here.
func floods(t *testing.T, a *app.App) {
	for _, f := range []struct{ name, code string }{
		{"lines", "while True:\n    print('1234567890' * 1000)"},
		{"stderr", "import sys\nwhile True:\n    sys.stderr.write('1234567890' * 1000)"},
		{"programs", "import subprocess\nsubprocess.run('yes & yes >&2', shell=True)"},
	} {
		t.Run(f.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			r := send(t, a, chat.Request{Message: f.code, RunTimeout: shortTime})
			runtime.ReadMemStats(&after)
			if !r.IsError || !strings.Contains(r.Text, timedOut) || !strings.Contains(r.Text, "bytes left out") || len(r.Text) > chat.MaxTextBytes+100 {
				t.Errorf("text of %d bytes:\n%.2000s", len(r.Text), r.Text)
			}
			for _, s := range []string{r.Runs[0].Stdout, r.Runs[0].Stderr} {
				if len(s) > chat.MaxStreamBytes+100 {
					t.Errorf("%d bytes of a stream are passed on", len(s))
				}
			}
			// All that was ever taken, also what was given back: the streams' bounds some times over.
			if taken := after.TotalAlloc - before.TotalAlloc; taken > 64<<20 {
				t.Errorf("%d MiB were taken for output that is not kept", taken>>20)
			}
			next := send(t, a, chat.Request{ChatID: r.ChatID, Message: "print('next')"})
			if next.IsError || next.Runs[0].Stdout != "next\n" || next.State != chat.Kept {
				t.Errorf("the next call: %q\n%s", next.State, next.Text)
			}
		})
	}
}

var outputScenarios = []scenario{
	{"OUT-03", []step{
		{send: "import sys\nsys.stdout.write('x' * 200_000_000);", stdout: anything, text: []string{"bytes left out"}, files: []string{"stdout.txt"}, check: func(r *chat.Reply) string {
			out := r.Runs[0].Stdout
			n := strings.Count(out, "x")
			return unless(n <= chat.MaxStreamBytes && n > chat.MaxStreamBytes/2 && strings.Contains(out, "… 1999"),
				"%d of 200,000,000 characters, cut by %.100q", n, strings.Trim(out, "x"))
		}},
		{send: "sys.stdout.write('é' * 1_000_001);", stdout: anything, text: []string{"bytes left out"}, files: []string{"stdout.txt"}, check: func(r *chat.Reply) string {
			return unless(!strings.ContainsRune(r.Runs[0].Stdout, '\ufffd'), "a character was cut in two")
		}},
		{send: "'x' * 50_000_000", value: anything, check: valueCut},
		{send: "raise ValueError('x' * 50_000_000)", failure: []string{"left out"}, check: func(r *chat.Reply) string {
			return unless(len(r.Runs[0].Error) < cutBytes, "an error of %d bytes", len(r.Runs[0].Error))
		}},
	}},
	{"OUT-04", []step{
		{send: "import sys, time\nfor _ in range(10000):\n    sys.stdout.write('0' * 100)\n    sys.stdout.flush()\nprint('END')", stdout: anything, text: []string{"END\n", "bytes left out"}, files: []string{"stdout.txt"}},
		{send: "for i in range(200):\n    print(f'line {i}')", stdout: anything, text: []string{"line 0\n", "line 199\n"}, never: []string{"left out"}},
		{send: "import os\nfor _ in range(100): os.system('echo 0')\nprint('END')", stdout: strings.Repeat("0\n", 100) + "END\n"},
	}},
	{"MEM-12", []step{
		{send: "import os\nfds = []\ntry:\n    while True:\n        fds.append(os.open('/dev/null', os.O_RDONLY))\nexcept OSError as e:\n    print(e.errno)", stdout: "24\n"},
		{send: "print('still', len(fds) > 500)", stdout: "still True\n"},
		{send: "1/0", failure: []string{"ZeroDivisionError"}},
		{send: "open('x.txt', 'w')", failure: []string{"Too many open files"}},
		{send: "for fd in fds: os.close(fd)\nopen('x.txt', 'w').write('x');", files: []string{"x.txt"}},
		{send: "import subprocess\nprint(subprocess.run(['echo', 'a'], capture_output=True, text=True).stdout)", stdout: "a\n\n"},
	}},
	{"MEM-12 descriptors closed", []step{
		{send: "import os\nos.close(1); os.close(2)", stderr: anything},
		{send: "print('still')", stdout: "still\n"},
		{send: "os.closerange(0, 2000)", stdout: anything, stderr: anything, failure: []string{"variables are lost"}},
		{send: "print('new')", stdout: "new\n", state: chat.Reset},
	}},
}

// clampScenario asks for more time than the operator allows.
var clampScenario = scenario{"", []step{
	{send: "import time\nprint('on')\ntime.sleep(130)", timeout: 300 * shortTime, stdout: "on\n", failure: keptAt, text: []string{"ask the operator for more time"}},
	{send: "time.sleep(130)", timeout: shortTime / 2, failure: []string{"Stopped after 0.5 s", variablesKept}},
}}

// sizeScenario looks at a guest of one processor and 300 MiB.
var sizeScenario = scenario{"", []step{
	{send: "import os\nprint(os.cpu_count(), len(os.sched_getaffinity(0)), open('/proc/meminfo').readline())", stdout: "1 1 MemTotal:         307200 kB\n\n"},
	{send: "import multiprocessing\nprint(multiprocessing.cpu_count(), os.process_cpu_count(), os.cpu_count())", stdout: "1 1 1\n"},
	{send: "import subprocess\nprint(subprocess.run(['nproc'], capture_output=True, text=True).stdout)", stdout: "1\n\n"},
	{send: "print(open('/proc/cpuinfo').read().count('processor\\t'))", stdout: "1\n"},
	{send: "print(os.sysconf('SC_NPROCESSORS_ONLN'), os.environ['OMP_NUM_THREADS'])", stdout: "1 1\n"},
}}

// bombScenarios take all of the processor, or as much of it as they get.
var bombScenarios = []scenario{
	{"MEM-03", []step{
		{send: "kept = 1"},
		{send: "import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass", timeout: shortTime, stderr: anything, failure: []string{timedOut}},
		{send: "print('alive')", stdout: "alive\n", state: anyState},
		{send: processList},
	}},
	{"MEM-03 programs that start themselves", []step{
		{send: "import subprocess\nsubprocess.run('f() { f | f & }; f; sleep 999', shell=True)", timeout: shortTime, stderr: anything, failure: []string{timedOut}},
		{send: "print('alive')", stdout: "alive\n", state: anyState},
		{send: processList},
	}},
	{"MEM-06", []step{
		{send: "import threading\ndef burn():\n    while True:\n        pass\nfor _ in range(24):\n    threading.Thread(target=burn, daemon=True).start()\n'started'", value: "'started'"},
		{send: "'second'.upper()", value: "'SECOND'"},
		{send: "while True: pass", timeout: shortTime, failure: []string{timedOut}},
		{send: "print('answers')", stdout: "answers\n", state: anyState},
	}},
	{"MEM-06 as many threads as may be", []step{
		{send: "import threading\nstop = threading.Event()\nfor n in range(64):\n    threading.Thread(target=stop.wait).start()\n'started'", value: "'started'"},
		{send: "threading.Thread(target=stop.wait).start()", failure: []string{"can't start new thread"}},
		{send: "import os\nos.fork()", stderr: anything, failure: []string{"BlockingIOError"}},
		{send: "stop.set()\nfor t in threading.enumerate()[1:]: t.join()\nprint(threading.active_count())", stdout: "1\n"},
	}},
	{"MEM-06 processes", []step{
		{send: "import os\nkept = 1\nfor _ in range(6):\n    if os.fork() == 0:\n        while True: pass\nwhile True: pass", timeout: 3 * shortTime, failure: []string{"Stopped after 3 s", variablesKept}},
		{send: "print(kept)", stdout: "1\n"},
		{send: processList},
	}},
}

var processScenarios = []scenario{
	{"MEM-07", []step{
		{send: "import subprocess\nprint(subprocess.run('echo a | tr a b | cat', shell=True, capture_output=True, text=True).stdout)", stdout: "b\n\n"},
		{send: "print(subprocess.run('echo a' + ' | cat' * 40, shell=True, capture_output=True, text=True))", stdout: "CompletedProcess(args='echo a" + strings.Repeat(" | cat", 40) + `', returncode=0, stdout='a\n', stderr='')` + "\n"},
		{send: "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(32) as ex: print(sum(ex.map(int, '1' * 100)))", stdout: "100\n"},
	}},
	{"MEM-08", []step{
		{send: "import subprocess\nfor _ in range(300):\n    subprocess.Popen('true &', shell=True)\n'ok'", value: "'ok'"},
		{send: processList},
	}},
	{"MEM-08 children that nobody waits for", []step{
		{send: "import os, time\nfor _ in range(40):\n    if os.fork() == 0: os._exit(0)\n'ok' + ''", value: "'ok'"},
		{send: processList},
	}},
}

// wholeOutput wants a short text, and the whole output in a file that the caller can fetch.
func wholeOutput(t *testing.T, a *app.App) {
	r := send(t, a, chat.Request{Message: "print('word ' * 60000)"})
	if len(r.Text) > chat.MaxTextBytes || r.IsError || len(r.Files) != 1 {
		t.Fatalf("text of %d bytes, %d files, error %v; want a short text and one file", len(r.Text), len(r.Files), r.IsError)
	}
	f, body, err := a.OpenFile(context.WithoutCancel(t.Context()), "", r.Files[0].URI)
	if err != nil {
		t.Fatalf("open %s: %v", r.Files[0].URI, err)
	}
	whole, err := io.ReadAll(body)
	if err = errors.Join(err, body.Close()); err != nil || string(whole) != strings.Repeat("word ", 60000)+"\n" || f.MIMEType != "text/plain" {
		t.Errorf("%d bytes of %s, %v; want all 300,001", len(whole), f.MIMEType, err)
	}
}
