"""Operations: what each operator does with whole partitions, by the code that runs in the stages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, product, zip_longest
from typing import Any, Protocol

from bigdebug.agents.emit import Combined, Emission, Emitted, Records, Shuffled
from bigdebug.agents.frames import Dumps, Loads
from bigdebug.agents.notes import Notes
from bigdebug.agents.orders import ranks
from bigdebug.agents.picked import Without
from bigdebug.agents.segments import Leaked, OneToOne, Step
from bigdebug.agents.spool import Spool

Frames = list[bytes]
Partitions = Sequence[Iterable[Any]]
"""Each an iterable that is read once."""

NOTHING: Iterable[Any] = ()
"""A partition that is known to be empty: no functions need be unpickled for it."""


class Declined(BaseException):
    """This evaluator cannot know what Spark would give. No Exception, for a user's function may catch those."""


@dataclass(frozen=True)
class Wire:
    """How records and functions cross from one process to another, and what PySpark raises for a leaked StopIteration."""

    dumps: Dumps
    loads: Loads
    leaked: Leaked

    def frames(self, records: Iterable[Any]) -> Iterator[bytes]:
        """Records as they would leave a stage."""
        return Records(self.dumps).frames(0, records, Notes(), Emitted(), self.leaked)

    def copied(self, records: Iterable[Any]) -> Frames:
        """Frames of records that Spark would not pickle here. Raises Declined if they cannot be pickled."""

        def dumps(batch: Any) -> bytes:
            try:
                return self.dumps(batch)
            except Exception as problem:
                raise Declined(f"records of several operators cannot be copied: {problem}") from problem

        return list(replace(self, dumps=dumps).frames(records))

    def records(self, frames: Iterable[bytes]) -> Iterator[Any]:
        return chain.from_iterable(map(self.loads, frames))


class Fresh:
    """Functions that each partition gets a copy of: what one keeps in a closure, another does not see."""

    def __init__(self, value: Any, wire: Wire) -> None:
        self._value, self._wire = value, wire

    def __reduce__(self) -> tuple[Any, ...]:
        # Pickled while Spark pickles the job: that is when it looks which broadcast variables are needed.
        return Packed, (self._wire.dumps(self._value), self._wire.loads)

    def copy(self) -> Any:
        return self._value


@dataclass(frozen=True)
class Packed:
    """Fresh, as it arrives."""

    pickled: bytes
    loads: Loads

    def copy(self) -> Any:
        return self.loads(self.pickled)


class Operation(Protocol):
    """One operator: its partitions from those of its parents. ``crossing`` says that Spark pickles what it reads."""

    @property
    def crossing(self) -> bool: ...

    def run(self, parents: list[Partitions], wire: Wire) -> Partitions: ...


@dataclass(frozen=True)
class Given:
    """Records that the program is entered with, as frames by partition; those at ``edited`` positions pass ``edit``."""

    frames: tuple[Frames, ...]
    edited: Mapping[int, Any] = field(default_factory=dict)
    edit: Fresh | Packed | None = None
    crossing: bool = False

    def run(self, parents: list[Partitions], wire: Wire) -> Partitions:
        found: list[Iterable[Any]] = []
        for split, frames in enumerate(self.frames):
            records = wire.records(frames) if frames else NOTHING
            if split in self.edited and self.edit is not None:
                records = Without(self.edited, self.edit.copy())(split, records)
            found.append(records)
        return found


@dataclass(frozen=True)
class Stepped:
    """A narrow operator: ``step`` is a Step; ``record_wise`` is one that gives nothing unless it is given something."""

    step: Fresh | Packed
    record_wise: bool
    crossing: bool = False

    def run(self, parents: list[Partitions], wire: Wire) -> Partitions:
        return [self._one(split, records, wire) for split, records in enumerate(parents[0])]

    def _one(self, split: int, records: Iterable[Any], wire: Wire) -> Iterable[Any]:
        if self.record_wise:
            return OneToOne((self.step.copy(),)).run(split, records, Notes(), "", wire.leaked) if records is not NOTHING else NOTHING
        step: Step = self.step.copy()
        return step.apply(split, iter(records))


