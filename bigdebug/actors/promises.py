"""Promises: what a user says of a function over frames, and whether it holds on a few rows (the re-execution oracle, law 3).

A function that promises to make each row of one input row alone gives of a few rows what it gave of them among all others. One that looks at neighbours, sums up, or numbers its rows
anew does not; that is seen, and its lineage is refused instead of told wrong.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from bigdebug.actors.alike import Close, same, same_unordered
from bigdebug.actors.aside import aside, stopped
from bigdebug.actors.bare import arrays_of, bare
from bigdebug.actors.codes import Untried
from bigdebug.actors.columns import Column
from bigdebug.actors.rows_apart import few_of
from bigdebug.outside import from_outside, said
from bigdebug.shown import shown
from bigdebug.trace.positions import Positions, distinct

if TYPE_CHECKING:
    import pandas as pd

NOTHING_CAME = "What was promised is believed: nothing came of the rows that it was tried on, or its groups are too large to be tried"

ONE_ALONE = "What was promised is believed: it was tried once alone, for more takes too long, or its groups are too large; and what comes of one may be what was promised by chance"

NOT_TRIED = "what was promised was not tried"

ENOUGH = 8
"""Rows that have to come of those that a function is tried on, or it is tried on more."""


MOST_SECONDS = 1.5
"""When trials have taken so long, no other begins: a function that takes long of a row, or of none, is tried on fewer."""


class Broken(Exception):
    """A promise does not hold, or it cannot be seen whether it does; says why, as the end of a sentence."""


@contextlib.contextmanager
def telling() -> Iterator[None]:
    """Within, rows of the user's are told apart by pandas: what it cannot do with what is in them is a promise that cannot be seen to hold, and no error of his step."""
    try:
        yield
    except Broken:
        raise
    except Exception as problem:  # of pandas, or of what the user keeps in a frame
        if from_outside(problem):
            raise
        raise Broken(f"pandas cannot tell its rows apart ({type(problem).__name__}: {shown(said(problem))})") from problem


class Owners(Protocol):
    """Who owns a row: the input row, or the group, that it is made of alone. Seen of the input before a function has it that may change it."""

    def expect_all(self) -> None:
        """A result may have a row for each input row, in the same order: hold, before the function has the input, what tells the owners of such a one at once. Else they are found one by one."""

    def of(self, result: Any) -> Column:
        """The owner of each row of a result; raises Broken where one has none."""

    @property
    def close(self) -> float:
        """How much floats of 64 bits may differ, relatively, that no input row has."""

    @property
    def one(self) -> bool:
        """Whether there is one owner alone: then any promise holds."""

    def alone(self) -> Positions:
        """A few owners to try the function on, each by itself; all, if there are few."""

    def together(self) -> Iterator[Positions]:
        """Some owners, ascending, to try the function on together: the odd ones, and some of all places."""

    def more(self) -> Iterator[Positions]:
        """More owners, ascending, to try it on until something comes of them."""

    def rows(self, owners: Positions) -> Positions:
        """The input rows that these own, ascending."""


@dataclass(frozen=True, eq=False)
class Probe:
    """What the function gave of the input rows of a few owners alone."""

    owners: Positions
    rows: Positions
    floats: npt.NDArray[np.float64]
    """What these rows have in columns of floats: what a function gives of them unchanged is the same or not, never close."""
    result: Any


