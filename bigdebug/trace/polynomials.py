"""Provenance polynomials: how a record was made of source records, as sums of products (Green et al.; Smoke, appendix E). Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from bigdebug.errors import BigdebugError

T = TypeVar("T")

Monomial = tuple[tuple["Variable", int], ...]
"""Variables with their powers, in order."""

MOST_TERMS = 100_000


@dataclass(frozen=True, order=True)
class Variable:
    """A source record: the name of its input, and its rid."""

    source: str
    rid: int

    def __str__(self) -> str:
        return f"{self.source}[{self.rid}]"


@dataclass(frozen=True)
class Polynomial:
    """A sum of products of variables and other polynomials; shared parts are kept once, nothing is multiplied out.

    Addition stands for ways in which a record came about, multiplication for records used together. The empty sum is 0,
    the empty product 1.
    """

    terms: tuple[tuple[Variable | Polynomial, ...], ...]

    @property
    def variables(self) -> frozenset[Variable]:
        """The source records in it: which-provenance."""
        found: set[Variable] = set()
        seen: set[int] = set()
        todo = [self]
        while todo:
            current = todo.pop()
            if id(current) in seen:
                continue
            seen.add(id(current))
            for term in current.terms:
                for factor in term:
                    if isinstance(factor, Variable):
                        found.add(factor)
                    else:
                        todo.append(factor)
        return frozenset(found)

    def evaluate(self, value: Callable[[Variable], T], plus: Callable[[T, T], T], times: Callable[[T, T], T], zero: T, one: T) -> T:
        """Its value in a semiring: probabilities, costs, counts, truth ..."""
        known: dict[int, T] = {}

        def of(polynomial: Polynomial) -> T:
            if id(polynomial) not in known:
                total = zero
                for term in polynomial.terms:
                    product = one
                    for factor in term:
                        product = times(product, value(factor) if isinstance(factor, Variable) else of(factor))
                    total = plus(total, product)
                known[id(polynomial)] = total
            return known[id(polynomial)]

        return of(self)

    def expanded(self) -> Counter[Monomial]:
        """Multiplied out: coefficients by monomial. Raises BigdebugError beyond 100,000 terms."""
        nothing: Counter[Monomial] = Counter()
        return self.evaluate(lambda v: Counter({((v, 1),): 1}), _added, _multiplied, nothing, Counter({(): 1}))

    def witnesses(self) -> frozenset[frozenset[Variable]]:
        """Sets of source records that make the record, each by itself: why-provenance."""
        return frozenset(frozenset(variable for variable, _ in monomial) for monomial in self.expanded())

    def __str__(self) -> str:
        return " + ".join(_shown(monomial, times) for monomial, times in sorted(self.expanded().items())) or "0"

    def __repr__(self) -> str:
        try:
            text = str(self)
        except BigdebugError:
            return f"<polynomial over {len(self.variables):,} records>"
        return text if len(text) <= 500 else f"{text[:497]}..."

    def __iter__(self) -> Iterator[tuple[Variable | Polynomial, ...]]:
        return iter(self.terms)


def _added(one: Counter[Monomial], other: Counter[Monomial]) -> Counter[Monomial]:
    found = Counter(one)
    found.update(other)
    return _bounded(found)


def _multiplied(one: Counter[Monomial], other: Counter[Monomial]) -> Counter[Monomial]:
    found: Counter[Monomial] = Counter()
    if len(one) * len(other) > MOST_TERMS:
        _too_large()
    for left, m in one.items():
        for right, n in other.items():
            powers = Counter(dict(left))
            powers.update(dict(right))
            found[tuple(sorted(powers.items()))] += m * n
    return _bounded(found)


def _bounded(found: Counter[Monomial]) -> Counter[Monomial]:
    if len(found) > MOST_TERMS:
        _too_large()
    return found


def _too_large() -> None:
    raise BigdebugError(
        f"This polynomial has more than {MOST_TERMS:,} terms when it is multiplied out",
        remedy="Ask for its variables, or evaluate it as it is.",
    )


def _shown(monomial: Monomial, times: int) -> str:
    factors = [f"{variable}^{power}" if power > 1 else str(variable) for variable, power in monomial]
    return "·".join([*([str(times)] if times > 1 or not factors else []), *factors])
