"""Claims: the checks that there are, each of which claims one thing of outputs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from bigdebug.agents.check import Check, OfField
from bigdebug.agents.fields import Field, Types, holds_null, is_less, is_null, is_of_type, looked_at, named
from bigdebug.agents.judges import as_float, held
from bigdebug.agents.likeness import likeness
from bigdebug.agents.moments import Measure
from bigdebug.errors import LocalizeError
from bigdebug.shown import shown


@dataclass(frozen=True, repr=False)
class OfNumber(OfField):
    """Looks at the number that an output holds where no field is named."""

    default: ClassVar[str] = "its number"

    def of_number(self, field: Field) -> Check:
        return replace(self, field=field) if self.field is None else self


@dataclass(frozen=True, repr=False)
class Bounds(OfNumber):
    """Within ``low`` and ``high``, each of which may be None: without that bound."""

    low: Any
    high: Any

    def __call__(self, output: Any) -> bool:
        value = held(output) if self.field is None else looked_at(output, self.field)
        return (self.low is not None and is_less(value, self.low)) or (self.high is not None and is_less(self.high, value))

    def __str__(self) -> str:
        sides = [f"less than {shown(self.low)}"] * (self.low is not None) + [f"more than {shown(self.high)}"] * (self.high is not None)
        return f"{self.its} is {' or '.join(sides)}"

    def __repr__(self) -> str:
        if self.low is None:
            return self.called("at_most", self.high)
        return self.called("at_least", self.low) if self.high is None else self.called("between", self.low, self.high)


@dataclass(frozen=True, repr=False)
class Sigma(OfNumber):
    """Within ``k`` standard deviations of the mean of all outputs; ``bounds`` are known once all were looked at."""

    k: float
    bounds: tuple[float, float] | None = None

    def number(self, output: Any) -> float:
        """What is compared; NaN for what is no number."""
        return as_float(held(self.seen(output)))

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
        half = self.k / 2 * known.deviation  # all of it may be beyond all floats where the bounds are not
        # Where these are, infinity is still beyond them.
        return replace(self, bounds=(max(known.mean - half - half, -sys.float_info.max), min(known.mean + half + half, sys.float_info.max)))

    def __str__(self) -> str:
        range_ = "" if self.bounds is None else f", which is within {self.bounds[0]:g} and {self.bounds[1]:g}"
        return f"{self.its} is more than {self.k:g} standard deviations away from the mean of all{range_}"

    def __repr__(self) -> str:
        return self.called("sigma", self.k)


@dataclass(frozen=True, repr=False)
class NotNull(OfField):
    """Neither None nor NaN; without a field, nor is anything in it."""

    def __call__(self, output: Any) -> bool:
        return holds_null(output) if self.field is None else is_null(looked_at(output, self.field))

    def __str__(self) -> str:
        return f"{self.its} is null" if self.field is not None else "it is null, or holds a null"

    def __repr__(self) -> str:
        return self.called("not_null")


@dataclass(frozen=True, repr=False)
class Unique(OfField):
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
            alike.setdefault(likeness(self.seen(output)), []).append(place)
        return [places for places in alike.values() if len(places) > 1]

    def __str__(self) -> str:
        return "two outputs are alike" if self.field is None else f"two outputs are alike in {self.its.removeprefix('its ')}"

    def __repr__(self) -> str:
        return self.called("unique")


@dataclass(frozen=True, repr=False)
class Schema(OfField):
    """Of given types: one, one for each part of a tuple, or by name."""

    types: Types | tuple[Types | None, ...] | Mapping[Any, Types]

    def __call__(self, output: Any) -> bool:
        value = self.seen(output)
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
        return f"{self.its} is not of the types {', '.join(self._names)}"

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
class Holds(OfField):
    """What a function says of right outputs."""

    true: Callable[[Any], Any]

    def __call__(self, output: Any) -> bool:
        return not self.true(self.seen(output))

    def __str__(self) -> str:
        return f"{named(self.true)} does not hold"

    def __repr__(self) -> str:
        return self.called("constraint", self.true)
