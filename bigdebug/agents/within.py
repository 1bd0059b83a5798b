"""Within: a function over partitions, for some partitions alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Within:
    """``function`` where ``partitions`` are; all others are empty, and the function is not called for them."""

    function: Callable[[int, Iterable[Any]], Iterable[Any]]
    partitions: frozenset[int]

    def __call__(self, split: int, incoming: Iterable[Any]) -> Iterable[Any]:
        return self.function(split, incoming) if split in self.partitions else ()
