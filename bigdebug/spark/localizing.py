"""Localizing: what ``dbg.localize`` is given, made sense of, and which wing looks for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.sql import Column

from bigdebug.agents.check import Check
from bigdebug.agents.judges import Judge
from bigdebug.errors import LocalizeError
from bigdebug.localize.diagnosis import Diagnosis
from bigdebug.localize.oracle import Budget
from bigdebug.shown import shown
from bigdebug.spark.rdd.faulty import Found, as_a_whole, judged
from bigdebug.spark.rdd.lineage_rdd import LineageRDD
from bigdebug.spark.rdd.localizing import Localizing
from bigdebug.spark.sql.lineage_frame import LineageFrame
from bigdebug.spark.sql.localizing import FrameLocalizing


def localize(
    trace: Any, test: Callable[..., Any] | None, key: Callable[[Any], Any] | None, whole: Callable[[list[Any]], Any] | None, raises: bool,
    tests: int | None, seconds: float | None,
) -> Diagnosis:
    """The diagnosis of a trace over outputs."""
    if (test is None) == (whole is None):
        raise TypeError("localize() takes a test of an output, or whole=, a test of all of them; localize(report, lambda out: out[1] < 0)")
    if isinstance(trace, LineageFrame):
        return _of_frame(trace, test, key, whole, raises, tests, seconds)
    for name, function in (("test", test), ("whole", whole), ("key", key)):
        if function is not None and not callable(function):
            raise TypeError(f"{name} is a function, not {shown(function)}")
    if key is not None and isinstance(test, Check):
        raise TypeError(f"key= is for tests of your own; what of an output a check looks at, its field says: checks.at_most(60, field=1), not {shown(test)}")
    for name, number in (("tests", tests), ("seconds", seconds)):
        if number is not None and (isinstance(number, bool) or not isinstance(number, int | float) or number < 0):
            raise ValueError(f"{name} is a number that is not below 0, not {shown(number)}")
    if not isinstance(trace, LineageRDD):
        raise LocalizeError(
            "Faults are localized in RDD programs only, so far", value=trace,
            remedy="Look at what made the rows: dbg.lineage(df).where(...).goBackAll(); or localize in the program as RDDs.",
        )
    budget = _budget(tests, seconds)
    return Localizing(trace, _found(trace, test, key, whole, raises), budget).diagnosis()


def _found(
    trace: LineageRDD, test: Callable[..., Any] | None, key: Callable[[Any], Any] | None, whole: Callable[[list[Any]], Any] | None, raises: bool,
) -> Found:
    """The wrong outputs."""
    if whole is not None:
        return as_a_whole(trace, Judge(whole, None, True, raises))
    assert test is not None
    return as_a_whole(trace, Judge(test, None, True, raises)) if isinstance(test, Check) and test.whole else judged(trace, Judge(test, key, False, raises))


def _of_frame(trace: LineageFrame, test: Any, key: Any, whole: Any, raises: bool, tests: int | None, seconds: float | None) -> Diagnosis:
    """The diagnosis of rows of a query."""
    if test is not None and not callable(test) and not isinstance(test, Column | str):
        raise TypeError(f"test is a function of a Row, a Column or SQL, not {shown(test)}")
    if whole is not None and not callable(whole):
        raise TypeError(f"whole is a function of all Rows, not {shown(whole)}")
    return FrameLocalizing(trace, test, key, whole, raises, _budget(tests, seconds)).diagnosis()


def _budget(tests: int | None, seconds: float | None) -> Budget:
    for name, number in (("tests", tests), ("seconds", seconds)):
        if number is not None and (isinstance(number, bool) or not isinstance(number, int | float) or number < 0):
            raise ValueError(f"{name} is a number that is not below 0, not {shown(number)}")
    return Budget(tests, seconds)
