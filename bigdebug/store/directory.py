"""A lineage store: which blocks a run can be answered from, read once and checked on reading."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from bigdebug.errors import BlockLostError, CorruptBlockError, NondeterminismError, NotCapturedError, StoreError
from bigdebug.store.blocks import Block, block_name, decode
from bigdebug.store.cache import BlockCache
from bigdebug.store.filesystems import Address
from bigdebug.store.memory import most_bytes
from bigdebug.store.place import NAMED, Directory, Place
from bigdebug.store.remote import Remote

_NAME = re.compile(r"p(\d+)\.a(\d+)\.block")
_Parent = str | os.PathLike[str] | Address | None


class LineageStore:
    """The blocks at a place, which is ``root`` if nothing else is said: one folder for each run, in it one for each stage that the run computed.

    Thread-safe. Reading keeps blocks, with what is made of them, up to ``most`` bytes: as BIGDEBUG_MEMORY says, else 512 MB. One block more may be in use. Blocks of two attempts at one partition must agree. Of a run whose tasks
    are ``counted``, the attempts that Spark did not take count for nothing: a task that is killed sees the end of its input, and
    writes a block of what it had read. Runs that were removed are refused with a NotCapturedError, whether their blocks are gone or not yet.

    No question waits for what another one reads: that is done outside the lock, and remembered if the run was not forgotten meanwhile.
    """

    def __init__(self, root: str | os.PathLike[str], read: Callable[[Path], bytes] = Path.read_bytes, most: int | None = None) -> None:
        """``read`` gives the bytes of a file below ``root``. Raises StoreError if BIGDEBUG_MEMORY says no size."""
        # The process may change its directory, and workers have one of their own.
        self.root = Path(root).absolute()
        self.place: Place = Directory(self.root, read)
        self._cache = BlockCache(most_bytes() if most is None else most)
        self._listings: dict[tuple[str, str], dict[int, list[int]]] = {}
        self._counted: dict[str, set[tuple[str, int, int]]] = {}
        self._removed: set[str] = set()
        self._left: set[str] = set()
        """Those of them of which blocks may be there."""
        self._forgotten: Counter[str] = Counter()
        """How often each run was forgotten: what was begun to be read before is not kept."""
        self._alone = threading.RLock()

    @classmethod
    def private(cls, parent: _Parent = None) -> LineageStore:
        """A new store that only this user can read: below ``parent``, or a temporary one that goes with the process.

        At an address there are the blocks alone, and whoever may read there can read them: ``root`` is a temporary directory then, for what is no block.
        """
        if isinstance(parent, Address):
            place = Remote.below(parent)
            store = cls.private()
            store.place = place
            return store
        try:
            if parent is not None:
                Path(parent).mkdir(parents=True, exist_ok=True, mode=0o700)
            store = cls(tempfile.mkdtemp(prefix="bigdebug-" if parent is None else NAMED, dir=parent))
            if parent is None:
                weakref.finalize(store, _removed, store.root, os.getpid())
            return store
        except OSError as problem:
            raise StoreError(
                f"The lineage store cannot be made: {problem}", value=None if parent is None else str(parent),
                remedy="Name a directory that you may write: bigdebug.attach(spark, store=...).",
            ) from problem

    def partitions(self, runs: Iterable[str], stage: str) -> list[int]:
        """Partitions of ``stage`` with a block in any of ``runs``."""
        return sorted({p for run in runs for p in self._listing(run, stage)})

    def block(self, runs: Sequence[str], stage: str, partition: int) -> Block | None:
        """The block of a stage's partition, from the first of ``runs`` that computed it; None if none did."""
        for run in runs:
            key = (run, stage, partition)
            with self._alone:
                self._check(run)
                as_of = self._forgotten[run]
                if key in self._cache:
                    return self._cache.block(key)
            read = self._agreed(run, stage, partition)
            with self._alone:
                self._check(run)
                if read is not None:
                    return self._cache.remember(key, read) if self._forgotten[run] == as_of else read
        return None

    def facts(self, runs: Sequence[str], stage: str, partition: int) -> Block | None:
        """As ``block``, without its tables. Each block is read once for it, and a few hundred bytes are kept."""
        for run in runs:
            known = self._cache.facts((run, stage, partition))
            if known is None and (block := self.block([run], stage, partition)) is not None:
                known = replace(block, columns={})
            if known is not None:
                return known
        return None

    def keep(self, run: str, stage: str, partition: int, attempt: int, block: bytes) -> None:
        """Write a block that a task has encoded. Raises NotCapturedError for a run that was removed."""
        self._check(run)
        self.place.write(f"{run}/{stage}/{block_name(partition, attempt)}", block)

    def count(self, run: str, attempts: Iterable[tuple[str, int, int]]) -> None:
        """From here on only these attempts of ``run`` count, each a stage, a partition and a number; and those that were counted before."""
        with self._alone:
            if run not in self._removed:
                self._counted.setdefault(run, set()).update(attempts)

    def counts(self, run: str, stage: str, partition: int, attempt: int) -> bool:
        """Whether what an attempt wrote is a part of the lineage of its run."""
        counted = self._counted.get(run)
        return run not in self._removed and (counted is None or (stage, partition, attempt) in counted)

    def names(self, run: str) -> list[str]:
        """The names, at the place, of the blocks of a run that count."""
        found = []
        for stage in sorted(self.place.names(run)):
            matches = [(name, _NAME.fullmatch(name)) for name in sorted(self.place.names(f"{run}/{stage}"))]
            found += [f"{run}/{stage}/{name}" for name, match in matches if match and self.counts(run, stage, int(match[1]), int(match[2]))]
        return found

    def is_below(self, parent: Path | Address) -> bool:
        """Whether it was made there; with these options, if there are any."""
        if isinstance(parent, Address):
            return isinstance(self.place, Remote) and self.place.address.is_below(parent)
        return not isinstance(self.place, Remote) and self.root.parent.resolve() == parent.resolve()

    @property
    def address(self) -> str | Remote:
        """Where tasks write: the path of a directory, if they see it, or what takes their blocks."""
        return self.place if isinstance(self.place, Remote) else str(self.root)

    def remove(self, *runs: str) -> None:
        """Let go of all blocks of runs. From the first moment on they are refused, also if a StoreError says that blocks could not be removed: the next call tries again."""
        with self._alone:
            self._removed.update(runs)
            self._left.update(runs)
            for run in runs:
                self.forget(run)
                self._counted.pop(run, None)
            left = sorted(self._left)
        for run in left:
            self._clear(run)

    def sweep(self) -> None:
        """Remove what is there of runs that were removed: what could not be then, and what was written since."""
        if self._removed:
            for run in sorted(self._removed.intersection(self.place.names(""))):
                self._clear(run)

    def is_removed(self, run: str) -> bool:
        return run in self._removed

    def discard(self, run: str, stage: str) -> None:
        """Let go of the blocks of one stage of a run."""
        with self._alone:
            if run in self._counted:
                self._counted[run] = {attempt for attempt in self._counted[run] if attempt[0] != stage}
            self.forget(run)
        try:
            self.place.remove(f"{run}/{stage}")
        finally:
            self.forget(run)  # what somebody listed meanwhile

    def forget(self, run: str) -> None:
        """Look again for what there is of ``run``: it has written since."""
        with self._alone:
            self._forgotten[run] += 1
            for key in [k for k in self._listings if k[0] == run]:
                del self._listings[key]
            self._cache.forget(run)

    def _check(self, run: str) -> None:
        if run in self._removed:
            raise NotCapturedError("This run has been forgotten", value=run, remedy="Run the job again under capture.")

    def _clear(self, run: str) -> None:
        shutil.rmtree(self.root / run, ignore_errors=True)
        self.place.remove(run)
        self._left.discard(run)

    def _listing(self, run: str, stage: str) -> dict[int, list[int]]:
        with self._alone:
            self._check(run)
            known, as_of = self._listings.get((run, stage)), self._forgotten[run]
        if known is not None:
            return known
        found: dict[int, list[int]] = {}
        for name in self.place.names(f"{run}/{stage}"):
            match = _NAME.fullmatch(name)
            if match and self.counts(run, stage, int(match[1]), int(match[2])):
                found.setdefault(int(match[1]), []).append(int(match[2]))
        with self._alone:
            self._check(run)
            if self._forgotten[run] == as_of:
                self._listings[run, stage] = found
        return found

    def _agreed(self, run: str, stage: str, partition: int) -> Block | None:
        """What the attempts at a partition wrote; None where nothing is there, also if it was lost since it was listed."""
        blocks = []
        for attempt in sorted(self._listing(run, stage).get(partition, ())):
            name = f"{run}/{stage}/{block_name(partition, attempt)}"
            where = self.place.where(name)
            try:
                block = decode(self.place.read(name), where)
            except BlockLostError:
                with self._alone:
                    self._listings.pop((run, stage), None)
                continue
            if (block.stage, block.partition) != (stage, partition):
                raise CorruptBlockError(
                    f"The lineage block {where} says it is of stage {block.stage}, partition {block.partition}",
                    remedy="Restore the file that belongs here.",
                )
            blocks.append(block)
        if len({block.key for block in blocks}) > 1:
            raise NondeterminismError(
                f"Two attempts at partition {partition} of stage {stage} gave different records",
                remedy="A function of this stage depends on something else than its input (time, random numbers, a "
                "global); its lineage cannot be trusted.",
            )
        return next((block for block in blocks if not block.stub), blocks[-1] if blocks else None)


def _removed(root: Path, process: int) -> None:
    if os.getpid() == process:  # not by a fork, which ends before
        shutil.rmtree(root, ignore_errors=True)
