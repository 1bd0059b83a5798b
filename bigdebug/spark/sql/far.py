"""Far names: those of more records than the driver would hold. They stay in Spark, and traces go on there."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, reduce
from typing import Any

from bigdebug.errors import TooLargeError
from bigdebug.spark import bars
from bigdebug.spark.sql.actions import unheard
from bigdebug.spark.sql.keys import all_of, frame_of
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.expressions import Expr, Node
from bigdebug.trace.names import NOTHING, Names, array_of, merged
from bigdebug.trace.positions import Positions

_NAME = "__bigdebug_far"


class Far:
    """Names in the only column of a plan that Spark keeps, each once. What is asked of them takes a job."""

    def __init__(self, catalyst: Catalyst, plan: Node) -> None:
        self._catalyst = catalyst
        self.plan = plan

    @classmethod
    def of(cls, catalyst: Catalyst, plan: Node, name: Expr) -> Far:
        """The names in a column of a plan, computed and kept where they are."""
        frame = catalyst.frame(catalyst.project([catalyst.alias(name, _NAME)], plan))
        with bars.counted(catalyst.spark.sparkContext, "following lineage"):
            return cls(catalyst, catalyst.plan(unheard(frame.where(f"{_NAME} is not null").distinct(), "localCheckpoint")))

    @classmethod
    def unless_few(cls, catalyst: Catalyst, plan: Node, name: Expr) -> Any:
        """As ``of``; in the driver, if they are not so many once each is there only once."""
        far = cls.of(catalyst, plan, name)
        try:
            return array_of(catalyst.table(far.plan, {"name": far.name})["name"])
        except TooLargeError:
            return far

    @classmethod
    def counted(cls, catalyst: Catalyst, plan: Node, name: Expr) -> tuple[Any, Positions | None]:
        """As ``unless_few``, and how many rows each name is that of: None where no two have one, and of names that stay in Spark, where nobody counts them."""
        frame = catalyst.frame(catalyst.project([catalyst.alias(name, _NAME)], plan))
        with bars.counted(catalyst.spark.sparkContext, "following lineage"):
            kept = catalyst.plan(unheard(frame.where(f"{_NAME} is not null").groupBy(_NAME).count(), "localCheckpoint"))
        known, times = catalyst.items(kept.output())
        try:
            found = catalyst.table(kept, {"name": known, "times": times})
        except TooLargeError:
            return cls(catalyst, catalyst.project([known], kept)), None
        each = found["times"].to_numpy()
        return array_of(found["name"]), None if (each == 1).all() else each

    @property
    def name(self) -> Expr:
        return self.plan.output().head()

    @cached_property
    def parts(self) -> list[Expr]:
        return parts_of(self._catalyst, self.name)

    def part(self, at: int) -> Far:
        """The values of one field, each once."""
        return Far.of(self._catalyst, self.plan, self.parts[at])

    def merged(self, more: Any) -> Far:
        """These names and more, each once; ``more`` may be in the driver."""
        c = self._catalyst
        if not len(more):
            return self
        if not isinstance(more, Far):
            more = Far(c, c.plan(frame_of(c, [more], [_NAME], [self.name.dataType().sql()])))
        union = c.union([self.plan, more.plan])
        return Far.of(c, union, union.output().head())

    def restricted(self, plan: Node, parts: list[Expr]) -> Node:
        """The rows of ``plan`` in which ``parts``, or as many as there are, are those of one of these names."""
        return self._joined(plan, parts, "left_semi")

    def without(self, plan: Node, parts: list[Expr]) -> Node:
        """The other rows."""
        return self._joined(plan, parts, "left_anti")

    def _joined(self, plan: Node, parts: list[Expr], how: str) -> Node:
        c = self._catalyst
        # The plan may come from where the names do, with columns of the same ids.
        frame = c.frame(c.project([c.alias(part, f"{_NAME}_{i}") for i, part in enumerate(self.parts[: len(parts)])], self.plan))
        matches = [c.column(part).eqNullSafe(frame[f"{_NAME}_{i}"]) for i, part in enumerate(parts)]
        return c.plan(c.frame(plan).join(frame.hint("merge"), all_of(matches), how))

    @cached_property
    def _size(self) -> int:
        return int(unheard(self._catalyst.frame(self.plan), "count"))

    def __len__(self) -> int:
        return self._size


def parts_of(catalyst: Catalyst, name: Expr) -> list[Expr]:
    """The fields of names; the names themselves, if they are rids."""
    kind = name.dataType()
    return [catalyst.field(name, i) for i in range(kind.length())] if kind.typeName() == "struct" else [name]


def together(several: Sequence[Names]) -> Names:
    """The names of all, wherever they are; None stands for those of all records."""
    return None if any(names is None for names in several) else reduce(_both, several, NOTHING)


def _both(names: Any, more: Any) -> Any:
    if isinstance(more, Far):
        names, more = more, names
    return names.merged(more) if isinstance(names, Far) else merged(names, more)
