"""Finished: what stages of a query had computed wholly when it failed. Nothing crashed there, and Spark still has the rows that they wrote."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from py4j.protocol import Py4JError

from bigdebug.spark.sql.catalyst import Catalyst
from bigdebug.spark.sql.expressions import Expr, Node
from bigdebug.spark.sql.rewriting import with_inputs
from bigdebug.spark.sql.walk import Step, steps_of

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
    """A stage that finished: what gives its rows, if anything does, and the node that these are of; else the nodes below that one had all been computed."""

    of: Node
    rows: Physical | None
    whole: bool


class Finished:
    """Of the plan that a query ran by, if it is known, the nodes of ``steps`` that finished."""

    def __init__(self, catalyst: Catalyst, executed: Physical | None, steps: Sequence[Step]) -> None:
        self._catalyst = catalyst
        self._executed = executed
        self._steps = steps
        self._originals: dict[tuple[int, ...], Node] = {}
        """What rows stand for, by the ids of their columns."""

    @cached_property
    def _stages(self) -> dict[int, _Stage]:
        """By the number of the node that the stage's rows are of."""
        try:
            return self._found()
        except Py4JError:  # then all is looked at
            return {}

    def _found(self) -> dict[int, _Stage]:
        stages = [] if self._executed is None else [*self._below(self._executed, [])]
        nodes = self._composed(self._steps) if stages else []
        found: dict[int, _Stage] = {}
        for stage in stages:
            wanted = self._composed(steps_of(self._catalyst, stage.of))[-1]
            found |= {number: stage for number, node in enumerate(nodes) if node.nodeName() == wanted.nodeName() and node.sameResult(wanted)}
        return found

    @cached_property
    def _quiet(self) -> set[int]:
        quiet: set[int] = set()
        for number, stage in self._stages.items():
            left = [number] if stage.whole else [*self._steps[number].inputs]
            while left:
                quiet.add(step := left.pop())
                left += self._steps[step].inputs
        return quiet

    def __contains__(self, number: int) -> bool:
        """Whether nothing crashed in a node, by its number."""
        return number in self._quiet

    def rows(self, number: int, node: Node) -> Node:
        """The rows of a node as Spark has them, in its place; itself if they are not there. Costs no job."""
        stage = self._stages.get(number)
        if stage is None or stage.rows is None:
            return node
        c = self._catalyst
        rdd = stage.rows.execute()
        made = c.jsession.internalCreateDataFrame(rdd, node.schema(), False).queryExecution().analyzed()
        self._originals[self._ids(node)] = node
        return c.with_arguments(made, {"output": node.output()} | self._partitioned(stage.rows, node))

    def original(self, plan: Node) -> Node:
        """A plan of rows as Spark has them, over the sources that they were made of."""
        if not self._originals:
            return plan
        if plan.nodeName() == "LogicalRDD":
            return self._originals.get(self._ids(plan), plan)
        return with_inputs(self._catalyst, plan, self.original)

    def _below(self, node: Physical, above: list[Physical]) -> Iterator[_Stage]:
        """The stages that finished, of these the last ones."""
        kind = _kind(node)
        if kind.endswith("QueryStageExec") and node.isMaterialized() and (meant := self._meant(node)) is not None:
            if kind == "ShuffleQueryStageExec":
                yield self._stage(node, meant, above[::-1])
                return
            if kind == "BroadcastQueryStageExec":  # these rows are in the driver; what they were made of may have been shuffled
                yield _Stage(self._whole(meant), None, meant.nodeName() in _WRITTEN)
        if kind == "AdaptiveSparkPlanExec":
            below = [node.executedPlan()]
        else:
            below = [node.plan()] if kind.endswith("QueryStageExec") else self._catalyst.children(node)
        for each in below:
            yield from self._below(each, [*above, node])

    def _stage(self, written: Physical, meant: Node, above: Sequence[Physical]) -> _Stage:
        """A stage that wrote rows for what is ``above`` it, from the next node to the root."""
        of = self._whole(meant)
        ending = [node for node in above if node.children().length() and (other := self._meant(node)) is not None and other.equals(meant)]
        if ending:  # what the stage computed in part
            path = above[: above.index(ending[-1]) + 1]
            certain = all(node.children().length() == 1 and not _is_rearranged(node) for node in path) and self._ids(ending[-1]) == self._ids(of)
            return _Stage(of, ending[-1] if certain else None, certain)
        reading = next((node for node in above if _kind(node) not in _AROUND), written)
        rows = reading if _kind(reading) == _READ and not _is_rearranged(reading) else written
        whole = (meant.nodeName() in _WRITTEN or _ends(written)) and self._ids(written) == self._ids(of)
        return _Stage(of, rows if whole else None, whole)

    def _meant(self, node: Physical) -> Node | None:
        """The node of the query that one is of which executes it."""
        link = node.logicalLink()
        found = link.get() if link.isDefined() else None
        while found is not None and found.nodeName() == "LogicalQueryStage":
            found = found.logicalPlan()
        return found

    def _whole(self, plan: Node) -> Node:
        """A plan with the nodes in it that stages had taken the place of."""
        while plan.nodeName() == "LogicalQueryStage":
            plan = plan.logicalPlan()
        return with_inputs(self._catalyst, plan, self._whole)

    def _ids(self, node: Node | Physical) -> tuple[int, ...]:
        """Those of the columns that a node gives."""
        return tuple(int(column.exprId().id()) for column in self._catalyst.items(node.output()))

    def _composed(self, steps: Sequence[Step]) -> list[Node]:
        """The nodes of steps, each over its inputs."""
        found: list[Node] = []
        for step in steps:
            found.append(self._catalyst.with_children(step.node, [found[i] for i in step.inputs]) if step.inputs else step.node)
        return found

    def _partitioned(self, rows: Physical, node: Node) -> dict[str, Any]:
        """How rows are put in partitions, so that they are not shuffled again where that is asked of them; nothing if it is not known."""
        c, kept = self._catalyst, rows.outputPartitioning()
        kind = _kind(kept)
        hashed = kept if kind == "HashPartitioning" else getattr(kept, "from")() if kind == "CoalescedHashPartitioning" else None
        if hashed is None or (kind == "HashPartitioning" and _kind(rows) != "ShuffleQueryStageExec"):
            return {}
        columns = {own.exprId().id(): column for own, column in zip(c.items(rows.output()), c.items(node.output()), strict=True)}
        keys: list[Expr] = c.items(hashed.expressions())
        if not all(key.nodeName() == "AttributeReference" and key.exprId().id() in columns for key in keys):
            return {}
        hashed = c.with_arguments(hashed, {"expressions": c.seq([columns[key.exprId().id()] for key in keys])})
        return {"outputPartitioning": hashed if kind == "HashPartitioning" else c.with_arguments(kept, {"from": hashed})}


def _kind(node: Physical) -> str:
    return str(node.getClass().getSimpleName())


def _is_rearranged(node: Physical) -> bool:
    """Whether a node does not read what a stage wrote in the order of its keys, and once: of a join that reads one side in parts, it reads the other so many times."""
    return _kind(node) == _READ and not node.isCoalescedRead()


def _ends(written: Physical) -> bool:
    """Whether what a stage wrote are the groups of an aggregate that another stage had begun."""
    node = written.plan()
    while _kind(node) in ("ShuffleExchangeExec", *_AROUND):
        node = node.children().apply(0)
    return bool(node.nodeName().endswith("Aggregate") and node.requiredChildDistributionExpressions().isDefined())
