"""Units: the same records of a file, counted as another step counted them; Newt's ghost tables (5.1). Records are the same where their bytes overlap."""

from __future__ import annotations

import os
from collections import OrderedDict
from dataclasses import replace
from typing import Any

import numpy as np

from bigdebug.errors import SourceChangedError, TooLargeError, UnknownRecordError, UntraceableError
from bigdebug.store.ranges import spread
from bigdebug.trace.across.cuts import Cuts, counting, cuts_of
from bigdebug.trace.across.located import ITEMS, Extent, Located, Unit
from bigdebug.trace.across.opened import compressed, file_at, plain
from bigdebug.trace.across.stamps import unchanged
from bigdebug.trace.across.stored import rows_of_table, table_rows, tabular, texts_of
from bigdebug.trace.positions import Positions, distinct

MOST = 1 << 27
"""Positions that an answer has at most: a GiB."""
_KEPT = 1 << 25
"""Records whose bounds are kept, over all files: half a GiB."""

_ANY = ("", "hadoop")
"""Forms in which steps may cut rows in any way: by an end of lines, or an input format, of their own."""

FIRST = np.zeros(1, dtype=np.int64)


class Units:
    """Positions of one way to count in another, and the records there. A file is read once for each way, in one pass, and not again while its stamp holds."""

    def __init__(self) -> None:
        self._cuts: OrderedDict[tuple[Any, ...], Cuts] = OrderedDict()

    def translate(self, found: Located, one: Extent, other: Extent) -> Located:
        """Records that are counted as ``one`` says, as ``other`` counts them: all that share a byte with one of these.

        The header of a CSV and blank lines are no rows. Costs no look at the file where both count alike; else the file has to be what the stamps say.
        Raises UntraceableError where the answer would not be exact, SourceChangedError if the file is another now, TooLargeError.
        """
        one = replace(one, unit=found.unit)
        if same_count(one, other):
            return replace(found, path=other.path, unit=other.unit)
        if not len(found) or other.unit is Unit.WHOLE:
            return Located(other.path, other.unit, FIRST[: min(1, len(found))])
        _check(one, other)
        if found.unit is Unit.WHOLE:
            return Located(other.path, other.unit, self.every(other))
        one, other = _one_encoding(one, other)
        if Unit.BYTE in (one.unit, other.unit) and (compressed(one.path) or not plain(counting(one)["encoding"])):
            raise UntraceableError("Bytes of a compressed or transcoded file are not those of its lines", value=one.path, remedy="Count it by lines or rows, or keep it uncompressed and in UTF-8.")
        starts, ends = self._bounds(found.positions, one)
        return Located(other.path, other.unit, self._overlapping(starts, ends, other))

    def every(self, extent: Extent) -> Positions:
        """All positions of a file. Raises as ``translate`` does."""
        if extent.unit is Unit.WHOLE:
            return FIRST
        count = self.count(extent)
        if count > MOST:
            raise TooLargeError(f"The file has {count:,} records", value=extent.path, remedy="Ask for some of its records.")
        return np.arange(count, dtype=np.int64)

    def count(self, extent: Extent) -> int:
        """The records of a file."""
        if extent.unit is Unit.WHOLE:
            return 1
        _check(extent)
        if tabular(extent.form):
            return rows_of_table(extent)
        if extent.unit is Unit.BYTE:
            return os.path.getsize(file_at(extent.path))
        return len(self.cuts(extent))

    def records(self, found: Located, extent: Extent) -> list[Any]:
        """The records there: lines and rows of texts as they stand in the file, rows of Parquet and ORC as dicts by column, a whole file as its path.

        Raises SourceChangedError if the file is another now, UntraceableError for other forms: to read a pickle would run it.
        """
        extent = replace(extent, unit=found.unit)
        if found.unit is Unit.WHOLE:
            return [extent.path] * len(found)
        _check(extent)
        if found.unit is Unit.ROW and tabular(extent.form):
            return table_rows(extent, found.positions)
        starts, ends = self._bounds(found.positions, extent)
        return texts_of(extent, starts, ends)

    def cuts(self, extent: Extent) -> Cuts:
        """Where the records begin and end, as ``cuts_of`` has it; kept for a file with a stamp. Raises UntraceableError also where the step found another number of them."""
        key = (extent.path, extent.unit, extent.form, extent.options, extent.stamp)
        found = self._cuts.pop(key, None) or cuts_of(extent)
        if extent.stamp is not None:
            self._cuts[key] = found
            while len(self._cuts) > 1 and sum(map(len, self._cuts.values())) > _KEPT:
                self._cuts.popitem(last=False)
        if extent.unit is Unit.ROW and extent.rows is not None and extent.rows != len(found):
            raise UntraceableError(
                f"A step counted {extent.rows:,} rows in a file of {len(found):,}: it cuts them in a way that is not followed", value=extent.path,
                remedy="Its records are counted as the whole file.",
            )
        return found

    def _bounds(self, positions: Positions, extent: Extent) -> tuple[Positions, Positions]:
        if extent.unit is Unit.BYTE:
            return positions, positions + 1
        cuts = self.cuts(extent)
        beyond = positions[(positions >= len(cuts)) | (positions < 0)]
        if len(beyond):
            raise UnknownRecordError(
                f"The file has {len(cuts):,} records, counted by {extent.unit.value}", value=int(beyond[0]), remedy="Positions count from 0, to one less than that.",
            )
        return cuts.starts[positions], cuts.ends[positions]

    def _overlapping(self, starts: Positions, ends: Positions, extent: Extent) -> Positions:
        if extent.unit is Unit.BYTE:
            first, counts = starts, ends - starts
        else:
            cuts = self.cuts(extent)
            first = np.searchsorted(cuts.ends, starts, side="right")
            counts = np.maximum(np.searchsorted(cuts.starts, ends, side="left") - first, 0)
        if int(counts.sum()) > MOST:
            raise TooLargeError("So many positions are not held", value=int(counts.sum()), remedy="Ask for fewer records.")
        return distinct(spread(first, counts))


