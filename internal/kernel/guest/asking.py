"""What code asks the person for: `input()` and the lines of standard input.

The kernel sends the question to the host and reads the channel until the answer
comes; code of the chat waits meanwhile, and an interrupt ends the wait as it ends any
other. What the person types is read as at a terminal: `input()` takes one
line, and further lines of the same answer are there for what is read next.

Only the main thread of the code can ask, since it is the one that reads the channel.
Where nobody can be asked, `input()` says so at once, and standard input is at its end.
"""

from pristine import BUILTINS as __builtins__  # isort: skip

import _io
import _thread
import builtins
import sys

from interrupts import Interrupts
from text import plural

TYPE_CHECKING = False
if TYPE_CHECKING:
    from channel import Channel

_identity = _thread.get_ident
_read_input = __builtins__["input"]
_read, _readline, _readlines = _io.TextIOWrapper.read, _io.TextIOWrapper.readline, _io.TextIOWrapper.readlines

#: Longest prompt that is sent, in bytes: the host takes no longer one.
_PROMPT_BYTES = 4_096

_INSTEAD = "assign the value in the code instead, for example name = 'Ada'"
_NOBODY = f"input() is not available here, nobody can type while the code runs: {_INSTEAD}"
_THREAD = "input() can ask only in the main thread of the code: ask there and pass the value on"
_CHILD = (
    "input() can ask only in the interpreter of the chat, not in a process that it has started:"
    " ask before and pass the value on"
)
_LINE = "The code reads a line of standard input. Decline to end the input."
_ALL = "The code reads all of standard input."


class Unanswered(Exception):
    """There is no answer; its text says why."""


class Asking:
    """Asks for what code reads. Made before any code of the chat runs; only the main thread uses it."""

    def __init__(self, interrupts: Interrupts, channel: "Channel") -> None:
        self._interrupts = interrupts
        self._channel = channel
        self._main = _identity()
        self._flush = lambda: None
        self._child = False
        self._run = 0
        self._most = self._left = 0  # questions that this run may ask, in all and from now on
        self._questions = 0  # asked since the kernel has begun
        self._typed = ""  # and not read yet

    def install(self, flush) -> None:
        """Take the place of `input`. flush is called before each question: what was printed is its context."""
        self._flush = flush
        asking = self

        def input(prompt: object = "", /) -> str:
            return asking.input(prompt)

        input.__qualname__ = "input"
        builtins.input = input

    def begin(self, run: int, most: int) -> None:
        """From now on a run may ask so often."""
        self._run, self._most, self._left, self._typed = run, most, most, ""

    def end(self) -> None:
        """From now on nobody may ask; what was typed and not read is forgotten."""
        self._left, self._typed = 0, ""

    def after_fork(self) -> None:
        """In a child process nobody can ask."""
        self._child, self._typed = True, ""

    def input(self, prompt: object) -> str:
        """Do what the function of that name does. Raises EOFError when there is no answer."""
        if type(sys.stdin) is not Input:  # the code's own, such as a StringIO with the answers
            return _read_input(prompt)
        refusal = self._refusal()
        if refusal:
            raise EOFError(refusal)
        text = str(prompt)
        if text and sys.stdout is not None:
            sys.stdout.write(text)
        try:
            return self.line(text).removesuffix("\n")
        except Unanswered as error:
            raise EOFError(f"input() got no answer, {error}: {_INSTEAD}") from None

    def line(self, prompt: str, size: int = -1) -> str:
        """Return the next line with its newline, or its next size characters. Raises Unanswered."""
        if not self._typed:
            self._ask(prompt)
        end = self._typed.index("\n") + 1
        return self._take(end if size < 0 else min(end, size))

    def all(self, prompt: str, size: int = -1) -> str:
        """Return the next answer with all its lines, or its next size characters. Raises Unanswered."""
        if not self._typed:
            self._ask(prompt)
        return self._take(len(self._typed) if size < 0 else size)

    def is_possible(self) -> bool:
        """Report whether there is something to read, or the person can be asked."""
        return not self._refusal()

    def _refusal(self) -> str:
        """Return why the caller cannot read what the person types, "" if it can."""
        if not self._most:
            return _NOBODY
        if self._child:
            return _CHILD
        if _identity() != self._main:
            return _THREAD
        if not self._left and not self._typed:
            return f"input() got no answer, this run has asked {plural(self._most, 'time')}, the most it may: {_INSTEAD}"
        return ""

    def _take(self, count: int) -> str:
        text, self._typed = self._typed[:count], self._typed[count:]
        self._echo(text)
        return text

    def _echo(self, text: str) -> None:
        """Show what is read in the output, as a terminal does, unless the code keeps its output elsewhere."""
        if sys.stdout is sys.__stdout__ and sys.stdout is not None:
            sys.stdout.write(text)

    def _ask(self, prompt: str) -> None:
        """Wait for the person. Raises Unanswered, and whatever an interrupt raises."""
        self._flush()
        self._left -= 1
        self._questions += 1
        header = {"op": "ask", "n": self._run, "id": self._questions}
        shown = prompt.encode("utf-8", "backslashreplace")[-_PROMPT_BYTES:].decode("utf-8", "ignore")
        self._interrupts.undisturbed(self._channel.send, header, shown.encode("utf-8"))
        while True:
            header, body = self._channel.receive()
            if header.get("op") == "answer" and header.get("id") == self._questions:
                break  # and not the answer to a question that an interrupt has ended
        if header["refused"]:
            raise Unanswered(header["refused"])
        text = body.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
        self._typed = text if text.endswith("\n") else text + "\n"


class Input(_io.TextIOWrapper):
    """Standard input: what the person types, or the end at once where nobody can be asked."""

    def __init__(self, asking: Asking) -> None:
        raw = _io.FileIO(0, "rb", closefd=False)
        raw.name = "<stdin>"
        super().__init__(_io.BufferedReader(raw), encoding="utf-8", errors="surrogateescape")
        self.mode = "r"
        self._asking = asking

    def readline(self, size: int | None = -1, /) -> str:
        """Return a line; "" when there is no answer. Iteration calls this, too."""
        return self._read_typed(self._asking.line, _LINE, _readline, size)

    def read(self, size: int | None = -1, /) -> str:
        """Return an answer with all its lines; "" when there is none."""
        return self._read_typed(self._asking.all, _ALL, _read, size)

    def readlines(self, hint: int | None = -1, /) -> list[str]:
        """Return the lines of an answer; none when there is none."""
        if self.closed or not self._asking.is_possible():
            return _readlines(self, -1 if hint is None else hint)
        return [line + "\n" for line in self.read().split("\n")[:-1]]

    def _read_typed(self, ask, prompt: str, otherwise, size: int | None) -> str:
        size = -1 if size is None else size
        if size == 0 or self.closed or not self._asking.is_possible():
            return otherwise(self, size)
        try:
            return ask(prompt, size)
        except Unanswered:
            return ""
