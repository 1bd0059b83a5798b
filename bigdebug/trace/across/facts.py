"""Facts: the records of a run's source by where they stand in its files, and back. Pure: of what the run noted of the source (``SourceFacts``)."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence, Sized
from functools import lru_cache

import numpy as np

from bigdebug.trace.across.located import Extent, FileStamp, Located, Unit
from bigdebug.trace.across.stamps import stamp_of
from bigdebug.trace.origins import Sizes, SourceFacts, Stamp
from bigdebug.trace.places import Places
from bigdebug.trace.positions import Positions, distinct
from bigdebug.trace.textlines import local_path

_ALL_READ = 64 << 20
"""Bytes of files of a step that are read for digests, all together; more are known by their sizes and times."""


def path_of(uri: str) -> str:
    """The absolute path of a local file; the URI of another. Hadoop writes names as they are, unquoted."""
    path = local_path(uri)
    return uri if path is None else os.path.abspath(path)


def unit_of(facts: SourceFacts) -> Unit:
    """What positions in the source's files count."""
    if facts.files:
        return Unit.WHOLE
    return Unit.LINE if facts.type == "text" and facts.plain else Unit.ROW


def paths(facts: SourceFacts) -> frozenset[str]:
    """The paths of the files that a source read by itself."""
    return frozenset(map(path_of, (*(split.path for split in facts.splits), *(path for known in facts.files for path in known))))


def extents(facts: SourceFacts, form: str) -> list[Extent]:
    """The files that a source read, as they then were; none of a source that reads no files by itself."""
    if not (facts.splits or facts.files):
        return []
    stamps = digested({stamp.path: FileStamp(stamp.size, stamp.modified) for stamp in facts.stamps})
    paths = dict.fromkeys([split.path for split in facts.splits] + [path for paths in facts.files for path in paths])
    known = form if unit_of(facts) is not Unit.ROW or form != "text" else ""  # with ends of lines of its own
    return [Extent(path_of(path), unit_of(facts), known, stamp=stamps.get(path)) for path in paths]


def digested(stamps: Mapping[str, FileStamp]) -> dict[str, FileStamp]:
    """The stamps, with digests of the content where the files are what they were, and few enough: then what they hold now is what they held."""
    if sum(stamp.size for stamp in stamps.values()) > _ALL_READ:
        return dict(stamps)
    return {path: _digested(path, stamp) for path, stamp in stamps.items()}


def _digested(path: str, stamp: FileStamp) -> FileStamp:
    now = stamp_of(path, digest=False)
    if now is None or now.size != stamp.size or now.modified != stamp.modified:
        return stamp
    try:
        status = os.stat(local_path(path) or path)
    except OSError:  # gone this moment
        return stamp
    return _read(path, stamp, status.st_ino, status.st_ctime_ns)


@lru_cache(maxsize=10_000)
def _read(path: str, stamp: FileStamp, inode: int, changed: int) -> FileStamp:
    """A stamp with the digest of a file that it holds of; many steps read the same files. Times of writing can be set, when a file was ``changed`` cannot."""
    found = stamp_of(path)
    return stamp if found is None or (found.size, found.modified) != (stamp.size, stamp.modified) else found


def stamp_from(stamp: Stamp) -> FileStamp:
    return FileStamp(stamp.size, stamp.modified)


def located(facts: SourceFacts, places: Places, sizes: Sizes) -> list[Located]:
    """Where records of a source stand in its files: one answer for each file."""
    facts.check()
    found: dict[str, list[Positions]] = {}
    for path, partition, first in _pieces(facts, places, sizes):
        found.setdefault(path, []).append(places[partition] + first)
    if facts.files:
        for partition, positions in places.items():
            for position in positions.tolist():
                found.setdefault(facts.files[partition][position], [np.zeros(1, dtype=np.int64)])
    unit = unit_of(facts)
    return [Located(path_of(path), unit, distinct(np.concatenate(parts))) for path, parts in found.items()]


def standing(facts: SourceFacts, given: Sequence[Located], known: Mapping[int, int], sizes: Sizes) -> dict[int, Positions]:
    """The records of a source that stand there, among those that the run read: ``known`` says how many, by partition."""
    facts.check()
    wanted = {one.path: one.positions for one in given}
    if facts.files:
        return {
            partition: np.array(here, dtype=np.int64) for partition, paths in enumerate(facts.files)
            if (here := [at for at, path in enumerate(paths[: known.get(partition, 0)]) if path_of(path) in wanted])
        }
    read = {partition: range(size) for partition, size in known.items() if facts.splits and path_of(facts.splits[partition].path) in wanted}
    found = {}
    for path, partition, first in _pieces(facts, read, sizes):
        positions = wanted[path_of(path)]
        start, end = np.searchsorted(positions, [first, first + known[partition]])
        if end > start:
            found[partition] = positions[start:end] - first
    return found


def _pieces(facts: SourceFacts, places: Mapping[int, Sized], sizes: Sizes) -> Iterator[tuple[str, int, int]]:
    """For each partition its file, itself, and how many records of the file stand before it."""
    if not facts.splits:
        return
    files: dict[str, dict[int, int]] = {}
    for partition, split in enumerate(facts.splits):  # a file that is named twice is read twice, in the same splits
        files.setdefault(split.path, {}).setdefault(split.start, partition)
    asked: dict[str, list[int]] = {}
    for partition, records in places.items():
        if len(records):
            asked.setdefault(facts.splits[partition].path, []).append(partition)
    for path, by_start in files.items():
        here = asked.get(path, [])
        last = max((facts.splits[partition].start for partition in here), default=-1)
        before = [by_start[start] for start in sorted(by_start) if start < last]
        counted = sizes(before) if before else {}
        firsts, total = {}, 0
        for start in sorted(by_start):
            firsts[start] = total
            total += counted.get(by_start[start], 0)
        yield from ((path, partition, firsts[facts.splits[partition].start]) for partition in here)
