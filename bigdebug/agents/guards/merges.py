"""Guarded merges: combining and sorting after a shuffle, without what cannot be combined or compared."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from bigdebug.agents.frames import Dumps
from bigdebug.agents.groups import Sorted
from bigdebug.agents.guards.accumulators import Accumulators
from bigdebug.agents.guards.expected import NOTHING, Expected
from bigdebug.agents.guards.inflight import NO_RECORD, Note, crashes
from bigdebug.agents.merge import Combine, Sort
from bigdebug.agents.notes import Notes
from bigdebug.agents.passes import NOBODY, Passes
from bigdebug.agents.segments import Leaked
from bigdebug.agents.spool import Spool

Keyed = tuple[Any, int, Any]
"""The key of a record, its position, and the record."""

_KEY = itemgetter(0)

_MOST_KINDS = 20
"""Sets of keys that compare with each other, of one partition."""


@dataclass(frozen=True)
class GuardedCombine(Combine):
    """Merges combiners and leaves out those that ``merge`` crashes on."""

    crashed: Note | None = None
    expected: Expected = NOTHING
    keeping: Dumps = pickle.dumps

    def _combined(self, passes: Passes, known: dict[Any, int], leaked: Leaked) -> Iterable[tuple[Any, Any]]:
        assert self.crashed is not None
        values: list[Any] = []
        accumulators, code_of = Accumulators(self.merge, self.keeping), known.setdefault
        fresh_code = 0
        for _, records, note in passes.batches(known):
            for number, (key, value) in enumerate(records):
                code = code_of(key, fresh_code)
                if code == fresh_code:
                    values.append(value)
                    fresh_code += 1
                else:
                    try:
                        if self.expected.spares:
                            self.expected.check(passes.position(number), (key, value))
                        accumulators.merge(values, code, value)
                    except crashes() as problem:
                        self.crashed(passes.position(number), (key, value), problem, values[code])
                        code = NOBODY
                note(code)
        return zip(known, values)


@dataclass(frozen=True)
class GuardedSort(Sort):
    """Orders the records whose keys can be made, and be compared with those of most others. They are in memory together."""

    crashed: Note | None = None

    def run(self, split: int, records: Spool, notes: Notes, name: str, leaked: Leaked) -> Iterator[Any]:
        return Sort(self._sorted).run(split, records, notes, name, leaked)

    def _sorted(self, pairs: Iterable[tuple[int, Any]]) -> Iterable[tuple[int, Any]]:
        assert self.crashed is not None
        assert isinstance(self.order, Sorted)
        keyed = []
        for position, record in pairs:
            try:
                keyed.append((self.order.keyfunc(record[0]), position, record))
            except crashes() as problem:
                self.crashed(position, record, problem)
        try:
            keyed.sort(key=_KEY, reverse=self.order.descending)
        except crashes() as problem:
            keyed = self._comparable(keyed, problem)
            keyed.sort(key=_KEY, reverse=self.order.descending)
        return ((position, record) for _, position, record in keyed)

    def _comparable(self, keyed: list[Keyed], problem: BaseException) -> list[Keyed]:
        """The largest set of records whose keys compare with each other's first; the others are culprits."""
        assert self.crashed is not None
        alike: list[list[Keyed]] = []
        for one in keyed:
            mine = next((others for others in alike if _raised(one, others[0]) is None), None)
            if mine is not None:
                mine.append(one)
            elif len(alike) < _MOST_KINDS:
                alike.append([one])
            else:  # hardly any two of them compare
                self.crashed(None, NO_RECORD, problem)
                return []
        most = max(alike, key=len)
        for others in alike:
            for one in others if others is not most else ():
                self.crashed(one[1], one[2], _raised(one, most[0]) or problem)
        return most


def _raised(one: Keyed, other: Keyed) -> BaseException | None:
    try:
        one[0] < other[0]  # noqa: B015 (it is asked for its crash)
    except crashes() as problem:
        return problem
    return None
