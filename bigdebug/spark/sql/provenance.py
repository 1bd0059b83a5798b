"""Provenance of one row: the polynomial that says how it was made, read off the witnesses level by level."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bigdebug.errors import BigdebugError
from bigdebug.spark.sql.plans.domains import DOMAIN
from bigdebug.spark.sql.steps import Steps
from bigdebug.trace.names import Names, distinct
from bigdebug.trace.polynomials import Polynomial, Variable

MOST = 1_000_000
"""Witnesses of one level that a polynomial is made of."""


def polynomial(steps: Steps, level: int, name: Names, sources: Mapping[int, str]) -> Polynomial:
    """How the row of that name was made; ``sources`` names the inputs. A job for each level, over what it takes part in."""
    made = _polynomials(steps, level, name, sources)
    return made[repr(name.to_pylist()[0])]


def _polynomials(steps: Steps, level: int, names: Names, sources: Mapping[int, str]) -> dict[str, Polynomial]:
    """By the text of the name."""
    if level in sources and level in steps.subqueries:  # asked as a whole
        every = steps.every(level).to_pylist()
        return {repr(name): Polynomial(tuple((Variable(sources[level], rid),) for rid in every)) for name in names.to_pylist()}
    if level in sources:
        return {repr(rid): Polynomial(((Variable(sources[level], rid),),)) for rid in names.to_pylist()}
    if not len(names):
        return {}
    whole = level in steps.subqueries
    table = steps.witnesses(level, names)
    if table.num_rows > MOST:
        raise BigdebugError(
            f"This row was made in {table.num_rows:,} ways, too many to write down", remedy="goBackAll() says of which records.",
        )
    below = [int(column[1:]) for column in table.column_names if column != "key"]
    below = [other for other in below if steps.operator(other).name != DOMAIN]
    parts: dict[int, dict[str, Polynomial]] = {}
    for other in below:
        column = table[f"n{other}"]
        parts[other] = _polynomials(steps, other, distinct(column), sources)
    terms: dict[str, list[tuple[Any, ...]]] = {}
    for row in zip(table["key"].to_pylist(), *(table[f"n{other}"].to_pylist() for other in below)):
        factors = [(other, parts[other][repr(value)]) for other, value in zip(below, row[1:]) if value is not None]
        # Of a subquery that gave nothing there is no way in which it was made, and the row is there all the same.
        flat = tuple(_flat(factor) for other, factor in factors if factor.terms or other not in steps.subqueries)
        terms.setdefault("whole" if whole else repr(row[0]), []).append(flat)
    made = {key: Polynomial(tuple(found)) for key, found in terms.items()}
    if whole:
        return {repr(name): made.get("whole", Polynomial(())) for name in names.to_pylist()}
    keys = steps.keys(level, names).to_pylist()
    return {repr(name): made.get(repr(key), Polynomial(())) for name, key in zip(names.to_pylist(), keys)}


def _flat(factor: Polynomial) -> Variable | Polynomial:
    """A polynomial that is one variable as that variable."""
    return factor.terms[0][0] if len(factor.terms) == 1 and len(factor.terms[0]) == 1 else factor


