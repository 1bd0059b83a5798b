"""Channels: a column of marks as a chart draws it: numbers, moments or names, in arrays that travel beside a message."""

from __future__ import annotations

from datetime import date, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from bigdebug.shown import shown
from bigdebug.views.charting import is_number, is_time
from bigdebug.views.payload import text

LABEL = 80
"""Characters of a name at an axis. All of it is among the fields of its mark."""

DAY = 86_400_000

_PLAIN = (int, float, Decimal, date, time, timedelta)


def channel(column: str, values: pa.Array, named: bool = False, kept: bool = False, recomputed: bool = False) -> dict[str, Any]:
    """The values of all marks, by what they are: ``number`` (``values`` are float64), ``time`` (milliseconds since 1970, as a clock where the user is
    shows it) or ``name`` (``values`` are int32, the place of each among ``labels``). NULL is told apart from NaN by ``nulls``.

    ``named`` makes names of numbers and moments, too: each is a place of its own at an axis. Names stand in the order of their values; where
    ``kept``, in that of the marks.
    """
    content: dict[str, Any] = {"column": text(column), "recomputed": recomputed, "nulls": _nulls(values), "labels": None}
    if is_number(values.type) and not named:
        whole = bool(pa.types.is_integer(values.type))
        return content | {"type": "number", "whole": whole, "values": _numbers(values)}
    if is_time(values.type) and not named:
        moments = _moments(values)
        return content | {"type": "time", "whole": not np.any(np.fmod(moments, DAY)[np.isfinite(moments)]), "values": moments}
    codes, labels = _names(values, kept)
    return content | {"type": "name", "whole": True, "values": codes, "labels": labels}


def bits(flags: npt.NDArray[np.bool_]) -> npt.NDArray[np.uint8]:
    """A bit for each mark, the first in the lowest place of the first byte."""
    return np.packbits(flags, bitorder="little")


def unpacked(buffer: Any, marks: int) -> npt.NDArray[np.bool_]:
    """What ``bits`` packed, of so many marks. Raises ValueError for a buffer of another length."""
    packed = np.frombuffer(buffer, dtype=np.uint8)
    if len(packed) != (marks + 7) // 8:
        raise ValueError(f"{len(packed)} bytes do not have a bit for each of {marks} marks")
    return np.unpackbits(packed, count=marks, bitorder="little").astype(bool)


def label(value: Any) -> str:
    """A value as a name at an axis: texts, numbers and moments as they are, without quotes."""
    return text(value if isinstance(value, str) else str(value) if isinstance(value, _PLAIN) else shown(value), LABEL)


def _nulls(values: pa.Array) -> npt.NDArray[np.uint8] | None:
    return bits(values.is_null().to_numpy(zero_copy_only=False)) if values.null_count else None


def _numbers(values: pa.Array) -> npt.NDArray[np.float64]:
    numbers = values.cast(pa.float64(), safe=False)
    return np.asarray(numbers.to_numpy(zero_copy_only=False), dtype=np.float64)


def _moments(values: pa.Array) -> npt.NDArray[np.float64]:
    if pa.types.is_timestamp(values.type) and values.type.tz is not None:
        values = pc.local_timestamp(values)
    micros = values.cast(pa.timestamp("us"), safe=False)
    return _numbers(micros.cast(pa.int64())) / 1000


def _names(values: pa.Array, kept: bool) -> tuple[npt.NDArray[np.int32], list[str]]:
    """The number of each mark's name, -1 for NULL, and the names."""
    try:
        encoded = values.dictionary_encode()
        known = encoded.dictionary
        places = np.asarray(encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False), dtype=np.int32)
    except pa.ArrowNotImplementedError:  # nested values: each is a name of its own
        return np.where(values.is_null().to_numpy(zero_copy_only=False), -1, np.arange(len(values))).astype(np.int32), [label(value) for value in values.to_pylist()]
    order = np.arange(len(known)) if kept else _rising(known)
    rank = np.empty(len(known) + 1, dtype=np.int32)
    rank[order], rank[-1] = np.arange(len(order)), -1
    return rank[places], [label(value) for value in known.take(pa.array(order)).to_pylist()]


def _rising(known: pa.Array) -> npt.NDArray[np.int64]:
    try:
        return np.asarray(pc.array_sort_indices(known).to_numpy())
    except pa.ArrowNotImplementedError:
        return np.arange(len(known))
