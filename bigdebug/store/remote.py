"""Remote: a place that a URI names, which the driver and its tasks reach by themselves, each with the options that it was given.

No call waits for longer than it takes to see that nobody answers, whatever the filesystem does: it is made in a thread, and left there.
"""

from __future__ import annotations

import pickle
import queue
import re
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from bigdebug.errors import BlockLostError, StoreError
from bigdebug.store.filesystems import Address
from bigdebug.store.place import NAMED, uncopied

T = TypeVar("T")

PATIENCE = 10.0
"""Seconds that a call may take, besides what its bytes take."""
SLOWEST = 1 << 20
"""Bytes in a second that are waited for."""
AGAIN, SOON = 30.0, 1.0
"""Seconds for which a process does not try again whose task could not write, and waited for more than so many seconds to see it."""

_TRIES, _PAUSE = 3, 0.2
"""How often is read, listed or removed what the server was too busy for, and seconds before the second time, twice as many before each further one. Clients of S3 try again
themselves, but for reading a file. Tasks do not: what they cannot write is derived.
"""
_BUSY = re.compile("SLOW_DOWN|SlowDown|THROTTL|INTERNAL_FAILURE|SERVICE_UNAVAILABLE|Transferred a partial file")

_WHOLE = ("s3", "gcs", "abfs")
"""Filesystems of pyarrow's where a file is there when it is closed, and not before."""

_REMEDIES = {
    r"ACCESS_DENIED|INVALID_ACCESS_KEY|SIGNATURE|EXPIRED|TOKEN|[Cc]redential|Forbidden|\b40[13]\b|ermission|Unauthorized":
        "Check the keys, in the environment or as store_options={...}: they have to read, write, list and delete there.",
    r"NO_SUCH_BUCKET|NoSuchBucket|ContainerNotFound|bucket does not exist": "Make the bucket first, or name another one.",
    r"NETWORK_CONNECTION|no answer within|[Cc]onnect|resolve|[Tt]ime[d ]*out|curlCode": "See that it is named rightly and can be reached from here; "
        "S3 elsewhere than at Amazon takes store_options={'endpoint_override': 'HOST:PORT', ...}.",
    _BUSY.pattern: "The server has too much to do, or breaks off: ask again in a while.",
    "Empty path component|Path cannot start with": "A URI names a bucket, and no part of its path is empty: s3://bucket/path.",
    r"NotImplemented|[Rr]ead-only": "This filesystem is for reading alone: name another one.",
    r"unexpected keyword": "store_options are what the filesystem takes: pyarrow.fs.S3FileSystem has access_key, secret_key, region, endpoint_override.",
    r"fsspec": "Install it, and what it needs for this scheme, for the driver and on all executors.",
}


@dataclass
class _Opened:
    """The filesystem of a place in one process, and the path of the place in it. Raises what the filesystem does."""

    fs: Any
    root: str
    failed: tuple[float, str] | None = None
    """When a task waited in vain to write, and why."""

    def path(self, name: str) -> str:
        return f"{self.root}/{name}" if name else self.root

    def file(self, name: str) -> tuple[Any, int]:
        """A file, opened, and its size."""
        file = self.fs.open_input_file(self.path(name))
        return file, file.size()

    def write(self, name: str, data: bytes) -> None:
        target = path = self.path(name)
        if self.fs.type_name not in _WHOLE:
            self.fs.create_dir(path.rpartition("/")[0], recursive=True)
            target = f"{path}.{uuid.uuid4().hex}.partial"
        try:
            with self.fs.open_output_stream(target) as out:
                out.write(data)
            if target != path:
                self.fs.move(target, path)
        except BaseException:
            if target != path:
                with suppress(Exception):  # what went wrong is what is told
                    self.fs.delete_file(target)
            raise

    def names(self, folder: str) -> list[str]:
        from pyarrow import fs

        self._anew(folder)
        return [info.base_name for info in self.fs.get_file_info(fs.FileSelector(self.path(folder), allow_not_found=True))]

    def remove(self, folder: str) -> None:
        self._anew(folder)
        with suppress(FileNotFoundError):
            self.fs.delete_dir(self.path(folder))

    def try_out(self) -> None:
        """Write a file, list it, read it and remove it. Raises ValueError if that is not what was written."""
        name, data = uuid.uuid4().hex, uuid.uuid4().bytes
        self.write(f"probe/{name}", data)
        with self.file(f"probe/{name}")[0] as file:
            if self.names("probe") != [name] or file.read() != data:
                raise ValueError("it does not give back what was written there")
        self.remove("probe")

    def _anew(self, folder: str) -> None:
        """Have fsspec's filesystems forget what they remember of a folder."""
        handler = getattr(self.fs, "handler", None)
        if handler is not None:
            handler.fs.invalidate_cache(self.path(folder))


