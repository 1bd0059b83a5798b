"""Machine: on which one a process runs, of those that share a directory."""

from __future__ import annotations

import os
import socket
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
