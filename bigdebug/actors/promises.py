"""Promises: what a user says of a function over frames, and whether it holds on a few rows (the re-execution oracle, law 3).

A function that promises to make each row of one input row alone gives of a few rows what it gave of them among all others. One that looks at neighbours, sums up, or numbers its rows
anew does not; that is seen, and its lineage is refused instead of told wrong.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import isclose
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from bigdebug.actors.aside import aside
from bigdebug.actors.cells import fixed
from bigdebug.actors.columns import Column
from bigdebug.shown import shown
from bigdebug.trace.positions import Positions, distinct

if TYPE_CHECKING:
    import pandas as pd

CLOSE = 1e-9
"""How much floats may differ, relatively: sums of few and of many numbers round differently."""

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
    def one(self) -> bool:
        """Whether there is one owner alone: then any promise holds."""

    def alone(self) -> Positions:
        """A few owners to try the function on, each by itself; all, if there are few."""

    def together(self) -> Iterator[Positions]:
        """Some owners, ascending, to try the function on together; more each time, until something comes of them."""

    def rows(self, owners: Positions) -> Positions:
        """The input rows that these own, ascending."""


@dataclass(frozen=True, eq=False)
class Probe:
    """What the function gave of the input rows of a few owners alone."""

    owners: Positions
    result: Any


def probed(frame: pd.DataFrame, owners: Owners, call: Callable[[Any], Any]) -> list[Probe]:
    """Try the function before it is called: a file that it writes, it writes over afterwards; what it appends or sends is there twice. Raises Broken if it raises.

    It has rows of its own, prints nowhere, and leaves random numbers as they were.
    """
    with aside():
        found = [_tried(frame, owners, chosen[None], call) for chosen in owners.alone()]
        for chosen in owners.together():
            found.append(_tried(frame, owners, chosen, call))
            if sum(_length(probe.result) for probe in found) >= ENOUGH:
                break
    return found


def _tried(frame: pd.DataFrame, owners: Owners, chosen: Positions, call: Callable[[Any], Any]) -> Probe:
    rows = frame.iloc[owners.rows(chosen)]
    try:
        return Probe(chosen, call(_own(rows)))
    except Exception as error:  # the user's
        raise Broken(f"it raised {type(error).__name__} on {len(rows)} of its rows alone: {shown(str(error))}") from error


def own_arguments(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Copies of what a function is given besides its rows: trying it uses up no iterator of the user's, and appends to no list. Raises Broken where there are none."""
    try:
        mine: tuple[tuple[Any, ...], dict[str, Any]] = copy.deepcopy((args, kwargs))
    except Exception as error:  # a type's own
        raise Broken(f"its other arguments cannot be copied, so it cannot be tried on a few rows ({error}); check=False believes it") from error
    return mine


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
        if not np.array_equal(tried[order], np.sort(of_every[mine])) or not (same(alone, others) or _same_unordered(alone, others, tried[order])):
            raise Broken("it gave something else of a few rows alone than of the same rows among all others")
        seen = seen or bool(len(order))
    return seen


def same(one: Any, other: Any) -> bool:
    """Whether two frames hold the same, row by row: types may differ as they do when other rows have nulls, and index and order of rows were looked at."""
    import pandas as pd

    if isinstance(one, pd.Series) or isinstance(other, pd.Series):
        return type(one) is type(other) and _same_values(one, other)
    if list(map(repr, one.columns)) != list(map(repr, other.columns)):
        return False
    if one.reset_index(drop=True).equals(other.reset_index(drop=True)):
        return True
    return all(_same_values(one.iloc[:, i], other.iloc[:, i]) for i in range(one.shape[1]))


def _same_unordered(one: Any, other: Any, owners: Positions) -> bool:
    """Whether two frames hold the same rows of each owner, in any order: rows that a sort finds equal come in another one among others."""
    if len(owners) > _UNORDERED or not hasattr(one, "columns") or list(map(repr, one.columns)) != list(map(repr, other.columns)):
        return False
    left = [list(zip(owners.tolist(), *(each.iloc[:, i].astype(object) for i in range(each.shape[1])))) for each in (one, other)]
    for row in left[0]:
        found = next((n for n, each in enumerate(left[1]) if all(map(same_cell, row, each))), None)
        if found is None:
            return False
        del left[1][found]
    return not left[1]


def _same_values(one: Any, other: Any) -> bool:
    import pandas as pd

    if all(pd.api.types.is_float_dtype(each.dtype) or pd.api.types.is_integer_dtype(each.dtype) for each in (one, other)) and one.dtype != other.dtype:
        one, other = (each.astype("Float64") for each in (one, other))
    if pd.api.types.is_float_dtype(one.dtype) and pd.api.types.is_float_dtype(other.dtype):
        first, second = (each.to_numpy(dtype=float, na_value=np.nan) for each in (one, other))
        return bool(np.allclose(first, second, rtol=CLOSE, atol=0.0, equal_nan=True))
    return all(map(same_cell, one.astype(object).tolist(), other.astype(object).tolist()))


def same_cell(one: Any, other: Any) -> bool:
    """Whether two values are the same: nulls are, and floats that are close; collections by what is in them."""
    if one is other:
        return True
    kind = type(one)
    if kind is type(other):
        if kind in (str, bytes, int, bool):
            return bool(one == other)
        if kind is float:
            return isclose(one, other, rel_tol=CLOSE) or (one != one and other != other)
        if kind in (tuple, list):
            return len(one) == len(other) and all(map(same_cell, one, other))
        if kind is dict:
            return one.keys() == other.keys() and all(same_cell(value, other[key]) for key, value in one.items())
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
    for i, kind in enumerate(mine.dtypes):
        if kind == np.dtype(object) and not fixed(rows.iloc[:, i].to_numpy()):
            cells = copy.deepcopy(rows.iloc[:, i].tolist())
            column = np.empty(len(cells), dtype=object)
            column[:] = cells
            mine.isetitem(i, column)
    return mine


def _length(result: Any) -> int:
    return len(result) if hasattr(result, "index") else 0
