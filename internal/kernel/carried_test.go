package kernel_test

import (
	"testing"

	"runpython/internal/extent"
	"runpython/internal/guesttest"
)

// carried says what comes back from a checkpoint: code before it, an expression after it, and its value, both in the
// guest that is restored and in the one that was left running. docs/state.md is the same table for people.
var carried = []struct{ name, before, after, want string }{
	{"values", "v = {'a': [1, 2.5, 'x', b'y'], 'big': 3**1000, 'none': None}; v['self'] = v", "v['self'] is v, v['big'] == 3**1000, v['a']", "(True, True, [1, 2.5, 'x', b'y'])"},
	{"functions and classes", "def outer():\n    n = 0\n    def inner():\n        nonlocal n\n        n += 1\n        return n\n    return inner\ncount = outer(); count()\nclass C:\n    def m(self): return type(self).__name__", "count(), C().m()", "(2, 'C')"},
	{"generators", "def numbers():\n    for i in range(5): yield i\ng = numbers(); next(g); next(g)", "next(g), list(g)", "(2, [3, 4])"},
	{"modules and settings", "import os, sys, warnings, decimal, locale\nos.environ['KEY'] = 'v'; os.makedirs('/work/deep', exist_ok=True); os.chdir('/work/deep'); decimal.getcontext().prec = 7; sys.path.append('/nowhere')", "os.environ['KEY'], os.getcwd(), decimal.getcontext().prec, '/nowhere' in sys.path, os.chdir('/work')", "('v', '/work/deep', 7, True, None)"},
	{"open files", "f = open('/work/open.txt', 'w+'); f.write('abcdef'); f.flush(); f.seek(2)", "f.read(), f.closed", "('cdef', False)"},
	{"text not yet flushed", "u = open('/work/unflushed.txt', 'w'); u.write('here')", "u.flush(), open('/work/unflushed.txt').read()", "(None, 'here')"},
	{"open files that were deleted", "d = open('/work/gone.txt', 'w+'); d.write('still'); d.flush(); os.remove('/work/gone.txt')", "d.seek(0), d.read(), os.path.exists('/work/gone.txt')", "(0, 'still', False)"},
	{"temporary files", "import tempfile\nt = tempfile.NamedTemporaryFile('w+'); t.write('tmp'); t.flush(); td = tempfile.mkdtemp()", "open(t.name).read(), os.path.isdir(td)", "('tmp', True)"},
	{"times, modes and links of files", "open('/work/old', 'w').close(); os.utime('/work/old', (1, 2)); os.chmod('/work/old', 0o640); os.symlink('old', '/work/link')", "os.stat('/work/old').st_mtime, oct(os.stat('/work/old').st_mode), os.readlink('/work/link')", "(2.0, '0o100640', 'old')"},
	{"mapped files", "import mmap\nm = open('/work/mapped', 'w+b'); m.write(b'.' * 4096); m.flush(); mm = mmap.mmap(m.fileno(), 4096); mm[:3] = b'abc'", "mm[:4], mm.flush(), open('/work/mapped', 'rb').read(4)", "(b'abc.', None, b'abc.')"},
	{"shared memory", "am = mmap.mmap(-1, 4096); am[0] = 7; open('/dev/shm/s', 'wb').write(b'shm')", "am[0], open('/dev/shm/s', 'rb').read()", "(7, b'shm')"},
	{"sqlite3 in a file, in a transaction", "import sqlite3\ndb = sqlite3.connect('/work/a.db'); _ = db.execute('create table t(x)'); db.commit(); _ = db.execute('insert into t values (1)')", "db.in_transaction, db.execute('select x from t').fetchall(), db.rollback(), db.execute('select x from t').fetchall()", "(True, [(1,)], None, [])"},
	{"sqlite3 in memory, a cursor", "md = sqlite3.connect(':memory:'); _ = md.execute('create table t(x)'); _ = md.executemany('insert into t values (?)', [(1,), (2,), (3,)]); cur = md.execute('select x from t order by x'); _ = cur.fetchone()", "cur.fetchall(), md.total_changes", "([(2,), (3,)], 3)"},
	{"threads", "import threading, queue, time\nq, out = queue.Queue(), queue.Queue()\ndef work():\n    while True: out.put(q.get() * 2)\nth = threading.Thread(target=work, daemon=True); th.start(); lock = threading.Lock(); lock.acquire()", "q.put(21), out.get(timeout=20), th.is_alive(), lock.locked()", "(None, 42, True, True)"},
	{"threads that sleep", "woke = threading.Event()\n_ = threading.Timer(0.2, woke.set).start()", "woke.wait(20)", "True"},
	{"executors of threads", "from concurrent.futures import ThreadPoolExecutor\nex = ThreadPoolExecutor(2); ex.submit(int, 1).result()", "ex.submit(pow, 2, 10).result(20)", "1024"},
	{"processes are ended with their run", "import subprocess\np = subprocess.Popen(['sleep', '1000'])", "p.wait(20)", "-9"},
	{"new processes", "", "subprocess.run(['echo', 'new'], capture_output=True).stdout", "b'new\\n'"},
	{"pipes", "r, w = os.pipe(); os.write(w, b'in it')", "os.read(r, 10), os.write(w, b'x'), os.read(r, 1)", "(b'in it', 1, b'x')"},
	{"pairs of sockets", "import socket\nsa, sb = socket.socketpair(); sa.send(b'in it')", "sb.recv(10), sa.send(b'x'), sb.recv(1)", "(b'in it', 1, b'x')"},
	{"a socket that listens, on the loopback", "sl = socket.create_server(('127.0.0.1', 0))", "(lambda c, a: (c.send(b'x'), a.recv(1)))(socket.create_connection(sl.getsockname(), 20), sl.accept()[0])", "(1, b'x')"},
	{"a selector", "import select\nep = select.epoll(); ep.register(r, select.EPOLLIN)", "os.write(w, b'x'), len(ep.poll(20)), os.read(r, 1)", "(1, 1, b'x')"},
	{"asyncio loops and what is in them", "import asyncio\nloop = asyncio.new_event_loop(); aq = asyncio.Queue(); loop.run_until_complete(aq.put(5))", "loop.run_until_complete(aq.get()), loop.run_until_complete(asyncio.sleep(0.01, 'slept'))", "(5, 'slept')"},
	{"await", "import asyncio\nevent = asyncio.Event()\nawait asyncio.sleep(0)", "await asyncio.sleep(0.01, 'awaited')", "'awaited'"},
	{"callbacks of ctypes", "import ctypes\nback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(lambda n: n + 1); buf = ctypes.create_string_buffer(b'abc')", "back(41), buf.value", "(42, b'abc')"},
	{"random numbers of a seed", "import random\nrandom.seed(1); first = random.random()\nrandom.seed(1)", "random.random() == first", "True"},
	{"generators of random numbers that code holds", "mine = random.Random(3); again = random.Random(3)", "mine.random() == again.random()", "True"},
	{"archives and compressors", "import gzip, zlib\ngz = gzip.open('/work/a.gz', 'wb'); gz.write(b'abc'); co = zlib.compressobj(); half = co.compress(b'abc')", "gz.close(), gzip.open('/work/a.gz').read(), zlib.decompress(half + co.flush())", "(None, b'abc', b'abc')"},
}

