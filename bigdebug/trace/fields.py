"""Fields: the columns of rows as a program saw them, by Spark's types; of Arrow's values they make those that PySpark gives, without PySpark.

Arrow has maps as pairs, structs as dictionaries, and moments with a zone; a program sees dictionaries, Rows, and what its own clock said.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import pyarrow as pa

from bigdebug.errors import IncompleteLineageError
from bigdebug.shown import masked
from bigdebug.trace.clock import moment, zone_called
from bigdebug.trace.culprit import Described
from bigdebug.trace.rows import SavedRow

Kind = Any
"""A type as Spark writes it in JSON: a name, or a dictionary of what it is made of."""


@dataclass(frozen=True)
class Fields:
    """The names and types of columns; a column without a type has its values as Arrow has them. ``zone`` is that of the program's clock."""

    names: tuple[str, ...]
    kinds: tuple[Kind | None, ...]
    zone: str = ""

    def masked(self) -> Fields:
        """With *** for what is secret in the names: Spark calls a column after the literal that it is made of."""
        return replace(self, names=tuple(map(masked, self.names)))

    def dump(self) -> dict[str, Any]:
        return {"names": list(self.names), "kinds": list(self.kinds), "zone": self.zone}

    @classmethod
    def load(cls, data: Mapping[str, Any]) -> Fields:
        """Raises ValueError, LookupError or TypeError for what is no dump."""
        names, kinds = data["names"], data["kinds"]
        if not isinstance(names, list) or not isinstance(kinds, list) or not all(isinstance(name, str) for name in names):
            raise ValueError("columns have names and types")
        if len(names) != len(kinds):
            raise ValueError("columns are as many as their types")
        for kind in kinds:
            _check(kind)
        return cls(tuple(names), tuple(kinds), str(data["zone"]))

    def rows(self, columns: Sequence[pa.Array], count: int) -> list[SavedRow]:
        """``count`` rows of columns that fit these types. Raises IncompleteLineageError for a column of which there are only texts, for its values are Spark's own."""
        for name, column, kind in zip(self.names, columns, self.kinds, strict=True):
            if stands_for(column.type, kind):
                raise IncompleteLineageError(f"Column {name!r} was saved as text: values of type {kind} are Spark's own", remedy="Ask the live session, for rids(), or save a query that casts it.")
        values = [self._values(column, kind) for column, kind in zip(columns, self.kinds, strict=True)]
        return [SavedRow.of(self.names, row) for row in (zip(*values) if values else [()] * count)]

    def _values(self, column: pa.Array, kind: Kind | None) -> list[Any]:
        """Values as Python has them; the texts of Arrow's where it has not all of them (years after 9999, say)."""
        try:
            return list(column.to_pylist()) if kind is None else _listed(column, kind, self.zone)
        except (OverflowError, ArithmeticError, ValueError):
            return [None if not value.is_valid else Described(_text(value)) for value in column]


def _check(kind: Kind | None) -> None:
    """Raises ValueError for what is no type as Spark writes it: what is asked of a type later takes it for one."""
    if isinstance(kind, dict) and isinstance(kind.get("type"), str):
        if kind["type"] == "struct" and not all(isinstance(field["name"], str) for field in kind["fields"]):
            raise ValueError("the fields of a row have names")
        for part in _parts(kind):
            _check(part)
    elif kind is not None and not isinstance(kind, str):
        raise ValueError(f"{str(kind)[:100]!r} is no type")


def _parts(kind: Kind) -> list[Kind]:
    """The types that a type is made of."""
    if kind["type"] == "struct":
        return [field["type"] for field in kind["fields"]]
    return [kind[part] for part in _MADE_OF.get(kind["type"], ())]


_MADE_OF = {"array": ("elementType",), "map": ("keyType", "valueType"), "udt": ("sqlType",)}


def _text(value: pa.Scalar) -> str:
    try:
        return str(value.cast(pa.large_string()).as_py())
    except (pa.ArrowException, OverflowError, ArithmeticError, ValueError):
        return f"a {value.type} with values that Python does not have"


# ---- which columns are of which types -----------------------------------------------------------------------------


def fits(held: pa.DataType, kind: Kind, naive: bool = False) -> bool:
    """Whether values of a type of Arrow's are told as those of a type of Spark's. ``naive`` says that moments have no zone, and are in UTC."""
    if isinstance(kind, dict):
        return kind["type"] in _NESTED and _NESTED[kind["type"]](held, kind, naive)
    if not isinstance(kind, str):
        return False
    if pa.types.is_decimal(held):
        return kind == f"decimal({held.precision},{held.scale})"
    if kind.startswith("interval "):
        return kind.split(" ")[1] in ("day", "hour", "minute", "second") and held in (pa.duration("us"), pa.int64())
    if kind == "timestamp":
        return pa.types.is_timestamp(held) and held.unit != "ns" and (held.tz is None) == naive
    return kind in _PLAIN and _PLAIN[kind](held)


