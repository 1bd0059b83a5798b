"""Queries: those that run in one application, and what each did when it has ended; of a write that takes long also that it runs."""

from __future__ import annotations

import re
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from bigdebug.datasets.model import Access, Process
from bigdebug.spark.datasets.doing import Doing, Doings
from bigdebug.spark.datasets.hearing import ENDED
from bigdebug.spark.datasets.plans import read, read_frame
from bigdebug.spark.datasets.processes import Processes, time_of
from bigdebug.spark.datasets.reading import Reading, together
from bigdebug.spark.datasets.relations import Relations
from bigdebug.spark.datasets.runs import Runs
from bigdebug.spark.datasets.streaming import Streaming
from bigdebug.spark.gateway import classes
from bigdebug.spark.jobs import is_ours

LONG = 10.0
"""Seconds after which a write is told of that still runs."""

_MOST = 1_000
"""RDDs that were made of queries and are known: of those before, what they read is not told any more."""

_RUN = re.compile(r"runId = ([0-9a-f-]{36})")
"""How Spark describes the batch of a stream."""


@dataclass
class _Begun:
    """A query that runs."""

    root: int
    at: datetime
    tags: frozenset[str]
    runs: tuple[str, ...] = ()
    """Of one of these streams it is a batch: the group of its jobs, or what they are described by, which foreachBatch may have changed."""
    within: list[Reading] = field(default_factory=list)
    """What queries within it did, and have ended."""
    heard: float = field(default_factory=time.monotonic)
    looked: bool = False
    """Whether it was looked at while it runs, for it took long."""
    running: Process | None = None
    """What was told of it then."""


class Queries:
    """The queries of one application. ``relations`` names what a query reads that is run for a stream, or for none, and since when; ``tell`` is given each process, again when
    more is known of one.
    """

    def __init__(
        self, sc: Any, processes: Processes, streams: Streaming, doings: Doings, runs: Runs, relations: Callable[[Any, str, datetime | None], Relations],
        tell: Callable[[Process], None],
    ) -> None:
        self._sc = sc
        self._processes, self._streams, self._doings, self._runs = processes, streams, doings, runs
        self._relations = relations
        self._tell = tell
        self._begun: dict[int, _Begun] = {}
        self._behind: OrderedDict[int, tuple[Access, ...]] = OrderedDict()
        """What queries read that were made RDDs of, by the numbers of these in the JVM."""

    def start(self, event: Any) -> None:
        """A query has begun."""
        number, root, group = int(event.executionId()), event.rootExecutionId(), event.jobGroupId()
        runs = [str(group.get())] if group.isDefined() else []
        runs += _RUN.findall(str(event.description())) if self._streams.are_running else []
        tags = frozenset(str(event.jobTags().mkString("\0")).split("\0"))
        self._begun[number] = _Begun(
            int(root.get()) if root.isDefined() else number, time_of(event.time()), tags, tuple(runs),
        )

    def end(self, event: Any) -> None:
        """A query has ended."""
        number, query, name = int(event.executionId()), event.qe(), event.executionName()
        # Of a query that could not be planned Spark does not tell that it began.
        begun = self._begun.pop(number, None) or _Begun(number, time_of(event.time()), frozenset())
        if query is None or any(map(is_ours, begun.tags)):
            return
        action = str(name.get()) if name.isDefined() else ""
        outer = begun if begun.root == number else self._begun.get(begun.root)
        if outer is None or (outer is not begun and action == "analyze") or (action != "command" and _is_told(query)):
            return
        run = self._run(begun) or self._run(outer)
        stream = self._streams.name(run)
        meant = self._runs.meant(begun.tags)
        reading = read(self._relations(query, stream, begun.at), query, action) if meant is None else self.read_frame(meant)
        if reading is None:
            return
        if action == "rdd":
            self._keep(query, reading)
        doing = self._doings.of(outer.tags)
        if outer is not begun:  # what a query did that another one runs, that one did
            outer.within.append(reading)
        elif doing is not None:
            for each in (together(reading, begun.within),) if reading.name else (reading, *begun.within):
                doing.take(each, outer.tags)
        elif stream and not action:
            self._streams.batch(run, reading, begun.within)
        else:
            said = event.errorMessage()
            error = str(said.get()) if said.isDefined() else ""
            done = together(reading, begun.within, failed=bool(error))
            process = self._processes.of_query(number, begun.at, time_of(event.time()), error, action, done)
            self._tell(self._runs.joined(process, begun.tags))

    def long(self) -> Iterator[Callable[[], None]]:
        """What is to be done for each query that has run for long by now: a look at it, once."""
        for number, begun in list(self._begun.items()):
            if not begun.looked and time.monotonic() - begun.heard > LONG:
                begun.looked = True
                yield lambda number=number, begun=begun: self._still_runs(number, begun)  # type: ignore[misc]

    def lose(self) -> None:
        """Spark has ended, and will not tell how those ended that were told of."""
        for begun in self._begun.values():
            if begun.running is not None:
                self._tell(replace(begun.running, status="lost"))
        self._begun.clear()

    def read_frame(self, frame: Any) -> Reading | None:
        """What the query of a DataFrame reads, whether it ever runs or not."""
        return read_frame(self._relations(frame._jdf.queryExecution(), "", None), frame)

    def does(self, doing: Doing) -> bool:
        """Whether a query that runs does what a program did, for it runs that program: foreachBatch."""
        begun = self._begun.get(doing.within) if doing.within is not None else None
        if begun is None:
            return False
        made = doing.now()
        outer = self._begun.get(begun.root, begun)
        wrote = made.status != "failed"  # a stream has no status of its batches
        writes, columns = (made.writes, made.columns) if wrote else ((), ())
        outer.within.append(Reading(made.text, made.reads, writes, columns, (*made.opaque, made.text), uncounted=frozenset(doing.uncounted)))
        return True

    def behind(self, rdds: Collection[int]) -> list[tuple[Access, ...]]:
        """What the queries read that are among RDDs with these numbers in the JVM."""
        return [self._behind[number] for number in sorted(self._behind.keys() & rdds)]

    def _keep(self, query: Any, reading: Reading) -> None:
        with suppress(*ENDED):  # it failed before there was an RDD
            self._behind[int(query.toRdd().id())] = reading.reads
        while len(self._behind) > _MOST:
            self._behind.popitem(last=False)

    def _run(self, begun: _Begun) -> str:
        return next(filter(self._streams.name, begun.runs), "")

    def _still_runs(self, number: int, begun: _Begun) -> None:
        """Tell of a query that writes, if it is nobody's part: it is told again when it ends, or is lost."""
        if begun.root != number or any(map(is_ours, begun.tags)) or self._doings.of(begun.tags) is not None or self._run(begun):
            return
        query = classes(self._sc._jvm).org.apache.spark.sql.execution.SQLExecution.getQueryExecution(number)
        reading = None if query is None else read(self._relations(query, "", begun.at), query, "")
        if reading is not None and reading.name and reading.writes:
            begun.running = self._processes.running(number, begun.at, reading)
            self._tell(begun.running)


def _is_told(query: Any) -> bool:
    """Whether a query only gives the rows that a command told, which has been heard of."""
    try:
        return str(query.commandExecuted().getClass().getSimpleName()) == "CommandResult"
    except ENDED:
        return False
