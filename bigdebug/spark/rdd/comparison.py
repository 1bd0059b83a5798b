"""Comparison: two results of one program side by side."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from bigdebug.agents.likeness import likeness
from bigdebug.shown import shown
from bigdebug.trace.table import Table


@dataclass(frozen=True)
class Comparison:
    """Two results side by side as multisets: records only in the new one, only in the old one, and in both."""

    added: tuple[Any, ...]
    removed: tuple[Any, ...]
    kept: int

    @property
    def changed(self) -> tuple[tuple[Any, Any], ...]:
        """(old, new) of key-value records of a key that lost one value and got another.

        A key that lost or got several values is left out: which of them became which, nobody knows.
        """
        olds, news = _by_key(self.removed), _by_key(self.added)
        return tuple(
            (olds[key][0], new[0]) for key, new in news.items() if len(new) == 1 and len(olds.get(key, ())) == 1
        )

    def table(self) -> Table:
        rows = [("+", shown(r)) for r in self.added] + [("-", shown(r)) for r in self.removed]
        return Table(("", "record"), rows, (f"{len(self.added)} added, {len(self.removed)} removed, {self.kept} the same",))

    def __repr__(self) -> str:
        return self.table().text()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        return self.table()._repr_mimebundle_()


def compared(before: Iterable[Any], after: Iterable[Any]) -> Comparison:
    """Compare two results as multisets. Raises ReplayError for records that cannot be compared."""
    left: dict[bytes, list[Any]] = {}
    for record in before:
        left.setdefault(likeness(record), []).append(record)
    added, kept = [], 0
    for record in after:
        if same := left.get(likeness(record)):
            same.pop()
            kept += 1
        else:
            added.append(record)
    return Comparison(tuple(added), tuple(r for records in left.values() for r in records), kept)


def _by_key(records: Iterable[Any]) -> dict[bytes, list[Any]]:
    found: dict[bytes, list[Any]] = {}
    for record in records:
        if isinstance(record, tuple) and len(record) > 1:
            found.setdefault(likeness(record[0]), []).append(record)
    return found
