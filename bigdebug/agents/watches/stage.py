"""Watched stages: a stage as it is, with taps and junctions where its records pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from bigdebug.agents.emit import Combined, Emission, Shuffled, in_place
from bigdebug.agents.hashing import portable_hash
from bigdebug.agents.merge import MERGES, Combine
from bigdebug.agents.segments import Around, Offsets, OneToOne, Paired, Partitionwise, Tally, Whole
from bigdebug.agents.watches.calls import BEYOND, OUTSIDE, Calls
from bigdebug.agents.watches.hangs import Hangs
from bigdebug.agents.watches.outbox import Outbox
from bigdebug.agents.watches.tap import Tap
from bigdebug.agents.watches.timing import Times, Timing
from bigdebug.agents.watches.uplink import Uplink
from bigdebug.agents.watches.wanted import Asked, Link, Wanted

if TYPE_CHECKING:
    from bigdebug.agents.stage import StageFunction, Task


@dataclass(frozen=True)
class Watched:
    """What a task tells of its watches when it has ended: totals by watch, times by operator, and why the driver did not hear of more."""

    watches: tuple[str, ...] = ()
    totals: dict[str, tuple[int, int, int, int, bool]] = field(default_factory=dict)
    times: dict[int, Times] = field(default_factory=dict)
    left_out: int = 0
    trouble: str | None = None


class Watching:
    """The watches of one task of a stage."""

    def __init__(self, function: StageFunction, task: Task, split: int, asked: Asked, wanted: list[Wanted], link: Link) -> None:
        self._function = function
        self._watches = tuple(each.watch for each in wanted)
        self._operators = [operator for known in function.operators for operator in known]
        outbox = Outbox()
        slow = {
            operator: asks for operator in self._called()
            if (asks := [(each.watch, each.slow) for each in wanted if each.slow is not None and each.concerns([operator])])
        }
        looks = [each for each in wanted if each.timeout is not None]
        self._calls = calls = Calls() if looks or slow else None
        self._timings = {} if calls is None else {o: Timing(asks, calls.came, outbox, link.dumps) for o, asks in slow.items()}
        if calls is not None and slow:
            calls.timings = self._timings
        self._taps: dict[int, list[Tap]] = {}
        for each in wanted:
            if each.guarded and each.operator is not None:
                self._taps.setdefault(each.operator, []).append(Tap(each.watch, each.operator, each.rate, outbox, link.dumps, calls))
        called = {*self._called(), *self._taps}
        hangs = [
            Hangs(each.watch, each.timeout, frozenset(filter(lambda o: each.concerns([o]), called)), self._calls, outbox, link.dumps)
            for each in looks if self._calls is not None and each.timeout is not None
        ]
        known = {
            "run": task.run, "stage": function.stage, "partition": split, "task": task.attempt, "attempt": task.tries, "before": self._before(), "into": self._into(),
        }
        taps = [tap for taps in self._taps.values() for tap in taps]
        self._uplink = Uplink(asked.address, link.secret, known, taps, hangs, outbox, self._totals)

    @classmethod
    def of(cls, function: StageFunction, task: Task, split: int) -> Watching | None:
        """None, if no watch asks of what passes in the stage."""
        if task.watches is None or function.link is None:
            return None
        asked = Asked.unpacked(task.watches)
        operators = {*(o for known in function.operators for o in known), function.ends, *([function.reads] if function.arrives else [])}
        wanted = [each for each in asked.wanted if each.concerns(operators)]
        return cls(function, task, split, asked, wanted, function.link) if wanted else None

    @property
    def stage(self) -> StageFunction:
        """The stage with taps and junctions inside of its segments."""
        pairs = zip(self._function.segments, self._function.operators)
        return replace(self._function, segments=tuple(self._segment(run, known) for run, known in pairs), emission=self._emission(self._function.emission))

    def passing(self, level: int, records: Iterable[Any]) -> Iterable[Any]:
        """The records of a level, between two segments."""
        function = self._function
        behind = function.segments[level] if level < len(function.segments) else None
        if behind is not None and len(function.operators[level]) > 1:
            records = self._counted(function.operators[level], records)
        taker = BEYOND if behind is None else function.operators[level][0]
        if not level:
            return self._crossing(function.reads if function.arrives else OUTSIDE, OUTSIDE, taker, records, _is_whole(behind))
        given = function.segments[level - 1]
        giver = function.operators[level - 1][-1]
        return self._crossing(giver, OUTSIDE if isinstance(given, MERGES) else giver, taker, records, _is_whole(behind))

    def during(self, frames: Callable[[], Iterator[bytes]]) -> Iterator[bytes]:
        """The frames of the stage, while the driver is told of what passes."""
        self._uplink.open()
        try:
            yield from frames()
        finally:
            self._uplink.close()

    def told(self) -> Watched:
        """What there is to tell in the end."""
        times = {operator: timing.times() for operator, timing in self._timings.items()}
        return Watched(self._watches, self._guarded(), times, sum(timing.left_out for timing in self._timings.values()), self._uplink.trouble)

    def _totals(self) -> dict[str, Any]:
        return {"guards": self._guarded(), "times": {operator: timing.times() for operator, timing in self._timings.items()}}

    def _guarded(self) -> dict[str, tuple[int, int, int, int, bool]]:
        return {tap.watch: tap.totals() for taps in self._taps.values() for tap in taps}

    def _called(self) -> list[int]:
        """The operators whose functions the stage may call."""
        return [*self._operators, self._function.ends] if isinstance(self._function.emission, Combined | Shuffled) else self._operators

    def _before(self) -> dict[int, int]:
        """For each operator the one whose records come to it."""
        return dict(zip((*self._operators, self._function.ends), (self._function.reads, *self._operators))) if self._operators else {
            self._function.ends: self._function.reads
        }

    def _into(self) -> dict[int, int]:
        """For each operator the one whose records come into its segment."""
        ends = (self._function.reads, *(known[-1] for known in self._function.operators))
        return {operator: before for before, known in zip(ends, self._function.operators) for operator in known}

    def _counted(self, operators: tuple[int, ...], records: Iterable[Any]) -> Iterable[Any]:
        """The records that come into a segment: what is in flight in it was made of the last one."""
        tally = Tally(records)
        for operator in operators:
            for tap in self._taps.get(operator, ()):
                tap.entered = tally.count
            if self._calls is not None:
                self._calls.entered[operator] = tally.count
        return tally.records

    def _segment(self, run: Any, operators: tuple[int, ...]) -> Any:
        match run:
            case OneToOne(steps) | Offsets(steps):
                found = [
                    Around(step, partial(self._crossing, given, given, taker, whole=isinstance(behind, Partitionwise)))
                    for step, behind, given, taker in zip(steps, steps[1:], operators, operators[1:])
                ]
                return replace(run, steps=(*found, steps[-1]))
            case Combine(merge) if self._calls is not None:
                return replace(run, merge=self._calls.over(operators[-1], merge, arriving=True))
            case _:
                return run

    def _emission(self, emission: Emission) -> Emission:
        if self._calls is None or not isinstance(emission, Combined | Shuffled):
            return emission
        over = partial(self._calls.over, self._function.ends)
        if emission.partition not in (in_place, portable_hash):
            emission = replace(emission, partition=over(emission.partition))
        if isinstance(emission, Combined):
            emission = replace(emission, create=over(emission.create), merge=over(emission.merge))
        return emission

    def _crossing(self, tapped: int, giver: int, taker: int, records: Iterable[Any], whole: bool = False) -> Iterable[Any]:
        for tap in self._taps.get(tapped, ()):
            records = tap.passing(records)
        return records if self._calls is None else self._calls.junction(giver, taker, records, whole)


def _is_whole(run: Any) -> bool:
    return isinstance(run, Paired | Whole)
