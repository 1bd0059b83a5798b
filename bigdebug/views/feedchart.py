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
    deep: dict[int, int] = {}
    for layer, place in [*((node.layer, node.place) for node in drawn.nodes), *(passed for link in drawn.links for passed in link.way)]:
        deep[layer] = max(deep.get(layer, 0), place + 1)
    most = max(deep.values(), default=0)

    def stands(layer: int, place: int) -> tuple[int, float]:
        return layer, -(place + (most - deep[layer]) / 2)

    at = [stands(node.layer, node.place) for node in drawn.nodes]
    ways = {same: [[at[link.near], *(stands(*passed) for passed in link.way), at[link.far]] for link in drawn.links if link.same is same] for same in (False, True)}
    found = go.Figure([_lines(ways[same], same) for same in (False, True)])
    for kind, symbol in ((DatasetNode, "square"), (JobNode, "circle")):
        which = [i for i, node in enumerate(drawn.nodes) if isinstance(node, kind)]
        found.add_scatter(
            x=[at[i][0] for i in which], y=[at[i][1] for i in which], mode="markers+text", textposition="bottom center", hoverinfo="text",
            text=[_name(drawn.nodes[i], _SHORT) for i in which], hovertext=[_name(drawn.nodes[i], 200) for i in which],
            marker={"symbol": symbol, "size": 14}, name="datasets" if kind is DatasetNode else "jobs",
        )
    blank: dict[str, Any] = {"visible": False}
    return found.update_layout(template="plotly_white", xaxis=blank, yaxis=blank, height=min(160 + 60 * most, 1_200), margin={"l": 40, "r": 40, "t": 30, "b": 30})


def _lines(ways: list[list[tuple[int, float]]], same: bool) -> go.Scatter:
    return go.Scatter(
        x=[x for way in ways for x in (*(place[0] for place in way), None)], y=[y for way in ways for y in (*(place[1] for place in way), None)],
        mode="lines", hoverinfo="skip", showlegend=False, line={"width": 1, "color": "#999", "dash": "dot" if same else "solid"},
    )


def _name(node: DatasetNode | JobNode, longest: int) -> str:
    """Plotly reads a little HTML and formulas in texts."""
    named = node.job if isinstance(node, JobNode) else short(node.dataset) if longest == _SHORT else str(node.dataset)
    return f"\u2068{escape(text(named, longest)).replace('$', '&#36;')}\u2069"
