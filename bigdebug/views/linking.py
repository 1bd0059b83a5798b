"""``bigdebug.brush(...)``: linked views of several results, in a notebook or anywhere else."""

from __future__ import annotations

from typing import Any

from bigdebug.errors import NotCapturedError
from bigdebug.session import active_session
from bigdebug.views.brushview import BrushView
from bigdebug.views.charting import Chart


def brush(*whats: Any, over: Any = None) -> BrushView:
    """Linked views of captured DataFrames and RDDs over one input: brush marks of one, and the others show what the rows behind them make.

    Each of ``whats`` is a DataFrame, an RDD or a run, or ``bigdebug.chart(what, kind, x=, y=, color=, name=)`` where something else is to be drawn than
    the columns suggest. ``over`` is the input that they share, if there are several. Costs the lineage of all their outputs, in a Spark job or two; a brush
    costs none. Raises NotCapturedError for what no lineage is known of, ViewError for what has no input in common or cannot be drawn.
    """
    charts = [each if isinstance(each, Chart) else Chart(each) for each in whats]
    session = active_session(join=False)
    if session is None:
        raise NotCapturedError(
            "bigdebug is attached to no Spark session that runs, so it knows no lineage", value=whats or None,
            remedy="bigdebug.attach(spark), or %load_ext bigdebug, and run the jobs again under capture.",
        )
    return BrushView(session.marks(*(each.what for each in charts), over=over, names=[each.name for each in charts]), charts)
