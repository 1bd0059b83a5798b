"""Results: what an action gives, as pages of rows. Nothing is taken out of it: it is the user's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from bigdebug.trace.page import fields_of

ROWS = 50
"""Rows of a page."""


class ResultPage(NamedTuple):
    """Rows from number ``start`` on, of ``total``; None where it is a single value."""

    columns: tuple[str, ...]
    rows: tuple[Sequence[Any], ...]
    start: int
    total: int | None


def result_page(result: Any, start: int) -> ResultPage:
    """Some of the rows of a list, a dict, a frame of pandas' or a table of Arrow's; of anything else, the value."""
    stop = start + ROWS
    if type(result) in (list, tuple):
        columns, rows = fields_of(result[start:stop])
        return ResultPage(columns, rows, start, len(result))
    if isinstance(result, dict):
        items = [item for number, item in enumerate(result.items()) if start <= number < stop]
        return ResultPage(("key", "value"), tuple(items), start, len(result))
    if hasattr(result, "iloc") and hasattr(result, "itertuples"):
        named = tuple(map(str, result.columns))
        return ResultPage(named, tuple(result.iloc[start:stop].itertuples(index=False, name=None)), start, len(result))
    if hasattr(result, "column_names") and hasattr(result, "num_rows"):
        part = result.slice(start, ROWS)
        values = [part.column(number).to_pylist() for number in range(part.num_columns)]
        return ResultPage(tuple(map(str, part.column_names)), tuple(zip(*values, strict=True)), start, result.num_rows)
    return ResultPage(("result",), ((result,),), 0, None)
