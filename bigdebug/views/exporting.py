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
from itertools import chain
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

DEEPEST = 100
"""Values within values that are written as such; what is deeper, or holds itself, is shown as everywhere."""

_REMEDY = "Narrow the trace to what you need, or take them in Python: view.frame() has all of them as pandas."

_WALKED = (dict, list, tuple, set, frozenset, deque)
"""What is written by its values."""

_SHORT, _LONG = 2_000, 15_000
"""Bits of an integer that Python writes in decimals wherever it runs, and of one that it may."""

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
    return {"name": f"{_file_name(name)}.{form}", "kind": kind, "records": len(records.rows), "text": _joined(written(records))}


def _joined(pieces: Iterable[str]) -> str:
    """The text that pieces are. Raises ViewError at the first one that is too much."""
    found, left = [], CHARACTERS
    for piece in pieces:
        found.append(piece.encode("utf-8", "backslashreplace").decode())  # a half of a surrogate pair is no text elsewhere
        left -= len(found[-1])
        if left < 0:
            raise _too_long()
    return "".join(found)


def _pages(trace: Any) -> Iterator[Page]:
    """All records of a trace, in pages that grow as long as what they take is not too much."""
    start, num, taken = 0, _FIRST, 0
    while True:
        page = trace.page(start, num)
        yield page
        taken += sum(map(_size, page.rows))
        if taken > CHARACTERS:
            raise _too_long()
        if not page.more:
            return
        start += num
        num = max(1, min(num * _MORE, (CHARACTERS - taken) * start // max(1, taken)))


def _too_long() -> ViewError:
    return ViewError(f"A file for the browser has {CHARACTERS:,} characters at most, and these records take more", remedy=_REMEDY)


def _size(row: Sequence[Any]) -> int:
    """At least how many characters the values of a record take; of more than a file has, not all are counted."""
    size, within = 0, [iter(row)]
    while within and size <= CHARACTERS:
        for value in within[-1]:
            size += len(value) if isinstance(value, str | bytes) else 1
            if isinstance(value, _WALKED) and len(within) <= DEEPEST:
                within.append(chain.from_iterable(value.items()) if isinstance(value, dict) else iter(value))
                break
            if size > CHARACTERS:
                break
        else:
            within.pop()
    return size


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


def _json(records: Records) -> Iterator[str]:
    """As pandas writes a frame split: columns may have one name, and records none."""
    named = {} if records.names is None else {records.named: records.names}
    yield _dumped({"columns": records.columns, "number": records.numbers, **named, "data": []})[:-2]
    plain = _Plain()
    for at, row in enumerate(records.rows):
        yield f"{', ' if at else ''}{_dumped([plain(value) for value in row])}"
    yield "]}"


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


class _Plain:
    """Values as JSON has them: rows within rows by the names of their fields, and as text what JSON has no way to write.

    Raises ViewError for more than a file has: what holds one thing many times, and that another, has no end otherwise.
    """

    def __init__(self) -> None:
        self._left = CHARACTERS

    def __call__(self, value: Any, depth: int = 0) -> Any:
        found = self._of(value, depth)
        self._left -= max(1, len(found)) if isinstance(found, str) else 1
        if self._left < 0:
            raise _too_long()
        return found

    def _of(self, value: Any, depth: int) -> Any:
        if isinstance(value, np.number | np.bool_):
            value = value.item()
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return masked(str.__str__(value))
        if isinstance(value, int):
            return _whole(int(value))
        if isinstance(value, float):
            return float(value) if math.isfinite(value) else repr(float(value))
        if isinstance(value, _WALKED):
            return shown(value) if depth == DEEPEST else self._structure(value, depth + 1)
        return _text(value)

    def _structure(self, value: Any, depth: int) -> Any:
        """Pairs where names are none, or one twice: an object of JSON would lose some."""
        if isinstance(value, tuple):
            fields: Any = getattr(value, "__fields__", None) or getattr(value, "_fields", ())
            if len(fields) == len(value):
                return self._object(zip(map(str, fields), value), depth)
        if isinstance(value, dict):
            return self._object(value.items(), depth)
        return [self(each, depth) for each in value]

    def _object(self, pairs: Iterable[tuple[Any, Any]], depth: int) -> Any:
        known = [(self(key, depth), self(each, depth), isinstance(key, str)) for key, each in pairs]
        if all(text for *_, text in known) and len({key for key, *_ in known}) == len(known):
            return {key: each for key, each, _ in known}
        return [[key, each] for key, each, _ in known]


def _whole(value: int) -> int | str:
    """An integer, in hexadecimals where Python writes no decimals: whole, too, and no time is spent on it."""
    if value.bit_length() <= _SHORT:
        return value
    try:
        return value if value.bit_length() <= _LONG and str(value) else hex(value)
    except ValueError:
        return hex(value)


def _text(value: Any) -> str:
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, Decimal):
        return str(value)
    return masked(repr(value)) if type(value) in (bytes, bytearray, complex) else shown(value)


# ---- CSV ---------------------------------------------------------------------------------------------------------


def _csv(records: Records) -> Iterator[str]:
    """As RFC 4180 has it, with a mark in front by which spreadsheets know UTF-8. Texts stand in quotes, and nothing at all for None."""
    names = [] if records.names is None else [records.names]
    plain = _Plain()
    head = ["number", *([records.named] if names else []), *records.columns]
    yield f"\ufeff{','.join(map(_cell, head))}\r\n"
    for at, (number, row) in enumerate(zip(records.numbers, records.rows, strict=True)):
        yield f"{','.join(map(_cell, (number, *(name[at] for name in names), *map(plain, row))))}\r\n"


def _cell(found: Any) -> str:
    """What JSON has, as a field."""
    if found is None:
        return ""
    if isinstance(found, bool | int | float):
        return str(found)
    return '"' + unformulated(found if isinstance(found, str) else _dumped(found)).replace('"', '""') + '"'


def unformulated(text: str) -> str:
    """The text, with an apostrophe before it where a spreadsheet would compute it. Numbers may have their signs."""
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


_FORMS: Mapping[str, tuple[str, Callable[[Records], Iterator[str]]]] = {"csv": ("text/csv", _csv), "json": ("application/json", _json)}
