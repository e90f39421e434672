"""The interpreter in which the code of a chat runs; PROTOCOL.md says what it speaks.

Code of the chat shares this process and may do anything to it. The kernel keeps
going where it can: it refers to nothing that has a name the chat can reach
(pristine.py), no signal strikes it between two steps (interrupts.py), and
whatever a run leaves in disorder is put in order before the next (stage.py).
Where it cannot, the process ends, and init starts another.
"""

from pristine import BUILTINS as __builtins__  # isort: skip

import gc
import posix
import sys
import time
from errno import EBADF, ECONNRESET, EINVAL, ENOTCONN, ENOTSOCK, EPIPE

import departures
import inspecting
import pristine
import quiet
from activity import Activity
from asking import Asking
from awaits import Awaits
from channel import Channel
from display import Display
from interrupts import Interrupts
from lateimports import Finder
from losses import Losses
from memory import give_back
from needs import Needs
from pictures import Pictures
from preloads import preload
from proxied import install_aiohttp
from refusals import install_getpass
from reseed import Seeds
from source import Choice, Sources
from stage import Stage
from supplies import Supplies
from text import bounded, class_name
from tracebacks import RUN_PREFIX, Tracebacks
from workers import Workers
from workfiles import Work

_exit, _getpid, _sleep = posix._exit, posix.getpid, time.sleep
_register_at_fork, _close, _set_inheritable = posix.register_at_fork, posix.close, posix.set_inheritable
_VERSION = sys.version.partition(" ")[0]

#: How often (seconds), and how many times, a host that has gone is looked for: a guest may
#: be checkpointed and restored meanwhile, with another host at the other end.
_HOST_SECONDS, _HOST_TRIES = 0.05, 2400
_HOST_ERRORS = frozenset((ECONNRESET, ENOTCONN, EPIPE))
#: Exit statuses of this process: the host has not come back; the chat has closed the channel, or broken the kernel.
_HOST_GONE, _CHANNEL_LOST, _BROKEN = 0, 71, 72
_CHANNEL_ERRORS = frozenset((EBADF, EINVAL, ENOTSOCK))
_STRUCK = {
    "type": "InterruptedError",
    "message": "an alarm or a thread that the code had set up raised an exception after its end; the value is lost",
    "traceback": "",
}


def serve(fd: int, token: str, options: dict) -> None:
    """Serve the host on the channel fd for ever; never returns."""
    Kernel(fd, token, options).loop()


def _for_ever(step) -> None:
    while True:
        try:
            step()
        except BaseException:
            pass


