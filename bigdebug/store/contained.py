"""Contained: files of a directory that somebody gave, read as data. Nothing there leads out of it, and nothing is larger than it says."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any

from bigdebug.errors import StoreError
from bigdebug.outside import from_outside

MOST_TEXT = 1 << 28
"""Bytes of a file of JSON that are read."""

_ALTERED = "Take no directory from somebody you do not trust; else restore it, or save the session again."


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Within: what the system says where a file is missing, or nobody may read it, is a StoreError that names it."""
    try:
        yield
    except OSError as problem:
        if from_outside(problem):
            raise
        closed = isinstance(problem, PermissionError)
        raise StoreError(
            f"A file of this directory cannot be read: {problem.strerror}", value=str(path),
            remedy="Check its permissions, and those of the directories that it is in." if closed else "Restore it, or save the session again.",
        ) from problem


def contained(home: Path, name: str) -> Path:
    """The file of this name, relative to ``home``, with / between its parts. Raises StoreError where it is missing, no plain file, or leads out."""
    parts = PurePosixPath(name).parts
    if not parts or name.startswith("/") or ".." in parts or "\0" in name:
        raise StoreError("A name in this directory leads out of it", value=name, remedy=_ALTERED)
    at = home
    for part in parts:
        at = at / part
        with reading(at):
            mode = os.lstat(at).st_mode
        if stat.S_ISLNK(mode):
            raise StoreError("A link stands where a file of this directory should, and may lead out of it", value=str(at), remedy=_ALTERED)
    if not stat.S_ISREG(mode):
        raise StoreError("This is no plain file", value=str(at), remedy=_ALTERED)
    return at


def read_contained(home: Path, name: str, most: int) -> bytes:
    """The bytes of a contained file. Raises StoreError for more than ``most``."""
    path = contained(home, name)
    with reading(path), path.open("rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise StoreError(f"A file of this directory has more than {most:,} bytes", value=str(path), remedy=_ALTERED)
    return data


def read_json(home: Path, name: str) -> Any:
    """What a contained file of JSON says. Raises StoreError for what is none, and for what is nested deeper than anything of ours."""
    try:
        return json.loads(read_contained(home, name, MOST_TEXT))
    except (ValueError, RecursionError) as problem:
        raise StoreError(f"A file of this directory is no JSON of ours: {type(problem).__name__}: {problem}", value=str(home / name), remedy=_ALTERED) from problem


def each_file(home: Path, closed: Callable[[OSError], object] | None = None) -> list[str]:
    """The names of all that is below ``home`` and no directory, in order, links among them. None is followed.

    Of a directory that cannot be looked into, ``closed`` is told. Raises what the system says, if it is not given: else what is in there would be taken for missing.
    """

    def told(problem: OSError) -> None:
        if closed is None or from_outside(problem):
            raise problem
        closed(problem)

    found = []
    for folder, folders, files in os.walk(home, onerror=told):
        here = Path(folder)
        links = [name for name in folders if (here / name).is_symlink()]
        found += [(here / name).relative_to(home).as_posix() for name in (*files, *links)]
    return sorted(found)

