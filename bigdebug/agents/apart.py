"""Apart: tasks that do not see the driver's disk give it their blocks with what they tell it, which Spark hands over once for each task that it took.

A store has a name of its own, so a task sees it where there is a directory of that name. One at a URI was looked for before.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bigdebug.errors import StoreError
from bigdebug.store.blocks import Block, block_name, encode, write_block

if TYPE_CHECKING:  # tasks that need it bring it
    from bigdebug.store.remote import Remote

MOST_POSTED = 1 << 16
"""Tables of a partition beyond so many bytes stay behind where they would go by the driver's memory: they are derived when a trace needs them."""

SPREAD = 0.1
"""Seconds that a task stays which is to be on each executor once: so Spark gives the next one to another."""


@dataclass(frozen=True)
class Sweeping:
    """Takes away a directory of a task's machine that has this name among its temporary files: the names of its files, and what is in them."""

    name: str

    def __call__(self, records: Iterable[object]) -> Iterator[tuple[str, bytes]]:
        folder = Path(tempfile.gettempdir(), self.name)
        time.sleep(SPREAD)
        for file in [*folder.iterdir()] if folder.is_dir() else []:
            with suppress(FileNotFoundError):  # another task of this machine was faster
                yield file.name, file.read_bytes()
                file.unlink()
        with suppress(OSError):
            folder.rmdir()


def started(records: Iterable[object]) -> Iterator[bool]:
    """That a task can run what is ours."""
    time.sleep(SPREAD)
    yield True


@dataclass(frozen=True)
class Reaching:
    """Tells why a task cannot read and write at a URI, where the driver has left ``data`` under the name ``left``; nothing if it can."""

    store: Remote
    left: str
    data: bytes

    def __call__(self, records: Iterable[object]) -> Iterator[str]:
        time.sleep(SPREAD)
        try:
            self.store.write(f"{self.left}-{os.getpid()}-{time.time_ns()}", self.data)
            yield "" if self.store.read(self.left) == self.data else "they find something else there"
        except StoreError as problem:
            yield problem.what


def sees(store: str | Remote) -> bool:
    """Whether a task writes its blocks into the store itself."""
    return not isinstance(store, str) or os.path.isdir(store)


def kept(store: str | Remote, run: str, block: Block) -> tuple[int, bytes]:
    """Write a block into ``store``, or give it in bytes where the task does not see that: its size, and these."""
    if isinstance(store, str) and os.path.isdir(store):
        return write_block(store, run, block), b""
    data = encode(block)
    if isinstance(store, str):
        return len(data), data
    store.commit(f"{run}/{block.stage}/{block_name(block.partition, block.attempt)}", data)
    return len(data), b""

