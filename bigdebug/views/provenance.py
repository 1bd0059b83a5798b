"""A picture of a small answer about a provenance graph: a column of items for each table, and a line for each triple.

Plotly takes some of what it writes for markup; ids, tables and operations are the user's data, so they are texts here whatever is in them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from bigdebug.errors import TooLargeError
from bigdebug.provgraph.answer import Answer
from bigdebug.provgraph.codes import Codes, distinct
from bigdebug.provgraph.paths import Paths
from bigdebug.provgraph.questions import Common
from bigdebug.provgraph.walking import Triples
from bigdebug.shown import LONGEST, masked

MOST_ITEMS, MOST_TRIPLES = 300, 50_000
"""Items, and triples between them, beyond which a picture is refused: nobody could follow its lines."""
_NAMED = 60
"""Items up to which each has its name beside it; the names of more are shown where one points."""
_LONGEST = 40
"""Characters of an id, or of an operation, that are shown."""
_OPERATIONS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#8a6d00", "#882255")
"""Colours that people tell apart who see few; operations beyond them share one."""
_OTHERS = "#888888"
_SWEEPS = 7


def picture(answer: Answer | Paths | Common) -> go.Figure:
    """The items of an answer, those on paths, or those on the ways from common ancestors, by table in the order of the workflow; without one, by how many triples made them at most.

    Those that were asked about are diamonds; operations have colours. Raises TooLargeError for more than ``MOST_ITEMS`` items, or
    ``MOST_TRIPLES`` triples.
    """
    asked = np.array([answer.start, answer.end]) if isinstance(answer, Paths) else answer.asked_codes
    triples = answer.walked.triples if isinstance(answer, Answer) else answer.between
    found = answer.walked.items if isinstance(answer, Answer) else np.zeros(0, np.int64)  # of the others, all are in triples
    items = distinct(np.concatenate([asked, found, triples.src, triples.dst]))
    if len(items) > MOST_ITEMS:
        raise TooLargeError(
            "A picture of so many items shows nothing", value=len(items),
            remedy=f"Up to {MOST_ITEMS} are drawn: " + (
                f"ask with depth=1 or limit={MOST_ITEMS - len(asked)}, or look at answer.by_table()." if isinstance(answer, Answer) else "look at toPandas()."
            ),
        )
    if len(triples.src) > MOST_TRIPLES:
        raise TooLargeError(
            "A picture of so many triples shows nothing", value=len(triples.src),
            remedy=f"Up to {MOST_TRIPLES:,} are drawn: look at {'answer.triples' if isinstance(answer, Answer) else 'toPandas()'}.",
        )
    src, dst = np.searchsorted(items, triples.src), np.searchsorted(items, triples.dst)
    column, heads = _columns(answer, items, src, dst)
    row = _rows(column, src, dst)
    figure = go.Figure()
    _draw_triples(figure, answer, items, triples, (column[src], row[src], column[dst], row[dst]))
    _draw_items(figure, answer, items, np.isin(items, asked), column, row)
    most = int(np.bincount(column).max())
    figure.update_layout(
        template="plotly_white", height=min(max(140 + 24 * most, 260), 900), margin={"l": 20, "r": 20, "t": 60, "b": 20},
        hovermode="closest", title=_text(repr(answer), 110), title_font_size=14,
        xaxis={
            "tickmode": "array", "tickvals": list(range(len(heads))), "ticktext": heads, "side": "top", "zeroline": False, "showgrid": False,
            "range": [-0.5, len(heads) - 0.5],
        },
        yaxis={"visible": False, "range": [most + 0.3, -0.5]},
    )
    return figure


def _columns(answer: Answer | Paths | Common, items: Codes, src: Codes, dst: Codes) -> tuple[Codes, list[str]]:
    """The column of each item, and what stands above each column."""
    if answer.index.workflow is None:
        layer = np.zeros(len(items), np.int64)
        for _ in range(len(items)):
            further = layer.copy()
            np.maximum.at(further, dst, layer[src] + 1)
            # In a graph with circles there is no last one; it has no more layers than items.
            if (further == layer).all():
                break
            layer = further
        found, column = np.unique(layer, return_inverse=True)
        return column, [f"step {number}" if number else "sources" for number in found.tolist()]
    names = answer.index.tables_of(items).tolist()
    order = [name for name in (*answer.index.workflow.tables, None) if name in set(names)]
    place = {name: number for number, name in enumerate(order)}
    return np.array([place[name] for name in names]), [_text("no table" if name is None else name) for name in order]


def _rows(column: Codes, src: Codes, dst: Codes) -> NDArray[np.float64]:
    """Where each item stands in its column: beside those that it was made from, and that were made of it, in turn, so that few lines cross."""
    row = np.zeros(len(column))
    most = int(np.bincount(column).max())
    columns = range(int(column.max()) + 1)
    for sweep in range(_SWEEPS):
        leftwards = sweep % 2 == 0
        at, beside = (src, dst) if leftwards else (dst, src)
        for number in reversed(columns) if leftwards else columns:
            within = np.flatnonzero(column == number)
            count = np.bincount(at, minlength=len(column))[within]
            total = np.bincount(at, row[beside], minlength=len(column))[within]
            wanted = np.where(count > 0, total / np.maximum(count, 1), row[within])
            row[within[np.argsort(wanted, kind="stable")]] = (np.arange(len(within)) + 0.5) * most / len(within)
    return row


def _draw_triples(figure: go.Figure, answer: Answer | Paths | Common, items: Codes, triples: Triples, ends: tuple[NDArray[Any], ...]) -> None:
    """A line for each triple, those of an operation as one trace; what it is, in its middle, where one points. Operations beyond the colours are one trace."""
    ops = answer.index.operations_of(triples.op).tolist()
    names = {op: _text("no operation" if op is None else str(op)) for op in dict.fromkeys(ops)}
    numbers = {op: min(number, len(_OPERATIONS)) for number, op in enumerate(names)}
    traces = [*list(names.values())[: len(_OPERATIONS)], *_further(list(names.values())[len(_OPERATIONS) :])]
    at = np.array([numbers[op] for op in ops], np.int64)
    src, dst = (np.array([_text(value) for value in answer.index.named(end).tolist()], object) for end in (triples.src, triples.dst))
    hover = np.array([f"{s} → {d}: {names[op]}" for s, d, op in zip(src, dst, ops)], object)
    for number, name in enumerate(traces):
        chosen, color = at == number, [*_OPERATIONS, _OTHERS][number]
        left, low, right, high = (end[chosen].astype(float) for end in ends)
        gap = np.full(len(left), np.nan)
        figure.add_scatter(
            x=np.stack([left, right, gap], axis=1).ravel(), y=np.stack([low, high, gap], axis=1).ravel(), mode="lines", name=name,
            line={"color": color, "width": 1.2}, opacity=0.7, hoverinfo="skip", legendgroup=str(number),
        )
        figure.add_scatter(
            x=(left + right) / 2, y=(low + high) / 2, mode="markers", marker={"size": 10, "opacity": 0, "color": color}, hovertext=hover[chosen].tolist(),
            hoverinfo="text", showlegend=False, legendgroup=str(number),
        )


def _further(names: list[str]) -> list[str]:
    """What operations are called that share a trace."""
    return names if len(names) < 2 else [f"{len(names):,} further operations"]


def _draw_items(
    figure: go.Figure, answer: Answer | Paths | Common, items: Codes, asked: NDArray[np.bool_], column: Codes, row: NDArray[np.float64]
) -> None:
    texts = np.array([_text(value) for value in answer.index.named(items).tolist()], object)
    for name, chosen, marker in (
        ("items", ~asked, {"size": 8, "color": "#444444"}), ("asked about", asked, {"size": 13, "color": "#000000", "symbol": "diamond"}),
    ):  # fmt: skip
        if chosen.any():
            figure.add_scatter(
                x=column[chosen], y=row[chosen], name=name, marker=marker, hoverinfo="text", hovertext=texts[chosen], text=texts[chosen],
                mode="markers+text" if len(items) <= _NAMED else "markers", textposition="top center", textfont_size=11,
            )


def _text(value: Any, longest: int = _LONGEST) -> str:
    """The value as text that plotly shows as it is: without secrets, cut, with no markup, no formulas, and its own direction of writing."""
    text = masked((value if isinstance(value, str) else str(value))[: max(LONGEST, longest)])
    text = " ".join(text[:longest].split()) + ("…" if len(text) > longest else "")
    for character, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("$", "&#36;")):
        text = text.replace(character, entity)
    return f"\u2068{text}\u2069"
