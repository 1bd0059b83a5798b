"""Stands: where the rows of runs stand in files, so that what one run wrote and another read is known to be the same rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bigdebug.errors import BigdebugError, NondeterminismError, UntraceableError
from bigdebug.shown import counted
from bigdebug.spark.across.frames import FrameStep
from bigdebug.spark.across.leaffiles import LeafFiles
from bigdebug.spark.provgraph.queried import QueryRows
from bigdebug.trace.across.dataflow import Dataflow
from bigdebug.trace.across.located import Extent, Located
from bigdebug.trace.across.paths import key_of, short
from bigdebug.trace.across.units import Units
from bigdebug.trace.names import matched
from bigdebug.trace.positions import Positions


class Version(NamedTuple):
    """A file as it was once: what all its names have in common, and who wrote it, or what it held."""

    key: str
    held: object


class Stood(NamedTuple):
    """Of the rows of a level, in their order: the number of the file that each is in, and its position there."""

    files: NDArray[np.int64]
    positions: Positions


@dataclass(frozen=True, eq=False)
class Stand:
    """A level of a run whose rows stand in files: by version, the file as the run counts it. The rows of its result if it is ``written``, else those of a source."""

    rows: QueryRows
    step: FrameStep
    level: int
    files: dict[Version, Extent]
    written: bool = False

    @property
    def columns(self) -> dict[str, str]:
        """The names of its columns, by those that they have in the files."""
        names = [column.name() for column in self.rows.run.questions.shown(self.level)[1]]
        return {column.name: names[column.position] for column in self.step.columns} if self.written else dict(zip(names, names))

    def stood(self) -> Stood:
        """A job or two. Raises UntraceableError where it is not known of each row which it is of those that were written."""
        paths, numbers, positions = self._written() if self.written else self._read()
        place = {key_of(extent.path): number for number, extent in enumerate(self.files.values())}
        files = np.array([place[key_of(path)] for path in paths], np.int64)
        return Stood(files[numbers], positions)

    def _read(self) -> tuple[Sequence[str], Positions, Positions]:
        questions = self.rows.run.questions
        found = LeafFiles(questions.catalyst, questions.leaves[self.level]).places(self.rows.names(self.level).to_numpy(zero_copy_only=False))
        return found.paths, found.numbers, found.positions

    def _written(self) -> tuple[Sequence[str], Positions, Positions]:
        names, which, at, where, *_ = self.step.written(self.rows.stops)
        rows = self.rows.names(self.level)
        if not len(rows) == len(names) == len(which) == len(at.positions):
            raise UntraceableError(
                "Of the rows that this run wrote some are equal, or are none to who reads them, so which became which is not known", value=self.rows.run.name,
                remedy="Write a column that tells rows apart, monotonically_increasing_id() for example, or ask for the graph of each run.",
            )
        numbers, positions = np.empty(len(rows), np.int64), np.empty(len(rows), np.int64)
        of = matched(rows, names)[which]
        if (of < 0).any():
            raise NondeterminismError(
                "Rows that this run wrote the query does not give now", value=self.rows.run.name,
                remedy="Its order or its functions do not settle the result: write what does not change, df.localCheckpoint() before.",
            )
        numbers[of], positions[of] = at.numbers[where], at.positions[where]
        return at.paths, numbers, positions


def stands_of(every: Sequence[tuple[QueryRows, FrameStep]]) -> list[list[Stand]]:
    """The levels of runs that have files in common: those of each list are the same rows, as far as they have the same files. No job.

    Raises UntraceableError where a run read what another wrote, and that is not certain: a file that was changed in between, or a copy.
    """
    flow = Dataflow(step for _, step in every)
    groups: list[list[Stand]] = []
    for stand in (stand for rows, step in every for stand in _stands(rows, step, flow)):
        same = [group for group in groups if any(stand.files.keys() & other.files.keys() for other in group)]
        groups = [*(group for group in groups if group not in same), [*(other for group in same for other in group), stand]]
    shared = [group for group in groups if len({stand.step.id for stand in group}) > 1]
    _check_made(shared)
    return [sorted(group, key=lambda stand: not stand.written) for group in shared]


def _stands(rows: QueryRows, step: FrameStep, flow: Dataflow) -> Iterator[Stand]:
    if step.writes:
        yield Stand(rows, step, rows.run.subject, {Version(key_of(extent.path), step.id): extent for extent in step.writes}, written=True)
    read = {key_of(extent.path): extent for extent in step.reads}
    for level, leaf in rows.run.questions.leaves.items():
        if not leaf.files:
            continue
        extents = [read[key_of(extent.path)] for extent in LeafFiles(rows.run.questions.catalyst, leaf).extents({}) if key_of(extent.path) in read]
        yield Stand(rows, step, level, {_version(step, extent, flow): extent for extent in extents})


def _version(step: FrameStep, extent: Extent, flow: Dataflow) -> Version:
    """What a run read there."""
    joined = flow.into(step, extent)
    if doubt := (joined.broken if joined.writer is not None else "") or joined.note:
        raise UntraceableError(
            f"These runs do not become one graph: {doubt}", value=short(extent.path),
            remedy="Run the steps again under capture, one behind the other, each reading what the one before wrote; or ask for the graph of each run.",
        )
    for link in joined.links:
        return Version(key_of(link.wrote.path), link.writer.id)
    stamp = extent.stamp
    return Version(key_of(extent.path), step.id if stamp is None else (stamp.size, stamp.digest or stamp.modified))


def _check_made(groups: Sequence[Sequence[Stand]]) -> None:
    """Raise UntraceableError for a run that wrote rows as it had read them: its one level would be rows of two tables."""
    for stand in (stand for group in groups for stand in group):
        if stand.written and stand.level in stand.rows.sources:
            raise UntraceableError(
                "This run wrote what it read as it was, so there is no step between the two", value=stand.rows.run.name,
                remedy="Leave it out, and let the next step read what this one read.",
            )


def numbered(group: Sequence[Stand]) -> list[NDArray[np.int64]]:
    """For each stand of a list, a number for each row in its order: equal where rows are the same. The rows of a file follow each other as they stand there.

    Raises UntraceableError where two runs cut a file into other rows, SourceChangedError if that would have to be looked up and the file is another now.
    """
    stood, units = [stand.stood() for stand in group], Units()
    counts: dict[Version, Extent] = {}
    positions = [found.positions.copy() for found in stood]
    sizes: dict[Version, int] = {}
    for stand, found, own in zip(group, stood, positions, strict=True):
        for number, (version, extent) in enumerate(stand.files.items()):
            here = found.files == number
            own[here] = _counted(units, found.positions[here], extent, counts.setdefault(version, extent))
            sizes[version] = max(sizes.get(version, 0), int(own[here].max(initial=-1)) + 1)
    firsts, total = dict[Version, int](), 0
    for version in sorted(sizes, key=lambda version: version.key):
        firsts[version], total = total, total + sizes[version]
    return [
        np.array([firsts[version] for version in stand.files], np.int64)[found.files] + own if len(own) else own
        for stand, found, own in zip(group, stood, positions, strict=True)
    ]


def _counted(units: Units, positions: Positions, one: Extent, other: Extent) -> Positions:
    """Positions as another run counts them, in their order."""
    order = np.argsort(positions)
    try:
        found = units.translate(Located(one.path, one.unit, positions[order]), one, other).positions
    except BigdebugError as problem:
        raise _uncounted(one, str(problem)) from problem
    if len(found) != len(positions):
        raise _uncounted(one, f"{counted(len(positions), 'row')} to one are {len(found):,} to the other")
    made = np.empty(len(positions), np.int64)
    made[order] = found
    return made


def _uncounted(extent: Extent, why: str) -> UntraceableError:
    return UntraceableError(
        f"Two runs cut a file into other rows: {why}", value=short(extent.path), remedy="Read it as it was written: in the same format, with the same options.",
    )
