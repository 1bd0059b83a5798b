"""What merges are given: how values become a group, and a group outputs, as PySpark's methods have it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyspark.resultiterable import ResultIterable
from pyspark.shuffle import ExternalSorter


def to_first(key: Any) -> int:
    return 0


def listed(value: Any) -> list[Any]:
    return [value]


def appended(values: list[Any], value: Any) -> list[Any]:
    values.append(value)
    return values


def extended(left: list[Any], right: list[Any]) -> list[Any]:
    left.extend(right)
    return left


def cogrouped(key: Any, lists: tuple[list[Any], ...]) -> Iterable[Any]:
    return ((key, tuple(ResultIterable(values) for values in lists)),)


def subtracted(key: Any, lists: tuple[list[Any], ...]) -> Iterable[Any]:
    return () if lists[1] else ((key, value) for value in lists[0])


class Joined:
    def __init__(self, outer_left: bool, outer_right: bool) -> None:
        self.outer_left, self.outer_right = outer_left, outer_right

    def __call__(self, key: Any, lists: tuple[list[Any], ...]) -> Iterable[Any]:
        lefts, rights = lists
        if not rights and self.outer_left:
            rights = [None]
        if not lefts and self.outer_right:
            lefts = [None]
        return ((key, (left, right)) for left in lefts for right in rights)


class Sorted:
    """Sorts (position, record) pairs by the key of the record, on disk if memory is short, as PySpark does."""

    def __init__(self, limit: float, serializer: Any, keyfunc: Any, descending: bool) -> None:
        self.limit, self.serializer, self.keyfunc, self.descending = limit, serializer, keyfunc, descending

    def __call__(self, pairs: Iterable[tuple[int, Any]]) -> Iterable[tuple[int, Any]]:
        keyfunc = self.keyfunc
        sort: Any = ExternalSorter(self.limit * 0.9, self.serializer).sorted
        found: Iterable[tuple[int, Any]] = sort(
            pairs, key=lambda pair: keyfunc(pair[1][0]), reverse=self.descending
        )
        return found