@dataclass
class Exchanged:
    """A wide operator. ``before`` is (partition, create, combine), ``merge`` what merges after the shuffle, or None.

    ``stays`` and ``pairs`` as in the emissions. What partitions send arrives in their order, or in another ``order`` (agents/orders.py): in a shuffle any may be.
    """

    targets: int
    memory: int
    before: Fresh | Packed
    merge: Fresh | Packed | None
    stays: bool = False
    pairs: bool = False
    crossing: bool = False
    order: int = 0

    def run(self, parents: list[Partitions], wire: Wire) -> Partitions:
        arriving: list[Frames] = [[] for _ in range(self.targets)]
        for branch, partitions in enumerate(parents):
            called = ranks(len(partitions), self.order).tolist() if self.order else range(len(partitions))  # by which frames are put in order
            for split, records in enumerate(partitions):
                if records is not NOTHING:
                    notes, emission = Notes(), self._emission(branch, wire)
                    emission.prepare(notes)
                    frames = emission.frames(called[split], records, notes, Emitted(), wire.leaked)
                    if self.stays:
                        arriving[split].extend(frames)
                    else:
                        for target, frame in zip(frames, frames):
                            arriving[int.from_bytes(target, "big")].append(frame)
        return [self._merged(split, frames, wire) for split, frames in enumerate(arriving)]

    def _emission(self, branch: int, wire: Wire) -> Emission:
        partition, create, combine = self.before.copy()
        if create is None:
            return Shuffled(wire.dumps, partition, self.targets, branch, self.stays, self.pairs)
        return Combined(wire.dumps, create, combine, partition, self.targets, self.memory, branch, self.stays)

    def _merged(self, split: int, frames: Frames, wire: Wire) -> Iterable[Any]:
        if not frames:
            return NOTHING
        spool = Spool(frames, wire.loads, self.memory)
        if self.merge is None:
            return spool
        merged: Iterable[Any] = self.merge.copy().run(split, spool, Notes(levels=[None]), "merge", wire.leaked)
        return merged


@dataclass(frozen=True)
class United:
    """The partitions of all parents, one after the other, or if ``aligned`` the first of each, the second of each ..."""

    aligned: bool
    crossing: bool = True

    def run(self, parents: list[Partitions], wire: Wire) -> Partitions:
        if self.aligned:
            return [chain.from_iterable(together) for together in zip(*filter(len, parents), strict=True)]
        return list(chain.from_iterable(parents))


@dataclass(frozen=True)
class Coalesced:
    groups: tuple[tuple[int, ...], ...]
    crossing: bool = True

    def run(self, parents: list[Partitions], wire: Wire) -> Partitions:
        return [chain.from_iterable(parents[0][p] for p in group) for group in self.groups]


@dataclass(frozen=True)
class Dealt:
    """A repartition() that deals records out by ``frame``, in turn, from the partition's own number on. Spark's begins elsewhere, and what arrives has no order of its own."""

    targets: int
    frame: int
    crossing: bool = True

    def run(self, parents: list[Partitions], wire: Wire) -> Partitions:
        arriving: list[list[Any]] = [[] for _ in range(self.targets)]
        for split, records in enumerate(parents[0]):
            for number, record in enumerate(records):
                arriving[(split + number // self.frame) % self.targets].append(record)
        return [records or NOTHING for records in arriving]


@dataclass(frozen=True)
class Zipped:
    crossing: bool = True

    def run(self, parents: list[Partitions], wire: Wire) -> Partitions:
        return [self._pairs(left, right) for left, right in zip(*parents, strict=True)]

    def _pairs(self, left: Iterable[Any], right: Iterable[Any]) -> Iterator[Any]:
        end = object()
        for pair in zip_longest(left, right, fillvalue=end):
            if pair[0] is end or pair[1] is end:
                raise Declined("Spark says in its own words that it zips equal numbers of records only")
            yield pair


@dataclass(frozen=True)
class Crossed:
    """A cartesian product: every partition of the one with every partition of the other."""

    crossing: bool = False

    def run(self, parents: list[Partitions], wire: Wire) -> Partitions:
        lefts, rights = ([list(wire.frames(records)) for records in parent] for parent in parents)
        return [product(wire.records(left), wire.records(right)) for left in lefts for right in rights]
