"""The spool: messages on their way to collectors, on disk until they are taken. Outlives the process; several processes may share it.

An SQLite file and not a directory of files: a message is claimed by one process alone, and those of a run stay in order, by transactions that
somebody else has proved.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from bigdebug.datasets.collectors import Message
from bigdebug.errors import DatasetsError

VERSION = 1

MOST = 256 << 20
"""Bytes of messages that are held for a collector, if nothing else is said: some 20,000 runs of 16 columns."""

PATIENCE = 0.5
"""Seconds that a process waits for another that writes."""

_AT_ONCE = 8
"""Messages that are claimed together."""

_TABLES = """
CREATE TABLE queue (collector TEXT PRIMARY KEY, bytes INTEGER NOT NULL DEFAULT 0);
CREATE TABLE run (
    number INTEGER PRIMARY KEY AUTOINCREMENT, collector TEXT NOT NULL, name TEXT NOT NULL,
    tries INTEGER NOT NULL DEFAULT 0, due REAL NOT NULL DEFAULT 0, leased REAL NOT NULL DEFAULT 0, UNIQUE (collector, name));
CREATE TABLE message (
    number INTEGER PRIMARY KEY AUTOINCREMENT, run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE, sort TEXT NOT NULL, body BLOB NOT NULL,
    edition INTEGER NOT NULL DEFAULT 0, refused TEXT, UNIQUE (run, sort));
CREATE INDEX waiting ON message (run) WHERE refused IS NULL;
CREATE TRIGGER come AFTER INSERT ON message BEGIN
    UPDATE queue SET bytes = bytes + length(NEW.body) WHERE collector = (SELECT collector FROM run WHERE number = NEW.run); END;
CREATE TRIGGER changed AFTER UPDATE OF body ON message BEGIN
    UPDATE queue SET bytes = bytes + length(NEW.body) - length(OLD.body) WHERE collector = (SELECT collector FROM run WHERE number = NEW.run); END;
CREATE TRIGGER gone AFTER DELETE ON message BEGIN
    UPDATE queue SET bytes = bytes - length(OLD.body) WHERE collector = (SELECT collector FROM run WHERE number = OLD.run); END;
"""

_NEXT = """
SELECT number, tries FROM run WHERE +collector = ?1 AND NOT (due > ?2 AND due < ?2 + 3600) AND NOT (leased > ?2 AND leased < ?2 + 3600)
AND EXISTS (SELECT 1 FROM message WHERE run = run.number AND refused IS NULL) ORDER BY number LIMIT 1
"""

"""What is due in hours is due now: nobody rests so long, so the clock was set back. By the plus runs are gone through in order, up to the first: by the index
of collectors all would be, for each.
"""

_SOONEST = """
SELECT min(max(due, leased)) FROM run WHERE collector = ? AND EXISTS (SELECT 1 FROM message WHERE run = run.number AND refused IS NULL)
"""

_COUNTED = """
SELECT COALESCE(SUM((SELECT COUNT(*) FROM message WHERE run = run.number)), 0), COALESCE(SUM((SELECT COUNT(*) FROM message WHERE run = run.number AND refused IS NULL)), 0)
FROM run WHERE collector = ?
"""
"""All messages, and those that wait. Whether one was refused stands behind its body; so it is told by the indexes, which have those that wait."""

_LAST_REFUSED = """
SELECT refused FROM message WHERE number = (SELECT max(number) FROM (
    SELECT message.number FROM run CROSS JOIN message ON message.run = run.number WHERE collector = ?1
    EXCEPT SELECT message.number FROM run CROSS JOIN message ON message.run = run.number AND refused IS NULL WHERE collector = ?1
))
"""


@dataclass(frozen=True)
class Claimed:
    """A message that is this process's to send. ``edition`` tells it from what may have come in its place since."""

    number: int
    body: bytes
    edition: int


@dataclass(frozen=True)
class Claim:
    """The next messages of a run, in order: nobody else sends them ``until`` then. ``tries`` were in vain."""

    run: int
    tries: int
    until: float
    messages: tuple[Claimed, ...]


@dataclass(frozen=True)
class Waiting:
    """How much a collector has not taken: messages that wait, those that it refused, and what it said of the last of these."""

    messages: int = 0
    refused: int = 0
    why: str = ""


