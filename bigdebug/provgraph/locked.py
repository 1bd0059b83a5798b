"""Directories that are locked by the process that made them: what a killed one left is told from what another still uses, and taken away."""

from __future__ import annotations

import fcntl
import glob
import os
import shutil
import tempfile
import weakref
from pathlib import Path
from typing import IO

LOCK = "provenance.lock"
"""The file that is locked. A directory that has it, and that nobody locks, is nobody's."""

_TEMPORARY = "bigdebug-provenance-"


def locked(parent: Path, prefix: str) -> tuple[Path, IO[bytes]]:
    """Makes a directory in ``parent`` whose name begins so, and locks it until the file that it gives is closed, or the process ends."""
    path = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
    lock = (path / f"{LOCK}.new").open("wb")
    fcntl.flock(lock, fcntl.LOCK_EX)
    # Whoever sees it sees it locked.
    (path / f"{LOCK}.new").rename(path / LOCK)
    return path, lock


def remove_forsaken(parent: Path, prefix: str) -> None:
    """Takes away this user's directories that ``locked`` made so and whose process has ended."""
    for path in parent.glob(f"{glob.escape(prefix)}*"):
        if _is_ours(path):
            _remove_unlocked(path)


def _is_ours(path: Path) -> bool:
    try:
        told = path.lstat()
    except OSError:  # gone meanwhile
        return False
    return told.st_uid == os.geteuid() and not path.is_symlink() and (path / LOCK).is_file()


def _remove_unlocked(path: Path) -> None:
    try:
        with (path / LOCK).open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path, ignore_errors=True)
    except OSError:  # somebody's, or gone meanwhile
        return


class Home:
    """A temporary directory that goes with whoever holds this, at the latest with the process; if that is killed, when the next one is made."""

    def __init__(self) -> None:
        parent = Path(tempfile.gettempdir())
        remove_forsaken(parent, _TEMPORARY)
        self.path, lock = locked(parent, _TEMPORARY)
        self.close = weakref.finalize(self, _removed, self.path, lock, os.getpid())


def _removed(path: Path, lock: IO[bytes], pid: int) -> None:
    # Not by a fork, which ends before.
    if os.getpid() == pid:
        shutil.rmtree(path, ignore_errors=True)
    lock.close()
