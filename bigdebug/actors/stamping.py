"""Stamping: what the files of a step held. Of the first of them by what is in them, of the others by size and time: a step of ten thousand images does not read them again."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

from bigdebug.outside import from_outside
from bigdebug.trace.across.located import FileStamp
from bigdebug.trace.across.stamps import DIGESTED, stamp_of

MOST = 256 << 20
"""Bytes of the files of a step that are read for digests, all together."""

_STEP = 0.02
"""Seconds behind which a file system gives another time to what is written."""

_COARSE = 10_000_000
"""Nanoseconds: a time that is a whole hundredth of a second may be of a file system whose steps are longer."""


class Stamper:
    """Takes the stamps of the files of one step: with a digest, as long as these have read no more than ``MOST``."""

    def __init__(self) -> None:
        self._left = MOST

    def __call__(self, path: str) -> FileStamp | None:
        """The stamp of now; None if there is no file here."""
        quick = stamp_of(path, digest=False)
        if quick is None:
            return None
        read = quick.size if quick.size <= DIGESTED else 2 << 20
        if read > self._left:
            return quick
        self._left -= read
        return stamp_of(path)


@contextmanager
def stamping(paths: Sequence[str]) -> Iterator[dict[str, FileStamp | None]]:
    """Within, files are read, and their digests are taken beside that, or before it where no thread can be had, as when Python ends; behind it there are their stamps: without a digest if
    they were changed meanwhile.
    """
    stamps: dict[str, FileStamp | None] = {}
    with ThreadPoolExecutor(1) as beside:
        taken = _begun(beside, paths)
        yield stamps
        stamps.update({path: _still(path, stamp.result()) for path, stamp in taken.items()})


Written = tuple[int, int, int, int, int]


def written_at(path: str) -> Written | None:
    """What is another one when somebody has written the file, also the same once more; None if it is no file, or if nobody could tell."""
    try:
        status = os.stat(path)
    except (OSError, ValueError) as problem:
        if from_outside(problem):
            raise
        return None
    if not stat.S_ISREG(status.st_mode) or status.st_ctime_ns % _COARSE == 0:
        return None
    return status.st_ctime_ns, status.st_mtime_ns, status.st_size, status.st_ino, status.st_dev


def standing(paths: Sequence[str]) -> dict[str, Written]:
    """When the files were written that are there. Times of files go in steps: behind this, who writes them has another one."""
    found = {path: when for path in paths if (when := written_at(path)) is not None}
    latest = max((changed for changed, *_ in found.values()), default=0) / 1e9
    time.sleep(min(_STEP, max(0.0, latest + _STEP - time.time())))
    return found


def _begun(beside: ThreadPoolExecutor, paths: Sequence[str]) -> dict[str, Future[FileStamp | None]]:
    take = Stamper()
    try:
        return {path: beside.submit(take, path) for path in paths}
    except RuntimeError as problem:
        if from_outside(problem):
            raise
    beside.shutdown(cancel_futures=True)
    take = Stamper()
    return {path: _taken(take(path)) for path in paths}


def _taken(stamp: FileStamp | None) -> Future[FileStamp | None]:
    done = Future[FileStamp | None]()
    done.set_result(stamp)
    return done


def _still(path: str, stamp: FileStamp | None) -> FileStamp | None:
    """The stamp, without a digest if the file was changed while it was read: what was read may be neither."""
    now = stamp_of(path, digest=False)
    if stamp is None or now is None or (now.size, now.modified) == (stamp.size, stamp.modified):
        return stamp
    return FileStamp(now.size, now.modified)
