"""Among: what a generator makes of records from all places, each alone and among those that come before it. What it remembers of one that comes late, such as the title of a section, the first
few do not show.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import islice
from time import perf_counter
from typing import Any

import numpy as np

from bigdebug.actors.alike import same_cell
from bigdebug.actors.codes import Untried
from bigdebug.actors.promises import Broken
from bigdebug.actors.room import NoRoom
from bigdebug.outside import from_outside, said
from bigdebug.shown import shown

OTHERWISE = "it gave something else of a record alone than of the same record among others, so an output is not made of the record read last alone"

FIRST = 8
"""Records that come first."""

_RUNS, _RUN = 8, 64
"""Runs of records behind them, from all places, and records of each; the last of each is tried alone, too."""

_TEXTS = 1 << 20
"""Characters of lines behind the first that are looked at."""

MOST = 10_000
"""Outputs of one record that are looked at."""

Call = Callable[[Iterator[Any]], Iterable[Any]]
Copied = Callable[[Sequence[Any]], AbstractContextManager[tuple[Call, Sequence[Any]]]]
"""Within: a copy of the function, and of records."""
Kept = Callable[[Any], Any]
"""A copy of an output, for the function may change it when it goes on. Raises NoRoom if there is no room for one."""


def some_of(records: Any) -> list[Any]:
    """The first records, and runs of those behind them."""
    most = FIRST + _RUNS * _RUN
    if type(records) not in (list, tuple, range, str, bytes, np.ndarray) or len(records) <= most:
        return list(islice(records, most))
    starts = np.linspace(FIRST, len(records) - _RUN, _RUNS).astype(np.int64).tolist()
    return [each for start, count in ((0, FIRST), *((start, _RUN) for start in starts)) for each in records[start : start + count]]


def some_lines(lines: Iterable[str]) -> Iterator[str]:
    """The first lines, and those behind them, if they are not too long."""
    size = 0
    for number, line in enumerate(islice(lines, FIRST + _RUNS * _RUN)):
        size += len(line) if number >= FIRST else 0
        if size > _TEXTS:
            return
        yield line


def seen_among(copied: Copied, records: Sequence[Any], kept: Kept, until: float) -> list[int]:
    """Of each record behind the first that was tried, how many outputs came of it. No record is begun after ``until``, by ``perf_counter``, nor when there is no room for its outputs.

    Raises Broken where the function gave something else of one alone, or raised: among others it did not. Raises what it raises among others.
    """
    late = len(records) - FIRST
    chosen = sorted({FIRST + (part + 1) * late // _RUNS - 1 for part in range(_RUNS)} - {FIRST - 1}) if late > 0 else []
    with copied(records) as (call, mine):
        among = _given(call, mine, set(chosen), kept, until)
    counts: list[int] = []
    for number, outputs in among.items():
        if perf_counter() > until:
            break
        try:
            with copied(records[number : number + 1]) as (call, mine):
                alone = _alone(call, mine, kept)
        except NoRoom:
            break
        if len(alone) != len(outputs) or not all(map(same_cell, alone, outputs)):
            raise Broken(OTHERWISE)
        counts.append(len(alone))
    return counts


def _alone(call: Call, record: Sequence[Any], kept: Kept) -> list[Any]:
    try:
        return [kept(output) for output in islice(call(iter(record)), MOST)]
    except Untried:
        raise
    except (Exception, SystemExit) as error:  # the user's; an exit is one of a record alone
        if from_outside(error):
            raise
        raise Broken(raised(error)) from error


def raised(error: BaseException) -> str:
    """Why a promise is broken where a function raised something of a record alone."""
    return f"it raised {type(error).__name__} on a record alone: {shown(said(error))}"


def _given(call: Call, records: Sequence[Any], chosen: set[int], kept: Kept, until: float) -> dict[int, list[Any]]:
    """What came of the chosen ones before another was read; without the last if more may come of it."""
    found: dict[int, list[Any]] = {}
    last, ended = -1, False

    def reading() -> Iterator[Any]:
        nonlocal last, ended
        for last, record in enumerate(records):
            if perf_counter() > until:
                return
            if last in chosen:
                found[last] = []
            yield record
        ended = True

    for output in call(reading()):
        outputs = found.get(last)
        if outputs is not None and len(outputs) < MOST:
            try:
                outputs.append(kept(output))
            except NoRoom:
                ended = False
                break
        if perf_counter() > until:
            break
    if not ended:
        found.pop(last, None)
    return found
