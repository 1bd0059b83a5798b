"""Partners: which values of some go with which of others, where values that are alike need not be equal."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from bigdebug.agents.alike import alike, is_whole, name
from bigdebug.agents.fields import is_null, is_number
from bigdebug.agents.judges import number

FEW_PAIRS, MOST_PAIRS = 64, 1_000_000
"""Pairs of values that are compared as they are, and those that are compared at all for fractions that are alike."""


def beyond(values: Sequence[Any], others: Sequence[Any]) -> list[int]:
    """The places of those of ``values`` that are not among ``others``, of which each stands for one.

    Of many, each is compared with those that are equal, then with those that are the same to seven digits, and what is left with all others, if that comes to no more than
    MOST_PAIRS.
    """
    these, those = list(range(len(values))), list(range(len(others)))
    many = len(values) * len(others) > FEW_PAIRS
    for called in (_as_it_is, _roughly_called, _called_alike) if many else (_called_alike,):
        if called is _called_alike and len(these) * len(those) > MOST_PAIRS:
            break
        near, found = _grouped(others, those, called), dict[int, int]()
        for known, places in _grouped(values, these, called).items():
            found |= partners(values, others, places, near.get(known, ()))
        taken = set(found.values())
        these, those = [i for i in these if i not in found], [j for j in those if j not in taken]
    return these


def partners(values: Sequence[Any], others: Sequence[Any], these: Iterable[int], those: Iterable[int]) -> dict[int, int]:
    """Of some places, those of values with those of others that are alike, each at most once, and as many as there can be: in whatever order they come.

    What is like two others gives its own away to a value that is like no other one (augmenting paths).
    """
    found, owners, free, owned = dict[int, int](), dict[int, int](), list(those), list[int]()
    for start in these:
        way, asked, unasked, end = dict[int, int](), [start], owned, None
        for value in asked:
            end = next((other for other in free if alike(values[value], others[other])), None)
            if end is not None:
                way[end] = value
                break
            reached = [other for other in unasked if alike(values[value], others[other])]
            way |= dict.fromkeys(reached, value)
            asked += [owners[other] for other in reached]
            unasked = [other for other in unasked if other not in way]
        if end is None:
            owned = unasked  # from those that were reached no way leads to a free one, now or later
            continue
        free.remove(end)
        owned.append(end)
        while end is not None:
            value = owners[end] = way[end]
            found[value], end = end, found.get(value)
    return found


def _grouped(values: Sequence[Any], places: Iterable[int], called: Callable[[Any], Any]) -> dict[Any, list[int]]:
    found: dict[Any, list[int]] = defaultdict(list)
    for place in places:
        found[called(values[place])].append(place)
    return found


def _called_alike(value: Any) -> None:
    """A name that all have."""


def _as_it_is(value: Any) -> Any:
    """A value, or its name, if it has no hash."""
    try:
        hash(value)
    except TypeError:
        return name(value)
    return value


def _roughly_called(value: Any) -> bytes:
    return name(_roughly(value))


def _roughly(value: Any) -> Any:
    """The same for numbers with a fraction that are the same to seven digits, but where the seventh one turns."""
    if is_number(value) and not is_whole(value) and not is_null(value):
        return float(f"{number(value):.6e}")
    if isinstance(value, tuple | list):
        return tuple(map(_roughly, value))
    return {part: _roughly(each) for part, each in value.items()} if isinstance(value, Mapping) else value
