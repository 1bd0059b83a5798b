"""Renaming: the names of records when a trace is to stop at more operators than before.

A name says what a record was made of, at the levels below. Where a level comes between, the parts of the name that are names of
its records, or of what these were made of, become one.
"""

from __future__ import annotations

from bigdebug.spark.sql.far import Far
from bigdebug.spark.sql.keys import restricted
from bigdebug.spark.sql.levels import OPAQUE
from bigdebug.spark.sql.plans.domains import DOMAIN
from bigdebug.spark.sql.plans.expressions import Expr
from bigdebug.spark.sql.records import Found
from bigdebug.spark.sql.steps import Steps
from bigdebug.trace.names import Names

_Path = tuple[int, ...]


def renamed(found: Found, before: Steps, after: Steps) -> Found:
    """The same records, by the names that they have where ``after`` stops. A job for each level whose names differ."""
    if before.levels == after.levels:
        return found
    return {level: _renamed(level, names, before, after) for level, names in found.items()}


def _renamed(level: int, names: Names, before: Steps, after: Steps) -> Names:
    paths = _paths(level, before, after)
    if names is None or not len(names) or (all(len(path) == 1 for path in paths) and before.crowded(level) == after.crowded(level)):
        return names
    c = after.catalyst
    plan, name = after.rows(level, None)
    parts = [_at(after, name, path) for path in paths]
    if before.crowded(level):
        parts += before.naming.content(before.operator(level), plan)
    plan = names.restricted(plan, parts) if isinstance(names, Far) else restricted(c, plan, parts, names.flatten())
    return after.names(plan, name)


def _paths(level: int, before: Steps, after: Steps) -> list[_Path]:
    """Where the parts of a name of before stand in one of after."""
    operator = after.operator(level)
    if level in before.sources or operator.kept is not None or operator.name in ("Aggregate", DOMAIN, *OPAQUE):
        return []
    found: list[_Path] = []
    for i, part in enumerate(after.naming.parts(operator)):
        found += [(i,)] if part in before.levels else [(i, *path) for path in _paths(part, before, after)]
    return found


def _at(steps: Steps, name: Expr, path: _Path) -> Expr:
    for i in path:
        name = steps.catalyst.field(name, i)
    return name
