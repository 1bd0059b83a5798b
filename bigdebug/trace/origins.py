"""Where the records of a source came from: facts noted when a run read it, and names of records worked out from them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

from bigdebug.errors import IncompleteLineageError, SourceChangedError
from bigdebug.model import Origin
from bigdebug.trace.positions import Positions

Sizes = Callable[[list[int]], Mapping[int, int]]
"""Gives the number of records of partitions of the source."""


@dataclass(frozen=True)
class Split:
    """A piece of a file that one partition read."""

    path: str
    start: int
    length: int


@dataclass(frozen=True)
class Stamp:
    """What a file looked like when it was read: size in bytes, times in nanoseconds.

    ``replaced`` is when the file system last changed the file's entry; 0 where it does not tell.
    """

    path: str
    size: int
    modified: int
    replaced: int = 0

    @classmethod
    def of(cls, uri: str, path: str) -> Stamp:
        """The stamp of the local file that is now at ``path``."""
        status = os.stat(path)
        return cls(uri, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


@dataclass(frozen=True)
class SourceFacts:
    """How the records of a source are named.

    ``type`` is text (file and line), file (file and row), files (each record is a file), collection, range or rdd
    (index). ``splits`` are by partition, and so are ``files``. A collection was cut into ``slices`` of batches of
    ``batch`` records.
    """

    dataset: str
    type: str
    splits: tuple[Split, ...] = ()
    files: tuple[tuple[str, ...], ...] = ()
    stamps: tuple[Stamp, ...] = ()
    length: int = 0
    batch: int = 1
    slices: int = 1
    plain: bool = False
    """True if the lines of a text are those that anybody would cut: UTF-8, the usual ends of lines."""
    broken: str = ""
    """Why nobody can say what was read; empty if it is known."""

    def check(self) -> None:
        """Raise SourceChangedError if it is not known what was read."""
        if self.broken:
            raise SourceChangedError(
                f"{self.dataset}: {self.broken}", remedy="Run the job again under capture."
            )

    def origins(self, partition: int, positions: Positions, sizes: Sizes) -> list[Origin]:
        """The origins of records of one partition. Lines count from 1, rows and indices from 0."""
        self.check()
        if self.files:
            if len(positions) and positions[-1] >= len(self.files[partition]):
                raise IncompleteLineageError(f"{self.dataset} has no file {positions[-1]} in partition {partition}", remedy="Run the job again under capture.")
            return [Origin(self.dataset, self.files[partition][p]) for p in positions]
        if self.splits:
            split = self.splits[partition]
            first = _together([p for start, p in self.pieces[split.path].items() if start < split.start], sizes)
            if self.type == "text":
                return [Origin(self.dataset, split.path, line=int(p) + first + 1) for p in positions]
            return [Origin(self.dataset, split.path, row=int(p) + first) for p in positions]
        dealt = self._dealt(partition)
        start = _together(list(range(partition)), sizes) if dealt is None else dealt
        return [Origin(self.dataset, index=int(p) + start) for p in positions]

    @cached_property
    def pieces(self) -> dict[str, dict[int, int]]:
        """The partitions that read a piece of a file, by its path and the start of the piece: a file that is named twice is read twice, in the same splits."""
        found: dict[str, dict[int, int]] = {}
        for partition, split in enumerate(self.splits):
            found.setdefault(split.path, {})[split.start] = partition
        return found

    def size(self, partition: int) -> int | None:
        """The records of a partition, if the way in which PySpark's parallelize deals them out tells."""
        first, following = self._dealt(partition), self._dealt(partition + 1)
        return None if first is None or following is None else following - first

    def _dealt(self, partition: int) -> int | None:
        """The index of the first record of a partition of what parallelize made; None for other sources."""
        if self.type == "range":
            return int(partition * self.length / self.slices)
        if self.type == "collection":
            batches = -(-self.length // self.batch)
            return min(self.length, (partition * batches // self.slices) * self.batch)
        return None

    def dump(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def load(cls, data: Mapping[str, Any]) -> SourceFacts:
        return cls(**{
            **data, "splits": tuple(Split(**s) for s in data["splits"]), "stamps": tuple(Stamp(**s) for s in data["stamps"]),
            "files": tuple(map(tuple, data["files"])),
        })


def _together(partitions: list[int], sizes: Sizes) -> int:
    known = sizes(partitions) if partitions else {}
    return sum(known[p] for p in partitions)


def settled(mine: SourceFacts, known: Sequence[SourceFacts]) -> SourceFacts:
    """The facts of a source that tasks of several runs may have read, who ``known`` it each as it then was.

    ``mine`` are those that the latest run found; they hold if no task has read the source.
    """
    if not known:
        return mine
    if any((k.splits, k.files, k.stamps) != (known[0].splits, known[0].files, known[0].stamps) for k in known):
        return replace(mine, broken="its files changed while Spark kept a part of what it had read, so the run has seen both")
    return known[0]
