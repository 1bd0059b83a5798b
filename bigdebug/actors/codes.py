"""Codes: whose code something is, and which names say that it writes or reaches what no copy can have."""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Iterator
from importlib.util import find_spec
from types import CodeType
from typing import Any

REACHING = frozenset(("globals", "locals", "vars", "eval", "exec", "__import__", "input", "breakpoint", "display", "get_ipython"))
"""Functions of Python that reach what no code names, that wait for somebody, or that show something in a notebook."""

REACHING_ATTRIBUTES = frozenset((
    "import_module", "_getframe", "currentframe", "f_back", "f_globals", "__globals__", "__closure__", "get_objects", "get_referrers", "stdin", "__stdin__", "set_trace", "interact",
    "set_option", "reset_option", "setlocale", "umask", "setswitchinterval", "settrace", "setprofile",
))
"""Attributes, and functions of libraries, that do so (also those of debuggers and consoles that begin to ask); or that set what holds of the whole process and is not put back."""

UNHEARD = frozenset((
    "to_parquet", "to_orc", "to_feather", "to_hdf", "HDFStore", "to_sql", "create_engine", "connect", "Producer", "ParquetWriter", "OSFile", "open_output_stream", "open_append_stream",
    "write_table", "write_to_dataset", "write_dataset", "write_feather", "write_deltalake", "write_csv", "write_parquet", "write_ipc", "write_avro", "write_ndjson",
    "sink_parquet", "sink_csv", "sink_ipc", "sink_ndjson", "write", "pwrite", "writev", "pwritev", "sendfile", "copy_file_range", "mkfifo", "mknod",
    "create_dir", "delete_dir", "delete_dir_contents", "delete_root_dir_contents", "delete_file", "move", "copy_file", "copy_files", "output_stream", "create_memory_map", "new_file", "new_stream",
    "RecordBatchFileWriter", "RecordBatchStreamWriter", "CSVWriter", "ORCWriter",
))
"""What writes, moves, removes or connects without Python's telling: functions of Arrow and the like, which do so in C, and of Python's ``os``. ``write`` is so only by itself: files have it, too, and tell."""

LIVE = ("py4j", "pyspark", "matplotlib.pyplot", "atexit", "signal", "fileinput", "ctypes", "_ctypes", "cffi", "_cffi_backend")
"""Packages and modules whose objects and functions stand for others elsewhere: in Spark, in a figure that is drawn, in what happens to the process, in what is piped into it, in a library in C."""
_LIVE = tuple(f"{each}." for each in LIVE)

_VALUES = {("pyspark.sql.types", "Row"), *((f"pyspark.{package}.linalg", name) for package in ("ml", "mllib") for name in ("DenseVector", "SparseVector", "DenseMatrix", "SparseMatrix"))}
"""Classes of Spark's whose objects are what they look like, and stand for nothing elsewhere: frames of ``toPandas()`` hold them."""

_LIBRARIES = frozenset(("site-packages", "dist-packages"))
_PYTHON = tuple(filter(None, {os.path.dirname(os.__file__), os.path.dirname(os.path.realpath(os.__file__)), sysconfig.get_config_var("DESTSHARED"), os.path.join(sys.base_exec_prefix, "DLLs")}))
"""Where modules of Python's lie."""


class Untried(Exception):
    """A function cannot be tried so that nobody sees it; says why, as the end of a sentence."""

    def __init__(self, why: str, name: str = "") -> None:
        super().__init__(f"{name!r} is reached, and {why}" if name else why)
        self._why, self._name = why, name

    @property
    def note(self) -> str:
        """What is said of the step that was not tried."""
        return f"What was promised is believed, and was not tried, for nothing of the user's may change by that: {self}"

    def at(self, name: str) -> Untried:
        """The same, with the name of what holds it; the innermost name is kept."""
        return self if self._name else type(self)(self._why, name)

    @property
    def named(self) -> bool:
        """Whether it is by what the function remembers, and not by what it is given."""
        return bool(self._name)


def codes_in(code: CodeType) -> Iterator[CodeType]:
    """A code, and those within it."""
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from codes_in(each)


def live(name: Any) -> bool:
    """Whether a module of this name is, or is of, one that is live."""
    return f"{name}.".startswith(_LIVE)


def live_object(kind: type[Any]) -> bool:
    """Whether objects of a class do: by its module, or by that of one that it is made of."""
    return any(live(each.__module__) for each in kind.__mro__) and not any(map(is_value, kind.__mro__))


def is_value(kind: type[Any]) -> bool:
    """Whether it is a class of values, in a package whose other objects are live."""
    return (kind.__module__, kind.__qualname__) in _VALUES


def library(name: Any) -> bool:
    """Whether a module of this name is Python's, of an installed package, or bigdebug's: what it remembers is no matter of the user's functions. (A module of the user's may have a name
    that one of Python's has, too.)
    """
    top = str(name).partition(".")[0]
    if top == "__main__":
        return False
    there = sys.modules.get(str(name)) or sys.modules.get(top)
    if there is None and top in sys.stdlib_module_names:
        return True
    path = getattr(there, "__dict__", {}).get("__file__") if there is not None else _found(top)  # not its attribute: a module may compute those
    if top in sys.stdlib_module_names:
        return path is None or str(path).startswith(_PYTHON)
    return top in ("bigdebug", "pytest") or (path is not None and library_file(str(path)))


def library_file(path: str) -> bool:
    """Whether a file is of an installed package."""
    return not _LIBRARIES.isdisjoint(path.replace("\\", "/").split("/"))


def _found(top: str) -> str | None:
    """Where a module lies that is not imported."""
    try:
        spec = find_spec(top)
    except (ImportError, ValueError):
        return None
    return None if spec is None else spec.origin
