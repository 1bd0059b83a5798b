"""Balanced: many parts as one expression, no deeper than need be."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

_T = TypeVar("_T")


def balanced(joined: Callable[[_T, _T], _T], parts: Iterable[_T]) -> _T:
    """The parts joined two by two, in their order. Spark writes the code of what is joined anew at each level: a thousand, each joined to all before it, take a gigabyte."""
    found = list(parts)
    while len(found) > 1:
        pairs = [joined(found[i], found[i + 1]) for i in range(0, len(found) - 1, 2)]
        found = pairs + found[2 * len(pairs) :]
    return found[0]
