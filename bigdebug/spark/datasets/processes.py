"""Processes: what was read of a query, or of a job, as a process: what it is called, so that the same thing done again has the same name, when it ran, and where."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

from bigdebug.datasets.model import Cell, Process
from bigdebug.spark.datasets.rdds import Job
from bigdebug.spark.datasets.reading import Reading

_ACTIONS = {"collectToPython": "collect", "collectAsArrowToPython": "toPandas", "": "toLocalIterator"}
"""What users call the actions that Spark's listeners are told of by other names."""

CellAt = Callable[[datetime], "Cell | None"]
"""The notebook cell that ran at a time."""


class Processes:
    """Makes the processes of one application, which is called ``name``, in a ``session``."""

    def __init__(self, name: str, session: str, cell_at: CellAt) -> None:
        self.name, self.session = name, session
        self.cell_at = cell_at
        self._ids = uuid.uuid4()

    def of_query(self, number: int, began: datetime, ended: datetime, error: str, action: str, reading: Reading) -> Process:
        """A query with its number in Spark. Its job is named by what it writes; if it writes nothing, by its shape."""
        sort = "query" if not reading.name else "command" if reading.is_quick or not reading.writes else "write"
        verb = verb_of(reading.name) if reading.name else _ACTIONS.get(action, action)
        what = str(reading.writes[0].dataset) if reading.name and reading.writes else reading.shape
        return self._made(f"query {number}", ".".join(filter(None, (self.name, verb, what))), sort, began, ended, error, reading)

    def running(self, number: int, began: datetime, reading: Reading) -> Process:
        """A query with its number that has not ended: the same process as ``of_query`` makes then. What it has counted so far is not told."""
        process = self.of_query(number, began, began, "", "", reading)
        reads, writes = (tuple(replace(access, rows=None, size=None) for access in side) for side in (process.reads, process.writes))
        return replace(process, ended=None, status="running", reads=reads, writes=writes)

    def of_job(self, job: Job, ended: datetime, error: str, reading: Reading) -> Process:
        """A job of no query, named by what it reads."""
        what = "+".join([*(str(access.dataset) for access in reading.reads), *reading.opaque])
        name = ".".join(filter(None, (self.name, job.call.partition(" at ")[0], what)))
        return self._made(f"job {job.number}", name, "rdd", job.at, ended, error, reading)

    def _made(self, number: str, job: str, sort: str, began: datetime, ended: datetime, error: str, reading: Reading) -> Process:
        return Process(
            str(uuid.uuid5(self._ids, number)), job, sort, self.session, began, ended, "failed" if error else "succeeded", error,
            reads=reading.reads, writes=reading.writes, columns=reading.columns, opaque=reading.opaque, cell=self.cell_at(began), text=reading.text,
        )


def time_of(milliseconds: Any) -> datetime:
    """A time as Spark has it."""
    return datetime.fromtimestamp(int(milliseconds) / 1000, timezone.utc)


def verb_of(command: str) -> str:
    """``InsertIntoHiveTable`` as insert_into_hive_table."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", command.removesuffix("Command")).lower()
