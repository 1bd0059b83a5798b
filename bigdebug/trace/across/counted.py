"""Counted: what a user asks of a file, in the unit in which a step counts its records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from bigdebug.errors import PipelineError, SourceChangedError, UnknownRecordError, UntraceableError
from bigdebug.trace.across.located import ITEMS, Extent, Located, Unit
from bigdebug.trace.across.paths import short
from bigdebug.trace.across.stamps import same_content, stamp_of
from bigdebug.trace.across.step import Step, counting
from bigdebug.trace.across.stored import tabular
from bigdebug.trace.across.units import Units, same_count

_OF_ROWS = (".csv", ".tsv", ".json", ".jsonl", ".ndjson")
"""How files are called whose rows are others than their lines."""


def counted_by(units: Units, step: Step, found: Located, extent: Extent, rows: Sequence[Extent]) -> Located:
    """As a step counts them: none for a header, and for blank lines. Of all of a file, what is in it is counted later, and only if need be.

    Raises UnknownRecordError for what is beyond its end, UntraceableError where it cannot be told which of its records these are.
    """
    if found.unit is Unit.WHOLE:
        return replace(found, path=extent.path)
    as_it_counts = found.unit is extent.unit
    asked = extent if as_it_counts else _as_asked(found, extent, rows)
    if found.unit is Unit.LINE and not as_it_counts and not tabular(extent.form):
        _check_count(units, found, asked)
    there = replace(found, path=extent.path) if as_it_counts else units.translate(found, asked, extent)
    if len(there) and extent.unit is not Unit.WHOLE and stamp_of(extent.path, digest=False) is not None:
        _check_count(units, there, extent)
    known = counting(step) if extent.path.startswith(ITEMS) else None
    if len(there) and known is not None:
        _check_within(there, extent, known.count(extent.path))
    return there


def _as_asked(found: Located, extent: Extent, rows: Sequence[Extent]) -> Extent:
    """The file of a step in the unit that was asked for; ``rows`` count for it that were of the same content.

    Raises PipelineError where nobody knows what its rows are: lines of a table may be others, for a header is none, and a row may take several.
    """
    if found.unit is not Unit.ROW or extent.form not in ("", "text"):
        return replace(extent, unit=found.unit)
    mine = [each for each in rows if each.stamp is None or extent.stamp is None or same_content(each.stamp, extent.stamp)]
    if not mine and extent.form and not extent.path.lower().removesuffix(".gz").endswith(_OF_ROWS):
        return replace(extent, unit=found.unit)
    if not mine or not all(same_count(mine[0], other) for other in mine):
        raise PipelineError("It is not known what the rows of this file are", value=extent.path, remedy="Ask by lines=[...].")
    return replace(mine[0], path=extent.path)


def counted_alike(units: Units, found: Located, extents: Sequence[Extent]) -> bool:
    """Whether rows that are asked for by number are the same ones to all who count the rows of the file: a header is one to some, and to others none."""
    rows = [extent for extent in extents if extent.unit is Unit.ROW]
    if found.unit is not Unit.ROW or len(rows) < 2:
        return True
    try:
        return all(same_count(rows[0], other) or np.array_equal(units.translate(found, rows[0], other).positions, found.positions) for other in rows[1:])
    except (UntraceableError, UnknownRecordError, SourceChangedError):
        return False


def _check_count(units: Units, found: Located, extent: Extent) -> None:
    """Raises UnknownRecordError for what is beyond the end of the file, if its end can be seen."""
    try:
        count = units.count(extent)
    except (UntraceableError, SourceChangedError):
        return
    _check_within(found, extent, count)


def _check_within(found: Located, extent: Extent, count: int) -> None:
    """Raises UnknownRecordError for what is beyond so many records."""
    if found.positions[-1] >= count:
        first = int(extent.unit is Unit.LINE)
        raise UnknownRecordError(
            f"{short(extent.path)} has {count:,} {extent.unit.value}s", value=int(found.positions[-1]) + first,
            remedy=f"They are counted from {first}, to {count - 1 + first:,}." if count else "It is empty.",
        )
