"""From texts that may be code to code objects: choosing, compiling, remembering the source.

Each run has a file name of its own, `<run 3>`, under which `linecache` holds its
lines: tracebacks, `inspect.getsource` and warnings find them there.
"""

from pristine import BUILTINS as __builtins__  # isort: skip

import _ast
import linecache
import sys

import imports
from interrupts import Interrupts
from pristine import BUILTINS
from tracebacks import RUN_PREFIX

_TREE = _ast.PyCF_ONLY_AST
_AWAIT = _ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
#: Flags of `from __future__ import …`, which go on for the runs that follow, as in a notebook.
_FUTURE = 0x1FE0000
_COROUTINE = 0x80

#: Sources that are remembered: so many, of so many characters in all.
_SOURCES = 1_000
_CHARACTERS = 4 << 20

_NOT_CODE = (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError)
_GROUPS = (_ast.Tuple, _ast.List, _ast.Set)


class Choice:
    """The candidate that is to be run."""

    def __init__(self, index: int, source: str) -> None:
        self.index = index
        self.source = source
        self.body = None  # all statements but the last expression
        self.last = None  # the last expression
        self.hidden = False  # a semicolon follows it
        self.imports: imports.Imports | None = None  # what it imports, None for nothing
        self.error: BaseException | None = None  # why it does not compile

    @property
    def awaits(self) -> bool:
        """Whether it has an await outside of any function."""
        return any(code is not None and code.co_flags & _COROUTINE for code in (self.body, self.last))


class Sources:
    """Compiles the runs of one chat."""

    def __init__(self, names: dict[str, object], interrupts: Interrupts) -> None:
        self._names = names
        self._interrupts = interrupts
        self._future = 0
        self._sizes: dict[str, int] = {}
        self._total = 0

    def choose(self, n: int, candidates: list[dict]) -> Choice | None:
        """Return the candidate of run n to run, or None if none is code. Raises only an interrupt."""
        fallback = None
        for index, candidate in enumerate(candidates):
            source = candidate["code"].removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
            choice = Choice(index, source)
            quiet = _Collector() if len(candidates) > 1 else None
            try:
                if self._compile(n, choice, bool(candidate.get("must_act")), quiet):
                    return choice
            except _NOT_CODE as error:
                if error is self._interrupts.raised:
                    raise
                if fallback is None and candidate.get("run_anyway"):
                    choice.error = error
                    fallback = choice
        if fallback is not None:
            self._remember(f"{RUN_PREFIX}{n}>", fallback.source)
            _show_line(fallback)
        return fallback

    def _compile(self, n: int, choice: Choice, must_act: bool, quiet: "_Collector | None") -> bool:
        """Fill choice; return False if it does nothing but must. Raises what compile raises."""
        name = f"{RUN_PREFIX}{n}>"
        self._remember(name, choice.source)
        stderr = sys.stderr
        if quiet is not None:
            sys.stderr = quiet
        try:
            tree = self._interrupts.call(compile, choice.source, name, "exec", _TREE | _AWAIT | self._future, True)
            if must_act and not any(self._acts(statement) for statement in tree.body):
                return False
            choice.imports = self._interrupts.call(imports.collect, choice.source, tree)
            self._split(tree, choice, name)
        finally:
            if quiet is not None:
                sys.stderr = stderr
        if quiet is not None and stderr is not None:
            stderr.write("".join(quiet.texts))  # warnings of the one that is run
        return True

    def _split(self, tree, choice: Choice, name: str) -> None:
        flags = _AWAIT | self._future
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], _ast.Expr) else None
        if tree.body or last is None:
            choice.body = self._interrupts.call(compile, tree, name, "exec", flags, True)
            self._future |= choice.body.co_flags & _FUTURE
            flags |= self._future
        if last is not None:
            choice.hidden = _is_hidden(choice.source, last)
            choice.last = self._interrupts.call(compile, _ast.Expression(last.value), name, "eval", flags, True)

    def _remember(self, name: str, source: str) -> None:
        """Give linecache the lines, and let go of the oldest."""
        cache = linecache.cache
        if not isinstance(cache, dict):
            cache = linecache.cache = {}
        lines = [line + "\n" for line in source.split("\n")]
        cache[name] = (len(source), None, lines, name)
        self._total += len(source) - self._sizes.pop(name, 0)
        self._sizes[name] = len(source)
        while len(self._sizes) > 1 and (len(self._sizes) > _SOURCES or self._total > _CHARACTERS):
            oldest = next(iter(self._sizes))
            self._total -= self._sizes.pop(oldest)
            cache.pop(oldest, None)

    def _acts(self, statement) -> bool:
        """Report whether a statement does something.

        Prose can parse as Python: `hello`, `Note: this`, `yes or no`, `example.com`.
        A lone name or constant does nothing, nor do groups of such and annotations.
        Attributes and the operators that are words count if all the names in them
        exist; every other operation counts, unless it is compared by `is` with a
        name that does not exist, as in `what is 2+2`.
        """
        if isinstance(statement, _ast.AnnAssign):
            return statement.value is not None
        if not isinstance(statement, _ast.Expr):
            return True
        if self._is_question(statement.value):
            return False
        names: list[str] = []
        worded = _operator_free(statement.value, names)
        if worded is None:
            return True
        return worded and all(self._exists(name) for name in names)

    def _is_question(self, expression) -> bool:
        """Report whether an expression begins with a name that does not exist and `is`."""
        if not isinstance(expression, _ast.Compare) or not isinstance(expression.ops[0], _IS):
            return False
        return isinstance(expression.left, _ast.Name) and not self._exists(expression.left.id)

    def _exists(self, name: str) -> bool:
        return name in self._names or name in BUILTINS


