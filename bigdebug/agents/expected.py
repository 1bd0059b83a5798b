"""Expected: what outputs were to be, by their keys, and a judge of one key where the program runs on fewer records."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from bigdebug.agents.alike import alike, name
from bigdebug.agents.fields import is_less, is_number
from bigdebug.agents.judges import Verdict, number
from bigdebug.agents.partners import beyond
from bigdebug.model import Outcome


@dataclass(frozen=True)
class Apart:
    """Takes an output apart: the name of its key, and what is of that key. Of a tuple the first field is the key, of anything else all of it; or ``key`` says."""

    key: Callable[[Any], Any] | None = None

    def __call__(self, output: Any) -> tuple[bytes, Any]:
        if self.key is not None:
            return name(self.key(output)), output
        if isinstance(output, tuple) and len(output) > 1:
            return name(output[0]), output[1] if len(output) == 2 else tuple(output[1:])
        return name(output), output

    def is_all(self, output: Any) -> bool:
        """Whether all of an output is its key."""
        return self.key is None and not (isinstance(output, tuple) and len(output) > 1)


@dataclass(frozen=True)
class Named:
    """True of pairs with one of some keys, by their names."""

    names: frozenset[bytes]

    def __call__(self, pair: Any) -> bool:
        return name(pair[0]) in self.names


@dataclass(frozen=True)
class Due:
    """Judges what a program gives of one key: wrong is what was not expected of it.

    That there is nothing of it says nothing, unless nothing was expected: then it is there no more, as it is to be. If something expected is ``lacking`` in the run, what is needed
    for there to be anything may be what is wrong. With a ``side``, only what is more (1) than expected is wrong, or less (-1): other records
    may have their part in a number. If it is ``missing``, that there is nothing of it is what is wrong.
    """

    apart: Apart
    name: bytes
    expected: tuple[Any, ...]
    side: int = 0
    missing: bool = False
    raises: bool = False
    lacking: bool = False

    def verdict(self, outputs: Iterable[Any]) -> Verdict:
        try:
            known = [value for name, value in map(self.apart, outputs) if name == self.name]
        except Exception:  # of the user's functions
            return Verdict(Outcome.FAIL if self.raises else Outcome.UNRESOLVED)
        if not known:
            return Verdict(self._outcome(known), math.nan if self.expected else 0.0, gone=self.lacking)
        return Verdict(self._outcome(known), number(known[0]) if len(known) == 1 else math.nan)

    def _outcome(self, known: list[Any]) -> Outcome:
        if self.missing:
            return Outcome.PASS if known else Outcome.FAIL
        if not known:
            return Outcome.UNRESOLVED if self.expected else Outcome.PASS
        if self.side and len(known) == 1:
            return Outcome.FAIL if side(known[0], self.expected[0]) in (self.side, 0) and not alike(known[0], self.expected[0]) else Outcome.PASS
        return Outcome.FAIL if beyond(known, self.expected) else Outcome.PASS


@dataclass(frozen=True)
class Among:
    """Judges what a program gives where no key says which output is which: wrong is what is not one of ``names``, those of all that was expected, nor like what is ``lacking``.

    That there is nothing says nothing, unless nothing is lacking.
    """

    names: frozenset[bytes]
    lacking: tuple[Any, ...]
    raises: bool = False

    def verdict(self, outputs: Iterable[Any]) -> Verdict:
        try:
            known = list(outputs)
        except Exception:  # of the user's functions
            return Verdict(Outcome.FAIL if self.raises else Outcome.UNRESOLVED)
        value = number(known[0]) if len(known) == 1 else math.nan
        if not known:
            return Verdict(Outcome.UNRESOLVED if self.lacking else Outcome.PASS, 0.0)
        return Verdict(Outcome.PASS if all(map(self._was_expected, known)) else Outcome.FAIL, value)

    def _was_expected(self, output: Any) -> bool:
        return name(output) in self.names or any(alike(output, other) for other in self.lacking)


def side(value: Any, expected: Any) -> int:
    """1 if a number is more than another, -1 if it is less, 0 if they are alike or one is none."""
    if not (is_number(value) and is_number(expected)) or alike(value, expected):
        return 0
    return 1 if is_less(expected, value) else -1 if is_less(value, expected) else 0
