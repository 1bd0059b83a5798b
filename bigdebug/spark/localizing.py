"""Localizing: what ``dbg.localize`` is given, made sense of, and which wing looks for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bigdebug.agents.judges import Judge
from bigdebug.errors import LocalizeError
from bigdebug.localize.diagnosis import Diagnosis
from bigdebug.localize.oracle import Budget
from bigdebug.shown import shown
from bigdebug.spark.rdd.lineage_rdd import LineageRDD
from bigdebug.spark.rdd.localizing import Localizing


def localize(
    trace: Any, test: Callable[..., Any] | None, key: Callable[[Any], Any] | None, whole: Callable[[list[Any]], Any] | None, raises: bool,
    tests: int | None, seconds: float | None,
) -> Diagnosis:
    """The diagnosis of a trace over outputs."""
    if (test is None) == (whole is None):
        raise TypeError("localize() takes a test of an output, or whole=, a test of all of them; localize(report, lambda out: out[1] < 0)")
    for name, function in (("test", test), ("whole", whole), ("key", key)):
        if function is not None and not callable(function):
            raise TypeError(f"{name} is a function, not {shown(function)}")
    for name, number in (("tests", tests), ("seconds", seconds)):
        if number is not None and (isinstance(number, bool) or not isinstance(number, int | float) or number < 0):
            raise ValueError(f"{name} is a number that is not below 0, not {shown(number)}")
    if not isinstance(trace, LineageRDD):
        raise LocalizeError(
            "Faults are localized in RDD programs only, so far", value=trace,
            remedy="Look at what made the rows: dbg.lineage(df).where(...).goBackAll(); or localize in the program as RDDs.",
        )
    judge = Judge(whole if test is None else test, key, test is None, raises)  # type: ignore[arg-type]
    return Localizing(trace, judge, Budget(tests, seconds)).diagnosis()
