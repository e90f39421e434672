package app_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"runpython/internal/app"
	"runpython/internal/chat"
	"runpython/internal/config"
	"runpython/internal/fault"
	"runpython/internal/guesttest"
)

// hostSecret is in this process's environment, and must not be in a guest's.
const hostSecret = "rp-host-secret-7b1f"

// worldCases are about what code finds around it: threads, processes, the machine,
// other chats, the network, and about guests that are sick.
func worldCases(t *testing.T, data string) {
	t.Setenv("RUNPYTHON_TEST_SECRET", hostSecret)
	a := openAt(t, data, nil)
	t.Run("ISO-03", func(t *testing.T) { strangers(t, a) })
	t.Run("NET-09", func(t *testing.T) { listener(t, a) })
	long(t, "RUN-01", func(t *testing.T) { examined(t, data) })
	long(t, "RUN-04", func(t *testing.T) { controlGroups(t, data) })
	long(t, "RUN-02", func(t *testing.T) { brokenEngine(t, data) })
	long(t, "RUN-03", func(t *testing.T) { sickGuest(t, data) })
	play(t, a, threadScenarios)
	play(t, a, isolationScenarios(data))
	play(t, a, networkScenarios)
}

var threadScenarios = []scenario{
	{"THR-01", []step{
		{send: "import threading, time\ngo = threading.Event()\ndef work():\n    go.wait()\n    for i in range(5):\n        print('bg', i)\n        time.sleep(0.02)\nt = threading.Thread(target=work, daemon=True); t.start()\n'call 1 done'", value: "'call 1 done'"},
		{send: "go.set(); t.join(); print('only mine')", stdout: "only mine\n", text: []string{"Printed between the calls", "bg 0\nbg 1\nbg 2\nbg 3\nbg 4"}},
		{send: "print('only mine')", stdout: "only mine\n", never: []string{"bg"}},
	}},
	{"THR-01 logging, warnings and standard error", []step{
		{send: "import threading, logging, warnings, sys\nlogging.basicConfig()\ngo = threading.Event()\ndef work():\n    go.wait()\n    logging.warning('late log')\n    print('late err', file=sys.stderr)\n    1/0\nt = threading.Thread(target=work); t.start()"},
		{send: "go.set(); t.join(); print('only mine')", stdout: "only mine\n", text: []string{"Printed between the calls", "late log", "late err", "ZeroDivisionError"}},
	}},
	{"THR-01 processes", []step{
		{send: "import subprocess\nsubprocess.Popen('sleep 0.3; echo late', shell=True);", text: []string{"Note: ", "stopped at the end of the run"}},
		{send: "import time; time.sleep(0.5); print('only mine')", stdout: "only mine\n", never: []string{"late"}},
	}},
	{"THR-02", []step{
		{send: "import threading, time\nthreading.Thread(target=time.sleep, args=(3600,)).start()\n'done'", value: "'done'"},
		{send: "from concurrent.futures import ThreadPoolExecutor\nex = ThreadPoolExecutor(2)\nf = ex.submit(time.sleep, 3600)\n'done'", value: "'done'"},
		{send: "import atexit\natexit.register(time.sleep, 3600)\nimport sys; sys.exit()", text: []string{"exit status 0"}},
		{send: "print(threading.active_count() > 1)", stdout: "True\n"},
	}},
	{"THR-03", []step{
		{send: "import multiprocessing as mp\ndef sq(x):\n    return x * x\nif __name__ == '__main__':\n    with mp.Pool(2) as p:\n        print(p.map(sq, [1, 2, 3]))", stdout: "[1, 4, 9]\n"},
		{send: "from concurrent.futures import ProcessPoolExecutor\nwith ProcessPoolExecutor(2) as ex: print(list(ex.map(sq, [4, 5])))", stdout: "[16, 25]\n"},
		{send: "def put(q): q.put(sq(6))\nq = mp.Queue()\np = mp.Process(target=put, args=(q,)); p.start(); print(q.get()); p.join()", stdout: "36\n"},
		{send: "class Acc:\n    def __init__(self, n): self.n = n\n    def add(self, x): return self.n + x\nwith mp.Pool(2) as p: print(p.map(Acc(1).add, [1, 2]))", stdout: "[2, 3]\n"},
		{send: "with mp.Pool(2) as p: p.map(lambda x: x, [1])", failure: []string{"ickl"}},
		{send: processList, stdout: anything, check: noWorkers},
	}},
	{"THR-04", []step{
		{send: "import multiprocessing as mp\ndef sq(x):\n    return x * x\nwith mp.get_context('spawn').Pool(2) as p:\n    print(p.map_async(sq, [1, 2]).get(timeout=50))", stdout: "[1, 4]\n", text: []string{"Note: "}},
		{send: "mp.set_start_method('spawn', force=True)\nwith mp.Pool(2) as p: print(p.map(sq, [3]))", stdout: "[9]\n"},
		{send: processList, stdout: anything, check: noWorkers},
	}},
	{"THR-05", []step{
		{send: "import multiprocessing as mp\nif __name__ == '__main__':\n    ctx = mp.get_context('forkserver')\n    p = ctx.Process(target=print, args=('child',))\n    p.start(); p.join(50)\n    print(p.exitcode)", stdout: "child\n0\n"},
		{send: "def fail(): raise SystemExit(3)\np = mp.Process(target=fail); p.start(); p.join(50); print(p.exitcode)", stdout: "3\n"},
	}},
	{"THR-07", []step{
		{send: "import signal\nsignal.signal(signal.SIGALRM, lambda *a: print('alarm'))\nsignal.alarm(1)\nimport time; time.sleep(2)", stdout: "alarm\n"},
		{send: "print(signal.getsignal(signal.SIGALRM) == signal.SIG_DFL, signal.alarm(0))", stdout: "True 0\n"},
		{send: "import threading\nprint(threading.current_thread() is threading.main_thread())\nsignal.signal(signal.SIGINT, signal.SIG_IGN);", stdout: "True\n"},
		{send: "while True: pass", timeout: shortTime, failure: keptAt},
	}},
	{"THR-09", []step{
		{send: "import subprocess\nprint(subprocess.Popen(['sleep', '0.1'], start_new_session=True).wait(50))", stdout: "0\n"},
		{send: "import os, signal\np = subprocess.Popen('sleep 999 & sleep 999', shell=True, start_new_session=True)\nos.killpg(p.pid, signal.SIGKILL)\nprint(p.wait(50))", stdout: "-9\n"},
		{send: "try:\n    subprocess.run(['sleep', '999'], timeout=0.2)\nexcept subprocess.TimeoutExpired: print('in time')", stdout: "in time\n"},
		{send: processList},
	}},
	{"THR-12", []step{
		{send: "import ctypes\nprint(ctypes.CDLL(None).inotify_init() >= 0)", stdout: "True\n"},
		{
			send: "import os, struct\nc = ctypes.CDLL(None)\nfd = c.inotify_init()\nprint(c.inotify_add_watch(fd, b'/work', 0x100) > 0)\n" +
				"for n in range(3): open(f'f{n}', 'w').close()\nprint(os.read(fd, 4096).count(b'f'))",
			stdout: "True\n3\n", files: []string{"f0", "f1", "f2"},
		},
	}},
}

