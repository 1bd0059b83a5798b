"""Names: what the records of a level are called, as Arrow arrays: rids at a source, structs of keys elsewhere. Pure."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Names = Any
"""An Arrow array of names; None stands for those of all records of a level."""

NOTHING: Names = pa.array([], pa.int64())
"""No records, at any level."""

Codes = npt.NDArray[np.int64]

_WIDEST = 1 << 62


def array_of(column: pa.ChunkedArray) -> Any:
    """A column as one array, without a copy if it is one already."""
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)


def distinct(names: Names) -> Names:
    """The names without NULL and without repetition, in the order of their first appearance."""
    names = names.combine_chunks() if isinstance(names, pa.ChunkedArray) else names
    names = names.drop_null() if names.null_count else names
    if not pa.types.is_struct(names.type):
        return names.unique()
    if len(names) < 2:
        return names
    _, first = np.unique(codes_of(names)[0], return_index=True)
    return names if len(first) == len(names) else names.take(pa.array(np.sort(first)))


def merged(names: Names, more: Names) -> Names:
    """The names of both, each once."""
    if not len(names) or not len(more):
        return more if len(more) else names
    return distinct(pa.chunked_array([names, more.cast(names.type)]))


def or_none(names: Names) -> Names:
    """The names, and NULL: that of no record."""
    return pa.concat_arrays([names, pa.nulls(1, names.type)])


def without(names: Names, known: Names) -> Names:
    """The names but those that are ``known``."""
    others = np.ones(len(names), dtype=bool)
    others[places(names, known)] = False
    return names.filter(pa.array(others))


def places(names: Names, wanted: Names) -> Codes:
    """Where in ``names`` those stand that are ``wanted``, ascending."""
    if not len(wanted) or not len(names):
        return np.empty(0, dtype=np.int64)
    if not pa.types.is_struct(names.type):
        return np.flatnonzero(pc.is_in(names, value_set=wanted).to_numpy(zero_copy_only=False))
    wanted = wanted.cast(names.type)
    codes, _ = codes_of(pa.concat_arrays([names, wanted]))
    known = np.zeros(int(codes.max()) + 1, dtype=bool)
    known[codes[len(names):]] = True
    known_null = names.is_null().to_numpy(zero_copy_only=False) if names.null_count else None
    found = known[codes[: len(names)]]
    return np.flatnonzero(found if known_null is None else found & ~known_null)


def matched(names: Names, wanted: Names) -> Codes:
    """Where each of ``wanted`` stands in ``names``, which has each once; -1 for one that is not there."""
    if not len(wanted):
        return np.empty(0, dtype=np.int64)
    if not pa.types.is_struct(names.type):
        values = names.to_numpy(zero_copy_only=False)
        order = np.argsort(values, kind="stable")
        asked = wanted.to_numpy(zero_copy_only=False)
        at = np.minimum(np.searchsorted(values, asked, sorter=order), max(len(values) - 1, 0))
        found: Codes = np.where(values[order[at]] == asked, order[at], -1) if len(values) else np.full(len(asked), -1, dtype=np.int64)
        return found
    codes, size = codes_of(pa.concat_arrays([names, wanted.cast(names.type)]))
    place = np.full(size, -1, dtype=np.int64)
    place[codes[: len(names)]] = np.arange(len(names))
    return np.take(place, codes[len(names):])


def codes_of(names: Names) -> tuple[Codes, int]:
    """A number for each name, equal for equal ones and dense from 0; and how many there are. NULL is a name here."""
    codes, size = _column(names)
    return _dense(codes, size)


def _column(names: Names) -> tuple[Codes, int]:
    """Numbers below the second answer, equal for equal values; not all of them need occur."""
    if not pa.types.is_struct(names.type):
        return _values(names)
    codes, size = np.zeros(len(names), dtype=np.int64), 1
    fields = [*names.flatten()]
    if names.null_count:
        fields.append(names.is_null())
    for field in fields:
        more, count = _column(field)
        if size > _WIDEST // max(count, 1):
            codes, size = _dense(codes, size)
        codes, size = codes * count + more, size * count
    return codes, size


def _values(values: Any) -> tuple[Codes, int]:
    try:
        encoded = values.dictionary_encode(null_encoding="encode")
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):  # lists and maps
        first: dict[str, int] = {}
        found = [first.setdefault(repr(value), len(first)) for value in values.to_pylist()]
        return np.array(found, dtype=np.int64), max(len(first), 1)
    return encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64), max(len(encoded.dictionary), 1)


def _dense(codes: Codes, size: int) -> tuple[Codes, int]:
    if size <= 4 * len(codes) + 1024:
        used = np.zeros(size, dtype=bool)
        used[codes] = True
        number = np.cumsum(used) - 1
        return number[codes], int(used.sum())
    values, found = np.unique(codes, return_inverse=True)
    return found.astype(np.int64), len(values)
