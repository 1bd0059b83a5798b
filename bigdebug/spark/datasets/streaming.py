"""Streaming: what a stream reads and writes, over all its batches, as one process from its start to its end."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from bigdebug.datasets.model import Access, Cell, ColumnEdge, Dataset, Process
from bigdebug.datasets.uses import Use
from bigdebug.spark.datasets.accesses import summed, without_counts
from bigdebug.spark.datasets.reading import Reading, with_tables

EVERY = 10.0
"""Seconds after which a stream is recorded again that does what it did before, for its counts."""


@dataclass
class _Stream:
    process: Process
    reads: dict[Dataset, Access] = field(default_factory=dict)
    writes: dict[Dataset, Access] = field(default_factory=dict)
    columns: set[ColumnEdge] = field(default_factory=set)
    opaque: dict[str, None] = field(default_factory=dict)
    uncounted: set[Dataset] = field(default_factory=set)
    """What its batches read of which one did not count the rows."""
    told: float = 0.0

    def now(self) -> Process:
        return replace(
            self.process, reads=without_counts(self.reads.values(), self.uncounted), writes=tuple(self.writes.values()), columns=tuple(sorted(self.columns)),
            opaque=tuple(self.opaque),
        )


class Streaming:
    """The streams that run, by the ids of their runs. ``tell`` is given the process of a stream when it begins, does something new, and ends."""

    def __init__(self, tell: Callable[[Process], None]) -> None:
        self._tell = tell
        self._running: dict[str, _Stream] = {}

    @property
    def are_running(self) -> bool:
        """Whether there are any."""
        return bool(self._running)

    def name(self, run: str) -> str:
        """What the stream with a run is called; empty if there is none."""
        known = self._running.get(run)
        return known.process.text if known is not None else ""

    def start(self, event: Any, job: str, session: str, at: datetime, cell: Cell | None) -> None:
        """A stream has begun."""
        run = str(event.runId().toString())
        name = str(event.name() or event.id().toString())
        process = Process(id=run, job=f"{job}.stream.{name}", sort="stream", session=session, started=at, cell=cell, text=name)
        self._running[run] = _Stream(process)
        self._tell(process)

    def batch(self, run: str, reading: Reading, within: Sequence[Reading]) -> None:
        """A batch of a stream has ended, which did this, and queries within it (of foreachBatch) that."""
        stream = self._running.get(run)
        if stream is None:
            return
        before = len(stream.reads), len(stream.writes), len(stream.columns), len(stream.opaque)
        handed = {access.dataset for access in reading.writes if access.dataset.kind == "memory"}
        parts = [composed(reading, each, handed) for each in with_tables(within)] if handed else [reading]
        _add(stream.reads, reading.reads)
        for part in parts:
            if part is not reading:
                _add(stream.reads, part.reads)
            if part.name:
                _add(stream.writes, part.writes)
                stream.columns.update(part.columns)
        stream.opaque.update(dict.fromkeys(name for each in (reading, *parts) for name in each.opaque))
        stream.uncounted.update(*(each.uncounted for each in (reading, *parts)))
        if any(handed & each.uncounted for each in parts):  # as often as a query read the batch, what the batch reads was read
            stream.uncounted.update(access.dataset for access in reading.reads)
        after = len(stream.reads), len(stream.writes), len(stream.columns), len(stream.opaque)
        if after != before or time.monotonic() - stream.told > EVERY:
            stream.told = time.monotonic()
            self._tell(stream.now())

    def end(self, run: str, error: str, at: datetime) -> None:
        """A stream has ended, by itself or by an error."""
        stream = self._running.pop(run, None)
        if stream is not None:
            self._tell(replace(stream.now(), ended=at, status="failed" if error else "succeeded", error=error))

    def lose(self) -> None:
        """Spark has ended, and told nothing of those that ran: nobody will."""
        while self._running:
            _, stream = self._running.popitem()
            self._tell(replace(stream.now(), status="lost"))


def composed(batch: Reading, query: Reading, handed: Iterable[Dataset]) -> Reading:
    """What a query did with the rows of a batch that it was handed, as if it had read what the batch did."""
    handed = set(handed)
    made: dict[str, list[ColumnEdge]] = {}
    for edge in batch.columns:
        made.setdefault(edge.column, []).append(edge)
    columns: set[ColumnEdge] = set()
    for edge in query.columns:
        if edge.input not in handed:
            columns.add(edge)
            continue
        for first in made.get(edge.used, ()):
            use = Use(0, first.used, first.how, first.masking).then(edge.how, edge.masking)
            columns.add(ColumnEdge(edge.output, edge.column, first.input, first.used, use.how, use.masking))
    for write in query.writes:
        columns.update(replace(edge, output=write.dataset) for edge in made.get("", ()))
    reads = tuple(access for access in query.reads if access.dataset not in handed)
    return replace(query, reads=reads, columns=tuple(sorted(columns)))


def _add(known: dict[Dataset, Access], more: Iterable[Access]) -> None:
    """Add up what each batch read or wrote."""
    for access in more:
        before = known.get(access.dataset)
        known[access.dataset] = access if before is None else summed(before, access)
