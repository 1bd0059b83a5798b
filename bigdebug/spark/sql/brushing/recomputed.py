"""Recomputed aggregates: which aggregates of rows linked views compute as Spark does, and of what values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Context
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bigdebug.errors import UntraceableError
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.comparing import comparable
from bigdebug.spark.sql.plans.expressions import Expr
from bigdebug.spark.sql.plans.kinds import WHOLE, is_floating, is_number
from bigdebug.trace.crossfilter.aggregates import Aggregate, Avg, Count, Distinct, Max, Min, Reduced, Sum
from bigdebug.trace.crossfilter.outputs import Followed
from bigdebug.trace.crossfilter.rounded import Rounded
from bigdebug.trace.crossfilter.values import Values

_ORDERED = ("STRING", "DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "BOOLEAN", "BINARY")
"""Types, besides numbers, that Arrow orders and tells apart as Spark does."""

_LONG = 1 << 63
_EXACTLY = Context(prec=76)


@dataclass(frozen=True)
class Recomputed:
    """An aggregate of ``argument``, an expression over the rows that are grouped; None if it counts them.

    ``fits`` says of the values of all rows whether no part of them makes Spark's aggregate overflow.
    """

    aggregate: Callable[[Values], Aggregate]
    argument: Expr | None = None
    fits: Callable[[pa.Array], bool] = lambda values: True

    def followed(self, values: pa.Array | None) -> Followed | Aggregate:
        """It with the values of its argument, None if it has none."""
        return Count() if values is None else Followed(self.aggregate, values)


class NotRecomputedError(Exception):
    """Why something is not what linked views compute."""


def recomputed(catalyst: Catalyst, called: Expr) -> Recomputed:
    """How an aggregate is computed of some of the rows. Raises NotRecomputedError for one that is not."""
    function, only = called.aggregateFunction(), called.filter()
    if catalyst.is_a(function, "org.apache.spark.sql.catalyst.expressions.RuntimeReplaceable"):  # count_if
        function = function.replacement()
    name, distinct = str(function.getClass().getSimpleName()), bool(called.isDistinct())
    arguments = catalyst.children(function)
    condition = [only.get()] if only.isDefined() else []
    if name == "Count" and not distinct:
        return _counted(catalyst, arguments, condition)
    if name not in _FUNCTIONS or len(arguments) != 1 or (distinct and name not in ("Count", "Min", "Max")):
        raise NotRecomputedError(f"linked views do not recompute {'distinct ' * distinct}{function.prettyName()}")
    made = _FUNCTIONS[name](catalyst, function, arguments[0])
    if not condition:
        return made
    [holds] = condition
    assert made.argument is not None
    return Recomputed(made.aggregate, catalyst.either(holds, made.argument, catalyst.null_of(made.argument)), made.fits)


def _counted(catalyst: Catalyst, arguments: Iterable[Expr], condition: Sequence[Expr]) -> Recomputed:
    conditions = [*(catalyst.is_not_null(argument) for argument in arguments if argument.nullable()), *condition]
    if not conditions:
        return Recomputed(Count)
    true = catalyst.literal(True, "boolean")
    return Recomputed(Count, catalyst.either(catalyst.all_hold(conditions), true, catalyst.null_of(true)))


def _different(catalyst: Catalyst, function: Expr, argument: Expr) -> Recomputed:
    try:
        compared = comparable(catalyst, argument)
    except UntraceableError as refused:
        raise NotRecomputedError(refused.what) from refused
    return Recomputed(Distinct, _plain(compared))


def _summed(catalyst: Catalyst, function: Expr, argument: Expr) -> Recomputed:
    kind = argument.dataType().sql()
    if is_floating(kind):
        return Recomputed(Sum, _wide(catalyst, argument))
    if kind in WHOLE:
        return Recomputed(Sum, argument, _fits_long)
    _check_decimal(argument, "a sum")
    return Recomputed(Sum, argument, _fits_digits(min(argument.dataType().precision() + 10, 38)))


def _averaged(catalyst: Catalyst, function: Expr, argument: Expr) -> Recomputed:
    kind = argument.dataType().sql()
    if is_floating(kind):
        return Recomputed(Avg, _wide(catalyst, argument))
    if kind in WHOLE:
        return Recomputed(Avg, argument)
    _check_decimal(argument, "a mean")
    given, made = argument.dataType(), function.dataType()
    sums, room = _fits_digits(min(given.precision() + 10, 38)), made.precision() - made.scale()
    digits = made.scale()
    return Recomputed(lambda values: Rounded(Avg(values), digits), argument, lambda values: sums(values) and _largest(values) < 10 ** (room + given.scale()))


def _wide(catalyst: Catalyst, argument: Expr) -> Expr:
    """Spark adds up what is FLOAT in DOUBLE."""
    return catalyst.cast(argument, "DOUBLE") if argument.dataType().sql() == "FLOAT" else argument


def _bits(ufunc: np.ufunc) -> Callable[[Catalyst, Expr, Expr], Recomputed]:
    return lambda catalyst, function, argument: Recomputed(lambda values: Reduced(ufunc, values), argument)


_FUNCTIONS: dict[str, Callable[[Catalyst, Expr, Expr], Recomputed]] = {
    "Count": _different, "Sum": _summed, "Average": _averaged,
    "Min": lambda catalyst, function, argument: Recomputed(Min, _plain(argument)),
    "Max": lambda catalyst, function, argument: Recomputed(Max, _plain(argument)),
    "BitAndAgg": _bits(np.bitwise_and), "BitOrAgg": _bits(np.bitwise_or), "BitXorAgg": _bits(np.bitwise_xor),
}


def _plain(argument: Expr) -> Expr:
    check_plain(argument)
    return argument


def check_plain(expression: Expr) -> None:
    """Raise NotRecomputedError for values of another type than numbers, text, bytes, moments and flags."""
    kind = expression.dataType().sql()
    if kind not in _ORDERED and (not is_number(kind) or ",-" in kind):
        raise NotRecomputedError(f"linked views do not compare values of type {kind}")


def _check_decimal(argument: Expr, what: str) -> None:
    kind = argument.dataType().sql()
    if not kind.startswith("DECIMAL") or ",-" in kind:
        raise NotRecomputedError(f"linked views do not recompute {what} of type {kind}")


# ---- what never overflows -------------------------------------------------------------------------------------------


def _fits_long(values: pa.Array) -> bool:
    """Whether each sum of some of the values is one of 64 bits, in whichever order they are added up."""
    numbers = values.drop_null().to_numpy(zero_copy_only=False).astype(np.int64)
    if not len(numbers) or max(abs(int(numbers.min())), abs(int(numbers.max()))) * len(numbers) < _LONG:
        return True
    return all(abs(_total(numbers[side])) < _LONG for side in (numbers > 0, numbers < 0))


def _total(numbers: np.ndarray[Any, Any]) -> int:
    return (int((numbers >> 32).sum()) << 32) + int((numbers & 0xFFFFFFFF).sum())


def _fits_digits(digits: int) -> Callable[[pa.Array], bool]:
    return lambda values: _largest(values) * max(len(values), 1) < 10 ** digits


def _largest(values: pa.Array) -> int:
    """The largest absolute value of decimals, without their point."""
    ends = pc.min_max(values).as_py()
    return max((abs(int(value.scaleb(values.type.scale, _EXACTLY))) for value in ends.values() if value is not None), default=0)
