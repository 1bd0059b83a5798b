"""Crashing: the rows that the Python functions of a node of a plan crash on, found by guards in their place, and the node without them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from pyspark.sql import Row

from bigdebug.agents.guards.code import DOUBTFUL, LARGE, unpacked
from bigdebug.spark.collector import waiting
from bigdebug.spark.sql.crashes.crashed import Crashed, Crashing
from bigdebug.spark.sql.crashes.together import of_aggregates, of_groups
from bigdebug.spark.sql.crashes.waves import MOST, Waves
from bigdebug.spark.sql.plans import code, guarding
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.expressions import Expr, Node
from bigdebug.spark.sql.plans.guarding import Guarding


class Said(NamedTuple):
    """Rows, and what guards tell of each, which is in so many ``columns`` of theirs, the last ones, too."""

    rows: list[tuple[Row, tuple[bytes, ...]]]
    columns: int


def crashing(waves: Waves, node: Node, functions: Sequence[Expr], how: Guarding) -> Iterator[Crashing] | None:
    """What the Python functions of a node crash on, and the node without it; None if it is not known how to guard them."""
    looking = _LOOKING.get(node.nodeName())
    if looking is None or not all(map(code.is_known, functions)):
        return None
    return looking(waves, node, functions, how)


def _of_rows(waves: Waves, node: Node, functions: Sequence[Expr], how: Guarding) -> Iterator[Crashing]:
    c = waves.catalyst
    guards = [guarding.guarded(c, function, how._replace(sized=())) for function in functions]
    asking = [guarding.guarded(c, function, how._replace(doubting=not how.strict)) for function in functions]
    rows, large = 0, False
    for said in _said(waves, node, asking):
        told = {mark for _, marks in said.rows for mark in marks}
        if DOUBTFUL in told:
            yield Crashing([], anew=True)
            yield from _of_rows(waves.everywhere, node, functions, how._replace(strict=True))
            return
        rows, large = rows + len(said.rows), large or LARGE in told
        if large and rows > MOST:
            break
        yield Crashing(_crashed(c, node, said))
    if large and rows > MOST:
        yield Crashing([], anew=True)
        yield from (Crashing(_crashed(c, node, said)) for said in _said(waves, node, guards))
    yield Crashing([], _without(c, node, guards), () if large or rows > MOST else how.sized)


def _of_frames(waves: Waves, node: Node, functions: Sequence[Expr], how: Guarding) -> Iterator[Crashing]:
    c = waves.catalyst
    columns = c.items(c.children(node)[0].output())
    guards = [guarding.guarded_frames(c, functions[0], columns, how)]
    yield from (Crashing(_crashed(c, node, said)) for said in _said(waves, node, guards))
    yield Crashing([], _without(c, node, guards))


def _said(waves: Waves, node: Node, guards: Sequence[Expr]) -> Iterator[Said]:
    """What guards tell of the rows of a node's only input."""
    c = waves.catalyst
    columns = [c.alias(guard, "told") for guard in guards]
    (below,) = c.children(node)
    return _marked(waves, c.extended(below, columns), [column.toAttribute() for column in columns])


def _without(catalyst: Catalyst, node: Node, guards: Sequence[Expr]) -> Node:
    """The node over the rows of its only input of which guards tell nothing."""
    (below,) = catalyst.children(node)
    return catalyst.with_children(node, [catalyst.filter(catalyst.all_hold([catalyst.is_null(guard) for guard in guards]), below)])


def _of_batches(waves: Waves, node: Node, functions: Sequence[Expr], how: Guarding) -> Iterator[Crashing]:
    c = waves.catalyst
    (below,) = c.children(node)
    columns = c.items(below.output())
    given = [*(c.alias(column, column.name()).toAttribute() for column in columns), c.alias(c.null("binary"), "told").toAttribute()]
    frame = c.frame(below)
    guard = guarding.guarded_batches(c, functions[0], columns, frame.schema.add("told", "binary"), how)
    told = c.with_arguments(node, {"functionExpr": guard, "output": c.seq(given)})
    told = c.project([*(c.renamed(new, old) for new, old in zip(given, columns)), given[-1]], told)
    fine = c.project(columns, c.filter(c.is_null(given[-1]), told))
    yield from (Crashing(_crashed(c, node, said)) for said in _marked(waves, told, given[-1:]))
    yield Crashing([], c.with_children(node, [fine]))


def _marked(waves: Waves, told: Node, marks: Sequence[Expr]) -> Iterator[Said]:
    """The rows that something is told of, in the last columns, and what that is."""
    c = waves.catalyst
    some = c.filter(c.negated(c.all_hold([c.is_null(mark) for mark in marks])), told)
    some = c.project([*c.items(some.output())[:-len(marks)], *(c.renamed(c.hexed(mark), mark) for mark in marks)], some)
    return (_read(rows, len(marks)) for rows in waves.rows(some))


def _read(rows: Sequence[Row], columns: int) -> Said:
    packed = _Packed()
    with waiting():
        return Said([(row, tuple([packed[mark] for mark in tuple(row)[-columns:] if mark is not None])) for row in rows], columns)


class _Packed(dict[str, bytes]):
    """The bytes of hexadecimal texts: PySpark reads bytes in three times the time that it takes for text."""

    def __missing__(self, text: str) -> bytes:
        self[text] = bytes.fromhex(text)
        return self[text]


def _crashed(catalyst: Catalyst, node: Node, said: Said) -> list[Crashed]:
    """The rows of a node's only input on which its functions crashed."""
    (below,) = catalyst.children(node)
    told = unpacked(mark for _, marks in said.rows for mark in marks)
    with waiting():
        known = [(row, next(told[mark] for mark in marks if mark in told)) for row, marks in said.rows if not told.keys().isdisjoint(marks)]
        return [Crashed([row] if what.together else [], what, below, rowwise=what.together == 1, marks=said.columns) for row, what in known]


def _of_tables(waves: Waves, node: Node, functions: Sequence[Expr], how: Guarding) -> Iterator[Crashing]:
    """Of table functions: each row of theirs comes with the row that it was made of."""
    c = waves.catalyst
    mark = c.alias(c.null("binary"), "told").toAttribute()
    telling = guarding.table_function(c, functions[0], True, how)
    told = c.with_arguments(node, {"generator": telling, "unrequiredChildIndex": c.seq([]), "generatorOutput": c.seq([mark])})
    yield from (Crashing(_crashed(c, node, said)) for said in _marked(waves, told, [mark]))
    yield Crashing([], c.with_arguments(node, {"generator": guarding.table_function(c, functions[0], False, how)}))


_LOOKING: dict[str, Callable[[Waves, Node, Sequence[Expr], Guarding], Iterator[Crashing]]] = {
    "Project": _of_rows, "MapInPandas": _of_frames, "MapInArrow": _of_batches, "PythonMapInArrow": _of_batches,
    "FlatMapGroupsInPandas": of_groups, "FlatMapGroupsInArrow": of_groups,
    "FlatMapCoGroupsInPandas": of_groups, "FlatMapCoGroupsInArrow": of_groups,
    "Generate": _of_tables, "Aggregate": of_aggregates, "Window": of_aggregates,
}
