"""Masks: what is secret is not shown here, nor made into text by workers."""

from __future__ import annotations

from typing import Any

from pyspark import SparkContext

from bigdebug import shown


def mask(sc: SparkContext, pattern: Any) -> None:
    """Show *** for what matches, in this process and in workers that begin from now on: tasks of earlier RDDs make text that is masked here.

    Raises TypeError or re.error for what is no pattern.
    """
    if not isinstance(pattern, str | None):
        raise TypeError(f'dbg.mask is the text of a regular expression, or None, not {shown.shown(pattern)}; flags go into it: r"(?i)token=\\S+"')
    shown.mask(pattern or None)
    pass_on(sc)


def pass_on(sc: SparkContext) -> None:
    """Let workers of jobs that are defined from now on know what is secret: they are begun with these variables."""
    pattern = shown.masking()
    if pattern is None:
        keep_back(sc)
    else:
        sc.environment[shown.MASK] = pattern


def keep_back(sc: SparkContext) -> None:
    """Workers are to be begun as without bigdebug."""
    sc.environment.pop(shown.MASK, None)
