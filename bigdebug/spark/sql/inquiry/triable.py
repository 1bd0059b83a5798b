"""Triable: which queries can be tried on sets of their source records, and what is told of their operators once, for all trials."""

from __future__ import annotations

from collections.abc import Collection

from bigdebug.errors import LocalizeError
from bigdebug.spark.sql.misses import is_one
from bigdebug.spark.sql.plans.calls import functions_in, functions_of
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.code import is_of_batch
from bigdebug.spark.sql.plans.comparing import group_of
from bigdebug.spark.sql.plans.determinism import sorting
from bigdebug.spark.sql.plans.domains import DOMAIN
from bigdebug.spark.sql.plans.expressions import Expr, Node
from bigdebug.spark.sql.plans.fingerprints import fingerprint
from bigdebug.spark.sql.plans.reading import PlanOperator

_FILE = ("InputFileName", "InputFileBlockStart", "InputFileBlockLength")
"""Expressions that ask for the file that is read, which candidates are not."""

_MADE_OF_SEVERAL = ("Aggregate", "Window", "Join")
"""Operators whose rows change with what they are made of: so may the groups that these are in further on."""


class Told:
    """What is told of the operators of a query once.

    ``groups`` are, by aggregate, two hashes of the group's keys, as columns; ``of_nothing``, by aggregate without keys, what it gives of no rows.
    """

    def __init__(self, catalyst: Catalyst, root: PlanOperator) -> None:
        self._catalyst = catalyst
        self.groups: dict[int, list[Expr]] = {}
        self.of_nothing: dict[int, Node] = {}
        for operator in root:
            if operator.name == "Aggregate":
                one = is_one(operator)
                self.groups[operator.id] = [] if one else fingerprint(catalyst, operator.inputs[0].node, group_of(catalyst, operator))
                if one:
                    self.of_nothing[operator.id] = self._of_nothing(operator)

    def _of_nothing(self, operator: PlanOperator) -> Node:
        c, node = self._catalyst, operator.node
        empty = c.with_arguments(node, {"child": c.local(operator.inputs[0].node, c.seq([]))})
        return c.local(node, c.held(c.frame(empty)))


def scalars(catalyst: Catalyst, operator: PlanOperator) -> list[Expr]:
    """The subqueries in the expressions of an operator, in the order of its subqueries."""
    found: list[Expr] = []
    for expression in catalyst.expressions(operator.node) if operator.subqueries else ():
        _collect(catalyst, expression, found)
    return found


def _collect(catalyst: Catalyst, expression: Expr, found: list[Expr]) -> None:
    if catalyst.is_subquery(expression):
        found.append(expression)
    elif catalyst.asks_plan(expression):
        for part in catalyst.children(expression):
            _collect(catalyst, part, found)


def check_triable(catalyst: Catalyst, root: PlanOperator, known: Collection[str]) -> None:
    """Raise LocalizeError for a query of which several sets of records cannot pass beside one another; ``known`` are the operators that let them."""
    for operator in root:
        if operator.name == DOMAIN:
            raise untried("a subquery is computed for values of the query around it", "Write it as a join with a group for each value.")
        if operator.draws:
            raise untried(f"{operator} drew its rows in the run, and on fewer records it would draw others")
        if operator.inputs and operator.name not in known:
            raise untried(f"{operator} takes rows together in a way that does not let several sets of them pass beside one another")
        if operator.name == "Limit" and sorting(operator) is None:
            raise untried(f"{operator} keeps rows in no order, so which ones it would keep of fewer, nobody knows", "Order the rows below the limit.")
        if operator.inputs and any(_asks_file(catalyst, expression) for expression in catalyst.expressions(operator.node)):
            raise untried(f"{operator} asks for the file of each row", "Select _metadata.file_path.")
        _check_subqueries(catalyst, operator)


def in_batches(catalyst: Catalyst, root: PlanOperator) -> list[str]:
    """The functions of a query that are given batches of rows, by name: what they give of a row may hang on the others in its batch."""
    found, todo = list[str](), [function for operator in root for function in functions_of(catalyst, operator.node)]
    while todo:
        function = todo.pop()
        todo += functions_in(catalyst, catalyst.children(function))
        if is_of_batch(function):
            found.append(str(function.name()))
    return sorted(set(found))


def _asks_file(catalyst: Catalyst, expression: Expr) -> bool:
    if expression.deterministic():
        return False
    return expression.nodeName() in _FILE or any(_asks_file(catalyst, part) for part in catalyst.children(expression))


def _check_subqueries(catalyst: Catalyst, operator: PlanOperator) -> None:
    asked = [subquery for subquery in operator.subqueries if subquery.repeats is None]
    if not asked:
        return
    if operator.name not in ("Project", "Filter") or not all(map(_gives_one, asked)) or len(scalars(catalyst, operator)) != len(asked):
        raise untried(
            f"{operator} asks a subquery, and only those that give one value (an aggregate of all rows), in a selection or a WHERE, are tried", "Write it as a join.",
        )


def _gives_one(subquery: PlanOperator) -> bool:
    """Whether a subquery gives one row, whatever there is."""
    return is_one(subquery) or (subquery.name == "Project" and _gives_one(subquery.inputs[0]))


def untried(why: str, remedy: str = "") -> LocalizeError:
    """The error of a query that cannot be tried on fewer records."""
    return LocalizeError(
        f"This query cannot be tried on fewer records: {why}", remedy=remedy or "The records that a wrong row was made of are dbg.lineage(df).where(...).goBackAll().",
    )


def moving(root: PlanOperator) -> bool:
    """Whether groups are made of rows that are made of several others each: on fewer of these, what is wrong may be found in another group."""
    return any(
        operator.name == "Aggregate" and any(below.name in _MADE_OF_SEVERAL for below in operator.inside() if below is not operator) for operator in root.inside()
    )
