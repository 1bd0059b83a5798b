"""Noted crashes: thousands of them, as few objects. What they have in common is there once, and the rest in lists of plain values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple, overload

from bigdebug.agents.guards.crash import Crash, Line, Raised


class _Cause(NamedTuple):
    operator: int
    segment: int
    again: bool
    exception: str
    lines: tuple[Line, ...]
    at: int | None
    names: tuple[str, ...]
    """Of the local variables."""


class Noted(Sequence[Crash]):
    """Crashes in the order in which they were noted. An object for each would keep the garbage collector of the driver busy for seconds."""

    def __init__(self) -> None:
        self._causes: dict[_Cause, int] = {}
        self._cause: list[int] = []
        self._position: list[int | None] = []
        self._record: list[bytes | None] = []
        self._shown: list[str | None] = []
        self._met: list[str | None] = []
        self._message: list[str] = []
        self._values: list[str] = []
        self._first: list[int] = []
        self.iterators = 0
        """How many of the records that crashed give others one by one, or have something in them that does: these are gone with them."""

    def add(self, crash: Crash) -> None:
        exception, message, lines, at, variables = crash.raised
        cause = _Cause(crash.operator, crash.segment, crash.again, exception, lines, at, tuple([name for name, _ in variables]))
        self._cause.append(self._causes.setdefault(cause, len(self._causes)))
        self._position.append(crash.position)
        self._record.append(crash.record)
        self._shown.append(crash.shown)
        self._met.append(crash.met)
        self._message.append(message)
        self._first.append(len(self._values))
        self._values += [value for _, value in variables]

    def __len__(self) -> int:
        return len(self._cause)

    def places(self) -> Iterator[tuple[int, int | None, bool]]:
        """Of each crash, the operator, the position, and whether it is another one of the same record."""
        causes = [(cause.operator, cause.again) for cause in self._causes]
        for cause, position in zip(self._cause, self._position, strict=True):
            operator, again = causes[cause]
            yield operator, position, again

    @overload
    def __getitem__(self, index: int) -> Crash: ...

    @overload
    def __getitem__(self, index: slice) -> list[Crash]: ...

    def __getitem__(self, index: int | slice) -> Crash | list[Crash]:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        cause, first = self._known[self._cause[index]], self._first[index]
        variables = tuple(zip(cause.names, self._values[first:first + len(cause.names)], strict=True))
        raised = Raised(cause.exception, self._message[index], cause.lines, cause.at, variables)
        return Crash(
            cause.operator, cause.segment, self._position[index], self._record[index], self._shown[index], self._met[index], raised, cause.again,
        )

    @cached_property
    def _known(self) -> list[_Cause]:
        """All causes, for who reads: nothing is added any more."""
        return [*self._causes]
