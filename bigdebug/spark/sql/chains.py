"""Chains: operators behind one another that one pass can look at, and the rows of what is below them on which any of them throws."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import or_

from pyspark.sql import functions as F

from bigdebug.agents.guards.code import DOUBTFUL
from bigdebug.spark.sql import code
from bigdebug.spark.sql.calls import functions_of
from bigdebug.spark.sql.catalyst import Catalyst
from bigdebug.spark.sql.code import Guarding
from bigdebug.spark.sql.expressions import Expr, Node
from bigdebug.spark.sql.sizes import Sizes, throwing_or_large
from bigdebug.spark.sql.trials import tamed, trials
from bigdebug.spark.sql.walk import Step

_PASSING = ("Project", "Filter")
"""Nodes that give a row for each of theirs, or none."""


def chain(catalyst: Catalyst, steps: Iterable[Step]) -> list[Node]:
    """The first of some steps of a plan, which follow one another, that one pass can look at; none where that gains nothing."""
    nodes: list[Node] = []
    throwing: list[bool] = []
    for step in steps:
        node = step.node
        functions = functions_of(catalyst, node)
        if len(step.inputs) != 1 or step.asked or not node.deterministic() or (functions and not _calls_by_row(catalyst, node, functions)):
            break
        nodes.append(node)
        throwing.append(bool(functions) or any(True for _ in trials(catalyst, node)))
        if not throwing[0] or functions or node.nodeName() not in _PASSING:
            break
    last = max((number for number, throws in enumerate(throwing) if throws), default=0)
    return nodes[: last + 1] if sum(throwing) > 1 else []


def _calls_by_row(catalyst: Catalyst, node: Node, functions: Sequence[Expr]) -> bool:
    return bool(node.nodeName() == "Project") and all(map(code.is_of_row, functions))


def throwing(catalyst: Catalyst, below: Node, nodes: Sequence[Node], sizes: Sizes) -> Node:
    """The rows of ``below`` on which some of the nodes throw, or compute numbers that are not small; in the last column whether a function crashes
    where nothing else had thrown.
    """
    c = catalyst
    own = c.items(below.output())
    kept = [c.alias(column, "kept") for column in own]  # as they are: a projection may give a column another value
    hit = c.alias(c.literal(False, "boolean"), "hit")
    rows, kept, hit = c.extended(below, [*kept, hit]), [column.toAttribute() for column in kept], hit.toAttribute()
    told = F.lit(False)
    for node in nodes:
        asked = sizes.asked(node)
        sized = [each for each in asked if not c.runs_code(each) and not c.asks_plan(each)]
        for trial in trials(c, c.with_children(node, [rows])):
            thrown = c.column(hit) | throwing_or_large(c, trial.expressions, sized)
            rows = c.plan(c.frame(rows).select(*map(c.column, [*own, *kept]), thrown.alias("hit")))
            hit = c.items(rows.output())[-1]
        if functions := functions_of(c, node):
            how = Guarding(sized=tuple(function for function in asked if code.tells_sizes(function)), doubting=True)
            rows = c.extended(rows, [c.alias(code.guarded(c, function, how), "told") for function in functions])
            said = list(map(c.column, c.items(rows.output())[-len(functions):]))
            told = ~c.column(hit) & reduce(or_, [F.coalesce(F.length(mark) > len(DOUBTFUL), F.lit(False)) for mark in said])
            thrown = c.column(hit) | reduce(or_, [mark.isNotNull() for mark in said])
            rows = c.plan(c.frame(rows).select(*map(c.column, kept), told.alias("told"), thrown.alias("hit")))
            *_, crashed, hit = c.items(rows.output())
            told = c.column(crashed)
        elif node.nodeName() == "Filter":
            rows = c.filter(c.one_holds(tamed(c, node.condition()), hit), rows)
        elif node.nodeName() == "Project":
            rows = c.project([*(tamed(c, column) for column in c.items(node.projectList())), *kept, hit], rows)
            own = c.items(node.output())
    columns = [c.renamed(known, column) for known, column in zip(kept, c.items(below.output()), strict=True)]
    some = c.plan(c.frame(c.filter(hit, rows)).select(*map(c.column, kept), told.alias("told")))
    return c.project([*columns, c.items(some.output())[-1]], some)
