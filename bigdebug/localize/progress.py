"""Progress: how far a localization has come, noted by the search itself as it goes, and read by others at any time."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

POINTS = 2_000
"""Points of a course that are kept; of more, every other one is."""


class Step(Enum):
    """What a search is doing, in words."""

    TRACING = "finding the wrong outputs and the records that they were made of"
    EXPLAINING = "trying whether what repairs another output repairs this one"
    SUSPECTING = "leaving out candidates, to see which ones the output moves without"
    REPAIRING = "looking for the fewest without which the output is right"
    COMPARING = "looking for others that would do as well, and for what is wrong alone"
    CONFIRMING = "trying once more what was found"
    ORDERING = "trying the records in another order"
    READING = "reading the records that were found"


@dataclass(frozen=True)
class Progress:
    """How far a localization has come.

    ``tests`` were made in ``seconds``. ``output`` is the wrong output that is looked at, the number ``looked_at`` of ``outputs``; it was made of ``candidates``. ``left`` is the
    best so far: without so many candidates it is right, where they are fewer than all. ``faults`` are known, which explain ``explained`` of the outputs.
    """

    step: Step
    tests: int
    seconds: float
    output: str
    looked_at: int
    outputs: int
    candidates: int
    left: int
    faults: int
    explained: int


@dataclass(frozen=True)
class Point:
    """So many candidates were left after so many seconds; ``output`` is the number of the one that was looked at, from 1."""

    seconds: float
    left: int
    output: int


class Course:
    """The way of a search, which it notes itself: a few assignments a round of tests, whether or not anybody reads them. To be read in any thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._began = clock, clock()
        self._ended: float | None = None
        self.step = Step.TRACING
        self.outputs = self.looked_at = self.candidates = self.left = self.faults = self.explained = 0
        self.output = ""
        self._points: list[Point] = []

    @property
    def took(self) -> float:
        """Seconds since it began, until it ended."""
        return (self._clock() if self._ended is None else self._ended) - self._began

    def end(self) -> None:
        """Count no more seconds."""
        self._ended = self._clock()

    @property
    def points(self) -> tuple[Point, ...]:
        """How the candidates became fewer, output by output."""
        return tuple(self._points)

    def look_again(self) -> None:
        """The output that was begun with is looked at once more."""
        self.looked_at -= 1

    def look(self, output: str, candidates: int) -> None:
        """Begin with an output."""
        self.output, self.candidates = output, candidates
        self.step = Step.EXPLAINING if self.faults else Step.SUSPECTING
        self.looked_at = min(self.looked_at + 1, self.outputs) if self.outputs else self.looked_at + 1
        self._note(candidates)

    def narrow(self, left: int) -> None:
        """So many candidates are left."""
        if left != self.left:
            self._note(left)

    def _note(self, left: int) -> None:
        self.left = left
        if len(self._points) >= POINTS:
            self._points = self._points[::2]
        self._points.append(Point(self.took, left, self.looked_at))

    def progress(self, tests: int) -> Progress:
        """How far it is, after so many tests."""
        return Progress(
            self.step, tests, self.took, self.output, self.looked_at, self.outputs, self.candidates, self.left, self.faults, self.explained,
        )
