"""Arguments: of a call, which one the records are, as Python gives arguments to the parameters of a function; and the others, which can be given with other records."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

Rest = tuple[tuple[Any, ...], tuple[Any, ...], dict[str, Any]]


@dataclass(frozen=True)
class Arguments:
    """What a function is called with besides its records."""

    before: tuple[Any, ...]
    """What comes before the records: whose method it is."""
    after: tuple[Any, ...]
    named: dict[str, Any]
    name: str = ""
    """By which name the records are given; empty: by their position."""

    @classmethod
    def of(cls, function: Callable[..., Any], bound: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Arguments, Any] | None:
        """Those of a call, and its records: what its first parameter gets, behind ``bound`` others. None if it gets nothing, or cannot be told."""
        if len(args) > bound:
            return cls(args[:bound], args[bound + 1 :], kwargs), args[bound]
        first = _parameter(function, bound)
        if first is None:
            return None
        records = kwargs.get(first.name, first.default)
        if records is first.empty:
            return None
        return cls(args, (), {name: value for name, value in kwargs.items() if name != first.name}, first.name), records

    def call(self, function: Callable[..., Any], records: Any) -> Any:
        """Call the function, with these records."""
        if self.name:
            return function(*self.before, **{self.name: records}, **self.named)
        return function(*self.before, records, *self.after, **self.named)

    @property
    def rest(self) -> Rest:
        """All of them, as values that can be copied."""
        return self.before, self.after, self.named

    def copied(self, rest: Rest) -> Arguments:
        """The same call, with copies."""
        return Arguments(*rest, self.name)

    def __iter__(self) -> Iterator[Any]:
        yield from (*self.before, *self.after, *self.named.values())


def _parameter(function: Callable[..., Any], place: int) -> inspect.Parameter | None:
    """The parameter at a place, if it has a name that a call may give."""
    try:
        parameters = [*inspect.signature(function).parameters.values()]
    except (TypeError, ValueError):  # some functions in C tell of none
        return None
    found = parameters[place] if place < len(parameters) else None
    return found if found is not None and found.kind in (found.POSITIONAL_OR_KEYWORD, found.KEYWORD_ONLY) else None
