"""Pairs: what a join computes of two rows, one of each input, and what of a single one."""

from __future__ import annotations

from typing import NamedTuple

from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.expressions import Expr, Node


class Condition(NamedTuple):
    """The condition of a join: ``keys``, the equalities that are computed of each input by itself, and the others, of the pairs with equal keys."""

    keys: list[Expr]
    others: list[Expr]
    not_in: bool = False
    """Whether rows also meet where it is not known if the key is equal."""

    @classmethod
    def of(cls, catalyst: Catalyst, join: Node) -> Condition:
        """As Spark's ExtractEquiJoinKeys takes a condition apart; all of it is of pairs where there is no key."""
        if not join.condition().isDefined():
            return cls([], [])
        condition = join.condition().get()
        known = _not_in(catalyst, join, condition)
        if known is not None:
            return cls([known], [], not_in=True)
        left, right = catalyst.children(join)
        found = cls([], [])
        for conjunct in catalyst.conjuncts(condition):
            (found.keys if _is_key(catalyst, conjunct, left, right) else found.others).append(conjunct)
        return found

    def of_side(self, catalyst: Catalyst, side: Node) -> list[Expr]:
        """What is computed of each row of an input."""
        return [part for key in self.keys for part in catalyst.children(key) if catalyst.is_of(part, side)]


def _is_key(catalyst: Catalyst, conjunct: Expr, left: Node, right: Node) -> bool:
    if conjunct.nodeName() not in ("EqualTo", "EqualNullSafe"):
        return False
    one, other = catalyst.children(conjunct)
    if not (one.references().nonEmpty() and other.references().nonEmpty()):
        return False
    return (catalyst.is_of(one, left) and catalyst.is_of(other, right)) or (catalyst.is_of(one, right) and catalyst.is_of(other, left))


def _not_in(catalyst: Catalyst, join: Node, condition: Expr) -> Expr | None:
    """The equality in the condition of NOT IN: ``a = b OR isnull(a = b)``, for which Spark has a join that looks for the key alone."""
    if str(join.joinType().toString()) != "LeftAnti" or condition.nodeName() != "Or":
        return None
    equal, unknown = catalyst.children(condition)
    if equal.nodeName() != "EqualTo" or unknown.nodeName() != "IsNull" or not catalyst.children(unknown)[0].semanticEquals(equal):
        return None
    return equal if _is_key(catalyst, equal, *catalyst.children(join)) else None
