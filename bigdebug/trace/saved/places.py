"""Saved places: which records of a saved run's sources stand at a line or a row of a file. The inverse of origins."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bigdebug.errors import IncompleteLineageError, UnknownRecordError
from bigdebug.model import POSITION_BITS
from bigdebug.trace.origins import SourceFacts
from bigdebug.trace.places import places_of
from bigdebug.trace.saved.runs import SavedRun
from bigdebug.trace.saved.trace import SavedTrace, standing_at
from bigdebug.trace.textlines import local_path


class _Piece(NamedTuple):
    """Records of a file that follow one another in a partition: the number of the first one in the file, and of the one behind the last.

    ``last`` is None where nobody counted what stands before it in the file: the records have numbers from ``first`` on.
    """

    operator: int
    path: str
    partition: int
    first: int
    last: int | None


def standing_in(run: SavedRun, file: str, *, line: int | None = None, row: int | None = None) -> SavedTrace:
    """The trace over the source records at a ``line`` (from 1) of a text, or at a ``row`` (from 0) of another file, wherever the run reads it.

    ``file`` is a path, or the end of one. Raises UnknownRecordError where the run read no such record, IncompleteLineageError where it may have, for the
    records before it were not counted.
    """
    unit, number = ("line", line - 1) if line is not None else ("row", row or 0)
    pieces = list(_pieces(run, unit))
    paths = list(dict.fromkeys(piece.path for piece in pieces))
    meant = [path for path in paths if _same(path, file)] or [path for path in paths if _ends(path, file)]
    if len(meant) != 1:
        known = ", ".join(meant or paths) or f"no file by {unit}s"
        what = "Several files that the run read are called so" if meant else f"The run read no {unit}s of such a file"
        raise UnknownRecordError(what, value=file, remedy=f"It read {known}.")
    here = [piece for piece in pieces if piece.path == meant[0] and piece.first <= number]
    found = [
        (piece.operator, (piece.partition << POSITION_BITS) + number - piece.first) for piece in here if piece.last is not None and number < piece.last
    ]
    found = [(operator, rid) for operator, rid in found if _there(run, operator, rid)]
    for piece in here:
        if piece.last is None:
            raise IncompleteLineageError(
                f"Whether and where {run.graph[piece.operator]} read {unit} {number + (unit == 'line')} of {meant[0]} is not known: not all of what it read there was counted",
                remedy="Save a run that reads all of the file, with dbg.save(DIR, lineage=True).",
            )
    if not found:
        raise UnknownRecordError(f"The run read no {unit} {number + (unit == 'line')} of {meant[0]}, or nothing was made of it", remedy="Lines count from 1, rows from 0.")
    return standing_at(run, found)


def _there(run: SavedRun, operator: int, rid: int) -> bool:
    if run.associated is None or operator not in run.associated.levels:
        return True
    return bool(run.associated.levels[operator].known(places_of([rid])))


def _pieces(run: SavedRun, unit: str) -> Iterator[_Piece]:
    """What the run read of files by lines, or by rows."""
    facts: Any
    for operator, facts in run.sources.items():
        if run.frame:
            yield from _of_places(operator, facts.places) if facts.unit == unit else ()
        else:
            facts.check()
            if facts.splits and (facts.type == "text") == (unit == "line"):
                yield from _of_splits(operator, facts, run.counted(operator), _numbered(run, operator))


def _numbered(run: SavedRun, operator: int) -> Mapping[int, int] | None:
    """How many records each partition has up to the last one that is numbered; None if it is not known which are."""
    return run.associated.levels[operator].sizes() if run.associated is not None and operator in run.associated.levels else None


def _of_places(operator: int, places: Sequence[tuple[str | None, int]]) -> Iterator[_Piece]:
    starts: dict[str, list[int]] = {}
    for path, first in places:
        if path is not None:
            starts.setdefault(path, []).append(first)
    for known in starts.values():
        known.sort()
    for partition, (path, first) in enumerate(places):
        if path is not None:
            at = bisect_right(starts[path], first)
            yield _Piece(operator, path, partition, first, starts[path][at] if at < len(starts[path]) else 1 << POSITION_BITS)


def _of_splits(operator: int, facts: SourceFacts, whole: Mapping[int, int], numbered: Mapping[int, int] | None) -> Iterator[_Piece]:
    """``whole`` are the sizes that are known. Behind a split of which it is not, nobody knows which line a record is."""
    pieces: dict[str, dict[int, list[int]]] = {}
    for partition, split in enumerate(facts.splits):  # a file that is named twice is read twice, in the same splits
        pieces.setdefault(split.path, {}).setdefault(split.start, []).append(partition)
    for path, by_start in pieces.items():
        before, lost = 0, False
        for _, twins in sorted(by_start.items()):
            size = next((whole[partition] for partition in twins if partition in whole), None)
            for partition in twins:
                if not lost and (partition in whole or numbered is not None):
                    yield _Piece(operator, path, partition, before, before + (1 << POSITION_BITS if size is None else size))
                elif numbered is None or partition in numbered:
                    yield _Piece(operator, path, partition, before, None)
            lost = lost or size is None
            before += max((numbered or {}).get(partition, 0) for partition in twins) if size is None else size


def _same(path: str, given: str) -> bool:
    return given == path or given == local_path(path)


def _ends(path: str, given: str) -> bool:
    return bool(given) and path.endswith(f"/{given.lstrip('/')}")
