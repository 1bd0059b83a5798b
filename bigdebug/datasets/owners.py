"""Owners: which process of which machine runs a session, so that what it left running when it died is told from what runs."""

from __future__ import annotations

import os
import sqlite3
import sys
from pathlib import Path

from bigdebug.store.machine import machine


def note(db: sqlite3.Connection, session: str) -> None:
    """That this process runs a session."""
    db.execute("INSERT OR REPLACE INTO owner (session, host, pid, born) VALUES (?, ?, ?, ?)", (session, machine(), os.getpid(), _born(os.getpid())))


def dead(db: sqlite3.Connection) -> list[str]:
    """The sessions of which something is said to run, and whose process has ended on this machine. Of other machines nothing is known. Takes 0.1 ms."""
    asked = db.execute("SELECT DISTINCT o.session, o.pid, o.born FROM process p JOIN owner o ON o.session = p.session WHERE p.status = 'running' AND o.host = ?", (machine(),))
    return [session for session, pid, born in asked if not _lives(pid, born)]


def lose(db: sqlite3.Connection, sessions: list[str]) -> None:
    """What they left running is lost: nobody will tell how it ended."""
    db.executemany("UPDATE process SET status = 'lost' WHERE session = ? AND status = 'running'", [(session,) for session in sessions])


def _lives(pid: int, born: str) -> bool:
    if sys.platform == "win32":  # where to ask a process is to end it
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it is somebody else's, so it is another one, if that can be told
        pass
    return _born(pid) == born


def _born(pid: int) -> str:
    """When a process began, by which it is told from others that had its number; empty where the system does not say."""
    try:
        told = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        return told[19] if told[0] not in "ZX" else "ended"
    except (OSError, IndexError):
        return ""
