"""Policies: what the user wants to become of records that crash, in the words of tasks."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping
from typing import Any

from pyspark.cloudpickle import dumps

from bigdebug.agents.guards.policy import Choice, Policy
from bigdebug.agents.letters import BOX
from bigdebug.errors import ReplayError, StoreError
from bigdebug.outside import from_outside
from bigdebug.shown import shown
from bigdebug.store.named import local
from bigdebug.store.paths import made, touched

ON_CRASH = ("fail", "skip", "decide")

_REMEDY = 'on_crash is "fail", "skip", "decide", a function that gives another record for one that crashed, or a dict of these by RDD.'


def policy_of(on_crash: Any, most: int, letters: str | os.PathLike[str] | None) -> Policy | None:
    """The policy that ``dbg.capture`` is given; None if the job is to fail.

    Raises ValueError or TypeError for what is none, StoreError where letters cannot be written.
    """
    if not isinstance(most, int) or isinstance(most, bool) or most < 1:
        raise ValueError(f"most is how many culprits of a task are kept in full, 1 at least, not {shown(most)}")
    by: dict[int, Choice] = {}
    if isinstance(on_crash, Mapping):
        for rdd, wanted in on_crash.items():
            operator: Any = getattr(getattr(rdd, "_definition", None), "operator", rdd)
            if not isinstance(getattr(operator, "id", None), int):
                raise TypeError(f"{shown(rdd)} is no RDD of dbg.context, and no operator; {_REMEDY}")
            by[operator.id] = _choice(wanted)
    otherwise = Choice(False, None) if isinstance(on_crash, Mapping) else _choice(on_crash)
    policy = Policy(otherwise, by=by, most=most, letters=None if letters is None else _box(letters), dumps=dumps)
    return policy if otherwise.goes_on or any(choice.goes_on for choice in by.values()) else None


def _box(letters: str | os.PathLike[str]) -> str:
    """The directory of letters, made if it is not there. Each task adds to a file of its own there, which places that a URI names cannot do."""
    folder = local("The directory of dead letters", letters).absolute()
    try:
        made(folder)
        touched(folder / BOX, 0o666)
    except OSError as problem:
        if from_outside(problem):
            raise
        raise StoreError(
            f"Dead letters cannot be written: {problem}", value=str(folder), remedy="Name a directory that you may write, and that all executors see.",
        ) from problem
    return str(folder)


def _choice(wanted: Any) -> Choice:
    if isinstance(wanted, str) and wanted in ON_CRASH:
        return Choice(wanted != "fail", None)
    if callable(wanted):
        return Choice(False, function_of_one(wanted, "the repair"))
    raise ValueError(f"{_REMEDY} Not {shown(wanted)}")


def function_of_one(
    function: Callable[[Any], Any], what: str, called: str = "It is called with the record that culprit.record shows.",
    made: Callable[[Callable[[Any], Any]], Callable[[Any], Any]] = lambda function: function,
) -> bytes:
    """A function of one record, pickled, or what is ``made`` of it. Raises ReplayError for another, and for one that cannot be pickled; ``called`` says of what it is one."""
    try:
        inspect.signature(function).bind(None)
    except TypeError as problem:
        raise ReplayError(
            f"{what} is a function of one record, and {shown(function)} is not: {problem}",
            remedy=called,
        ) from problem
    except ValueError:  # some built-in functions do not tell
        pass
    try:
        found: bytes = dumps(made(function))  # type: ignore[no-untyped-call]
    except Exception as problem:
        raise ReplayError(
            f"{what} cannot be pickled, and so not go to Spark's workers: {type(problem).__name__}: {problem}",
            remedy="It, or something that it refers to (a lock, a connection, an open file), lives in this process alone: let it make that itself.",
        ) from problem
    return found