class Kernel:
    """Takes messages one by one and answers them."""

    def __init__(self, fd: int, token: str, options: dict) -> None:
        _set_inheritable(fd, False)
        self._fd, self._pid, self._forked = fd, _getpid(), False
        self._limit = options.get("value_bytes", 65_536)
        self._tries = 0  # how often the host was not there
        self._put_error = ""  # of the upload under way
        self._unanswered = 0  # the number of a run that has no `done` yet
        self._last = 0  # the number of the last run
        self._can_install = False  # whether the host installs what the run under way imports
        self._channel = Channel(fd, token)
        self._interrupts = Interrupts(options)
        self._pictures = Pictures(options, self._interrupts, self._channel.send)
        self._display = Display(options, self._interrupts, self._pictures)
        self._workers = Workers(bool(options.get("alone")), self._pictures)
        self._seeds = Seeds()
        self._finder = Finder(self._hooks())
        self._tracebacks = Tracebacks(self._limit, self._interrupts, self._finder)
        self._awaits = Awaits(self._interrupts, self._finder, self._pictures)
        self._work = Work(options.get("work", "/work"), options.get("files_limit", 10_000))
        self._activity = Activity()
        self._losses = Losses()
        spaces, files = pristine.withdraw()
        self._asking = Asking(self._interrupts, self._channel)
        self._stage = Stage(options, self._interrupts, self._asking, fd)
        self._sources = Sources(self._stage.names, self._interrupts)
        needs = Needs(self._stage.names, options.get("work", "/work"))
        self._supplies = Supplies(needs, self._interrupts, self._channel, self._pictures.note)
        self._tracebacks.own(files)
        self._interrupts.install(spaces, self._stage.streams.flush)
        self._finder.install()
        self._finder.present()
        self._activity.install()
        self._losses.install()
        self._stage.streams.flush_at_fork()
        departures.install(pristine.MODULES["os"], self._stage.streams.flush)
        quiet.install((RUN_PREFIX, options.get("work", "/work") + "/"))
        _register_at_fork(after_in_child=self._in_child)
        self._answers = {
            "hello": self._hello, "preload": self._preload, "run": self._run, "get": self._get, "put": self._put,
            "remove": self._remove,
        }  # fmt: skip
        gc.freeze()  # what is here now stays: never looked at again, its pages shared with the image

    def _hooks(self) -> dict:
        return {
            "PIL.Image": self._pictures.install,
            "aiohttp.client": install_aiohttp,
            "altair": self._display.webplots.install_altair,
            "getpass": install_getpass,
            "inspect": inspecting.install,
            "matplotlib.pyplot": self._display.figures.install,
            "multiprocessing.context": self._workers.install,
            "pandas": self._display.tables.install,
            "numpy.random": self._seeds.install_numpy,
            "plotly.io._renderers": self._display.webplots.install_plotly,
            "random": self._seeds.install_random,
            "subprocess": self._workers.install_options,
        }

    def loop(self) -> None:
        """Answer messages for ever.

        A signal handler of the chat, or an exception that one of its threads throws at
        this one, can strike anywhere, in the clause that catches the last one as well.
        Three loops around each other leave nothing that a storm of them would hit.
        """
        _for_ever(lambda: _for_ever(lambda: _for_ever(self._turn)))

    def _turn(self) -> None:
        if self._unanswered:  # the run was struck after its end
            self._stage.after()
            self._stage.end()
            self._answer(self._outcome(self._unanswered, "error") | {"error": _STRUCK})
        try:
            header, body = self._channel.receive()
        except (EOFError, OSError) as error:
            self._without_host(error)
            return
        self._tries = 0
        answer = self._answers.get(header.get("op"))
        if answer is not None:
            answer(header, body)

    def _hello(self, header: dict, body: bytes) -> None:
        restored = bool(header.get("restored"))
        try:
            self._interrupts.call(self._seeds.renew, header.get("seed", ""), restored)
        except Exception:  # modules of the chat's own with those names
            pass
        seen = self._activity.seen
        if restored:
            self._stage.streams.flush()  # what could not be printed when the host had gone is of no later run
            self._work.recognize(bool(header.get("unheard")))
        else:
            self._work.baseline()
        self._activity.seen = seen  # what the kernel does itself is nothing that the chat has written
        self._channel.send({"op": "hello", "python": _VERSION, "pid": self._pid, "n": self._last})

    def _preload(self, header: dict, body: bytes) -> None:
        self._pictures.begin(0)
        problems = preload(header["modules"], self._hooks(), self._display.figures.warm)
        self._stage.after()
        self._stage.flush()
        self._stage.end()
        self._channel.send({"op": "preloaded", "problems": problems})

    def _get(self, header: dict, body: bytes) -> None:
        self._work.get(self._channel, header["id"], header["paths"], header["limit"])

    def _put(self, header: dict, body: bytes) -> None:
        if header["first"]:
            self._put_error = ""
        if not self._put_error:
            self._put_error = self._work.put(header["path"].encode("latin-1"), body, header["first"], header["last"])
        if header["last"]:
            self._channel.send({"op": "put", "id": header["id"], "error": self._put_error})

    def _remove(self, header: dict, body: bytes) -> None:
        kept = [path for path in header["paths"] if self._work.remove(path.encode("latin-1"))]
        self._channel.send({"op": "remove", "id": header["id"], "kept": kept})

    def _run(self, header: dict, body: bytes) -> None:
        n = self._unanswered = self._last = header["n"]
        done = self._outcome(n, "ok")
        self._asking.begin(n, header.get("asks", 0))
        self._interrupts.begin()
        try:
            self._perform(header, done)
        except BaseException as error:
            if isinstance(error, (NameError, AttributeError, KeyError)) and error is not self._interrupts.raised:
                _exit(_BROKEN)  # no exception of the chat's: it has emptied what the kernel consists of
            self._fail(done, error)
        self._leave_if_child(None)
        struck = isinstance(self._interrupts.raised, MemoryError)
        self._interrupts.end()
        self._asking.end()
        if struck:
            give_back()
        self._stage.end()
        if self._activity.seen:
            self._workers.end()
            done["files"] = self._work.changes()
            self._spoil(done, self._work.excess())
        self._spoil(done, self._losses.take())
        self._pictures.end()
        done["notes"] = self._pictures.notes
        self._answer(done)

    def _answer(self, done: dict) -> None:
        try:
            for stream, text in self._stage.streams.take_late():
                self._channel.send({"op": "late", "stream": stream}, text.encode("utf-8", "backslashreplace"))
            self._channel.send(done)
        except OSError as error:
            self._without_host(error)
        self._unanswered = 0

    def _without_host(self, error: OSError | EOFError) -> None:
        """Wait a little for a host that has gone, and end where none can come. Raises what is not of the channel."""
        if isinstance(error, OSError) and error.errno not in _HOST_ERRORS:
            if error.errno in _CHANNEL_ERRORS:
                _exit(_CHANNEL_LOST)
            raise error
        self._tries += 1
        if self._tries > _HOST_TRIES:
            _exit(_HOST_GONE)
        _sleep(_HOST_SECONDS)

    @staticmethod
    def _outcome(n: int, status: str) -> dict:
        return {
            "op": "done", "n": n, "status": status, "chosen": 0, "value": None, "table": None, "error": None,
            "exit": None, "exit_message": "", "notes": [], "files": None,
        }  # fmt: skip

    def _perform(self, header: dict, done: dict) -> None:
        """Choose, run and show. Raises an interrupt that struck between these."""
        n = header["n"]
        self._can_install = bool(header.get("packages"))
        self._pictures.begin(n)
        self._stage.before()
        self._finder.install()
        choice = self._sources.choose(n, header.get("candidates") or [])
        if choice is None:
            done["status"] = "not_code"
            return
        done["chosen"] = choice.index
        if choice.error is not None:
            self._fail(done, choice.error)
            return
        if "changed" in header:
            self._supplies.refresh(header["changed"])
        if choice.imports is not None and self._can_install:
            self._interrupts.call(self._supplies.fetch, n, choice.imports)
        self._stage.notice(choice.source)
        self._activity.notice(choice.source)
        self._tracebacks.notice(choice.source)
        try:
            try:
                value = self._execute(choice)
            finally:
                self._stage.after()
        except BaseException as error:
            self._leave_if_child(error)
            self._fail(done, error)
        else:
            self._leave_if_child(None)
            if value is not None and not choice.hidden:
                self._show(value, done)
        for part in (self._awaits.end, self._display.figures.end, self._workers.close_pools, self._stage.flush):
            try:
                self._interrupts.call(part)
            except BaseException as error:
                if error is not self._interrupts.raised:  # modules of the chat's own in the place of libraries
                    self._pictures.note(f"what the code left was not all looked after: {class_name(type(error))}")
                elif done["status"] == "ok":
                    self._fail(done, error)

    def _execute(self, choice: Choice) -> object:
        names = self._stage.names
        if choice.awaits:
            return self._awaits.run(choice.body, choice.last, names)
        if choice.body is not None:
            self._interrupts.call(exec, choice.body, names)
        if choice.last is not None:
            return self._interrupts.call(eval, choice.last, names)
        return None

    def _show(self, value: object, done: dict) -> None:
        names = self._stage.names
        if names.get("_", self._shown) is self._shown:
            names["_"] = self._shown = value
        try:
            done["value"], done["table"] = self._display.describe(value)
        except BaseException as error:
            self._fail(done, error)
            done["error"]["message"] = f"{done['error']['message']} (while the value was being shown)".lstrip()

    _shown: object = None

    def _fail(self, done: dict, error: BaseException) -> None:
        """Make done tell of an exception."""
        if isinstance(error, SystemExit):
            done["status"] = "exit"
            done["exit"], done["exit_message"] = self._exit_status(error)
            return
        done["status"] = "error"
        done["error"] = self._tracebacks.report(error)
        for sentence in self._tracebacks.lacks(error, self._can_install):
            self._pictures.note(sentence)
        error.__traceback__ = None if error is self._interrupts.raised else error.__traceback__

    def _spoil(self, done: dict, error: dict[str, str] | None) -> None:
        """Make done, if it tells of success, tell of an error that the code was not told."""
        if error is None:
            return
        if done["status"] == "ok" or done["status"] == "exit" and not done["exit"]:
            done["status"], done["error"], done["exit"] = "error", error, None
        else:
            self._pictures.note(error["message"])

    def _exit_status(self, error: SystemExit) -> tuple[int, str]:
        """Return what the interpreter would make of the argument of sys.exit."""
        try:
            code = self._interrupts.call(getattr, error, "code")
        except BaseException:
            return 1, ""
        if code is None:
            return 0, ""
        if isinstance(code, int):
            return int(code) & 0xFF, ""
        text = self._tracebacks.message(code)
        return 1, bounded(text, self._limit)[0]

    def _in_child(self) -> None:
        """After a fork, in the child: it is no kernel."""
        self._forked = True
        self._asking.after_fork()
        self._stage.streams.after_fork()
        try:
            _close(self._fd)
        except OSError:  # the chat has closed it
            pass

    def _leave_if_child(self, error: BaseException | None) -> None:
        """End a child process that has come to the end of the chat's code, as a program ends there."""
        if not self._forked and ("_ctypes" not in pristine.MODULES or _getpid() == self._pid):
            return
        status, text = 0, ""
        try:
            if isinstance(error, SystemExit):
                status, text = self._exit_status(error)
            elif error is not None:
                status, text = 1, self._tracebacks.report(error)["traceback"]
            if text and sys.stderr is not None:
                sys.stderr.write(text.rstrip("\n") + "\n")
            self._stage.streams.flush()
        finally:
            _exit(status)
