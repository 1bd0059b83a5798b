"""The file of a store, open while somebody needs it; where it cannot be written, a database in memory in its place."""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from bigdebug.datasets.connecting import ReadOnlyStoreError, connected, copied, file_at, in_memory, named
from bigdebug.datasets.home import make_private
from bigdebug.errors import CorruptStoreError, StoreError

log = logging.getLogger("bigdebug")


class StoreFile:
    """The database of the store at ``path``; ``db`` is None while nothing is open. One thread at a time: ``alone`` is held around whatever is done with it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.alone = threading.RLock()
        self.db: sqlite3.Connection | None = None
        self.lost = ""
        """In whole sentences why what is written goes into memory; empty if it goes into the file."""
        self._opened: tuple[int, int] | None = None
        """Which file is open, whatever it is called by now."""

    def open(self) -> None:
        """Open the file, which is there. Raises StoreError if it cannot be written."""
        self._opened = file_at(self.path)
        self.db = connected(self.path)

    def open_to_be_asked(self) -> None:
        """The same, also where it can only be read."""
        try:
            self.open()
        except ReadOnlyStoreError:
            self.db, self._opened = copied(self.path), None

    def look(self) -> None:
        """Open what is at the path by now, if something is."""
        self._let_go()
        if self.db is None and self.path.is_file():
            self.open()

    def close(self) -> None:
        """Let go of the file, not of what is in memory alone."""
        if self.db is not None and not self.lost:
            self.db.close()
            self.db = None

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Within: what is written is written at once, or not at all. Makes the file, private to its owner, if there is none."""
        with self.alone, named(self.path):
            self._let_go()
            if self.db is None:
                make_private(self.path)
                self.open()
            db = self.db
            assert db is not None
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise

    def go_on_in_memory(self, trouble: StoreError) -> None:
        """From now on what is written is kept in memory, beside what can still be read of the file."""
        if self.db is not None:
            self.db.close()
        self.db, beside = in_memory(), ""
        if not isinstance(trouble, CorruptStoreError):
            with suppress(StoreError):
                self.db, beside = copied(self.path), ", beside what the file holds,"
        self.lost = f"{trouble} What this session does is kept in memory{beside} until it ends."
        log.warning("bigdebug: %s", self.lost)

    @contextmanager
    def going_back(self) -> Iterator[None]:
        """Within: what is written goes into the file again. If that raises a StoreError, all goes on in memory."""
        memory, lost = self.db, self.lost
        self.db, self.lost = None, ""
        try:
            yield
        except StoreError:
            self.db, memory, self.lost = memory, self.db, lost
            raise
        finally:
            if memory is not None:
                memory.close()

    def _let_go(self) -> None:
        """Close a file that somebody took away, or put another in the place of: what is written to it now is lost, and nobody else reads it."""
        if self.db is not None and not self.lost and self._opened is not None and file_at(self.path) != self._opened:
            self.db.close()
            self.db = self._opened = None
