"""An index on disk: a directory of arrays and a manifest, which is written last. Without one, or with a file cut short, it is none."""

from __future__ import annotations

import json
import os
import re
import shutil
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigdebug.errors import CorruptBlockError, StoreError
from bigdebug.provgraph.dictionary import Ids, restored
from bigdebug.provgraph.index import Adjacency, Index
from bigdebug.provgraph.locked import locked, remove_forsaken, take_place
from bigdebug.provgraph.opening import MANIFEST
from bigdebug.provgraph.report import ImportReport
from bigdebug.provgraph.workflow import Workflow
from bigdebug.store.formats import check_format
from bigdebug.store.mapping import Mapped, mapped

FORMAT = 1
_PIECE = 1 << 24
"""Bytes that are read at once."""


class Folder:
    """Arrays of an index that is being written: each grows at its end."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._types: dict[str, np.dtype[Any]] = {}
        self._sums: dict[str, int] = {}

    def append(self, name: str, values: NDArray[Any]) -> None:
        """Adds to the array of this name, all of whose parts are of one type; none at all is an array, too."""
        kind = self._types.setdefault(name, values.dtype)
        assert kind == values.dtype, f"{name} is of {kind} and {values.dtype}"
        data = np.ascontiguousarray(values).view(np.uint8).data
        self._sums[name] = zlib.crc32(data, self._sums.get(name, 0))
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
        offsets, neighbours, ops = (self.mapped(f"{name}.{part}") for part in ("offsets", "neighbours", "ops"))
        return Adjacency(offsets, neighbours, ops)

    def ids(self, name: str, kind: str) -> Ids:
        """The dictionary of this name, mapped."""
        known = [array for array in self._types if array.startswith(f"{name}.")]
        return _restored(name, kind, {array: mapped(self.path / array, self._types[array], self.length(array)) for array in known})

    def has(self, name: str) -> bool:
        return name in self._types

    def length(self, name: str) -> int:
        return (self.path / name).stat().st_size // self._types[name].itemsize

    def remove(self, name: str) -> None:
        """As if it had not been written."""
        del self._types[name], self._sums[name]
        (self.path / name).unlink()

    @property
    def bytes(self) -> int:
        return sum(self.length(name) * kind.itemsize for name, kind in self._types.items())

    def close(self, told: Mapping[str, Any]) -> None:
        """Writes the manifest, when all else is on the disk for good."""
        for name in self._types:
            _sync(self.path / name)
        arrays = {
            name: [kind.newbyteorder("<").str, self.length(name), self._sums[name]] for name, kind in self._types.items()
        }
        text = json.dumps({"format": FORMAT, "arrays": arrays, **told}, indent=1)
        (self.path / MANIFEST).write_text(text, encoding="utf-8")
        _sync(self.path / MANIFEST)
        _sync(self.path)


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
    """The index in a directory, mapped, and the report of its import. Takes milliseconds, whatever its size.

    Raises StoreError for what is none, StoreVersionError for one of a later version, CorruptBlockError for one that was cut short.
    """
    home = Path(path)
    try:
        told = json.loads((home / MANIFEST).read_text(encoding="utf-8"))
        check_format(told["format"], FORMAT, home, "index was built", "built")
        arrays = {name: _checked(home / name, _type(kind), length) for name, (kind, length, _) in told["arrays"].items()}
        tables = arrays.get("tables")
        index = Index(
            _restored("ids", told["ids"], arrays), _restored("operations", told["operations"], arrays), _adjacency("backward", arrays),
            _adjacency("forward", arrays), Workflow.of_data(told["workflow"]) if told["workflow"] else None, tables and tables.values,
            told["acyclic"], tables and tables.pages,
        )
        return index, ImportReport.of_data(told["report"])
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as problem:
        raise StoreError(
            f"This is no index of a provenance graph, or it was altered: {type(problem).__name__}: {problem}", value=str(path),
            remedy="Give a directory that bigdebug.provenance(..., at=DIR) made.",
        ) from problem


def verify(path: Path) -> None:
    """Reads all of an index, and raises CorruptBlockError if a byte is not the one that was written, StoreError where it cannot be read."""
    try:
        told = json.loads((path / MANIFEST).read_text(encoding="utf-8"))["arrays"]
        found = {name: _sum(path / name) for name in told}
    except (OSError, ValueError, LookupError, TypeError) as problem:
        raise StoreError(
            f"The index is not there any more, or it was altered: {type(problem).__name__}: {problem}", value=str(path),
            remedy="Build the index again from its triples.",
        ) from problem
    for name, (_, _, wanted) in told.items():
        if found[name] != wanted:
            raise CorruptBlockError(
                "A file of the index was altered", value=str(path / name), remedy="Build the index again from its triples."
            )


def _sum(path: Path) -> int:
    found = 0
    with path.open("rb") as file:
        while data := file.read(_PIECE):
            found = zlib.crc32(data, found)
    return found


def _checked(path: Path, kind: np.dtype[Any], length: int) -> Mapped:
    size = path.stat().st_size
    if size != length * kind.itemsize:
        raise CorruptBlockError(
            f"A file of the index has {size} bytes and had {length * kind.itemsize}", value=str(path),
            remedy="Build the index again from its triples.",
        )
    # Triples are also gone through from end to end; in ids and tables single ones are looked up.
    return mapped(path, kind, length, scattered=path.name.startswith(("ids.", "operations.", "tables")))


def _type(name: str) -> np.dtype[Any]:
    """The type of an array, as the manifest names it: integers of this machine's order of bytes or of one byte, and no other."""
    if not isinstance(name, str) or re.fullmatch(r"\|[iu]1|<[iu][248]", name) is None:
        raise ValueError(f"no array is of {name!r}")
    return np.dtype(name)


def _restored(name: str, kind: str, arrays: Mapping[str, Mapped]) -> Ids:
    prefix = f"{name}."
    return restored(kind, {key.removeprefix(prefix): value for key, value in arrays.items() if key.startswith(prefix)})


def _adjacency(name: str, arrays: Mapping[str, Mapped]) -> Adjacency:
    offsets, neighbours, ops = (arrays[f"{name}.{part}"] for part in ("offsets", "neighbours", "ops"))
    return Adjacency(offsets.values, neighbours.values, ops.values, (offsets.pages, neighbours.pages, ops.pages))


def _sync(path: Path) -> None:
    """Waits until a file, or the names in a directory, are on the disk."""
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
