"""Keys: the condition that finds the rows of chosen names again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import and_
from typing import Any, TypeVar

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import _parse_datatype_json_string

from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.expressions import Expr, Node
from bigdebug.spark.sql.plans.literals import sqls_of

_T = TypeVar("_T")

_SPELLED = 50
"""Up to so many keys of several columns are written into a condition; more are joined."""

_LISTED = 10_000
_LISTED_BYTES = 1 << 20
"""Up to so many values of a column are listed, for the sources to skip what cannot match; and up to so long ones."""


def restricted(catalyst: Catalyst, plan: Node, parts: Sequence[Expr], fields: Sequence[pa.Array]) -> Node:
    """The rows of ``plan`` in which ``parts`` are a row of ``fields``, an array for each part."""
    if not len(fields[0]):
        return catalyst.plan(catalyst.frame(plan).filter("false"))
    kinds = [part.dataType().sql() for part in parts]
    names = [f"__bigdebug_key_{i}" for i in range(len(parts))]
    listed = [
        _listed(name, values, kind) for name, field, kind in zip(names, fields, kinds)
        if _is_plain(field.type) and len(values := field.unique()) <= _LISTED and values.nbytes <= _LISTED_BYTES
    ]
    if len(parts) == len(listed) == 1:
        return _where(catalyst, plan, dict(zip(names, parts)), listed)
    if len(fields[0]) <= _SPELLED and len(listed) == len(parts):
        equal = [[f"{name} <=> {value}" for value in sqls_of(*each)] for name, *each in zip(names, fields, kinds)]
        any_of = by_halves("({} OR {})".format, [_all_of(row) for row in zip(*equal)])
        return _where(catalyst, plan, dict(zip(names, parts)), [*listed, any_of])
    plan = _where(catalyst, plan, dict(zip(names, parts)), listed) if listed else plan
    return _joined(catalyst, plan, parts, names, fields, kinds)


def without(catalyst: Catalyst, plan: Node, parts: Sequence[Expr], fields: Sequence[pa.Array]) -> Node:
    """The rows of ``plan`` in which ``parts`` are no row of ``fields``, an array for each part."""
    kinds = [part.dataType().sql() for part in parts]
    names = [f"__bigdebug_key_{i}" for i in range(len(parts))]
    return _joined(catalyst, plan, parts, names, fields, kinds, "left_anti") if len(fields[0]) else plan


def all_of(conditions: Sequence[Column]) -> Column:
    """All of some conditions."""
    return by_halves(and_, conditions)


def by_halves(both: Callable[[_T, _T], _T], parts: Sequence[_T]) -> _T:
    """``both`` of each half of ``parts``, of which there is one at least, and so on: a deep tree overflows Spark's stack."""
    if len(parts) == 1:
        return parts[0]
    middle = len(parts) // 2
    return both(by_halves(both, parts[:middle]), by_halves(both, parts[middle:]))


def _all_of(conditions: Sequence[str]) -> str:
    return by_halves("({} AND {})".format, conditions)


def _where(catalyst: Catalyst, plan: Node, named: Mapping[str, Expr], conditions: Sequence[str]) -> Node:
    """The rows of ``plan`` for which SQL holds in which expressions have names."""
    riding = catalyst.extended(plan, [catalyst.alias(part, name) for name, part in named.items()])
    frame = catalyst.frame(riding).filter(_all_of(conditions))
    return catalyst.project(catalyst.items(plan.output()), catalyst.plan(frame))


def _listed(name: str, values: pa.Array, kind: str) -> str:
    present = values.drop_null()
    found = f"{name} IN ({', '.join(sqls_of(present, kind))})"
    if len(present) == len(values):
        return found
    return f"({name} IS NULL OR {found})" if len(present) else f"{name} IS NULL"


def _joined(
    catalyst: Catalyst, plan: Node, parts: Sequence[Expr], names: Sequence[str], fields: Sequence[pa.Array], kinds: Sequence[str],
    how: str = "left_semi",
) -> Node:
    keys = frame_of(catalyst, fields, names, kinds)
    matches = all_of([catalyst.column(part).eqNullSafe(keys[name]) for part, name in zip(parts, names)])
    hinted = F.broadcast(keys) if len(fields[0]) < 1_000_000 else keys
    return catalyst.plan(_standing(catalyst, plan).join(hinted, matches, how))


def _standing(catalyst: Catalyst, plan: Node) -> Any:
    """A plan through which no semi join, or anti join, moves down, if it has a union: Spark puts the join into each branch, and fails where it renames a branch for that."""
    frame = catalyst.frame(plan)
    union = catalyst.jvm.org.apache.spark.sql.catalyst.trees.TreePattern.UNION()
    return frame.filter(F.monotonically_increasing_id() >= 0) if plan.containsPattern(union) else frame


def frame_of(catalyst: Catalyst, fields: Sequence[pa.Array], names: Sequence[str], kinds: Sequence[str]) -> Any:
    """Arrays as a DataFrame with columns of these types: Arrow's own would make a time of some zone of one without. All in them may be NULL."""
    schema = catalyst.jvm.org.apache.spark.sql.types.DataType.fromDDL(", ".join(f"{name} {kind}" for name, kind in zip(names, kinds)))
    return catalyst.spark.createDataFrame(pa.table(list(fields), list(names)), _parse_datatype_json_string(schema.asNullable().json()))


def _is_plain(kind: pa.DataType) -> bool:
    """True for types whose values are written as literals, exactly."""
    types = pa.types
    return bool(
        types.is_integer(kind) or types.is_string(kind) or types.is_large_string(kind) or types.is_boolean(kind)
        or types.is_decimal(kind) or types.is_date(kind) or types.is_floating(kind)
    )
