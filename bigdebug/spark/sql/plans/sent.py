"""Sent: what guards need of pandas, Arrow and PySpark. Workers get it by value, for the agents import none of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from bigdebug.agents.guards.columns import Making


def series() -> Making:
    """Makes a Series of bytes, as Arrow has them: of objects, PySpark would look at each twice."""
    column = array()

    def made(known: Mapping[int, bytes], rows: int) -> Any:
        import pandas

        return pandas.Series(pandas.arrays.ArrowExtensionArray(column(known, rows)))

    return made


def array() -> Making:
    """Makes an Arrow array of bytes, of what it consists of: Arrow would look at each of ten thousand rows, few of which are known."""

    def made(known: Mapping[int, bytes], rows: int) -> Any:
        import numpy
        import pyarrow

        places = numpy.fromiter(known, numpy.int64, len(known))
        valid = numpy.zeros(rows, numpy.bool_)
        valid[places] = True
        lengths = numpy.zeros(rows + 1, numpy.int32)
        lengths[places + 1] = [len(what) for what in known.values()]
        parts = numpy.packbits(valid, bitorder="little"), lengths.cumsum(dtype=numpy.int32), b"".join(known.values())
        return pyarrow.Array.from_buffers(pyarrow.binary(), rows, [*map(pyarrow.py_buffer, parts)])

    return made


def frame() -> Making:
    """Makes a DataFrame of pandas with one column, of bytes."""
    column = series()

    def made(known: Mapping[int, bytes], rows: int) -> Any:
        import pandas

        return pandas.DataFrame({"told": column(known, rows)})

    return made


def table() -> Making:
    """Makes an Arrow table of one column, of bytes."""
    column = array()

    def made(known: Mapping[int, bytes], rows: int) -> Any:
        import pyarrow

        return pyarrow.table({"told": column(known, rows)})

    return made


def no_frame() -> Callable[[Any], Any]:
    """Makes an empty DataFrame of pandas, of whatever type."""

    def made(returns: Any) -> Any:
        import pandas

        return pandas.DataFrame()

    return made


def no_table() -> Callable[[Any], Any]:
    """Makes an empty Arrow table of a type of Spark's."""

    def made(returns: Any) -> Any:
        from pyspark.sql.pandas.types import to_arrow_schema

        try:
            return to_arrow_schema(returns, timezone="UTC").empty_table()
        except TypeError:  # before PySpark 4.2 zones are not asked for
            return to_arrow_schema(returns).empty_table()

    return made


def taking(guard: Callable[..., Any], groups: int) -> Callable[..., Any]:
    """A function of a key and one group or two: PySpark counts its arguments."""

    def one(key: Any, group: Any) -> Any:
        return guard(key, group)

    def two(key: Any, left: Any, right: Any) -> Any:
        return guard(key, left, right)

    return one if groups == 1 else two
