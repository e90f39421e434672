"""The imports of a piece of code, read off its syntax tree.

An import counts wherever it stands: in a function, in a branch, as a call of
`__import__` or `import_module` with a literal name. Words in texts and comments do
not, nor relative imports, the standard library, and branches that this interpreter
does not take (`TYPE_CHECKING`, other platforms and versions).

What the code can do without is told apart. In

    try:
        import cupy as xp
    except ImportError:
        import numpy as xp

cupy is optional, and numpy is needed if cupy is absent.
"""

from pristine import BUILTINS as __builtins__  # isort: skip

import _ast
import sys

#: Names taken from one text, of one top-level module, and of one try statement; parts and characters of a name.
_NAMES, _NAMES_OF_ONE, _NAMES_OF_TRY, _PARTS, _CHARACTERS = 500, 32, 32, 5, 200

_STANDARD = sys.stdlib_module_names | frozenset(sys.builtin_module_names)
_VERSION = sys.version_info[:3]
_TEXTS = {"sys.platform": sys.platform, "os.name": "posix"}
_CAUGHT = frozenset(("ImportError", "ModuleNotFoundError", "Exception", "BaseException"))
_EXITS = frozenset(("exit", "quit", "sys.exit", "os._exit"))
_SUPPRESS = frozenset(("suppress", "contextlib.suppress"))
_PATH = frozenset(("sys.path.append", "sys.path.insert"))
_BLOCKS = ("body", "handlers", "orelse", "finalbody", "cases")
_TRIES, _WITHS = (_ast.Try, _ast.TryStar), (_ast.With, _ast.AsyncWith)
#: What only a walk through all expressions finds.
_DEEP = ("__import__", "import_module", "sys.path", ".py'", '.py"')


class Attempt:
    """A try statement that bears the lack of what it imports."""

    def __init__(self) -> None:
        self.imports = False
        self.names: list[str] = []  # those that may be absent


class Place:
    """Where an import stands."""

    def __init__(self, optional: bool = False, when: tuple = (), inside: tuple = ()) -> None:
        self.optional = optional  # the code can do without it
        self.when = when  # (attempt, whether it must have failed) of each that decides if control comes here
        self.inside = inside  # the attempts that it is part of

    def is_reached(self, is_absent) -> bool:
        """Report whether control may come here, if is_absent tells what modules are."""
        return all(
            not attempt.imports or any(map(is_absent, attempt.names)) is failed for attempt, failed in self.when
        )


class Imports:
    """What one text imports."""

    def __init__(self) -> None:
        self.found: dict[tuple[str, Place], None] = {}  # dotted names, in the order of the text
        self.written: set[str] = set()  # modules whose files the code names itself, `helper` of "lib/helper.py"
        self.folders: list[str] = []  # literals that it adds to sys.path
        self._counts: dict[str, int] = {}

    def add(self, name: str, place: Place) -> None:
        """Note one more, unless it is of no interest or there are too many."""
        for attempt in place.inside:
            attempt.imports = True
        parts = name.split(".", _PARTS)[:_PARTS]
        top, name = parts[0], ".".join(parts)
        if top in _STANDARD or len(name) > _CHARACTERS or not all(part.isidentifier() for part in parts):
            return
        for attempt in place.inside:
            if len(attempt.names) < _NAMES_OF_TRY:
                attempt.names.append(name)
        count = self._counts.get(top, 0)
        if (name, place) not in self.found and count < _NAMES_OF_ONE and len(self.found) < _NAMES:
            self.found[name, place] = None
            self._counts[top] = count + 1


def collect(source: str, tree: _ast.Module) -> Imports | None:
    """Return the imports of a text and its tree, or None if it has none."""
    if "import" not in source:
        return None
    imports = Imports()
    _walk(imports, tree, any(sign in source for sign in _DEEP))
    return imports if imports.found else None


def _walk(imports: Imports, tree: _ast.Module, deep: bool) -> None:
    """Visit all statements in their order, and all expressions if deep."""
    todo = [(tree, Place())]
    while todo:
        node, place = todo.pop()
        kind = type(node)
        if kind is _ast.Import:
            for alias in node.names:
                imports.add(alias.name, place)
            continue
        if kind is _ast.ImportFrom:
            if not node.level:
                for alias in node.names:
                    imports.add(node.module if alias.name == "*" else f"{node.module}.{alias.name}", place)
            continue
        if kind is _ast.Call:
            _read_call(imports, node, place)
        elif kind is _ast.Constant:
            _read_constant(imports, node.value)
        below = _parts(node, kind, place)
        if below is None:
            below = _children(node, place, deep)
        below.reverse()
        todo += below


def _children(node, place: Place, deep: bool) -> list:
    fields = vars(node)
    below = []
    for value in fields.values() if deep else map(fields.get, _BLOCKS):
        if type(value) is list:
            below += ((item, place) for item in value if isinstance(item, _ast.AST))
        elif deep and isinstance(value, _ast.AST):
            below.append((value, place))
    return below


