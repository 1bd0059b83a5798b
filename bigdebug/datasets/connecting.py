"""Connections to the file of a store, and what can be wrong with it, by name."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bigdebug.datasets.home import REMEDY
from bigdebug.datasets.migrations import migrate
from bigdebug.datasets.remembering import Remembering
from bigdebug.errors import BigdebugError, CorruptStoreError, StoreError

PATIENCE = 0.5
"""Seconds that one who writes waits for another."""

COPIED = 512 << 20
"""Bytes of a store that cannot be written which are read into memory."""


class LockedStoreError(StoreError):
    """Another process is writing."""


class ReadOnlyStoreError(StoreError):
    """The store can be read at most."""


def connected(path: Path) -> sqlite3.Connection:
    """A connection to a store that is there, brought to this version. Raises StoreError if it cannot be written, or is none."""
    with named(path):
        db = _opened(path, "mode=rw")
        try:
            migrate(db, str(path))
            db.execute("PRAGMA journal_mode = WAL")  # where the file system does not allow it, it stays as it is
            db.execute("PRAGMA synchronous = NORMAL")
            db.execute("PRAGMA foreign_keys = ON")
        except BaseException:
            db.close()
            raise
        return db


def copied(path: Path) -> sqlite3.Connection:
    """What a store holds that can only be read, in memory, and brought to this version there."""
    with named(path):
        if path.stat().st_size > COPIED:
            raise StoreError("The store of datasets cannot be written, and is too large to be read into memory", value=str(path), remedy=REMEDY)
        # Beside a file SQLite wants to write others, unless it is told that nobody writes there.
        others = path.with_name(f"{path.name}-wal")
        untouched = not others.exists() or others.stat().st_size == 0
        before = _opened(path, "mode=ro&immutable=1" if untouched else "mode=ro")
        memory = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False, factory=Remembering)
        try:
            before.backup(memory)
            migrate(memory, str(path))
        except BaseException:
            memory.close()
            raise
        finally:
            before.close()
        memory.execute("PRAGMA foreign_keys = ON")
        return memory


def in_memory() -> sqlite3.Connection:
    """An empty store that ends with the process."""
    db = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False, factory=Remembering)
    migrate(db, "memory")
    db.execute("PRAGMA foreign_keys = ON")
    return db


def file_at(path: Path) -> tuple[int, int] | None:
    """What tells the file at a path from any other; None if there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


@contextmanager
def named(path: Path) -> Iterator[None]:
    """Within: what SQLite and the system say of the store is an error of ours, with its remedy; what SQLite says of a value stays as it is."""
    try:
        yield
    except (BigdebugError, sqlite3.IntegrityError, sqlite3.DataError, sqlite3.ProgrammingError, sqlite3.InterfaceError):
        raise
    except sqlite3.Error as problem:
        raise _error(problem, str(path)) from problem
    except UnicodeDecodeError as problem:  # what SQLite says quotes what is there
        raise damaged("texts in it are none", str(path)) from problem
    except OSError as problem:
        raise StoreError(f"The store of datasets cannot be used: {problem.strerror or problem}", value=str(path), remedy=REMEDY) from problem


def _error(problem: sqlite3.Error, path: str) -> StoreError:
    said = str(problem)
    if "locked" in said or "busy" in said:
        return LockedStoreError("Another process keeps the store of datasets locked", value=path, remedy="Ask again when it has ended, or end it.")
    if "readonly" in said or "unable to open" in said:
        return ReadOnlyStoreError(f"The store of datasets cannot be written: {said}", value=path, remedy=REMEDY)
    if "malformed" in said or "not a database" in said:
        return damaged(said, path)
    return StoreError(f"The store of datasets cannot be used: {said}", value=path, remedy=REMEDY)


def damaged(said: str, path: str) -> CorruptStoreError:
    """The error for a store that is not as it was written."""
    return CorruptStoreError(
        f"The store of datasets is damaged: {said}", value=path,
        remedy="If it is another's, name another file. Else move the file and those beside it away, and a new one begins; 'sqlite3 FILE .recover' gets back what can be.",
    )


def wrong_in(db: sqlite3.Connection) -> str:
    """What does not fit together in a store that SQLite can read; empty if all does. Reads all of it."""
    (said,) = db.execute("PRAGMA quick_check(1)").fetchone()
    if said != "ok":
        return str(said)
    row = db.execute("PRAGMA foreign_key_check").fetchone()
    return "" if row is None else f"a row of {row[0]} names a {row[2]} that is not there"


def _opened(path: Path, options: str) -> sqlite3.Connection:
    # Transactions begin and end where the code says so; a lock of the store's keeps threads apart.
    return sqlite3.connect(f"{path.absolute().as_uri()}?{options}", uri=True, timeout=PATIENCE, isolation_level=None, check_same_thread=False, factory=Remembering)
