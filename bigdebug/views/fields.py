"""Fields: records and their sources as texts, as all messages have them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from bigdebug.model import SourceRecord
from bigdebug.shown import shown
from bigdebug.views.payload import text

COLUMNS = 500
"""Fields of a record that a message has; it says how many are left out."""


def names(columns: Sequence[str]) -> list[str]:
    """The names of the columns that a message has."""
    return [text(name) for name in columns[:COLUMNS]]


def cells(row: Sequence[Any]) -> list[str]:
    """The values of a row that a message has."""
    return [text(shown(value)) for value in row[:COLUMNS]]


def sources(records: Iterable[SourceRecord]) -> list[dict[str, str]]:
    """Source records, each by its origin and as a whole."""
    return [{"origin": text(str(record.origin)), "record": text(shown(record.record))} for record in records]
