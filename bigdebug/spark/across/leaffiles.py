"""Leaf files: the files that a source of a query reads, with what positions in them count, and which of its rids is which position."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from bigdebug.model import POSITION_BITS, POSITION_MASK
from bigdebug.spark.sql.formats import format_of, option, reader_of, said
from bigdebug.spark.sql.leaf import Leaf, local
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.trace.across.facts import digested
from bigdebug.trace.across.located import Extent, FileStamp, Located, Unit
from bigdebug.trace.positions import distinct

_FORMS = {
    "TextFileFormat": "text", "CSVFileFormat": "csv", "JsonFileFormat": "json", "ParquetFileFormat": "parquet", "OrcFileFormat": "orc",
    "AvroFileFormat": "avro", "XmlFileFormat": "xml", "BinaryFileFormat": "binary",
}

_CSV = {"header": "false", "sep": ",", "quote": '"', "escape": "\\", "multiLine": "false"}
"""Spark's own, which are not everybody's."""

_CUTTING = ("header", "sep", "delimiter", "quote", "escape", "charToEscapeQuoteEscaping", "multiLine", "encoding", "charset", "comment", "lineSep", "mode", "rowTag")
"""Options that decide where a record begins, and which are none."""

_ALSO = {"delimiter": "sep", "charset": "encoding"}

_NUL = ("quote", "escape")
"""Of which an empty one is NUL to Spark, and not its default."""


@dataclass(frozen=True)
class Places:
    """Where records stand, one after the other: the number of the file's path, and the position in it."""

    paths: Sequence[str]
    numbers: npt.NDArray[np.int64]
    positions: npt.NDArray[np.int64]

    def of(self, chosen: npt.NDArray[np.bool_]) -> Places:
        return Places(self.paths, self.numbers[chosen], self.positions[chosen])

    def located(self, unit: Unit) -> list[Located]:
        """One answer for each file."""
        return [
            Located.of(self.paths[number], unit, np.zeros(1, dtype=np.int64) if unit is Unit.WHOLE else self.positions[self.numbers == number])
            for number in distinct(self.numbers).tolist()
        ]


class LeafFiles:
    """The files of one leaf. Where a file was read in several pieces, a job counts the records of each, once for the leaf."""

    def __init__(self, catalyst: Catalyst, leaf: Leaf) -> None:
        self._catalyst = catalyst
        self._leaf = leaf
        self._reader = reader_of(leaf.node)

    @property
    def form(self) -> str:
        return _FORMS.get(format_of(self._reader), format_of(self._reader))

    @property
    def unit(self) -> Unit:
        """What positions count."""
        if self.form == "binary" or (self.form == "text" and option(self._reader, "wholetext").lower() == "true"):
            return Unit.WHOLE
        return Unit.LINE if self._leaf.lines and not option(self._reader, "lineSep") else Unit.ROW

    def extents(self, stamps: Mapping[str, FileStamp]) -> list[Extent]:
        """The files, with ``stamps`` by their paths."""
        given = {name: value for name in _CUTTING if (value := option(self._reader, name)) or (name in _NUL and said(self._reader, name))}
        options = tuple(sorted(cutting(given, self.form).items()))
        paths = list(map(local, self._leaf.files))
        known = digested({path: stamps[path] for path in paths if path in stamps})
        return [Extent(path, self.unit, self.form, options, known.get(path)) for path in paths]

    @cached_property
    def _pieces(self) -> Sequence[tuple[str, int]]:
        return self._leaf.pieces(self._catalyst)

    def places(self, rids: npt.NDArray[np.int64]) -> Places:
        """Where the records with these rids stand, in their order."""
        numbers, positions = rids >> POSITION_BITS, rids & POSITION_MASK
        paths = list(dict.fromkeys(path for path, _ in self._pieces))
        of_path = {path: number for number, path in enumerate(paths)}
        if not len(rids):
            return Places(paths, numbers, positions)
        files = np.array([of_path[path] for path, _ in self._pieces], dtype=np.int64)
        firsts = np.array([first for _, first in self._pieces], dtype=np.int64)
        return Places(paths, files[numbers], positions + firsts[numbers])

    def located(self, rids: npt.NDArray[np.int64]) -> list[Located]:
        """The same by file."""
        return self.places(rids).located(self.unit)

    def rids(self, given: Sequence[Located]) -> npt.NDArray[np.int64]:
        """The rids of the records that stand there; of those beyond the end of a file, rids that nothing has."""
        wanted = {one.path: one.positions for one in given}
        if not wanted.keys() & {local(path) for path in self._leaf.files}:
            return np.empty(0, dtype=np.int64)
        pieces: dict[str, list[tuple[int, int]]] = {}
        for number, (path, first) in enumerate(self._pieces):
            pieces.setdefault(path, []).append((first, number))
        found = [rids_of_pieces(sorted(here), wanted[path]) for path, here in pieces.items() if path in wanted]
        return distinct(np.concatenate(found)) if found else np.empty(0, dtype=np.int64)


def rids_of_pieces(pieces: Sequence[tuple[int, int]], positions: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Rids of positions in a file that was read in pieces: the first record of each in the file, and its number. Of those that begin at one record all but the last are empty."""
    firsts, numbers = np.array(pieces, dtype=np.int64).T
    at = np.searchsorted(firsts, positions, side="right") - 1
    made: npt.NDArray[np.int64] = (numbers[at] << POSITION_BITS) | (positions - firsts[at])
    return made


def cutting(given: Mapping[str, str], form: str) -> dict[str, str]:
    """Options that decide where a record begins, by the names that Spark's documentation calls them; ``given`` may call them otherwise."""
    by_name = {name.lower(): value or "\0" for name, value in given.items() if value or name.lower() in _NUL}
    found = {_ALSO.get(name, name): by_name[name.lower()] for name in _CUTTING if name.lower() in by_name}
    return {**(_CSV if form == "csv" else {}), **found}
