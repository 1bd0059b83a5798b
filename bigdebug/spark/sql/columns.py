"""Columns: of which columns of the sources the value of each column of a query is computed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from bigdebug.spark.sql.leaf import Leaf
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.domains import DOMAIN
from bigdebug.spark.sql.plans.expressions import Expr
from bigdebug.spark.sql.plans.reading import PlanOperator

Origins = frozenset[tuple[int, str]]
"""Columns of sources, or of what is taken for one: operator and name."""

_NOWHERE: Mapping[int, Sequence[str]] = MappingProxyType({})

_MADE = {"Project": "projectList", "Aggregate": "aggregateExpressions", "Window": "windowExpressions"}


def column_origins(
    catalyst: Catalyst, root: PlanOperator, leaves: Mapping[int, Leaf], stops: Mapping[int, Sequence[str]] = _NOWHERE,
) -> list[tuple[str, Origins]]:
    """For each column of the result, in order, its name and the columns that its value is computed from.

    ``stops`` are operators below ``root`` that are taken for sources, with what their columns are called, in order: nobody looks behind them. What only decides
    which rows there are (conditions, keys of joins) is not among them. Costs some calls of the JVM for each expression, no job.
    """
    within = list(_within(root, stops))
    here = {operator.id for operator in within}
    shown = {
        a.exprId().id(): frozenset([(leaf.operator, a.name())])
        for leaf in leaves.values() if leaf.view and leaf.operator in here for a in leaf.columns(catalyst)
    }
    return _Columns(catalyst, shown, {stop: names for stop, names in stops.items() if stop != root.id}).of(within)


def _within(root: PlanOperator, stops: Iterable[int]) -> Iterator[PlanOperator]:
    """The operators that a result is made of, from sources or ``stops`` on, itself last."""
    for child in root.parents:
        if child.id in stops:
            yield child
        else:
            yield from _within(child, stops)
    yield root


class _Columns:
    def __init__(self, catalyst: Catalyst, shown: Mapping[int, Origins], stops: Mapping[int, Sequence[str]]) -> None:
        """``shown`` are the columns that names of sources show, by id."""
        self._catalyst = catalyst
        self._shown = shown
        self._stops = stops

    def of(self, operators: Sequence[PlanOperator]) -> list[tuple[str, Origins]]:
        known: dict[int, Origins] = {}
        for operator in operators:
            self._read(operator, known)
        return [(column.name(), known.get(column.exprId().id(), frozenset())) for column in self._output(operators[-1])]

    def _output(self, operator: PlanOperator) -> list[Expr]:
        return self._catalyst.items(operator.node.output())

    def _read(self, operator: PlanOperator, known: dict[int, Origins]) -> None:
        """Note where the columns come from that an operator makes. Inputs, and subqueries, have been read before."""
        c, node, name = self._catalyst, operator.node, operator.name
        asked = [o for s in operator.subqueries for column in self._output(s) for o in known.get(column.exprId().id(), ())]
        if operator.id in self._stops:
            # Also columns that it passes on, by the ids that they had below. One that stands there twice is what it is called first.
            columns = list(zip(self._output(operator), self._stops[operator.id], strict=True))
            known.update({a.exprId().id(): frozenset([(operator.id, name)]) for a, name in reversed(columns)})
        elif operator.name == DOMAIN:
            known.update({a.exprId().id(): self._from([a], known) for a in c.items(node.aggregateExpressions())})
        elif not operator.inputs:
            known.update({a.exprId().id(): frozenset([(operator.id, a.name())]) for a in self._output(operator)})
        elif name in _MADE:
            for column in c.items(getattr(node, _MADE[name])()):
                subqueries = asked if operator.subqueries and c.asks_plan(column) else ()
                value = self._value(column) if name == "Window" else column
                number, origins = column.exprId().id(), self._from([value], known) | frozenset(subqueries)
                known[number] = self._shown.get(number, origins) if column.nodeName() == "Alias" else origins
        elif name == "Generate":
            known.update({a.exprId().id(): self._from([node.generator()], known) for a in c.items(node.generatorOutput())})
        elif name == "Expand":
            rows = [c.items(row) for row in c.items(node.projections())]
            known.update({
                a.exprId().id(): self._from([row[i] for row in rows], known) for i, a in enumerate(self._output(operator))
                if a.exprId().id() not in known or any(not _is(row[i], a) for row in rows)
            })
        elif name == "Union":
            inputs = [self._output(child) for child in operator.inputs]
            made = {
                a.exprId().id(): self._from([columns[i] for columns in inputs], known) for i, a in enumerate(self._output(operator))
            }
            known.update(made)
        else:
            strange = [a for a in self._output(operator) if a.exprId().id() not in known]
            everything = frozenset(o for child in operator.inputs for a in self._output(child) for o in known.get(a.exprId().id(), ()))
            known.update({a.exprId().id(): everything for a in strange})

    def _value(self, column: Expr) -> Expr:
        """What a window's column is made of: the arguments of its function; of one that only counts, what it counts by."""
        function = column.child().windowFunction()
        return column if function.references().isEmpty() else function

    def _from(self, expressions: Iterable[Expr], known: Mapping[int, Origins]) -> Origins:
        found: set[tuple[int, str]] = set()
        for expression in expressions:
            for attribute in self._catalyst.items(expression.references().toSeq()):
                found |= known.get(attribute.exprId().id(), frozenset())
        return frozenset(found)


def _is(expression: Expr, attribute: Expr) -> bool:
    return bool(expression.nodeName() == "AttributeReference" and expression.exprId().id() == attribute.exprId().id())
