"""Content: rows of files and rows of a query, found by each other: 128 bits of the values that were written, and the folder that they were written to."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import Column as Values

from bigdebug.errors import NondeterminismError, UntraceableError
from bigdebug.spark.across.targets import Target
from bigdebug.spark.across.written import is_row, of_files, of_query, told
from bigdebug.spark.sql.keys import restricted
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.expressions import Expr, Node
from bigdebug.spark.sql.plans.fingerprints import fingerprint, is_written
from bigdebug.trace.names import array_of

_SKIPPED = ("BIGINT", "INT", "SMALLINT", "TINYINT", "BOOLEAN", "DATE")
"""Types of columns by whose values files are skipped, of the formats that do so; and how many columns are enough."""

_SKIPPING, _FEW = ("parquet", "orc"), 4

_VALUE, _HASH, _PLACE = "__bigdebug_value", "__bigdebug_hash", "__bigdebug_place"


@dataclass(frozen=True)
class Keys:
    """What some rows are known by: two hashes, where they were written to, and values that sources skip by."""

    hashes: tuple[pa.Array, pa.Array]
    places: pa.Array
    skipped: tuple[pa.Array, ...] = ()

    def __len__(self) -> int:
        return len(self.places)

    def codes(self, other: Keys) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """A number for each row of both, equal where their keys are."""
        both = [pa.concat_arrays([mine, others.cast(mine.type)]) for mine, others in zip((*self.hashes, self.places), (*other.hashes, other.places))]
        codes = np.zeros(len(both[0]), dtype=np.int64)
        for each in both:
            _, found = np.unique(each.dictionary_encode().indices.to_numpy(zero_copy_only=False) + codes * (len(each) + 1), return_inverse=True)
            codes = found.astype(np.int64).reshape(-1)
        return codes[: len(self)], codes[len(self):]


@dataclass(frozen=True)
class Keyed:
    """Rows of a plan that have names, with what they are known by."""

    catalyst: Catalyst
    plan: Node
    name: Expr
    hashes: Sequence[Expr]
    place: Expr | None
    skipped: Sequence[Expr]

    def read(self, limit: Keys | None = None) -> tuple[pa.Array, Keys]:
        """The names and keys of all these rows, or of those with one of some keys; a job."""
        plan = self.plan if limit is None else self._limited(limit)
        asked = {"name": self.name, "h0": self.hashes[0], "h1": self.hashes[1]} | {f"s{i}": each for i, each in enumerate(self.skipped)}
        if self.place is not None:
            asked["place"] = self.place
        table = self.catalyst.table(plan, asked)
        places = array_of(table["place"]) if self.place is not None else pa.array([""] * len(table), pa.string())
        skipped = tuple(array_of(table[f"s{i}"]) for i in range(len(self.skipped)))
        return array_of(table["name"]), Keys((array_of(table["h0"]), array_of(table["h1"])), places, skipped)

    def _limited(self, limit: Keys) -> Node:
        parts, fields = [*self.hashes, *self.skipped], [*limit.hashes, *limit.skipped]
        if self.place is not None:
            parts, fields = [*parts, self.place], [*fields, limit.places]
        return restricted(self.catalyst, self.plan, parts, fields)


def of_result(catalyst: Catalyst, target: Target, plan: Node, name: Expr, columns: Sequence[Expr], loose: Collection[int]) -> Keyed:
    """Rows of a query as they were written. ``loose`` are positions of its columns that another execution may give otherwise."""
    values = list(map(catalyst.column, columns))
    data = [column for column in target.columns if not column.partition]
    gone = {i for i, column in enumerate(data) if column.position in loose}
    if any(column.position in loose for column in target.columns if column.partition):
        raise NondeterminismError("The folder of a row is named by a value that another execution gives otherwise", value=target.folder, remedy="Partition by columns that each execution gives alike.")
    condition = is_row(target, values)
    if condition is not None:
        plan = catalyst.plan(catalyst.frame(plan).filter(condition))
    return _keyed(catalyst, target, plan, name, of_query(target, values, gone), told(target, values) if len(data) < len(target.columns) else None)


def of_written(catalyst: Catalyst, target: Target, plan: Node, name: Expr, columns: Sequence[Expr], loose: Collection[int]) -> Keyed:
    """Rows of files as they are read; ``loose`` as above."""
    data = [column for column in target.columns if not column.partition]
    gone = {i for i, column in enumerate(data) if column.position in loose}
    return _keyed(catalyst, target, plan, name, of_files(target, list(map(catalyst.column, columns)), gone), None)


def _keyed(catalyst: Catalyst, target: Target, plan: Node, name: Expr, values: Sequence[Values], place: Values | None) -> Keyed:
    if not values:
        raise NondeterminismError(
            "No value of the result is the same in each execution, so its rows are not found in what was written", value=target.folder,
            remedy="Write a column that tells rows apart.",
        )
    places = [] if place is None else [place.alias(_PLACE)]
    told = [*(value.alias(f"{_VALUE}_{i}") for i, value in enumerate(values)), *places]
    plan = catalyst.plan(catalyst.frame(plan).select("*", *told))
    made = catalyst.items(plan.output())[-len(told):]
    known = made[: len(values)]
    strange = next((each for each in known if not is_written(each)), None)
    if strange is not None:
        raise UntraceableError(
            f"Values of {strange.dataType().sql().lower()} are not found again in what was written", value=target.folder, remedy="Write them in another type, as text for example.",
        )
    hashes = [catalyst.alias(each, f"{_HASH}_{i}") for i, each in enumerate(fingerprint(catalyst, plan, known, bits=True))]
    plan = catalyst.extended(plan, hashes)
    skipped = [each for each in known if each.dataType().sql() in _SKIPPED] if target.form in _SKIPPING else []
    return Keyed(catalyst, plan, name, [each.toAttribute() for each in hashes], made[-1] if places else None, skipped[:_FEW])


