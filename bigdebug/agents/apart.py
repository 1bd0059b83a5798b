"""Apart: tasks that do not share the driver's disk give it their blocks with their reports, which Spark hands over once for each task that it took."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from bigdebug.store.blocks import Block, encode, write_block

MOST_POSTED = 1 << 16
"""Tables of a partition beyond so many bytes stay behind where they would go by the driver's memory: they are derived when a trace needs them."""


@dataclass(frozen=True)
class Looking:
    """Whether a task sees file ``name`` in the driver's ``folder``, and the name of one that it made there."""

    folder: str
    name: str

    def __call__(self, records: Iterable[object]) -> Iterator[tuple[bool, str]]:
        seen, mark = Path(self.folder, self.name).exists(), f"{self.name}.{uuid.uuid4().hex}"
        if seen:
            with suppress(OSError):
                Path(self.folder, mark).touch()
        yield seen, mark


def kept(store: str, run: str, block: Block) -> tuple[int, bytes]:
    """Write a block into ``store``, or give it in bytes where that is "": its size, and these."""
    if store:
        return write_block(store, run, block), b""
    posted = encode(block)
    return len(posted), posted

