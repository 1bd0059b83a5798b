"""An index on disk: a directory of arrays and a manifest, which is written last. Without one, or with a file cut short, it is none."""

from __future__ import annotations

import errno
import json
import os
import shutil
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigdebug.errors import CorruptBlockError, StoreError, StoreVersionError
from bigdebug.provgraph.dictionary import Ids, restored
from bigdebug.provgraph.index import Adjacency, Index
from bigdebug.provgraph.locked import locked, remove_forsaken, take_place
from bigdebug.provgraph.opening import MANIFEST
from bigdebug.provgraph.report import ImportReport
from bigdebug.provgraph.workflow import Workflow
from bigdebug.store.arrays import Array, InMemory, Listed, StoredArray, kind_of
from bigdebug.store.formats import check_format
from bigdebug.store.mapping import mapped
from bigdebug.store.pages import Checksums, checked_size

FORMAT = 2
"""In format 1 the arrays had no checksums of their pages."""
PAGE = 1 << 12
"""Bytes that are checked at once: what the system reads at once. Items that are asked about together lie apart."""
_PIECE = 1 << 22
"""Values that are read at once."""
_AGAIN = "Build the index again from its triples."
_WRONG = (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError, ArithmeticError)
"""What comes of reading what is no index."""
_REFUSED = (errno.EACCES, errno.EPERM, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EIO, errno.ESTALE)
"""What comes of a system that lets nobody read it now, whatever it is."""


