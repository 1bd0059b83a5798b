"""Endings: Python workers that end while partitions are looked at, one after the other on a record, and the calls in which they did."""

from __future__ import annotations

import shutil
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from bigdebug.agents.guards.diagnose import Diagnose, Diagnosed
from bigdebug.agents.guards.flight import Call, folder_of, landed, name_of
from bigdebug.spark.crashes import ended, lost_task
from bigdebug.spark.executors import sweep
from bigdebug.trace.run import Run

if TYPE_CHECKING:
    from bigdebug.spark.rdd.recorder import Recorder

MOST_ENDED = 25
"""Records that may end their worker before no more are looked for: for each, partitions are run once more up to there."""

Ask = Callable[[Diagnose, Sequence[int]], list[Diagnosed]]


class Endings:
    """Those of one run. ``expected`` says whether workers are known to end."""

    def __init__(self, recorder: Recorder, run: Run, expected: bool) -> None:
        self._recorder = recorder
        self._unknown = run.culprits.unknown
        store = str(recorder.store.root)
        self._folder = folder_of(store, run.id)
        self._name = name_of(store, run.id)
        self.expected = expected
        self._calls: dict[tuple[str, int], list[Call]] = defaultdict(list)
        self._ended = 0
        """In how many calls of the partitions that are being looked at workers have ended."""
        self._closed: set[int] = set()
        """Those of these partitions in which no more are looked for."""
        self._blind: set[int] = set()
        """Those that cannot be looked at."""

    def told(self, ask: Ask, diagnose: Diagnose, partitions: Sequence[int]) -> list[Diagnosed]:
        """What tasks tell; where workers end, the next one knows in which call that was, and passes over it."""
        stage = diagnose.stage.stage
        asked = [partition for partition in partitions if partition not in self._blind]
        while True:
            if self.expected:
                known = {partition: tuple(self._calls[stage, partition]) for partition in asked if (stage, partition) in self._calls}
                diagnose = replace(diagnose, flights=True, ended=known, closed=frozenset(self._closed))
            try:
                found = ask(diagnose, asked) if asked else []
            except (PySparkException, Py4JError) as problem:
                if not ended(problem):
                    raise
                if self.expected:
                    partition = self._land(stage, lost_task(problem))
                    if partition is None:
                        raise
                    if partition in self._blind:
                        asked.remove(partition)
                self.expected = True
            else:
                self._over()
                return found

    def _land(self, stage: str, task: int) -> int | None:
        """Take down in which call the worker of a task ended; its partition, None if nothing is known of the task."""
        landing = landed(self._folder, task) or self._swept(task)
        if landing is None:
            return None
        partition, call = landing
        if call is None or partition in self._closed:
            self._blind.add(partition)
            self._unknown.append(f"Partition {partition} was not looked at: its Python worker ended in none of the calls that are, or in another one each time.")
        if call is not None:
            self._calls[stage, partition].append(call)
        self._ended += 1
        self._closed |= {partition} if self._ended >= MOST_ENDED else set()
        return partition

    def _swept(self, task: int) -> tuple[int, Call | None] | None:
        """The same of an executor that does not see the store."""
        sweep(self._recorder.sc, self._name, self._folder)
        return landed(self._folder, task)

    def _over(self) -> None:
        """These partitions have come to their ends."""
        self._unknown += [
            f"Python workers ended on {MOST_ENDED} records or more; in partition {partition}, what comes behind the last one that is told was not looked at."
            for partition in sorted(self._closed - self._blind)
        ]
        if self.expected:
            sweep(self._recorder.sc, self._name, self._folder)  # workers of partitions beside were killed
            shutil.rmtree(self._folder, ignore_errors=True)
        self._ended, self._closed, self._blind = 0, set(), set()
