"""Which code an id has, and which id a code: items and operations are numbered 0, 1, ... in the order of their ids.

The ids are arrays, which may be memory-mapped: of integers (``integers``) or of texts (``texts``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bigdebug.provgraph.integers import ABSENT, DenseIds, RangeIds, SortedIds, integer_ids, integers, is_integer
from bigdebug.provgraph.mapping import Mapped
from bigdebug.provgraph.texts import TextIds, texts

__all__ = ["ABSENT", "Ids", "ids_of", "integers", "restored", "texts"]


class Ids(Protocol):
    """Ids in their order; the code of one is its place."""

    kind: ClassVar[str]

    def __len__(self) -> int: ...

    def codes(self, ids: Iterable[Any]) -> NDArray[np.int64]:
        """The code of each id, ABSENT where there is none. Raises TypeError for an id that is of no type that ids have here."""
        ...

    def take(self, codes: NDArray[Any]) -> NDArray[Any]:
        """The id of each code: int64, or Python's str."""
        ...

    def near(self, wanted: Any, count: int = 3) -> list[Any]:
        """Up to ``count`` ids that somebody may have meant."""
        ...


def ids_of(values: Iterable[Any]) -> tuple[Ids, NDArray[np.int64]]:
    """A dictionary of these ids, all integers or all texts, in memory; and the code of each. For what fits there several times."""
    held = list(values)
    if all(is_integer(value) for value in held):
        unique, codes = np.unique(integers(held), return_inverse=True)
        return integer_ids(unique), codes.astype(np.int64)
    # Arrow sorts texts by their bytes; Python and numpy by code points, which is the same order.
    distinct = sorted(set(texts(held)))
    place = {text: code for code, text in enumerate(distinct)}
    return TextIds.of(pa.array(distinct, pa.large_string())), np.fromiter((place[text] for text in held), np.int64)


def restored(kind: str, arrays: Mapping[str, Mapped]) -> Ids:
    """The dictionary that was written as these arrays."""
    if kind == RangeIds.kind:
        return RangeIds(*arrays["bounds"].values.tolist())
    if kind == DenseIds.kind:
        present, before = arrays["present"], arrays["before"]
        first, count = arrays["bounds"].values.tolist()
        return DenseIds(first, count, present.values, before.values, arrays["marks"].values, (present.pages, before.pages))
    if kind == SortedIds.kind:
        return SortedIds(*arrays["values"])
    if kind == TextIds.kind:
        offsets, data = arrays["offsets"], arrays["data"]
        return TextIds(offsets.values, data.values, (offsets.pages, data.pages))
    raise ValueError(f"no ids are held as {kind!r}")
