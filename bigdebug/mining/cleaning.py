"""The cleaning loop: a program once more without what makes its worst outputs bad, again and again while that helps (Newt 4.2, 7.3.2). Pure.

What the program is, and what its records are, the loop is not told: it rates outputs, and leaves records out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

from bigdebug.agents.quality import Quality
from bigdebug.errors import LocalizeError, PredicateError
from bigdebug.mining.cleaned import Cleaned, Rating, Round, stands_out
from bigdebug.model import SourceRecord
from bigdebug.shown import counted, shown

WORST = 20
"""Of so many outputs, the worst, the records are suspected in a round."""

TOLD = 50
"""Removed records that a round lists."""


class Result(Protocol):
    """What the program gives: its outputs, and how good each is."""

    @property
    def outputs(self) -> Sequence[Any]: ...

    @property
    def qualities(self) -> Sequence[float]: ...


class Suspects(Protocol):
    """Records of the original run that are suspected."""

    def __len__(self) -> int: ...

    def without(self, others: Any, /) -> Any:
        """Those that are not among others."""

    def union(self, others: Any, /) -> Any:
        """Both."""


R = TypeVar("R", bound=Result)
S = TypeVar("S", bound=Suspects)


class Program(Protocol[R, S]):
    """A program that runs on fewer records."""

    def result(self) -> R:
        """What it gave."""

    def suspected(self, now: R, worst: Sequence[int], bar: float) -> tuple[S, str]:
        """The records that are suspected for some outputs of a result, and by what. Raises LocalizeError if there are none."""

    def without(self, suspects: S) -> tuple[R, Any]:
        """What it gives without some records, and the replay that gave it. Raises what the program raises."""

    def listed(self, suspects: S) -> tuple[tuple[SourceRecord, ...], int]:
        """The source records behind these, the first ``TOLD`` of them, and how many they are."""


def cleaned(program: Program[R, S], enough: float | None, rounds: int, edited: bool) -> Cleaned:
    """Up to so many rounds; the bar is ``enough``, or where qualities are unusually low. ``edited``: records are changed, not removed."""
    now = program.result()
    bar = stands_out(now.qualities) if enough is None else enough
    if bar is None:
        lowest = min(now.qualities, default=0.0)
        reason = f"the quality of none of the {len(now.outputs):,} outputs is unusually low: say which is good enough (enough=)"
        return Cleaned((), reason, lowest, tuple(now.outputs), edited=edited)
    told: list[Round] = []
    removed: S | None = None
    replay, reason = None, f"{rounds} rounds were asked for"
    while len(told) < rounds and (worst := _worst(now, bar)):
        try:
            suspects, by = program.suspected(now, worst, bar)
        except LocalizeError as trouble:
            reason = sentence(trouble.what)
            break
        fresh = suspects if removed is None else suspects.without(removed)
        if not len(fresh):
            reason = "the records that are suspected now have been changed already"
            break
        tried = suspects if removed is None else removed.union(suspects)
        after, attempt = program.without(tried)
        before, ratings = Rating.of(now.qualities, bar), Rating.of(after.qualities, bar)
        better = ratings.better(before)
        told.append(Round(before, ratings, *program.listed(fresh), by, better))
        if not better:
            lost = ratings.loses(before)
            did = f"lost {counted(lost, 'good output')}" if lost else "improved nothing"
            reason = f"round {len(told)} {did}, and was undone"
            break
        now, removed, replay = after, tried, attempt
    if not _worst(now, bar):
        reason = "no output is below the bar any more"
    return Cleaned(tuple(told), reason, bar, tuple(now.outputs), replay, edited)


def _worst(now: Result, bar: float) -> list[int]:
    """The places of the outputs below the bar, the worst first."""
    below = [place for place, quality in enumerate(now.qualities) if quality < bar]
    return sorted(below, key=lambda place: now.qualities[place])[:WORST]


def rated(quality: Quality, outputs: Sequence[Any]) -> list[float]:
    """The quality of each, by a function of the user's. Raises PredicateError for what that raises."""
    return [_rated(quality, output) for output in outputs]


def _rated(quality: Callable[[Any], float], output: Any) -> float:
    try:
        return quality(output)
    except Exception as error:  # it is the user's code that runs here
        raise PredicateError(
            f"quality= raised {type(error).__name__}: {error}, on the output {shown(output)}",
            remedy="It is called with each output: see that it takes them all, and gives a number, or None for the worst.",
        ) from error


def sentence(text: str) -> str:
    """As a part of a sentence."""
    return text[:1].lower() + text[1:]
