"""Recording: the thread that reads what Spark tells, and gives processes to whoever keeps them. The user's jobs wait for none of it."""

from __future__ import annotations

import atexit
import logging
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any, ClassVar

from pyspark import SparkContext

from bigdebug.datasets.model import Process
from bigdebug.datasets.secrets import Secrets
from bigdebug.spark.datasets.doing import Doings
from bigdebug.spark.datasets.hearing import ENDED, Hearing, Told
from bigdebug.spark.datasets.ml import Models
from bigdebug.spark.datasets.processes import CellAt, Processes, time_of
from bigdebug.spark.datasets.queries import Queries
from bigdebug.spark.datasets.rdds import Jobs, watch_saves
from bigdebug.spark.datasets.relations import Relations
from bigdebug.spark.datasets.runs import Runs
from bigdebug.spark.datasets.seen import Seen
from bigdebug.spark.datasets.settings import Settings
from bigdebug.spark.datasets.starts import watch_starts
from bigdebug.spark.datasets.streaming import Streaming
from bigdebug.spark.datasets.turns import watch_turns
from bigdebug.spark.process import gone
from bigdebug.spark.unlogged import unlogged

log = logging.getLogger("bigdebug")

_TURN = 1.0
"""Seconds after which the thread looks whether it is still wanted."""

_PATIENCE = 5.0
"""Seconds in which Spark is to tell of what has ended."""

_OVER = "over "

FramesOf = Callable[[frozenset[int]], Iterable[Any]]
"""The DataFrames whose rows are among RDDs with these numbers."""