def _operator_free(expression, names: list[str]) -> bool | None:
    """Collect the names of an expression of names, constants, groups, attributes and operators that are words.

    Return whether it has one of the latter two, or None for any other expression.
    """
    worded, todo = False, [expression]
    while todo:
        node = todo.pop()
        if isinstance(node, _ast.Name):
            names.append(node.id)
        elif isinstance(node, _GROUPS):
            todo += node.elts
        elif isinstance(node, _ast.Dict):
            todo += (item for item in (*node.keys, *node.values) if item is not None)
        elif isinstance(node, (_ast.Attribute, _ast.Starred)):
            worded = worded or isinstance(node, _ast.Attribute)
            todo.append(node.value)
        elif isinstance(node, _ast.BoolOp):
            worded = True
            todo += node.values
        elif isinstance(node, _ast.Compare) and all(isinstance(operator, _WORDS) for operator in node.ops):
            worded = True
            todo += (node.left, *node.comparators)
        elif isinstance(node, _ast.UnaryOp):
            worded = worded or isinstance(node.op, _ast.Not)
            if not isinstance(node.op, _ast.Not) and not isinstance(node.operand, _ast.Constant):
                return None
            todo.append(node.operand)
        elif not isinstance(node, _ast.Constant):
            return None
    return worded


_IS = (_ast.Is, _ast.IsNot)
_WORDS = (_ast.In, _ast.NotIn, *_IS)


def _is_hidden(source: str, last) -> bool:
    """Report whether a semicolon follows the last expression: a notebook's sign that its value is not wanted.

    After an expression statement only a semicolon, a comment or the end can follow.
    """
    if ";" not in source:
        return False
    lines = source.split("\n")[last.end_lineno - 1 :]
    lines[0] = lines[0].encode("utf-8", "surrogatepass")[last.end_col_offset :].decode("utf-8", "surrogatepass")
    return "\n".join(lines).lstrip(" \t\f\\\n").startswith(";")


def _show_line(choice: Choice) -> None:
    """Add the line of source to a SyntaxError of a later stage than the parser, which has none."""
    error = choice.error
    if isinstance(error, SyntaxError) and error.text is None and isinstance(error.lineno, int):
        lines = choice.source.split("\n")
        if 0 < error.lineno <= len(lines):
            error.text = lines[error.lineno - 1] + "\n"


class _Collector:
    """Stands in for stderr while candidates are tried, so that no warning of a text that is not run is shown."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def write(self, text: str) -> int:
        self.texts.append(text)
        return len(text)

    def flush(self) -> None:
        """Nothing is buffered."""