// noWorkers lets nothing live beside the keeper of shared memory that multiprocessing starts.
func noWorkers(r *chat.Reply) string {
	for line := range strings.Lines(r.Runs[0].Stdout) {
		if !strings.Contains(line, "resource_tracker") {
			return "left over: " + line
		}
	}
	return ""
}

func isolationScenarios(data string) []scenario {
	host, _ := os.Hostname()
	private := []string{data, hostSecret, "runsc", filepath.Base(filepath.Dir(data))}
	if len(host) > 3 && host != "localhost" {
		private = append(private, host)
	}
	return []scenario{
		{"EXT-08", []step{
			{send: "import os, signal\ntry:\n    os.kill(os.getppid(), signal.SIGKILL)\nexcept PermissionError as e: print(e)\nos.kill(-1, signal.SIGKILL)", stdout: "[Errno 1] Operation not permitted\n", stderr: anything, failure: []string{""}, state: chat.New},
			{send: "print('alive')", stdout: "alive\n", state: anyState},
			{send: "import os, signal\nfor s in (signal.SIGTERM, signal.SIGSTOP, signal.SIGKILL):\n    try: os.kill(1, s)\n    except PermissionError: print('refused')", stdout: "refused\nrefused\nrefused\n", state: anyState},
			{send: "os.killpg(0, signal.SIGKILL)", failure: []string{"SIGKILL"}},
			{send: "print('alive')", stdout: "alive\n", state: chat.Reset},
		}},
		{"ISO-02", []step{
			{
				send: "for p in ('/etc/passwd', '/etc/shadow', '/root/.ssh/id_rsa', '/proc/1/cmdline', '/var/run/docker.sock', '/proc/1/root/etc/hostname'):\n" +
					"    try:\n        print(p, open(p, 'rb').read()[:60])\n    except OSError as e:\n        print(p, e)",
				stdout: anything, never: private, text: []string{"/etc/passwd b'root:x:0:0:root:/root:/usr/sbin/nologin\\n", "/etc/shadow [Errno 2]", "/root/.ssh/id_rsa [Errno", "/var/run/docker.sock [Errno", "/proc/1/root/etc/hostname [Errno"},
			},
			{send: "print(open('/etc/passwd').read().count('\\n'))", stdout: "2\n"},
			{send: "import os\nprint(sorted(os.environ), os.environ)", stdout: anything, never: private},
			{send: "for p in ('/proc/mounts', '/proc/self/mountinfo', '/proc/self/cgroup', '/proc/version', '/proc/cmdline', '/proc/self/environ', '/proc/1/environ'):\n    try: print(open(p).read())\n    except OSError as e: print(e)", stdout: anything, never: private},
			{send: "print(os.uname().nodename, os.getuid(), os.getcwd(), os.path.expanduser('~'))", stdout: "runpython 1000 /work /tmp\n"},
			{send: "for d in ('/home', '/root', '/var/lib', '/srv', '/mnt', '/media', '/boot', '/usr/local/share'):\n    if os.path.exists(d): print(d, sorted(os.listdir(d)))", stdout: "/usr/local/share ['fonts', 'python']\n"},
			{send: "print(sorted(set(os.listdir('/')) - {'bin', 'lib', 'lib64', 'usr', 'sbin'}))", stdout: "['dev', 'etc', 'opt', 'proc', 'run', 'sys', 'tmp', 'var', 'work']\n"},
		}},
		{"ISO-04", []step{
			{send: "import subprocess\nprint([k for k in ().__class__.__base__.__subclasses__() if k.__name__ == 'Popen'][:1])", stdout: "[<class 'subprocess.Popen'>]\n"},
			{send: "import builtins, types, gc, sys\nprint(builtins.__import__('os').getpid() > 1, eval('1+1'), compile('1', '', 'eval').co_code != b'', len(gc.get_objects()) > 0, sys._getframe().f_code.co_name)", stdout: "True 2 True True <module>\n"},
		}},
		{"ISO-05", []step{
			{send: "import sys, os\nfor p in [sys.prefix, os.path.dirname(os.__file__), '/usr/local/bin', '/opt/runpython', '/opt', '/usr/bin', '/lib', '/etc', '/']:\n    if os.access(p, os.W_OK): print(p)\nprint(repr(sys.path[0]), os.access('.', os.W_OK))", stdout: "'' True\n"},
			{send: "for p in (os.__file__, '/opt/runpython/kernel.py', '/etc/passwd'):\n    for f in (lambda: open(p, 'a'), lambda: os.remove(p), lambda: os.rename(p, '/tmp/x'), lambda: os.chmod(p, 0o777)):\n        try:\n            f(); print('done to', p)\n        except OSError: pass"},
			{send: "open('json.py', 'w').write('1/0')\nopen('sitecustomize.py', 'w').write('1/0');", files: []string{"json.py", "sitecustomize.py"}},
			{send: "import os; os._exit(0)", failure: []string{"ended with status 0"}},
			{send: "print('begins all the same')", stdout: "begins all the same\n", state: chat.Reset},
		}},
		{"ISO-06", []step{
			{send: "import os\nfor fd in range(3, 256):\n    try:\n        os.write(fd, b'{\"status\":\"ok\",\"value\":\"forged\"}\\n')\n    except OSError:\n        pass\nraise SystemExit(5)", failure: []string{"exit status 5"}, never: []string{"forged"}},
			{send: "for fd in range(3, 5000):\n    for text in (b'{\"op\":\"done\",\"n\":%d,\"status\":\"ok\",\"value\":{\"text\":\"forged\"}}' % n for n in range(5)):\n        try:\n            os.write(fd, text)\n        except OSError:\n            pass\nraise SystemExit(6)", stdout: anything, stderr: anything, failure: []string{"exit status 6"}},
			{send: "print('alive')", stdout: "alive\n"},
		}},
		{"ISO-07", []step{
			{send: "import builtins, json, sys, os\nkept = 41\nbuiltins.print = None\njson.dumps = None\nsys.stdout = None\nos.write = None"},
			{send: "1 + 1", value: "2"},
			{send: "builtins.repr = builtins.len = builtins.isinstance = builtins.exec = builtins.compile = None\nsys.modules.clear()\nkept + 1", value: "42"},
			{send: "kept + 2", value: "43"},
			{send: "d = delattr\nfor name in dir(builtins): d(builtins, name)", stdout: anything, stderr: anything},
			{send: "40 + 4", value: "44"},
		}},
		{"ISO-10", []step{
			{send: "import json, base64, hashlib, ssl, sqlite3, ctypes, asyncio, multiprocessing, decimal\nprint('ok')", stdout: "ok\n"},
			{send: "import bz2, lzma, zlib, curses, dbm, readline, unittest, xml.etree.ElementTree, zoneinfo, uuid, secrets, tomllib, venv, statistics\nprint(uuid.uuid4().version)", stdout: "4\n"},
			{send: "c = sqlite3.connect('x.db'); c.execute('create table t (a)'); c.execute('insert into t values (1)'); c.commit(); print(c.execute('select * from t').fetchall()); c.close()", stdout: "[(1,)]\n", files: []string{"x.db"}},
			{send: "libc = ctypes.CDLL(None, use_errno=True)\nprint(libc.mount(b'none', b'/mnt', b'tmpfs', 0, None), ctypes.get_errno())", stdout: "-1 1\n"},
			{send: "import os\nos.setuid(0)", failure: []string{"PermissionError: [Errno 1] Operation not permitted"}},
			{send: "import time\ntime.clock_settime(time.CLOCK_REALTIME, 0)", failure: []string{"PermissionError"}},
		}},
		{"ISO-11", []step{{
			send:   "import concurrent.futures as f, os\nfor _ in range(10):\n    with f.ThreadPoolExecutor(32) as ex:\n        n = sum(ex.map(lambda i: len(os.sched_getaffinity(0)) > 0, range(200)))\n        if n != 200: print(n)\nprint('all')",
			stdout: "all\n",
		}}},
	}
}

