"""Merges: the first segment after a shuffle, from the records that arrived to those of the wide operator.

One code per arriving record, its group's number in order of first appearance, is the whole lineage of a merge.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from bigdebug.agents.notes import Notes
from bigdebug.agents.passes import Passes
from bigdebug.agents.segments import Leaked, no_leak
from bigdebug.agents.spool import Spool

Lists = tuple[list[Any], ...]


class Merge(Protocol):
    def run(self, split: int, records: Spool, notes: Notes, name: str, leaked: Leaked) -> Iterator[Any]: ...


@dataclass(frozen=True)
class Combine:
    """Merges combiners by key with ``merge``; each output is (key, finish(combiner))."""

    merge: Callable[[Any, Any], Any]
    memory: int
    finish: Callable[[Any], Any] | None = None

    def run(self, split: int, records: Spool, notes: Notes, name: str, leaked: Leaked) -> Iterator[Any]:
        passes = Passes(records, self.memory)
        notes.columns[f"{name}.codes"] = passes.codes
        notes.levels.append(lambda: outputs)
        outputs = 0

        def merged() -> Iterator[Any]:
            nonlocal outputs
            for known in passes:
                for key, combined in self._combined(passes, known, leaked):
                    outputs += 1
                    yield key, combined if self.finish is None else self.finish(combined)
            records.close()

        return merged()

    def _combined(self, passes: Passes, known: dict[Any, int], leaked: Leaked) -> Iterable[tuple[Any, Any]]:
        values: list[Any] = []
        merge, code_of = self.merge, known.setdefault
        fresh_code = 0
        with no_leak(leaked):
            for _, records, note in passes.batches(known):
                for key, value in records:
                    code = code_of(key, fresh_code)
                    if code == fresh_code:
                        values.append(value)
                        fresh_code += 1
                    else:
                        values[code] = merge(values[code], value)
                    note(code)
        return zip(known, values)


@dataclass(frozen=True)
class Gather:
    """Gathers values by key, one list for each of ``branches`` inputs; ``finish(key, lists)`` gives the outputs."""

    branches: int
    finish: Callable[[Any, Lists], Iterable[Any]]
    memory: int

    def run(self, split: int, records: Spool, notes: Notes, name: str, leaked: Leaked) -> Iterator[Any]:
        passes = Passes(records, self.memory)
        notes.columns[f"{name}.codes"] = passes.codes
        notes.levels.append(lambda: outputs)
        outputs = 0

        def gathered() -> Iterator[Any]:
            nonlocal outputs
            for known in passes:
                for key, lists in zip(known, self._lists(passes, known)):
                    for record in self.finish(key, lists):
                        outputs += 1
                        yield record
            records.close()

        return gathered()

    def _lists(self, passes: Passes, known: dict[Any, int]) -> list[Lists]:
        groups: list[Lists] = []
        code_of, empty = known.setdefault, range(self.branches)
        fresh_code = 0
        for branch, records, note in passes.batches(known):
            for key, value in records:
                code = code_of(key, fresh_code)
                if code == fresh_code:
                    groups.append(tuple([[] for _ in empty]))
                    fresh_code += 1
                groups[code][branch].append(value)
                note(code)
        return groups


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


MERGES = (Combine, Gather, Sort)