def _parts(node, kind: type, place: Place) -> list | None:
    """Return the statements below one that decides about them, each with its place; None below any other."""
    if kind in _TRIES:
        return _parts_of_try(node, place)
    if kind is _ast.If:
        taken = _certain(node.test)
        if taken is not None:
            return [(item, place) for item in (node.body if taken else node.orelse)]
    elif kind in _WITHS and any(_is_suppressing(item.context_expr) for item in node.items):
        return [(item, Place(True, place.when, place.inside)) for item in node.body]
    return None


def _parts_of_try(node, place: Place) -> list | None:
    catching = [handler for handler in node.handlers if _catches(handler.type)]
    if not catching:
        return None
    attempt = Attempt()
    optional = place.optional or not _gives_up(catching[0].body[-1])
    below = [(item, Place(optional, place.when, (*place.inside, attempt))) for item in node.body]
    failed = Place(place.optional, (*place.when, (attempt, True)), place.inside)
    for handler in node.handlers:
        below += ((item, failed if handler in catching else place) for item in handler.body)
    went_well = Place(place.optional, (*place.when, (attempt, False)), place.inside)
    below += ((item, went_well) for item in node.orelse)
    below += ((item, place) for item in node.finalbody)
    return below


def _catches(expression) -> bool:
    """Report whether an except clause catches what a missing module raises."""
    if expression is None:
        return True
    classes = expression.elts if isinstance(expression, _ast.Tuple) else [expression]
    return any(_dotted(item).rpartition(".")[2] in _CAUGHT for item in classes)


def _gives_up(statement) -> bool:
    """Report whether a handler ends the code with its last statement: then it cannot do without the module."""
    if isinstance(statement, _ast.Expr) and isinstance(statement.value, _ast.Call):
        return _dotted(statement.value.func) in _EXITS
    return isinstance(statement, _ast.Raise)


def _is_suppressing(expression) -> bool:
    return (
        isinstance(expression, _ast.Call)
        and _dotted(expression.func) in _SUPPRESS
        and any(_dotted(item) in _CAUGHT for item in expression.args)
    )


def _dotted(expression) -> str:
    """Return the text of a name of up to three parts, or ""."""
    parts: list[str] = []
    while isinstance(expression, _ast.Attribute) and len(parts) < 2:
        parts.append(expression.attr)
        expression = expression.value
    if not isinstance(expression, _ast.Name):
        return ""
    return ".".join((expression.id, *reversed(parts)))


def _certain(test) -> bool | None:
    """Return what a condition is in this interpreter, None if that is not known before it runs."""
    inverted = False
    while isinstance(test, _ast.UnaryOp) and isinstance(test.op, _ast.Not):
        test, inverted = test.operand, not inverted
    if isinstance(test, _ast.Constant):
        return bool(test.value) is not inverted
    if _dotted(test).rpartition(".")[2] == "TYPE_CHECKING":
        return inverted
    if not isinstance(test, _ast.Compare) or len(test.ops) != 1:
        return None
    known = _compare(_dotted(test.left), test.ops[0], test.comparators[0])
    return known if known is None else known is not inverted


def _compare(name: str, operator, other) -> bool | None:
    if name in _TEXTS and isinstance(other, _ast.Constant):
        left, right = _TEXTS[name], other.value
    elif name == "sys.version_info" and isinstance(other, _ast.Tuple):
        left, right = _VERSION, tuple(getattr(item, "value", None) for item in other.elts)
        if not right or len(right) > len(left) or not all(type(number) is int for number in right):
            return None
    else:
        return None
    match operator:
        case _ast.Eq():
            return left == right
        case _ast.NotEq():
            return left != right
        case _ast.Lt() | _ast.LtE() if left is _VERSION:
            return left < right or isinstance(operator, _ast.LtE) and left == right
        case _ast.Gt() | _ast.GtE() if left is _VERSION:
            return left > right or isinstance(operator, _ast.GtE) and left == right
    return None


def _read_call(imports: Imports, call, place: Place) -> None:
    """Take a module that is imported by a call, or a folder that is added to sys.path."""
    name = _dotted(call.func)
    if call.args and (name == "__import__" or name.rpartition(".")[2] == "import_module"):
        text = _text(call.args[0])
        if text:
            imports.add(text, place)
    elif call.args and name in _PATH and len(imports.folders) < _NAMES:
        folder = _text(call.args[-1])
        if folder:
            imports.folders.append(folder)


def _text(expression) -> str:
    """Return a literal text, "" for any other expression."""
    value = expression.value if isinstance(expression, _ast.Constant) else None
    return value if type(value) is str else ""


def _read_constant(imports: Imports, value) -> None:
    """Take the module of a text that ends as the name of a Python file: code that writes one imports it later."""
    if type(value) is not str or not value.endswith(".py") or len(imports.written) >= _NAMES:
        return
    folder, _, file = value[-_CHARACTERS:].removesuffix(".py").rpartition("/")
    imports.written.add(folder.rpartition("/")[2] if file == "__init__" else file)
