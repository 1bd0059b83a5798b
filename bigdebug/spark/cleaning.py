"""Cleaning: what ``dbg.clean`` is given, made sense of, and which wing cleans."""

from __future__ import annotations

from typing import Any

from bigdebug.agents.quality import Quality
from bigdebug.mining.cleaned import Cleaned
from bigdebug.shown import shown
from bigdebug.spark.rdd.inquiry.cleaning import Cleaning, Localize
from bigdebug.spark.sql.inquiry.cleaning import FrameCleaning
from bigdebug.spark.sql.lineage_frame import LineageFrame
from bigdebug.spark.suspecting import check
from bigdebug.trace.given import number


def clean(trace: Any, quality: Any, enough: Any, rounds: Any, suspects: Any, at: Any, edit: Any, localize: Localize) -> Cleaned:
    """A trace over outputs, cleaned."""
    check(quality, suspects, edit, isinstance(trace, LineageFrame))
    rounds = number(rounds, "rounds")
    if enough is not None and (isinstance(enough, bool) or not isinstance(enough, int | float) or enough != enough):
        raise TypeError(f"enough is the quality of an output that is good enough, a number, not {shown(enough)}")
    if isinstance(trace, LineageFrame):
        return FrameCleaning(trace, quality, suspects, at, edit, localize).cleaned(enough, rounds)
    return Cleaning(trace, Quality(quality), suspects, at, edit, localize).cleaned(enough, rounds)
