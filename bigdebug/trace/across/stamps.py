"""Stamps: what a file held when a step read or wrote it, and whether it is still that. Cheap: a look, and at most 64 MiB of reading."""

from __future__ import annotations

import os
import stat
from hashlib import blake2b
from typing import BinaryIO

from bigdebug.outside import from_outside
from bigdebug.trace.across.located import FileStamp
from bigdebug.trace.textlines import local_path

DIGESTED = 64 << 20
"""Bytes up to which a digest is of all that a file holds. Of a larger one it is of its first and last MiB, and begins with ``~``."""

_PIECE = 1 << 20
_MILLISECOND = 1_000_000


def stamp_of(path: str, digest: bool = True) -> FileStamp | None:
    """What the file at ``path`` (or ``file:`` URI) holds now; None if no file is there, or if it is on another machine.

    A pipe or a device is none, and is not opened: who does so takes what is in it from somebody. A file that changes while it is read has the stamp of before without a
    digest, which equals no later one.
    """
    here = local_path(path)
    if here is None:
        return None
    try:
        if not stat.S_ISREG(os.stat(here).st_mode):
            return None
        with open(here, "rb", buffering=0, opener=_at_once) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                return None
            content = _digest(file, status.st_size) if digest else ""
            after = os.fstat(file.fileno())
    except (OSError, ValueError) as problem:  # the latter for a path that can be of no file
        if from_outside(problem):
            raise
        return None
    same = (status.st_size, status.st_mtime_ns) == (after.st_size, after.st_mtime_ns)
    return FileStamp(status.st_size, status.st_mtime_ns, content if same else "")


def same_content(one: FileStamp, other: FileStamp) -> bool:
    """Whether two stamps are of the same content.

    Digests of all of it decide, whatever the clock says: a copy, or a file that was only touched, is the same. Else size and time have to be equal, and what
    digests there are of the ends.
    """
    if one.size != other.size:
        return False
    both = bool(one.digest and other.digest)
    if both and one.digest != other.digest:
        return False
    return (both and not one.digest.startswith("~")) or one.modified == other.modified


def left_so(one: FileStamp | None, other: FileStamp | None) -> bool:
    """Whether two stamps are of the same content, and of the same time to the millisecond: Spark tells no more."""
    return one is not None and other is not None and same_content(one, other) and one.modified // _MILLISECOND == other.modified // _MILLISECOND


def unchanged(path: str, stamp: FileStamp) -> bool:
    """Whether the file at ``path`` still is what the stamp says. Reads it again if the stamp has a digest: times can be set, and are coarse."""
    now = stamp_of(path, digest=False)
    if now is None or now.size != stamp.size:
        return False
    if stamp.digest:
        now = stamp_of(path)
    return now is not None and same_content(now, stamp)


def _at_once(path: str, flags: int) -> int:
    """Opens without waiting, should a pipe have come to stand there meanwhile."""
    return os.open(path, flags | os.O_NONBLOCK)


def _digest(file: BinaryIO, size: int) -> str:
    """Of all bytes; of a large file, of its first and last MiB and of its size. None of a file that has more than its size: it grows, or is made up by the system."""
    found = blake2b(digest_size=16)
    if size <= DIGESTED:
        left = size
        while piece := file.read(min(_PIECE, left + 1)):
            found.update(piece)
            left -= len(piece)
            if left < 0:
                return ""
        return found.hexdigest()
    found.update(f"{size}:".encode())
    found.update(file.read(_PIECE))
    file.seek(-_PIECE, os.SEEK_END)
    found.update(file.read(_PIECE))
    return f"~{found.hexdigest()}"
