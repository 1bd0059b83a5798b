"""Readers: what reads files, or asks other programs: functions and classes, known by their names and by whose module they are of, and objects that do so when they are asked.

No list has all of them: a function that is not tried, or reads in C, and reads by a package that is not named here, is not told of. Nor is what is no file: which names a directory has, the clock, the environment.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from io import BytesIO, IOBase, StringIO
from itertools import chain
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

from bigdebug.actors.codes import codes_in, library
from bigdebug.actors.named import named

READING = frozenset((
    "read_parquet", "read_feather", "read_orc", "read_table", "read_hdf", "read_ipc", "read_delta", "read_sql", "read_sql_query", "read_sql_table", "to_table", "memory_map",
    "ParquetFile", "ParquetDataset", "open_input_file", "open_input_stream", "scan_parquet", "scan_csv", "scan_ipc", "scan_ndjson", "scan_delta",
))
"""What may read a file, or another program, without Python's telling."""

HEARD = READING | {
    "open", "read_text", "read_bytes", "read_csv", "read_fwf", "read_json", "read_excel", "read_pickle", "read_html", "read_xml", "read_stata", "read_sas", "read_spss", "load", "loadtxt",
    "genfromtxt", "fromfile", "urlopen", "urlretrieve", "memmap", "FileIO", "GzipFile", "BZ2File", "LZMAFile", "ConfigParser", "RawConfigParser", "iterparse", "popen", "fdopen",
}
"""These, and what is heard of where a function is tried."""

_MODULES = frozenset(("linecache", "dbm", "gdbm", "h5py", "netCDF4", "tables", "lmdb", "duckdb", "rasterio", "fiona", "psycopg", "psycopg2", "pyodbc", "oracledb", "snowflake"))
"""Packages and modules of which all is there to read, or to ask; Python does not tell of that, or not each time."""

_MODULES_HEARD = _MODULES | {
    "sqlite3", "zipfile", "tarfile", "fileinput", "shelve", "mmap", "subprocess", "socket", "urllib.request", "http.client", "ftplib", "mailbox", "requests", "httpx", "aiohttp", "urllib3",
    "fsspec", "s3fs", "gcsfs", "boto3", "botocore", "sqlalchemy", "pymongo", "pymysql", "mysql", "redis", "openpyxl",
}
"""These, and those of which it is heard where a function is tried."""

_PARSERS = frozenset(("xml.etree.ElementTree", "xml.etree.cElementTree", "xml.dom.minidom", "xml.dom.pulldom", "xml.sax", "lxml.etree", "lxml.html"))
"""Modules whose ``parse`` reads a file; that of others takes a text."""

_FUNCTIONS = (FunctionType, BuiltinFunctionType, type)


def reads_named(code: CodeType, scope: Mapping[str, Any], heard: bool) -> Iterator[str]:
    """What a code names that may read a file: unheard, or also what is ``heard`` of in a trial. ``scope`` has what its names stand for. Takes some microseconds."""
    names = {*chain.from_iterable((*each.co_names, *each.co_freevars) for each in codes_in(code))}
    known, modules = (HEARD, _MODULES_HEARD) if heard else (READING, _MODULES)
    yield from (f"calls {each}()" for each in known & names)
    there = [scope[name] for name in names if name in scope]
    reached = {str(value.__dict__.get("__name__")) for value in there if type(value) is ModuleType}
    if not names.isdisjoint(_TOPS):
        imports = named(code).imports
        reached |= imports | {f"{each}.{name}" for each in imports for name in names}
    reached |= {each for top in reached for each in _INNER if each.startswith(f"{top}.") and names.issuperset(each[len(top) + 1 :].split("."))}
    for value in there:
        if isinstance(value, _FUNCTIONS) and library(value.__module__):
            reached.add(_public(value.__module__))
            if value.__name__ in known or (value.__name__ == "parse" and value.__module__ in _PARSERS and heard):
                yield f"calls {value.__name__}()"
    yield from (f"uses {each}" for each in reached if _is_of(each, modules) and library(each))
    if heard and "parse" in names and not reached.isdisjoint(_PARSERS):
        yield "calls parse()"


def reader(value: Any) -> str:
    """A file that is open to be read, by its name; empty if it is none. A file in memory is none, nor is one that is closed, or to write alone."""
    kind = type(value)
    if not issubclass(kind, IOBase) or issubclass(kind, (BytesIO, StringIO)):
        return ""
    if not library(kind.__module__):  # code of the user's is not asked
        return "an open file"
    try:
        if value.closed or not value.readable():
            return ""
        within = [value, *_below(value)]
        names = [getattr(each, "name", None) for each in within if library(type(each).__module__)]
    except (ValueError, OSError, AttributeError):  # it has no file any more: that was detached; or that is another's
        return ""
    if issubclass(type(within[-1]), (BytesIO, StringIO)):
        return ""
    return next((repr(os.path.basename(os.fsdecode(each))) for each in names if isinstance(each, (str, bytes)) and each), "an open file")


def asked(value: Any) -> str:
    """The class of an object that reads when it is asked, such as a connection with a database, by whose module it is of; empty if it is none."""
    kind = type(value)
    module = _public(kind.__module__)
    return kind.__name__ if module.partition(".")[0] in _TOPS and _is_of(module, _MODULES_HEARD) and library(kind.__module__) else ""


def _below(file: Any) -> Iterator[Any]:
    """The files that a file reads from, where it decodes or unpacks them."""
    for part in ("buffer", "raw", "fileobj", "_fp", "_file"):
        below = getattr(file, part, None)
        if below is not None:
            if issubclass(type(below), IOBase):
                yield below
                yield from _below(below) if library(type(below).__module__) else ()
            return


def _public(module: Any) -> str:
    """The name of a module; of one in C, that of Python's in front of it."""
    return str(module).lstrip("_")


def _is_of(module: str, modules: frozenset[str]) -> bool:
    """Whether a module is one of these, or is in one."""
    parts = module.split(".")
    return any(".".join(parts[:end]) in modules for end in range(1, len(parts) + 1))


_INNER = frozenset(each for each in _MODULES_HEARD | _PARSERS if "." in each)
"""Modules that may be reached by the name of the package that they are in."""

_TOPS = frozenset(name for each in _MODULES_HEARD | _PARSERS for name in (each, each.partition(".")[0]))
"""What a code names that imports one of them."""
