"""Localizing: what ``dbg.localize`` is given, made sense of, and which wing looks for it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from threading import Event
from typing import Any

from pyspark import RDD
from pyspark.sql import Column, DataFrame

from bigdebug.agents.check import Check
from bigdebug.agents.judges import Judge
from bigdebug.errors import LocalizeError
from bigdebug.localize.diagnosis import Diagnosis
from bigdebug.localize.oracle import Budget
from bigdebug.localize.search import Search, is_shown
from bigdebug.shown import shown
from bigdebug.spark.rdd.inquiry.crashing import crashed, crashing
from bigdebug.spark.rdd.inquiry.expecting import Expecting
from bigdebug.spark.rdd.inquiry.faulty import Found, as_a_whole, judged, together
from bigdebug.spark.rdd.inquiry.localizing import Localizing
from bigdebug.spark.rdd.lineage_rdd import LineageRDD
from bigdebug.spark.sql.inquiry.localizing import localized
from bigdebug.spark.sql.lineage_frame import LineageFrame


@dataclass(frozen=True)
class Asked:
    """What the user takes for wrong: a ``test`` of an output (with its ``key``), one of the ``whole`` result, what differs from what was ``expected``; and whether exceptions
    are failures (``raises``).
    """

    test: Any = None
    key: Any = None
    whole: Any = None
    expected: Any = None
    raises: bool = False

    def check(self) -> None:
        """Raise TypeError for what asks nothing, or several things."""
        given = [name for name, value in (("a test", self.test), ("whole=", self.whole), ("expected=", self.expected)) if value is not None]
        if not given and not self.raises:
            raise TypeError(
                "localize() takes a test of an output, or whole=, a test of all of them, expected=, what they were to be, or raises=True; localize(report, lambda out: out[1] < 0)"
            )
        if len(given) > 1:
            raise TypeError(f"localize() takes one of {', '.join(given)}: what is wrong would be said twice")
        if isinstance(self.expected, str | bytes) or not isinstance(self.expected, Iterable | RDD | DataFrame | None):
            raise TypeError(f"expected= is a list of outputs, an RDD or a DataFrame of them, or a dict of what belongs to their keys, not {shown(self.expected)}")
        if isinstance(self.whole, Check):
            raise TypeError(f"a check is a test, also of the result as a whole: localize(report, {self.whole!r})")
        if self.key is not None and self.expected is None and (isinstance(self.test, Check) or self.test is None):
            raise TypeError("key= is for a test of your own, which is called with an output and its key; what of an output a check looks at, its field says: checks.at_most(60, field=1)")


def localize(trace: Any, asked: Asked, tests: int | None, seconds: float | None, stop: Event | None, search: Search | None = None, live: bool = True) -> Diagnosis:
    """The diagnosis of a trace over outputs; if it is ``live``, it is shown how far the search is if that takes long."""
    if not isinstance(search, Search | None):
        raise TypeError(f"search is what bigdebug.Search() gives, not {shown(search)}")
    search = Search() if search is None else search
    check_budget(tests, seconds, stop)
    asked.check()
    budget = Budget(tests, seconds, [search.event, *([] if stop is None else [stop])])
    with search.running(budget):
        budget.shown = search.shown or (live and is_shown(search))
        search.diagnosis = _localized(trace, asked, budget)
    return search.diagnosis


def _localized(trace: Any, asked: Asked, budget: Budget) -> Diagnosis:
    if isinstance(trace, LineageFrame):
        return _of_frame(trace, asked, budget)
    if isinstance(asked.expected, DataFrame):
        raise TypeError("expected= of an RDD program is a list of outputs, an RDD of them, or a dict of what belongs to their keys, not a DataFrame")
    for name in ("test", "whole", "key"):
        if (function := getattr(asked, name)) is not None and not callable(function):
            raise TypeError(f"{name} is a function, not {shown(function)}")
    return Localizing(trace, _found(trace, asked), budget).diagnosis()


def _found(trace: LineageRDD, asked: Asked) -> Found:
    """The wrong outputs."""
    if asked.raises and (crashed(trace) or asked.test is asked.whole is asked.expected is None):
        return crashing(trace)
    if crashed(trace):
        raise LocalizeError(
            f"{trace.run.name} crashed, so not all of its outputs are there to be tested",
            remedy="localize(run, raises=True) names the records that crash it; run.culprits tells of each.",
        )
    if asked.expected is not None:
        return Expecting(trace, asked.expected, asked.key, asked.raises).found()
    if asked.whole is not None:
        return as_a_whole(trace, Judge(asked.whole, None, True, asked.raises))
    if isinstance(asked.test, Check) and asked.test.whole:
        return together(trace, asked.test, asked.raises)
    return judged(trace, Judge(asked.test, asked.key, False, asked.raises))


def _of_frame(trace: LineageFrame, asked: Asked, budget: Budget) -> Diagnosis:
    """The diagnosis of rows of a query."""
    test, whole = asked.test, asked.whole
    if test is not None and not callable(test) and not isinstance(test, Column | str):
        raise TypeError(f"test is a function of a Row, a Column or SQL, not {shown(test)}")
    if whole is not None and not callable(whole):
        raise TypeError(f"whole is a function of all Rows, not {shown(whole)}")
    if isinstance(asked.expected, RDD):
        raise TypeError("expected= is a list of rows, a DataFrame of them, or a dict of what belongs to their keys, not an RDD; localize(df, expected=rdd.collect())")
    return localized(trace, test, asked.key, whole, asked.expected, asked.raises, budget)


def check_budget(tests: int | None, seconds: float | None, stop: Event | None) -> None:
    """Raise ValueError or TypeError for what is none."""
    for name, number in (("tests", tests), ("seconds", seconds)):
        kind = int if name == "tests" else int | float
        if number is not None and (isinstance(number, bool) or not isinstance(number, kind) or not number >= 0):  # NaN is not
            raise ValueError(f"{name} is a {'whole ' if kind is int else ''}number from 0 on, not {shown(number)}")
    if stop is not None and not isinstance(stop, Event):
        raise TypeError(f"stop is a threading.Event that is set to end the search, not {shown(stop)}")
