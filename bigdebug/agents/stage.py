"""The partition function of a stage: read, run the segments, emit, and commit what was noted as one block."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from bigdebug.agents.apart import MOST_POSTED, kept, sees
from bigdebug.agents.emit import Emission, Emitted
from bigdebug.agents.frames import checksum
from bigdebug.agents.merge import MERGES
from bigdebug.agents.notes import Notes
from bigdebug.agents.readers import Reader
from bigdebug.agents.segments import Leaked
from bigdebug.agents.watches.wanted import Link
from bigdebug.store.blocks import Block

if TYPE_CHECKING:
    from bigdebug.store.remote import Remote

TOO_LARGE = 1 << 30
"""Tables of a partition beyond so many bytes are not written: deriving them on demand is cheaper than keeping them."""

Watch = Callable[[int, Iterable[Any]], Iterable[Any]]


class Task(NamedTuple):
    """Who is running: the run, and the attempt of the task, unique in the application. No run, no lineage.

    With ``lazy`` only counts and a digest are kept; tables are derived when a trace needs them. ``policy`` says what becomes of
    records that crash (``guards/policy.py``); without one, the task fails. ``watches`` says what to tell the driver of while records pass
    (``watches/wanted.py``); ``tries`` counts the attempts of the same task before this one.
    """

    run: str | None
    attempt: int
    lazy: bool = False
    policy: str | None = None
    watches: str | None = None
    tries: int = 0


@dataclass(frozen=True)
class Report:
    """What a task tells the driver about the block it wrote, or why it wrote none (``error``), and of crashes that it went on from."""

    run: str
    stage: str
    partition: int
    attempt: int
    levels: tuple[int, ...] = ()
    digest: int = 0
    bytes: int = 0
    seconds: float = 0.0
    error: str | None = None
    crashes: Any = ()
    crashed: int = 0
    unposted: str | None = None
    """Why dead letters could not be written, if they could not."""
    met: Any = ()
    """The crashes that something was chosen for, and that came."""
    watched: Any = None
    block: Any = b""
    """The block, where the task does not see the store."""


ADDING = threading.Lock()
"""Held while reports are added to a list or taken from it: in the driver a thread of PySpark's adds them."""


class ReportList:
    """How Spark's accumulators add lists of reports."""

    def zero(self, value: list[Report]) -> list[Report]:
        return []

    def addInPlace(self, left: list[Report], right: list[Report]) -> list[Report]:  # noqa: N802 (PySpark's name)
        with ADDING:
            left.extend(right)
        return left


