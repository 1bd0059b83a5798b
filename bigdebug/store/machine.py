"""Machine: on which one a process runs, of those that share a directory, and whether it still does."""

from __future__ import annotations

import os
import socket
import sys
from functools import lru_cache
from pathlib import Path


@lru_cache(maxsize=1)
def machine() -> str:
    """This machine since it was started, and which of its processes are seen from here: a container has numbers of its own."""
    try:
        boot, seen = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8").strip(), os.readlink("/proc/self/ns/pid")
    except OSError:  # a system that has none of it
        boot, seen = "", ""
    return f"{socket.gethostname()} {boot} {seen}".strip()


def lives(pid: int, since: str) -> bool:
    """Whether a process of this machine runs that was ``born`` then; True where that cannot be told. Takes 0.1 ms."""
    if sys.platform == "win32":  # where to ask a process is to end it
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # it is somebody else's, so it is another one, if that can be told
        pass
    return born(pid) == since


def born(pid: int) -> str:
    """When a process began, by which it is told from others that had its number; empty where the system does not say."""
    try:
        told = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        return told[19] if told[0] not in "ZX" else "ended"
    except (OSError, IndexError):
        return ""
