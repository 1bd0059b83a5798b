"""Check: what outputs are to be, as a value that runs in tasks. ``checks.py`` has the functions that make them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from bigdebug.agents.fields import Field, Types, holds_null, is_less, is_null, is_of_type, looked_at, named
from bigdebug.agents.judges import held, number
from bigdebug.agents.likeness import likeness
from bigdebug.errors import LocalizeError
from bigdebug.shown import shown


class Moments(NamedTuple):
    """Of some numbers: how many, their mean, and the sum of the squares of their distances from it."""

    size: int = 0
    mean: float = 0.0
    squares: float = 0.0

    def with_(self, other: Moments) -> Moments:
        """Those of both together (Chan, Golub and LeVeque)."""
        size = self.size + other.size
        if not size:
            return self
        apart = other.mean - self.mean
        mean = self.mean + apart * other.size / size
        return Moments(size, mean, self.squares + other.squares + apart * apart * self.size * other.size / size)


def moments(numbers: Iterable[float]) -> Moments:
    """The moments of those of the numbers that are finite."""
    known = np.fromiter(numbers, dtype=np.float64)
    known = known[np.isfinite(known)]
    if not len(known):
        return Moments()
    mean = float(known.mean())
    return Moments(len(known), mean, float(np.square(known - mean).sum()))


Measure = Callable[[Callable[[Any], float]], Moments]
"""Gives the moments of what a function makes of each output."""


class Check:
    """What outputs are to be. Called with an output, it is true where that violates it; ``str()`` says in words what is wrong then."""

    @property
    def whole(self) -> bool:
        """Whether only all outputs together can violate it."""
        return False

    def __call__(self, output: Any) -> bool:
        raise NotImplementedError

    def wrong_in(self, outputs: list[Any]) -> bool:
        """Whether outputs violate it, all of them together."""
        return any(self(output) for output in outputs)

    def groups(self, outputs: list[Any]) -> list[list[int]]:
        """The places of outputs that violate it, those together that do so together."""
        return [[place] for place, output in enumerate(outputs) if self(output)]

    def fitted(self, measure: Measure) -> Check:
        """The check with bounds set by all outputs, if it has such; itself, if not."""
        return self

    def __or__(self, other: Any) -> Check:
        """Violated where either is. ``other`` may be a test of one's own, which is true of an output that is wrong."""
        if not callable(other):
            return NotImplemented
        return Either((*_parts(self), *_parts(other if isinstance(other, Check) else _Own(other))))

    def __ror__(self, other: Any) -> Check:
        return _Own(other) | self if callable(other) else NotImplemented


@dataclass(frozen=True, repr=False)
class Either(Check):
    """Violated where one of several checks is."""

    parts: tuple[Check, ...]

    @property
    def whole(self) -> bool:
        return any(part.whole for part in self.parts)

    def __call__(self, output: Any) -> bool:
        return any(part(output) for part in self.parts)

    def wrong_in(self, outputs: list[Any]) -> bool:
        return any(part.wrong_in(outputs) for part in self.parts)

    def groups(self, outputs: list[Any]) -> list[list[int]]:
        found = {tuple(group) for part in self.parts for group in part.groups(outputs)}
        return [list(group) for group in sorted(found)]

    def fitted(self, measure: Measure) -> Check:
        return Either(tuple(part.fitted(measure) for part in self.parts))

    def __str__(self) -> str:
        return " or ".join(map(str, self.parts))

    def __repr__(self) -> str:
        return " | ".join(map(repr, self.parts))


@dataclass(frozen=True, repr=False)
class _Own(Check):
    """A test of the user's own among checks."""

    test: Callable[[Any], Any]

    def __call__(self, output: Any) -> bool:
        return bool(self.test(output))

    def __str__(self) -> str:
        return f"{named(self.test)} holds"

    def __repr__(self) -> str:
        return named(self.test)


@dataclass(frozen=True, repr=False)
class _OfField(Check):
    """Looks at a field of an output."""

    field: Field

    @property
    def _its(self) -> str:
        if self.field is None:
            return self._default
        return f"its {named(self.field) if callable(self.field) else f'field {shown(self.field)}'}"

    _default: ClassVar[str] = "it"

    def _seen(self, output: Any) -> Any:
        return output if self.field is None else looked_at(output, self.field)

    def _called(self, name: str, *arguments: Any) -> str:
        given = [*map(named, arguments), *([] if self.field is None else [f"field={named(self.field)}"])]
        return f"{name}({', '.join(given)})"


@dataclass(frozen=True, repr=False)
class Bounds(_OfField):
    """Within ``low`` and ``high``, each of which may be None: without that bound."""

    low: Any
    high: Any
    _default: ClassVar[str] = "its number"

    def __call__(self, output: Any) -> bool:
        value = held(output) if self.field is None else looked_at(output, self.field)
        return (self.low is not None and is_less(value, self.low)) or (self.high is not None and is_less(self.high, value))

    def __str__(self) -> str:
        sides = [f"less than {shown(self.low)}"] * (self.low is not None) + [f"more than {shown(self.high)}"] * (self.high is not None)
        return f"{self._its} is {' or '.join(sides)}"

    def __repr__(self) -> str:
        if self.low is None:
            return self._called("at_most", self.high)
        return self._called("at_least", self.low) if self.high is None else self._called("between", self.low, self.high)


