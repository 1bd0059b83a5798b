"""``bigdebug.brush(...)``: linked views of several results, in a notebook or anywhere else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

from bigdebug.errors import NotCapturedError
from bigdebug.session import active_session
from bigdebug.trace.crossfilter.marks import Marks
from bigdebug.views.brushview import BrushView
from bigdebug.views.charting import Chart


def brush(*whats: Any, over: str | None = None) -> BrushView:
    """Linked views of captured DataFrames and RDDs over one input: brush marks of one, and the others show what the rows behind them make.

    Each of ``whats`` is a DataFrame, an RDD or a run, or ``bigdebug.chart(what, kind, x=, y=, color=, name=)`` where something else is to be drawn than
    the columns suggest. ``over`` names the input that they share, if there are several. Costs the lineage of all their outputs, in a Spark job or two for
    each; a brush costs none. Raises NotCapturedError for what no lineage is known of, ViewError for what has no input in common or cannot be drawn.
    """
    if not isinstance(over, str | None):
        raise TypeError(f"over is the name of an input, not {over!r}")
    charts = [each if isinstance(each, Chart) else Chart(each) for each in whats]
    session = active_session(join=False)
    if session is None:
        raise NotCapturedError(
            "bigdebug is attached to no Spark session that runs, so it knows no lineage", value=whats or None,
            remedy="bigdebug.attach(spark), or %load_ext bigdebug, and run the jobs again under capture.",
        )
    different = {id(chart.what): chart.what for chart in charts}
    marks = dict(zip(different, session.marks(*different.values(), over=over)))
    return BrushView(called([(chart, marks[id(chart.what)]) for chart in charts]), charts)


def called(drawn: Sequence[tuple[Chart, Marks]]) -> list[Marks]:
    """The marks of each chart, by the name that it was given; else by their own, with a number where that is another's already."""
    given = {chart.name for chart, _ in drawn}
    found: list[Marks] = []
    for chart, marks in drawn:
        taken = {*given, *(each.name for each in found)}
        name = chart.name or next(name for name in _numbered(marks.name) if name not in taken)
        found.append(replace(marks, name=name, view=replace(marks.view, name=name)))
    return found


def _numbered(name: str) -> Iterator[str]:
    yield name
    yield from (f"{name} {number}" for number in count(2))