def _whole(bits: int) -> Callable[[pa.DataType], bool]:
    return lambda held: pa.types.is_integer(held) and (pa.types.is_signed_integer(held) or held.bit_width < bits) and held.bit_width <= bits


_PLAIN: dict[str, Callable[[pa.DataType], bool]] = {
    "byte": _whole(8), "short": _whole(16), "integer": _whole(32), "long": _whole(64),
    "float": pa.types.is_float32, "double": lambda held: pa.types.is_float64(held) or pa.types.is_float32(held),
    "boolean": pa.types.is_boolean, "date": pa.types.is_date32, "void": pa.types.is_null,
    "string": lambda held: pa.types.is_string(held) or pa.types.is_large_string(held),
    "binary": lambda held: pa.types.is_binary(held) or pa.types.is_large_binary(held) or pa.types.is_fixed_size_binary(held),
    "timestamp_ntz": lambda held: pa.types.is_timestamp(held) and held.unit != "ns" and held.tz is None,
}


def _is_struct(held: pa.DataType, kind: Kind, naive: bool) -> bool:
    return pa.types.is_struct(held) and all(
        (at := held.get_field_index(field["name"])) >= 0 and fits(held.field(at).type, field["type"], naive) for field in kind["fields"]
    )


_NESTED: dict[Any, Callable[[pa.DataType, Kind, bool], bool]] = {
    "struct": _is_struct,
    "array": lambda held, kind, naive: (pa.types.is_list(held) or pa.types.is_large_list(held)) and fits(held.value_type, kind["elementType"], naive),
    "map": lambda held, kind, naive: pa.types.is_map(held) and fits(held.key_type, kind["keyType"], naive) and fits(held.item_type, kind["valueType"], naive),
}


def holds(kind: Kind, wanted: Collection[str]) -> bool:
    """Whether values are of one of some types, or hold such."""
    return any(holds(part, wanted) for part in _parts(kind)) if isinstance(kind, dict) else kind in wanted


_SPARKS = ("variant", "geometry", "geography")
"""Types of values that are neither Python's nor Arrow's: of Arrow's there are the bytes that they are made of."""


def is_sparks(kind: Kind) -> bool:
    """Whether values are of a class that nobody has without PySpark, or hold such: Spark's own, or one of a user's."""
    if isinstance(kind, dict):
        return kind["type"] == "udt" or any(map(is_sparks, _parts(kind)))
    return isinstance(kind, str) and kind.partition("(")[0] in _SPARKS


def stands_for(held: pa.DataType, kind: Kind) -> bool:
    """Whether values of a type of Arrow's are texts that stand for others."""
    return kind is not None and pa.types.is_large_string(held) and not fits(held, kind)


# ---- values ---------------------------------------------------------------------------------------------------------


def _listed(column: pa.Array, kind: Kind, zone: str) -> list[Any]:
    """Values of a column that fits a type."""
    if isinstance(kind, dict):
        return _MADE[kind["type"]](column, kind, zone)
    if kind == "timestamp":
        clock = zone_called(zone)
        return [None if at is None else moment(at, clock) for at in column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64()).to_pylist()]
    if kind == "timestamp_ntz":
        return list(column.cast(pa.timestamp("us")).to_pylist())
    if kind.startswith("interval ") and pa.types.is_integer(column.type):
        return [None if length is None else timedelta(microseconds=length) for length in column.to_pylist()]
    return list(column.to_pylist())


def _rows_of(column: pa.Array, kind: Kind, zone: str) -> list[Any]:
    names = tuple(field["name"] for field in kind["fields"])
    fields = column.flatten()
    parts = [_listed(fields[column.type.get_field_index(field["name"])], field["type"], zone) for field in kind["fields"]]
    there = column.is_valid().to_pylist()
    return [SavedRow.of(names, row) if is_one else None for is_one, row in zip(there, zip(*parts) if parts else [()] * len(column))]


def _lists_of(column: pa.Array, kind: Kind, zone: str) -> list[Any]:
    return _cut(column, _listed(column.values, kind["elementType"], zone), list)


def _maps_of(column: pa.Array, kind: Kind, zone: str) -> list[Any]:
    return _cut(column, list(zip(_listed(column.keys, kind["keyType"], zone), _listed(column.items, kind["valueType"], zone))), dict)


def _cut(column: pa.Array, values: list[Any], make: Callable[[list[Any]], Any]) -> list[Any]:
    ends = column.offsets.to_pylist()
    return [make(values[start:end]) if is_one else None for is_one, start, end in zip(column.is_valid().to_pylist(), ends, ends[1:])]


_MADE: dict[str, Callable[[pa.Array, Kind, str], list[Any]]] = {"struct": _rows_of, "array": _lists_of, "map": _maps_of}
