"""Plans: what Spark writes of a logical plan (``TreeNode.toJSON``), read. Pure: a plan can be read long after its session has ended.

Spark lists the nodes of a tree parents first, each with the number of its children; trees that stand in a field of a node (expressions,
subqueries) are lists of the same kind.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from bigdebug.errors import DatasetsError

T = TypeVar("T")

_OUTPUTS = ("output", "dataCols", "partitionCols", "outputObjAttr")
"""The fields in which leaves have their columns."""


@dataclass(frozen=True, eq=False)
class Tree:
    """A node of a plan or of an expression: the name of its class, its fields as Spark wrote them, and what is below."""

    name: str
    fields: Mapping[str, Any]
    below: tuple[Tree, ...]

    def __iter__(self) -> Iterator[Tree]:
        """It and all below, what is below first. Without recursion: a loop of ``withColumn`` is hundreds of nodes deep."""
        rest: list[tuple[Tree, bool]] = [(self, False)]
        while rest:
            tree, seen = rest.pop()
            if seen or not tree.below:
                yield tree
            else:
                rest.append((tree, True))
                rest.extend((child, False) for child in reversed(tree.below))

    def folded(self, one: Callable[[Tree, list[T]], T]) -> T:
        """What ``one`` makes of it, of what it made of the trees below, of these before."""
        done: list[T] = []
        for tree in self:
            count = len(tree.below)
            below = done[len(done) - count :]
            del done[len(done) - count :]
            done.append(one(tree, below))
        return done[0]

    def trees(self, field: str) -> tuple[Tree, ...]:
        """The trees of a field: of one expression, or of a list of them, however nested."""
        return tuple(_trees(self.fields.get(field)))

    @property
    def expressions(self) -> tuple[Tree, ...]:
        """The trees of all of its fields."""
        return tuple(each for name in self.fields for each in self.trees(name))

    @property
    def output(self) -> tuple[Tree, ...]:
        """The columns that a leaf gives, wherever it has them."""
        return tuple(each for name in _OUTPUTS for each in self.trees(name))

    @property
    def id(self) -> int | None:
        """The number of the column that it names or makes; None if it does neither."""
        return _id(self.fields.get("exprId"))

    @property
    def subquery(self) -> Tree | None:
        """The plan that it has in it, as an expression."""
        plan = self.fields.get("plan")
        return next(iter(_trees(plan)), None) if isinstance(plan, list) else None


def plan_of(text: str) -> Tree:
    """The plan that ``toJSON`` wrote. Raises DatasetsError for any other text."""
    try:
        return _tree(json.loads(text))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as trouble:
        raise DatasetsError(
            f"a plan cannot be read: {type(trouble).__name__}", remedy="The query is recorded as one step of unknown columns.",
        ) from trouble


def _tree(nodes: Sequence[Mapping[str, Any]]) -> Tree:
    made: list[Tree] = []
    for node in reversed(nodes):
        count = node["num-children"]
        below = tuple(reversed(made[len(made) - count :])) if count else ()
        if len(below) != count:
            raise ValueError("fewer nodes than there should be")
        del made[len(made) - count :]
        made.append(Tree(node["class"].rsplit(".", 1)[-1], node, below))
    (root,) = made
    return root


def _trees(value: Any) -> Iterator[Tree]:
    if not isinstance(value, list) or not value:
        return
    if isinstance(value[0], dict):
        if "num-children" in value[0]:
            yield _tree(value)
        return
    for each in value:
        yield from _trees(each)


def _id(value: Any) -> int | None:
    return value["id"] if isinstance(value, dict) and isinstance(value.get("id"), int) else None
