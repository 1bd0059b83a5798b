"""Chains: the operators that PySpark pipelines into one function, and when it pickles them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bigdebug.graph import Form
from bigdebug.spark.rdd.definition import Definition, Exchange, Narrow, Rearranged, Repartition
from bigdebug.spark.rdd.frozen import Frozen

if TYPE_CHECKING:
    from bigdebug.spark.rdd.recorded import Recorded as Captured

Functions = Frozen[Mapping[int, Definition]]
"""The definitions of the operators of a chain, by operator, as they were when PySpark pickled it."""


@dataclass(frozen=True)
class Chain:
    """The narrow operators that end at an RDD, and the RDD that they begin with.

    ``read_back`` says that its records are read from a cache, a checkpoint or another task; else the chain begins
    with what its source, its shuffle or its rearrangement gives.
    """

    steps: tuple[Captured, ...]
    begins: Captured
    read_back: bool = False

    def frozen(self, *more: Captured) -> Functions:
        """The functions of the chain, and of ``more``, as they are now."""
        own = self.steps if self.read_back else (self.begins, *self.steps)
        return Frozen({rdd._definition.operator.id: rdd._definition for rdd in (*own, *more)})


def chain_to(rdd: Captured) -> Chain:
    """The chain that ends at ``rdd``."""
    steps: list[Captured] = []
    current = rdd
    while isinstance(current._definition.lowering, Narrow):
        steps.append(current)
        definition = current._definition
        current = definition.parents[0]
        if not definition.fused[0]:
            return Chain(tuple(steps[::-1]), current, read_back=True)
    return Chain(tuple(steps[::-1]), current)


def chain_into(rdd: Captured, branch: int) -> Chain:
    """The chain that feeds ``rdd`` on ``branch``."""
    definition = rdd._definition
    parent = definition.parents[branch]
    return chain_to(parent) if definition.fused[branch] else Chain((), parent, read_back=True)


def freeze_feeding(rdd: Captured) -> None:
    """PySpark has just defined ``rdd`` and pickled what feeds it: keep the same."""
    lowering, form = rdd._definition.lowering, rdd._definition.operator.form
    if isinstance(lowering, Exchange | Repartition) or (isinstance(lowering, Rearranged) and form in (Form.ZIP, Form.CARTESIAN)):
        branches = range(len(rdd._definition.parents))
        rdd.__dict__["_feeding"] = [chain_into(rdd, branch).frozen(rdd) for branch in branches]


def feeding(rdd: Captured, branch: int) -> Functions:
    """The functions of the chain that feeds ``rdd`` on ``branch``."""
    known: list[Functions] | None = rdd.__dict__.get("_feeding")
    if known is not None:
        return known[branch]
    chain = chain_into(rdd, branch)
    return chain.frozen() if chain.read_back else leading_to(chain.steps[-1] if chain.steps else chain.begins)


def freeze(rdd: Any) -> None:
    """PySpark is about to pickle the chain that ends at ``rdd``: keep the same, once."""
    if "_leading" not in rdd.__dict__:
        rdd.__dict__["_leading"] = chain_to(rdd).frozen()


def leading_to(rdd: Any) -> Functions:
    """The functions of the chain that ends at ``rdd``."""
    if "_leading" not in rdd.__dict__:
        if "internal" not in rdd._definition.operator.detail:
            rdd._plain_jrdd()  # what PySpark runs later is to be the same; an action's own step nobody else runs
        freeze(rdd)
    known: Functions = rdd.__dict__["_leading"]
    return known
