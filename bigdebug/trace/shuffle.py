"""Across a shuffle: from arrivals in a reduce partition to the records that left the map side, and back."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from bigdebug.graph import Emission, Stage
from bigdebug.store.blocks import Block
from bigdebug.store.ranges import spread
from bigdebug.trace.held import Held, held
from bigdebug.trace.places import Places
from bigdebug.trace.positions import Positions, distinct, grouped, members


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

    def sent(self) -> Iterator[tuple[int, int, Positions]]:
        """(branch, map partition, numbers in what that sent) of each run, in the order of arrivals."""
        for branch, partition, start, count in zip(self.branch.tolist(), self.partition.tolist(), self.start.tolist(), self.count.tolist()):
            yield branch, partition, np.arange(start, start + count, dtype=np.int64)

    def senders(self, arrivals: Positions, branch: int) -> Iterator[tuple[int, Positions]]:
        """Map partitions of ``branch`` and the numbers of ``arrivals`` in what each of them sent."""
        mine, partitions, numbers = self._origins(arrivals, branch)
        for partition, sent in grouped(partitions, numbers[mine]):
            yield partition, distinct(sent)

    def each(self, arrivals: Positions, branch: int) -> Iterator[tuple[int, Positions, Positions]]:
        """(map partition of ``branch``, which of ``arrivals``, numbers in what that sent), in their order."""
        mine, partitions, numbers = self._origins(arrivals, branch)
        for partition, which in grouped(partitions, np.flatnonzero(mine).astype(np.int64)):
            yield partition, which, numbers[which]

    def _origins(self, arrivals: Positions, branch: int) -> tuple[npt.NDArray[np.bool_], Positions, Positions]:
        """Which arrivals came on ``branch``, the map partition of each of these, and for every arrival its number in what was sent."""
        run = np.searchsorted(self._firsts, arrivals, side="right") - 1
        mine = self.branch[run] == branch
        return mine, self.partition[run][mine], self.start[run] + arrivals - self._firsts[run]

    def received(self, branch: int, partition: int, numbers: Positions) -> Positions:
        """The arrivals that are ``numbers`` of what ``partition`` of ``branch`` sent here."""
        found = []
        for run in self._runs_of.get((branch, partition), ()):
            inside = numbers[(numbers >= self.start[run]) & (numbers < self.start[run] + self.count[run])]
            found.append(inside - self.start[run] + self._firsts[run])
        return distinct(np.concatenate(found)) if found else np.empty(0, dtype=np.int64)

    @cached_property
    def _firsts(self) -> Positions:
        """The first arrival of each run."""
        return np.cumsum(self.count) - self.count

    @cached_property
    def _runs_of(self) -> dict[tuple[int, int], list[int]]:
        found: dict[tuple[int, int], list[int]] = {}
        for run, sender in enumerate(zip(self.branch.tolist(), self.partition.tolist())):
            found.setdefault(sender, []).append(run)
        return found


@dataclass(frozen=True)
class Leaving:
    """Where the records of a map partition went: ``order`` has them target by target, those of ``target`` from
    ``starts[target]`` on, without those that went nowhere."""

    order: npt.NDArray[Any]
    starts: Positions
    counts: Positions

    @classmethod
    def of(cls, targets: npt.NDArray[Any], none: npt.NDArray[Any]) -> Leaving:
        order = np.argsort(targets, kind="stable").astype(np.min_scalar_type(len(targets)))
        if len(none):
            order, targets = order[~np.isin(order, none)], np.delete(targets, none)
        counts = np.bincount(targets) if len(targets) else np.empty(0, dtype=np.int64)
        return cls(order, np.cumsum(counts) - counts, counts)

    @cached_property
    def ranks(self) -> npt.NDArray[Any]:
        """The place of each record among those of its target."""
        ranks = np.zeros(int(self.order.max()) + 1 if len(self.order) else 0, dtype=self.order.dtype)
        ranks[self.order] = np.arange(len(self.order)) - np.repeat(self.starts, self.counts)
        return ranks


@dataclass(frozen=True)
class Departures:
    """The map side of one branch of a shuffle. ``arrivals`` gives what arrived in a reduce partition of a stage."""

    stage: Stage
    block: Callable[[int], Block]
    arrivals: Callable[[Stage, int], Arrivals]

    def back(self, arrived: Iterable[tuple[int, Arrivals, Positions]]) -> Places:
        """Records at the last level of the map stage that came to be ``arrived``: by reduce partition, what arrived there and which of it."""
        sent: Held[tuple[int, int]] = Held()
        targets: dict[int, list[int]] = {}
        for target, arrivals, positions in arrived:
            for partition, numbers in arrivals.senders(positions, self.stage.branch):
                sent.put((partition, target), numbers)
                targets.setdefault(partition, []).append(target)
        return held((partition, self._left(partition, {target: sent[partition, target] for target in there})) for partition, there in targets.items())

    def ahead(self, places: Places, targets: Collection[int], reading: Stage) -> Places:
        """Arrivals, by reduce partition among ``targets``, of records at the last level of the map stage."""
        if self.stage.emission is Emission.RECORDS:
            # Spark moved whole frames: any partition may have received them.
            return held((target, self._received(reading, target, places.items())) for target in targets)
        sent: Held[tuple[int, int]] = Held()
        senders: dict[int, list[int]] = {}
        for partition, positions in places.items():
            for target, numbers in self._sent(partition, positions, targets):
                sent.put((partition, target), numbers)
                senders.setdefault(target, []).append(partition)
        return held(
            (target, self._received(reading, target, ((partition, sent[partition, target]) for partition in there))) for target, there in senders.items()
        )

    def _received(self, reading: Stage, target: int, sent: Iterable[tuple[int, Positions]]) -> Positions:
        """What arrived in a reduce partition of numbers that map partitions sent there."""
        arrivals = self.arrivals(reading, target)
        parts = [arrivals.received(self.stage.branch, partition, numbers) for partition, numbers in sent]
        return distinct(np.concatenate([np.empty(0, dtype=np.int64), *parts]))

    def together(self, partition: int, target: int, numbers: Positions) -> Positions:
        """How many records are in each of what left a map partition for a target under these numbers: in combiners, several."""
        if self.stage.emission is not Emission.COMBINED:
            return np.ones(len(numbers), dtype=np.int64)
        block, leaving = self.block(partition), self._leaving(partition)
        if "together" not in block.made:
            codes = np.delete(block.column("out.codes"), _nowhere(block))
            block.made["together"] = np.bincount(codes, minlength=len(block.column("out.targets")))
        found: Positions = block.made["together"][leaving.order[leaving.starts[target] + numbers]]
        return found

    def pairs(self, partition: int, target: int, numbers: Positions) -> tuple[Positions, Positions]:
        """The records of a map partition that are in what it sent to a target under some numbers: which of the numbers, and the record."""
        each = np.arange(len(numbers), dtype=np.int64)
        if self.stage.emission is Emission.RECORDS:
            return each, numbers
        leaving = self._leaving(partition)
        left = leaving.order[leaving.starts[target] + numbers].astype(np.int64)
        if self.stage.emission is Emission.SHUFFLED:
            return each, left
        records, starts = self._combined(partition)
        counts = starts[left + 1] - starts[left]
        return np.repeat(each, counts), records[spread(starts[left], counts)]

    def _combined(self, partition: int) -> tuple[Positions, Positions]:
        """The records of a map partition, those of each combiner together, and where these start."""
        block = self.block(partition)
        if "combined" not in block.made:
            codes = block.column("out.codes")
            order = np.argsort(codes, kind="stable").astype(np.int64)
            if len(nowhere := _nowhere(block)):
                order = order[~np.isin(order, nowhere)]
            sizes = np.bincount(codes[order], minlength=len(block.column("out.targets")))
            block.made["combined"] = order, np.concatenate(([0], np.cumsum(sizes)))
        found: tuple[Positions, Positions] = block.made["combined"]
        return found

    def _left(self, partition: int, by_target: Mapping[int, Positions]) -> Positions:
        """Records of ``partition``, from their numbers among what it sent to each target."""
        if self.stage.emission is Emission.RECORDS:
            return distinct(np.concatenate(list(by_target.values())))
        block, leaving = self.block(partition), self._leaving(partition)
        mine = np.concatenate([leaving.order[leaving.starts[target] + numbers] for target, numbers in by_target.items()])
        if self.stage.emission is Emission.SHUFFLED:
            return distinct(mine.astype(np.int64, copy=False))
        taken = np.flatnonzero(members(block.column("out.codes"), mine, len(leaving.order))).astype(np.int64)
        return np.setdiff1d(taken, _nowhere(block), assume_unique=True)

    def _leaving(self, partition: int) -> Leaving:
        block = self.block(partition)
        if "leaving" not in block.made:
            alone = self.stage.emission is Emission.SHUFFLED
            block.made["leaving"] = Leaving.of(block.column("out.targets"), _nowhere(block) if alone else np.empty(0, dtype=np.int64))
        found: Leaving = block.made["leaving"]
        return found

    def _sent(self, partition: int, positions: Positions, targets: Collection[int]) -> Iterator[tuple[int, Positions]]:
        block, leaving = self.block(partition), self._leaving(partition)
        positions = np.setdiff1d(positions, _nowhere(block), assume_unique=True)
        if self.stage.emission is Emission.COMBINED:
            positions = distinct(block.column("out.codes")[positions])
        wanted = set(targets)
        for target, numbers in grouped(block.column("out.targets")[positions], leaving.ranks[positions].astype(np.int64)):
            if target in wanted:
                yield target, numbers


def _nowhere(block: Block) -> npt.NDArray[Any]:
    """The positions of records that did not leave a map partition, for they crashed on their way out."""
    return block.column("out.none") if "out.none" in block.columns else np.empty(0, dtype=np.int64)