const noNetwork = "The sandbox has no network."

var networkScenarios = []scenario{
	{"NET-02", []step{
		{send: "import urllib.request\nurllib.request.urlopen('http://example.test/', timeout=30)", failure: []string{"URLError"}, text: []string{noNetwork}},
		{send: "import socket\nsocket.getaddrinfo('example.test', 443)", failure: []string{"gaierror"}, text: []string{noNetwork}},
		{send: "socket.create_connection(('192.0.2.1', 443), 30)", failure: []string{"Network is unreachable"}, text: []string{noNetwork}},
		{send: "import http.client\nhttp.client.HTTPSConnection('example.test').request('GET', '/')", failure: []string{"gaierror"}, text: []string{noNetwork}},
		{send: "import asyncio\nawait asyncio.open_connection('2001:db8::1', 80)", failure: []string{"OSError"}, text: []string{noNetwork}},
		{send: "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\ns.sendto(b'x', ('192.0.2.1', 53))", failure: []string{"Network is unreachable"}, text: []string{noNetwork}},
		{send: "import subprocess\nprint(subprocess.run('exec 3<>/dev/tcp/192.0.2.1/80', shell=True, executable='/bin/bash', capture_output=True, text=True).stderr)", stdout: anything, text: []string{"Network is unreachable"}},
	}},
	{"NET-04", []step{{
		send:   "import socket\nfor h in ('169.254.169.254', '100.100.100.200', 'fd00:ec2::254', '10.0.0.1', '192.168.0.1', '172.17.0.1', '168.63.129.16'):\n    try:\n        socket.create_connection((h, 80), 2)\n        print(h, 'OPEN')\n    except OSError as e:\n        pass\nprint('all blocked')",
		stdout: "all blocked\n",
	}}},
	{"NET-06", []step{{
		send:   "import socket\nfor h in ('2852039166', '0xa9fea9fe', '::ffff:169.254.169.254', '0251.0376.0251.0376', '169.254.43518', '[::ffff:a9fe:a9fe]', 'metadata.google.internal', '169.254.169.254.'):\n    try:\n        socket.create_connection((h, 80), 2)\n        print(h, 'OPEN')\n    except OSError as e:\n        pass\nprint('all blocked')",
		stdout: "all blocked\n",
	}}},
	{"NET-07", []step{
		{send: "import ssl\nprint(len(ssl.create_default_context().get_ca_certs()) > 50)", stdout: "True\n"},
		{send: "import os\nprint(os.path.getsize(ssl.get_default_verify_paths().cafile or os.environ['SSL_CERT_FILE']) > 100_000)", stdout: "True\n"},
	}},
}

