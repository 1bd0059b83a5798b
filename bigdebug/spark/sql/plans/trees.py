"""Trees: what is somewhere in Spark's plans and expressions, asked over the gateway."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from bigdebug.spark.gateway import remembered
from bigdebug.spark.sql.plans.expressions import Expr, Expressions, Node

_MANY = tuple(f"org.apache.spark.sql.catalyst.expressions.{name}" for name in (
    "aggregate.AggregateFunction", "WindowFunction", "WindowSpecDefinition", "WindowFrame",
))


class Trees(Expressions):
    """Looks into the trees of one SparkSession. Of patterns that Spark notes of each tree, it is one call of the JVM, 0.1 to 0.3 ms."""

    def asks_clock(self, expression: Expr) -> bool:
        """Whether a current time, date or user is somewhere in an expression."""
        return bool(expression.containsPattern(self._current))

    def runs_code(self, tree: Node | Expr) -> bool:
        """Whether a function of the user is somewhere in a plan, or in an expression."""
        return remembered(tree, "runs_code", lambda: self._runs_code(tree))

    def _runs_code(self, tree: Node | Expr) -> bool:
        functions = ("PYTHON_UDF", "SCALA_UDF")
        return self._has(tree, *functions, "GENERATOR") and (self._has(tree, *functions) or self._calls_table_function(tree))

    def _has(self, tree: Node | Expr, *patterns: str) -> bool:
        """Whether Spark notes of a tree that it has one of these within."""
        if patterns not in self._patterns:
            known = self.jvm.org.apache.spark.sql.catalyst.trees.TreePattern
            self._patterns[patterns] = self.seq(getattr(known, name)() for name in patterns)
        return bool(tree.containsAnyPattern(self._patterns[patterns]))

    @cached_property
    def _patterns(self) -> dict[tuple[str, ...], Any]:
        return {}

    def _calls_table_function(self, tree: Node | Expr) -> bool:
        """Spark has no pattern of its own for those of the user."""
        if self.is_a(tree, "org.apache.spark.sql.catalyst.plans.logical.LogicalPlan"):
            within = [*self.expressions(tree), *self.children(tree)]
        elif self.is_a(tree, "org.apache.spark.sql.catalyst.expressions.PythonUDTF"):
            return True
        else:
            within = [tree.plan()] if self.is_subquery(tree) else self.children(tree)
        return any(map(self.runs_code, within))

    def computes_many(self, expression: Expr) -> bool:
        """Whether an expression is, or has within it, an aggregate, a window's function or a generator: no row alone has its value."""
        return remembered(expression, "computes_many", lambda: self._computes_many(expression))

    def _computes_many(self, expression: Expr) -> bool:
        return self._has(expression, "AGGREGATE_EXPRESSION", "WINDOW_EXPRESSION", "GENERATOR") or any(self.is_a(expression, name) for name in _MANY)

    def is_of(self, expression: Expr, plan: Node) -> bool:
        """Whether all columns that an expression reads are those of a plan."""
        return bool(expression.references().subsetOf(plan.outputSet()))

    def asks_plan(self, expression: Expr) -> bool:
        """Whether a subquery is somewhere in an expression."""
        return self._has(expression, "PLAN_EXPRESSION")

    def asks_membership(self, tree: Node | Expr) -> bool:
        """Whether an IN with a subquery is somewhere in a plan, or in an expression."""
        return bool(tree.containsPattern(self.jvm.org.apache.spark.sql.catalyst.trees.TreePattern.IN_SUBQUERY()))

    def has_windows(self, plan: Node) -> bool:
        """Whether a plan has windows somewhere, also in subqueries."""
        return bool(plan.containsPattern(self.jvm.org.apache.spark.sql.catalyst.trees.TreePattern.WINDOW()))

    def conjuncts(self, condition: Expr) -> list[Expr]:
        """The conditions that AND puts together."""
        if condition.nodeName() != "And":
            return [condition]
        return [part for child in self.children(condition) for part in self.conjuncts(child)]

    def concluded(self, condition: Expr, node: Node, columns: Sequence[Expr]) -> list[Expr]:
        """What Spark concludes from a condition of a filter about some columns alone, if it does."""
        known = self._object("AttributeSet").fromAttributeSets(self.seq([column.references() for column in columns]))
        found = node.extractPredicatesWithinOutputSet(condition, known)
        return [found.get()] if found.isDefined() else []

    def is_asked_of_readers(self, condition: Expr) -> bool:
        """Whether a condition is one that Spark hands to what reads a source."""
        strategy = getattr(getattr(self.jvm.org.apache.spark.sql.execution.datasources, "DataSourceStrategy$"), "MODULE$")
        return bool(strategy.translateFilter(condition, False).isDefined())

    @cached_property
    def _current(self) -> Any:
        return self.jvm.org.apache.spark.sql.catalyst.trees.TreePattern.CURRENT_LIKE()

    def cannot_compute(self, expression: Expr) -> bool:
        """Whether something within an expression has no value by itself: it stands for what a plan makes of it."""
        alone = self.is_a(expression, "org.apache.spark.sql.catalyst.expressions.Unevaluable") and not self.is_a(expression, "org.apache.spark.sql.catalyst.expressions.AttributeReference")
        return alone or any(map(self.cannot_compute, self.children(expression)))

    def is_expression(self, value: Any) -> bool:
        return self.is_a(value, "org.apache.spark.sql.catalyst.expressions.Expression")

    def is_subquery(self, expression: Expr) -> bool:
        """Whether an expression is a subquery itself, of any kind."""
        return self.is_a(expression, "org.apache.spark.sql.catalyst.expressions.SubqueryExpression")
