package app_test

import (
	"testing"

	"runpython/internal/app"
	"runpython/internal/chat"
	"runpython/internal/config"
)

// memoryCases are about code that wants more memory than there is, in guests that have little.
func memoryCases(t *testing.T, data string) {
	a := openAt(t, data, func(c *config.Config, _ *app.Build) { c.MemoryBytes, c.WorkBytes = 256<<20, 64<<20 })
	bystander := send(t, a, chat.Request{Message: "kept = 'of the other chat'"}).ChatID
	t.Run("at once", func(t *testing.T) { play(t, a, memoryScenarios) })
	if r := send(t, a, chat.Request{ChatID: bystander, Message: "print(kept)"}); r.State != chat.Kept || r.Runs[0].Stdout != "of the other chat\n" {
		t.Errorf("MEM-02: a chat beside them: %q\n%s", r.State, r.Text)
	}
}

// refused is code that asks for more than there can be.
func refused(code string) step { return step{send: code, failure: []string{"MemoryError"}} }

// greedy is a scenario of code that takes memory until it is stopped.
func greedy(name, code string) scenario {
	return scenario{name, []step{
		{send: "kept = open('kept.txt', 'w').write('x')", files: []string{"kept.txt"}},
		{send: code, stdout: anything, stderr: anything, failure: []string{"emory"}, state: chat.Kept},
		{send: "print(open('kept.txt').read())", stdout: "x\n", state: anyState},
		{send: processList, state: anyState},
		{send: "big = m = s = None; print(len(bytearray(1 << 20)))", stdout: "1048576\n", state: anyState},
	}}
}

var memoryScenarios = []scenario{
	{"MEM-01", []step{
		{send: "kept = 1"},
		refused("x = bytearray(1 << 45)"),
		refused("bytearray(1 << 62)"),
		refused("[0] * (1 << 40)"),
		refused("'x' * (1 << 42)"),
		refused("bytearray(8 << 30)"),
		{send: "import mmap\nmmap.mmap(-1, 1 << 44)", failure: []string{"Cannot allocate memory"}},
		{send: "print(kept)", stdout: "1\n"},
	}},
	greedy("MEM-02", "big = []\nwhile True:\n    big.append(bytearray(10**7))"),
	greedy("MEM-02 small things", "big = []\nwhile True:\n    big.append(object())"),
	greedy("MEM-02 one large thing", "big = bytearray(700 << 20)\nbig[::4096] = b'x' * len(big[::4096])"),
	greedy("MEM-02 a doubling string", "s = 'x'\nwhile True: s += s"),
	greedy("MEM-02 errors swallowed", "big = []\nwhile True:\n    try:\n        big.append(bytearray(10**7))\n    except MemoryError:\n        pass"),
	greedy("MEM-02 mapped memory", "import mmap\nbig = []\nwhile True:\n    m = mmap.mmap(-1, 10**7)\n    m.write(b'x' * 10**7)\n    big.append(m)"),
	greedy("MEM-02 C code", "import ctypes\nc = ctypes.CDLL(None)\nc.malloc.restype = ctypes.c_void_p\nwhile True:\n    p = c.malloc(10**7)\n    if not p: raise MemoryError\n    ctypes.memset(p, 1, 10**7)"),
	greedy("MEM-02 a child", "import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'x = []\\nwhile True: x.append(bytearray(10**7))'], check=True)"),
	greedy("MEM-02 many children", "import os, time\nfor _ in range(8):\n    if os.fork() == 0:\n        x = bytearray(60 << 20)\n        x[::4096] = b'x' * len(x[::4096])\n        time.sleep(999)\ntime.sleep(5)\nraise MemoryError('nothing happened')"),
	{"MEM-02 files in memory", []step{
		{send: "import os\nkept = 1\ndef fill(folder):\n    for n in range(100): open(f'{folder}/{n}', 'wb').write(bytes(10**7))"},
		{send: "fill('/tmp')", failure: []string{"No space left on device"}},
		{send: "for n in os.listdir('/tmp'): os.remove('/tmp/' + n)\nfill('/dev/shm')", failure: []string{"No space left on device"}},
		{send: "for n in os.listdir('/dev/shm'): os.remove('/dev/shm/' + n)\nopen('/tmp/large', 'wb').write(bytes(70 << 20))", failure: []string{"File too large"}},
		{send: "print(kept)", stdout: "1\n"},
	}},
	{"MEM-09", []step{
		{send: "import sys\nsys.setrecursionlimit(10**7)\nclass A:\n    def __getattr__(self, k):\n        return getattr(self, k + 'x')\nA().q", failure: []string{""}},
		{send: "print('alive')", stdout: "alive\n", state: anyState},
		{send: "import sys\nsys.setrecursionlimit(10**8)\ndef f(n): return f(n + 1)\nf(0)", failure: []string{""}, state: anyState},
		{send: "print('alive')", stdout: "alive\n", state: anyState},
		{send: "x = []\nfor _ in range(10**5): x = [x]\nprint(len(x))\nx", stdout: "1\n", value: anything},
		{send: "import json\njson.loads('[' * 10**5)", failure: []string{"RecursionError"}},
		{send: "print('alive')", stdout: "alive\n"},
	}},
	{"RUN-06", []step{
		{send: "kept = 1\nb = bytearray(int(open('/proc/meminfo').readline().split()[1]) * 1024 * 9 // 10)\nprint(len(b))", stdout: "241591910\n"},
		{send: "b = None\nprint('alive')", stdout: "alive\n"},
		{send: "print(kept)", stdout: "1\n"},
	}},
	{"RUN-06 half of the memory", []step{
		{send: "b = bytearray(int(open('/proc/meminfo').readline().split()[1]) * 1024 // 2)\nb[::4096] = b'x' * len(b[::4096])\nprint(len(b))", stdout: "134217728\n"},
		{send: "print(len(b))", stdout: "134217728\n"},
	}},
}