def same_count(one: Extent, other: Extent) -> bool:
    """Whether position n means the same record in both, whatever the file holds. Of rows whose form is not known, or one of Hadoop's own, nobody can say so."""
    if one.unit is not other.unit:
        return False
    if one.unit is Unit.LINE:
        codecs = {counting(one)["encoding"], counting(other)["encoding"]}
        return len(codecs) == 1 or all(map(plain, codecs))
    if one.unit is not Unit.ROW:
        return True
    if one.rows is not None and other.rows is not None and one.rows != other.rows:
        return False
    mine, others = one.form.lower(), other.form.lower()
    if one.path.startswith(ITEMS) and other.path.startswith(ITEMS):
        return True
    if mine in _ANY or tabular(mine):
        return mine not in _ANY and mine == others
    return mine == others and counting(one) == counting(other)


def _check(*extents: Extent) -> None:
    """The file has to be here, and what each of these saw."""
    for extent in extents:
        if extent.stamp is not None and not unchanged(extent.path, extent.stamp):
            raise SourceChangedError(
                "A file is not what it was when a step read or wrote it", value=extent.path, remedy="Keep the files between steps, and their records can be counted again.",
            )


def _one_encoding(one: Extent, other: Extent) -> tuple[Extent, Extent]:
    """Both with the encoding that one of them says. Raises UntraceableError if they say different ones."""
    said = [[(n, v) for n, v in extent.options if n.lower() in ("encoding", "charset")] for extent in (one, other)]
    if all(said) and counting(one)["encoding"] != counting(other)["encoding"]:
        raise UntraceableError("Two steps read a file in different encodings", value=one.path, remedy="Let both read it in the one that it is written in.")
    known = tuple(said[0] or said[1])
    return tuple(extent if mine else replace(extent, options=(*extent.options, *known)) for extent, mine in zip((one, other), said, strict=True))  # type: ignore[return-value]
