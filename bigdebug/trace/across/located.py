"""Located: records of one file, by where they stand in it. Newt calls it a location specifier (3.3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np

from bigdebug.trace.positions import Positions, distinct

ITEMS = "item:"
"""How paths begin of what a step kept by value, and no file is."""

FOLDER = "folder"
"""The form of an extent that is a folder, as a whole: a step wrote into it, and nobody knows which of the files there are its own, or whether those that are known are all."""


def gives_path(step: str) -> str:
    """The path of what a step gives that stands in no file."""
    return f"{ITEMS}{step}/out"


def takes_path(step: str) -> str:
    """The path of what a step takes that stands in no file, and that no other is known to give."""
    return f"{ITEMS}{step}/in"


class Unit(str, Enum):
    """What is counted in a file, from 0.

    LINE: lines as ``\\n`` (or ``\\r``, ``\\r\\n``) ends them, a CSV's header among them. ROW: records as the format's reader gives them, in their order,
    no header among them. BYTE: bytes. WHOLE: the file is one record.
    """

    LINE = "line"
    ROW = "row"
    BYTE = "byte"
    WHOLE = "whole"


@dataclass(frozen=True)
class Extent:
    """A file that a step read or wrote: by its absolute path (or URI), and what the step counted in it.

    ``form`` is the format: text, csv, json, parquet, orc, avro, pickle, or what the step calls it; empty if it is not known. ``options`` are those
    that decide where a record begins (``header``, ``sep``, ``quote``, ``multiLine``, ``encoding``), as pairs of texts. ``stamp`` is the file as it was when the step had read or
    written it. ``rows`` is how many rows it found there, or wrote there; None if it did not take all of them, or nobody counted.
    """

    path: str
    unit: Unit
    form: str = ""
    options: tuple[tuple[str, str], ...] = ()
    stamp: FileStamp | None = None
    rows: int | None = None


@dataclass(frozen=True)
class FileStamp:
    """What a file held: its size in bytes, when it was last changed (ns), and a digest of its content; "" where nobody took one."""

    size: int
    modified: int
    digest: str = ""


@dataclass(frozen=True, eq=False)
class Located:
    """Records of one file: distinct positions in ascending order, counted in ``unit``; of a WHOLE file it is 0.

    ``why`` says why these are more than what was asked for, where a step that answers took more.
    """

    path: str
    unit: Unit
    positions: Positions
    why: str = field(default="", repr=False)

    @classmethod
    def of(cls, path: str, unit: Unit, positions: object, why: str = "") -> Located:
        """Positions in any order, and any of them twice."""
        return cls(path, unit, distinct(np.asarray(positions, dtype=np.int64)), why)

    def __len__(self) -> int:
        return len(self.positions)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Located) and (self.path, self.unit) == (other.path, other.unit) and np.array_equal(self.positions, other.positions)
        )

    __hash__ = None  # type: ignore[assignment]


def dump_extent(extent: Extent) -> dict[str, Any]:
    """An extent as data that JSON takes."""
    stamp = extent.stamp
    rows = {} if extent.rows is None else {"rows": extent.rows}
    return {
        "path": extent.path, "unit": extent.unit.value, "form": extent.form, "options": [list(pair) for pair in extent.options],
        "stamp": None if stamp is None else [stamp.size, stamp.modified, stamp.digest], **rows,
    }


def load_extent(data: Mapping[str, Any]) -> Extent:
    """The inverse. Raises ValueError, LookupError or TypeError for what is no extent."""
    stamp, rows = data["stamp"], data.get("rows")
    known = None if stamp is None else FileStamp(int(stamp[0]), int(stamp[1]), str(stamp[2]))
    return Extent(str(data["path"]), Unit(data["unit"]), str(data["form"]), tuple((str(name), str(value)) for name, value in data["options"]), known, None if rows is None else int(rows))
