"""The store of datasets: all processes of all sessions and notebooks of a user, in one file of SQLite.

Two may write at once: a transaction takes less than a millisecond, and who finds the store locked keeps what it has and writes it with the
next, or by itself a little later. Where the file cannot be written at all, recording goes on in memory, and says so; it is tried again now and then, and at
the end. Nothing of it fails a job, or makes one wait.
"""

from __future__ import annotations

import json
import logging
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep

from bigdebug.datasets import owners, rows
from bigdebug.datasets.connecting import LockedStoreError, ReadOnlyStoreError, damaged, in_memory, named, wrong_in
from bigdebug.datasets.home import FILE, default_store
from bigdebug.datasets.model import Process
from bigdebug.datasets.retention import Retention, retain
from bigdebug.datasets.secrets import Secrets
from bigdebug.datasets.spelling import stored
from bigdebug.datasets.storefile import StoreFile
from bigdebug.errors import StoreError

log = logging.getLogger("bigdebug")

_AT_ONCE = 100
"""Processes of one transaction."""

_SOON, _LATER = 2.0, 60.0
"""Seconds after which the file is tried again that was locked, and that could not be written."""

_RETAINED_EACH = 1_000
"""Processes after which old ones are looked for."""


class DatasetStore:
    """What was recorded, in the file ``path`` (the user's own, if None). Thread-safe. Secrets are taken out of all that goes in.

    Making one touches nothing; the file is made, private to its owner, when the first process is recorded.
    """

    def __init__(self, path: Path | None = None, secrets: Secrets | None = None, retention: Retention | None = None) -> None:
        self._file = StoreFile(default_store() if path is None else path.absolute())
        self.secrets = Secrets() if secrets is None else secrets
        self.retention = Retention.of_environment() if retention is None else retention
        self._alone = self._file.alone
        self._waiting: list[Process] = []
        self._written = 0
        self._locked = False
        self._kept: list[Process] = []
        """What is in memory alone."""
        self._rests_until = 0.0
        self._timer: threading.Timer | None = None

    @classmethod
    def of(cls, path: Path | None = None) -> DatasetStore:
        """A store that is there already, to be asked, also where it can only be read. Raises StoreError if there is none, or it is damaged."""
        store = cls(path)
        with named(store.path):
            if store.path.exists() and not store.path.is_file():
                raise StoreError(
                    "The store of datasets is no file", value=str(store.path),
                    remedy=f"Name the file, as {store.path / FILE}; or, where a store is to be made, move this away.",
                )
            if not store.path.is_file() or not store.path.stat().st_size:  # an empty file may be anything
                raise StoreError(
                    "There is no store of datasets", value=str(store.path),
                    remedy="Run a job after bigdebug.attach(spark) or %load_ext bigdebug, or name another store.",
                )
        store._file.open_to_be_asked()
        return store

    @property
    def path(self) -> Path:
        return self._file.path

    @property
    def trouble(self) -> str:
        """In whole sentences what is not as it should be: kept in memory, or waiting for another process. Empty if all is well."""
        with self._alone:
            if self._locked and self._waiting:
                count = len(self._waiting)
                waiting = "1 process waits" if count == 1 else f"{count:,} processes wait"
                return f"Another process keeps the store {self.path} locked; {waiting} to be written."
            return self._file.lost

    # ---- recording --------------------------------------------------------------------------------------------

    def record(self, *processes: Process) -> list[Process]:
        """Store processes; one of an id that is there already replaces it. Does not raise for what is wrong with the store. Gives them as they are stored,
        without secrets.

        Takes some 0.3 ms for each; where another process is writing, half a second at most each two seconds.
        """
        with self._alone:
            cleaned = [self.secrets.cleaned(process) for process in processes]
            self._waiting += cleaned
            self._drain()
        return cleaned

    def close(self, timeout: float = 5.0) -> None:
        """Write what waits, in ``timeout`` seconds at most, and let go of the file. What is recorded or asked later opens it again."""
        until = monotonic() + timeout
        while self._left() and monotonic() < until:
            sleep(0.02)
        with self._alone:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            if self._waiting:
                log.warning("bigdebug: %s What waits is lost when this program ends.", self.trouble)
            self._file.close()

    def _left(self) -> int:
        """How many processes wait after one more try."""
        with self._alone:
            self._rests_until = 0.0
            self._drain()
            return len(self._waiting)

    def _drain(self) -> None:
        """Write what waits, unless the file is to be left alone for a while."""
        rests = monotonic() < self._rests_until
        if self._locked and rests:
            return
        if self._file.lost and not rests:
            self._try_again()
        at_once = _AT_ONCE
        while self._waiting:
            batch = self._waiting[:at_once]
            try:
                self._write(batch)
            except LockedStoreError:
                self._locked = True
                self._rest(_SOON)
                return
            except StoreError as trouble:
                if not self._file.lost:
                    self._go_on_in_memory(trouble)
                    continue
                log.error("bigdebug could not record %d processes: %s", len(batch), trouble)
            except Exception as trouble:  # one of them is no process: the others are stored
                if len(batch) > 1:
                    at_once = 1
                    continue
                log.error("bigdebug could not record a process: %s: %s", type(trouble).__name__, self.secrets.text(str(trouble)))
                del self._waiting[:1]  # nor is it kept, for the file would not take it either
                continue
            self._locked = False
            self._kept += batch if self._file.lost else []
            del self._waiting[: len(batch)]

    def _rest(self, seconds: float) -> None:
        self._rests_until = monotonic() + seconds
        if self._timer is None and self._locked:  # nobody may record anything for hours
            self._timer = threading.Timer(seconds, self._later)
            self._timer.daemon = True
            self._timer.start()

    def _later(self) -> None:
        with self._alone:
            self._timer = None
            self._drain()

    def _try_again(self) -> None:
        """Write what is in memory alone into the file, if that can be written by now."""
        try:
            with self._file.going_back():
                for start in range(0, len(self._kept), _AT_ONCE):
                    self._write(self._kept[start : start + _AT_ONCE])
        except StoreError:
            self._rest(_LATER)
        else:
            self._kept.clear()

    def _write(self, batch: list[Process]) -> None:
        with self._file.transaction() as db:
            for process in batch:
                rows.write(db, process)
        before, self._written = self._written, self._written + len(batch)
        if before == 0 or before // _RETAINED_EACH != self._written // _RETAINED_EACH:
            try:
                retain(self._file.transaction, self.retention)
            except LockedStoreError:  # there is time for it later
                log.debug("bigdebug did not look for old processes: another one was writing")

    def _go_on_in_memory(self, trouble: StoreError) -> None:
        self._file.go_on_in_memory(trouble)
        self._rest(_LATER)

    # ---- asking -----------------------------------------------------------------------------------------------

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """The database as it is at one moment, with all that was recorded here. Raises StoreError if it cannot be read."""
        with self._alone, named(self.path):
            if self._file.db is not None and self._file.db.in_transaction:  # a question within one
                yield self._file.db
                return
            self._drain()
            try:
                self._file.look()
            except ReadOnlyStoreError as trouble:
                self._go_on_in_memory(trouble)
            self._lose()
            db = self._file.db or in_memory()
            db.execute("BEGIN")
            try:
                yield db
            except (LookupError, TypeError, ValueError) as trouble:  # a program's mistake, or what is read is not what was written
                if said := str(trouble) if isinstance(trouble, json.JSONDecodeError) else wrong_in(db):
                    raise damaged(said, str(self.path)) from trouble
                raise
            finally:
                if db.in_transaction:
                    db.execute("ROLLBACK")

    def _lose(self) -> None:
        """Note what nobody runs any more."""
        with suppress(StoreError):  # another one is writing: it is noted with the next question
            if self._file.db is not None and (sessions := owners.dead(self._file.db)):
                with self._file.transaction() as db:
                    owners.lose(db, sessions)

    def process(self, identity: str) -> Process | None:
        """The process of an id; None if it is not here."""
        with self.reading() as db:
            found = db.execute("SELECT number FROM process WHERE id = ?", (stored(identity),)).fetchone()
            return None if found is None else rows.read(db, found[0])

    def each(self, session: str = "") -> Iterator[Process]:
        """All processes, or those of a session, oldest first, one by one: a few are in memory, and the store is free in between. What goes meanwhile is left
        out. Takes some 0.2 ms for each.
        """
        with self.reading() as db:
            which, values = ("WHERE session = ?", (stored(session),)) if session else ("", ())
            numbers = [number for (number,) in db.execute(f"SELECT number FROM process {which} ORDER BY started, number", values)]
        for start in range(0, len(numbers), _AT_ONCE):
            with self.reading() as db:
                there = {number for (number,) in db.execute(
                    "SELECT number FROM json_each(?) JOIN process ON number = value", (json.dumps(numbers[start : start + _AT_ONCE]),),
                )}
                some = [rows.read(db, number) for number in numbers[start : start + _AT_ONCE] if number in there]
            yield from some
