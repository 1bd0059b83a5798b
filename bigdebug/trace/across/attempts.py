"""Attempts: steps that failed, or were killed, and which files they had read and written by then. What they made of what nobody knows, so a flow that comes to these says so."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property

from bigdebug.trace.across.located import Extent, Unit
from bigdebug.trace.across.notes import Note
from bigdebug.trace.across.paths import key_of, short
from bigdebug.trace.across.stamps import same_content
from bigdebug.trace.across.step import Step, left, named, took

_SOON, _COARSE = 1.0, 0.05
"""Seconds in which what a step of the user's own had written may still come to its file, and by which file systems tell times."""

_LEAST = 64
"""Bytes of a file that is told by what it holds, whatever it is called: smaller ones are the same by chance."""


class Attempts:
    """Those among steps that left something which others have read."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._steps = steps
        self._failed = sorted((step for step in steps if left(step)), key=lambda step: -(step.ended or 0.0))

    def that_left(self, reader: Step, read: Extent) -> list[Note]:
        """What is said of a file that a step read, of which no step is known that wrote it."""
        every = [step for step in self._failed if self._reads_of(step, reader, read)]
        return [Note(f"{named(step)} wrote {short(read.path)} and did not commit, so of which records is not known: {_why(step)}") for step in every]

    def that_took(self, path: str) -> list[Note]:
        """What is said of a file whose records are followed to what was made of them."""
        every = self._used.get(key_of(path), ()) if self._failed else ()
        return [Note(f"{named(step)} read {short(path)}, and did not commit, so what it wrote is not followed ({', '.join(short(each.path) for each in left(step))}): {_why(step)}") for step in every]

    @cached_property
    def _used(self) -> dict[str, list[Step]]:
        """By files that they read: those of which others have read what they left; others that failed as well, if that led on."""
        found: dict[str, list[Step]] = {}
        uses = [(reader, read) for reader in self._steps for read in reader.reads]
        for step in self._failed:
            if any(self._reads_of(step, *use) for use in uses):
                uses += [(step, Extent(path, Unit.WHOLE)) for path in took(step)]
                for key in dict.fromkeys(map(key_of, took(step))):
                    found.setdefault(key, []).append(step)
        return found

    @cached_property
    def _written(self) -> dict[str, list[float]]:
        """When the steps ended that wrote a file, by its key."""
        found: dict[str, list[float]] = {}
        for step in self._steps:
            for extent in step.writes:
                found.setdefault(key_of(extent.path), []).append(step.ended or 0.0)
        return found

    def _reads_of(self, step: Step, reader: Step, read: Extent) -> bool:
        """Whether a step read what another left."""
        return reader is not step and any(_holds(extent, read) if extent.stamp and read.stamp else self._came_since(step, extent, reader, read) for extent in left(step))

    def _came_since(self, step: Step, extent: Extent, reader: Step, read: Extent) -> bool:
        """Where nobody looked at what a file held: whether it has this name, or stands in this folder, and was written when the step was on its way, by no other since, and read behind that."""
        began, until, key = step.began or 0.0, reader.ended or math.inf, key_of(read.path)
        ended, last = (began, math.inf) if step.ended is None else (step.ended, step.ended + _SOON)  # it was killed, nobody knows when
        if not _is_at(extent, key) or until < ended or any(ended < written <= until for written in self._written.get(key, ())):
            return False
        return read.stamp is None or began - _COARSE <= read.stamp.modified / 1e9 <= last


def _holds(extent: Extent, read: Extent) -> bool:
    """Whether a file that was read held what was left there; or elsewhere, if that is not so by chance."""
    one, other = extent.stamp, read.stamp
    if one is None or other is None or not same_content(one, other):
        return False
    return _is_at(extent, key_of(read.path)) or (one.digest != "" and one.digest == other.digest and one.size >= _LEAST)


def _is_at(extent: Extent, key: str) -> bool:
    """Whether a file is the one that was left, or in the folder."""
    return key == key_of(extent.path) or key.startswith(f"{key_of(extent.path)}/")


def _why(step: Step) -> str:
    return " ".join(step.incomplete[:1])
