"""What is computed of aggregates, mark by mark: ``round(avg(x), 1)``, ``sum(a) / sum(b)``; and what a view shows as arrays of Arrow, and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal

import numpy as np
import pyarrow as pa

from bigdebug.trace.crossfilter.aggregates import Aggregate, Gathering, Shown
from bigdebug.trace.crossfilter.associations import Association
from bigdebug.trace.crossfilter.columns import Array, Column

_WIDE = Context(prec=76)


@dataclass(frozen=True)
class Computed:
    """What ``compute`` makes of what other aggregates show of each mark, each in an array."""

    parts: Sequence[Aggregate]
    compute: Callable[[Sequence[Shown]], Shown]

    def of(self, association: Association) -> Gathering:
        return _Computed([part.of(association) for part in self.parts], self.compute)


class _Computed:
    def __init__(self, parts: Sequence[Gathering], compute: Callable[[Sequence[Shown]], Shown]) -> None:
        self._parts, self._compute = parts, compute
        self.columns: Sequence[Column] = [column for part in parts for column in part.columns]

    def shown(self, totals: Sequence[Array], counts: Array) -> Shown:
        found, at = [], 0
        for part in self._parts:
            behind = at + len(part.columns)
            found.append(part.shown(totals[at:behind], counts)[:-1])  # the last place is that of no mark
            at = behind
        return self._compute(found)


def arrow_of(shown: Shown, kind: pa.DataType) -> pa.Array:
    """What a view shows, in the type of its column; in one that holds it where that does not (a sum beyond its type)."""
    missing, values = np.ma.getmaskarray(shown), np.ma.getdata(shown)
    if values.dtype != object:
        try:
            return pa.array(values, mask=missing).cast(kind)
        except pa.ArrowInvalid:
            return pa.array(values, mask=missing)
    found = [None if none else value for value, none in zip(values.tolist(), missing.tolist())]
    if pa.types.is_decimal(kind):
        digits = Decimal(1).scaleb(-kind.scale)
        found = [None if value is None else Decimal(value).quantize(digits, ROUND_HALF_UP, _WIDE) for value in found]
    try:
        return pa.array(found, kind)
    except (pa.ArrowInvalid, OverflowError):
        return pa.array([value if value is None or isinstance(value, float) else Decimal(value) for value in found])


def shown_of(values: pa.Array) -> Shown:
    """An array as what a view shows."""
    missing = values.is_null().to_numpy(zero_copy_only=False)
    if pa.types.is_integer(values.type) or pa.types.is_floating(values.type):
        numbers = values.fill_null(0) if values.null_count else values
        return np.ma.MaskedArray(numbers.to_numpy(zero_copy_only=False), mask=missing)
    return np.ma.MaskedArray(np.array([*values.to_pylist(), None], dtype=object)[:-1], mask=missing)
