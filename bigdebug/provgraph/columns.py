"""Columns of Arrow as ids, operations and names: which of them there are, of what kind, and their values as integers or texts."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from bigdebug.errors import ProvenanceError

Kind = Literal["int", "text"]
Values = Any
"""Ids or operations of some rows without nulls: an int64 array of numpy, or a large_string array of Arrow."""


def require(there: Sequence[str], name: str) -> None:
    """Raises ProvenanceError unless exactly one column has this name."""
    if there.count(name) != 1:
        near = get_close_matches(name, there) or there[:5]
        raise ProvenanceError(
            f"There {'is no column' if name not in there else 'are several columns'} {name!r}",
            remedy=f"There are {', '.join(map(repr, near))}; say which by columns=(src, dst, op).",
        )


def kind_of(type_: pa.DataType, name: str | None) -> Kind | None:
    """What values of a type are; None: there are only nulls."""
    if pa.types.is_dictionary(type_):
        return kind_of(type_.value_type, name)
    if pa.types.is_integer(type_):
        return "int"
    if pa.types.is_string(type_) or pa.types.is_large_string(type_) or pa.types.is_string_view(type_):
        return "text"
    if pa.types.is_null(type_):
        return None
    raise ProvenanceError(
        f"Column {name!r} has the type {type_}; ids and operations are integers or texts",
        remedy="Cast it: integers that pandas keeps as floats for the sake of nulls by astype('Int64'), records by to_json.",
    )


def typed(column: pa.Array, kind: Kind, name: str, *, parse: bool = False) -> tuple[pa.Array, NDArray[np.bool_]]:
    """The column as int64 or large_string, and where its values are none, which are null then.

    Texts are integers only if ``parse`` says so: of a file that knows nothing else. Texts in other bytes than UTF-8's are none. Raises
    ProvenanceError for values of another kind.
    """
    good = np.zeros(len(column), bool)
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    has = kind_of(column.type, name)
    if has == "int" and kind == "int":
        try:
            return column.cast(pa.int64()), good
        except pa.ArrowInvalid as problem:
            raise ProvenanceError(f"Column {name!r} has integers of more than 63 bits: {problem}", remedy="Cast it to strings.") from problem
    if has == "text" and kind == "int" and parse:
        return parsed(column)
    if has not in (None, kind):
        first, then = ("texts", "integers") if kind == "text" else ("integers", "texts")
        raise ProvenanceError(f"Column {name!r} has {first} first and then {then}", remedy="Make it all texts or all integers, by a cast.")
    return readable(column.cast(pa.large_string())) if kind == "text" else (column.cast(pa.int64()), good)


def readable(texts: pa.Array) -> tuple[pa.Array, NDArray[np.bool_]]:
    """Texts that are UTF-8, null elsewhere; and where they are not: Spark and Parquet take texts of any bytes, Python does not."""
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:
        bad = np.array([value is not None and not _decodes(value) for value in texts.cast(pa.large_binary()).to_pylist()], bool)
        return pc.if_else(pa.array(bad), None, texts), bad
    return texts, np.zeros(len(texts), bool)


def texts_of(names: pa.Array) -> list[str | None]:
    """Names as Python has them. Raises ProvenanceError for one that is not UTF-8."""
    found, bad = readable(names)
    if bad.any():
        raise ProvenanceError("The name of a table is not UTF-8", value=spelled(names[int(np.flatnonzero(bad)[0])]), remedy="Mend the names of tables.")
    told: list[str | None] = found.to_pylist()
    return told


def spelled(value: pa.Scalar) -> Any:
    """A value of a column; bytes that are not UTF-8 as escapes."""
    try:
        return value.as_py()
    except UnicodeDecodeError:
        data: bytes = value.cast(pa.large_binary()).as_py()
        return data.decode("utf-8", "backslashreplace")


def _decodes(value: bytes) -> bool:
    try:
        value.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def parsed(texts: pa.Array) -> tuple[pa.Array, NDArray[np.bool_]]:
    """Texts as the integers that they write in the one plain way, null elsewhere; and where they do not."""
    try:
        found = texts.cast(pa.int64())
    except pa.ArrowInvalid:
        plain = pc.match_substring_regex(texts, r"^(0|-?[1-9][0-9]{0,18})$")
        written = pc.if_else(plain, texts, None).to_pylist()
        found = pa.array([None if text is None or not -(2**63) <= int(text) < 2**63 else int(text) for text in written], pa.int64())
    bad = pc.and_(texts.is_valid(), pc.fill_null(pc.not_equal(found.cast(texts.type), texts), True))
    where = mask(bad)
    return (pc.if_else(bad, None, found) if where.any() else found), where


def values_of(column: pa.Array, kind: Kind) -> Values:
    return column.to_numpy(zero_copy_only=False).astype(np.int64, copy=False) if kind == "int" else column


def mask(column: pa.Array) -> NDArray[np.bool_]:
    """A column of truths without nulls, as numpy has them."""
    where: NDArray[np.bool_] = column.to_numpy(zero_copy_only=False).copy()
    return where