@lru_cache(maxsize=8)
def _opened(remote: Remote) -> _Opened:
    return _Opened(*remote.address.opened())


@dataclass(frozen=True, eq=False)
class Remote:
    """A place of its own below a URI. It travels to executors with the tasks that write there, and so do its options."""

    address: Address

    @classmethod
    def below(cls, address: Address) -> Remote:
        """A new place that nobody else has, checked. Raises StoreError, within seconds, if this process cannot write, list, read and delete there."""
        if not _travels(address.options):
            raise StoreError("store_options hold something that cannot be sent to executors", remedy="Give texts, numbers, and dictionaries of them.")
        made = cls(address.below(f"{NAMED}{uuid.uuid4().hex}"))
        made._asked("The lineage store cannot be made", "", _Opened.try_out)
        return made

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Remote) and other.where() == self.where()

    def __hash__(self) -> int:
        return hash(self.where())

    def read(self, name: str) -> bytes:
        what = "A lineage block cannot be read"
        return self._patiently(lambda: self._read(what, name))

    def _read(self, what: str, name: str) -> bytes:
        file, size = self._asked(what, name, lambda at: at.file(name))
        return self._asked(what, name, lambda at: _all_of(file), size)

    def write(self, name: str, data: bytes) -> None:
        self._asked("A lineage block cannot be written", name, lambda at: at.write(name, data), len(data))

    def commit(self, name: str, data: bytes) -> None:
        """As ``write``, for tasks: one that comes soon after another that waited in vain does not wait for the same again."""
        at = self._asked("The lineage store cannot be opened", "", lambda at: at)
        began = time.monotonic()
        if at.failed is not None and began < at.failed[0] + AGAIN:
            raise StoreError(f"Not tried, for {began - at.failed[0]:.0f} s before: {at.failed[1]}", value=self.where(name))
        try:
            self.write(name, data)
        except StoreError as problem:
            ended = time.monotonic()
            at.failed = (ended, problem.what) if ended > began + SOON else None
            raise

    def names(self, folder: str) -> list[str]:
        return self._patiently(lambda: self._asked("The lineage store cannot be read", folder, lambda at: at.names(folder)))

    def remove(self, folder: str) -> None:
        self._patiently(lambda: self._asked("What is to go from the lineage store cannot be removed", folder, lambda at: at.remove(folder)))

    def copy(self, name: str, into: Path) -> None:
        data = self.read(name)
        try:
            into.write_bytes(data)
        except OSError as problem:
            raise uncopied(self.where(name), into, problem) from problem

    def where(self, name: str = "") -> str:
        return f"{self.address.shown}/{name}".rstrip("/")

    def _patiently(self, ask: Callable[[], T]) -> T:
        """What is asked for, once more where the server was too busy."""
        for tried in range(_TRIES - 1):
            try:
                return ask()
            except StoreError as problem:
                if not _BUSY.search(problem.what):
                    raise
            time.sleep(_PAUSE * 2**tried)
        return ask()

    def _asked(self, what: str, name: str, call: Callable[[_Opened], T], size: int = 0) -> T:
        """What a call gives; else a StoreError, a BlockLostError for what is not there, that has no secrets, nor the exception that has some."""
        try:
            return _within(PATIENCE + size / SLOWEST, lambda: call(_opened(self)))
        except Exception as problem:
            lost = isinstance(problem, FileNotFoundError)
            # No local of the frame that raises may hold more: tracebacks show these, too.
            why = self.address.hidden(str(problem) if isinstance(problem, OSError) else f"{type(problem).__name__}: {problem}")
        why = " ".join(why.split()).rstrip(".")
        remedy = next((remedy for pattern, remedy in _REMEDIES.items() if re.search(pattern, why)), "See that it is there, and can be written from here.")
        raise (BlockLostError if lost else StoreError)(f"{what}: {why}", value=self.where(name), remedy=remedy)


def _all_of(file: Any) -> bytes:
    """What is in an open file. Closing may wait as long as reading does."""
    with file:
        return bytes(file.read())


def _travels(options: Mapping[str, Any]) -> bool:
    try:
        return bool(pickle.dumps(dict(options)))
    except Exception:  # pickles raise what they like
        return False


def _within(seconds: float, call: Callable[[], T]) -> T:
    """What a call gives, or raises, within so many seconds; else TimeoutError, and it goes on alone."""
    answers: queue.SimpleQueue[tuple[T | None, BaseException | None]] = queue.SimpleQueue()

    def answer() -> None:
        try:
            answers.put((call(), None))
        except BaseException as problem:
            answers.put((None, problem))

    threading.Thread(target=answer, name="bigdebug store", daemon=True).start()
    try:
        found, problem = answers.get(timeout=seconds)
    except queue.Empty:
        raise TimeoutError(f"no answer within {seconds:.0f} s") from None
    if problem is not None:
        raise problem
    return found  # type: ignore[return-value]
