"""Across a shuffle: from arrivals in a reduce partition to the records that left the map side, and back."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from bigdebug.graph import Emission, Stage
from bigdebug.store.blocks import Block
from bigdebug.trace.places import Places, union
from bigdebug.trace.positions import Positions, distinct, members


@dataclass(frozen=True)
class Arrivals:
    """What arrived in one reduce partition, in reading order, as runs of records that left together.

    Run i holds ``count[i]`` records, from number ``start[i]`` on, of what partition ``partition[i]`` of the stage on
    ``branch[i]`` sent here.
    """

    branch: Positions
    partition: Positions
    start: Positions
    count: Positions

    @classmethod
    def of(cls, block: Block) -> Arrivals:
        return cls(*(block.column(f"runs.{name}").astype(np.int64) for name in ("branch", "partition", "start", "count")))

    def branches(self) -> Positions:
        """The branch of each arrival."""
        return np.repeat(self.branch, self.count)

    def senders(self, arrivals: Positions, branch: int) -> Iterator[tuple[int, Positions]]:
        """Map partitions of ``branch`` and the numbers of ``arrivals`` in what each of them sent."""
        ends = np.cumsum(self.count)
        run = np.searchsorted(ends, arrivals, side="right")
        numbers = self.start[run] + arrivals - (ends - self.count)[run]
        mine = self.branch[run] == branch
        partitions = self.partition[run][mine]
        for partition in distinct(partitions):
            yield int(partition), distinct(numbers[mine][partitions == partition])

    def received(self, branch: int, partition: int, numbers: Positions) -> Positions:
        """The arrivals that are ``numbers`` of what ``partition`` of ``branch`` sent here."""
        ends = np.cumsum(self.count)
        found = []
        for run in np.flatnonzero((self.branch == branch) & (self.partition == partition)):
            inside = numbers[(numbers >= self.start[run]) & (numbers < self.start[run] + self.count[run])]
            found.append(inside - self.start[run] + ends[run] - self.count[run])
        return distinct(np.concatenate(found)) if found else np.empty(0, dtype=np.int64)


class Tables(Protocol):
    def _runs(self, stage: Stage, partition: int) -> Arrivals: ...


@dataclass(frozen=True)
class Departures:
    """The map side of one branch of a shuffle."""

    stage: Stage
    block: Callable[[int], Block]

    def back(self, arrived: Mapping[int, tuple[Arrivals, Positions]]) -> dict[int, Positions]:
        """Records at the last level of the map stage that came to be ``arrived``, by reduce partition."""
        sent: dict[int, dict[int, Positions]] = {}
        for target, (arrivals, positions) in arrived.items():
            for partition, numbers in arrivals.senders(positions, self.stage.branch):
                sent.setdefault(partition, {})[target] = numbers
        return {
            partition: union(*({0: self._left(partition, target, n)} for target, n in by_target.items())).get(
                0, np.empty(0, dtype=np.int64)
            )
            for partition, by_target in sent.items()
        }

    def ahead(self, places: Places, targets: Collection[int], reading: Stage, tables: Tables) -> dict[int, Positions]:
        """Arrivals, by reduce partition among ``targets``, of records at the last level of the map stage."""
        found: list[dict[int, Positions]] = []
        for partition, positions in places.items():
            for target, numbers in self._sent(partition, positions, targets):
                runs = tables._runs(reading, target)
                found.append({target: runs.received(self.stage.branch, partition, numbers)})
        return union(*found)

    def _left(self, partition: int, target: int, numbers: Positions) -> Positions:
        if self.stage.emission is Emission.RECORDS:
            return numbers
        block = self.block(partition)
        mine = np.flatnonzero(block.column("out.targets") == target)[numbers]
        if self.stage.emission is Emission.SHUFFLED:
            return mine.astype(np.int64)
        combiners = len(block.column("out.targets"))
        return np.flatnonzero(members(block.column("out.codes"), mine, combiners)).astype(np.int64)

    def _sent(self, partition: int, positions: Positions, targets: Collection[int]) -> Iterator[tuple[int, Positions]]:
        if self.stage.emission is Emission.RECORDS:
            # Spark moved whole frames: any partition may have received them.
            for target in targets:
                yield target, positions
            return
        block = self.block(partition)
        leaving: Any = block.column("out.targets")
        if self.stage.emission is Emission.COMBINED:
            positions = distinct(block.column("out.codes")[positions])
        towards = leaving[positions]
        for target in distinct(towards[np.isin(towards, list(targets))]):
            rank = np.cumsum(leaving == target) - 1
            yield int(target), rank[positions[towards == target]].astype(np.int64)
