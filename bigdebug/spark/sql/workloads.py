"""Workloads: what will be asked of a query, declared beforehand, and indexes that hold just that (Smoke 4)."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F

from bigdebug.errors import UnknownColumnError, UnknownOperatorError
from bigdebug.spark.sql.catalyst import Catalyst, Expr, Node
from bigdebug.spark.sql.indexes import Built, build, keys_of
from bigdebug.spark.sql.leaves import Leaf
from bigdebug.spark.sql.matching import filtered
from bigdebug.spark.sql.procedures import Extended, Name
from bigdebug.spark.sql.steps import Steps
from bigdebug.trace.names import Names, array_of, places
from bigdebug.trace.selected import Selected
from bigdebug.trace.table import Table

DIRECTIONS = ("backward", "forward", "both")


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
        by = [name for name in chosen.column_names if name.startswith("g")]
        found = chosen.group_by(by).aggregate([(name, "sum") for name in chosen.column_names if name not in by])
        return found.rename_columns([name.removesuffix("_sum") for name in found.column_names]).select(chosen.column_names)


@dataclass
class Workload:
    """What will be asked of a DataFrame's query, and what its indexes hold and took. Shows itself as a table."""

    relations: tuple[str, ...]
    direction: str
    where: str | Column | None = None
    partition_by: str | None = None
    group_by: tuple[str, ...] = ()
    sums: tuple[str, ...] = ()
    built: list[Built] = field(default_factory=list, repr=False)
    _selected: dict[int, Selected] = field(default_factory=dict, repr=False)
    _cubes: dict[int, Cube] = field(default_factory=dict, repr=False)

    def check(self, catalyst: Catalyst, leaves: Mapping[int, Leaf]) -> None:
        """Raise an error of ours, TypeError or ValueError for what cannot be asked of a query with these sources."""
        if self.direction not in DIRECTIONS:
            raise ValueError(f"direction is one of {', '.join(DIRECTIONS)}, not {self.direction!r}")
        known = {name for leaf in leaves.values() for name in (leaf.dataset, leaf.name)}
        for name in self.relations:
            if not self._goals(leaves, [name]):
                near = get_close_matches(name, known, 3) or sorted(known)
                raise UnknownOperatorError("The query reads no such relation", value=name, remedy=f"It reads {', '.join(near)}.")
        if not self._pushed:
            return
        if len(self.relations) != 1 or self.direction == "forward":
            raise ValueError("where, partition_by and group_by are about rows of one relation that are traced back to: relations='lineitem'")
        for leaf in (leaves[at] for at in self._goals(leaves)):
            columns = [a.name() for a in catalyst.items(leaf.node.output())]
            for name in filter(None, (self.partition_by, *self.group_by, *self.sums)):
                if name not in columns:
                    near = get_close_matches(name, columns, 3) or columns
                    raise UnknownColumnError(f"{leaf.name} has no such column", value=name, remedy=f"It has {', '.join(near)}.")
            if self.where is not None:
                filtered(catalyst, leaf.node, self.where)

    # ---- building ---------------------------------------------------------------------------------------------

    def build(self, steps: Steps, root: int, records: Names | None, leaves: Mapping[int, Leaf]) -> Iterator[Built]:
        """Index what was declared, and no more."""
        goals = self._goals(leaves) if self.relations else list(leaves)
        if not self._pushed:
            found = build(steps, root, records, goals, self.direction)
        else:
            # Up to the level above a source; what stands between is in an index of its own.
            tops = {top for goal in goals if (top := steps.above[goal]) is not None}
            found = build(steps, root, records, [top for top in tops if top != root], self.direction)
        for each in found:
            self.built.append(each)
            yield each
        for goal in goals if self._pushed else ():
            for each in self._push(steps, leaves[goal], goal):
                self.built.append(each)
                yield each

    def _push(self, steps: Steps, leaf: Leaf, goal: int) -> Iterator[Built]:
        level = steps.above[goal]
        if level is None:
            return
        if (self.where is not None or self.partition_by) and goal not in self._selected:
            began = time.perf_counter()
            plan, columns = self._witnesses(steps, leaf, goal, level, [self.partition_by] if self.partition_by else [])
            table = steps.catalyst.table(plan, columns).combine_chunks()
            values = array_of(table["v0"]) if self.partition_by else None
            made = self._selected[goal] = Selected(keys_of(table, sum(c.startswith("k") for c in columns)), array_of(table["rid"]), values)
            yield Built(f"{leaf.name}{self._told}", len(made), made.nbytes, time.perf_counter() - began)
        if self.group_by and goal not in self._cubes:
            began = time.perf_counter()
            cube = self._cubes[goal] = self._cube(steps, leaf, goal, level)
            yield Built(
                f"{leaf.name}{self._told} by {', '.join(self.group_by)}", cube.groups.num_rows,
                cube.groups.nbytes + cube.records.nbytes, time.perf_counter() - began,
            )

    def _witnesses(self, steps: Steps, leaf: Leaf, goal: int, level: int, values: Sequence[str]) -> tuple[Node, dict[str, Expr]]:
        """The witnesses of a level with rids of one source alone, of those that the condition lets through, and values of theirs."""
        c = steps.catalyst
        plan, rid = leaf.named(c)
        if self.where is not None:
            plan = c.plan(c.frame(plan).where(self.where))
        known = {a.name(): a for a in c.items(plan.output())}
        name = c.alias(c.struct([rid, *(known[value] for value in values)]), "__bigdebug_selected")
        given = Extended(c.extended(plan, [name]), (Name(goal, name.toAttribute()),))
        association = steps.procedures.given(goal, given).association(steps.operator(level))
        [column] = [found.column for found in association.names if found.level == goal]
        columns = {f"k{i}": part for i, part in enumerate(association.parts)}
        columns |= {"rid": c.field(column, 0)} | {f"v{i}": c.field(column, i + 1) for i in range(len(values))}
        return c.filter(c.is_not_null(column), association.plan), columns

    def _cube(self, steps: Steps, leaf: Leaf, goal: int, level: int) -> Cube:
        c = steps.catalyst
        plan, columns = self._witnesses(steps, leaf, goal, level, [*self.group_by, *self.sums])
        frame = c.frame(c.project([c.alias(column, name) for name, column in columns.items()], plan)).distinct()
        keys = [name for name in columns if name.startswith("k")]
        groups, measures = [f"v{i}" for i in range(len(self.group_by))], [f"v{i + len(self.group_by)}" for i in range(len(self.sums))]
        totals = [F.count("*").alias("n"), *(F.sum(name).alias(f"s{i}") for i, name in enumerate(measures))]
        grouped = frame.groupBy(*keys, *(F.col(name).alias(f"g{i}") for i, name in enumerate(groups))).agg(*totals)
        made = c.plan(grouped)
        table = steps.catalyst.table(made, {a.name(): a for a in c.items(made.output())}).combine_chunks()
        alone = c.plan(frame.agg(F.count_distinct("rid").alias("n")))
        rids = steps.catalyst.table(alone, {"n": alone.output().head()})["n"][0].as_py()
        total = sum(table["n"].to_pylist())
        return Cube(keys_of(table, len(keys)), table.drop_columns(keys), disjoint=rids == total)

    # ---- asking -----------------------------------------------------------------------------------------------

    def chosen(self, steps: Steps, leaf: int, names: Names, condition: Any, filtered: bool) -> Names | None:
        """The rids of a source for which a condition holds, of those that records of the level above were made of.

        ``filtered`` says that the condition is asked of rows for which the declared one holds already. None if this was not
        declared, and has to be asked otherwise.
        """
        selected, level = self._selected.get(leaf), steps.above[leaf]
        if selected is None or level is None:
            return None
        value = None
        if filtered or self.where is None:
            if (value := self._value(steps, leaf, condition)) is None:
                return None
        elif not self.is_where(steps, leaf, condition):
            return None
        return selected.back(steps.known_by(level, names), value)

    def totals(
        self, steps: Steps, leaf: int, names: Names, columns: Sequence[str], sums: Sequence[str], filtered: bool,
    ) -> pa.Table | None:
        """Counts and sums by the values of columns, if they were declared, and for rows as they were."""
        cube, level = self._cubes.get(leaf), steps.above[leaf]
        if cube is None or level is None or filtered != (self.where is not None):
            return None
        if tuple(columns) != self.group_by or not set(sums) <= set(self.sums):
            return None
        known = steps.known_by(level, names)
        found = cube.totals(cube.records if known is None else known)
        if found is None:
            return None
        found = found.rename_columns([*columns, "count", *(f"sum({name})" for name in self.sums)])
        return found.select([*columns, "count", *(f"sum({name})" for name in sums)])

    def is_where(self, steps: Steps, leaf: int, condition: Any) -> bool:
        """Whether a condition is the declared one."""
        given = _condition(steps, leaf, condition)
        return given is not None and self.where is not None and bool(given.semanticEquals(_condition(steps, leaf, self.where)))

    def _value(self, steps: Steps, leaf: int, condition: Any) -> pa.Array | None:
        """The value that a condition asks of the column by which rids are partitioned; None if it asks something else."""
        if self.partition_by is None:
            return None
        if isinstance(condition, Mapping):
            if list(condition) != [self.partition_by]:
                return None
            value = F.lit(condition[self.partition_by])
        else:
            given = _condition(steps, leaf, condition)
            if given is None or given.nodeName() not in ("EqualTo", "EqualNullSafe"):
                return None
            sides = sorted([given.left(), given.right()], key=lambda side: side.nodeName())
            if [side.nodeName() for side in sides] != ["AttributeReference", "Literal"] or sides[0].name() != self.partition_by:
                return None
            value = steps.catalyst.column(sides[1])
        kind = next(a.dataType().sql() for a in steps.catalyst.items(steps.operator(leaf).node.output()) if a.name() == self.partition_by)
        plan = steps.catalyst.plan(steps.catalyst.spark.range(1).select(value.cast(kind).alias("v")))
        return array_of(steps.catalyst.table(plan, {"v": plan.output().head()})["v"])

    # ---- display ----------------------------------------------------------------------------------------------

    def table(self) -> Table:
        """The indexes that were built, with sizes and seconds."""
        return built_table(self.built, str(self))

    def __str__(self) -> str:
        said = [f"{self.direction} to {', '.join(self.relations) or 'all relations'}{self._told}"]
        if self.group_by:
            said.append(f"by {', '.join(self.group_by)}")
        return "declared: " + ", ".join(said)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        return self.table()._repr_mimebundle_()

    @property
    def _told(self) -> str:
        said = "" if self.where is None else f" where {self.where}"
        return said + (f" for each {self.partition_by}" if self.partition_by else "")

    @property
    def _pushed(self) -> bool:
        return self.where is not None or bool(self.partition_by or self.group_by)

    def _goals(self, leaves: Mapping[int, Leaf], relations: Sequence[str] | None = None) -> list[int]:
        wanted = {name.lower() for name in (self.relations if relations is None else relations)}
        return [at for at, leaf in leaves.items() if leaf.dataset.lower() in wanted or leaf.name.lower() in wanted]


def _condition(steps: Steps, leaf: int, condition: Any) -> Expr | None:
    """A condition on the columns of a source, as Spark understands it; None if it is something else."""
    if not isinstance(condition, str | Column):
        return None
    try:
        plan = filtered(steps.catalyst, steps.operator(leaf).node, condition)
        return plan.condition() if plan.nodeName() == "Filter" else None  # else hidden columns are asked
    except UnknownColumnError:
        return None


def built_table(built: Sequence[Built], caption: str) -> Table:
    """Indexes, a line each, and what they take together."""
    rows = [(each.what, f"{each.witnesses:,}", f"{each.bytes / 1e6:,.2f} MB", f"{each.seconds:.2f}") for each in built]
    size, seconds = sum(each.bytes for each in built), sum(each.seconds for each in built)
    return Table(("index of", "entries", "size", "seconds"), rows, (f"{size / 1e6:,.2f} MB in {seconds:.2f} s", caption))
