"""Charts: how the marks of a result are drawn, as somebody says it or as their columns suggest it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bigdebug.errors import ViewError
from bigdebug.trace.crossfilter.marks import Marks

ROWS = "rows"
"""Stands for the number of rows behind each mark, where a result has no column of that name."""

FEW_BARS, FEW_LINES, WIDE = 40, 8, 300
"""Numbers up to so many are bars of their own; so many series are told apart by colour; a grid of names has so many at most on a side."""

FULL = 0.2
"""Two keys make a grid if this share of its cells has a mark."""

BORDERS = 1e-6
"""Steps between bins are even up to such a share of them."""


@dataclass(frozen=True)
class Chart:
    """What is drawn of a result: the columns at the x axis, at the y axis, and as colour. What is None is chosen from the columns."""

    what: Any
    kind: str | None = None
    x: str | None = None
    y: str | None = None
    color: str | None = None
    name: str | None = None


def chart(what: Any, kind: str | None = None, x: str | None = None, y: str | None = None, color: str | None = None, name: str | None = None) -> Chart:
    """How ``bigdebug.brush`` is to draw a captured DataFrame or RDD, or a run: ``kind`` is bar, histogram, line, scatter, heat or table.

    ``x``, ``y`` and ``color`` are names of columns, or "rows" for the number of rows behind each mark; ``name`` is the title. What is left out is
    chosen from the columns. Raises ViewError for another kind.
    """
    for said, given in (("kind", kind), ("x", x), ("y", y), ("color", color), ("name", name)):
        if not isinstance(given, str | None):
            raise TypeError(f"the {said} of a chart is text, not {given!r}")
    if kind is not None and kind not in KINDS:
        raise ViewError("A chart of an unknown kind", value=kind, remedy=f"There are {', '.join(KINDS)}.")
    return Chart(what, kind, x, y, color, name)


def chosen(given: Chart, marks: Marks) -> Chart:
    """The chart with all that was left to choose. Raises ViewError for a column that is not there, or that this kind of chart cannot draw."""
    for column in (given.x, given.y, given.color):
        if column is not None:
            _column(marks, column)
    if given.kind is None and (given.x or given.y or given.color):
        given = replace(given, kind=_kind_of(given, marks))
    found = _suggested(marks) if given.kind is None else given
    complete = KINDS[found.kind or "table"](found, _Columns(marks))
    return replace(complete, name=marks.name, what=given.what)


class _Columns:
    """The columns of marks: keys, and measures, of which those come first that follow a brush."""

    def __init__(self, marks: Marks) -> None:
        self.marks = marks
        self.keys = [name for name in marks.columns if name not in marks.measured]
        measures = [name for name in marks.columns if name in marks.measured and is_number(marks.columns[name].type)]
        self.measures = sorted(measures, key=lambda name: name in marks.kept)

    def numbers(self) -> list[str]:
        """All that can be measured, what follows a brush first."""
        return [*self.measures, *(name for name in self.keys if is_number(self.marks.columns[name].type))]

    def key(self, *but: str | None) -> str | None:
        return next((name for name in self.keys if name not in but), None)

    def measure(self, *but: str | None) -> str:
        return next((name for name in self.numbers() if name not in but), ROWS)

    def of(self, name: str) -> pa.Array:
        return _column(self.marks, name)


def _column(marks: Marks, name: str) -> pa.Array:
    if name in marks.columns:
        return marks.columns[name]
    if name == ROWS:
        return pa.array(marks.view.association.sizes[: len(marks)])
    raise ViewError(f"'{marks.name}' has no column of this name", value=name, remedy=f"It has {', '.join(marks.columns)}, and {ROWS}.")


def is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def is_time(kind: pa.DataType) -> bool:
    return bool(pa.types.is_date(kind) or pa.types.is_timestamp(kind))


# ---- what the columns suggest --------------------------------------------------------------------------------------


def _suggested(marks: Marks) -> Chart:
    columns = _Columns(marks)
    keys = columns.keys
    nothing = Chart(marks)
    if len(keys) == 1 and (columns.measures or not is_number(columns.of(keys[0]).type)):
        return replace(nothing, kind=_of_one_key(columns.of(keys[0])), x=keys[0])
    if len(keys) == 2:
        return replace(nothing, **_of_two_keys(keys, columns))
    return replace(nothing, kind="table")


def _of_one_key(key: pa.Array) -> str:
    """A few values, or names, are bars; evenly spaced numbers bins; any others a line."""
    if not is_number(key.type) and not is_time(key.type):
        return "bar"
    if len(key) <= FEW_BARS and (is_time(key.type) or pa.types.is_integer(key.type)):
        return "bar"
    return "histogram" if is_number(key.type) and _even(key) else "line"


def _of_two_keys(keys: list[str], columns: _Columns) -> dict[str, Any]:
    one, other = (columns.of(key) for key in keys)
    numeric = [is_number(each.type) or is_time(each.type) for each in (one, other)]
    counts = [_kinds(each) for each in (one, other)]
    if numeric == [True, False] and is_time(one.type) and counts[1] <= FEW_LINES and columns.measures:
        return {"kind": "line", "x": keys[0], "color": keys[1]}
    if numeric == [False, True] and is_time(other.type) and counts[0] <= FEW_LINES and columns.measures:
        return {"kind": "line", "x": keys[1], "color": keys[0]}
    grid = min(counts) > 1 and len(one) >= FULL * counts[0] * counts[1]
    if not columns.measures and counts[0] == len(one) and is_number(other.type) and not is_number(one.type):
        # A result of pairs, as of an RDD: a key, and what belongs to it.
        return {"kind": "line" if numeric[0] else "bar", "x": keys[0], "y": keys[1]}
    if all(numeric):
        return {"kind": "heat" if grid and (columns.measures or len(one) == counts[0] * counts[1]) else "scatter", "x": keys[0], "y": keys[1]}
    return {"kind": "heat" if grid and max(counts) <= WIDE and columns.measures else "table", "x": keys[0], "y": keys[1]}


def _kind_of(given: Chart, marks: Marks) -> str:
    """Of a chart whose columns are said and whose kind is not."""
    x = None if given.x is None else _column(marks, given.x)
    y = None if given.y is None else _column(marks, given.y)
    if x is None:
        return "bar"
    if y is None or given.y in marks.measured or given.y == ROWS:
        return _of_one_key(x) if _kinds(x) == len(x) else "line" if given.color is not None else "scatter"
    return "heat" if given.color in marks.measured and len(x) >= FULL * _kinds(x) * _kinds(y) else "scatter"


def _kinds(values: pa.Array) -> int:
    """How many different values there are; of what cannot be compared, as many as there are."""
    try:
        return int(pc.count_distinct(values, mode="all").as_py())
    except pa.ArrowNotImplementedError:
        return len(values)


def _even(key: pa.Array) -> bool:
    """Whether all finite numbers are whole steps apart."""
    numbers = np.asarray(key.drop_null().cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False))
    numbers = np.unique(numbers[np.isfinite(numbers)])
    if len(numbers) < 3:
        return False
    steps = np.diff(numbers) / np.diff(numbers).min()
    return bool(np.all(np.abs(steps - np.round(steps)) <= BORDERS * steps))


# ---- the kinds -----------------------------------------------------------------------------------------------------


def _along(given: Chart, columns: _Columns) -> Chart:
    """Bars, bins: one mark for each place of the x axis, as long as its number."""
    x = given.x or columns.key(given.y, given.color)
    if x is None:
        raise ViewError(f"A {given.kind} chart of '{columns.marks.name}', which has no key", remedy='Say what is at its axis: chart(what, "bar", x="...").')
    y = given.y or columns.measure(x, given.color)
    _number(given, columns, y, "y")
    if given.kind == "histogram" and not is_number(columns.of(x).type) and not is_time(columns.of(x).type):
        raise ViewError(f"A histogram of '{x}', which has no numbers", value=str(columns.of(x).type), remedy="Draw it as bars, or as a table.")
    if _kinds(columns.of(x)) < len(columns.marks):
        raise ViewError(
            f"A {given.kind} chart of '{columns.marks.name}', where several marks have one '{x}'", value=len(columns.marks),
            remedy=f"Group by {x} alone, or draw it as a line with color=, as a heat map, or as a table.",
        )
    return replace(given, x=x, y=y)


def _line(given: Chart, columns: _Columns) -> Chart:
    x = given.x or columns.key(given.y, given.color)
    if x is None:
        raise ViewError(f"A line of '{columns.marks.name}', which has no key", remedy='Say what is at its axis: chart(what, "line", x="...").')
    y = given.y or columns.measure(x, given.color)
    _number(given, columns, x, "x")
    _number(given, columns, y, "y")
    return replace(given, x=x, y=y)


def _points(given: Chart, columns: _Columns) -> Chart:
    numbers = [name for name in (*columns.keys, *columns.measures) if _placed(columns.of(name).type)]
    x = given.x or next((name for name in numbers if name not in (given.y, given.color)), ROWS)
    y = given.y or next((name for name in numbers if name not in (x, given.color)), ROWS)
    _number(given, columns, x, "x")
    _number(given, columns, y, "y")
    return replace(given, x=x, y=y)


def _cells(given: Chart, columns: _Columns) -> Chart:
    x = given.x or columns.key(given.y, given.color)
    y = given.y or columns.key(x, given.color)
    if x is None or y is None:
        raise ViewError(f"A heat map of '{columns.marks.name}', which has no two keys", remedy='Say what is at its axes: chart(what, "heat", x="...", y="...").')
    color = given.color or columns.measure(x, y)
    if not is_number(columns.of(color).type):
        raise ViewError(f"A heat map of '{color}', which has no numbers", value=str(columns.of(color).type), remedy="Colour it by a number.")
    return replace(given, x=x, y=y, color=color)


def _table(given: Chart, columns: _Columns) -> Chart:
    return replace(given, kind="table", x=None, y=None, color=None)


def _placed(kind: pa.DataType) -> bool:
    return is_number(kind) or is_time(kind)


def _number(given: Chart, columns: _Columns, name: str, axis: str) -> None:
    kind = columns.of(name).type
    bars = given.kind in ("bar", "histogram")
    if not (is_number(kind) or (is_time(kind) and not bars)):
        raise ViewError(f"A {given.kind} chart with '{name}' at its {axis} axis, which has no numbers", value=str(kind), remedy=f"Give another {axis}, or draw a table.")


KINDS: dict[str, Callable[[Chart, _Columns], Chart]] = {
    "bar": _along, "histogram": _along, "line": _line, "scatter": _points, "heat": _cells, "table": _table,
}
"""The kinds of charts, each with what completes one."""
