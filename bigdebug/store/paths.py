"""Paths: what stands there, and directories that are made and taken away. What interrupts a question is no answer to it, as it is to ``os.path.exists``, ``exist_ok`` and ``ignore_errors``."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from bigdebug.outside import from_outside


def mode_of(path: str | os.PathLike[str]) -> int:
    """What stands at a path, as ``stat`` has it; 0 if nothing that can be seen."""
    try:
        return os.stat(path).st_mode
    except (OSError, ValueError) as problem:
        if from_outside(problem):
            raise
        return 0


def same_file(one: str | os.PathLike[str], other: str | os.PathLike[str]) -> bool:
    """Whether two paths lead to one file: they are the same, or one is a link to it, or another name of it."""
    return one == other or (bool(mode_of(one) and mode_of(other)) and os.path.samefile(one, other))


def is_folder(path: str | os.PathLike[str]) -> bool:
    """Whether there is a directory. Raises what keeps it from being seen, as ``Path.is_dir`` does; that has other answers to it from Python 3.14 on."""
    try:
        return stat.S_ISDIR(os.stat(path).st_mode)
    except OSError as problem:
        if problem.errno in (errno.ENOENT, errno.ENOTDIR, errno.EBADF, errno.ELOOP):
            return False
        raise


def made(folder: Path, mode: int = 0o777) -> None:
    """Make a directory, and those above it, if it is not there."""
    if is_folder(folder):
        return
    try:
        _made(folder, mode)
    except FileNotFoundError as problem:
        if from_outside(problem) or folder.parent == folder:
            raise
        made(folder.parent)
        _made(folder, mode)


def _made(folder: Path, mode: int) -> None:
    try:
        folder.mkdir(mode)
    except OSError as problem:  # another process made it meanwhile
        if from_outside(problem) or not is_folder(folder):
            raise


def touched(path: Path, mode: int) -> None:
    """Make a file, if it is not there."""
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT, mode))


def removed(path: str | os.PathLike[str]) -> None:
    """Take away what stands at a path, a link itself and not what it leads to; what cannot be removed stays. (``shutil.rmtree`` closes twice where an alarm rings behind its own close, and raises
    of that.)
    """
    try:
        if stat.S_ISDIR(os.lstat(path).st_mode):
            for name in os.listdir(path):
                removed(os.path.join(path, name))
            os.rmdir(path)
        else:
            os.unlink(path)
    except OSError as problem:
        if from_outside(problem):
            raise
