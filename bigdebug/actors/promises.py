"""Promises: what a user says of a function over frames, and whether it holds on a few rows (the re-execution oracle, law 3).

A function that promises to make each row of one input row alone gives of a few rows what it gave of them among all others. One that looks at neighbours, sums up, or numbers its rows
anew does not; that is seen, and its lineage is refused instead of told wrong.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import isclose
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from bigdebug.actors.apart import Apart
from bigdebug.actors.aside import aside, stopped
from bigdebug.actors.cells import fixed
from bigdebug.actors.codes import Untried
from bigdebug.actors.columns import Column
from bigdebug.actors.shared import fixed as fixed_value
from bigdebug.shown import shown
from bigdebug.trace.positions import Positions, distinct

if TYPE_CHECKING:
    import pandas as pd

CLOSE = 4 * 2.0**-52
"""How much floats may differ, relatively: four units in the last place, for processors compute several numbers at once otherwise than one."""

NOTHING_CAME = "What was promised is believed: nothing came of the rows that it was tried on, or its groups are too large to be tried"

ENOUGH = 8
"""Rows that have to come of those that a function is tried on, or it is tried on more."""

_UNORDERED = 2_000
"""Rows that are looked for among others, each by each."""


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
        raise Broken(f"pandas cannot tell its rows apart ({type(problem).__name__}: {shown(str(problem))})") from problem


class Owners(Protocol):
    """Who owns a row: the input row, or the group, that it is made of alone. Seen of the input before the function has it, and may change it."""

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


def probed(frame: pd.DataFrame, owners: Owners, call: Callable[[Any], Any]) -> list[Probe]:
    """Try the function before it is called, on rows of its own, where nobody sees it and nothing stays of it (``aside``). Raises Broken if it raises, Untried if it would do what stays."""
    with aside():
        with telling():
            chosen = [*(each[None] for each in owners.alone()), *owners.together()]
        found = [_tried(frame, owners, each, call) for each in chosen]
        for each in owners.more():
            if sum(_length(probe.result) for probe in found) >= ENOUGH:
                break
            found.append(_tried(frame, owners, each, call))
    return found


def believed(probes: list[Probe], owners: Owners, rows: int, came: bool) -> tuple[str, str]:
    """What of a promise that was kept was not seen, of so many input rows: why the step is incomplete, and what it believes besides; mostly empty."""
    alone, tried = (_covered([probe for probe in probes if len(probe.owners) <= most]) for most in (1, rows))
    if owners.one or alone == rows:
        return "", ""
    if not came:
        return NOTHING_CAME, ""
    return "", f"what was promised was tried on {tried:,} of {rows:,} rows"


def _covered(probes: list[Probe]) -> int:
    """How many rows were tried."""
    return len(distinct(np.concatenate([probe.rows for probe in probes]))) if probes else 0


def _tried(frame: pd.DataFrame, owners: Owners, chosen: Positions, call: Callable[[Any], Any]) -> Probe:
    places = owners.rows(chosen)
    rows = frame.iloc[places]
    floats, mine = _floats(rows), _own(rows)
    try:
        with stopped():
            return Probe(chosen, places, floats, call(mine))
    except (Untried, KeyboardInterrupt):
        raise
    except BaseException as error:  # the user's; an exit is one of a few rows alone
        raise Broken(f"it raised {type(error).__name__} on {len(rows)} of its rows alone: {shown(str(error))}") from error


def kept(probes: list[Probe], result: Any, owners: Owners, of_result: Column) -> bool:
    """Whether the result has of the owners that were tried what was given of them alone. Raises Broken if not; False if nothing came of them."""
    if not probes:
        return False
    every = of_result.holding(distinct(np.concatenate([probe.owners for probe in probes])))
    of_every, seen = of_result.take(every), False
    for probe in probes:
        tried = owners.of(probe.result).array
        if not np.isin(tried, probe.owners).all():
            raise Broken("of a few rows alone it gave rows that are of others")
        mine = np.isin(of_every, probe.owners)
        there = every[mine][np.argsort(of_every[mine], kind="stable")]
        order = np.argsort(tried, kind="stable")
        alone, others = probe.result.iloc[order], result.iloc[there]
        if not np.array_equal(tried[order], np.sort(of_every[mine])) or not (same(alone, others, Close(owners.close, probe.floats)) or _same_unordered(alone, others, tried[order])):
            raise Broken("it gave something else of a few rows alone than of the same rows among all others")
        seen = seen or bool(len(order))
    return seen


@dataclass(frozen=True, eq=False)
class Close:
    """How much floats may differ, relatively, of 64 bits; of others it is some units in the last place. What was ``given`` is never close to something else."""

    relative: float
    given: npt.NDArray[np.float64]

    def same(self, one: Any, other: Any, epsilon: float) -> bool:
        """Whether arrays of floats are the same, null by null."""
        differ = ~((one == other) | ((one != one) & (other != other)))
        if not differ.any():
            return True
        one, other = one[differ], other[differ]
        if not epsilon or not np.isfinite(one).all() or not np.isfinite(other).all() or np.isin(one, self.given).any():
            return False
        most = max(self.relative, 4 * epsilon)
        return bool((np.abs(one - other) <= most * np.maximum(np.abs(one), np.abs(other))).all())


def same(one: Any, other: Any, close: Close) -> bool:
    """Whether two frames hold the same, row by row: types may differ as they do when other rows have nulls, and index and order of rows were looked at."""
    import pandas as pd

    if isinstance(one, pd.Series) or isinstance(other, pd.Series):
        return type(one) is type(other) and _same_values(one, other, close)
    if list(map(repr, one.columns)) != list(map(repr, other.columns)):
        return False
    if one.reset_index(drop=True).equals(other.reset_index(drop=True)):
        return True
    return all(_same_values(one.iloc[:, i], other.iloc[:, i], close) for i in range(one.shape[1]))


def _same_unordered(one: Any, other: Any, owners: Positions) -> bool:
    """Whether two frames hold the same rows of each owner, in any order: rows that a sort finds equal come in another one among others."""
    if len(owners) > _UNORDERED or not hasattr(one, "columns") or list(map(repr, one.columns)) != list(map(repr, other.columns)):
        return False
    left = [list(zip(owners.tolist(), *(each.iloc[:, i].astype(object) for i in range(each.shape[1])))) for each in (one, other)]
    for row in left[0]:
        found = next((n for n, each in enumerate(left[1]) if all(same_cell(*cells, close=0.0) for cells in zip(row, each))), None)
        if found is None:
            return False
        del left[1][found]
    return not left[1]


def _same_values(one: Any, other: Any, close: Close) -> bool:
    import pandas as pd

    floats, integers = ([of(each.dtype) for each in (one, other)] for of in (pd.api.types.is_float_dtype, pd.api.types.is_integer_dtype))
    if any(floats) and all(map(max, floats, integers)):  # integers are floats where others are null: the same ones then, and no close ones
        first, second = (each.to_numpy(dtype=float, na_value=np.nan) for each in (one, other))
        return close.same(first, second, max(map(_epsilon, (one.dtype, other.dtype))) if all(floats) else 0.0)
    return all(map(same_cell, one.astype(object).tolist(), other.astype(object).tolist()))


def _epsilon(kind: Any) -> float:
    """The unit in the last place, of a type of floats."""
    kind = kind if isinstance(kind, np.dtype) else getattr(kind, "numpy_dtype", np.dtype(np.float64))
    return float(np.finfo(kind).eps)


def same_cell(one: Any, other: Any, close: float = CLOSE) -> bool:
    """Whether two values are the same: nulls are, and floats that are close; collections by what is in them."""
    if one is other:
        return True
    kind = type(one)
    if kind is type(other):
        if kind in (str, bytes, int, bool):
            return bool(one == other)
        if kind is float:
            return isclose(one, other, rel_tol=close) or (one != one and other != other)
        if kind in (tuple, list):
            return len(one) == len(other) and all(same_cell(*cells, close=close) for cells in zip(one, other))
        if kind is dict:
            return one.keys() == other.keys() and all(same_cell(value, other[key], close) for key, value in one.items())
    return _same_others(one, other)


def _same_others(one: Any, other: Any) -> bool:
    """The same of what pandas and numpy know."""
    import pandas as pd

    if pd.api.types.is_scalar(one) and pd.api.types.is_scalar(other):
        if pd.isna(one) or pd.isna(other):
            return bool(pd.isna(one) and pd.isna(other))
        return bool(one == other)
    try:
        return bool(np.array_equal(np.asarray(one, dtype=object), np.asarray(other, dtype=object)) or repr(one) == repr(other))
    except ValueError:  # arrays within arrays, of several lengths
        return repr(one) == repr(other)


def _own(rows: Any) -> Any:
    """Rows that were taken out of a frame, and in them objects that nobody else holds."""
    if rows.ndim == 1:
        return _own(rows.to_frame()).iloc[:, 0].rename(rows.name)
    mine = rows.copy(deep=False)  # they are no part of another frame to pandas then
    mine.columns = rows.columns.view()  # what it is called may be changed
    attributes = [each for each in type(rows)._metadata if not fixed_value(getattr(rows, each, None))]
    if attributes:  # of a class of frames, which all its frames share
        raise Untried(f"its frame has an attribute {attributes[0]!r}, which may change")
    for i, kind in enumerate(mine.dtypes):
        if kind == np.dtype(object) and not fixed(rows.iloc[:, i].to_numpy()):
            cells = Apart().of(rows.iloc[:, i].tolist())
            column = np.empty(len(cells), dtype=object)
            column[:] = cells
            mine.isetitem(i, column)
    return mine


def _floats(rows: Any) -> npt.NDArray[np.float64]:
    """The floats of all columns."""
    columns = [rows.iloc[:, i] for i, kind in enumerate(rows.dtypes) if kind.kind == "f"] if rows.ndim > 1 else [rows] if rows.dtype.kind == "f" else []
    return np.concatenate([np.zeros(0), *(each.to_numpy(dtype=np.float64, na_value=np.nan) for each in columns)])


def _length(result: Any) -> int:
    return len(result) if hasattr(result, "index") else 0
