"""Crashing: the rows that the Python functions of a node of a plan crash on, found by guards in their place, and the node without them."""

from __future__ import annotations

import pickle
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

from pyspark.sql import Row

from bigdebug.agents.guards.code import DOUBTFUL, LARGE, Told
from bigdebug.spark.collector import waiting
from bigdebug.spark.sql import code
from bigdebug.spark.sql.actions import unheard
from bigdebug.spark.sql.catalyst import Catalyst
from bigdebug.spark.sql.code import Guarding
from bigdebug.spark.sql.expressions import Expr, Node
from bigdebug.spark.sql.named import Named, cut
from bigdebug.spark.sql.rewriting import from_below

MOST = 10_000
"""Culprits of one operator that are kept in full."""


class Crashed(NamedTuple):
    """Rows of a plan that a function crashed on together, the last of them in flight, and what is told of that. ``where`` tells them by value."""

    rows: list[Row]
    told: Told
    plan: Node
    where: Any
    rowwise: bool = True
    """Whether the node goes on without that row as with any other."""
    side: int = 0
    """In which of the node's inputs the row is."""
    whole: bool = True
    """Whether it is all of a row there."""


Said = list[tuple[Row, tuple[bytes, ...]]]
"""Rows, and what guards tell of each."""


class Crashing(NamedTuple):
    """What was found at a node, and the node without it, if that can be told apart."""

    found: list[Crashed]
    clean: Node | None
    small: Sequence[Expr] = ()
    """Those of the functions of which that was asked, if they gave small numbers alone."""


def crashing(catalyst: Catalyst, node: Node, functions: Sequence[Expr], how: Guarding) -> Crashing | None:
    """What the Python functions of a node crash on, and the node without it; None if it is not known how to guard them."""
    looking = _LOOKING.get(node.nodeName())
    if looking is None or not all(map(code.is_known, functions)):
        return None
    return looking(catalyst, node, functions, how)


def functions_of(catalyst: Catalyst, node: Node) -> list[Expr]:
    """The Python functions that a node calls, but for those that others are called on."""
    return _functions_in(catalyst, catalyst.items(node.expressions()))


def _functions_in(catalyst: Catalyst, expressions: Sequence[Expr]) -> list[Expr]:
    todo, found = [*expressions], []
    while todo:
        expression = todo.pop(0)
        if code.is_function(catalyst, expression):
            found.append(expression)
        else:
            todo += catalyst.children(expression)
    return found


def _of_rows(catalyst: Catalyst, node: Node, functions: Sequence[Expr], how: Guarding) -> Crashing:
    asked = tuple(function for function in how.sized if code.tells_sizes(function))
    guards = [code.guarded(catalyst, function, how._replace(sized=())) for function in functions]
    asking = [code.guarded(catalyst, function, how._replace(sized=asked, doubting=not how.strict)) for function in functions]
    said = _said(catalyst, node, asking)
    told = {mark for _, marks in said for mark in marks}
    if DOUBTFUL in told:
        return _of_rows(catalyst, node, functions, how._replace(strict=True))
    if LARGE in told and len(said) > MOST:
        said = _said(catalyst, node, guards)
    small = () if LARGE in told or len(said) > MOST else asked
    return Crashing(_crashed(catalyst, node, said), _without(catalyst, node, guards), small)


def _of_frames(catalyst: Catalyst, node: Node, functions: Sequence[Expr], how: Guarding) -> Crashing:
    columns = catalyst.items(catalyst.children(node)[0].output())
    guards = [code.guarded_frames(catalyst, functions[0], columns, how)]
    return Crashing(_crashed(catalyst, node, _said(catalyst, node, guards)), _without(catalyst, node, guards))


def _said(catalyst: Catalyst, node: Node, guards: Sequence[Expr]) -> Said:
    """What guards tell of the rows of a node's only input."""
    columns = [catalyst.alias(guard, "told") for guard in guards]
    (below,) = catalyst.children(node)
    return _marked(catalyst, catalyst.extended(below, columns), [column.toAttribute() for column in columns])


def _without(catalyst: Catalyst, node: Node, guards: Sequence[Expr]) -> Node:
    """The node over the rows of its only input of which guards tell nothing."""
    (below,) = catalyst.children(node)
    return catalyst.with_children(node, [catalyst.filter(catalyst.all_hold([catalyst.is_null(guard) for guard in guards]), below)])


