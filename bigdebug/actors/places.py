"""Places: items by where they stand in files (location specifiers, Newt 3.3). Items that stand behind one another are one run."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bigdebug.actors.columns import EMPTY, Column
from bigdebug.errors import ActorError, StoreError
from bigdebug.store.ranges import spread
from bigdebug.trace.across.located import ITEMS, Extent, Located, Unit, dump_extent, load_extent
from bigdebug.trace.positions import Positions, distinct


class Place(NamedTuple):
    """Where an item stands: from ``position`` on, ``length`` of ``unit``, from 0."""

    path: str
    unit: Unit
    position: int
    length: int = 1

    @classmethod
    def line(cls, path: str | os.PathLike[str], number: int) -> Place:
        """A line of a text file, from 0; the header of a CSV is one."""
        return _place(path, Unit.LINE, number, 1)

    @classmethod
    def row(cls, path: str | os.PathLike[str], number: int) -> Place:
        """A row of a file, from 0; a header is none."""
        return _place(path, Unit.ROW, number, 1)

    @classmethod
    def span(cls, path: str | os.PathLike[str], offset: int, length: int) -> Place:
        """Bytes of a file: Newt's (file, offset, length)."""
        return _place(path, Unit.BYTE, offset, length)

    @classmethod
    def whole(cls, path: str | os.PathLike[str]) -> Place:
        """All of a file."""
        return _place(path, Unit.WHOLE, 0, 1)


def located(path: str | os.PathLike[str]) -> str:
    """The absolute path, or the URI as it is."""
    text = os.fspath(path) if isinstance(path, (str, os.PathLike)) else None
    if not isinstance(text, str) or not text or "\0" in text:
        raise ActorError("This is no path of a file", value=path)
    return text if "://" in text or text.startswith("file:") or _GIVEN.fullmatch(text) else os.path.abspath(text)


_GIVEN = re.compile(re.escape(ITEMS) + ".+/(in|out)")
"""What a step kept by value; a file may be called so that its name begins like that."""


def _place(path: str | os.PathLike[str], unit: Unit, position: int, length: int) -> Place:
    for number, least in ((position, 0), (length, 1)):
        if isinstance(number, bool) or not isinstance(number, (int, np.integer)) or number < least:
            raise ActorError(f"A {unit.value} of a file is counted from 0", value=number)
        if number > _FARTHEST:
            raise ActorError(f"No file has so many of a {unit.value}", value=number, remedy=f"Count from 0: up to {_FARTHEST:,} of them are known.")
    return Place(located(path), unit, int(position), int(length))


_FARTHEST = 2**62


def checked(place: Any, known: Mapping[str, object]) -> Place:
    """The place, as one of those that ``Place.line`` and its like give. Raises ActorError for what is no place in a file. Takes 0.3 microseconds in a file that is ``known``."""
    if type(place) is Place and place.path in known and type(place.unit) is Unit:
        position, length = place.position, place.length
        if type(position) is int and type(length) is int and 0 <= position <= _FARTHEST and 0 < length <= _FARTHEST:
            return place
    if not isinstance(place, Place) or not isinstance(place.unit, Unit):
        raise ActorError("This is no place in a file", value=place, remedy="Give actors.Place.line(path, n), or row, span or whole.")
    return _place(*place)


RUN = ("number", "count", "file", "position", "size")
"""What is told of a run: so many items from a number on stand in a file behind one another from a position on, ``size`` units each."""


