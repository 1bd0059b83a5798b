"""Folders: the files that an action left in the folder that it wrote to. Listed when it has ended: later they may be others."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from bigdebug.spark.gateway import classes
from bigdebug.spark.process import running
from bigdebug.trace.across.located import FileStamp
from bigdebug.trace.across.stamps import stamp_of
from bigdebug.trace.textlines import local_path

_MILLISECOND = 1_000_000


@dataclass(frozen=True)
class File:
    """A file that was written: its absolute path, or its URI if it is not of this machine; where it is below the folder; and what it then was."""

    path: str
    name: str
    stamp: FileStamp


def written(sc: Any, folder: str) -> tuple[File, ...]:
    """The files of data below a folder, in the order of their names. No job; of Hadoop's file systems some calls a file.

    What begins with ``_`` or ``.`` is none, as for Spark, but for partitions of a column with such a name.
    """
    here = local_path(folder)
    found = _there(sc, folder) if here is None else _here(os.path.abspath(here))
    return tuple(sorted(found, key=lambda file: file.name))


def is_still(sc: Any, path: str, stamp: FileStamp) -> bool:
    """Whether a file has the size and the time of a stamp."""
    if local_path(path) is not None:
        now = stamp_of(path, digest=False)
        return now is not None and (now.size, now.modified) == (stamp.size, stamp.modified)
    where = classes(running(sc)._jvm).org.apache.hadoop.fs.Path(path)
    system = where.getFileSystem(sc._jsc.hadoopConfiguration())
    if not system.exists(where):
        return False
    status = system.getFileStatus(where)
    return (int(status.getLen()), int(status.getModificationTime()) * _MILLISECOND) == (stamp.size, stamp.modified)


def qualified(sc: Any, path: str) -> str:
    """A path as the file system calls it that it is of."""
    where = classes(running(sc)._jvm).org.apache.hadoop.fs.Path(path)
    conf = sc._jsc.hadoopConfiguration()
    return str(where.getFileSystem(conf).makeQualified(where).toString())


def _here(folder: str) -> Iterator[File]:
    waiting = [folder] if os.path.isdir(folder) else []  # nothing was written
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if not _is_data(entry.name):
                    continue
                if entry.is_dir():
                    waiting.append(entry.path)
                    continue
                status = entry.stat()
                yield File(entry.path, os.path.relpath(entry.path, folder), FileStamp(status.st_size, status.st_mtime_ns))


def _there(sc: Any, folder: str) -> Iterator[File]:
    root = classes(running(sc)._jvm).org.apache.hadoop.fs.Path(folder)
    system = root.getFileSystem(sc._jsc.hadoopConfiguration())
    base = str(system.makeQualified(root).toString()).rstrip("/") + "/"
    listed = system.listFiles(root, True)
    while listed.hasNext():
        status = listed.next()
        path = str(status.getPath().toString())
        name = path.removeprefix(base)
        if all(map(_is_data, name.split("/"))):
            yield File(path, name, FileStamp(int(status.getLen()), int(status.getModificationTime()) * _MILLISECOND))


def _is_data(name: str) -> bool:
    return not name.startswith(".") and (not name.startswith("_") or "=" in name)
