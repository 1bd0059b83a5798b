"""Suspicious elements of a program, from the outputs that they took part in: Ochiai, Tarantula, DStar."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from bigdebug.errors import BigdebugError

Element = TypeVar("Element")

Formula = Callable[[int, int, int, int], float]
"""Suspiciousness from: failing and passing outputs that an element took part in, failing and passing outputs in all."""


@dataclass(frozen=True)
class Suspicion(Generic[Element]):
    """How suspicious an element is, and the failing and passing outputs that it took part in."""

    element: Element
    score: float
    failing: int
    passing: int


def ochiai(failing: int, passing: int, all_failing: int, all_passing: int) -> float:
    """From 0 to 1: the cosine between the outputs that an element took part in and those that fail (Abreu et al., 2007)."""
    return failing / math.sqrt(all_failing * (failing + passing)) if failing else 0.0


def tarantula(failing: int, passing: int, all_failing: int, all_passing: int) -> float:
    """From 0 to 1: its share of the failing ones, beside that of the passing ones (Jones & Harrold, 2005)."""
    fails = failing / all_failing if all_failing else 0.0
    passes = passing / all_passing if all_passing else 0.0
    return fails / (fails + passes) if fails else 0.0


def dstar(failing: int, passing: int, all_failing: int, all_passing: int, power: int = 2) -> float:
    """From 0 without end: infinite for what took part in all failing ones and in none that pass (Wong et al., 2014)."""
    against = passing + (all_failing - failing)
    return failing**power / against if against else math.inf if failing else 0.0


def suspicious(
    elements: Mapping[Element, tuple[int, int]], failing: int, passing: int, formula: Formula = ochiai,
) -> list[Suspicion[Element]]:
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
        found.append(Suspicion(element, formula(fails, passes, failing, passing), fails, passes))
    return sorted(found, key=lambda each: -each.score)
