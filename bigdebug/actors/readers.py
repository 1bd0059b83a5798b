"""Readers: what reads files besides a function's records: by the names in its code, and open files that it holds."""

from __future__ import annotations

import io
import os
from itertools import chain
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

from bigdebug.actors.codes import codes_in, library

READING = frozenset((
    "read_parquet", "read_feather", "read_orc", "read_table", "read_hdf", "read_ipc", "read_delta", "read_sql", "read_sql_query", "read_sql_table", "to_table", "memory_map",
    "ParquetFile", "ParquetDataset", "open_input_file", "open_input_stream", "scan_parquet", "scan_csv", "scan_ipc", "scan_ndjson", "scan_delta",
))
"""What may read a file, or another program, without Python's telling."""

HEARD = frozenset((
    "open", "read_text", "read_bytes", "read_csv", "read_fwf", "read_json", "read_excel", "read_pickle", "read_html", "read_xml", "read_stata", "read_sas", "read_spss", "load", "loadtxt",
    "genfromtxt", "fromfile", "urlopen",
))
"""What reads a file, or asks another machine, and is heard of where a function is tried."""

_OF_MODULES = {
    "fileinput": {"input", "FileInput"}, "linecache": {"getline", "getlines"}, "subprocess": {"run", "check_output", "check_call", "call", "Popen", "getoutput", "getstatusoutput"},
    "os": {"popen"}, "sqlite3": {"connect"}, "_sqlite3": {"connect"}, "zipfile": {"ZipFile", "Path"}, "gzip": {"GzipFile"}, "bz2": {"BZ2File"}, "lzma": {"LZMAFile"}, "tarfile": {"TarFile"},
    "io": {"FileIO"}, "_io": {"FileIO"}, "xml.etree.ElementTree": {"parse", "iterparse"}, "xml.dom.minidom": {"parse"}, "configparser": {"read"}, "pathlib": {"open", "read_text", "read_bytes"},
}
"""What does so of modules of Python's, by names that others have as well."""

_HOLDING = frozenset(("sqlite3.Connection", "sqlite3.Cursor", "zipfile.ZipFile", "zipfile.Path", "tarfile.TarFile", "shelve.Shelf", "shelve.DbfilenameShelf", "shelve.BsdDbShelf", "mmap.mmap"))
"""Classes whose objects read a file that they hold, and are no files."""


def readers(code: CodeType, scope: dict[str, Any], heard: bool) -> frozenset[str]:
    """What a code names, in these globals, that may read a file: unheard, or also what is ``heard`` of in a trial. Takes some microseconds."""
    names = frozenset(chain.from_iterable(each.co_names for each in codes_in(code)))
    if not heard:
        return READING & names
    found = (READING | HEARD) & names
    for name in names:
        value = scope.get(name)
        known = value if isinstance(value, (ModuleType, FunctionType, BuiltinFunctionType, type)) else None
        module = name if known is None else known.__name__ if isinstance(known, ModuleType) else str(known.__module__)
        own = frozenset() if known is None or isinstance(known, ModuleType) else frozenset((known.__name__,))
        found |= _OF_MODULES.get(module, frozenset()) & (names | own)
    return found


def reads_of(value: Any) -> str:
    """The name of an open file that something is, and can be read; empty if it is none. Memory is none."""
    kind = type(value)
    if f"{kind.__module__}.{kind.__qualname__}" == "tempfile._TemporaryFileWrapper":
        return reads_of(value.file)
    if f"{kind.__module__}.{kind.__qualname__}" in _HOLDING:
        return f"a {kind.__name__}"
    if not isinstance(value, io.IOBase) or not library(kind.__module__) or isinstance(value, (io.StringIO, io.BytesIO)):
        return ""
    try:
        name = getattr(value, "name", None)
        if value.closed or not value.readable() or name is None:
            return ""
    except (ValueError, OSError, AttributeError):  # closed, or another's
        return ""
    return repr(os.path.basename(os.fsdecode(name))) if isinstance(name, (str, bytes)) else "an open file"
