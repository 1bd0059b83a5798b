"""Subsets: the plan of a query that runs on many sets of its source records at once, each row with the number of the set that it is of.

At the sources a row comes once for each set that it is in. Above, the set's number is one more key of whatever brings rows together: groups, joins,
windows, limits. So what comes out for a set is what the query gives on the set alone, and a set of no rows gives what the query gives on none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from pyspark.sql import functions as F

from bigdebug.spark.sql.inquiry.triable import Told, scalars
from bigdebug.spark.sql.limits import cut_of
from bigdebug.spark.sql.misses import is_one
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.determinism import sorting
from bigdebug.spark.sql.plans.expressions import Expr, Node
from bigdebug.spark.sql.plans.reading import PlanOperator
from bigdebug.spark.sql.plans.rewriting import from_below, with_expressions

SET, WORDS, PLACE = "__bigdebug_set", "__bigdebug_words", "__bigdebug_candidate"

_IS_IN = f"bit_get(get({WORDS}, CAST(shiftright({PLACE}, 6) AS INT)), CAST({PLACE} & 63 AS INT)) = 1"
"""Whether a candidate is in a set, whose bits are in words of 64."""


class Marked(NamedTuple):
    """A plan with the columns of an operator, one with the number of a row's set, and ``keys`` that say which row of the set it is.

    Keys are the number of a candidate at a source, the group's fingerprint at an aggregate, those of both sides at a join, where a missing one is NULL.
    ``order`` is there within a limit: the number of a row in the limit's order.
    """

    plan: Node
    set: Expr
    keys: tuple[Expr, ...] = ()
    order: Expr | None = None

    @property
    def marks(self) -> list[Expr]:
        """The columns that ride along."""
        return [self.set, *self.keys, *([] if self.order is None else [self.order])]


class Subsets:
    """A query as it runs on sets of candidates.

    ``candidates`` are plans, by source: its columns, and the number of each candidate. ``sets`` is a plan of the columns SET and WORDS, which stand for others.
    """

    def __init__(self, catalyst: Catalyst, root: PlanOperator, candidates: Mapping[int, Node], sets: Node, told: Told) -> None:
        self._catalyst, self._root, self._sets, self._told = catalyst, root, sets, told
        self._leaves = {source: self._in_sets(plan) for source, plan in candidates.items()}
        self._numbered = {sort.id for operator in root if operator.name == "Limit" and (sort := sorting(operator)) is not None}
        self._rows: object = None

    def over(self, rows: object) -> Marked:
        """The plan on some sets, which the JVM holds as rows of ``sets``."""
        self._rows = rows
        return self._marked(self._root)

    def _in_sets(self, candidates: Node) -> Node:
        """The candidates of a source, each once for each set that it is in; in one partition, as Spark knows then, so that nothing is shuffled above."""
        c = self._catalyst
        return c.plan(c.frame(candidates).join(F.broadcast(c.frame(self._sets.newInstance())), F.expr(_IS_IN)).coalesce(1))

    def _marked(self, operator: PlanOperator) -> Marked:
        if operator.id in self._leaves:
            return self._leaf(operator)
        return PROCEDURES[operator.name](self, operator)

    # ---- where rows begin -------------------------------------------------------------------------------------

    def _leaf(self, operator: PlanOperator) -> Marked:
        c, moved = self._catalyst, self._leaves[operator.id]
        [joined] = c.children(moved)
        candidates, hinted = c.children(joined)
        [sets] = c.children(hinted)
        plan = c.with_children(moved, [c.with_children(joined, [candidates, c.with_children(hinted, [c.local(sets, self._rows)])])])
        place, number = candidates.output().last(), sets.output().head()
        return Marked(c.project([*c.items(operator.node.output()), number, place], plan), number, (place,))

    def _each_set(self) -> tuple[Node, Expr]:
        """A row for each set, and the column that numbers it."""
        c, sets = self._catalyst, self._sets.newInstance()
        number = sets.output().head()
        return c.project([number], c.local(sets, self._rows)), number

    def _constant(self, operator: PlanOperator) -> Marked:
        sets, number = self._each_set()
        return Marked(self._catalyst.inner(operator.node, sets, []), number)

    # ---- row by row -------------------------------------------------------------------------------------------

    def _same(self, operator: PlanOperator) -> Marked:
        rows = self._marked(operator.inputs[0])
        return rows._replace(plan=self._catalyst.with_children(operator.node, [rows.plan]))

    def _left_out(self, operator: PlanOperator) -> Marked:
        """What only moves rows between partitions, of which there is one."""
        return self._marked(operator.inputs[0])

    def _filter(self, operator: PlanOperator) -> Marked:
        c = self._catalyst
        node, rows = self._answered(operator, self._marked(operator.inputs[0]))
        plan = c.with_children(node, [rows.plan])
        if node is not operator.node:
            plan = c.project([*c.items(operator.node.output()), *rows.marks], plan)
        return rows._replace(plan=plan)

    def _project(self, operator: PlanOperator) -> Marked:
        node, rows = self._answered(operator, self._marked(operator.inputs[0]))
        return rows._replace(plan=self._catalyst.project([*self._catalyst.items(node.projectList()), *rows.marks], rows.plan))

    def _expand(self, operator: PlanOperator) -> Marked:
        c, rows = self._catalyst, self._marked(operator.inputs[0])
        marks = c.seq(rows.marks)
        projections = [each.concat(marks) for each in c.items(operator.node.projections())]
        return rows._replace(plan=c.changed(operator.node, {0: c.seq(projections), 1: operator.node.output().concat(marks), 2: rows.plan}))

    def _answered(self, operator: PlanOperator, rows: Marked) -> tuple[Node, Marked]:
        """The node with columns in the place of its scalar subqueries, and its rows with these columns: each set has its own value."""
        c, node = self._catalyst, operator.node
        asked = [subquery for subquery in operator.subqueries if subquery.repeats is None]
        for expression, subquery in zip(scalars(c, operator), asked):
            value = self._marked(subquery)
            [column, *_] = c.items(subquery.node.output())
            answer = c.alias(column, "__bigdebug_value")
            other = c.alias(value.set, SET)
            side = c.project([other, answer], value.plan)
            rows = rows._replace(plan=c.inner(rows.plan, side, [c.equal(rows.set, other.toAttribute())]))
            node = with_expressions(c, node, partial(self._replaced, expression, answer.toAttribute()))
        return node, rows

    def _replaced(self, known: Expr, by: Expr, expression: Expr) -> Expr:
        return from_below(self._catalyst, expression, lambda part: by if part.semanticEquals(known) else part)

    # ---- rows together ----------------------------------------------------------------------------------------

    def _aggregate(self, operator: PlanOperator) -> Marked:
        c, node, rows = self._catalyst, operator.node, self._marked(operator.inputs[0])
        keys = self._told.groups[operator.id]
        plan = c.with_arguments(node, {
            "groupingExpressions": node.groupingExpressions().appended(rows.set),
            "aggregateExpressions": node.aggregateExpressions().concat(c.seq([rows.set, *keys])), "child": rows.plan,
        })
        if is_one(operator):
            return self._one_each(operator, plan, rows.set)
        return Marked(plan, rows.set, tuple(key.toAttribute() for key in keys))

    def _one_each(self, operator: PlanOperator, plan: Node, number: Expr) -> Marked:
        """An aggregate of all rows, which gives a row for a set without rows, too."""
        c, nothing = self._catalyst, self._told.of_nothing[operator.id].newInstance()
        sets, each = self._each_set()
        both = c.inner(c.joined("leftouter", sets, plan, [c.equal(each, number)]), nothing, [])
        pairs = zip(c.items(operator.node.output()), c.items(nothing.output()))
        columns = [c.renamed(c.either(c.is_not_null(number), column, empty), column) for column, empty in pairs]
        return Marked(c.project([*columns, each], both), each)

    def _window(self, operator: PlanOperator) -> Marked:
        c, node, rows = self._catalyst, operator.node, self._marked(operator.inputs[0])
        partition, order = [rows.set, *c.items(node.partitionSpec())], c.items(node.orderSpec())
        windows = [(column, column.child()) for column in c.items(node.windowExpressions())]
        made = [
            c.renamed(c.window(window.windowFunction(), partition, order, window.windowSpec().frameSpecification()), column)
            for column, window in windows
        ]
        return rows._replace(plan=c.changed(node, {0: c.seq(made), 1: c.seq(partition), 3: rows.plan}))

    def _sort(self, operator: PlanOperator) -> Marked:
        c, rows = self._catalyst, self._marked(operator.inputs[0])
        if operator.id not in self._numbered:
            return rows._replace(plan=c.with_children(operator.node, [rows.plan]))
        plan, number = self._row_numbers(rows, c.items(operator.node.order()))
        return rows._replace(plan=plan, order=number)

    def _limit(self, operator: PlanOperator) -> Marked:
        c, rows = self._catalyst, self._marked(operator.inputs[0])
        cut = cut_of(operator)
        plan, number = self._row_numbers(rows, [c.ascending(rows.order)])
        at, done = c.column(number), rows._replace(order=None)
        kept = c.plan(c.frame(plan).filter(at > cut.skip if cut.end is None else (at > cut.skip) & (at <= cut.end)))
        return done._replace(plan=c.project([*c.items(operator.node.output()), *done.marks], kept))

    def _row_numbers(self, rows: Marked, order: Sequence[Expr]) -> tuple[Node, Expr]:
        """Rows with their numbers in the order, each set by itself."""
        c = self._catalyst
        number = c.alias(c.window(c.row_number(), [rows.set], order, c.rows_so_far()), "__bigdebug_number")
        return c.plan(c.frame(c.extended(rows.plan, [number]))), number.toAttribute()  # the analyzer makes the window of it

    def _join(self, operator: PlanOperator) -> Marked:
        c, node = self._catalyst, operator.node
        left, right = (self._marked(child) for child in operator.inputs)
        same = c.equal(left.set, right.set)
        condition = c.all_hold([same, node.condition().get()]) if node.condition().isDefined() else same
        plan = c.with_arguments(node, {"left": left.plan, "right": right.plan, "condition": c.some(condition)})
        kind = str(node.joinType().toString()).split("(")[0]
        if kind in ("LeftSemi", "LeftAnti", "ExistenceJoin"):
            return left._replace(plan=plan)
        keys = (*left.keys, *right.keys)
        if kind != "FullOuter":
            return Marked(plan, right.set if kind == "RightOuter" else left.set, keys)
        number = c.alias(c.either(c.is_null(left.set), right.set, left.set), SET)
        return Marked(c.project([*c.items(node.output()), number, *keys], plan), number.toAttribute(), keys)

    def _union(self, operator: PlanOperator) -> Marked:
        """The number of the input is a key, too: what comes from one is no row of another."""
        c = self._catalyst
        inputs = [self._marked(child) for child in operator.inputs]
        plans = []
        for i, (child, rows) in enumerate(zip(operator.inputs, inputs)):
            keys = [c.alias(key if here is rows else c.null("bigint"), "__bigdebug_key") for here in inputs for key in here.keys]
            marks = [c.alias(rows.set, SET), c.alias(c.whole(i), "__bigdebug_input"), *keys]
            plans.append(c.project([*c.items(child.node.output()), *marks], rows.plan))
            if i == 0:
                number, *others = [mark.toAttribute().withNullability(True) for mark in marks]
        return Marked(c.with_children(operator.node, plans), number, tuple(others))


PROCEDURES: dict[str, Callable[[Subsets, PlanOperator], Marked]] = {
    "OneRowRelation": Subsets._constant,
    "EmptyRelation": Subsets._constant,
    "Project": Subsets._project,
    "Filter": Subsets._filter,
    "Generate": Subsets._same,
    "ResolvedHint": Subsets._same,
    "Expand": Subsets._expand,
    "Repartition": Subsets._left_out,
    "RepartitionByExpression": Subsets._left_out,
    "RebalancePartitions": Subsets._left_out,
    "Aggregate": Subsets._aggregate,
    "Window": Subsets._window,
    "Sort": Subsets._sort,
    "Limit": Subsets._limit,
    "Join": Subsets._join,
    "Union": Subsets._union,
}