def probed(frame: pd.DataFrame, owners: Owners, call: Callable[[Any], Any], reads: Callable[[str], None] = lambda _: None) -> list[Probe]:
    """Try the function before it is called, on copies of rows, where nobody sees it and nothing stays of it (``aside``). Raises Broken if it raises, Untried if it would do what stays.

    ``reads`` is told of files that it reads. Once, and then as often as it should if that takes no longer than MOST_SECONDS: first on one of the middle, for of the first row a running total is
    what it is alone, and then on many.
    """
    found, began = list[Probe](), perf_counter()
    with aside(reads):
        with telling():
            alone = [each[None] for each in owners.alone()]
            first = alone[len(alone) // 2 :][:1]
            chosen = _each_once([*first, *owners.together(), *alone])
        for each in chain(chosen, owners.more()):
            if len(found) >= len(chosen) and sum(_length(probe.result) for probe in found) >= ENOUGH:
                break
            if any(_equal(each, probe.owners) for probe in found):  # of large groups there is always the same one
                continue
            found.append(_tried(frame, owners, each, call))
            if perf_counter() - began > MOST_SECONDS:
                break
    return found


def may_give_all(probes: list[Probe]) -> bool:
    """Whether a function may give as many rows as it gets: it did of some that it was tried on, or it was not tried."""
    return not probes or any(_length(probe.result) == len(probe.rows) for probe in probes)


def _each_once(chosen: Iterable[Positions]) -> list[Positions]:
    return list({each.tobytes(): each for each in chosen}.values())


def believed(probes: list[Probe], owners: Owners, rows: int, came: bool) -> tuple[str, str]:
    """What of a promise that was kept was not seen, of so many input rows: why the step is incomplete, and what it believes besides; mostly empty."""
    each = [probe for probe in probes if len(probe.owners) <= 1]
    alone = _covered(each)
    tried = alone if len(each) == len(probes) else _covered(probes)
    if owners.one or alone == rows:
        return "", ""
    if not came:
        return NOTHING_CAME, ""
    if len(probes) < 2:
        return ONE_ALONE, ""
    return "", f"what was promised was tried on {tried:,} of {rows:,} rows"


def _covered(probes: list[Probe]) -> int:
    """How many rows were tried."""
    return len(distinct(np.concatenate([probe.rows for probe in probes]))) if probes else 0


def _tried(frame: pd.DataFrame, owners: Owners, chosen: Positions, call: Callable[[Any], Any]) -> Probe:
    places = owners.rows(chosen)
    rows = few_of(frame, places)
    try:
        with stopped():
            return Probe(chosen, places, _floats(bare(rows)), call(rows))
    except Untried:
        raise
    except BaseException as error:  # the user's; an exit is one of a few rows alone
        if from_outside(error):
            raise
        raise Broken(f"it raised {type(error).__name__} on {len(rows)} of its rows alone: {shown(said(error))}") from error


def kept(probes: list[Probe], result: Any, owners: Owners, of_result: Column) -> bool:
    """Whether the result has of the owners that were tried what was given of them alone. Raises Broken if not; False if nothing came of them."""
    if not probes:
        return False
    every = of_result.holding(distinct(np.concatenate([probe.owners for probe in probes])))
    of_every, seen, whole = of_result.take(every), False, bare(result)
    for probe in probes:
        tried = owners.of(probe.result).array
        if not _among(tried, probe.owners).all():
            raise Broken("of a few rows alone it gave rows that are of others")
        mine = _among(of_every, probe.owners)
        there = every[mine][np.argsort(of_every[mine], kind="stable")]
        order = np.argsort(tried, kind="stable")
        if not len(order) and not len(there):
            continue
        alone, others = bare(probe.result).iloc[order], whole.iloc[there]
        if not _equal(tried[order], np.sort(of_every[mine])) or not (same(alone, others, Close(owners.close, probe.floats)) or same_unordered(alone, others, tried[order])):
            raise Broken("it gave something else of a few rows alone than of the same rows among all others")
        seen = seen or bool(len(order))
    return seen


def _among(numbers: Positions, owners: Positions) -> npt.NDArray[np.bool_]:
    """Which of the numbers are among owners, which ascend. (numpy's own makes a table first, of which few have nothing.)"""
    if not len(owners):
        return np.zeros(len(numbers), np.bool_)
    return np.asarray(owners[np.minimum(np.searchsorted(owners, numbers), len(owners) - 1)] == numbers)


def _equal(one: Positions, other: Positions) -> bool:
    """Whether they are the same ones. (What interrupts numpy's own answer it takes for a no.)"""
    return len(one) == len(other) and bool((one == other).all())


def _floats(rows: Any) -> npt.NDArray[np.float64]:
    """The floats of all columns."""
    arrays = [each for each in arrays_of(rows) if each.dtype.kind == "f"]
    found = [np.asarray(each, np.float64) if isinstance(each, np.ndarray) else np.asarray(each.to_numpy(dtype=np.float64, na_value=np.nan)) for each in arrays]
    return np.concatenate(found) if found else np.zeros(0)


def _length(result: Any) -> int:
    return len(result) if hasattr(result, "index") else 0
