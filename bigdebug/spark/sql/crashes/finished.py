"""Finished: what stages of a query had computed when it failed. Nothing crashed there, and Spark still has the rows that they wrote."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from bigdebug.spark.cancelled import is_cancelled
from bigdebug.spark.sql.actions import unheard
from bigdebug.spark.sql.crashes.walk import Step, steps_of
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.expressions import Expr, Node
from bigdebug.spark.sql.plans.rewriting import with_inputs

Physical = Any
"""A node of the plan that Spark executed, or began to."""

_WRITTEN = {
    "Project", "Filter", "Generate", "Expand", "Join", "Window", "Union", "Sort", "Repartition", "RepartitionByExpression", "RebalancePartitions",
    "MapInPandas", "MapInArrow", "PythonMapInArrow", "FlatMapGroupsInPandas", "FlatMapGroupsInArrow", "FlatMapCoGroupsInPandas", "FlatMapCoGroupsInArrow",
    "Range", "LogicalRelation", "LogicalRDD", "LocalRelation",
}
"""Nodes whose rows a stage writes as they are. Others it may compute in part, for the next one to end (a distinct has the same columns twice)."""

_READ = "AQEShuffleReadExec"

_AROUND = ("WholeStageCodegenExec", "InputAdapter")
"""What stands around nodes, and computes what they do."""


class _Stage(NamedTuple):
    """A stage that finished, ``of`` the node that it computed, or (``begun``) whose end it left to the next stage; what gives that node's rows, if
    anything does, and whether these are in the partitions in which the query that failed read them.
    """

    of: Node
    rows: Physical | None
    begun: bool = False
    as_read: bool = False


class Finished:
    """Of the plans that an action ran by, those that are known, the nodes of ``steps`` that finished."""

    def __init__(self, catalyst: Catalyst, executed: Sequence[Physical], steps: Sequence[Step]) -> None:
        self._catalyst = catalyst
        self._executed = executed
        self._steps = steps
        self._originals: dict[tuple[int, ...], Node] = {}
        """What rows stand for, by the ids of their RDDs and columns."""
        self._ended: dict[int, bool] = {}

    def __contains__(self, number: int) -> bool:
        """Whether nothing crashed in a node, by its number. Of one that was only ``begun`` it remains to be seen."""
        return number in self._quiet

    def begun(self, number: int) -> bool:
        """Whether stages that finished left the end of a node to the one that failed, or to one behind it."""
        return number in self._stages and self._stages[number].begun

    def ends(self, number: int, node: Node) -> bool:
        """Whether the end of a node throws on nothing. Costs what it takes to read what was written, and to end it, the first time."""
        if number not in self._ended:
            try:
                unheard(self._catalyst.frame(self.rows(number, node)), "count")
                self._ended[number] = True
            except (PySparkException, Py4JError) as trouble:
                if is_cancelled(trouble):
                    raise
                self._ended[number] = False
        return self._ended[number]

    def rows(self, number: int, node: Node) -> Node:
        """The rows of a node as Spark has them, in its place; itself if they are not there."""
        stage = self._stages.get(number)
        if stage is None or stage.rows is None:
            return node
        c, rdd = self._catalyst, stage.rows.execute()
        made = c.with_arguments(c.plan(c.of_rdd(rdd, node.schema())), {"output": node.output()} | (self._partitioned(stage.rows, node) if stage.as_read else {}))
        self._originals[self._name(made)] = self.original(node)
        return made

    def original(self, plan: Node) -> Node:
        """A plan of rows as Spark has them, over the sources that they were made of."""
        if not self._originals:
            return plan
        if plan.nodeName() == "LogicalRDD":
            return self._originals.get(self._name(plan), plan)
        return with_inputs(self._catalyst, plan, self.original)

    @property
    def unfinished(self) -> tuple[list[Node], list[Node]]:
        """The other nodes, first those that read what had finished, or a source."""
        left = [(number, step) for number, step in enumerate(self._steps) if number not in self]
        read = {number for _, step in left for number in step.inputs if number in self}
        sources = [self._steps[number].node for number in read] + [step.node for _, step in left if not step.inputs]
        return sources, [step.node for _, step in left if step.inputs]

    @cached_property
    def _stages(self) -> dict[int, _Stage]:
        """By the number of the node."""
        try:
            return self._found()
        except (PySparkException, Py4JError):  # then all is looked at
            return {}

    def _found(self) -> dict[int, _Stage]:
        stages = [stage for plan in self._executed for stage in self._below(plan, [])]
        nodes = [(node, node.nodeName()) for node in (self._composed(self._steps) if stages else [])]
        found: dict[int, _Stage] = {}
        for stage in sorted(stages, key=lambda stage: stage.rows is not None):
            wanted = self._composed(steps_of(self._catalyst, stage.of))[-1]
            name = wanted.nodeName()
            alike = [number for number, (node, other) in enumerate(nodes) if other == name and node.sameResult(wanted)]
            if stage.begun:  # of a node that is looked at in parts, it is not known which of them it ends
                alike = [number for number in alike if self._steps[number].node is self._steps[number].written]
            if len(alike) == 1 or wanted.deterministic():  # else the others may have given other rows
                found |= dict.fromkeys(alike, stage)
        return found

    @cached_property
    def _quiet(self) -> set[int]:
        quiet: set[int] = set()
        left = [*self._stages]
        while left:
            quiet.add(number := left.pop())
            step = self._steps[number]
            left += step.inputs if self.begun(number) else [*step.inputs, *step.asked]
        return quiet - {number for number, stage in self._stages.items() if stage.begun and stage.rows is None}

    def _below(self, node: Physical, above: list[Physical]) -> Iterator[_Stage]:
        """The stages that finished, of these the last ones."""
        kind = _kind(node)
        if kind.endswith("QueryStageExec") and node.isMaterialized() and (meant := self._meant(node)) is not None:
            if kind == "ShuffleQueryStageExec":
                yield self._stage(node, meant, above[::-1])
                return
            if kind == "BroadcastQueryStageExec":  # these rows are in the driver; what they were made of may have been shuffled
                yield _Stage(self._inlined(meant), None, begun=meant.nodeName() not in _WRITTEN)
        if kind == "AdaptiveSparkPlanExec":
            below = [node.executedPlan()]
        else:
            below = [node.plan()] if kind.endswith("QueryStageExec") else self._catalyst.children(node)
        for each in below:
            yield from self._below(each, [*above, node])

    def _stage(self, written: Physical, meant: Node, above: Sequence[Physical]) -> _Stage:
        """A stage that wrote rows for what is ``above`` it, from the next node to the root."""
        of = self._inlined(meant)
        ends = [place for place, node in enumerate(above) if node.children().length() and (other := self._meant(node)) is not None and other.equals(meant)]
        if ends:
            path = above[: ends[-1] + 1]
            certain = all(node.children().length() == 1 and _is_once(node) for node in path) and self._ids(path[-1]) == self._ids(of)
            return _Stage(of, path[-1] if certain else None, begun=True, as_read=certain)
        if self._ids(written) != self._ids(of) or not (meant.nodeName() in _WRITTEN or _ends(written)):
            return _Stage(of, None, begun=True)
        reading = next((node for node in above if _kind(node) not in _AROUND), written)
        if _kind(reading) != _READ:
            return _Stage(of, written, as_read=True)
        return _Stage(of, reading, as_read=True) if _is_once(reading) else _Stage(of, written)

    def _meant(self, node: Physical) -> Node | None:
        """The node of the query that one is of which executes it."""
        link = node.logicalLink()
        found = link.get() if link.isDefined() else None
        while found is not None and found.nodeName() == "LogicalQueryStage":
            found = found.logicalPlan()
        return found

    def _inlined(self, plan: Node) -> Node:
        """A plan with the nodes in it that stages had taken the place of."""
        while plan.nodeName() == "LogicalQueryStage":
            plan = plan.logicalPlan()
        return with_inputs(self._catalyst, plan, self._inlined)

    def _composed(self, steps: Sequence[Step]) -> list[Node]:
        """The nodes of steps, each over its inputs."""
        found: list[Node] = []
        for step in steps:
            found.append(self._catalyst.with_children(step.node, [found[i] for i in step.inputs]) if step.inputs else step.node)
        return found

    def _ids(self, node: Node | Physical) -> tuple[int, ...]:
        """Those of the columns that a node gives."""
        return tuple(int(column.exprId().id()) for column in self._catalyst.items(node.output()))

    def _name(self, relation: Node) -> tuple[int, ...]:
        """One RDD may be the rows of several nodes, and a node may have the columns of what it is made of."""
        return int(relation.rdd().id()), *self._ids(relation)

    def _partitioned(self, rows: Physical, node: Node) -> dict[str, Any]:
        """How rows are put in partitions, so that they are not shuffled again where that is asked of them; nothing if it is not known."""
        c, kept = self._catalyst, rows.outputPartitioning()
        kind = _kind(kept)
        hashed = kept if kind == "HashPartitioning" else getattr(kept, "from")() if kind == "CoalescedHashPartitioning" else None
        # Versions of Spark that have no coalesced partitioning claim of what they coalesced that it is hashed into so many partitions.
        if hashed is None or (kind == "HashPartitioning" and _kind(rows) != "ShuffleQueryStageExec"):
            return {}
        columns = {own.exprId().id(): column for own, column in zip(c.items(rows.output()), c.items(node.output()), strict=True)}
        keys: list[Expr] = c.expressions(hashed)
        if not all(key.nodeName() == "AttributeReference" and key.exprId().id() in columns for key in keys):
            return {}
        hashed = c.with_arguments(hashed, {"expressions": c.seq([columns[key.exprId().id()] for key in keys])})
        return {"outputPartitioning": hashed if kind == "HashPartitioning" else c.with_arguments(kept, {"from": hashed})}


def _kind(node: Physical) -> str:
    return str(node.getClass().getSimpleName())


def _is_once(node: Physical) -> bool:
    """Whether a node reads what was written once, by its keys. A join reads a large partition in parts, and the other side once for each of them."""
    return _kind(node) != _READ or bool(node.isCoalescedRead())


def _ends(written: Physical) -> bool:
    """Whether what a stage wrote are the groups of an aggregate that another stage had begun."""
    node = written.plan()
    while (kind := _kind(node)) in ("ShuffleExchangeExec", "ReusedExchangeExec", *_AROUND):
        node = node.child()
    return bool(kind.endswith("AggregateExec") and node.requiredChildDistributionExpressions().isDefined())
