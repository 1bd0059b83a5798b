"""A page: some of a trace's records in their order, with their numbers and their fields."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bigdebug.errors import UnknownRecordError
from bigdebug.shown import by_fields
from bigdebug.trace.given import whole
from bigdebug.trace.places import Places
from bigdebug.trace.positions import Positions, distinct

RECORD = ("record",)
"""The only column of records that are no tuples of one length."""


@dataclass(frozen=True, repr=False)
class Page:
    """Records from one number on. ``numbers`` count a trace's records from 0; rows that only go together have one number.

    ``names`` say where each came from, or its rid; None where rows have keys for names. ``more`` says whether others follow.
    """

    columns: tuple[str, ...]
    numbers: tuple[int, ...]
    names: tuple[str, ...] | None
    rows: tuple[Sequence[Any], ...]
    more: bool
    origins: bool = False
    """Whether ``names`` are origins."""
    beyond: bool = False
    """Whether others follow that no page has, for only the first ones have numbers."""

    def __repr__(self) -> str:
        return by_fields(self)


def fields_of(records: Sequence[Any]) -> tuple[tuple[str, ...], tuple[Sequence[Any], ...]]:
    """Records by their fields: tuples of one length have a column for each, whatever else there is has one for the record."""
    lengths = {len(r) if isinstance(r, tuple) else 0 for r in records}
    if len(lengths) != 1 or lengths == {0}:
        return RECORD, tuple((record,) for record in records)
    named: Any = [getattr(r, "__fields__", None) or getattr(r, "_fields", ()) for r in records]
    names = {tuple(map(str, fields)) for fields in named}
    [length] = lengths
    own = names.pop() if len(names) == 1 else ()
    return own if len(own) == length else tuple(f"_{i + 1}" for i in range(length)), tuple(records)


def page_of(trace: Any, start: int, num: int) -> Page:
    """``num`` records of a trace over RDDs from number ``start`` on, named by their origins where it stands at sources, else by their rids."""
    total = trace.count()
    numbers = range(whole(start, "pages start at a whole number"), min(start + whole(num, "a page has a whole number of records"), total))
    part = trace.numbered(numbers)
    columns, rows = fields_of(part.collect())
    at_sources = all(operator in trace.run.sources for operator in trace.operators)
    names = tuple(map(str, part.origins() if at_sources else part.rids().tolist()))
    return Page(columns, tuple(numbers), names, rows, numbers.stop < total, at_sources)


def numbers_given(given: Iterable[int]) -> Positions:
    """Numbers of records, ascending, each once. Raises UnknownRecordError for what is none."""
    found = [whole(each, "records are numbered by whole numbers") for each in given]
    if any(number < 0 for number in found):
        raise UnknownRecordError("Records are numbered from 0", value=min(found), remedy="page() says which numbers there are.")
    if any(number >= 1 << 63 for number in found):
        raise UnknownRecordError("No trace has so many records", value=max(found), remedy="page() says which numbers there are.")
    return distinct(np.array(found, dtype=np.int64))


def check_numbers(numbers: Positions, known: int, where: object) -> None:
    """Raise UnknownRecordError for a number beyond the last record."""
    if len(numbers) and numbers[-1] >= known:
        raise UnknownRecordError(f"This trace names {known:,} records at {where}", value=int(numbers[-1]), remedy="They are numbered from 0.")


def numbered(places: Places, numbers: Positions) -> dict[int, Positions]:
    """The places with these numbers, counted through the partitions in their order."""
    found: dict[int, Positions] = {}
    before = 0
    for partition in sorted(places):
        here = places[partition]
        first, last = np.searchsorted(numbers, [before, before + len(here)])
        if first < last:
            found[partition] = here[numbers[first:last] - before]
        before += len(here)
    return found
