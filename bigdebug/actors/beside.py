"""Beside: what a function reads besides its records: files that it opens, or holds open, and frames of other steps that it holds. What it makes is made of these, too, and nobody knows of which rows."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import partial
from gc import get_referents
from itertools import islice
from types import FunctionType, GeneratorType, MethodType
from typing import Any

from bigdebug.actors.codes import library
from bigdebug.actors.frames import FRAMES
from bigdebug.actors.named import named
from bigdebug.actors.readers import readers, reads_of
from bigdebug.actors.shared import filled
from bigdebug.trace.across.located import ITEMS

_MOST = 10_000
"""Objects that are looked at: what a function remembers may be a large model."""


class Beside:
    """What was seen of that, in a trial or before a call."""

    def __init__(self) -> None:
        self._read: dict[str, None] = {}
        self._calls = frozenset[str]()

    def opens(self, path: str) -> None:
        """It opens a file to read it."""
        self._read[repr(os.path.basename(path))] = None

    def remembers(self, function: Any) -> None:
        """Look at all that a function, or an argument of one, remembers which is not tried: nobody hears what that reads, so functions are noted whose code names what reads."""
        for value in _remembered(function):
            self.holds(value, heard=True)

    def holds(self, value: Any, heard: bool = False) -> None:
        """It holds something, by an argument or by what it remembers; frames of steps and open files are noted, and functions whose code names what Python does not tell of when it reads, or also what is ``heard`` of in a trial."""
        if isinstance(value, FunctionType):
            self._calls |= readers(value.__code__, value.__globals__, heard)
        elif isinstance(value, GeneratorType) and value.gi_frame is not None:
            self._calls |= readers(value.gi_code, value.gi_frame.f_globals, heard)
        if file := reads_of(value):
            self._read[file] = None
        for path in FRAMES.paths(value):
            self._read["a frame that a step gave" if path.startswith(ITEMS) else repr(os.path.basename(path))] = None

    def notes(self, name: str) -> Sequence[str]:
        """Why what it makes is made of more than of its records; none if nothing was seen."""
        which = "besides its input, and which rows of that it makes a row of is not known; actors.merge follows two frames"
        if self._read:
            return [f"{name} reads {' and '.join(self._read)} {which}"]
        return [f"{name} calls {min(self._calls)}(), which may read a file {which}"] if self._calls else []


def _remembered(function: Any) -> Iterator[Any]:
    """What a function remembers, itself first: by its variables, its defaults, the globals that its code names, and what is in these, iterators among them, of which none is asked for anything; of packages that are installed, nothing further."""
    todo, seen = [function], set[int]()
    while todo and len(seen) < _MOST:
        value = todo.pop()
        if id(value) not in seen:
            seen.add(id(value))
            yield value
            todo += islice(_within(value), _MOST)


def _within(value: Any) -> Iterator[Any]:
    if isinstance(value, FunctionType):
        if library(value.__module__):
            return
        yield from (value.__defaults__ or ())
        yield from (value.__kwdefaults__ or {}).values()
        yield from (cell.cell_contents for cell in value.__closure__ or () if filled(cell))
        yield from (value.__globals__[name] for name in named(value.__code__).globals if name in value.__globals__)
    elif isinstance(value, MethodType):
        yield from (value.__self__, value.__func__)
    elif isinstance(value, partial):
        yield from (value.func, *value.args, *value.keywords.values())
    elif type(value) in (dict, list, tuple, set, frozenset):
        yield from value.values() if type(value) is dict else value
    elif hasattr(type(value), "__next__") and library(type(value).__module__):
        yield from get_referents(value)
    elif not isinstance(value, type) and not library(type(value).__module__):
        yield from getattr(value, "__dict__", {}).values()