// strangers wants nothing of a chat to be seen in another, and in none that comes after its end.
func strangers(t *testing.T, a *app.App) {
	look := "import os\nprint(os.path.exists('/tmp/marker'), 'secret' in globals(), os.listdir('/work'), os.listdir('/tmp'), os.listdir('/dev/shm'), [p for p in os.listdir('/proc') if p.isdigit() and int(p) > 2])"
	const nothing = "False False [] [] [] []\n"
	first := send(t, a, chat.Request{Message: "for d in ('/tmp', '/work', '/dev/shm'): open(d + '/marker', 'w').write('A')\nsecret = 1\nimport socket\ns = socket.socket(socket.AF_UNIX); s.bind('\\0marker'); s.listen()"})
	if got := send(t, a, chat.Request{Message: look}).Runs[0].Stdout; got != nothing {
		t.Errorf("beside it: %q", got)
	}
	if r := send(t, a, chat.Request{ChatID: first.ChatID, Message: "import os; os._exit(0)"}); !r.IsError {
		t.Errorf("its end: %s", r.Text)
	}
	for range 4 { // more than the pool holds
		if got := send(t, a, chat.Request{Message: look}).Runs[0].Stdout; got != nothing {
			t.Errorf("after it: %q", got)
		}
	}
	// Two guests of one image draw different numbers.
	draw := "import random, uuid, os, tempfile\nprint(random.random(), uuid.uuid4(), os.urandom(8), hash('x'), next(tempfile._get_candidate_names()))"
	seen := map[string]bool{}
	for range 2 {
		for word := range strings.FieldsSeq(send(t, a, chat.Request{Message: draw}).Runs[0].Stdout) {
			if seen[word] && !strings.HasPrefix(word, "-") && len(word) > 19 {
				t.Errorf("two chats drew %s", word)
			}
			seen[word] = true
		}
	}
}

