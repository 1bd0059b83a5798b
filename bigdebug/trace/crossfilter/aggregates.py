"""What a view shows of the links of each mark: count, sum, avg, min, max, distinct count, and any reduction by a ufunc.

As in Spark: NULL is left out, a mark with no other value shows NULL (0 for counts), NaN is a value, larger than all others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bigdebug.errors import ViewError
from bigdebug.trace.crossfilter.associations import Association
from bigdebug.trace.crossfilter.columns import Array, Column, Floats, Limbs, Reduction
from bigdebug.trace.crossfilter.values import Values

Shown = np.ma.MaskedArray[Any, Any]
"""A value for each mark; masked where it is NULL."""

_DIGITS = Context(prec=76)


class Gathering(Protocol):
    """An aggregate over the links of one view."""

    columns: Sequence[Column]

    def shown(self, totals: Sequence[Array], counts: Array) -> Shown:
        """Of the totals of the columns, and how many links each mark has."""
        ...


class Aggregate(Protocol):
    def of(self, association: Association) -> Gathering:
        """Raises ViewError if values are not one for each link, or of a type that the aggregate has no meaning for."""
        ...


@dataclass(frozen=True)
class Count:
    """How many links, or how many values that are not NULL."""

    values: Values | None = None

    def of(self, association: Association) -> Gathering:
        present = None if self.values is None else fitting(self.values, association).present
        return _Counted(() if present is None else (_counting(present, association.marks),))


@dataclass(frozen=True)
class Sum:
    """Exact: of integers and decimals however large, of floats rounded once. Floats of very different size are added row by row."""

    values: Values

    def of(self, association: Association) -> Gathering:
        return _Summed(fitting(self.values, association), association.marks, mean=False)


@dataclass(frozen=True)
class Avg:
    """The exact sum by the count, rounded once; of decimals to 76 digits."""

    values: Values

    def of(self, association: Association) -> Gathering:
        return _Summed(fitting(self.values, association), association.marks, mean=True)


@dataclass(frozen=True)
class Min:
    values: Values

    def of(self, association: Association) -> Gathering:
        return _Extreme(fitting(self.values, association), association.marks, np.fmin)


@dataclass(frozen=True)
class Max:
    values: Values

    def of(self, association: Association) -> Gathering:
        return _Extreme(fitting(self.values, association), association.marks, np.maximum)


@dataclass(frozen=True)
class Distinct:
    """How many different values that are not NULL; exact. Takes a number for each link, and one for each value of each mark."""

    values: Values

    def of(self, association: Association) -> Gathering:
        return _Different(fitting(self.values, association), association)


@dataclass(frozen=True)
class Reduced:
    """A reduction by a ufunc that is commutative and associative; ``identity`` is the total of no value. Sums are ``Sum``'s, for integers overflow."""

    ufunc: np.ufunc
    values: Values
    identity: Any = None

    def of(self, association: Association) -> Gathering:
        values = fitting(self.values, association)
        identity = self.ufunc.identity if self.identity is None else self.identity
        if self.ufunc is np.add:
            raise ViewError("A sum as a reduction", remedy="Show a Sum: it is exact.")
        if identity is None or not values.numeric:
            raise ViewError(f"A reduction of {values.type} by {self.ufunc.__name__} without an identity", remedy="Give one: the total of no value.")
        return _Reduced(values, Reduction(self.ufunc, values.filled(identity), identity, association.marks), association.marks)


def fitting(values: Values, association: Association) -> Values:
    if len(values) != association.links:
        raise ViewError(f"{len(values)} values for {association.links} links", remedy="A view has one value for each row, or each link, of its input.")
    return values


def _counting(present: npt.NDArray[np.bool_], marks: int) -> Column:
    return Reduction(np.add, present.astype(np.int64), 0, marks)


class _Counted:
    def __init__(self, columns: Sequence[Column]) -> None:
        self.columns: Sequence[Column] = columns

    def shown(self, totals: Sequence[Array], counts: Array) -> Shown:
        return np.ma.MaskedArray(totals[0] if totals else counts)


class _OfValues:
    """Columns of an aggregate, and the one that counts values if some are NULL."""

    def __init__(self, values: Values, marks: int, *columns: Column) -> None:
        present = values.present
        self.columns: Sequence[Column] = [*columns, *(() if present is None else (_counting(present, marks),))]
        self._nullable = present is not None

    def counted(self, totals: Sequence[Array], counts: Array) -> Array:
        found: Array = totals[-1] if self._nullable else counts
        return found