class Folder:
    """Arrays of an index that is being written: each grows at its end, and the checksums of its pages are made meanwhile."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._types: dict[str, np.dtype[Any]] = {}
        self._lengths: dict[str, int] = {}
        self._sums: dict[str, Checksums] = {}

    def append(self, name: str, values: NDArray[Any]) -> None:
        """Adds to the array of this name, all of whose parts are of one type; none at all is an array, too."""
        kind = self._types.setdefault(name, values.dtype)
        assert kind == values.dtype, f"{name} is of {kind} and {values.dtype}"
        data = np.ascontiguousarray(values).view(np.uint8).data
        self._sums.setdefault(name, Checksums(PAGE)).add(data)
        self._lengths[name] = self.length(name) + len(values)
        with (self.path / name).open("ab") as file:
            file.write(data)

    def read(self, name: str, start: int, stop: int) -> NDArray[Any]:
        """Some values of an array."""
        kind = self._types[name]
        return np.fromfile(self.path / name, kind, stop - start, offset=start * kind.itemsize)

    def mapped(self, name: str) -> NDArray[Any]:
        """All of an array, mapped."""
        return mapped(self.path / name, self._types[name], self.length(name)).values

    def adjacency(self, name: str) -> Adjacency:
        """The triples of a direction, mapped."""
        return _adjacency(name, {array: InMemory(self.mapped(array)) for array in self._types if array.startswith(f"{name}.")})

    def ids(self, name: str, kind: str) -> Ids:
        """The dictionary of this name, mapped."""
        return _restored(name, kind, {array: InMemory(self.mapped(array)) for array in self._types if array.startswith(f"{name}.")})

    def has(self, name: str) -> bool:
        return name in self._types

    def length(self, name: str) -> int:
        return self._lengths.get(name, 0)

    def remove(self, name: str) -> None:
        """As if it had not been written."""
        del self._types[name], self._lengths[name], self._sums[name]
        (self.path / name).unlink()

    @property
    def bytes(self) -> int:
        """What the arrays take with their checksums."""
        return sum(checked_size(self.length(name) * kind.itemsize, PAGE) for name, kind in self._types.items())

    def close(self, told: Mapping[str, Any]) -> None:
        """Writes the checksums of all pages and then, when all else is on the disk for good, the manifest."""
        arrays = {name: self._finished(name).dump() for name in self._types}
        (self.path / MANIFEST).write_text(sealed({"format": FORMAT, "arrays": arrays, **told}), encoding="utf-8")
        _sync(self.path / MANIFEST)
        _sync(self.path)

    def _finished(self, name: str) -> Listed:
        sums = self._sums[name].data()
        with (self.path / name).open("ab") as file:
            file.write(sums)
        _sync(self.path / name)
        return Listed(name, kind_of(self._types[name]), self.length(name), zlib.crc32(sums), PAGE)


@contextmanager
def unfinished(target: Path, replace: bool) -> Iterator[Folder]:
    """A folder beside ``target`` that takes its place in the end; an error, or an interruption, leaves nothing of it.

    What is left by a process that was killed is taken away by the next that builds at the same place.
    """
    target = target.resolve()
    _refuse_others(target, replace)
    target.parent.mkdir(parents=True, exist_ok=True)
    remove_forsaken(target.parent, f".{target.name}-")
    path, lock = locked(target.parent, f".{target.name}-")
    with lock:
        try:
            yield Folder(path)
            # Somebody may have been quicker.
            _refuse_others(target, replace)
            take_place(path, target)
            _sync(target.parent)
        except BaseException:
            shutil.rmtree(path, ignore_errors=True)
            raise


def _refuse_others(target: Path, replace: bool) -> None:
    if not target.exists() or (target.is_dir() and not any(target.iterdir())):
        return
    if not (target / MANIFEST).exists():
        raise StoreError("Something else is where the index is to be", value=str(target), remedy="Name a new or an empty directory.")
    if not replace:
        raise StoreError(
            "There is an index already", value=str(target), remedy="Open it by bigdebug.open, or say replace=True to build it anew."
        )


def open_index(path: str | os.PathLike[str]) -> tuple[Index, ImportReport]:
    """The index in a directory, mapped, and the report of its import. Takes milliseconds, whatever its size: a page is checked when it is first read.

    Raises StoreError for what is none, StoreVersionError for one of another version, CorruptBlockError for one that was cut short; whoever
    asks it, CorruptBlockError where what he reads was altered.
    """
    home = Path(path).absolute()  # also when somebody goes elsewhere
    while True:
        there = _which(home)
        try:
            found = _opened(home)
        except StoreError:
            if _which(home) == there:
                raise
        else:
            # Files of two indexes are none: another took its place meanwhile.
            if _which(home) == there:
                return found


def _which(home: Path) -> tuple[int, int] | None:
    """Which directory it is that is there now."""
    try:
        told = home.stat()
    except OSError:
        return None
    return told.st_dev, told.st_ino


def _opened(home: Path) -> tuple[Index, ImportReport]:
    try:
        told = _manifest(home)
        arrays = _arrays(home, told)
        report = ImportReport.of_data(told["report"])
        # One that does not say which tables items are of was there to check operations, and tells nothing more.
        workflow = Workflow.of_data(told["workflow"]) if "tables" in arrays else None
        index = Index(
            _restored("ids", told["ids"], arrays), _restored("operations", told["operations"], arrays), _adjacency("backward", arrays),
            _adjacency("forward", arrays), workflow, arrays.get("tables"), told["acyclic"],
            report.left_out,
        )
        return index, report
    except _WRONG as problem:
        raise _unread(
            problem, home, "This is no index of a provenance graph, or it was altered", "Give a directory that bigdebug.provenance(..., at=DIR) made."
        ) from problem


def verify(path: Path) -> None:
    """Reads all of an index, and raises CorruptBlockError if a byte is not the one that was written, StoreError where it cannot be read."""
    try:
        for array in _arrays(path, _manifest(path)).values():
            for start in range(0, len(array), _PIECE):
                array.part(start, min(start + _PIECE, len(array)))
    except _WRONG as problem:
        raise _unread(problem, path, "The index is not there any more, or it was altered", _AGAIN) from problem


def _unread(problem: Exception, home: Path, what: str, remedy: str) -> StoreError:
    """What is told where an index was not read: that it is none, or that the system lets nobody read it now."""
    if isinstance(problem, OSError) and problem.errno in _REFUSED:
        return StoreError(f"The index cannot be read: {problem}", value=str(home), remedy="It may be whole: see that you may read its files, and that memory and open files are left (ulimit -a).")
    return StoreError(f"{what}: {type(problem).__name__}: {problem}", value=str(home), remedy=remedy)


def sealed(told: Mapping[str, Any]) -> str:
    """A manifest as text, with the checksum of what it says."""
    return json.dumps({**told, "checks": _said(told)}, indent=1)


def _said(told: Mapping[str, Any]) -> int:
    """The checksum of what a manifest says, however that is spelled."""
    plain = json.loads(json.dumps({name: value for name, value in told.items() if name != "checks"}))
    return zlib.crc32(json.dumps(plain, sort_keys=True).encode())


def _manifest(home: Path) -> dict[str, Any]:
    """What a manifest says. Raises StoreVersionError for another version, CorruptBlockError where it was altered; else as somebody who reads what is none."""
    told: dict[str, Any] = json.loads((home / MANIFEST).read_text(encoding="utf-8"))
    check_format(told["format"], FORMAT, home, "index was built", "built")
    if told["format"] < FORMAT:
        raise StoreVersionError(
            f"The index was built in format {told['format']}, which does not show whether it was altered, and this bigdebug reads format {FORMAT}",
            value=str(home), remedy=_AGAIN,
        )
    if told["checks"] != _said(told):
        raise CorruptBlockError("The manifest of the index was altered: its checksum does not match", value=str(home / MANIFEST), remedy=_AGAIN)
    return told


def _arrays(home: Path, told: Mapping[str, Any]) -> dict[str, StoredArray]:
    """All arrays, mapped at once: they stay those of this index if another one takes its place."""
    listed = {name: Listed.load(data, PAGE) for name, data in told["arrays"].items()}
    return {name: StoredArray(one, home.joinpath, _AGAIN).opened() for name, one in listed.items()}


def _restored(name: str, kind: str, arrays: Mapping[str, Array]) -> Ids:
    prefix = f"{name}."
    return restored(kind, {key.removeprefix(prefix): value for key, value in arrays.items() if key.startswith(prefix)})


def _adjacency(name: str, arrays: Mapping[str, Array]) -> Adjacency:
    return Adjacency(*(arrays[f"{name}.{part}"] for part in ("offsets", "neighbours", "ops")))


def _sync(path: Path) -> None:
    """Waits until a file, or the names in a directory, are on the disk."""
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