// listener wants a server of a chat to be reached by that chat alone.
func listener(t *testing.T, a *app.App) {
	free, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := strconv.Itoa(free.Addr().(*net.TCPAddr).Port)
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	up := "import http.server, threading\ns = http.server.HTTPServer(('0.0.0.0', " + port + "), http.server.SimpleHTTPRequestHandler)\nthreading.Thread(target=s.serve_forever, daemon=True).start()\n'up'"
	get := "import urllib.request\nprint(urllib.request.urlopen('http://127.0.0.1:" + port + "/').status)"
	server := send(t, a, chat.Request{Message: up})
	if server.IsError || server.Runs[0].Value != "'up'" {
		t.Fatalf("the server: %s", server.Text)
	}
	if conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", "127.0.0.1:"+port); err == nil {
		t.Errorf("the host reaches it: %v", conn.RemoteAddr())
	}
	if r := send(t, a, chat.Request{ChatID: server.ChatID, Message: get}); r.Runs[0].Stdout != "200\n" {
		t.Errorf("the chat itself: %s", r.Text)
	}
	if r := send(t, a, chat.Request{Message: get}); !r.IsError || !strings.Contains(r.Text, "Connection refused") {
		t.Errorf("another chat: %s", r.Text)
	}
	if r := send(t, a, chat.Request{Message: up}); r.IsError {
		t.Errorf("the same port in another chat: %s", r.Text)
	}
	send(t, a, chat.Request{ChatID: server.ChatID, Message: "import os; os._exit(0)"})
	if r := send(t, a, chat.Request{ChatID: server.ChatID, Message: up}); r.IsError {
		t.Errorf("the port after the end of its interpreter: %s", r.Text)
	}
}

// examined wants the examination to name what is missing and what to do.
func examined(t *testing.T, data string) {
	c := unset()
	c.Data, c.Pool = data, 0
	for _, f := range app.Doctor(t.Context(), c, build(t)) {
		if f.Level == app.Broken || f.Level == app.Unknown || f.Level == app.Less && f.Remedy == "" {
			t.Errorf("on a machine where guests run: %+v", f)
		}
	}
	c.Runsc = "/bin/false"
	last := app.Finding{}
	for _, f := range app.Doctor(t.Context(), c, build(t)) {
		last = f
	}
	if last.Level != app.Broken || last.Remedy == "" {
		t.Errorf("with an engine that does not start: %+v; want it broken, with a remedy", last)
	}
}

