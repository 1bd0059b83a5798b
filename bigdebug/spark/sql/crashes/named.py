"""Named: plans whose rows have names, fingerprints of their values, by which they are found again when only the names come back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import or_
from typing import NamedTuple

from pyspark.sql import Column, Row
from pyspark.sql import functions as F

from bigdebug.spark.sql.actions import unheard
from bigdebug.spark.sql.plans.balanced import balanced
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.expressions import Expr, Node
from bigdebug.spark.sql.plans.fingerprints import fingerprint


class Named(NamedTuple):
    """A plan whose last two columns are the names of its rows, and its first ones keys."""

    plan: Node
    names: list[Expr]
    keys: int
    bare: list[Expr]

    @classmethod
    def of(cls, catalyst: Catalyst, plan: Node, keys: int = 0) -> Named:
        hashes = fingerprint(catalyst, plan, catalyst.items(plan.output()), bits=True)
        columns = [catalyst.alias(value, f"__bigdebug_{i}") for i, value in enumerate(hashes)]
        return cls(catalyst.extended(plan, columns), [column.toAttribute() for column in columns], keys, catalyst.items(plan.output()))

    def having(self, catalyst: Catalyst, names: Iterable[tuple[int, int]]) -> Iterator[tuple[tuple[int, int], Row]]:
        """The rows of these names, with those, and without their keys."""
        one, other = map(catalyst.column, self.names)
        wanted = F.broadcast(catalyst.spark.createDataFrame(sorted(names), "one long, other long"))
        rows = unheard(catalyst.frame(self.plan).join(wanted, (wanted.one == one) & (wanted.other == other), "left_semi"), "collect")
        return ((row[-2:], part(row, self.keys, -2)) for row in rows)

    def without(self, catalyst: Catalyst, names: Iterable[tuple[int, int]]) -> Node:
        """The rows of other names."""
        listed = ", ".join(f"({one}L, {other}L)" for one, other in sorted(names))
        if not listed:
            return self.plan
        pair = ", ".join(name.name() for name in self.names)
        return catalyst.plan(catalyst.frame(self.plan).filter(f"({pair}) NOT IN ({listed})"))

    def where(self, catalyst: Catalyst, names: Iterable[tuple[int, int]]) -> Column:
        """Holds for rows of these names."""
        one, other = map(catalyst.column, self.names)
        return balanced(or_, [(one == a) & (other == b) for a, b in names])


def part(row: Row, start: int, stop: int | None = None) -> Row:
    """Some of the columns of a row."""
    return Row(*row.__fields__[start:stop])(*row[start:stop])