// carriedByLibraries is the same for packages.
var carriedByLibraries = []struct{ name, before, after, want string }{
	{"numpy", "import numpy as np\na = np.arange(6).reshape(2, 3); mm = np.memmap('/work/m', dtype='i4', mode='w+', shape=4); mm[0] = 7", "int(a.sum()), int(mm[0]), bool(np.allclose(np.eye(300) @ np.ones(300), 1))", "(15, 7, True)"},
	{"numpy's random numbers of a seed", "np.random.seed(1); first = np.random.random()\nnp.random.seed(1); rng = np.random.default_rng(5); same = np.random.default_rng(5)", "bool(np.random.random() == first), bool(rng.random() == same.random())", "(True, True)"},
	{"pandas", "import pandas as pd\ndf = pd.DataFrame({'k': list('aab'), 'v': [1, 2, 3]}); gb = df.groupby('k')", "gb['v'].sum().to_dict(), df.dtypes['v'].name", "({'a': 3, 'b': 3}, 'int64')"},
	{"matplotlib", "import matplotlib.pyplot as plt, io\nfrom matplotlib.figure import Figure\nfig = Figure(); _ = fig.subplots().plot([1, 2])", "(lambda o: (fig.savefig(o), o.getvalue()[:4]))(io.BytesIO())[1]", "b'\\x89PNG'"},
	{"Pillow", "from PIL import Image\nim = Image.new('RGB', (3, 2), 'red')", "im.size, im.getpixel((1, 1))", "((3, 2), (255, 0, 0))"},
	{"polars", "import polars as pl\npf = pl.DataFrame({'a': [1, 2]})", "pf.select(pl.col('a').sum()).item()", "3"},
}

// Issue 7, item 6.
func TestWhatACheckpointCarries(t *testing.T) {
	extent.Long(t)
	s := guesttest.NewSetup(t)
	carry(t, s, carried)
}

func TestWhatACheckpointCarriesOfLibraries(t *testing.T) {
	s := guesttest.NewSetup(t)
	s.Config.Environment = guesttest.Wheels(t)
	s.Config.Limits.MemoryBytes = 1 << 30
	carry(t, s, carriedByLibraries)
}

func carry(t *testing.T, s *guesttest.Setup, table []struct{ name, before, after, want string }) {
	t.Helper()
	h := s.Open(t)
	k := s.Kernel(t, h, 0)
	for _, c := range table {
		if r := execute(t, k, c.before+"\nNone"); r.Error != nil {
			t.Fatalf("%s: %+v", c.name, r.Error)
		}
	}
	dir := stored(t, s)
	save(t, k, dir)
	again := s.Resume(t, h, dir)
	for _, c := range table {
		t.Run(c.name, func(t *testing.T) {
			if got := evaluate(t, again, c.after); got != c.want {
				t.Errorf("restored: %s is %s, want %s", c.after, got, c.want)
			}
			if got := evaluate(t, k, c.after); got != c.want {
				t.Errorf("left running: %s is %s, want %s", c.after, got, c.want)
			}
		})
	}
}
