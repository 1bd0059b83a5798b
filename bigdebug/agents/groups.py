"""What merges are given: how values become a group, and a group outputs, as PySpark's methods have it.

PySpark's own classes are handed in: executors have it, but nothing of ours that runs there imports it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from bigdebug.agents.merge import Lists


def listed(value: Any) -> list[Any]:
    return [value]


def appended(values: list[Any], value: Any) -> list[Any]:
    values.append(value)
    return values


def extended(left: list[Any], right: list[Any]) -> list[Any]:
    left.extend(right)
    return left


def subtracted(key: Any, lists: Lists) -> Iterable[Any]:
    return () if lists[1] else ((key, value) for value in lists[0])


class Cogrouped:
    """One output for each key: its values by branch, each branch as ``iterable`` has them."""

    def __init__(self, iterable: Callable[[list[Any]], Any]) -> None:
        self.iterable = iterable

    def __call__(self, key: Any, lists: Lists) -> Iterable[Any]:
        return ((key, tuple(map(self.iterable, lists))),)


class Joined:
    """Each left value of a key with each right one; an outer side that has none has one that is None."""

    def __init__(self, outer_left: bool, outer_right: bool) -> None:
        self.outer_left, self.outer_right = outer_left, outer_right

    def __call__(self, key: Any, lists: Lists) -> Iterable[Any]:
        lefts, rights = lists
        if not rights and self.outer_left:
            rights = [None]
        if not lefts and self.outer_right:
            lefts = [None]
        return ((key, (left, right)) for left in lefts for right in rights)


class Sorted:
    """Sorts (position, record) pairs by the key of the record with what ``sorter`` makes: PySpark's, which may use the disk."""

    def __init__(self, sorter: Callable[[], Any], keyfunc: Callable[[Any], Any], descending: bool) -> None:
        self.sorter, self.keyfunc, self.descending = sorter, keyfunc, descending

    def __call__(self, pairs: Iterable[tuple[int, Any]]) -> Iterable[tuple[int, Any]]:
        keyfunc = self.keyfunc
        found: Iterable[tuple[int, Any]] = self.sorter().sorted(
            pairs, key=lambda pair: keyfunc(pair[1][0]), reverse=self.descending
        )
        return found
