"""Values of the user as text: bounded in length and time, and never an error of theirs."""

from __future__ import annotations

import reprlib
from itertools import islice
from typing import Any

LONGEST = 2_000
"""Characters that a value is shown with at most; what it holds is shown with up to a hundred items a level."""


def shown(value: Any) -> str:
    """``repr(value)`` if that is short; else as much of it as a reader needs, with ``...`` where something is left out.

    An object whose own ``__repr__`` raises is shown by its type and the error. The answer is a plain str, whatever
    ``__repr__`` gave: the methods of a subclass could lie to those who escape it.
    """
    text = "".join([_Bounded().repr(value)])
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def plain(text: str) -> str:
    """``text`` with everything that a terminal or a page would obey, not show, written as an escape."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def counted(records: int) -> str:
    """So many records, in words."""
    return "1 record" if records == 1 else f"{records:,} records"


class _Bounded(reprlib.Repr):
    """reprlib's walk through containers, which never asks a large one for the repr of all of it."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 8
        self.maxtuple = self.maxlist = self.maxdict = self.maxset = self.maxfrozenset = self.maxarray = self.maxdeque = 100
        self.maxstring = self.maxlong = self.maxother = LONGEST

    def repr1(self, x: Any, level: int) -> str:
        try:
            return super().repr1(x, level)
        except Exception as error:  # it is the user's code that runs here
            return f"<{type(x).__name__} whose repr raised {type(error).__name__}>"

    def repr_instance(self, x: Any, level: int) -> str:
        """As ``repr`` has it: reprlib names the object by its address if that raises, and keeps the error to itself."""
        text = repr(x)
        return text if len(text) <= self.maxother else f"{text[: self.maxother - 3]}..."

    def repr_bytes(self, x: bytes, level: int) -> str:
        return repr(x) if len(x) <= self.maxstring else f"{x[: self.maxstring]!r}..."

    repr_bytearray = repr_bytes

    def repr_dict(self, x: dict[Any, Any], level: int) -> str:
        """In the dict's own order: reprlib sorts the keys."""
        if level <= 0 and x:
            return "{...}"
        pieces = [f"{self.repr1(k, level - 1)}: {self.repr1(v, level - 1)}" for k, v in islice(x.items(), self.maxdict)]
        return "{" + ", ".join(pieces + ["..."] * (len(x) > self.maxdict)) + "}"
