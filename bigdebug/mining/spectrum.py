"""Suspicious elements of a program, from the outputs that they took part in, by Ochiai's formula."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from bigdebug.errors import BigdebugError

Element = TypeVar("Element")


@dataclass(frozen=True)
class Suspiciousness(Generic[Element]):
    """How suspicious an element is, and the failing and passing outputs that it took part in."""

    element: Element
    score: float
    failing: int
    passing: int


def ochiai(failing: int, passing: int, all_failing: int, all_passing: int) -> float:
    """From 0 to 1: the cosine between the outputs that an element took part in and those that fail (Abreu et al., 2007)."""
    return failing / math.sqrt(all_failing * (failing + passing)) if failing else 0.0


def suspicious(elements: Mapping[Element, tuple[int, int]], failing: int, passing: int) -> list[Suspiciousness[Element]]:
    """All elements, the most suspicious first; of equally suspicious ones, the order of ``elements``, which is the program's, is kept.

    ``elements`` (operators, or branches of them) has how many failing and passing outputs each took part in; ``failing`` and
    ``passing`` are the totals. Raises BigdebugError for an element that took part in more than there are. Cost: a sort.
    """
    found = []
    for element, (fails, passes) in elements.items():
        if not (0 <= fails <= failing and 0 <= passes <= passing):
            raise BigdebugError(
                f"Of {failing:,} failing and {passing:,} passing outputs, no element took part in more, nor in less than none",
                value=(element, fails, passes),
            )
        found.append(Suspiciousness(element, ochiai(fails, passes, failing, passing), fails, passes))
    return sorted(found, key=lambda each: -each.score)
