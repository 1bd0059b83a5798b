"""Keys: the names of chosen records at a level, in the driver, and the condition that finds their rows again."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import and_, or_
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column
from pyspark.sql import functions as F

from bigdebug.spark.sql.catalyst import Catalyst, Expr, Node

_SPELLED = 50
"""Up to so many keys of several columns are spelled out in a condition; more are joined."""

_LISTED = 10_000
"""Up to so many values of a column are listed, for the sources to skip what cannot match."""


def distinct(names: pa.Array) -> pa.Array:
    """The names without NULL and without repetition."""
    names = names.combine_chunks() if isinstance(names, pa.ChunkedArray) else names
    names = names.drop_null()
    if not pa.types.is_struct(names.type):
        return names.unique()
    if not len(names):
        return names
    numbered = _flat(names, "k")
    try:
        table = pa.table({**numbered, "at": pa.array(range(len(names)))})
        kept = table.group_by(list(numbered), use_threads=False).aggregate([("at", "min")])["at_min"]
    except pa.ArrowNotImplementedError:  # a list or a map cannot be a key of Arrow's
        first: dict[str, int] = {}
        for at, value in enumerate(names.to_pylist()):
            first.setdefault(repr(value), at)
        kept = pa.array(list(first.values()))
    return names.take(kept.sort())


def _flat(names: pa.StructArray, prefix: str) -> dict[str, pa.Array]:
    """Columns that tell the structs apart."""
    found: dict[str, pa.Array] = {}
    for i, field in enumerate(names.flatten()):
        if pa.types.is_struct(field.type):
            found[f"{prefix}_{i}"] = field.is_valid()
            found.update(_flat(field, f"{prefix}_{i}"))
        else:
            found[f"{prefix}_{i}"] = field
    return found


def places(names: pa.Array, wanted: pa.Array) -> npt.NDArray[np.int64]:
    """Where in ``names`` those stand that are ``wanted``."""
    if not pa.types.is_struct(names.type):
        return np.flatnonzero(pc.is_in(names, value_set=wanted).to_numpy(zero_copy_only=False))
    known = {repr(value) for value in wanted.to_pylist()}
    return np.array([i for i, value in enumerate(names.to_pylist()) if repr(value) in known], dtype=np.int64)


def merged(names: pa.Array, more: pa.Array) -> pa.Array:
    """The names of both, each once."""
    if not len(names) or not len(more):
        return more if len(more) else names
    return distinct(pa.chunked_array([names, more]))


def restricted(catalyst: Catalyst, plan: Node, parts: Sequence[Expr], fields: Sequence[pa.Array]) -> Node:
    """The rows of ``plan`` in which ``parts`` are a row of ``fields``, an array for each part."""
    frame = catalyst.frame(plan)
    columns = [catalyst.column(part) for part in parts]
    kinds = [part.dataType().sql() for part in parts]
    for column, field, kind in zip(columns, fields, kinds):
        if _plain(field.type) and len(values := field.unique()) <= _LISTED:
            frame = frame.filter(_listed(column, values, kind))
    if len(parts) > 1 or not _plain(fields[0].type) or len(fields[0]) > _LISTED:
        if len(fields[0]) <= _SPELLED and all(_plain(field.type) for field in fields):
            rows = [[column.eqNullSafe(_literal(v, kind)) for column, v, kind in zip(columns, row, kinds)] for row in _rows(fields)]
            frame = frame.filter(reduce(or_, [reduce(and_, row) for row in rows]))
        else:
            frame = _joined(catalyst, frame, columns, fields)
    return catalyst.plan(frame)


def _rows(fields: Sequence[pa.Array]) -> list[tuple[Any, ...]]:
    return list(zip(*(field.to_pylist() for field in fields)))


def _listed(column: Column, values: pa.Array, kind: str) -> Column:
    present = values.drop_null()
    listed = [_literal(v, kind) for v in present.to_pylist()]
    found = column == listed[0] if len(listed) == 1 else column.isin(listed)
    if len(present) == len(values):
        return found
    return column.isNull() | found if listed else column.isNull()


def _literal(value: Any, kind: str) -> Column:
    return F.lit(value).cast(kind)


def _joined(catalyst: Catalyst, frame: Any, columns: Sequence[Column], fields: Sequence[pa.Array]) -> Any:
    names = [f"__bigdebug_key_{i}" for i in range(len(fields))]
    keys = catalyst.spark.createDataFrame(pa.table(fields, names))
    matches = reduce(and_, [column.eqNullSafe(keys[name]) for column, name in zip(columns, names)])
    return frame.join(F.broadcast(keys) if len(fields[0]) < 1_000_000 else keys, matches, "left_semi")


def _plain(kind: pa.DataType) -> bool:
    """True for types whose values are written as literals, exactly."""
    types = pa.types
    return bool(
        types.is_integer(kind) or types.is_string(kind) or types.is_large_string(kind) or types.is_boolean(kind)
        or types.is_decimal(kind) or types.is_date(kind) or types.is_floating(kind)
    )