class _Summed(_OfValues):
    def __init__(self, values: Values, marks: int, mean: bool) -> None:
        self._mean, self._scale, self._decimal = mean, 0, bool(pa.types.is_decimal(values.type))
        self._column: Limbs | Floats | Reduction
        if self._decimal or pa.types.is_integer(values.type):
            limbs, self._scale = values.limbs()
            self._column = Limbs(limbs, marks)
        elif pa.types.is_floating(values.type):
            numbers = values.filled(0.0)
            floats = Floats(numbers, marks)
            self._column = floats if floats.fits else Reduction(np.add, numbers.astype(np.float64, copy=False), 0.0, marks)
        else:
            raise ViewError(f"A sum of values of type {values.type}", remedy="Cast them to numbers, or show their count, min or max.")
        super().__init__(values, marks, self._column)

    def shown(self, totals: Sequence[Array], counts: Array) -> Shown:
        counted = self.counted(totals, counts)
        return np.ma.MaskedArray(self._numbers(totals[0], counted), mask=counted == 0)

    def _numbers(self, totals: Array, counted: Array) -> Array:
        column = self._column
        if isinstance(column, Floats):
            return column.rounded(totals, counted if self._mean else None)
        if isinstance(column, Reduction):
            return totals / np.maximum(counted, 1) if self._mean else totals
        if len(totals) == 1 and not self._mean and not self._decimal:
            return np.asarray(totals[0])
        sums = column.exact(totals)
        if self._decimal:
            exact = [Decimal(total).scaleb(-self._scale, _DIGITS) for total in sums]
            decimals = [_DIGITS.divide(total, max(count, 1)) for total, count in zip(exact, counted.tolist())] if self._mean else exact
            return np.array([*decimals, None], dtype=object)[:-1]
        if self._mean:
            return np.array([total / max(count, 1) for total, count in zip(sums, counted.tolist())], dtype=np.float64)
        small = all(-(1 << 63) <= total < 1 << 63 for total in sums)
        return np.array(sums, dtype=np.int64 if small else object)


class _Extreme(_OfValues):
    """Of numbers by themselves, of anything else that has an order by ranks."""

    def __init__(self, values: Values, marks: int, ufunc: np.ufunc) -> None:
        self._known = None if values.numeric else values.known
        if self._known is None:
            kind = np.dtype(values.type.to_pandas_dtype())
            worst: Any = (np.nan if ufunc is np.fmin else -np.inf) if kind.kind == "f" else getattr(np.iinfo(kind), "max" if ufunc is np.fmin else "min")
            numbers = values.filled(worst)
        else:
            worst = len(self._known) if ufunc is np.fmin else -1
            numbers = np.where(values.ranks < 0, worst, values.ranks) if values.present is not None else values.ranks
        super().__init__(values, marks, Reduction(ufunc, numbers, worst, marks))

    def shown(self, totals: Sequence[Array], counts: Array) -> Shown:
        none = self.counted(totals, counts) == 0
        if self._known is None:
            return np.ma.MaskedArray(totals[0], mask=none)
        found = self._known.take(pa.array(np.where(none, 0, totals[0]), mask=none))
        return np.ma.MaskedArray(np.array([*found.to_pylist(), None], dtype=object)[:-1], mask=none)


class _Different:
    """Counts links by mark and value: exact, and as reversible as any count."""

    def __init__(self, values: Values, association: Association) -> None:
        links, marks = association.linked(slice(0, association.rows))
        ranks = values.ranks[links]
        kinds = len(values.known)
        pairs = np.where((ranks < 0) | (marks == association.marks), -1, marks * kinds + ranks)
        encoded = pa.array(pairs, mask=pairs < 0).dictionary_encode()
        known = encoded.dictionary.to_numpy()
        owners = np.full(association.links, len(known), dtype=np.min_scalar_type(len(known)))
        owners[links] = encoded.indices.fill_null(len(known)).to_numpy()
        self._mark = known // max(kinds, 1)
        self._marks = association.marks
        self.columns: Sequence[Column] = [Reduction(np.add, None, 0, len(known), owners)]

    def shown(self, totals: Sequence[Array], counts: Array) -> Shown:
        there = totals[0][:-1] > 0
        return np.ma.MaskedArray(np.bincount(self._mark[there], minlength=self._marks + 1))


class _Reduced(_OfValues):
    def __init__(self, values: Values, column: Column, marks: int) -> None:
        super().__init__(values, marks, column)

    def shown(self, totals: Sequence[Array], counts: Array) -> Shown:
        return np.ma.MaskedArray(totals[0], mask=self.counted(totals, counts) == 0)
