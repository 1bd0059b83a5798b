"""A judge: the user's test of outputs, and what it says of what a program gives on some of its records."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from bigdebug.agents.fields import is_null, is_number
from bigdebug.agents.guards.crash import name_of
from bigdebug.agents.outlines import Outline, outlines_if_any
from bigdebug.model import Outcome


class Verdict(NamedTuple):
    """An outcome, the number that the output holds, NaN if it holds none, whether there is no such output any more, of all outputs as a whole how many there are, and
    the outline of what there is.
    """

    outcome: Outcome
    value: float = math.nan
    gone: bool = False
    outputs: int = 0
    outline: Outline = None


class Judging(Protocol):
    """Judges what a program gives."""

    def verdict(self, outputs: Iterable[Any]) -> Verdict:
        """The outcome of outputs that are computed as they are read."""


@dataclass(frozen=True)
class Judge:
    """Judges outputs by ``test``, which is true of one that is wrong; with ``key`` it is given the key of the output as well.

    If ``whole``, it is given all outputs, as a list. ``raises`` says that an exception of the program is a failure, else it is unresolved; of the test,
    it always is.
    """

    test: Callable[..., Any]
    key: Callable[[Any], Any] | None = None
    whole: bool = False
    raises: bool = False

    def wrong(self, output: Any) -> bool:
        """Whether one output is wrong."""
        return truth(self.test(output) if self.key is None else self.test(output, self.key(output)))

    def verdict(self, outputs: Iterable[Any]) -> Verdict:
        """The outcome of what a program gives, which is computed as it is read: FAIL if any of it is wrong."""
        try:
            known = list(outputs)
        except Exception:  # of the user's functions
            return Verdict(Outcome.FAIL if self.raises else Outcome.UNRESOLVED)
        value, gone, many, outline = self._value(known), not known and not self.whole, len(known) if self.whole else 0, outlines_if_any(known)  # before a test that may change them
        try:
            wrong = truth(self.test(known)) if self.whole else any(self.wrong(each) for each in known)  # map() would end at a StopIteration of the test
        except Exception:
            return Verdict(Outcome.UNRESOLVED)
        return Verdict(Outcome.FAIL if wrong else Outcome.PASS, value, gone, many, outline)

    def _value(self, known: list[Any]) -> float:
        if self.whole:
            return float(np.sum([value for each in known if math.isfinite(value := number(each))]))
        return number(known[0]) if len(known) == 1 else math.nan


def truth(answer: Any) -> bool:
    """Whether the answer of a test is true. Raises TypeError for what always is, whatever it is to say, such as a generator, and for what says neither."""
    if isinstance(answer, Iterator) or callable(answer):
        raise TypeError(f"it gave a {type(answer).__name__}, which is always true; let it give True or False, as any(...) does")
    try:
        return bool(answer)
    except Exception as problem:
        raise TypeError(f"it gave a {type(answer).__name__}, which is neither true nor false: {problem}") from problem


@dataclass(frozen=True)
class Crashing:
    """Judges whether a program raises an exception, known by the name of its class: another one says nothing of that."""

    exception: str

    def verdict(self, outputs: Iterable[Any]) -> Verdict:
        try:
            for _ in outputs:
                pass
        except Exception as problem:  # of the user's functions
            return Verdict(Outcome.FAIL if name_of(problem) == self.exception else Outcome.UNRESOLVED)
        return Verdict(Outcome.PASS)


def number(output: Any) -> float:
    """A number that an output holds, by which it is seen how far the output moves: the last one that there is. NaN if there is none."""
    return as_float(next((leaf for leaf in _from_the_end(output) if leaf is not None), None))


def held(output: Any) -> Any:
    """The number that an output holds, the last one if there are several, as it is held: of (key, value) it is the value's. None if there is none, or a null in its place."""
    if isinstance(output, tuple) and len(output) == 2 and isinstance(output[1], tuple | list | Mapping) and not output[1]:
        return None  # a key is no value of its own
    return next(_from_the_end(output), None)


def as_float(known: Any) -> float:
    """The float nearest to a number; NaN for None."""
    try:
        return math.nan if known is None else float(known)
    except OverflowError:  # 10**400
        return math.inf if known > 0 else -math.inf


def _from_the_end(output: Any) -> Iterator[Any]:
    """The numbers in an output, from the last one to the first, and None for what is null."""
    parts = list(output.values()) if isinstance(output, Mapping) else output if isinstance(output, tuple | list) else None
    if parts is None:
        yield from [None] if is_null(output) else [output] if is_number(output) else []
    else:
        for part in reversed(parts):
            yield from _from_the_end(part)
