"""Crashed: the rows that the Python functions of a node of a plan crash on, and what is told of that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from pyspark.sql import Row

from bigdebug.agents.guards.code import Told
from bigdebug.spark.sql.crashes.named import part
from bigdebug.spark.sql.plans.expressions import Expr, Node


class Crashed(NamedTuple):
    """Rows of a plan that a function crashed on together, the last of them in flight, and what is told of that. ``where`` tells them by value; of
    a single row it is the row, if None.
    """

    rows: list[Row]
    told: Told
    plan: Node
    where: Any = None
    rowwise: bool = True
    """Whether the node goes on without that row as with any other."""
    side: int = 0
    """In which of the node's inputs the row is."""
    whole: bool = True
    """Whether it is all of a row there."""
    marks: int = 0
    """How many columns come behind the row in flight, in which something was told of it: to cut thousands of rows takes as long as to read them."""

    @property
    def record(self) -> Row | None:
        """The row in flight."""
        if not self.rows:
            return None
        return part(self.rows[-1], 0, -self.marks) if self.marks else self.rows[-1]


class Crashing(NamedTuple):
    """What was found next at a node; of the last one, the node without all that was found, if that can be told apart."""

    found: list[Crashed]
    clean: Node | None = None
    small: Sequence[Expr] = ()
    """Those of the functions of which that was asked, if they gave small numbers alone."""
    anew: bool = False
    """Whether what was found before is found once more from here on."""