@dataclass(frozen=True, eq=False)
class Places:
    """The items that stand in files: runs whose numbers ascend, and the files. Both directions take a pass over the runs."""

    files: tuple[Extent, ...] = ()
    number: Column = EMPTY
    count: Column = EMPTY
    file: Column = EMPTY
    position: Column = EMPTY
    size: Column = EMPTY

    @classmethod
    def of(cls, files: Sequence[Extent], runs: Positions) -> Places:
        """Runs (``RUN``, a row for each) in the order of their numbers; those that go on from the one before are made one with it."""
        number, count, file, position, size = runs.T
        goes_on = np.zeros(len(number), bool)
        goes_on[1:] = (
            (file[1:] == file[:-1]) & (size[1:] == size[:-1]) & (number[1:] == number[:-1] + count[:-1])
            & (position[1:] == position[:-1] + count[:-1] * size[:-1])
        )
        first = np.flatnonzero(~goes_on)
        if len(first) < len(number):
            count = np.add.reduceat(count, first)
            number, file, position, size = number[first], file[first], position[first], size[first]
        return cls(tuple(files), *(Column.of(each) for each in (number, count, file, position, size)))

    def __bool__(self) -> bool:
        return len(self.number) > 0

    def numbers(self, asked: Located) -> Positions:
        """The items that stand where something was asked for, wholly or in part. A file that was read twice is there twice."""
        files = [code for code, each in enumerate(self.files) if each.path == asked.path]
        if not files or not len(asked):
            return np.zeros(0, np.int64)
        for file in files:
            if asked.unit is not self.files[file].unit:
                raise ActorError(
                    f"{asked.path} was counted in units of {self.files[file].unit.value}, and is asked for in units of {asked.unit.value}",
                    remedy="Ask in the units that the step's reads and writes say.",
                )
        here = np.isin(self.file.array, files)
        number, count, position, size = (each.array[here] for each in (self.number, self.count, self.position, self.size))
        first = np.searchsorted(asked.positions, position)
        found = np.searchsorted(asked.positions, position + count * size) - first
        run = np.repeat(np.arange(len(number)), found)
        return distinct(number[run] + (asked.positions[spread(first, found)] - position[run]) // size[run])

    def covered(self, path: str, positions: Positions) -> Covered:
        """Which of these positions in a file items stand at, and the first at which one does; -1 if none does."""
        here = np.isin(self.file.array, [code for code, each in enumerate(self.files) if each.path == path])
        count, position, size = (each.array[here] for each in (self.count, self.position, self.size))
        if not len(position):
            return Covered(np.zeros(len(positions), np.bool_), -1)
        order = np.argsort(position, kind="stable")
        starts, ends = position[order], np.maximum.accumulate((position + count * size)[order])
        run = np.searchsorted(starts, positions, side="right") - 1
        return Covered((run >= 0) & (positions < ends[np.maximum(run, 0)]), int(starts[0]))

    def size_of(self, path: str) -> int:
        """How far items stand in a file, in its unit."""
        here = np.isin(self.file.array, [code for code, each in enumerate(self.files) if each.path == path])
        ends = self.position.array + self.count.array * self.size.array
        return int(ends[here].max()) if here.any() else 0

    def locate(self, numbers: Positions) -> Iterator[Located]:
        """Where these items stand, file by file. Those that stand nowhere are left out."""
        run, inside = self._runs(numbers)
        run, numbers = run[inside], numbers[inside]
        sizes, files = self.size.take(run), self.file.take(run)
        starts = self.position.take(run) + (numbers - self.number.take(run)) * sizes
        for file in distinct(files).tolist():
            here = files == file
            if not 0 <= file < len(self.files):
                raise StoreError(f"Items stand in file {file} of {len(self.files)}: what the actor kept was altered", remedy="Restore its directory, or remove it: no other actor needs it.")
            extent = self.files[file]
            yield Located.of(extent.path, extent.unit, spread(starts[here], sizes[here]))

    def without(self, numbers: Positions) -> Positions:
        """Those of the items that stand nowhere."""
        left: Positions = numbers[~self._runs(numbers)[1]]
        return left

    def _runs(self, numbers: Positions) -> tuple[Positions, Any]:
        """The run of each item, and whether it is in one."""
        run = self.number.below(numbers + 1) - 1
        inside = run >= 0
        inside[inside] = numbers[inside] < (self.number.take(run[inside]) + self.count.take(run[inside]))
        return run, inside

    def dump(self, home: Path, name: str) -> dict[str, Any]:
        columns = {each: getattr(self, each).dump(home, f"{name}.{each}") for each in RUN}
        return {"files": [dump_extent(file) for file in self.files], **columns}

    @classmethod
    def load(cls, data: Mapping[str, Any], find: Callable[[str], Path], most: int) -> Places:
        """Of so many items at ``most``. Raises ValueError, LookupError for what nobody wrote."""
        runs = [Column.load(data[each], find, most) for each in RUN]
        if len(set(map(len, runs))) != 1:
            raise ValueError("runs of items of several lengths")
        return cls(tuple(map(load_extent, data["files"])), *runs)


class Covered(NamedTuple):
    """Which positions items stand at, and the first of all."""

    there: npt.NDArray[np.bool_]
    first: int


NOWHERE = Places()
"""Of items none of which stands in a file."""
