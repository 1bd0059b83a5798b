"""Attempts: steps that failed, and which files they had read and written by then. What they made of what nobody knows, so a flow that comes to these says so."""

from __future__ import annotations

from collections.abc import Iterable

from bigdebug.trace.across.notes import Note
from bigdebug.trace.across.paths import key_of, short
from bigdebug.trace.across.step import Step, left, named, took


class Attempts:
    """Those among steps that left files which others have read since, and nobody has written."""

    def __init__(self, steps: Iterable[Step]) -> None:
        known = list(steps)
        self._left: dict[str, list[Step]] = {}
        self._took: dict[str, list[Step]] = {}
        failed = [step for step in known if left(step)]
        if not failed:
            return
        written = _latest((extent.path, step) for step in known for extent in step.writes)
        read = _latest((extent.path, step) for step in known for extent in step.reads)
        for step in failed:
            ended = step.ended or 0.0
            used = [key for key in map(key_of, left(step)) if written.get(key, 0.0) < ended <= read.get(key, 0.0)]
            for key in used:
                self._left.setdefault(key, []).append(step)
            for key in map(key_of, took(step)) if used else ():
                self._took.setdefault(key, []).append(step)

    def that_left(self, path: str) -> list[Note]:
        """What is said of a file of which no step is known that wrote it."""
        return [Note(f"{named(step)} wrote {short(path)} before it failed, and of which records is not known: {_why(step)}") for step in self._left.get(key_of(path), ())]

    def that_took(self, path: str) -> list[Note]:
        """What is said of a file whose records are followed to what was made of them."""
        return [
            Note(f"{named(step)} read {short(path)}, and what it wrote before it failed is not followed ({', '.join(map(short, left(step)))}): {_why(step)}")
            for step in self._took.get(key_of(path), ())
        ]


def _latest(uses: Iterable[tuple[str, Step]]) -> dict[str, float]:
    """When the latest step ended that used a file, by the key of that."""
    found: dict[str, float] = {}
    for path, step in uses:
        key = key_of(path)
        found[key] = max(found.get(key, 0.0), step.ended or 0.0)
    return found


def _why(step: Step) -> str:
    return " ".join(step.incomplete[:1])
