"""Reading a plan: the operators of a query, each with its node, as a tree."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, NamedTuple

from bigdebug.graph import Form, Kind, Operator, OperatorGraph
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.domains import DOMAIN, is_domain
from bigdebug.spark.sql.plans.expressions import Expr, Node
from bigdebug.spark.sql.plans.normal import normal
from bigdebug.spark.sql.plans.written import place_of

_NAMED = {"Project", "Filter", "Sort", "Repartition", "RepartitionByExpression", "RebalancePartitions", "ResolvedHint", "Sample"}
"""Nodes through which a name reaches the source below: what they give is still that source's."""

_NAMES = {"LogicalRelation": "Relation", "GlobalLimit": "Limit", "LocalLimit": "Limit", "Offset": "Limit"}

_TRANSPARENT = {"SubqueryAlias", "View", "CollectMetrics", "PipeOperator"}
"""Nodes that give what they get, and are left out: CollectMetrics would count the rows of our questions as the user's."""

_KINDS = {
    "Filter": (Kind.FILTER, Form.KEPT), "Limit": (Kind.FILTER, Form.KEPT), "Aggregate": (Kind.AGGREGATOR, Form.CODES),
    "Join": (Kind.JOIN, Form.JOIN), "AsOfJoin": (Kind.JOIN, Form.JOIN), "Union": (Kind.DISPATCHER, Form.UNION),
    "Sort": (Kind.KEY_PRESERVING, Form.SORT), DOMAIN: (Kind.AGGREGATOR, Form.CODES),
    "Window": (Kind.AGGREGATOR, Form.CODES), "Project": (Kind.KEY_PRESERVING, Form.ONE_TO_ONE),
    "Generate": (Kind.DISPATCHER, Form.OFFSETS), "Expand": (Kind.DISPATCHER, Form.OFFSETS),
    "Repartition": (Kind.KEY_PRESERVING, Form.SHUFFLE), "RepartitionByExpression": (Kind.KEY_PRESERVING, Form.SHUFFLE),
    "RebalancePartitions": (Kind.KEY_PRESERVING, Form.SHUFFLE),
}


_MADE_UP = re.compile(r"_pyspark_[0-9a-f]{32}$")
"""The name of the view that PySpark makes of a DataFrame for ``spark.sql("... {df}", df=df)``."""


class Kept(NamedTuple):
    """What an operator gave: a plan that reads it again, and the column that names its rows.

    ``drawn`` says that another execution would give something else; else only the places of the rows matter. ``skipped`` reads the
    names of the rows that a limit with an offset skipped.
    """

    plan: Node
    name: Expr
    drawn: bool = True
    skipped: Node | None = None


@dataclass(eq=False)
class PlanOperator:
    """An operator of a query: its node in the JVM, its inputs, and the subqueries that its expressions ask.

    ``dataset`` names a source: a view or table, else an alias, or the last part of a path; ``aliased`` says that no catalog knows
    it by that name. ``limits`` are the nodes of a limit, the
    outermost first. ``kept`` is there if the operator draws, and what it drew in the run was kept; or if a question holds it.
    ``repeats`` is another operator, of which this is a second reading. ``view`` are the projections between a source and its name,
    the lowest first.
    """

    id: int
    name: str
    node: Node
    inputs: tuple[PlanOperator, ...] = ()
    subqueries: tuple[PlanOperator, ...] = ()
    dataset: str | None = None
    limits: tuple[Node, ...] = field(default=(), repr=False)
    kept: Kept | None = field(default=None, repr=False)
    repeats: int | None = None
    aliased: bool = False
    view: tuple[Node, ...] = field(default=(), repr=False)

    def __iter__(self) -> Iterator[PlanOperator]:
        """All operators from the sources on, this one last."""
        for child in (*self.inputs, *self.subqueries):
            yield from child
        yield self

    def plan(self, catalyst: Catalyst) -> Node:
        """The plan that gives its rows: its node, or what was kept of it."""
        return self.node if self.kept is None else catalyst.project(catalyst.items(self.node.output()), self.kept.plan)

    @property
    def draws(self) -> bool:
        """Whether its rows are those that were drawn in the run."""
        return self.kept is not None and self.kept.drawn

    def inside(self) -> Iterator[PlanOperator]:
        """What its rows are made of, and itself: no subqueries."""
        for child in self.inputs:
            yield from child.inside()
        yield self

    def over(self, catalyst: Catalyst, inputs: tuple[PlanOperator, ...]) -> PlanOperator:
        """The same operator over other inputs with the same columns; itself if they are its own."""
        if all(new is old for new, old in zip(inputs, self.inputs)):
            return self
        if not self.limits:
            return replace(self, inputs=inputs, node=catalyst.with_children(self.node, [child.plan(catalyst) for child in inputs]))
        plan, limits = inputs[0].plan(catalyst), []
        for limit in reversed(self.limits):
            plan = catalyst.with_children(limit, [plan])
            limits.append(plan)
        return replace(self, inputs=inputs, node=plan, limits=tuple(reversed(limits)))

    @property
    def parents(self) -> tuple[PlanOperator, ...]:
        """What it reads: its inputs, then its subqueries."""
        return (*self.inputs, *self.subqueries)

    def __str__(self) -> str:
        """With its place in the user's query, where Spark knows it: for errors."""
        return f"{self.name}#{self.id}" + (f" {self.dataset}" if self.dataset else "") + self.place

    @property
    def place(self) -> str:
        return place_of(self.node)