class Spool:
    """Messages for collectors, by run. Thread-safe, and for several processes; the file is its owner's alone.

    Each call is a transaction of some 0.1 ms. All raise DatasetsError where the file cannot be used.
    """

    def __init__(self, path: Path, most: int = MOST) -> None:
        self.path = path
        self._most = most
        self._alone = Lock()
        with self._named():
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
            self._file = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
            try:
                self._prepare()
            except BaseException:
                self._file.close()
                raise

    def put(self, collector: str, run: str, messages: Iterable[Message]) -> bool:
        """Lay down messages of a run, behind those that are there; one of a sort that still waits takes its place. False: there are too many for it."""
        with self._transaction() as file:
            file.execute("INSERT INTO queue (collector) VALUES (?) ON CONFLICT DO NOTHING", (collector,))
            ((held,),) = file.execute("SELECT bytes FROM queue WHERE collector = ?", (collector,))
            if held >= self._most:
                return False
            file.execute("INSERT INTO run (collector, name) VALUES (?, ?) ON CONFLICT DO NOTHING", (collector, run))
            ((number,),) = file.execute("SELECT number FROM run WHERE collector = ? AND name = ?", (collector, run))
            file.executemany(
                "INSERT INTO message (run, sort, body) VALUES (?, ?, ?) "
                "ON CONFLICT DO UPDATE SET body = excluded.body, edition = edition + 1, refused = NULL",
                [(number, sort, body) for sort, body in messages],
            )
        return True

    def claim(self, collector: str, now: float, lease: float) -> Claim | None:
        """The first run of which a message is due, for ``lease`` seconds; None if there is none. Times are in seconds since 1970."""
        with self._transaction() as file:
            found = file.execute(_NEXT, (collector, now)).fetchone()
            if found is None:
                return None
            run, tries = found
            file.execute("UPDATE run SET leased = ? WHERE number = ?", (now + lease, run))
            rows = file.execute(
                "SELECT number, body, edition FROM message WHERE run = ? AND refused IS NULL ORDER BY number LIMIT ?", (run, _AT_ONCE),
            )
            return Claim(run, tries, now + lease, tuple(Claimed(*row) for row in rows))

    def taken(self, message: Claimed) -> None:
        """It has arrived, and is forgotten; unless another came in its place since."""
        with self._transaction() as file:
            file.execute("DELETE FROM message WHERE number = ? AND edition = ?", (message.number, message.edition))

    def refused(self, message: Claimed, why: str) -> None:
        """It will not be taken as it is: it is kept, and does not hold up those behind."""
        with self._transaction() as file:
            file.execute("UPDATE message SET refused = ? WHERE number = ? AND edition = ?", (why, message.number, message.edition))

    def release(self, claim: Claim, due: float, failed: bool) -> None:
        """Others may have the run, unless they have it already; it is not due before then. What has nothing left is forgotten."""
        with self._transaction() as file:
            file.execute(
                "UPDATE run SET leased = 0, due = ?, tries = ? WHERE number = ? AND leased = ?",
                (due, claim.tries + 1 if failed else 0, claim.run, claim.until),
            )
            file.execute("DELETE FROM run WHERE number = ? AND NOT EXISTS (SELECT 1 FROM message WHERE run = run.number)", (claim.run,))

    def soonest(self, collector: str) -> float | None:
        """When the next message is due; None if none waits."""
        with self._transaction() as file:
            ((due,),) = file.execute(_SOONEST, (collector,))
            return None if due is None else float(due)

    def waiting(self, collector: str) -> Waiting:
        """How much the collector has not taken."""
        with self._transaction() as file:
            ((every, waits),) = file.execute(_COUNTED, (collector,))
            last = file.execute(_LAST_REFUSED, (collector,)).fetchone() if every > waits else None
        return Waiting(waits, every - waits, last[0] if last else "")

    def left(self) -> dict[str, int]:
        """How many messages wait for each collector."""
        with self._transaction() as file:
            return dict(file.execute(
                "SELECT collector, count(*) FROM message JOIN run ON message.run = run.number WHERE refused IS NULL GROUP BY collector ORDER BY collector",
            ))

    def again(self, collector: str) -> None:
        """All that waits, and all that was refused, is due at once: the collector was mended."""
        with self._transaction() as file:
            file.execute("UPDATE message SET refused = NULL WHERE run IN (SELECT number FROM run WHERE collector = ?)", (collector,))
            file.execute("UPDATE run SET due = 0, tries = 0 WHERE collector = ?", (collector,))

    def close(self) -> None:
        """Nothing is asked of it any more; what it holds stays."""
        with self._alone, self._named():
            self._file.close()

    def _prepare(self) -> None:
        file = self._file
        file.execute("PRAGMA journal_mode = WAL")  # where the file system has none, it stays as it was
        file.execute("PRAGMA synchronous = NORMAL")
        file.execute("PRAGMA foreign_keys = ON")
        with self._transaction():
            ((version,),) = file.execute("PRAGMA user_version")
            if version == 0:
                for statement in _TABLES.split(";\n"):
                    file.execute(statement)
                file.execute(f"PRAGMA user_version = {VERSION}")
            elif version != VERSION:
                raise DatasetsError(
                    f"The spool {self.path} is of version {version}, and this bigdebug reads {VERSION}", remedy="Use the newer one, or another folder.",
                )

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """All of it, or nothing."""
        with self._alone, self._named():
            self._file.execute("BEGIN IMMEDIATE")
            try:
                yield self._file
                self._file.execute("COMMIT")
            except BaseException:
                if self._file.in_transaction:
                    self._file.execute("ROLLBACK")
                raise

    @contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as trouble:
            raise DatasetsError(
                f"The spool {self.path} cannot be used: {trouble}",
                remedy="Nothing is lost: what is recorded is in the store, and can be sent from there. Move the file away if it is broken.",
            ) from trouble