@dataclass(frozen=True, repr=False)
class Sigma(_OfField):
    """Within ``k`` standard deviations of the mean of all outputs; ``bounds`` are known once all were looked at."""

    k: float
    bounds: tuple[float, float] | None = None
    _default: ClassVar[str] = "its number"

    def number(self, output: Any) -> float:
        """What is compared; NaN for what is no number."""
        return number(self._seen(output))

    def __call__(self, output: Any) -> bool:
        if self.bounds is None:
            raise TypeError(f"{self!r} is known when all outputs were looked at: give it to dbg.localize(), which does that")
        low, high = self.bounds
        return not low <= value <= high if (value := self.number(output)) == value else False

    def fitted(self, measure: Measure) -> Check:
        """Raises LocalizeError where no output could be that far from the mean of so few."""
        known = measure(self.number)
        if known.size <= self.k * self.k + 1:  # the farthest of n is sqrt(n - 1) deviations away
            raise LocalizeError(
                f"Of {known.size:,} numbers none can be more than {self.k:g} standard deviations away from their mean, so {self!r} finds nothing",
                remedy="Take fewer of them, or set the bounds yourself: checks.between(low, high).",
            )
        far = self.k * math.sqrt(known.squares / known.size)
        return replace(self, bounds=(known.mean - far, known.mean + far))

    def __str__(self) -> str:
        range_ = "" if self.bounds is None else f", which is within {self.bounds[0]:g} and {self.bounds[1]:g}"
        return f"{self._its} is more than {self.k:g} standard deviations away from the mean of all{range_}"

    def __repr__(self) -> str:
        return self._called("sigma", self.k)


@dataclass(frozen=True, repr=False)
class NotNull(_OfField):
    """Neither None nor NaN; without a field, nor is anything in it."""

    def __call__(self, output: Any) -> bool:
        return holds_null(output) if self.field is None else is_null(looked_at(output, self.field))

    def __str__(self) -> str:
        return f"{self._its} is null" if self.field is not None else "it is null, or holds a null"

    def __repr__(self) -> str:
        return self._called("not_null")


@dataclass(frozen=True, repr=False)
class Unique(_OfField):
    """No two alike, as ``likeness`` has it: 1, 1.0 and True are three, NaN is like NaN."""

    @property
    def whole(self) -> bool:
        return True

    def __call__(self, output: Any) -> bool:
        return False  # one alone is no duplicate

    def wrong_in(self, outputs: list[Any]) -> bool:
        return bool(self.groups(outputs))

    def groups(self, outputs: list[Any]) -> list[list[int]]:
        alike: dict[bytes, list[int]] = {}
        for place, output in enumerate(outputs):
            alike.setdefault(likeness(self._seen(output)), []).append(place)
        return [places for places in alike.values() if len(places) > 1]

    def __str__(self) -> str:
        return "two outputs are alike" if self.field is None else f"two outputs are alike in {self._its.removeprefix('its ')}"

    def __repr__(self) -> str:
        return self._called("unique")


@dataclass(frozen=True, repr=False)
class Schema(_OfField):
    """Of given types: one, one for each part of a tuple, or by name."""

    types: Types | tuple[Types | None, ...] | Mapping[Any, Types]

    def __call__(self, output: Any) -> bool:
        value = self._seen(output)
        if isinstance(self.types, tuple):
            fits = isinstance(value, tuple | list) and len(value) == len(self.types)
            return not fits or not all(map(is_of_type, value, self.types))
        if isinstance(self.types, Mapping):
            try:
                return not all(is_of_type(looked_at(value, name), of) for name, of in self.types.items())
            except (LookupError, AttributeError):
                return True
        return not is_of_type(value, self.types)

    def __str__(self) -> str:
        return f"{self._its} is not of the types {', '.join(self._names)}"

    @property
    def _names(self) -> list[str]:
        if isinstance(self.types, Mapping):
            return [f"{shown(name)}: {named(of)}" for name, of in self.types.items()]
        return [named(of) for of in (self.types if isinstance(self.types, tuple) else (self.types,))]

    def __repr__(self) -> str:
        types = ", ".join(self._names)
        given = f"{{{types}}}" if isinstance(self.types, Mapping) else types
        return f"schema({given}{'' if self.field is None else f', field={named(self.field)}'})"


@dataclass(frozen=True, repr=False)
class Holds(_OfField):
    """What a function says of right outputs."""

    true: Callable[[Any], Any]

    def __call__(self, output: Any) -> bool:
        return not self.true(self._seen(output))

    def __str__(self) -> str:
        return f"{named(self.true)} does not hold"

    def __repr__(self) -> str:
        return self._called("constraint", self.true)


def _parts(check: Check) -> tuple[Check, ...]:
    return check.parts if isinstance(check, Either) else (check,)
