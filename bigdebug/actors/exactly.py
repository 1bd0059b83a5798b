"""Exactly: where labels and keys stand in an index, if no two of them are one: pandas compares integers and floats as floats, of which one may stand for many integers."""

from __future__ import annotations

from typing import Any

import numpy as np

from bigdebug.actors.promises import Broken
from bigdebug.trace.positions import Positions


def places(index: Any, asked: Any) -> Positions:
    """The place in an index, which is unique, of each that is asked for; -1: it is not there. Raises Broken where several of the index are one in the type of what is asked, or the other way."""
    import pandas as pd

    if isinstance(index, pd.MultiIndex):
        if not isinstance(asked, pd.MultiIndex) and len(asked) and isinstance(asked[0], tuple):
            asked = pd.MultiIndex.from_tuples(asked)
        if asked.nlevels == index.nlevels:
            for mine, other in zip(index.levels, asked.levels):
                _check(mine, other)
    elif not isinstance(asked, pd.MultiIndex):
        _check(index, asked)
    return np.asarray(index.get_indexer(asked), dtype=np.int64)


def _check(index: Any, asked: Any) -> None:
    """Raise Broken if values are one in the type of others."""
    bits = _bits(asked.dtype)
    if _whole(index.dtype) and bits:
        several = _large(index, bits) and not index.astype(_plain(asked.dtype)).is_unique
    elif _whole(asked.dtype) and _bits(index.dtype):
        several = _large(asked, _bits(index.dtype))
    else:
        several = 0 < bits < _bits(index.dtype) and not index.astype(_plain(asked.dtype)).is_unique
    if several:
        raise Broken(f"its result has keys or labels as {asked.dtype}, in which several {index.dtype} are one; keep their type")


def _whole(kind: Any) -> bool:
    import pandas as pd

    return bool(pd.api.types.is_integer_dtype(kind))


def _bits(kind: Any) -> int:
    """The bits of a type of floats which count: integers of no more are each another float. 0 if it has none."""
    import pandas as pd

    return int(np.finfo(_plain(kind)).nmant) + 1 if pd.api.types.is_float_dtype(kind) else 0


def _plain(kind: Any) -> np.dtype[Any]:
    """numpy's type of floats for one of pandas' or Arrow's."""
    return kind if isinstance(kind, np.dtype) else np.dtype(getattr(kind, "numpy_dtype", np.float64))


def _large(integers: Any, bits: int) -> bool:
    """Whether there is an integer of more bits."""
    there = integers[~integers.isna()] if not isinstance(integers.dtype, np.dtype) else integers
    return bool(len(there)) and max(-int(there.min()), int(there.max())) > 2**bits