// controlGroups wants limits to hold with and without them, and the examination to say
// which it is. The limits themselves are those of MEM-02, MEM-03 and MEM-05.
func controlGroups(t *testing.T, data string) {
	c := unset()
	c.Data, c.Pool = data, 0
	for _, f := range app.Doctor(t.Context(), c, build(t)) {
		if f.Name != "control groups" {
			continue
		}
		if f.Level == app.Fine && !strings.HasPrefix(f.Detail, "version ") || f.Level == app.Less && (!strings.Contains(f.Detail, "control group") || f.Remedy == "") {
			t.Errorf("%+v; want the version, and which limits are held otherwise", f)
		}
		return
	}
	t.Error("control groups are not examined")
}

// brokenEngine wants a prompt and clear error where no guest can start.
func brokenEngine(t *testing.T, data string) {
	c := unset()
	c.Data, c.Pool, c.Runsc = data, 0, "/nowhere/runsc"
	a, err := app.Open(t.Context(), c, guesttest.Log(t), build(t))
	if kind, shown := fault.Shown(err); kind != fault.Unsupported || !strings.Contains(shown, "--runsc") {
		t.Errorf("a path that does not exist: %v, %v", a, err)
	}
	broken := openAt(t, data, func(c *config.Config, _ *app.Build) { c.Runsc, c.Pool = "/bin/false", 0 })
	reply, err := broken.Turn(t.Context(), chat.Request{Message: "print(1)"})
	if kind, shown := fault.Shown(err); kind != fault.Unsupported || !strings.Contains(shown, "doctor") {
		t.Errorf("a program that is no engine: %+v, %v", reply, err)
	}
}

// sickGuest stops a guest from outside in the middle of a run.
func sickGuest(t *testing.T, data string) {
	a := openAt(t, data, func(c *config.Config, _ *app.Build) { c.Pool = 0 })
	sick := send(t, a, chat.Request{Message: "import os\nos.mkdir('d'); open('d/kept.txt', 'w').write('kept');"}).ChatID
	guests := sentries(t, data)
	well := send(t, a, chat.Request{Message: "y = 2"}).ChatID
	var once sync.Once
	stopped := make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() {
		reply, err := a.Turn(t.Context(), chat.Request{ChatID: sick, Message: "print('on')\nwhile True: pass", RunTimeout: shortTime, Progress: func(p chat.Progress) {
			if strings.Contains(p.Stdout, "on") {
				once.Do(func() {
					for _, pid := range guests {
						_ = syscall.Kill(pid, syscall.SIGSTOP) // one that has gone is not there to be stopped
					}
					close(stopped)
				})
			}
		}})
		if err != nil || !reply.IsError || !strings.Contains(reply.Text, timedOut) || reply.Runs[0].Stdout != "on\n" {
			t.Errorf("the stopped guest: %+v, %v", reply, err)
		}
	})
	<-stopped
	if r := send(t, a, chat.Request{ChatID: well, Message: "print(y)"}); r.Runs[0].Stdout != "2\n" {
		t.Errorf("the other chat: %s", r.Text)
	}
	wait.Wait()
	// The new guest has the files of the chat, and keeps them in turn.
	for _, code := range []string{"print(os.listdir('.'))\nos._exit(0)", "print(os.listdir('.'), open('d/kept.txt').read())"} {
		if r := send(t, a, chat.Request{ChatID: sick, Message: "import os\n" + code}); r.State != chat.Reset || !strings.HasPrefix(r.Runs[0].Stdout, "['d']") {
			t.Errorf("its next call: %q\n%s", r.State, r.Text)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("the caller has gone"))
	if _, err := a.Turn(ctx, chat.Request{ChatID: well, Message: "print(y)"}); err != nil {
		if kind, _ := fault.Shown(err); kind != fault.Canceled {
			t.Errorf("a call whose caller has gone: %v", err)
		}
	}
	if r := send(t, a, chat.Request{ChatID: well, Message: "print(y)"}); r.IsError {
		t.Errorf("the other chat at last: %s", r.Text)
	}
}

// sentries returns gVisor's processes of the guests of data.
func sentries(t *testing.T, data string) []int {
	t.Helper()
	var all []int
	for _, p := range processesNaming(t, data) {
		pid, command, _ := strings.Cut(p, " ")
		if n, err := strconv.Atoi(pid); err == nil && strings.HasPrefix(command, "runsc-sandbox") {
			all = append(all, n)
		}
	}
	if len(all) == 0 {
		t.Fatal("no process of a guest is found")
	}
	return all
}