@dataclass(frozen=True)
class StageFunction:
    """A stage as PySpark runs it: called with a partition's index and iterator, gives the frames of its output.

    The user's records, results and exceptions pass as they would without agents. A block that cannot be written is
    reported as missing; it never fails the task. Where a task does not see the ``store``, the driver gets its block with its report, and tables of no more
    than ``most`` bytes with that.
    """

    stage: str
    reader: Reader
    segments: tuple[Any, ...]
    emission: Emission
    store: str | Remote
    identify: Callable[[], Task]
    report: Callable[[list[Report]], None]
    leaked: Leaked
    lazy: bool = False
    internal: int = 0
    """How many of the segments, the last ones, are the action's: it may stop before the records end."""
    operators: tuple[tuple[int, ...], ...] = ()
    ends: int = 0
    """The operators of each segment, and the one that the stage emits for."""
    branch: int = 0
    """Which input of that it is."""
    reads: int = 0
    arrives: bool = False
    """The operator whose records it reads; and whether these are its own only here, for nothing of ours computed them."""
    link: Link | None = None
    most: int = MOST_POSTED
    unheard: Callable[[], AbstractContextManager[None]] = nullcontext
    """Within it, nobody hears of what is added to accumulators."""

    def __call__(self, split: int, incoming: Iterable[Any], watch: Watch | None = None) -> Iterator[bytes]:
        started = time.perf_counter()
        notes, emitted = Notes(), Emitted()
        digest = 0
        for frame in self.frames(split, incoming, notes, emitted, watch):
            digest = checksum(frame, digest)
            yield frame
        self._commit(split, notes, emitted, digest, time.perf_counter() - started)

    def side(self, operator: int) -> int:
        """Where the stage meets an operator: 0 where it computes that, else at which of its inputs, counted from 1."""
        return 0 if any(operator in own for own in self.operators) else 1 + self.branch

    def frames(
        self, split: int, incoming: Iterable[Any], notes: Notes, emitted: Emitted, watch: Watch | None = None
    ) -> Iterator[bytes]:
        """What leaves the stage. ``watch(level, records)`` may look at the records of each level as they pass."""
        task = self.identify()
        if task.watches is not None:
            from bigdebug.agents.watches.stage import Watching

            notes.watching = Watching.of(self, task, split)
        if notes.watching is None:
            return self._decided(task, split, incoming, notes, emitted, watch)
        watching = notes.watching

        def passing(level: int, records: Iterable[Any]) -> Iterable[Any]:
            return watching.passing(level, records if watch is None else watch(level, records))  # type: ignore[no-any-return]

        return watching.during(lambda: watching.stage._decided(task, split, incoming, notes, emitted, passing))  # type: ignore[no-any-return]

    def _decided(self, task: Task, split: int, incoming: Iterable[Any], notes: Notes, emitted: Emitted, watch: Watch | None) -> Iterator[bytes]:
        if task.policy is None:
            return self._frames(split, incoming, notes, emitted, watch)
        from bigdebug.agents.guards.policy import Deciding, Policy
        from bigdebug.agents.guards.stage import guarded_stage

        notes.guard = Deciding(Policy.unpacked(task.policy, split), self, split, task.attempt)
        notes.guard.unheard = self.unheard
        return guarded_stage(self, notes.guard)._frames(split, incoming, notes, emitted, watch)

    def _frames(self, split: int, incoming: Iterable[Any], notes: Notes, emitted: Emitted, watch: Watch | None) -> Iterator[bytes]:
        self.emission.prepare(notes)
        records: Any = self.reader.read(incoming, notes)
        merges = bool(self.segments) and isinstance(self.segments[0], MERGES)
        own = len(self.segments) - self.internal
        if not merges:
            records = notes.to_the_end(records)
            records = records if watch is None else watch(0, records)
        for number, segment in enumerate(self.segments):
            if self.internal and number == own:
                records = notes.to_the_last(records)
            records = segment.run(split, records, notes, f"segment{number}", self.leaked)
            if merges and not number:  # it reads all that arrived before it gives anything: its outputs tell
                records = notes.to_the_end(records)
            records = records if watch is None else watch(number + 1, records)
        return self.emission.frames(split, records, notes, emitted, self.leaked)

    def _commit(self, split: int, notes: Notes, emitted: Emitted, digest: int, seconds: float) -> None:
        task = self.identify()
        if task.run is None:
            return
        counts = notes.counts(emitted.records)
        size, error, posted = 0, None, b""
        try:
            columns = {name: column() for name, column in notes.columns.items()}
            most = TOO_LARGE if sees(self.store) else self.most
            stub = self.lazy or task.lazy or sum(c.nbytes for c in columns.values()) > most
            block = Block(
                stage=self.stage, partition=split, attempt=task.attempt, levels=counts, digest=digest,
                columns={} if stub else columns, stub=stub, ended=notes.ended, finished=notes.finished,
            )
            size, posted = kept(self.store, task.run, block)
        except Exception as problem:  # whatever it is, the user's task must not fail of it
            error = f"{type(problem).__name__}: {problem}"
        guard = notes.guard
        crashes, crashed, unposted, met = ((), 0, None, ()) if guard is None else (guard.crashes, guard.total, guard.unposted, tuple(guard.met))
        watched = None if notes.watching is None else notes.watching.told()
        self.report([Report(task.run, self.stage, split, task.attempt, counts, digest, size, seconds, error, crashes, crashed, unposted, met, watched, posted)])
