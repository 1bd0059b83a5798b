"""Mining: what ``dbg.mine`` is given, made sense of, and which wing answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from bigdebug.agents.likeness import HasKey
from bigdebug.errors import UnknownOperatorError
from bigdebug.mining.mined import Mined
from bigdebug.shown import shown
from bigdebug.spark.rdd.inquiry.explaining import Names
from bigdebug.spark.rdd.inquiry.mining import Mining
from bigdebug.spark.rdd.inquiry.satisfying import satisfying
from bigdebug.spark.rdd.lineage_rdd import LineageRDD
from bigdebug.spark.sql.inquiry.mining import FrameMining
from bigdebug.spark.sql.lineage_frame import LineageFrame
from bigdebug.trace.given import number


def mine(trace: Any, bad: Any, good: Any, names: Names, alpha: float, most: int) -> Mined:
    """What was mined of a trace over outputs."""
    most = number(most, "suspects that are told")
    if isinstance(alpha, bool) or not isinstance(alpha, int | float) or not 0 < alpha < 1:
        raise ValueError(f"alpha is the chance of an outlier where there is none, between 0 and 1, not {shown(alpha)}; alpha=0.05")
    if isinstance(trace, LineageFrame):
        return FrameMining(trace, rows_of(trace, bad, "bad"), rows_of(trace, good, "good"), names, alpha, most).mined()
    return Mining(trace, outputs_of(trace, bad, "bad"), outputs_of(trace, good, "good"), names, alpha, most).mined()


def outputs_of(trace: LineageRDD, given: Any, what: str) -> LineageRDD | None:
    """Those of the outputs of a trace that somebody means: by a predicate, by their keys, or by a trace over them or over what they were made of."""
    operator = trace._only(f"{what}=")
    if given is None:
        return None
    if isinstance(given, LineageRDD):
        if given.run is not trace.run:
            raise UnknownOperatorError(f"The trace {what}= is about another run", value=given, remedy="Trace the outputs of the run that is asked about.")
        found: LineageRDD = given if given.operators == (operator,) else given.forward_to(operator)
        return found
    if isinstance(given, str | bytes) or not (callable(given) or isinstance(given, Iterable)):
        raise TypeError(f"{what} is a predicate of an output, a list of keys, or a trace, not {shown(given)}; {what}=lambda out: out[1] < 0")
    wanted: Callable[[Any], Any] = given if callable(given) else HasKey(given)

    def find() -> Any:
        known = satisfying(trace._questions, operator, trace.places, wanted, f"{what}=")
        return {operator: {p: np.array(sorted(at), dtype=np.int64) for p, at in known.items() if at}}

    return trace._to([operator], find)


def rows_of(trace: LineageFrame, given: Any, what: str) -> LineageFrame | None:
    """Those of the rows of a result that somebody means: by a condition as ``where`` takes it, by several, or by a trace."""
    if given is None:
        return None
    if isinstance(given, LineageFrame):
        if given.run is not trace.run:
            raise UnknownOperatorError(f"The trace {what}= is about another run", value=given, remedy="Trace the rows of the query that is asked about.")
        return given if given.operators == trace.operators else given.forward_to(trace.run.graph[trace._only(f"{what}=")])
    if isinstance(given, list | set | frozenset):
        if not given:
            raise TypeError(f"{what} is a condition, rows, or a trace, not {shown(given)}; {what}='total < 0'")
        return trace.union([trace.where(each) for each in given])
    return trace.where(given)
