"""Comparison: two results side by side, of one program on other records, or of two programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from bigdebug.agents.alike import name
from bigdebug.agents.partners import partners
from bigdebug.model import SourceRecord
from bigdebug.shown import by_fields, counted, shown
from bigdebug.trace.table import Table

Key = Callable[[Any], Any]

FEW = 20
"""Records of one key that are compared with each other."""

TOLD = 20
"""Inputs of a change that are kept, of those gone and of the new ones."""

_ROWS = 20
"""Changes that a table has, those first of which the inputs are known."""


@dataclass(frozen=True)
class Inputs:
    """What a change was made of: ``gone`` are inputs of the old output alone, ``new`` of the new one alone, the first of them; ``same`` of both.

    There are ``gones`` and ``news`` of them in all.
    """

    gone: tuple[SourceRecord, ...]
    new: tuple[SourceRecord, ...]
    gones: int
    news: int
    same: int

    @property
    def differ(self) -> bool:
        return bool(self.gones or self.news)


@dataclass(frozen=True, repr=False)
class Change:
    """An output that only the new result has (``before`` is empty), only the old one (``after`` is), or that became another.

    ``inputs`` is None if nobody has asked what is behind it, or if that is too much to compare.
    """

    before: tuple[Any, ...]
    after: tuple[Any, ...]
    inputs: Inputs | None = None

    @property
    def kind(self) -> str:
        return "changed" if self.before and self.after else "removed" if self.before else "added"

    def __repr__(self) -> str:
        return by_fields(self)


@dataclass(frozen=True)
class Comparison:
    """Two results side by side as multisets: records only in the new one, only in the old one, and in both.

    ``changes`` are the same by output, with the inputs behind them, where lineage of both sides was compared; ``notes`` say what was not.
    """

    added: tuple[Any, ...]
    removed: tuple[Any, ...]
    kept: int
    changes: tuple[Change, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def changed(self) -> tuple[tuple[Any, Any], ...]:
        """(old, new) of key-value records of a key that lost one value and got another.

        A key that lost or got several values is left out: which of them became which, nobody knows.
        """
        return tuple((self.removed[old], self.added[new]) for old, new in paired(self.removed, self.added))

    @property
    def every(self) -> tuple[Change, ...]:
        """The changes; where nobody asked what is behind them, those that the records added and removed are, each key's that became another first."""
        if self.changes:
            return self.changes
        pairs = paired(self.removed, self.added)
        old, new = {i for i, _ in pairs}, {j for _, j in pairs}
        return (
            *(Change((self.removed[i],), (self.added[j],)) for i, j in pairs),
            *(Change((record,), ()) for i, record in enumerate(self.removed) if i not in old),
            *(Change((), (record,)) for j, record in enumerate(self.added) if j not in new),
        )

    def table(self) -> Table:
        summary = f"{len(self.added)} added, {len(self.removed)} removed, {self.kept} the same"
        if not self.changes:
            rows = [("+", shown(r)) for r in self.added[:_ROWS]] + [("-", shown(r)) for r in self.removed[:_ROWS]]
            left = len(self.added) + len(self.removed) - len(rows)
            return Table(("", "record"), rows, (*_more(left, "added and removed have"), summary, *self.notes))
        first = sorted(self.changes, key=lambda each: each.inputs is None)[:_ROWS]
        found = [(each.kind, _first(each.before), _first(each.after), *(("", "", "") if each.inputs is None else _told(each.inputs))) for each in first]
        more = _more(len(self.changes) - len(first), "changes has")
        kinds = Counter(each.kind for each in self.changes)
        caption = f"{kinds['changed']:,} changed, {kinds['added']:,} added, {kinds['removed']:,} removed, {self.kept:,} the same"
        header = ("", "before", "after", "inputs gone", "inputs new", "inputs of both")
        return Table(header, found, (*more, *self.reasons(), *self.notes), caption)

    def reasons(self) -> list[str]:
        """What may be the reason of changes that inputs do not explain."""
        alike = sum(1 for each in self.changes if each.kind == "changed" and each.inputs is not None and not each.inputs.differ)
        return [f"{counted(alike)} changed though made of the same inputs: the program differs, or does not repeat itself."] if alike else []

    def __repr__(self) -> str:
        return self.table().text()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        return self.table()._repr_mimebundle_()


def _more(left: int, where: str) -> list[str]:
    return [f"and {left:,} more: {where} them all"] if left > 0 else []


def compared(before: Iterable[Any], after: Iterable[Any]) -> Comparison:
    """Compare two results as multisets. Raises ReplayError for records that cannot be compared."""
    olds, news = list(before), list(after)
    removed, added = unmatched(olds, news)
    return Comparison(tuple(news[i] for i in added), tuple(olds[i] for i in removed), len(olds) - len(removed))


def unmatched(before: Sequence[Any], after: Sequence[Any], key: Key | None = None) -> tuple[list[int], list[int]]:
    """The places of records in the old result, and in the new one, that the other has not, or not so often.

    Records are the same as for ``expected=`` of localize: numbers by their values, of one key those with a fraction to 9 digits (where it has few records).
    """
    left: dict[bytes, list[int]] = {}
    for place, record in enumerate(before):
        left.setdefault(name(record), []).append(place)
    added = []
    for place, record in enumerate(after):
        if places := left.get(name(record)):
            places.pop()
        else:
            added.append(place)
    removed = [place for places in left.values() for place in places]
    olds, news = _by_key([before[i] for i in removed], key), _by_key([after[j] for j in added], key)
    same = dict[int, int]()
    for known in olds.keys() & news.keys():
        if max(len(olds[known]), len(news[known])) <= FEW:
            same |= partners(before, after, [removed[i] for i in olds[known]], [added[j] for j in news[known]])
    come = set(same.values())
    return [i for i in removed if i not in same], [j for j in added if j not in come]


def paired(before: Sequence[Any], after: Sequence[Any], key: Key | None = None) -> list[tuple[int, int]]:
    """The places of an old and a new record of the same key, where it is the only one on both sides; the key of a tuple is its first field."""
    olds, news = _by_key(before, key), _by_key(after, key)
    return [(olds[known][0], places[0]) for known, places in news.items() if len(places) == 1 and len(olds.get(known, ())) == 1]


def difference(old: Sequence[SourceRecord], new: Sequence[SourceRecord]) -> Inputs:
    """Inputs side by side, as multisets of their values."""
    gone, come = unmatched([each.record for each in old], [each.record for each in new])
    first = tuple(old[i] for i in gone[:TOLD]), tuple(new[i] for i in come[:TOLD])
    return Inputs(*first, len(gone), len(come), len(old) - len(gone))


def _by_key(records: Iterable[Any], key: Key | None) -> dict[bytes, list[int]]:
    found: dict[bytes, list[int]] = {}
    for place, record in enumerate(records):
        if key is not None or (isinstance(record, tuple) and len(record) > 1):
            found.setdefault(name(record[0] if key is None else key(record)), []).append(place)
    return found


def _first(records: tuple[Any, ...]) -> str:
    return ", ".join(map(shown, records))


def _told(inputs: Inputs) -> tuple[str, str, str]:
    return _some(inputs.gone, inputs.gones), _some(inputs.new, inputs.news), f"{inputs.same:,}"


def _some(records: Sequence[SourceRecord], every: int) -> str:
    told = ", ".join(f"{record.origin}: {shown(record.record)}" for record in records[:3])
    return told + (f" and {every - 3:,} more" if every > 3 else "")
