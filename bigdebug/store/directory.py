"""A lineage store in a directory: which blocks a run can be answered from, read once and checked on reading."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from bigdebug.errors import CorruptBlockError, NondeterminismError, StoreError
from bigdebug.store.blocks import Block, block_name, decode, write_whole

_NAME = re.compile(r"p(\d+)\.a(\d+)\.block")
CACHE_BYTES = 512 << 20


def check_place(store: Any) -> None:
    """See that ``store`` can be the path of a directory, or None; else TypeError or ValueError."""
    remedy = "name a directory that you may write, or leave it out for a temporary one"
    if not isinstance(store, str | os.PathLike | None):
        raise TypeError(f"the store of bigdebug.attach is the path of a directory of this machine, not {store!r}; {remedy}")
    if store == "" or (isinstance(store, str) and ("\0" in store or re.match(r"[A-Za-z][\w+.-]*:/", store))):
        raise ValueError(f"the store of bigdebug.attach is the path of a directory of this machine, not {store!r}; {remedy}")


class LineageStore:
    """The blocks under ``root``: one folder for each run, in it one for each stage that the run computed.

    Thread-safe. Reading keeps up to 512 MB of decoded blocks. Blocks of two attempts at one partition must agree. Of a run whose tasks
    are ``counted``, the attempts that Spark did not take count for nothing: a task that is killed sees the end of its input, and
    writes a block of what it had read.
    """

    def __init__(self, root: str | os.PathLike[str], read: Callable[[Path], bytes] = Path.read_bytes) -> None:
        """``read`` gives the bytes of a file below ``root``."""
        # The process may change its directory, and workers have one of their own.
        self.root = Path(root).absolute()
        self._read = read
        self._cache: OrderedDict[tuple[str, str, int], Block] = OrderedDict()
        self._cached_bytes = 0
        self._listings: dict[tuple[str, str], dict[int, list[int]]] = {}
        self._counted: dict[str, set[tuple[str, int, int]]] = {}
        self._alone = threading.RLock()

    @classmethod
    def private(cls, parent: str | os.PathLike[str] | None = None) -> LineageStore:
        """A new store that only this user can read: below ``parent``, or a temporary one that goes with the process."""
        try:
            if parent is not None:
                Path(parent).mkdir(parents=True, exist_ok=True, mode=0o700)
            store = cls(tempfile.mkdtemp(prefix="bigdebug-", dir=parent))
            if parent is None:
                weakref.finalize(store, shutil.rmtree, store.root, ignore_errors=True)
            return store
        except OSError as problem:
            raise StoreError(
                f"The lineage store cannot be made: {problem}", value=None if parent is None else str(parent),
                remedy="Name a directory that you may write: bigdebug.attach(spark, store=...).",
            ) from problem

    def partitions(self, runs: Iterable[str], stage: str) -> list[int]:
        """Partitions of ``stage`` with a block in any of ``runs``."""
        with self._alone:
            return sorted({p for run in runs for p in self._listing(run, stage)})

    def block(self, runs: Sequence[str], stage: str, partition: int) -> Block | None:
        """The block of a stage's partition, from the first of ``runs`` that computed it; None if none did."""
        with self._alone:
            for run in runs:
                key = (run, stage, partition)
                if key in self._cache:
                    self._cache.move_to_end(key)
                    return self._cache[key]
                if attempts := self._listing(run, stage).get(partition):
                    return self._remember(key, self._agreed(run, stage, partition, attempts))
            return None

    def keep(self, run: str, stage: str, partition: int, attempt: int, block: bytes) -> None:
        """Write a block that a task has encoded."""
        write_whole(self.root / run / stage, block_name(partition, attempt), block)

    def count(self, run: str, attempts: Iterable[tuple[str, int, int]]) -> None:
        """From here on only these attempts of ``run`` count, each a stage, a partition and a number; and those that were counted before."""
        with self._alone:
            self._counted.setdefault(run, set()).update(attempts)

    def counts(self, run: str, stage: str, partition: int, attempt: int) -> bool:
        """Whether what an attempt wrote is a part of the lineage of its run."""
        counted = self._counted.get(run)
        return counted is None or (stage, partition, attempt) in counted

    def uncounted(self, folder: str, names: Iterable[str]) -> list[str]:
        """Of the files in the folder of a stage, those whose attempts do not count; for ``shutil.copytree(..., ignore=)``."""
        run, stage = Path(folder).parts[-2:]
        found = [(name, _NAME.fullmatch(name)) for name in names]
        return [name for name, match in found if match and not self.counts(run, stage, int(match[1]), int(match[2]))]

    def remove(self, run: str) -> None:
        """Let go of all blocks of a run."""
        shutil.rmtree(self.root / run, ignore_errors=True)
        self.forget(run)
        self._counted.pop(run, None)

    def forget(self, run: str) -> None:
        """Look at the disk again for ``run``: it has written since."""
        with self._alone:
            for key in [k for k in self._listings if k[0] == run]:
                del self._listings[key]
            for cached in [k for k in self._cache if k[0] == run]:
                self._cached_bytes -= _size(self._cache.pop(cached))

    def path(self, run: str, stage: str, partition: int, attempt: int) -> Path:
        return self.root / run / stage / block_name(partition, attempt)

    def _listing(self, run: str, stage: str) -> dict[int, list[int]]:
        if (run, stage) not in self._listings:
            found: dict[int, list[int]] = {}
            folder = self.root / run / stage
            try:
                names = os.listdir(folder)
            except FileNotFoundError:
                names = []
            except OSError as problem:
                raise StoreError(
                    f"The lineage store cannot be read: {problem}", value=str(folder),
                    remedy="Check the permissions of the directory.",
                ) from problem
            for name in names:
                match = _NAME.fullmatch(name)
                if match and self.counts(run, stage, int(match[1]), int(match[2])):
                    found.setdefault(int(match[1]), []).append(int(match[2]))
            self._listings[run, stage] = found
        return self._listings[run, stage]

    def _agreed(self, run: str, stage: str, partition: int, attempts: Iterable[int]) -> Block:
        blocks = []
        for attempt in sorted(attempts):
            path = self.path(run, stage, partition, attempt)
            try:
                data = self._read(path)
            except OSError as problem:
                raise StoreError(
                    f"A lineage block cannot be read: {problem}", value=str(path), remedy="Check the permissions."
                ) from problem
            block = decode(data, str(path))
            if (block.stage, block.partition) != (stage, partition):
                raise CorruptBlockError(
                    f"The lineage block {path} says it is of stage {block.stage}, partition {block.partition}",
                    remedy="Restore the file that belongs here.",
                )
            blocks.append(block)
        if len({block.key for block in blocks}) > 1:
            raise NondeterminismError(
                f"Two attempts at partition {partition} of stage {stage} gave different records",
                remedy="A function of this stage depends on something else than its input (time, random numbers, a "
                "global); its lineage cannot be trusted.",
            )
        return next((block for block in blocks if not block.stub), blocks[-1])

    def _remember(self, key: tuple[str, str, int], block: Block) -> Block:
        self._cache[key] = block
        self._cached_bytes += _size(block)
        while self._cached_bytes > CACHE_BYTES and len(self._cache) > 1:
            self._cached_bytes -= _size(self._cache.popitem(last=False)[1])
        return block


def _size(block: Block) -> int:
    return sum(values.nbytes for values in block.columns.values())
