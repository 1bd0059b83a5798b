"""Directories that are locked by the process that made them: what a killed one left is told from what another still uses, and taken away."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import glob
import os
import shutil
import stat
import tempfile
import weakref
from pathlib import Path
from typing import IO

from bigdebug.errors import StoreError

LOCK = "provenance.lock"
"""The file that is locked. A directory that has it, and that nobody locks, is nobody's."""

_TEMPORARY = "bigdebug-provenance-"
_ABSOLUTE, _EXCHANGE = -100, 2
"""Linux: AT_FDCWD, which means nothing beside absolute paths, and RENAME_EXCHANGE."""


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


def take_place(path: Path, target: Path) -> None:
    """Puts a directory that ``locked`` made where another may be, which goes; whatever ends the process meanwhile, ``remove_forsaken`` takes away what is left.

    Raises StoreError where somebody else puts one there, or takes it away, at the same moment.
    """
    try:
        _open_as(path, target)
        _exchange(path, target)
    except OSError as problem:
        if problem.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT):
            raise
        raise StoreError(
            "Another process built at the same place meanwhile", value=str(target), remedy="Open what it built by bigdebug.open, or build once more."
        ) from problem


def _open_as(path: Path, target: Path) -> None:
    """Lets those into a directory who may go into the one that it takes the place of; where there is none, into one that this user makes there.

    Until now it was this user's alone, for it was temporary.
    """
    new = path / f"{LOCK}.mode"  # made as any other, for that is how to learn what the process, and the folder, make of modes
    new.mkdir()
    told = (target if target.is_dir() else new).stat()
    new.rmdir()
    mode = stat.S_IMODE(told.st_mode)
    if path.stat().st_gid != told.st_gid:
        try:
            for each in (path, *path.rglob("*")):
                os.chown(each, -1, told.st_gid)
        except OSError:  # a group that this user is not in, or that a container does not know: nobody is let in in its place
            mode &= ~(stat.S_ISGID | stat.S_IRWXG)
    path.chmod(mode)


def _exchange(path: Path, target: Path) -> None:
    if target.exists():
        # What was there is nobody's from now on, whatever ends the process.
        (target / LOCK).touch()
        if _swapped(path, target):
            shutil.rmtree(path, ignore_errors=True)
        else:
            _moved(path, target)
    else:
        path.rename(target)
    (target / LOCK).unlink(missing_ok=True)


def _swapped(one: Path, other: Path) -> bool:
    """Exchanges two directories at one stroke, so that at no moment there is none; False where the system cannot. Python has no such call of its own."""
    exchange = getattr(ctypes.CDLL(None), "renameat2", None)
    return exchange is not None and exchange(_ABSOLUTE, os.fsencode(one), _ABSOLUTE, os.fsencode(other), _EXCHANGE) == 0


def _moved(path: Path, target: Path) -> None:
    """The same in two steps."""
    aside = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        target.rename(aside)
        path.rename(target)
    except BaseException:
        # Its contents are at one of both places, unless somebody else was quicker.
        if not target.exists() and any(aside.iterdir()):
            (aside / LOCK).unlink()  # so that nobody takes it away, even if it has to stay there
            aside.rename(target)
        else:
            shutil.rmtree(aside, ignore_errors=True)
        raise
    shutil.rmtree(aside, ignore_errors=True)


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
