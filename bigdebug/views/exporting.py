"""Exports: all records of a trace at one operator as the text of a file, for programs (JSON) or for spreadsheets (CSV).

Whole or refused: a part of the records would look like all of them. A spreadsheet computes what begins as a formula does, and the records are anybody's:
in CSV such a text has an apostrophe before it, by which spreadsheets know text. JSON has every text as it is.
"""

from __future__ import annotations

import json
import math
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np

from bigdebug.errors import MessageError, ViewError
from bigdebug.shown import counted, masked, shown
from bigdebug.trace.page import RECORD, Page, fields_of

RECORDS = 10_000
"""Records of a file: as many as a browser can turn the pages of."""

CHARACTERS = 20_000_000
"""Characters of a file."""

_FIRST, _MORE = 50, 10
"""Records that are read first, and how many times as many are read then: what they take is known by then."""

_REMEDY = "Narrow the trace to what you need, or take them in Python: view.frame() has all of them as pandas."

_FORMULA = re.compile(r"[\t\r\n]|\s*[=+\-@\uff1d\uff0b\uff0d\uff20]")
_NUMBER = re.compile(r"[+-]?\d[\d.,]*(?:[eE][+-]?\d+)?")


class Records(NamedTuple):
    """Records by their numbers; ``names`` say where each came from, if that is known, under the heading ``named``."""

    columns: Sequence[str]
    numbers: Sequence[int]
    names: Sequence[str] | None
    rows: Sequence[Sequence[Any]]
    named: str


def export(trace: Any, form: str, name: str) -> dict[str, Any]:
    """All records of a trace over one operator, as the text of a file. Jobs as ``trace.page()`` takes, some four.

    Raises ViewError for more than 10,000 records or 20 million characters, MessageError for a form that there is not.
    """
    if form not in _FORMS:
        raise MessageError(f"Records are exported as {' or '.join(_FORMS)}", value=form, remedy="Reload the page.")
    known = trace.count()
    if known > RECORDS:
        raise ViewError(f"A file for the browser has {RECORDS:,} records at most, and these are {counted(known)}", remedy=_REMEDY)
    kind, written = _FORMS[form]
    records = _together([*_pages(trace)])
    text = written(records).encode("utf-8", "backslashreplace").decode()  # a half of a surrogate pair is no text elsewhere
    if len(text) > CHARACTERS:
        raise _too_long()
    return {"name": f"{_file_name(name)}.{form}", "kind": kind, "records": len(records.rows), "text": text}


def _pages(trace: Any) -> Iterator[Page]:
    """All records of a trace, in pages that grow as long as what they take is not too much."""
    start, num, taken = 0, _FIRST, 0
    while True:
        page = trace.page(start, num)
        yield page
        taken += sum(_size(value) for row in page.rows for value in row)
        if taken > CHARACTERS:
            raise _too_long()
        if not page.more:
            return
        start += num
        num = max(1, min(num * _MORE, (CHARACTERS - taken) * start // max(1, taken)))


def _too_long() -> ViewError:
    return ViewError(f"A file for the browser has {CHARACTERS:,} characters at most, and these records take more", remedy=_REMEDY)


def _size(value: Any) -> int:
    """At least how many characters a value takes."""
    if isinstance(value, str | bytes):
        return len(value)
    if isinstance(value, Mapping):
        return sum(_size(key) + _size(each) for key, each in value.items())
    return sum(map(_size, value)) if isinstance(value, list | tuple | set | frozenset | deque) else 1


def _together(pages: Sequence[Page]) -> Records:
    """The records of all pages, with a column for each field if it is the same ones on all pages."""
    columns, rows = pages[0].columns, tuple(row for page in pages for row in page.rows)
    if any(page.columns != columns for page in pages):
        columns, rows = fields_of([row[0] if page.columns == RECORD else row for page in pages for row in page.rows])
    names = None if pages[0].names is None else [masked(name) for page in pages for name in page.names or ()]
    return Records([masked(column) for column in columns], [number for page in pages for number in page.numbers], names, rows, "origin" if pages[0].origins else "rid")


def _file_name(name: str) -> str:
    """A name without what a file system or a shell takes for something else."""
    return re.sub(r"[^\w.-]+", "-", masked(name)).strip("-.")[:80] or "records"


# ---- JSON --------------------------------------------------------------------------------------------------------


def _json(records: Records) -> str:
    """As pandas writes a frame split: columns may have one name, and records none."""
    named = {} if records.names is None else {records.named: records.names}
    rows = [[_plain(value) for value in row] for row in records.rows]
    return json.dumps({"columns": records.columns, "number": records.numbers, **named, "data": rows}, ensure_ascii=False, allow_nan=False)


def _plain(value: Any) -> Any:
    """The value as JSON has it: rows within rows by the names of their fields, and as text what JSON has no way to write."""
    if isinstance(value, np.number | np.bool_):
        value = value.item()
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return masked(str.__str__(value))
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else repr(float(value))
    return _structure(value)


def _structure(value: Any) -> Any:
    """Pairs where names are none, or one twice: an object of JSON would lose some."""
    if isinstance(value, tuple):
        fields: Any = getattr(value, "__fields__", None) or getattr(value, "_fields", ())
        if len(fields) == len(value):
            return _object(zip(map(str, fields), value))
    if isinstance(value, dict):
        return _object(value.items())
    if isinstance(value, list | tuple | set | frozenset | deque):
        return [_plain(each) for each in value]
    return _text(value)


def _object(pairs: Iterable[tuple[Any, Any]]) -> Any:
    known = [(_plain(key), _plain(each), isinstance(key, str)) for key, each in pairs]
    if all(text for *_, text in known) and len({key for key, *_ in known}) == len(known):
        return {key: each for key, each, _ in known}
    return [[key, each] for key, each, _ in known]


def _text(value: Any) -> str:
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, Decimal):
        return str(value)
    return masked(repr(value)) if type(value) in (bytes, bytearray, complex) else shown(value)


# ---- CSV ---------------------------------------------------------------------------------------------------------


def _csv(records: Records) -> str:
    """As RFC 4180 has it, with a mark in front by which spreadsheets know UTF-8. Texts stand in quotes, and nothing at all for None."""
    names = [] if records.names is None else [records.names]
    head = ["number", *([records.named] if names else []), *records.columns]
    lines = [head, *([number, *(name[at] for name in names), *row] for at, (number, row) in enumerate(zip(records.numbers, records.rows, strict=True)))]
    return "\ufeff" + "".join(",".join(map(_cell, line)) + "\r\n" for line in lines)


def _cell(value: Any) -> str:
    found = _plain(value)
    if found is None:
        return ""
    if isinstance(found, bool | int | float):
        return str(found)
    text = found if isinstance(found, str) else json.dumps(found, ensure_ascii=False, allow_nan=False)
    return '"' + unformulated(text).replace('"', '""') + '"'


def unformulated(text: str) -> str:
    """The text, with an apostrophe before it where a spreadsheet would compute it. Numbers may have their signs."""
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


_FORMS: Mapping[str, tuple[str, Callable[[Records], str]]] = {"csv": ("text/csv", _csv), "json": ("application/json", _json)}
