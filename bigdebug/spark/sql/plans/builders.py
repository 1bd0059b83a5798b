"""Builders: expressions that build maps. What one had put into a map when it threw is in it still when it comes to the next row (Spark's ArrayBasedMapBuilder).

So a row behind one that threw seems to have keys twice, or has entries of the other one. Such an expression is computed by an object of its own here, in
the place of which a fresh copy comes where it throws.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from pyspark import SparkContext

from bigdebug.spark.gateway import remembered
from bigdebug.spark.handles import Handles
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.expressions import Expr

_BUILDERS = ("CreateMap", "MapConcat", "MapFromArrays", "MapFromEntries", "StringToMap", "TransformKeys")
"""All expressions of Spark's that have a builder."""

_ANYTHING, _HELD, _EXPRESSION = "java.lang.Object", "java.util.concurrent.atomic.AtomicReference", "org.apache.spark.sql.catalyst.expressions.Expression"


def builds(catalyst: Catalyst, expression: Expr) -> bool:
    """Whether an expression builds maps, itself or within."""
    return remembered(expression, "builds", lambda: bool(expression.exists(_is_builder(catalyst.spark.sparkContext))))


def mixes(catalyst: Catalyst, expression: Expr) -> bool:
    """Whether an expression builds maps, and cannot be computed by an object of its own: what it draws, or asks of others, would be something else there."""
    return builds(catalyst, expression) and not _is_repeatable(catalyst, expression)


def is_computed(catalyst: Catalyst, expression: Expr) -> Expr:
    """Whether computing an expression does not throw, on a row."""
    return _anew(
        catalyst, expression, lambda as_it_is: remembered(as_it_is, "is_computed", lambda: catalyst.is_computed(as_it_is)),
        lambda: catalyst.is_not_null(_tried(catalyst, catalyst.named([expression]))),
    )


def try_eval(catalyst: Catalyst, expression: Expr) -> Expr:
    """NULL where an expression throws."""
    return _anew(catalyst, expression, catalyst.try_eval, lambda: _tried(catalyst, expression))


def _anew(catalyst: Catalyst, expression: Expr, as_it_is: Callable[[Expr], Expr], fresh: Callable[[], Expr]) -> Expr:
    return fresh() if builds(catalyst, expression) and _is_repeatable(catalyst, expression) else as_it_is(expression)


def _tried(catalyst: Catalyst, expression: Expr) -> Expr:
    """NULL where an expression throws, and then a fresh copy of it comes in the place of the object that computes it. That takes 0.1 ms.

    Each task has an object of its own. Spark is not to know of a part of this without the row in it: it might compute that somewhere else.
    """
    c = catalyst
    columns = c.items(expression.references().toSeq())
    computing = c.bound(expression, columns)
    held = c.object_literal(c.jvm.java.util.concurrent.atomic.AtomicReference(computing.clone()), _HELD)
    value = c.invoked(c.invoked(held, "get", _EXPRESSION), "eval", expression.dataType(), [c.named(columns)])
    copy = c.invoked(c.object_literal(computing, _EXPRESSION), "clone", _EXPRESSION)
    replaced = c.is_not_null(c.invoked(held, "getAndSet", _ANYTHING, [copy]))
    return c.first_known([c.tried(value), c.either(replaced, c.null_of(expression), value)])  # it always was replaced, which Spark does not know


def _is_repeatable(catalyst: Catalyst, expression: Expr) -> bool:
    """Whether a copy of an expression, with nothing but the row, gives the same."""
    return bool(expression.deterministic()) and not catalyst.cannot_compute(expression)


@lru_cache(maxsize=1)
def _is_builder(sc: SparkContext) -> Any:
    """Whether an expression is one that has a builder, as a function of Scala's: one call for all within another."""
    h = Handles(sc)
    anything, text = h.named(_ANYTHING), h.named("java.lang.String")
    names = h.virtual("java.util.HashSet", "contains", h.truth, anything).bindTo(_set_of(sc, _BUILDERS))
    named = h.then(h.virtual(_ANYTHING, "getClass", h.named("java.lang.Class")), h.virtual("java.lang.Class", "getSimpleName", text))
    return h.function("scala.Function1", h.then(named.asType(h.kind(anything, anything)), names).asType(h.kind(anything, anything)))


def _set_of(sc: Any, texts: Sequence[str]) -> Any:
    made = sc._jvm.java.util.HashSet()
    for text in texts:
        made.add(text)
    return made
