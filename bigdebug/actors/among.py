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


def seen_among(copied: Copied, records: Sequence[Any], until: float) -> tuple[int, bool]:
    """How many of the records behind the first were tried, and whether the function gave the same of them alone. Raises what it raises. No record is begun after ``until``, by ``perf_counter``."""
    late = len(records) - FIRST
    chosen = sorted({FIRST + (part + 1) * late // _RUNS - 1 for part in range(_RUNS)} - {FIRST - 1}) if late > 0 else []
    with copied(records) as (call, mine):
        among = _given(call, mine, set(chosen), until)
    tried = 0
    for number, outputs in among.items():
        if perf_counter() > until:
            break
        with copied(records[number : number + 1]) as (call, mine):
            alone = list(islice(call(iter(mine)), MOST))
            tried += 1
            if len(alone) != len(outputs) or not all(map(same_cell, alone, outputs)):
                return tried, False
    return tried, True


def _given(call: Call, records: Sequence[Any], chosen: set[int], until: float) -> dict[int, list[Any]]:
    """What came of the chosen ones before another was read; without the last if it was not the last of all."""
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
            outputs.append(output)
        if perf_counter() > until:
            break
    if not ended:
        found.pop(last, None)
    return found
