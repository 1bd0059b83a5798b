"""The graph of datasets and jobs as a plotly figure. Names are the user's: text, whatever stands in them."""

from __future__ import annotations

from html import escape
from typing import Any

import plotly.graph_objects as go

from bigdebug.datasets.drawing import DatasetNode, Drawing, JobNode
from bigdebug.views.feeding import short
from bigdebug.views.payload import text

_SHORT = 28
"""Characters of a name that stands in the figure."""


def figure(drawn: Drawing) -> go.Figure:
    """Datasets as squares and jobs as circles, what feeds others to the left of them; a dotted line joins what are the same data."""
    deep = [0] * (1 + max((node.layer for node in drawn.nodes), default=0))
    for node in drawn.nodes:
        deep[node.layer] = max(deep[node.layer], node.place + 1)
    most = max(deep)
    at = [(node.layer, -(node.place + (most - deep[node.layer]) / 2)) for node in drawn.nodes]
    found = go.Figure([_lines(drawn, at, same) for same in (False, True)])
    for kind, symbol in ((DatasetNode, "square"), (JobNode, "circle")):
        which = [i for i, node in enumerate(drawn.nodes) if isinstance(node, kind)]
        found.add_scatter(
            x=[at[i][0] for i in which], y=[at[i][1] for i in which], mode="markers+text", textposition="bottom center", hoverinfo="text",
            text=[_name(drawn.nodes[i], _SHORT) for i in which], hovertext=[_name(drawn.nodes[i], 200) for i in which],
            marker={"symbol": symbol, "size": 14}, name="datasets" if kind is DatasetNode else "jobs",
        )
    blank: dict[str, Any] = {"visible": False}
    return found.update_layout(template="plotly_white", xaxis=blank, yaxis=blank, height=min(160 + 60 * most, 1_200), margin={"l": 40, "r": 40, "t": 30, "b": 30})


def _lines(drawn: Drawing, at: list[tuple[int, float]], same: bool) -> go.Scatter:
    ends = [(at[near], at[far]) for near, far, alike in drawn.links if alike is same]
    return go.Scatter(
        x=[x for (one, _), (other, _) in ends for x in (one, other, None)], y=[y for (_, one), (_, other) in ends for y in (one, other, None)],
        mode="lines", hoverinfo="skip", showlegend=False, line={"width": 1, "color": "#999", "dash": "dot" if same else "solid"},
    )


def _name(node: DatasetNode | JobNode, longest: int) -> str:
    """Plotly reads a little HTML and formulas in texts."""
    named = node.job if isinstance(node, JobNode) else short(node.dataset) if longest == _SHORT else str(node.dataset)
    return f"\u2068{escape(text(named, longest)).replace('$', '&#36;')}\u2069"