def name_of(node: Node) -> str:
    """What the operator of a node is called."""
    return _NAMES.get(node.nodeName(), str(node.nodeName()))


def read(catalyst: Catalyst, plan: Node) -> PlanOperator:
    """The operators of an analyzed plan in normal form. Costs some calls of the JVM for each node, no job."""
    return _Reader(catalyst).whole(plan)


class _Called(NamedTuple):
    """A name above a node, and the projections between the two; ``known`` is the nearest name above an alias that a catalog knows."""

    name: str | None
    alias: bool
    view: tuple[Node, ...] = ()
    known: _Called | None = None

    def below(self, node: Node) -> _Called:
        """What is called so below a node through which names reach."""
        if self.name is None or node.nodeName() != "Project":
            return self
        return self._replace(view=(node, *self.view), known=self.known and self.known.below(node))


_NAMELESS = _Called(None, alias=False)


class _Reader:
    def __init__(self, catalyst: Catalyst) -> None:
        self._catalyst = catalyst
        self._ids = count(1)
        self._domains: set[int] = set()

    def whole(self, plan: Node) -> PlanOperator:
        """A query, or a subquery that another one's expressions ask."""
        formed = normal(self._catalyst, plan)
        self._domains |= formed.domains
        return self.read(formed.plan)

    def read(self, node: Node, called: _Called = _NAMELESS) -> PlanOperator:
        """``called`` is the innermost name above ``node``, if only ``_NAMED`` nodes stand between."""
        limits: list[Node] = []
        while (name := node.nodeName()) in _TRANSPARENT or (_NAMES.get(name) == "Limit"):
            if name in _TRANSPARENT:
                if limits and name in ("SubqueryAlias", "View"):
                    break
                if name == "SubqueryAlias" and not _MADE_UP.match(node.identifier().name()):
                    known = called if called.name is not None and not called.alias else called.known
                    called = _Called(node.identifier().name(), alias=True, known=known)
                elif name == "View":
                    called = called._replace(alias=False)
            else:
                limits.append(node)
            node = self._catalyst.children(node)[0]
        if limits:
            return self._limit(limits, self.read(node, called))
        if is_domain(self._catalyst, node, self._domains):
            return PlanOperator(next(self._ids), DOMAIN, node)
        children = self._catalyst.children(node)
        inputs = tuple(self.read(child, called.below(node) if name in _NAMED else _NAMELESS) for child in children)
        if any(read.node is not child for read, child in zip(inputs, children)):
            node = self._catalyst.with_children(node, [read.node for read in inputs])
        subqueries = tuple(self.whole(plan) for plan in self._catalyst.items(node.subqueries()))
        if children:
            called = _NAMELESS
        aliased = called.alias and not (name == "LogicalRelation" and node.catalogTable().isDefined())
        if aliased and called.known is not None:
            called, aliased = called.known, False
        return PlanOperator(next(self._ids), name_of(node), node, inputs, subqueries, called.name, aliased=aliased, view=called.view)

    def _limit(self, limits: list[Node], below: PlanOperator) -> PlanOperator:
        plan = below.node
        for node in reversed(limits):
            plan = self._catalyst.with_children(node, [plan])
        return PlanOperator(next(self._ids), "Limit", plan, (below,), limits=tuple(limits))


def read_again(operator: PlanOperator, ids: Iterator[int]) -> PlanOperator:
    """An operator and all below it once more, with other ids."""
    inputs = tuple(read_again(child, ids) for child in operator.inputs)
    subqueries = tuple(read_again(child, ids) for child in operator.subqueries)
    return replace(operator, id=next(ids), inputs=inputs, subqueries=subqueries, repeats=operator.id)


def graph_of(root: PlanOperator, names: dict[int, str]) -> OperatorGraph:
    """The operators as plain data; ``names`` are those of the sources."""
    operators = []
    for operator in root:
        kind, form = _KINDS.get(operator.name, (Kind.BLACK_BOX, Form.PAIRED) if operator.inputs else (Kind.SOURCE, Form.SOURCE))
        operators.append(Operator(
            operator.id, operator.name, kind, form, tuple(p.id for p in operator.parents), 1, dataset=names.get(operator.id),
            detail={"does": _shown(operator.node)},
        ))
    return OperatorGraph(operators, [root.id])


def _shown(node: Any) -> str:
    return str(node.simpleString(25))
