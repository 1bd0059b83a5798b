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


def guarded_table(code: TableCode, telling: bool, ends: bool) -> type:
    """A class that gives, if ``telling``, what is told of the rows on which the user's crashes, else what that gives of the others.

    ``ends`` says that it may give rows when the input has ended.
    """

    def eval_(self: Any, *given: Any, **named: Any) -> Iterator[Any]:
        try:
            made = list(self.table.eval(*given, **named) or ())
        except crashes() as problem:
            yield from [(told(problem),)] if telling else ()
        else:
            yield from () if telling else made

    def terminate(self: Any) -> Iterator[Any]:
        try:
            made = list(self.table.terminate() or ())
        except crashes():
            made = []
        yield from () if telling else made

    def cleanup(self: Any) -> None:
        if hasattr(self.table, "cleanup"):
            self.table.cleanup()

    def plain(self: Any) -> None:
        self.table = code.instance()

    def analyzed(self: Any, result: Any) -> None:
        self.table = code.instance(result)

    parts = {"__init__": analyzed if code.analyzed else plain, "eval": eval_, "cleanup": cleanup}
    return type("Guarded", (), {**parts, "terminate": terminate} if ends else parts)
