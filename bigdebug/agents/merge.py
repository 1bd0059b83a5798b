"""Merges: the first segment after a shuffle, from the records that arrived to those of the wide operator.

One code per arriving record, its group's number in order of first appearance, is the whole lineage of a merge.
More keys than memory holds are merged in several passes over the spool; how many follows from the bytes that
arrived, so that positions do not depend on the machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from bigdebug.agents.notes import Notes, smallest
from bigdebug.agents.segments import Leaked
from bigdebug.agents.spool import Spool

Lists = tuple[list[Any], ...]


class Merge(Protocol):
    def run(self, split: int, records: Spool, notes: Notes, name: str, leaked: Leaked) -> Iterator[Any]: ...


def _passes(spool: Spool, memory: int) -> int:
    return 1 + spool.bytes // max(1, memory)


@dataclass(frozen=True)
class Combine:
    """Merges combiners by key with ``merge``; each output is (key, finish(combiner))."""

    merge: Callable[[Any, Any], Any]
    memory: int
    finish: Callable[[Any], Any] | None = None

    def run(self, split: int, records: Spool, notes: Notes, name: str, leaked: Leaked) -> Iterator[Any]:
        codes = np.zeros(len(records), dtype=np.int64)
        notes.columns[f"{name}.codes"] = lambda: smallest(codes)
        notes.levels.append(lambda: outputs)
        passes = _passes(records, self.memory)
        outputs = 0

        def merged() -> Iterator[Any]:
            nonlocal outputs
            for turn in range(passes):
                for key, combined in self._merge_turn(records, turn, passes, outputs, codes, leaked):
                    outputs += 1
                    yield key, combined if self.finish is None else self.finish(combined)
            records.close()

        return merged()

    def _merge_turn(
        self, spool: Spool, turn: int, passes: int, base: int, codes: Any, leaked: Leaked
    ) -> Iterable[tuple[Any, Any]]:
        known: dict[Any, int] = {}
        values: list[Any] = []
        merge, code_of = self.merge, known.setdefault
        at = fresh_code = 0
        for _, records in spool.batches():
            noted: list[int] = []
            append = noted.append
            try:
                for key, value in records:
                    if passes > 1 and hash(key) % passes != turn:
                        append(-1)
                        continue
                    code = code_of(key, fresh_code)
                    if code == fresh_code:
                        values.append(value)
                        fresh_code += 1
                    else:
                        values[code] = merge(values[code], value)
                    append(code)
            except StopIteration as stop:
                raise leaked(str(stop)) from stop
            at = _place(codes, at, noted, base)
        return zip(known, values)


@dataclass(frozen=True)
class Gather:
    """Gathers values by key, one list for each of ``branches`` inputs; ``finish(key, lists)`` gives the outputs."""

    branches: int
    finish: Callable[[Any, Lists], Iterable[Any]]
    memory: int

    def run(self, split: int, records: Spool, notes: Notes, name: str, leaked: Leaked) -> Iterator[Any]:
        codes = np.zeros(len(records), dtype=np.int64)
        notes.columns[f"{name}.codes"] = lambda: smallest(codes)
        notes.levels.append(lambda: outputs)
        passes = _passes(records, self.memory)
        outputs = 0

        def gathered() -> Iterator[Any]:
            nonlocal outputs
            groups = 0
            for turn in range(passes):
                known = self._gather_turn(records, turn, passes, groups, codes)
                groups += len(known)
                for key, lists in known.items():
                    for record in self.finish(key, lists):
                        outputs += 1
                        yield record
            records.close()

        return gathered()

    def _gather_turn(self, spool: Spool, turn: int, passes: int, base: int, codes: Any) -> dict[Any, Lists]:
        known: dict[Any, int] = {}
        groups: list[Lists] = []
        code_of, empty = known.setdefault, range(self.branches)
        at = fresh_code = 0
        for tag, records in spool.batches():
            branch = tag.branch
            noted: list[int] = []
            append = noted.append
            for key, value in records:
                if passes > 1 and hash(key) % passes != turn:
                    append(-1)
                    continue
                code = code_of(key, fresh_code)
                if code == fresh_code:
                    groups.append(tuple([[] for _ in empty]))
                    fresh_code += 1
                groups[code][branch].append(value)
                append(code)
            at = _place(codes, at, noted, base)
        return dict(zip(known, groups))


def _place(codes: Any, at: int, noted: list[int], base: int) -> int:
    """Write the codes of this turn at their places, moved up by ``base``; -1 belongs to another turn."""
    fresh = np.array(noted, dtype=np.int64)
    mine = fresh >= 0
    codes[at : at + len(fresh)][mine] = fresh[mine] + base
    return at + len(fresh)


@dataclass(frozen=True)
class Sort:
    """Orders the records of a partition; ``order`` sorts (position, record) pairs by record."""

    order: Callable[[Iterable[tuple[int, Any]]], Iterable[tuple[int, Any]]]

    def run(self, split: int, records: Spool, notes: Notes, name: str, leaked: Leaked) -> Iterator[Any]:
        notes.levels.append(None)
        column = notes.column(f"{name}.order")

        def ordered() -> Iterator[Any]:
            for position, record in self.order(enumerate(records)):
                column.append(position)
                yield record
            records.close()

        return ordered()
