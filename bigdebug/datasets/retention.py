"""Retention: what is kept of the past, by age and by number."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

from bigdebug.datasets import rows
from bigdebug.errors import DatasetsError

DAYS, PROCESSES = "BIGDEBUG_KEEP_DAYS", "BIGDEBUG_KEEP_PROCESSES"
"""The variables of the environment that say it."""

_AHEAD = timedelta(days=30) // timedelta(microseconds=1)

_AT_ONCE = 1_000
"""Processes that one transaction takes away, so that nobody waits for long."""


@dataclass(frozen=True)
class Retention:
    """Processes that ended more than ``days`` ago go, and the oldest of more than ``processes``; with them what nothing else tells of."""

    days: float = 400
    processes: int = 100_000

    def __post_init__(self) -> None:
        if not self.days > 0 or self.processes < 1:
            raise ValueError(f"what is kept is some days and some processes, not {self.days} and {self.processes}")

    @classmethod
    def of_environment(cls) -> Retention:
        """As BIGDEBUG_KEEP_DAYS and BIGDEBUG_KEEP_PROCESSES say. Raises DatasetsError for what are no numbers from 1 on."""
        days, processes = os.environ.get(DAYS), os.environ.get(PROCESSES)
        try:
            return cls(float(days or cls.days), int(processes or cls.processes))
        except ValueError as problem:
            said = ", ".join(f"{name}={value}" for name, value in ((DAYS, days), (PROCESSES, processes)) if value)
            raise DatasetsError(
                "How many days and processes are kept is not said by numbers", value=said,
                remedy=f"Set {DAYS} and {PROCESSES} to numbers from 1 on, or leave them out: {cls.days:,} days and {cls.processes:,} processes are kept then.",
            ) from problem


def _today(db: sqlite3.Connection, now: int) -> int:
    """What age is counted from: no more than a month after what another session did last, for a clock that is years ahead would take all of the past away."""
    last = db.execute(
        "SELECT started FROM process WHERE session <> (SELECT session FROM process ORDER BY started DESC, number DESC LIMIT 1) ORDER BY started DESC LIMIT 1",
    ).fetchone() or db.execute("SELECT MAX(started) FROM process").fetchone()
    return now if last[0] is None else min(now, last[0] + _AHEAD)


def retain(transaction: Callable[[], AbstractContextManager[sqlite3.Connection]], retention: Retention, now: datetime | None = None) -> int:
    """Take away what is not kept; gives how many processes. Costs milliseconds if there are none."""
    with transaction() as db:
        today = _today(db, rows.microseconds(now or datetime.now(timezone.utc)))
    oldest = today - timedelta(days=min(retention.days, 300_000)) // timedelta(microseconds=1)
    gone = 0
    while True:
        with transaction() as db:
            (count,) = db.execute("SELECT COUNT(*) FROM process").fetchone()
            numbers = db.execute(
                "SELECT number FROM process WHERE started < ?1 AND COALESCE(ended, started) < ?1"
                " UNION SELECT number FROM (SELECT number FROM process ORDER BY started, number LIMIT ?2) LIMIT ?3",
                (oldest, max(0, count - retention.processes), _AT_ONCE),
            ).fetchall()
            rows.forget(db, [number for (number,) in numbers])
            gone += len(numbers)
            if len(numbers) < _AT_ONCE:
                if gone:
                    rows.sweep(db)
                return gone
