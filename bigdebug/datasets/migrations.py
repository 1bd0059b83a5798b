"""Migrations: a store of an older version becomes one of this version, wholly or not at all; one of a newer version stays as it is."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from bigdebug.datasets.schema import APPLICATION, STEPS
from bigdebug.errors import CorruptStoreError, StoreVersionError


def migrate(db: sqlite3.Connection, name: str, steps: Sequence[Sequence[str]] = STEPS) -> None:
    """Bring a store to this version; ``name`` is what it is called in errors. Of two processes that do it at once one waits for the other.

    Raises StoreVersionError for a store of a newer version, CorruptStoreError for a database that is something else; neither is changed.
    """
    if version_of(db, name, len(steps)) == len(steps):
        return
    db.execute("BEGIN IMMEDIATE")
    try:
        for step in steps[version_of(db, name, len(steps)):]:
            for statement in step:
                db.execute(statement)
        db.execute(f"PRAGMA application_id = {APPLICATION}")
        db.execute(f"PRAGMA user_version = {len(steps)}")
        db.execute("COMMIT")
    except BaseException:
        db.execute("ROLLBACK")
        raise


def version_of(db: sqlite3.Connection, name: str, newest: int) -> int:
    """The version of a store, 0 of an empty file. Raises as ``migrate`` does."""
    (version,), (application,) = (db.execute(f"PRAGMA {pragma}").fetchone() for pragma in ("user_version", "application_id"))
    if application != APPLICATION:
        if application or version or db.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone():
            raise CorruptStoreError(
                "This is a database, but no store of datasets", value=name, remedy="Name another file, or another directory by BIGDEBUG_HOME.",
            )
        return 0
    if version > newest:
        raise StoreVersionError(
            f"The store of datasets has version {version}, and this bigdebug knows up to {newest}", value=name,
            remedy="Use the bigdebug that wrote it, or a newer one; or name another directory by BIGDEBUG_HOME.",
        )
    return int(version)
