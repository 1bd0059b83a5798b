"""Beside: what a function reads besides its records: files that it opens, and frames of other steps that it holds. What it makes is made of these, too, and nobody knows of which rows."""

from __future__ import annotations

import os
from collections.abc import Sequence
from types import FunctionType
from typing import Any

from bigdebug.actors.codes import unheard_reads
from bigdebug.actors.frames import FRAMES
from bigdebug.trace.across.located import ITEMS


class Beside:
    """What was seen of that, in a trial or before a call."""

    def __init__(self) -> None:
        self._read: dict[str, None] = {}
        self._calls = frozenset[str]()

    def opens(self, path: str) -> None:
        """It opens a file to read it."""
        self._read[repr(os.path.basename(path))] = None

    def holds(self, value: Any) -> None:
        """It holds something, by an argument or by what it remembers; frames of steps are noted, and functions whose code names what Python does not tell of when it reads."""
        if isinstance(value, FunctionType):
            self._calls |= unheard_reads(value.__code__)
        for path in FRAMES.paths(value):
            self._read["a frame that a step gave" if path.startswith(ITEMS) else repr(os.path.basename(path))] = None

    def notes(self, name: str) -> Sequence[str]:
        """Why what it makes is made of more than of its records; none if nothing was seen."""
        which = "besides its input, and which rows of that it makes a row of is not known; actors.merge follows two frames"
        if self._read:
            return [f"{name} reads {' and '.join(self._read)} {which}"]
        return [f"{name} calls {min(self._calls)}(), which may read a file {which}"] if self._calls else []
