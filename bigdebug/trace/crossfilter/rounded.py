"""Means of decimals with as many digits behind the point as the query gives them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal

import numpy as np

from bigdebug.trace.crossfilter.aggregates import Aggregate, Gathering, Shown
from bigdebug.trace.crossfilter.associations import Association
from bigdebug.trace.crossfilter.columns import Array, Column

_HALF_UP = Context(prec=76, rounding=ROUND_HALF_UP)


@dataclass(frozen=True)
class Rounded:
    """The decimals of another aggregate, half up to ``digits`` behind the point."""

    exact: Aggregate
    digits: int

    def of(self, association: Association) -> Gathering:
        return _Rounded(self.exact.of(association), Decimal(1).scaleb(-self.digits))


class _Rounded:
    def __init__(self, exact: Gathering, unit: Decimal) -> None:
        self._exact, self._unit = exact, unit
        self.columns: Sequence[Column] = exact.columns

    def shown(self, totals: Sequence[Array], counts: Array) -> Shown:
        found = self._exact.shown(totals, counts)
        rounded = [value.quantize(self._unit, context=_HALF_UP) for value in found.data[:-1].tolist()]
        return np.ma.MaskedArray(np.array([*rounded, None], dtype=object), mask=found.mask)
