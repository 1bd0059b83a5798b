"""Predicates of the user, run by workers: what they raise is told by its own line, not by pages of Spark's."""

from __future__ import annotations

import copy
import json
import os
import reprlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from bigdebug.agents.likeness import likeness
from bigdebug.errors import PredicateError, ReplayError

# An exception of a worker reaches the driver as text, between pages of frames: this line is found in it again.
_FAILED = "a predicate of bigdebug's user raised "


PREDICATE, TEST, EDIT = "The predicate of where()", "The test of localize()", "edit="
"""What a function of the user's is called in an error."""

_OURS = os.path.join(Path(__file__).absolute().parents[1], "")


def answering(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """``function``, of which what it raises is told in a line that ``told`` reads."""
    return guarded(function, lambda answer: answer)  # of no module: workers need not have this one


def guarded(predicate: Callable[[Any], Any], answer: Callable[[Any], Any] = bool) -> Callable[[Any], Any]:
    """``predicate``, of whose answers ``answer`` makes what is told; what it raises is told in a line that ``told`` reads, with the first line in it that is not ours."""

    def test(record: Any) -> Any:
        try:
            return answer(predicate(record))  # an array has no truth value
        except (Exception, SystemExit) as error:  # which would end the worker
            within = error.__traceback__
            while within is not None and within.tb_frame.f_code.co_filename.startswith(_OURS):
                within = within.tb_next
            where = (within.tb_frame.f_code.co_filename, within.tb_lineno) if within else None
            try:
                seen = reprlib.repr(record)
            except Exception:  # it is the user's __repr__ that runs here
                seen = f"a {type(record).__name__}"
            raise RuntimeError(_FAILED + json.dumps([type(error).__name__, str(error), where, seen])) from error

    return test


def unchanging(function: Callable[[Any], Any], what: str) -> Callable[[Any], Any]:
    """The function, for use in this process. Raises PredicateError for what it raises, and where it changes what it is given: others look at that, too."""

    def called(output: Any) -> Any:
        before = _known(output)
        with told(what):
            found = answering(function)(output)
        if _known(output) != before:
            raise changing(what, function)
        return found

    return called


def _known(output: Any) -> bytes | None:
    """What an output is known by; None for what cannot be compared."""
    try:
        return likeness(output)
    except ReplayError:
        return None


def kept(test: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A test that is given copies of records."""

    def of_a_copy(record: Any) -> Any:
        return test(copy.deepcopy(record))

    return of_a_copy


def changing(what: str, function: Any) -> PredicateError:
    """The error of a function that changes what it is given."""
    code = getattr(function, "__code__", None)
    where = f" at {code.co_filename}:{code.co_firstlineno}" if code else ""
    return PredicateError(f"{what}{where} changes what it is given, which others look at, too", remedy="Let it change a copy: sorted(x) in place of x.sort(), list(x), dict(x).")


@contextmanager
def told(what: str = PREDICATE) -> Iterator[None]:
    """Raise a PredicateError from what PySpark raises, if the line of ``guarded`` is in it."""
    try:
        yield
    except (PySparkException, Py4JError, RuntimeError) as problem:
        account = str(problem).partition(_FAILED + "[")[2]
        if not account:
            raise
        (kind, message, where, seen), _ = json.JSONDecoder().raw_decode("[" + account)
        at = f" at {where[0]}:{where[1]}" if where else ""
        raise PredicateError(
            f"{what}{at} raised {kind}: {message}, on the record {seen}",
            remedy="It is called with each traced record: see that it takes them all.",
        ) from problem
