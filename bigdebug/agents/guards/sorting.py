"""Sorting: records by their keys, without those whose keys do not compare with others'."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import zip_longest
from operator import itemgetter
from typing import Any

from bigdebug.agents.guards.inflight import NO_RECORD, crashes

Keyed = tuple[Any, int, Any]
"""The key of a record, its position, and the record."""

Unfit = tuple[int | None, Any, BaseException]
"""The position of a record that is left out, the record, and what its key raised."""

_KEY, _POSITION = itemgetter(0), itemgetter(1)

_HARDLY_ANY = 20
"""Where fewer than one key in so many compares with others, hardly any two do."""

_DEEPEST = 4
"""Tuples within each other whose types are looked at."""

def in_order(keyed: Sequence[Keyed], descending: bool) -> tuple[list[Keyed], list[Unfit]]:
    """Records in the order of their keys, equal ones as they came, and those that are left out, by position.

    Of two keys that do not compare, that is the one which does not compare with others either; if both do, the one whose types fewer have, as
    ``(2, None)`` among pairs of numbers; else the one that came later. Where hardly any two compare, none is kept, and none of them is told.
    """
    try:
        return sorted(keyed, key=_KEY, reverse=descending), []
    except crashes() as problem:
        ranked = _usual_first(keyed)
        ranks = {position: rank for rank, (_, position, _) in enumerate(ranked)}
        suspects: list[Keyed] = []
        unfit: list[Unfit] = []
        kept = _merged(keyed, partial(_both_out, suspects), descending)
        upwards = kept[::-1] if descending else kept
        fit = [one for one in suspects if not _is_unfit(one, upwards, unfit)]
        kept = _merged(sorted(fit, key=_POSITION), partial(_one_out, ranks, unfit), descending, kept)
        if len(kept) * _HARDLY_ANY < len(keyed):
            return [], [(None, NO_RECORD, problem)]
        return kept, sorted(unfit, key=itemgetter(0))


def _usual_first(keyed: Sequence[Keyed]) -> list[Keyed]:
    """First those whose keys are of the types that most have."""
    kinds = [_kind(key) for key, _, _ in keyed]
    count, first = Counter(kinds), {kind: at for at, kind in reversed([*enumerate(kinds)])}
    places = sorted(range(len(keyed)), key=lambda at: (-count[kinds[at]], first[kinds[at]], at))
    return [keyed[at] for at in places]


def _kind(key: Any, depth: int = 0) -> Any:
    """The type of a key, and of what is in it if it is a tuple."""
    kind = type(key)
    if not issubclass(kind, tuple) or depth == _DEEPEST:
        return kind
    return kind, *[_kind(each, depth + 1) for each in tuple.__iter__(key)]


Out = Callable[[Keyed, Keyed, BaseException], tuple[bool, bool]]
"""Which of two records that do not compare are to be left out."""


def _merged(keyed: Sequence[Keyed], out: Out, descending: bool, behind: Sequence[Keyed] = ()) -> list[Keyed]:
    """Records in the order of their keys, merged from runs, with those ``behind`` that are in order. So each key has been compared with the one next to it."""
    runs = [[one] for one in keyed]
    while len(runs) > 1:
        pairs: Iterator[tuple[list[Keyed], list[Keyed]]] = zip_longest(runs[::2], runs[1::2], fillvalue=[])
        runs = [_merged_two(left, right, out, descending) for left, right in pairs]
    return _merged_two(runs[0] if runs else [], [*behind], out, descending)


def _merged_two(left: list[Keyed], right: list[Keyed], out: Out, descending: bool) -> list[Keyed]:
    made: list[Keyed] = []
    at, beside = 0, 0
    while at < len(left) and beside < len(right):
        one, other = left[at], right[beside]
        try:
            second = _comes_before(other, one, descending)
        except crashes() as problem:
            first, second = out(one, other, problem)
        else:
            made.append(other if second else one)
            first = not second
        at, beside = at + first, beside + second
    return [*made, *left[at:], *right[beside:]]


def _comes_before(one: Keyed, other: Keyed, descending: bool) -> bool:
    """Equal ones as they came, whichever run they are in."""
    before = bool(other[0] < one[0] if descending else one[0] < other[0])
    return before or (one[1] < other[1] and not (one[0] < other[0] if descending else other[0] < one[0]))


def _both_out(suspects: list[Keyed], one: Keyed, other: Keyed, problem: BaseException) -> tuple[bool, bool]:
    suspects += one, other
    return True, True


def _one_out(ranks: dict[int, int], unfit: list[Unfit], one: Keyed, other: Keyed, problem: BaseException) -> tuple[bool, bool]:
    second = ranks[other[1]] > ranks[one[1]]
    _, position, record = other if second else one
    unfit.append((position, record, problem))
    return not second, second


def _is_unfit(one: Keyed, upwards: Sequence[Keyed], unfit: list[Unfit]) -> bool:
    """Whether a key does not compare with itself, or with those where it would stand among others in order."""
    try:
        bool(one[0] < one[0])
        bisect_right(upwards, one[0], key=_KEY)
    except crashes() as problem:
        unfit.append((*one[1:], problem))
        return True
    return False
