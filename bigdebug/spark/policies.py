"""Policies: what the user wants to become of records that crash, in the words of tasks."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pyspark.cloudpickle import dumps

from bigdebug.agents.guards.policy import Choice, Policy
from bigdebug.agents.letters import BOX
from bigdebug.errors import ReplayError
from bigdebug.shown import shown

ON_CRASH = ("fail", "skip", "decide")

_REMEDY = 'on_crash is "fail", "skip", "decide", a function that gives another record for one that crashed, or a dict of these by RDD.'


def policy_of(on_crash: Any, most: int, letters: str | os.PathLike[str] | None) -> Policy | None:
    """The policy that ``dbg.capture`` is given; None if the job is to fail.

    Raises ValueError or TypeError for what is none.
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
    if letters is not None:
        folder = Path(letters)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / BOX).touch()
        letters = str(folder.absolute())
    policy = Policy(otherwise, by=by, most=most, letters=letters, dumps=dumps)
    return policy if otherwise.goes_on or any(choice.goes_on for choice in by.values()) else None


def _choice(wanted: Any) -> Choice:
    if isinstance(wanted, str) and wanted in ON_CRASH:
        return Choice(wanted != "fail", None)
    if callable(wanted):
        return Choice(False, function_of_one(wanted, "the repair"))
    raise ValueError(f"{_REMEDY} Not {shown(wanted)}")


def function_of_one(function: Callable[[Any], Any], what: str) -> bytes:
    """A function of one record, pickled. Raises ReplayError for another."""
    try:
        inspect.signature(function).bind(None)
    except TypeError as problem:
        raise ReplayError(
            f"{what} is a function of one record, and {shown(function)} is not: {problem}",
            remedy="It is called with the record that culprit.record shows.",
        ) from problem
    except ValueError:  # some built-in functions do not tell
        pass
    found: bytes = dumps(function)  # type: ignore[no-untyped-call]
    return found
