"""The contents of the brush view's messages: charts with their marks, what is brushed, and what each shows then. JSON-ready but for arrays.

``labextension/src/brushing.ts`` is their other half; both read and write the files of ``tests/golden/brush``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from bigdebug.errors import MessageError
from bigdebug.shown import shown
from bigdebug.trace.crossfilter.selection import Selection
from bigdebug.views.brushed import Brushed
from bigdebug.views.channels import bits, unpacked
from bigdebug.views.fields import COLUMNS, cells
from bigdebug.views.fields import names as labels
from bigdebug.views.payload import Request, text
from bigdebug.views.tracing import ROWS

FIELDS = 20
"""Fields of a mark that a message has; it says if there are more."""

MODES = ("crossfilter", "highlight")


def charted(brushed: Brushed) -> dict[str, Any]:
    """A chart with its marks, as all rows make them."""
    names = list(brushed.marks.columns)
    return {
        "name": text(brushed.name), "kind": brushed.chart.kind, "marks": len(brushed.marks), "channels": brushed.channels(), "follows": brushed.follows,
        "columns": labels(names), "left": max(0, len(names) - COLUMNS), "notes": [text(note) for note in brushed.marks.notes],
    }


def clauses(charts: Sequence[Brushed], selection: Selection, changed: Iterable[str]) -> list[dict[str, Any]]:
    """What is brushed in the charts of these names; ``marks`` is None where nothing is."""
    names = set(changed)
    return [{"view": number, "marks": _flags(selection, each)} for number, each in enumerate(charts) if each.name in names]


def _flags(selection: Selection, chart: Brushed) -> npt.NDArray[np.uint8] | None:
    if chart.name not in selection.clauses:
        return None
    flags = np.zeros(len(chart.marks), dtype=bool)
    flags[np.asarray(selection.clauses[chart.name].to_array(), dtype=np.int64)] = True
    return bits(flags)


def showing(number: int, chart: Brushed, recomputed: bool) -> dict[str, Any]:
    """What a chart shows now: ``lit`` are the marks that share rows with what is brushed in others, None for all."""
    lit = chart.lit
    return {"view": number, "lit": None if lit is None else bits(lit), "channels": chart.changed() if recomputed else {}}


def fields(number: int, chart: Brushed, mark: int, recomputed: bool) -> dict[str, Any]:
    """One mark, field by field: as it is now, and as all rows make it where that differs."""
    names = list(chart.marks.columns)
    rows, everything = chart.rows(mark)
    return {
        "view": number, "mark": mark, "rows": rows, "of": everything, "left": max(0, len(names) - FIELDS),
        "fields": [_field(name, chart.column(name, recomputed)[mark], chart.marks.columns[name][mark]) for name in names[:FIELDS]],
    }


def _field(name: str, now: pa.Scalar, everything: pa.Scalar) -> dict[str, Any]:
    value, whole = _cell(now), _cell(everything)
    return {"name": text(name), "now": value, "all": None if value == whole else whole}


def page(number: int, chart: Brushed, request: Request, recomputed: bool) -> dict[str, Any]:
    """Marks as rows of texts, in the order of a column if one is asked for. NULL comes last, NaN before it."""
    start, sort, descending = request.number("start"), request.content.get("sort"), request.content.get("descending") is True
    columns = chart.columns(recomputed)
    names = list(columns)[:COLUMNS]
    order = np.arange(len(chart.marks))
    if sort is not None:
        order = _sorted(columns[names[_within(request, "sort", len(names))]], descending)
    numbers = order[start: start + ROWS]
    taken = [columns[name].take(pa.array(numbers)) for name in names]
    lit = chart.lit
    return {
        "view": number, "start": start, "numbers": numbers.tolist(), "total": len(chart.marks), "lit": [lit is None or bool(lit[each]) for each in numbers.tolist()],
        "rows": [[_cell(column[at]) for column in taken] for at in range(len(numbers))],
    }


def rows(trace: Any, start: int) -> dict[str, Any]:
    """Some of the records of a trace that stands at an input, with where each came from if that is known. A job."""
    found, names = trace.page(start, ROWS), trace.run.input_names()
    return {
        "input": text(names.get(trace.operators[0], "")), "start": start, "columns": labels(found.columns), "left": max(0, len(found.columns) - COLUMNS),
        "names": None if found.names is None else [text(name) for name in found.names], "rows": [cells(row) for row in found.rows], "more": found.more, "beyond": found.beyond,
    }


def _sorted(values: pa.Array, descending: bool) -> npt.NDArray[np.int64]:
    order = "descending" if descending else "ascending"
    try:
        found = pc.array_sort_indices(values, order=order)
    except pa.ArrowNotImplementedError:  # what has no order is in that of its text
        found = pc.array_sort_indices(pa.array([_cell(value) for value in values]), order=order)
    return np.asarray(found.to_numpy(), dtype=np.int64)


def _cell(value: pa.Scalar) -> str:
    found = value.as_py()
    return text("NULL" if found is None else found if isinstance(found, str) else str(found) if _plain(value.type) else shown(found))


def _plain(kind: pa.DataType) -> bool:
    """Whether a value's own text is what a reader expects: a number, a moment, a decimal."""
    return not (pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


# ---- what a browser says -------------------------------------------------------------------------------------------


def brushes(request: Request, charts: Sequence[Brushed]) -> list[tuple[Brushed, npt.NDArray[np.int64] | None]]:
    """Charts and the marks that are brushed in them from now on, None to clear. Raises MessageError for what is none of that kind."""
    found = request.content.get("clauses")
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise MessageError("The request 'brush' needs clauses, a list", value=found, remedy="Reload the page.")
    return [_clause(Request(request.id, request.name, each), charts) for each in found]


def _clause(part: Request, charts: Sequence[Brushed]) -> tuple[Brushed, npt.NDArray[np.int64] | None]:
    chart = charts[_within(part, "view", len(charts))]
    marks = part.content.get("marks")
    if marks is None:
        return chart, None
    try:
        return chart, np.flatnonzero(unpacked(marks, len(chart.marks)))
    except (TypeError, ValueError) as wrong:
        raise MessageError(f"What is brushed in '{chart.name}' cannot be read: {wrong}", remedy="Reload the page.") from wrong


def chart_in(request: Request, charts: Sequence[Brushed]) -> tuple[int, Brushed]:
    """The chart that a request speaks of. Raises MessageError if there is none such."""
    number = _within(request, "view", len(charts))
    return number, charts[number]


def mark_in(request: Request, chart: Brushed) -> int:
    return _within(request, "mark", len(chart.marks))


def mode_in(request: Request) -> str:
    mode = request.text("mode")
    if mode not in MODES:
        raise MessageError(f"Linked views do {' or '.join(MODES)}", value=mode, remedy="Reload the page.")
    return mode


def _within(request: Request, name: str, count: int) -> int:
    number = request.number(name)
    if number >= count:
        raise MessageError(f"The request {request.name!r} has a {name} that is none of {count}", value=number, remedy="Reload the page.")
    return number
