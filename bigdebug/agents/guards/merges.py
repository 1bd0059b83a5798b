"""Guarded merges: combining, gathering and sorting after a shuffle, without what cannot be combined or compared."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from bigdebug.agents.frames import Dumps
from bigdebug.agents.groups import Sorted
from bigdebug.agents.guards.accumulators import Accumulators
from bigdebug.agents.guards.expected import NOTHING, Expected
from bigdebug.agents.guards.inflight import NO_RECORD, Note, crashes_of_calls
from bigdebug.agents.guards.sorting import Keyed, in_order
from bigdebug.agents.merge import Combine, Gather, Lists, Sort
from bigdebug.agents.notes import Notes
from bigdebug.agents.passes import NOBODY, Passes
from bigdebug.agents.segments import Leaked
from bigdebug.agents.spool import Spool


@dataclass(frozen=True)
class GuardedCombine(Combine):
    """Merges combiners and leaves out those that ``merge`` crashes on, and those whose key crashes where it is compared with others."""

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
                code = NOBODY
                try:
                    code = code_of(key, fresh_code)
                    if code == fresh_code:
                        values.append(value)
                        fresh_code += 1
                    else:
                        if self.expected.spares:
                            self.expected.check(passes.position(number), (key, value))
                        accumulators.merge(values, code, value)
                except crashes_of_calls() as problem:
                    self.crashed(passes.position(number), (key, value), problem, NO_RECORD if code == NOBODY else values[code])
                    code = NOBODY
                note(code)
        return zip(known, values)


@dataclass(frozen=True)
class GuardedGather(Gather):
    """Gathers values and leaves out those whose key crashes where it is compared with others."""

    crashed: Note | None = None

    def _lists(self, passes: Passes, known: dict[Any, int]) -> list[Lists]:
        assert self.crashed is not None
        groups: list[Lists] = []
        code_of, empty = known.setdefault, range(self.branches)
        for branch, records, note in passes.batches(known):
            for number, (key, value) in enumerate(records):
                try:
                    code = code_of(key, len(groups))
                except crashes_of_calls() as problem:
                    self.crashed(passes.position(number), (key, value), problem)
                    code = NOBODY
                else:
                    if code == len(groups):
                        groups.append(tuple([[] for _ in empty]))
                    groups[code][branch].append(value)
                note(code)
        return groups


@dataclass(frozen=True)
class GuardedSort(Sort):
    """Orders the records whose keys can be made, and be compared with those of others. They are in memory together."""

    crashed: Note | None = None

    def run(self, split: int, records: Spool, notes: Notes, name: str, leaked: Leaked) -> Iterator[Any]:
        return Sort(self._sorted).run(split, records, notes, name, leaked)

    def _sorted(self, pairs: Iterable[tuple[int, Any]]) -> Iterable[tuple[int, Any]]:
        assert self.crashed is not None
        assert isinstance(self.order, Sorted)
        keyed: list[Keyed] = []
        for position, record in pairs:
            try:
                keyed.append((self.order.keyfunc(record[0]), position, record))
            except crashes_of_calls() as problem:
                self.crashed(position, record, problem)
        kept, unfit = in_order(keyed, self.order.descending)
        for crash in unfit:
            self.crashed(*crash)
        return ((position, record) for _, position, record in kept)
