"""Causes: what the known culprits of a run crashed of, and which of them crashed of the same."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from bigdebug.errors import MessageError
from bigdebug.graph import Operator
from bigdebug.trace.culprit import CrashCulprit
from bigdebug.trace.culprits import Culprits


class Cause(NamedTuple):
    """A cause by its number, how many culprits it has, and the number of the first one."""

    number: int
    culprits: int
    first: int


class Causes:
    """The causes by their numbers, in the order in which they were met; those of culprits that are found meanwhile, too. Thread-safe."""

    def __init__(self, culprits: Culprits) -> None:
        self.alone = threading.RLock()
        """Held while anything is asked; also by who says something of culprits."""
        self._culprits = culprits
        self._numbers: dict[Any, int] = {}
        self._cause_of: list[int] = []
        self._members: list[list[int]] = []

    def __iter__(self) -> Iterator[int]:
        with self.alone:
            self._look()
            return iter(range(len(self._members)))

    @property
    def culprits(self) -> int:
        """How many culprits are known."""
        with self.alone:
            self._look()
            return len(self._cause_of)

    @property
    def most(self) -> list[Cause]:
        """The most frequent first."""
        with self.alone:
            self._look()
            every = [Cause(number, len(members), members[0]) for number, members in enumerate(self._members)]
        return sorted(every, key=lambda cause: -cause.culprits)

    def members(self, cause: int) -> list[int]:
        """The numbers of the culprits of a cause. Raises MessageError for a cause that is not known."""
        with self.alone:
            self._look()
            if not 0 <= cause < len(self._members):
                raise MessageError("This view knows no such cause", value=cause, remedy="Run the cell that shows the view again.")
            return [*self._members[cause]]

    def size(self, cause: int) -> int:
        """How many culprits a cause has."""
        with self.alone:
            return len(self._members[cause])

    def among(self, cause: int, numbers: Iterable[int]) -> list[int]:
        """Those of some culprits that are of a cause."""
        with self.alone:
            return [number for number in numbers if self._cause_of[number] == cause]

    def operator(self, cause: int) -> Operator:
        """The operator that the culprits of a cause crashed at."""
        with self.alone:
            return self._culprits.known[self._members[cause][0]].operator

    def of(self, number: int) -> int:
        """The cause of a culprit."""
        with self.alone:
            self.culprit(number)
            return self._cause_of[number]

    def culprit(self, number: int) -> CrashCulprit:
        """The culprit of a number from 0. Raises MessageError if so many are not known."""
        with self.alone:
            self._look()
            if not 0 <= number < len(self._cause_of):
                raise MessageError("This view knows no such culprit", value=number, remedy="Run the cell that shows the view again.")
            return self._culprits.known[number]

    def _look(self) -> None:
        """Take the culprits that were found since the last look."""
        for number in range(len(self._cause_of), len(self._culprits.known)):
            cause = self._numbers.setdefault(self._culprits.known[number].cause, len(self._numbers))
            if cause == len(self._members):
                self._members.append([])
            self._members[cause].append(number)
            self._cause_of.append(cause)
