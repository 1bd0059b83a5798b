"""Remembering: the graph that was read at once stays with the connection until anybody writes to the store."""

from __future__ import annotations

import sqlite3

from bigdebug.datasets.everything import Everything

_KEPT = 250_000
"""Edges and passages of flows up to which they are kept: some 60 MB."""


class Remembering(sqlite3.Connection):
    """A connection that keeps what was read of the whole graph, and of which version of the store. It is closed when nobody has it any more: the graph has, so that takes a collection."""

    version: tuple[int, int] = (-1, -1)
    everything: Everything | None = None

    def __del__(self) -> None:
        self.close()


def everything(db: sqlite3.Connection) -> Everything:
    """The graph as it is now; each part of it is read when it is first asked about."""
    if not isinstance(db, Remembering):
        return Everything(db)
    version = (db.execute("PRAGMA data_version").fetchone()[0], db.total_changes)
    if db.everything is None or db.version != version or db.everything.size > _KEPT:
        db.everything, db.version = Everything(db), version
    return db.everything


def is_held(db: sqlite3.Connection) -> bool:
    """Whether the graph as it is now was read for another question."""
    return isinstance(db, Remembering) and db.everything is not None and everything(db).size > 0
