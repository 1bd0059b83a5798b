"""The contents of the replay view's messages: what is different between two results. As JSON-ready data.

``labextension/src/comparing.ts`` is their other half; both read and write the files of ``tests/golden/comparison``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from bigdebug.agents.alike import alike
from bigdebug.localize.comparison import Change, Comparison, Inputs
from bigdebug.shown import shown
from bigdebug.trace.page import fields_of
from bigdebug.views.fields import COLUMNS, cells, names, sources
from bigdebug.views.payload import text

ROWS = 20
"""Changes of a page."""

KINDS = ("changed", "added", "removed")


class Fields:
    """The changes of a comparison by their fields: tuples of one length have a column for each, whatever else there is has one for the record."""

    def __init__(self, changes: Sequence[Change]) -> None:
        self.changes = changes
        self.columns, rows = fields_of([record for change in changes for record in (*change.before, *change.after)])
        following = iter(rows)
        self._rows = [([next(following) for _ in change.before], [next(following) for _ in change.after]) for change in changes]

    def numbers(self, kind: str) -> list[int]:
        """The changes of a kind, all if it is "all", by their numbers."""
        return [number for number, change in enumerate(self.changes) if kind in ("all", change.kind)]

    def before(self, number: int) -> Sequence[Any] | None:
        """The fields of the old output; None where there is none."""
        return next(iter(self._rows[number][0]), None)

    def after(self, number: int) -> Sequence[Any] | None:
        return next(iter(self._rows[number][1]), None)

    def differ(self, number: int) -> list[bool]:
        """Which fields of a change are others than before; of one that is added or removed, none is compared."""
        old, new = self.before(number), self.after(number)
        if old is None or new is None:
            return [False] * len(self.columns)
        others = [not alike(one, other) for one, other in zip(old, new)]
        # Of a change no field of which differs as far as is compared here, those differ that are shown so.
        return others if any(others) else [shown(one) != shown(other) for one, other in zip(old, new)]


def summary(comparison: Comparison, fields: Fields) -> dict[str, Any]:
    """How many outputs there are of each kind, and what was not compared."""
    kinds = Counter(change.kind for change in fields.changes)
    return {
        **{kind: kinds[kind] for kind in KINDS}, "kept": comparison.kept,
        "notes": [text(note) for note in (*comparison.reasons(), *comparison.notes)],
    }


def page(fields: Fields, kind: str, start: int) -> dict[str, Any]:
    """Changes of a kind, from one on; ``total`` are of that kind."""
    numbers = fields.numbers(kind)
    return {
        "kind": kind, "start": start, "total": len(numbers), "columns": names(fields.columns), "left": max(0, len(fields.columns) - COLUMNS),
        "changes": [_change(fields, number) for number in numbers[start: start + ROWS]],
    }


def _change(fields: Fields, number: int) -> dict[str, Any]:
    change = fields.changes[number]
    return {
        "number": number, "kind": change.kind, "before": _row(fields.before(number)), "after": _row(fields.after(number)),
        "differ": [place for place, differs in enumerate(fields.differ(number)) if differs], "inputs": None if change.inputs is None else _inputs(change.inputs),
    }


def _row(row: Sequence[Any] | None) -> list[str] | None:
    return None if row is None else cells(row)


def _inputs(inputs: Inputs) -> dict[str, Any]:
    return {
        "gone": sources(inputs.gone), "gones": inputs.gones,
        "new": sources(inputs.new), "news": inputs.news, "same": inputs.same,
    }
