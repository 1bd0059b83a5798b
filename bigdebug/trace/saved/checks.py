"""Checks of a saved session: whether all its files are as they were saved. What they say is not looked at."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from bigdebug.errors import BigdebugError, StoreError
from bigdebug.store.blocks import decode
from bigdebug.store.contained import contained, reading
from bigdebug.store.formats import check_format
from bigdebug.store.sealed import CATALOG, SEAL, Problem, Sealed, looked_into, read_catalog, sealed_wrongly
from bigdebug.trace.saved.saving import BLOCKS, FORMAT, UNFINISHED, directory, looking


def check(path: str | os.PathLike[str]) -> list[Problem]:
    """What is wrong with a saved session: files that are altered, truncated, longer, missing, foreign, links. All of them are read; nothing is run.

    Format 1 has no digests: of it, blocks are checked by their own checksums, and what is no block is foreign. Raises StoreError for what is no saved session,
    StoreVersionError for one of a later format.
    """
    home = directory("a saved session", path)
    with looking(home):
        half = (home / UNFINISHED).exists()
    if half:
        return [Problem(UNFINISHED, "the session was not written to its end")]
    try:
        catalog = read_catalog(home)
    except StoreError as problem:
        if not (home / SEAL).exists():
            raise
        return [Problem(CATALOG, problem.what)]
    try:
        check_format(catalog["format"], FORMAT, home, "session was saved", "wrote")
    except (LookupError, ValueError) as problem:
        raise StoreError(f"This is not a saved bigdebug session: {problem}", value=str(home), remedy="Give a directory made by dbg.save().") from problem
    return list(_of_format_1(home) if catalog["format"] == 1 else _sealed(home))


def _sealed(home: Path) -> Iterator[Problem]:
    broken = sealed_wrongly(home)
    if broken is not None:
        yield Problem(CATALOG if (home / SEAL).exists() else SEAL, f"the catalog {broken}")
        return
    try:
        files = Sealed.of(home, read_catalog(home))
    except StoreError as problem:
        yield Problem(CATALOG, problem.what)
        return
    yield from files.problems()


def _of_format_1(home: Path) -> Iterator[Problem]:
    files, closed = looked_into(home)
    yield from closed
    for name in files:
        if (home / name).is_symlink():
            yield Problem(name, "a link")
        elif name.startswith(f"{BLOCKS}/") and name.endswith(".block"):
            try:
                path = contained(home, name)
                with reading(path):
                    data = path.read_bytes()
                decode(data, name)
            except BigdebugError as problem:
                yield Problem(name, problem.what)
        elif name != CATALOG and not name.startswith(f"{BLOCKS}/"):
            yield Problem(name, "foreign")
