"""Comparison: two results of one program side by side."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from bigdebug.agents.recompute import canonical
from bigdebug.trace.shown import shown
from bigdebug.trace.table import Table


@dataclass(frozen=True)
class Comparison:
    """Two results side by side as multisets: records only in the new one, only in the old one, and in both."""

    added: tuple[Any, ...]
    removed: tuple[Any, ...]
    kept: int

    @property
    def changed(self) -> tuple[tuple[Any, Any], ...]:
        """(old, new) of key-value records whose key is in both and whose value is not."""
        olds = {_key(r): r for r in self.removed if _key(r) is not None}
        return tuple((olds[_key(r)], r) for r in self.added if _key(r) in olds)

    def table(self) -> Table:
        rows = [("+", shown(r)) for r in self.added] + [("-", shown(r)) for r in self.removed]
        return Table(("", "record"), rows, (f"{len(self.added)} added, {len(self.removed)} removed, {self.kept} the same",))

    def __repr__(self) -> str:
        return self.table().text()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        return self.table()._repr_mimebundle_()



def compared(before: Iterable[Any], after: Iterable[Any]) -> Comparison:
    """Compare two results as multisets; records are equal if their canonical bytes are."""
    left: dict[bytes, list[Any]] = {}
    for record in before:
        left.setdefault(canonical(record), []).append(record)
    added, kept = [], 0
    for record in after:
        if same := left.get(canonical(record)):
            same.pop()
            kept += 1
        else:
            added.append(record)
    return Comparison(tuple(added), tuple(r for records in left.values() for r in records), kept)


def _key(record: Any) -> Any:
    if isinstance(record, tuple) and len(record) > 1:
        try:
            hash(record[0])
        except TypeError:
            return None
        return record[0]
    return None