def _of_batches(catalyst: Catalyst, node: Node, functions: Sequence[Expr], how: Guarding) -> Crashing:
    c = catalyst
    (below,) = c.children(node)
    columns = c.items(below.output())
    given = [*(c.alias(column, column.name()).toAttribute() for column in columns), c.alias(c.null("binary"), "told").toAttribute()]
    frame = c.frame(below)
    guard = code.guarded_batches(c, functions[0], columns, frame.schema.add("told", "binary"), how)
    told = c.with_arguments(node, {"functionExpr": guard, "output": c.seq(given)})
    told = c.project([*(c.renamed(new, old) for new, old in zip(given, columns)), given[-1]], told)
    fine = c.project(columns, c.filter(c.is_null(given[-1]), told))
    return Crashing(_crashed(c, node, _marked(c, told, given[-1:])), c.with_children(node, [fine]))


def _marked(catalyst: Catalyst, told: Node, marks: Sequence[Expr]) -> Said:
    """The rows that something is told of, in the last columns, without these, and what that is."""
    c = catalyst
    some = c.filter(c.negated(c.all_hold([c.is_null(mark) for mark in marks])), told)
    rows = unheard(c.frame(some).limit(MOST + 1), "collect")
    with waiting():
        return [(row, tuple(bytes(mark) for mark in said if mark is not None)) for row, said in cut(rows, -len(marks))]


def _crashed(catalyst: Catalyst, node: Node, said: Said) -> list[Crashed]:
    """The rows of a node's only input on which its functions crashed."""
    (below,) = catalyst.children(node)
    told = {mark: Told.unpacked(mark) for mark in {mark for _, marks in said for mark in marks} - {LARGE}}
    with waiting():
        known = [(row, next(told[mark] for mark in marks if mark in told)) for row, marks in said if not told.keys().isdisjoint(marks)]
        return [Crashed([row] if what.together else [], what, below, row, rowwise=what.together == 1) for row, what in known]


def _of_groups(catalyst: Catalyst, node: Node, functions: Sequence[Expr], how: Guarding) -> Crashing:
    c = catalyst
    inputs = [Named.of(c, below, keys) for below, keys in zip(c.children(node), _keys(node), strict=True)]
    names = [name for each in inputs for name in each.names]
    mark = c.alias(c.null("binary"), "told").toAttribute()
    guard = code.guarded_groups(c, functions[0], names, len(inputs), how)
    told = c.with_arguments(c.with_children(node, [each.plan for each in inputs]), {"functionExpr": guard, "output": c.seq([mark])})
    found, names_of = _named(c, inputs, told, [mark])
    if names_of is None:
        return Crashing(found, None)
    fine = [c.project(each.bare, each.without(c, gone)) for each, gone in zip(inputs, names_of, strict=True)]
    return Crashing(found, c.with_arguments(c.with_children(node, fine), {"functionExpr": code.lenient_groups(c, functions[0], len(inputs), how)}))


def _of_tables(catalyst: Catalyst, node: Node, functions: Sequence[Expr], how: Guarding) -> Crashing:
    """Of table functions: each row of theirs comes with the row that it was made of."""
    c = catalyst
    mark = c.alias(c.null("binary"), "told").toAttribute()
    telling = code.table_function(c, functions[0], True, how)
    told = c.with_arguments(node, {"generator": telling, "unrequiredChildIndex": c.seq([]), "generatorOutput": c.seq([mark])})
    return Crashing(_crashed(c, node, _marked(c, told, [mark])), c.with_arguments(node, {"generator": code.table_function(c, functions[0], False, how)}))


def _keys(node: Node) -> list[int]:
    """How many of the first columns of each input of a function of groups are their key; what the function is given comes after these."""
    if node.nodeName().startswith("FlatMapCoGroups"):
        return [node.leftGroupingLen(), node.rightGroupingLen()]
    return [node.groupingAttributes().length()]


