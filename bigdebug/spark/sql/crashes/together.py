"""Together: what functions of many rows crash on, those of groups, aggregates and windows. What they tell of rows comes back with their names."""

from __future__ import annotations

import pickle
from collections import defaultdict
from collections.abc import Generator, Iterator, Mapping, Sequence
from itertools import islice

from pyspark.sql import Row

from bigdebug.agents.guards.code import Told
from bigdebug.spark.sql.crashes.crashed import Crashed, Crashing
from bigdebug.spark.sql.crashes.named import Named
from bigdebug.spark.sql.crashes.waves import MOST, Waves
from bigdebug.spark.sql.plans import code, guarding
from bigdebug.spark.sql.plans.calls import functions_in
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.expressions import Expr, Node
from bigdebug.spark.sql.plans.guarding import Guarding
from bigdebug.spark.sql.plans.rewriting import from_below

Names = tuple[tuple[int, int], ...]
"""Of rows on which a function crashed together, the last of them in flight."""

Tellings = Mapping[tuple[int, Names], Told]
"""What is told of the rows of an input, by its number and their names."""


def of_groups(waves: Waves, node: Node, functions: Sequence[Expr], how: Guarding) -> Iterator[Crashing]:
    c = waves.catalyst
    inputs = [Named.of(c, below, keys) for below, keys in zip(c.children(node), _keys(node), strict=True)]
    names = [name for each in inputs for name in each.names]
    mark = c.alias(c.null("binary"), "told").toAttribute()
    guard = guarding.guarded_groups(c, functions[0], names, len(inputs), how)
    told = c.with_arguments(c.with_children(node, [each.plan for each in inputs]), {"functionExpr": guard, "output": c.seq([mark])})
    names_of = yield from _named(waves, inputs, told, [mark])
    if names_of is None:
        return
    fine = [c.project(each.bare, each.without(c, gone)) for each, gone in zip(inputs, names_of, strict=True)]
    yield Crashing([], c.with_arguments(c.with_children(node, fine), {"functionExpr": guarding.lenient_groups(c, functions[0], len(inputs), how)}))


def _keys(node: Node) -> list[int]:
    """How many of the first columns of each input of a function of groups are their key; what the function is given comes after these."""
    if node.nodeName().startswith("FlatMapCoGroups"):
        return [node.leftGroupingLen(), node.rightGroupingLen()]
    return [node.groupingAttributes().length()]


def of_aggregates(waves: Waves, node: Node, functions: Sequence[Expr], how: Guarding) -> Iterator[Crashing]:
    """Of an aggregate, or of a window: of what their functions of many rows are given."""
    c = waves.catalyst
    below = Named.of(c, c.children(node)[0])
    over = c.with_children(node, [below.plan])
    place = "aggregateExpressions" if node.nodeName() == "Aggregate" else "windowExpressions"
    columns = c.items(getattr(node, place)())

    def guarded(part: Expr) -> Expr:
        if part.nodeName() == "AggregateExpression":
            return c.anew(part)
        return guarding.guarded_aggregate(c, part, below.names, how) if code.is_function(c, part) else part

    def lenient(part: Expr) -> Expr:
        return guarding.lenient_aggregate(c, part, how) if code.is_function(c, part) else part

    marks = [c.alias(from_below(c, value, guarded), "told") for column in columns for value in _values(c, column)]
    attributes = [mark.toAttribute() for mark in marks]
    names_of = yield from _named(waves, [below], c.with_arguments(over, {place: c.seq(marks)}), attributes, repeated=node.nodeName() == "Window")
    if names_of is None:
        return
    (names,) = names_of
    over = c.with_children(node, [below.without(c, names)])
    both = c.with_arguments(over, {place: c.seq([*(from_below(c, column, lenient) for column in columns), *marks])})
    fine = c.filter(c.all_hold([c.is_null(mark) for mark in attributes]), both)
    yield Crashing([], c.project(c.items(node.output()), fine))


def _values(catalyst: Catalyst, expression: Expr) -> Iterator[Expr]:
    """The parts of an expression that are values of Python functions of many rows."""
    if expression.nodeName() in ("AggregateExpression", "WindowExpression") or code.is_function(catalyst, expression):
        if functions_in(catalyst, [expression]):
            yield expression
    else:
        for part in catalyst.children(expression):
            yield from _values(catalyst, part)


def _named(
    waves: Waves, inputs: Sequence[Named], told: Node, marks: Sequence[Expr], repeated: bool = False,
) -> Generator[Crashing, None, list[set[tuple[int, int]]] | None]:
    """What is told of rows of the inputs by their names; gives the names, for each input, of those that crashed by themselves, if not too many do.

    It is ``repeated`` if each row of a group tells the same. Rows are looked up twice at most: the first ones that crashed, and all others.
    """
    c = waves.catalyst
    crashed = c.filter(c.negated(c.all_hold([c.is_null(mark) for mark in marks])), c.project(marks, told))
    known: dict[tuple[int, Names], Told] = {}
    first: Tellings = {}
    for rows in waves.rows(crashed, different=repeated):
        said = [telling for row in rows for each in row if each is not None for telling in pickle.loads(bytes(each))]
        known |= {(side, tuple(names)): Told.unpacked(packed) for side, names, packed in said}
        if known and not first:
            first = dict(known)
            yield Crashing(_looked_up(c, inputs, first))
        else:
            yield Crashing([])
        if len(known) > MOST:
            break
    yield Crashing(_looked_up(c, inputs, {key: what for key, what in known.items() if key not in first}))
    if len(known) > MOST:
        return None
    return [{names[0] for at, names in known if at == side and len(names) == 1} for side in range(len(inputs))]


def _looked_up(catalyst: Catalyst, inputs: Sequence[Named], tellings: Tellings) -> list[Crashed]:
    """The rows that something is told of; not all of them, if they are more than are told of an operator."""
    found = []
    for side, source in enumerate(inputs):
        own = {names: what for (at, names), what in islice(tellings.items(), MOST + 1) if at == side}
        rows: defaultdict[tuple[int, int], list[Row]] = defaultdict(list)
        for name, row in source.having(catalyst, {name for names in own for name in names}) if own else ():
            rows[name].append(row)
        for names, what in own.items():
            others = [row for name in names[:-1] for row in rows[name][:1]]
            last = rows[names[-1]] if len(names) == 1 else rows[names[-1]][:1]
            where, rowwise = source.where(catalyst, names), len(names) == 1
            found += [Crashed([*others, row], what, source.plan, where, rowwise, side, not source.keys) for row in last]
    return found