class Recording:
    """Records what the sessions of one application do, from ``open`` to ``close``. ``record`` is called with each process, in a thread of ours,
    again when more is known of one (a stream): the later one stands for the earlier. What it raises is logged.
    """

    def __init__(self, sc: SparkContext, record: Callable[[Process], object], secrets: Secrets | None = None, cell_at: CellAt = lambda at: None) -> None:
        self._sc: Any = sc
        self._record = record
        self.frames_of: FramesOf = lambda rdds: ()
        self._hearing = Hearing(sc)
        self._secrets = Secrets() if secrets is None else secrets
        self._settings = Settings(sc, self._secrets)
        name, session = str(sc.appName), str(sc.applicationId)
        self._seen = Seen(session)
        self._processes = Processes(name, session, cell_at)
        self._streams = Streaming(self._tell)
        self._rows: dict[int, list[Any]] = {}
        """The DataFrames whose rows the jobs that run read."""
        self._doings = Doings(self._sc, session, lambda tag: self._hearing.mark(f"{_OVER}{tag}"))
        self._jobs = Jobs(self._sc, self._doings, self._hearing.come)
        self.runs = Runs(sc, self._tell)
        self._queries = Queries(self._sc, self._processes, self._streams, self._doings, self.runs, self._relations, self._tell)
        self._models = Models(self._sc, name, session, self._doings, self._queries.read_frame, self._seen.uses)
        self._saves: list[Callable[[], None]] = []
        self._open = False
        self._thread: threading.Thread | None = None
        self._marks: dict[str, threading.Event] = {}
        """Who waits for all that has come until a mark."""

    def name_cells(self, cell_at: CellAt) -> None:
        """From here on processes name the cell of a notebook that ran when they began."""
        self._processes.cell_at = cell_at

    def open(self) -> None:
        """From here on what happens is recorded; if it cannot begin, all is as it was. Costs some 30 ms, the first time in a JVM 200."""
        if self._open:
            return
        try:
            self._watch()
            self._thread = threading.Thread(target=self._run, name="bigdebug datasets", daemon=True)
            self._open = True  # the thread goes on as long as it is
            self._thread.start()
        except BaseException:
            self._open, self._thread = False, None
            self._unwatch()
            raise
        atexit.register(self.close)

    def close(self, patience: float = 5.0) -> None:
        """What has happened until now is recorded, and no more. Waits so many seconds for it at most."""
        if not self._open:
            return
        atexit.unregister(self.close)
        self.settled(patience)
        self._open = False
        self._unwatch()
        self._hearing.mark("")
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(patience)

    def _watch(self) -> None:
        self._settings.open()
        self._hearing.open()
        self._models.open()
        self._saves += watch_saves(self._sc, self._processes.name, self._doings)
        self._saves += watch_starts(self._sc, self._processes, self._queries.read_frame, self._tell)
        self._saves += watch_turns(self._seen, self._queries.read_frame)

    def _unwatch(self) -> None:
        self._models.close()
        self._settings.close()
        while self._saves:
            self._saves.pop()()
        self._hearing.close()

    def settled(self, patience: float = 5.0) -> bool:
        """Wait until all that has happened is recorded; False if that took longer than so many seconds."""
        if self._thread is None or not self._thread.is_alive() or gone(self._sc):
            return True
        until = time.monotonic() + patience
        if not self._hearing.come(patience):
            return False
        for _ in range(2):  # what is over leaves a mark of its own when it is met
            mark, come = str(uuid.uuid4()), threading.Event()
            self._marks[mark] = come
            self._hearing.mark(mark)
            if not come.wait(max(0.0, until - time.monotonic())):
                return False
        return True

    # ---- the thread -------------------------------------------------------------------------------------------

    def _run(self) -> None:
        self._hear()
        if self._sc._jsc is None or gone(self._sc):
            self._streams.lose()
            self._queries.lose()

    def _hear(self) -> None:
        while self._open and not gone(self._sc):
            stopped = self._sc._jsc is None
            try:
                heard = self._hearing.next(_TURN)
            except ENDED:
                return
            if stopped and not heard:  # what was told before the end has been read
                return
            for told in heard:
                with self._noting():
                    self._take(told)
            del heard
            for look in self._queries.long():
                with self._noting():
                    look()

    @contextmanager
    def _noting(self) -> Iterator[None]:
        try:
            with unlogged():  # of a query that failed, its plan does
                yield
        except Exception as trouble:  # what comes next is recorded nevertheless
            log.warning("bigdebug could not record a job: %s: %s", type(trouble).__name__, self._secrets.text(str(trouble)))

    def _take(self, told: Told) -> None:
        if told.name == "String":
            mark = str(told.event)
            if mark in self._marks:
                self._marks.pop(mark).set()
            elif mark.startswith(_OVER) and self._doings.is_within(mark.removeprefix(_OVER)):  # before that query ends
                self._done(mark.removeprefix(_OVER))
            elif mark.startswith(_OVER):  # Spark may not have told of its last job yet
                self._hearing.come(_PATIENCE)
                self._hearing.mark(mark.removeprefix(_OVER))
            else:
                self._done(mark)
        elif told.name in self._HEARD:
            self._HEARD[told.name](self, told.event)

    def _job_start(self, event: Any) -> None:
        job = self._jobs.start(event)
        # Who runs `df.rdd.collect()` keeps neither: when the job has ended, both may be gone.
        if job is not None:
            self._rows[job.number] = list(self.frames_of(job.rdds))

    def _job_end(self, event: Any) -> None:
        ended = self._jobs.end(event)
        if ended is None:
            return
        job, reading, error = ended.job, ended.reading, ended.error
        frames = self._rows.pop(job.number, [])
        rows = [found.reads for frame in frames if (found := self._queries.read_frame(frame)) is not None]
        rows += self._queries.behind(job.rdds)
        reading = replace(reading, reads=tuple({access.dataset: access for reads in (reading.reads, *rows) for access in reads}.values()))
        doing = self._doings.of(job.tags)
        if doing is not None:
            doing.take(reading, job.tags)
            doing.wrote(ended.rows, ended.size)
            return
        if reading.reads or reading.opaque:
            process = self._processes.of_job(job, time_of(event.time()), error, reading)
            self._tell(self.runs.joined(process, job.tags))

    def _done(self, tag: str) -> None:
        """What a program did by several jobs is over, and Spark has told of all of them."""
        doing = self._doings.over(tag)
        if doing is not None and not self._queries.does(doing):
            process = doing.now()
            process = replace(process, cell=self._processes.cell_at(process.started))
            self._tell(self.runs.joined(process, doing.tags))

    def _stream_start(self, event: Any) -> None:
        at = datetime.fromisoformat(str(event.timestamp()).replace("Z", "+00:00"))
        self._streams.start(event, self._processes.name, self._processes.session, at, self._processes.cell_at(at))

    def _stream_end(self, event: Any) -> None:
        error = event.exception()
        self._streams.end(str(event.runId().toString()), str(error.get()) if error.isDefined() else "", datetime.now(timezone.utc))

    _HEARD: ClassVar[dict[str, Callable[[Recording, Any], None]]] = {
        "SparkListenerSQLExecutionStart": lambda self, event: self._queries.start(event), "SparkListenerSQLExecutionEnd": lambda self, event: self._queries.end(event),
        "QueryStartedEvent": _stream_start, "QueryTerminatedEvent": _stream_end,
        "DropTableEvent": lambda self, event: self._seen.drops(f"{event.database()}.{event.name()}"),
        "DropDatabaseEvent": lambda self, event: self._seen.drops(str(event.database())),
        "SparkListenerJobStart": _job_start, "SparkListenerJobEnd": _job_end,
    }

    def _relations(self, query: Any, stream: str, began: datetime | None) -> Relations:
        session = query.sparkSession()
        self._settings.learn(session)
        return Relations(session, self._sc, self._secrets.learn, self._seen, stream, began)

    def _tell(self, process: Process) -> None:
        self._settings.learn_environment()
        self._record(self._secrets.cleaned(process))