def _of_values(catalyst: Catalyst, node: Node, functions: Sequence[Expr], how: Guarding) -> Crashing:
    """Of an aggregate, or of a window: of what their functions of many rows are given."""
    c = catalyst
    below = Named.of(c, c.children(node)[0])
    over = c.with_children(node, [below.plan])
    place = "aggregateExpressions" if node.nodeName() == "Aggregate" else "windowExpressions"
    columns = c.items(getattr(node, place)())

    def guarded(part: Expr) -> Expr:
        if part.nodeName() == "AggregateExpression":
            return c.anew(part)
        return code.guarded_aggregate(c, part, below.names, how) if code.is_function(c, part) else part

    def lenient(part: Expr) -> Expr:
        return code.lenient_aggregate(c, part, how) if code.is_function(c, part) else part

    marks = [c.alias(from_below(c, value, guarded), "told") for column in columns for value in _values(c, column)]
    attributes = [mark.toAttribute() for mark in marks]
    found, names_of = _named(c, [below], c.with_arguments(over, {place: c.seq(marks)}), attributes)
    if names_of is None:
        return Crashing(found, None)
    (names,) = names_of
    over = c.with_children(node, [below.without(c, names)])
    both = c.with_arguments(over, {place: c.seq([*(from_below(c, column, lenient) for column in columns), *marks])})
    fine = c.filter(c.all_hold([c.is_null(mark) for mark in attributes]), both)
    return Crashing(found, c.project(c.items(node.output()), fine))


def _values(catalyst: Catalyst, expression: Expr) -> Iterator[Expr]:
    """The parts of an expression that are values of Python functions of many rows."""
    if expression.nodeName() in ("AggregateExpression", "WindowExpression") or code.is_function(catalyst, expression):
        if _functions_in(catalyst, [expression]):
            yield expression
    else:
        for part in catalyst.children(expression):
            yield from _values(catalyst, part)


def as_written(catalyst: Catalyst, node: Node) -> Node:
    """A node that does nothing but to call functions, as what it was made of; other nodes as they are."""
    c, name = catalyst, node.nodeName()
    if name in ("BatchEvalPython", "ArrowEvalPython"):
        calls = zip(c.items(node.udfs()), c.items(node.resultAttrs()), strict=True)
        return c.extended(c.children(node)[0], [c.renamed(function, column.withName(str(function.sql())[:80])) for function, column in calls])
    if name in ("BatchEvalPythonUDTF", "ArrowEvalPythonUDTF"):
        return c.project(c.items(node.output()), c.generated(node.udtf(), c.items(node.resultAttrs()), c.children(node)[0]))
    return node


def _named(catalyst: Catalyst, inputs: Sequence[Named], told: Node, marks: Sequence[Expr]) -> tuple[list[Crashed], list[set[tuple[int, int]]] | None]:
    """What is told of rows of the inputs by their names; and the names, for each input, of those that crashed by themselves, if not too many do."""
    c = catalyst
    crashed = c.filter(c.negated(c.all_hold([c.is_null(mark) for mark in marks])), c.project(marks, told))
    collected = unheard(c.frame(crashed).distinct(), "collect")
    said = [telling for row in collected for each in row if each is not None for telling in pickle.loads(bytes(each))]
    tellings = dict(islice({(side, tuple(names)): Told.unpacked(packed) for side, names, packed in said}.items(), MOST + 1))
    found = []
    for side, source in enumerate(inputs):
        own = {names: what for (at, names), what in tellings.items() if at == side}
        rows: defaultdict[tuple[int, int], list[Row]] = defaultdict(list)
        for name, row in source.having(catalyst, {name for names in own for name in names}) if own else ():
            rows[name].append(row)
        for names, what in own.items():
            others = [row for name in names[:-1] for row in rows[name][:1]]
            last = rows[names[-1]] if len(names) == 1 else rows[names[-1]][:1]
            where, rowwise = source.where(catalyst, names), len(names) == 1
            found += [Crashed([*others, row], what, source.plan, where, rowwise, side, not source.keys) for row in last]
    if len(tellings) > MOST:
        return found, None
    alone = [{names[0] for at, names in tellings if at == side and len(names) == 1} for side in range(len(inputs))]
    return found, alone


_LOOKING: dict[str, Callable[[Catalyst, Node, Sequence[Expr], Guarding], Crashing]] = {
    "Project": _of_rows, "MapInPandas": _of_frames, "MapInArrow": _of_batches, "PythonMapInArrow": _of_batches,
    "FlatMapGroupsInPandas": _of_groups, "FlatMapGroupsInArrow": _of_groups,
    "FlatMapCoGroupsInPandas": _of_groups, "FlatMapCoGroupsInArrow": _of_groups,
    "Generate": _of_tables, "Aggregate": _of_values, "Window": _of_values,
}
