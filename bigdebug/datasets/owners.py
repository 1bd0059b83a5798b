"""Owners: which process of which machine runs a session, so that what it left running when it died is told from what runs."""

from __future__ import annotations

import os
import sqlite3

from bigdebug.store.machine import born, lives, machine


def note(db: sqlite3.Connection, session: str) -> None:
    """That this process runs a session."""
    db.execute("INSERT OR REPLACE INTO owner (session, host, pid, born) VALUES (?, ?, ?, ?)", (session, machine(), os.getpid(), born(os.getpid())))


def dead(db: sqlite3.Connection) -> list[str]:
    """The sessions of which something is said to run, and whose process has ended on this machine. Of other machines nothing is known. Takes 0.1 ms."""
    asked = db.execute("SELECT DISTINCT o.session, o.pid, o.born FROM process p JOIN owner o ON o.session = p.session WHERE p.status = 'running' AND o.host = ?", (machine(),))
    return [session for session, pid, since in asked if not lives(pid, since)]


def lose(db: sqlite3.Connection, sessions: list[str]) -> None:
    """What they left running is lost: nobody will tell how it ended."""
    db.executemany("UPDATE process SET status = 'lost' WHERE session = ? AND status = 'running'", [(session,) for session in sessions])
