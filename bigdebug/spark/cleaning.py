"""Cleaning: what ``dbg.clean`` is given, made sense of."""

from __future__ import annotations

from typing import Any

from bigdebug.agents.quality import Quality
from bigdebug.errors import ReplayError
from bigdebug.mining.cleaned import Cleaned
from bigdebug.shown import shown
from bigdebug.spark.rdd.cleaning import Cleaning, Localize
from bigdebug.spark.rdd.lineage_rdd import LineageRDD
from bigdebug.spark.suspecting import check
from bigdebug.trace.given import number


def clean(trace: Any, quality: Any, enough: Any, rounds: Any, suspects: Any, at: Any, edit: Any, localize: Localize) -> Cleaned:
    """A trace over outputs, cleaned."""
    check(quality, suspects, edit)
    rounds = number(rounds, "rounds")
    if enough is not None and (isinstance(enough, bool) or not isinstance(enough, int | float) or enough != enough):
        raise TypeError(f"enough is the quality of an output that is good enough, a number, not {shown(enough)}")
    if not isinstance(trace, LineageRDD):
        raise ReplayError(
            "RDD programs only are run again without records", value=trace,
            remedy="Of a DataFrame, take them from its input: source.exceptAll(dbg.lineage(df).where(...).goBackAll()[name].toDF()).",
        )
    return Cleaning(trace, Quality(quality), suspects, at, edit, localize).cleaned(enough, rounds)
