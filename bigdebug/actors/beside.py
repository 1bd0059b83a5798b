"""Beside: what a function reads besides its records: files that it opens, or holds open, and what other steps gave that it holds. What it makes is made of these, too, and nobody knows of which rows."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from bigdebug.actors.frames import FRAMES
from bigdebug.actors.handed import Handed
from bigdebug.actors.readers import asked, reader, reads_named
from bigdebug.actors.remembered import remembered, scope_of
from bigdebug.trace.across.located import ITEMS

_STEPS = "bigdebug.actors.generators"
"""Whose generators the outputs of steps are."""


class Beside:
    """What was seen of that, in a trial or before a call."""

    def __init__(self) -> None:
        self._read: dict[str, None] = {}
        self._may: dict[str, None] = {}

    def opens(self, path: str) -> None:
        """It opens a file to read it."""
        self._read[repr(os.path.basename(path))] = None

    def remembers(self, function: Callable[..., Any], others: Iterable[Any] = ()) -> None:
        """Look at all that a function that is not tried remembers, and that its ``others``, its arguments besides the records, hold: nobody hears what it reads, so what it has to read from is noted:
        files that are open, also below iterators, connections, and functions whose code names what reads.
        """
        for value in remembered((function, *others)):
            self.holds(value, heard=True)

    def holds(self, value: Any, heard: bool = False) -> None:
        """It holds something, by an argument or by what it remembers; frames and outputs of steps, and open files, are noted, and functions whose code names what Python does not tell of when it reads, or also what is ``heard`` of in a trial."""
        code = scope_of(value)
        if code is not None:
            self._may.update(dict.fromkeys(reads_named(*code, heard)))
            if not callable(value) and code[1].get("__name__") == _STEPS:
                self._read["what another step gives"] = None
        elif issubclass(type(value), Handed):
            self._read["what another step gives"] = None
        for path in FRAMES.paths(value):
            self._read["a frame that a step gave" if path.startswith(ITEMS) else repr(os.path.basename(path))] = None
        file, other = reader(value), asked(value)
        if file:
            self._read[file] = None
        elif other:
            self._may[f"holds a {other}"] = None

    def notes(self, name: str) -> Sequence[str]:
        """Why what it makes is made of more than of its records; none if nothing was seen."""
        which = "besides its input, and which rows of that it makes a row of is not known; actors.merge follows two frames"
        if self._read:
            return [f"{name} reads {' and '.join(self._read)} {which}"]
        return [f"{name} {min(self._may)}, which may read a file {which}"] if self._may else []
