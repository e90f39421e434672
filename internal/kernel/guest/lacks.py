"""What an exception misses: a program or a library of the system, which no package brings, or a package of a package.

May run code of the chat (a path that is an object of its own), so it is to be called
by `Interrupts.call`.
"""

from pristine import BUILTINS as __builtins__  # isort: skip

import posix
import sys
from errno import ENOENT

from pristine import MODULES
from text import line

#: The loader's words for a library that is not there, after its name.
_NO_LIBRARY = ": cannot open shared object file"
#: How a shell says that it has not found a program.
_NOT_FOUND = 127
_NAME_BYTES = 100
_NONE = "packages bring modules of Python and seldom the programs that they start, and none can be installed here"
#: Programs that come as a package, and where they are then.
_PACKAGED = {
    "ffmpeg": "the package imageio-ffmpeg has one, at imageio_ffmpeg.get_ffmpeg_exe()",
    "pandoc": "the package pypandoc-binary has one, at pypandoc.get_pandoc_path()",
}


def lacking(family: list[BaseException], chat: str, can_install: bool) -> list[str]:
    """Return sentences about what an exception, or one that it came from, has not found.

    chat is what the file names of the chat's own code begin with; can_install says that
    what code imports is installed.
    """
    found: dict[str, None] = {}
    for error in family:
        sentence = _sentence(error)
        if not sentence and can_install:
            sentence = _package(error, chat)
        if sentence:
            found[sentence] = None
    return list(found)


def _sentence(error: BaseException) -> str:
    name = _program(error)
    if name:
        return f"the program {name} is not in the sandbox: " + _PACKAGED.get(name, _NONE)
    if isinstance(error, (ImportError, OSError)):
        name, found, _ = str(error).partition(_NO_LIBRARY)
        if found:
            return (
                f"the library {line(name, _NAME_BYTES)} of the system is not in the sandbox and cannot be installed:"
                " use a package that does without it"
            )
    subprocess = MODULES.get("subprocess")
    if subprocess is not None and isinstance(error, subprocess.CalledProcessError) and error.returncode == _NOT_FOUND:
        return "status 127 is the shell's word for a program that is not in the sandbox, and none can be installed here"
    return ""


def _package(error: BaseException, chat: str) -> str:
    """Word that a package imports a module that it did not bring: often one for which it has an extra."""
    if not isinstance(error, ModuleNotFoundError) or type(error.name) is not str:
        return ""
    name = error.name.partition(".")[0]
    if not name.isidentifier() or name in MODULES or name in sys.stdlib_module_names:
        return ""
    importers = [frame for frame in _frames(error) if "importlib" not in frame.f_code.co_filename]
    if not importers or importers[-1].f_code.co_filename.startswith(chat):
        return ""
    name = line(name, _NAME_BYTES)
    return f'a package needs the module {name}, which did not come with it: the line "import {name}" gets it installed'


def _frames(error: BaseException) -> list:
    frames, trace = [], error.__traceback__
    while trace is not None:
        frames.append(trace.tb_frame)
        trace = trace.tb_next
    return frames


def _program(error: BaseException) -> str:
    """Return the name of the program that a process was to run and that nobody has, or ''."""
    if not isinstance(error, FileNotFoundError) or error.errno != ENOENT or error.filename is None:
        return ""
    frame = next(reversed(_frames(error)), None)
    if frame is None or frame.f_code.co_name != "_execute_child":
        return ""
    name = posix.fspath(error.filename)
    if type(name) is bytes:
        name = name.decode("utf-8", "backslashreplace")
    # Where the folder to start in is missing, the exception is the same.
    return "" if "/" in name or error.filename == frame.f_locals.get("cwd") else line(name, _NAME_BYTES)
