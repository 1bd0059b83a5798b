"""Which code an id has, and which id a code: items and operations are numbered 0, 1, ... in the order of their ids.

The ids are arrays, in memory or on disk: of integers (``integers``) or of texts (``texts``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bigdebug.provgraph.integers import ABSENT, DenseIds, RangeIds, SortedIds, integer_ids, integers, is_integer
from bigdebug.provgraph.numbering import numbered
from bigdebug.provgraph.texts import TextIds, texts
from bigdebug.store.arrays import Array

__all__ = ["ABSENT", "Ids", "column_of", "ids_of", "integers", "restored", "texts"]


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


def ids_of(values: Any) -> tuple[Ids, NDArray[np.int64]]:
    """A dictionary of these ids, all integers or all texts, in memory; and the code of each. For what fits there several times.

    Arrays of numpy and Arrow are taken as they are. Raises TypeError for an id of another type.
    """
    unique, codes = numbered(column_of(values))
    return (integer_ids(unique) if isinstance(unique, np.ndarray) else TextIds.of(unique)), codes.astype(np.int64)


def column_of(values: Any) -> Any:
    """Ids as int64 of numpy or large_string of Arrow. Raises TypeError for one that is of another type than the first."""
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if isinstance(values, pa.Array):
        kind = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
        whole = pa.types.is_integer(kind) or pa.types.is_null(kind)
        return values.cast(pa.int64()).to_numpy(zero_copy_only=False) if whole else values.cast(pa.large_string())
    held = values if isinstance(values, np.ndarray) else list(values)
    whole = held.dtype.kind == "i" if isinstance(held, np.ndarray) else all(is_integer(value) for value in held)
    return integers(held) if whole else pa.array(texts(held), pa.large_string())


def restored(kind: str, arrays: Mapping[str, Array]) -> Ids:
    """The dictionary that was written as these arrays."""
    if kind == RangeIds.kind:
        return RangeIds(*arrays["bounds"].whole().tolist())
    if kind == DenseIds.kind:
        first, count = arrays["bounds"].whole().tolist()
        return DenseIds(first, count, arrays["present"], arrays["before"], arrays["marks"])
    if kind == SortedIds.kind:
        return SortedIds(arrays["values"])
    if kind == TextIds.kind:
        return TextIds(arrays["offsets"], arrays["data"])
    raise ValueError(f"no ids are held as {kind!r}")
