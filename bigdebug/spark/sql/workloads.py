"""Workloads: what will be asked of a query, declared beforehand (Smoke 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches

from pyspark.sql import Column

from bigdebug.errors import UnknownColumnError, UnknownOperatorError
from bigdebug.shown import shown
from bigdebug.spark.sql.called import called, check_sums
from bigdebug.spark.sql.leaf import Leaf
from bigdebug.spark.sql.matching import filtered
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.kinds import equal_by_bits

DIRECTIONS = ("backward", "forward", "both")


@dataclass(frozen=True)
class Workload:
    """What will be asked of a DataFrame's query (Smoke 4)."""

    relations: tuple[str, ...]
    direction: str
    where: str | Column | None = None
    partition_by: tuple[str, ...] = ()
    group_by: tuple[str, ...] = ()
    sums: tuple[str, ...] = ()

    def checked(self, catalyst: Catalyst, leaves: Mapping[int, Leaf]) -> Workload:
        """The same, with columns called as they are. An error of ours, TypeError or ValueError if a query with these sources cannot
        be asked that.
        """
        if self.direction not in DIRECTIONS:
            raise ValueError(f"direction is one of {', '.join(DIRECTIONS)}, not {self.direction!r}")
        if self.where is not None and not isinstance(self.where, str | Column):
            raise TypeError(f"where is SQL or a Column that will be asked again, not {shown(self.where)}")
        known = {name for leaf in leaves.values() for name in (leaf.dataset, leaf.name)}
        for name in self.relations:
            if not self.goals(leaves, [name]):
                near = get_close_matches(name, known, 3) or sorted(known)
                raise UnknownOperatorError(
                    "The query reads no such relation", value=name, remedy=f"It reads {', '.join(near)}." if near else "It reads none.",
                )
        if self.sums and not self.group_by:
            raise ValueError("sums are of the groups that group_by names, and it names none")
        if not self.pushed:
            return self
        every = {leaf.dataset for leaf in leaves.values()}
        relations = self.relations or (tuple(every) if len(every) == 1 else ())
        if len(relations) != 1 or self.direction == "forward":
            raise ValueError("where, partition_by and group_by are about rows of one relation that are traced back to: relations='lineitem'")
        for leaf in (leaves[at] for at in self.goals(leaves, relations)):
            kinds = {a.name(): a.dataType().sql() for a in leaf.columns(catalyst)}
            parted, by, sums = (
                called(catalyst, given, kinds, f"in {leaf.name}") for given in (self.partition_by, self.group_by, self.sums)
            )
            for name in (*parted, *by):
                if not equal_by_bits(kinds[name]):
                    raise UnknownColumnError(
                        f"{leaf.name}.{name} is of type {kinds[name].lower()}, and indexes tell numbers, text and dates apart by their bits",
                        remedy="Declare a column of integers, decimals, text, booleans, dates or timestamps.",
                    )
            check_sums(kinds, sums, f"{leaf.name}.")
            if self.where is not None:
                plan = filtered(catalyst, leaf.rows(catalyst), self.where)
                if not plan.deterministic() or catalyst.asks_clock(plan):
                    raise ValueError(f"where is a condition that holds for the same rows each time, not {shown(self.where)}")
        return replace(self, relations=relations, partition_by=parted, group_by=by, sums=sums)

    @property
    def pushed(self) -> bool:
        """Whether something about the rows of the relation is declared."""
        return self.where is not None or bool(self.partition_by or self.group_by)

    def goals(self, leaves: Mapping[int, Leaf], relations: Sequence[str] | None = None) -> list[int]:
        """The sources that are declared."""
        wanted = {name.lower() for name in (self.relations if relations is None else relations)}
        return [at for at, leaf in leaves.items() if leaf.dataset.lower() in wanted or leaf.name.lower() in wanted]

    def of_rows(self) -> str:
        """What is declared about rows, in words."""
        said = "" if self.where is None else f" where {self.where}"
        return said + (f" for each {', '.join(self.partition_by)}" if self.partition_by else "")

    def __str__(self) -> str:
        said = f"{self.direction} to {', '.join(self.relations) or 'all relations'}{self.of_rows()}"
        totals = f" with sums of {', '.join(self.sums)}" if self.sums else ""
        return f"declared: {said}" + (f", by {', '.join(self.group_by)}{totals}" if self.group_by else "")
