"""Guarded table functions: classes in the place of the user's, which Spark makes an instance of for a partition and calls on each row."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from bigdebug.agents.frames import Dumps
from bigdebug.agents.guards.cell import Cell, ConfinedTable
from bigdebug.agents.guards.code import told
from bigdebug.agents.guards.inflight import crashes


@dataclass(frozen=True)
class TableCode:
    """A pickled class of a table function, and whether Spark hands its instances what was analyzed.

    With ``confined`` instances live in a cell, and what crosses is pickled by that.
    """

    pickled: bytes
    analyzed: bool
    confined: Dumps | None = None

    @cached_property
    def _kind(self) -> type:
        found = pickle.loads(self.pickled)
        kind: type = found if isinstance(found, type) else pickle.loads(found.value)
        return kind

    def instance(self, *analyzed: Any) -> Any:
        """A new instance; it is told what was analyzed if it asks for that."""
        asks = len(inspect.getfullargspec(self._kind).args) > 1
        make = partial(self._kind, *analyzed) if asks else self._kind
        return make() if self.confined is None else ConfinedTable(self._kind, Cell(make, self.confined), self.confined)


def guarded_table(code: TableCode, telling: bool, ends: bool, width: int | None = None) -> type:
    """A class that gives, if ``telling``, what is told of the rows on which the user's crashes, else what that gives of the others.

    ``ends`` says that it may give rows when the input has ended. With ``width``, each row that it gives has to have so many columns.
    """

    def eval_(self: Any, *given: Any, **named: Any) -> Iterator[Any]:
        try:
            made = _fitting(self.table.eval(*given, **named), width)
        except crashes() as problem:
            self.crashed = True
            yield from [(told(problem),)] if telling else ()
        else:
            yield from () if telling else made

    def terminate(self: Any) -> Iterator[Any]:
        try:
            made = _fitting(self.table.terminate(), width)
        except crashes() as problem:
            # It may need what a call would have done that crashed.
            yield from [(told(problem, 0),)] if telling and not self.crashed else ()
        else:
            yield from () if telling else made

    def cleanup(self: Any) -> None:
        if hasattr(self.table, "cleanup"):
            self.table.cleanup()

    def plain(self: Any) -> None:
        self.table, self.crashed = code.instance(), False

    def analyzed(self: Any, result: Any) -> None:
        self.table, self.crashed = code.instance(result), False

    parts = {"__init__": analyzed if code.analyzed else plain, "eval": eval_, "cleanup": cleanup}
    return type("Guarded", (), {**parts, "terminate": terminate} if ends else parts)


def _fitting(given: Any, width: int | None) -> list[Any]:
    """The rows that a table function gave; raises what says that one has not the columns of its type."""
    made = list(given or ())
    for row in made if width is not None else ():
        if not hasattr(row, "__len__") or len(row) != width:
            raise ValueError(f"the function gave {row!r}, which is no row of {width} columns"[:1_000])
    return made
