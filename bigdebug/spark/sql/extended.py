"""Extended plans: the plan of an operator with names of records below that ride along, and how records of a level were made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa

from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.expressions import Expr, Node


class Name(NamedTuple):
    """The column that names records of a level; NULL where none took part."""

    level: int
    column: Expr

    def missing(self) -> Name:
        """The same where an outer join may leave it out."""
        return Name(self.level, self.column.withNullability(True))


class Extended(NamedTuple):
    """A plan that has the columns of an operator, and names."""

    plan: Node
    names: tuple[Name, ...]


def parts_of_name(catalyst: Catalyst, made_of: Sequence[Expr]) -> Sequence[Expr]:
    """The name of a row by those of the records that it was made of: True, if of none (SELECT 1)."""
    return made_of or [catalyst.literal(True, "boolean")]


@dataclass(frozen=True)
class Association:
    """How records of a level were made: a plan with a row for each witness; ``parts`` are columns that say of which records.

    Those are the fields of the records' names, or the first of them if several were made together; ``content`` are the others, where
    a witness tells which of these it made.
    """

    plan: Node
    parts: tuple[Expr, ...]
    names: tuple[Name, ...]
    content: tuple[Expr, ...] = ()

    @property
    def levels(self) -> tuple[int, ...]:
        return tuple(name.level for name in self.names)

    @property
    def told(self) -> tuple[Expr, ...]:
        """All that a witness tells of the name of its record."""
        return (*self.parts, *self.content)

    def keys(self, names: Any) -> Any:
        """What the names of records say about ``told``: for each name a struct of their values."""
        fields = names.flatten()[: len(self.told)]
        return names if len(fields) == names.type.num_fields else pa.StructArray.from_arrays(fields, [f"_{i}" for i in range(len(fields))])
