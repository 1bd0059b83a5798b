"""Saved sources: records that a saved run read, read again from files of this machine that are still the very ones."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from bigdebug.errors import IncompleteLineageError, SourceChangedError
from bigdebug.trace.across.located import Extent, Unit
from bigdebug.trace.across.stored import tabular
from bigdebug.trace.origins import SourceFacts, Split, Stamp
from bigdebug.trace.positions import Positions
from bigdebug.trace.rows import SavedRow
from bigdebug.trace.saved.tables import rows_seen
from bigdebug.trace.textlines import TextLines, local_path
from bigdebug.trace.whereabouts import Whereabouts

_MILLISECOND = 1_000_000


class SavedSource:
    """One source of a saved run. ``whole`` are records of partitions that were read to their end."""

    def __init__(self, facts: SourceFacts | Whereabouts, whole: Mapping[int, int]) -> None:
        self._facts, self._whole = facts, whole
        self._texts = TextLines(facts.splits) if facts.type == "text" and facts.plain and facts.splits else None
        self._files: dict[str, TextLines] = {}

    def check(self) -> None:
        """Raise SourceChangedError if a file is not the very one that the run read."""
        for stamp in self._facts.stamps:
            path = local_path(stamp.path)
            if path is None or not os.path.isfile(path) or not _same(stamp, Stamp.of(stamp.path, path)):
                raise SourceChangedError(
                    "An input of the saved run is no longer what it was", value=stamp.path,
                    remedy="The file has to be the very one that the run read, and no copy; rids and origins are still answered.",
                )

    def read(self, partition: int, positions: Positions) -> list[Any] | None:
        """The records at some places of a partition; None where they cannot be had without Spark."""
        if self._texts is not None:
            return self._texts.read(partition, positions, self._whole.get(partition))
        if not isinstance(self._facts, Whereabouts) or not self._facts.stamps:
            return None
        path, first = self._facts.place(partition)
        if path is None or not os.path.isfile(path):
            return None
        fields = self._facts.fields
        if fields is None:
            return None
        if self._facts.form == "text":
            lines = self._files.setdefault(path, TextLines([Split(path, 0, os.path.getsize(path))])).read(0, positions + first, None)
            return None if lines is None else [SavedRow.of(fields.names, (line,) * len(fields.names)) for line in lines]
        return rows_seen(Extent(path, Unit.ROW, self._facts.form), positions + first, fields) if tabular(self._facts.form) else None


def _same(stamp: Stamp, now: Stamp) -> bool:
    """To the millisecond, if that is all that was known of it."""
    return stamp == now if stamp.replaced else (stamp.size, stamp.modified // _MILLISECOND) == (now.size, now.modified // _MILLISECOND)


def not_kept(operator: object) -> IncompleteLineageError:
    """The error of asking for records that are nowhere here."""
    return IncompleteLineageError(
        f"The records of {operator} are not kept with a saved session",
        remedy="Trace to a text source or a Parquet file on this machine, or ask for rids() and origins().",
    )
