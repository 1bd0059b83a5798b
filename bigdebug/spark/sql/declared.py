"""Declared indexes: those of one run that hold what was declared to be asked, and no more (Smoke 4.1, 4.2)."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F

from bigdebug.errors import PredicateError, UnknownColumnError
from bigdebug.spark.sql.extended import Extended, Name
from bigdebug.spark.sql.far import Far
from bigdebug.spark.sql.indexes import Built, build, keys_of
from bigdebug.spark.sql.leaf import Leaf
from bigdebug.spark.sql.matching import filtered
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.expressions import Expr, Node
from bigdebug.spark.sql.plans.kinds import may_hold
from bigdebug.spark.sql.plans.literals import literal
from bigdebug.spark.sql.steps import Steps
from bigdebug.spark.sql.views import widened
from bigdebug.spark.sql.workloads import Workload
from bigdebug.trace.names import NOTHING, Names, array_of, places
from bigdebug.trace.selected import Selected

_SIMPLE = (bool, int, str, Decimal, date, type(None))


@dataclass(frozen=True)
class Cube:
    """Counts and sums of the rids of each record by the values of columns: ``k`` names the record, ``g`` are values, then totals."""

    records: Names
    groups: pa.Table
    disjoint: bool

    def totals(self, names: Names) -> pa.Table | None:
        """The totals of some records; None if a rid may count for several of them."""
        at = places(self.records, names)
        if len(names) > 1 and not self.disjoint:
            return None
        chosen = self.groups.take(pa.array(at))
        if len(names) <= 1:
            return chosen
        by = [name for name in chosen.column_names if name.startswith("g")]
        # Sums of integers wrap around in Arrow, and fail in Spark.
        wide = [pa.decimal128(38, 0) if pa.types.is_integer(field.type) and field.name not in by else field.type for field in chosen.schema]
        schema = pa.schema([field.with_type(kind) for field, kind in zip(chosen.schema, wide)])
        found = chosen.cast(schema).group_by(by).aggregate([(name, "sum") for name in chosen.column_names if name not in by])
        found = found.rename_columns([name.removesuffix("_sum") for name in found.column_names]).select(chosen.column_names)
        try:
            return found.cast(chosen.schema)
        except pa.ArrowInvalid:
            return None


class Declared:
    """A workload and the indexes that one run has of it. Conditions are what the user's session takes them for."""

    def __init__(self, workload: Workload, users: Catalyst) -> None:
        self.workload = workload
        self._users = users
        self._selected: dict[int, Selected] = {}
        self._cubes: dict[int, Cube] = {}

    # ---- building ---------------------------------------------------------------------------------------------

    def build(self, steps: Steps, root: int, records: Names | None, leaves: Mapping[int, Leaf]) -> Iterator[Built]:
        """Index what was declared, and no more."""
        workload = self.workload
        goals = workload.goals(leaves) if workload.relations else list(leaves)
        if not workload.pushed:
            yield from build(steps, root, records, goals, workload.direction)
            return
        # Up to the level above a source; what stands between is in an index of its own.
        tops = {top for goal in goals if (top := steps.above[goal]) is not None}
        yield from build(steps, root, records, [top for top in tops if top != root], workload.direction)
        for goal in goals:
            yield from self._push(steps, leaves[goal], goal)

    def _push(self, steps: Steps, leaf: Leaf, goal: int) -> Iterator[Built]:
        level, workload = steps.above[goal], self.workload
        if level is None:
            return
        said = f"{leaf.name}{workload.of_rows()}"
        if (workload.where is not None or workload.partition_by) and goal not in self._selected:
            began = time.perf_counter()
            plan, columns = self._witnesses(steps, leaf, goal, level, workload.partition_by)
            table = steps.catalyst.table(plan, columns).combine_chunks()
            values = _values(table, workload.partition_by) if workload.partition_by else None
            made = self._selected[goal] = Selected(keys_of(table, _keys(columns)), array_of(table["rid"]), values)
            yield Built(said, len(made), made.nbytes, time.perf_counter() - began)
        if workload.group_by and goal not in self._cubes:
            began = time.perf_counter()
            cube = self._cubes[goal] = self._cube(steps, leaf, goal, level)
            size = cube.groups.nbytes + cube.records.nbytes
            yield Built(f"{said} by {', '.join(workload.group_by)}", cube.groups.num_rows, size, time.perf_counter() - began)

    def _witnesses(self, steps: Steps, leaf: Leaf, goal: int, level: int, values: Sequence[str]) -> tuple[Node, dict[str, Expr]]:
        """The witnesses of a level with rids of one source alone, of those that the condition lets through, and values of theirs."""
        c = steps.catalyst
        plan, rid = leaf.named(c)
        plan = widened(c, plan, leaf.view)
        if self.workload.where is not None:
            condition = self._condition(leaf, self.workload.where)
            plan = filtered(self._users, plan, self.workload.where) if condition is None else c.filter(condition, plan)
        known = {a.name(): a for a in leaf.columns(c)}
        riding = [c.alias(known[value], f"__bigdebug_value_{i}") for i, value in enumerate(values)]
        # Values ride along as the names of levels that there are not.
        names = (Name(goal, rid), *(Name(-1 - i, value.toAttribute()) for i, value in enumerate(riding)))
        naming = steps.naming.given(goal, Extended(c.extended(plan, riding), names))
        operator = steps.operator(level)
        association = naming.association(operator)
        named = naming.parts(operator)
        parts = [part for i, part in enumerate(association.parts) if not named or named[i] >= 0] + [*association.content]
        found = {name.level: name.column for name in association.names}
        columns = {f"k{i}": part for i, part in enumerate(parts)} | {"rid": found[goal]}
        columns |= {f"v{i}": found[-1 - i] for i in range(len(values))}
        return c.filter(c.is_not_null(found[goal]), association.plan), columns

    def _cube(self, steps: Steps, leaf: Leaf, goal: int, level: int) -> Cube:
        c, by, sums = steps.catalyst, self.workload.group_by, self.workload.sums
        plan, columns = self._witnesses(steps, leaf, goal, level, [*by, *sums])
        frame = c.frame(c.project([c.alias(column, name) for name, column in columns.items()], plan)).distinct()
        keys = [f"k{i}" for i in range(_keys(columns))]
        totals = [F.count("*").alias("n"), *(F.sum(f"v{i + len(by)}").alias(f"s{i}") for i in range(len(sums)))]
        made = c.plan(frame.groupBy(*keys, *(F.col(f"v{i}").alias(f"g{i}") for i in range(len(by)))).agg(*totals))
        table = c.table(made, {a.name(): a for a in c.items(made.output())}).combine_chunks()
        alone = c.plan(frame.agg(F.count_distinct("rid").alias("n")))
        rids = c.table(alone, {"n": alone.output().head()})["n"][0].as_py()
        return Cube(keys_of(table, len(keys)), table.drop_columns(keys), disjoint=rids == sum(table["n"].to_pylist()))

    # ---- asking -----------------------------------------------------------------------------------------------

    def chosen(self, steps: Steps, leaf: Leaf, names: Names, condition: Any, filtered: bool) -> Names | None:
        """The rids of a source for which a condition holds, of those that records of the level above were made of.

        ``filtered`` says that the condition is asked of rows for which the declared one holds already. None if this was not
        declared, and has to be asked otherwise.
        """
        selected, level = self._selected.get(leaf.operator), steps.above[leaf.operator]
        if selected is None or level is None or isinstance(names, Far):
            return None
        value = None
        if filtered or self.workload.where is None:
            if (value := self._value(steps, leaf, condition)) is None:
                return None
        elif not self.is_where(leaf, condition):
            return None
        known = steps.known_by(level, names)
        return None if isinstance(known, Far) else selected.back(known, value)

    def totals(
        self, steps: Steps, leaf: int, names: Names, columns: Sequence[str], sums: Sequence[str], filtered: bool,
    ) -> pa.Table | None:
        """Counts and sums by the values of columns, if they were declared, and for rows as they were."""
        cube, level, workload = self._cubes.get(leaf), steps.above[leaf], self.workload
        if cube is None or level is None or isinstance(names, Far) or filtered != (workload.where is not None):
            return None
        if tuple(columns) != workload.group_by or not set(sums) <= set(workload.sums):
            return None
        known = steps.known_by(level, names)
        found = None if isinstance(known, Far) else cube.totals(cube.records if known is None else known)
        if found is None:
            return None
        found = found.rename_columns([*columns, "count", *(f"sum({name})" for name in workload.sums)])
        return found.select([*columns, "count", *(f"sum({name})" for name in sums)])

    def is_where(self, leaf: Leaf, condition: Any) -> bool:
        """Whether a condition is the declared one."""
        declared = self.workload.where
        given = None if declared is None else self._condition(leaf, condition)
        return given is not None and bool(given.semanticEquals(self._condition(leaf, declared)))

    def _value(self, steps: Steps, leaf: Leaf, condition: Any) -> pa.Array | None:
        """The value that a condition asks of the columns by which rids are partitioned, none if it can hold for none.

        None if it asks something else.
        """
        wanted, c = self.workload.partition_by, steps.catalyst
        known = {a.name(): a.dataType().sql() for a in leaf.columns(c)}
        asked = self._given(condition, known) if isinstance(condition, Mapping) else self._equal(leaf, condition)
        if not wanted or asked is None or set(asked) != set(wanted):
            return None
        plan = c.plan(c.spark.range(1).select(*(asked[name][0].cast(known[name]).alias(f"v{i}") for i, name in enumerate(wanted))))
        table = c.table(plan, {a.name(): a for a in c.items(plan.output())})
        never = any(table[f"v{i}"].null_count and not asked[name][1] for i, name in enumerate(wanted))
        return NOTHING if never else _values(table, wanted)

    def _given(self, condition: Mapping[str, Any], known: Mapping[str, str]) -> dict[str, tuple[Column, bool]] | None:
        """By column the value that it is to have, also where that is NULL; None if an index cannot tell."""
        if any(name not in known or not isinstance(value, _SIMPLE) or not may_hold(known[name], value) for name, value in condition.items()):
            return None
        return {name: (literal(value, known[name]), True) for name, value in condition.items()}

    def _equal(self, leaf: Leaf, condition: Any) -> dict[str, tuple[Column, bool]] | None:
        """By column the value that a condition asks for, and whether it may be NULL; None if it asks something else."""
        given, found = self._condition(leaf, condition), {}
        known = {column.exprId().id(): column.name() for column in leaf.columns(self._users)}
        for part in () if given is None else self._users.conjuncts(given):
            if part.nodeName() not in ("EqualTo", "EqualNullSafe"):
                return None
            sides = [part.left(), part.right()]
            asked = [known[side.exprId().id()] for side in sides if side.nodeName() == "AttributeReference"]
            constant = [side for side in sides if side.foldable()]
            if len(asked) != 1 or len(constant) != 1 or asked[0] in found:
                return None
            found[asked[0]] = self._users.column(constant[0]), part.nodeName() == "EqualNullSafe"
        return found or None

    def _condition(self, leaf: Leaf, condition: Any) -> Expr | None:
        """A condition on the columns of a source, as Spark understands it; None if it is something else."""
        if not isinstance(condition, str | Column):
            return None
        try:
            plan = filtered(self._users, leaf.rows(self._users), condition)
            return plan.condition() if plan.nodeName() == "Filter" else None  # else hidden columns are asked
        except (UnknownColumnError, PredicateError):
            return None


def _keys(columns: Mapping[str, Expr]) -> int:
    return sum(name.startswith("k") for name in columns)


def _values(table: pa.Table, columns: Sequence[str]) -> pa.Array:
    """The values ``v0``, ``v1``, ... of rows; together, if there are several."""
    values = [array_of(table[f"v{i}"]) for i in range(len(columns))]
    return values[0] if len(values) == 1 else pa.StructArray.from_arrays(values, list(columns))
