"""Tried: whether a generator makes of a record alone what it made of it among others. Seen on the first few."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import Any

from bigdebug.actors.promises import Broken, aside, own_arguments, same_cell
from bigdebug.shown import shown

FIRST = 8
"""Records that it is seen on."""


class Trial:
    """Keeps copies of the first records and of what came of each; afterwards the function has each of them alone."""

    def __init__(self, function: Callable[..., Iterable[Any]], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._function = function
        self._taken: list[Any] = []
        self._given: list[list[Any]] = []
        self._why = ""
        try:
            self._more = own_arguments(args, kwargs)
        except Broken as promise:
            self._why = str(promise)
        self._ended = False

    def inputs(self, records: Iterator[Any]) -> Iterator[Any]:
        """The records; copies of the first are kept, and of one more, to see that these are over."""
        return chain(map(self._keep, islice(records, FIRST + 1)), records)

    def outputs(self, given: Iterator[Any]) -> Iterator[Any]:
        """The outputs; those of the first records are kept."""
        return chain(self._first(given), given, self._end())

    def _first(self, given: Iterator[Any]) -> Iterator[Any]:
        for output in given:
            if self._taken and not self._why:
                self._given[-1].append(self._copy(output))
            yield output
            if len(self._taken) > FIRST:
                break

    def _end(self) -> Iterator[Any]:
        self._ended = True
        yield from ()

    def broken(self) -> str:
        """Why the function does not make each output of the record read last; empty if it was not seen otherwise."""
        if self._why:
            return self._why
        with aside():
            for number, (record, outputs) in enumerate(zip(self._taken[:FIRST], self._given), 1):
                more = self._ended or number < len(self._taken)  # all of its outputs have been taken, and none should come behind them
                try:
                    alone = list(islice(self._function(iter([record]), *self._more[0], **self._more[1]), len(outputs) + more))
                except Exception as error:  # the user's
                    return f"it raised {type(error).__name__} on a record alone: {shown(str(error))}"
                if len(alone) != len(outputs) or not all(map(same_cell, alone, outputs)):
                    return "it gave something else of a record alone than of the same record among others, so an output is not made of the record read last alone"
        return ""

    def _keep(self, record: Any) -> Any:
        self._taken.append(self._copy(record))
        self._given.append([])
        return record

    def _copy(self, value: Any) -> Any:
        try:
            return copy.deepcopy(value)
        except Exception as error:  # a type's own
            self._why = f"a {type(value).__name__} cannot be copied, so it cannot be tried on a record alone ({type(error).__name__}); check=False believes it"
            return None
