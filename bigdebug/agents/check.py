"""Check: what outputs are to be, as a value that runs in tasks. ``claims.py`` has those that there are, ``checks.py`` the functions that make them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from bigdebug.agents.fields import Field, looked_at, named
from bigdebug.agents.moments import Measure
from bigdebug.shown import shown


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

    def of_number(self, field: Field) -> Check:
        """The check for outputs of which it is known that ``field`` is their number; itself, if it looks at none, or at another field."""
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

    def of_number(self, field: Field) -> Check:
        return Either(tuple(part.of_number(field) for part in self.parts))

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
class OfField(Check):
    """Looks at a field of an output."""

    field: Field

    default: ClassVar[str] = "it"
    """What is looked at where no field is named."""

    @property
    def its(self) -> str:
        """What is looked at, in words."""
        if self.field is None:
            return self.default
        return f"its {named(self.field) if callable(self.field) else f'field {shown(self.field)}'}"

    def seen(self, output: Any) -> Any:
        """What is looked at."""
        return output if self.field is None else looked_at(output, self.field)

    def called(self, name: str, *arguments: Any) -> str:
        """The check as it was made."""
        given = [*map(named, arguments), *([] if self.field is None else [f"field={named(self.field)}"])]
        return f"{name}({', '.join(given)})"


def _parts(check: Check) -> tuple[Check, ...]:
    return check.parts if isinstance(check, Either) else (check,)
