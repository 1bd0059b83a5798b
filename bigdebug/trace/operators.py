"""Operators as they are given by users and views: resolved against a run, or a trace, or refused by name."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches
from typing import Any

from bigdebug.errors import UnknownOperatorError
from bigdebug.graph import Operator
from bigdebug.trace.given import whole
from bigdebug.trace.run import Run


def not_here(name: Any, known: Collection[str]) -> UnknownOperatorError:
    """The error of asking for an input at which a trace does not stand; ``known`` are those of its run."""
    if name in known:
        remedy = "It is one of the run's: go back to the sources first, goBackAll()."
    else:
        remedy = f"It knows {', '.join(get_close_matches(str(name), known, 3) or sorted(known))}."
    return UnknownOperatorError("The trace does not stand at an input of this name", value=name, remedy=remedy)


def operator_here(trace: Any, operator: Operator) -> int:
    """The id of an operator at which a trace stands. Raises UnknownOperatorError if it does not stand there."""
    if operator.id not in trace.operators or trace.run.graph[operator.id] != operator:
        here = ", ".join(str(trace.run.graph[o]) for o in trace.operators)
        raise UnknownOperatorError(f"The trace does not stand at {operator}", remedy=f"It stands at {here}.")
    return operator.id


def operator_of(run: Run, given: Any) -> Operator:
    """The operator of a run that is given as such, as an RDD or by its id; an error of ours for one of another run."""
    definition = getattr(given, "_definition", None)
    if definition is not None:
        given = definition.operator
    try:
        number = whole(getattr(given, "id", given), "")
    except TypeError:
        raise UnknownOperatorError("This is not an operator", value=given, remedy="Give an RDD or an operator of run.graph.") from None
    return run.graph[number]
