"""Functions over whole groups (applyInPandas and its kin) that give the name of the group with each row they return.

The user's function stays as it was pickled; each worker unpickles it, as it would have done. Its accumulators are left alone.
"""

from __future__ import annotations

import inspect
import pickle
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any


def named_groups(command: bytes, names: Sequence[str], arrow: bool, sides: int, batches: bool) -> Callable[..., Any]:
    """What to run in the place of the pickled function.

    Its data has the columns ``names`` at its end, which hold the name of the group; what it returns has them too. ``sides`` is
    2 for functions over two groups of a key, ``batches`` says that data comes and goes in several pieces.
    """
    known: list[Any] = []

    def function() -> Any:
        if not known:
            known.append(_unpickled(command))
        return known[0]

    def call(key: Any, *data: Any) -> Any:
        given = function()
        try:
            if batches:
                return _batches(given, key, data[0], names, arrow)
            parts = [_without(piece, names, arrow) for piece in data]
            name = next(name for _, name in parts if name is not None)
            pieces = [piece for piece, _ in parts]
            result = given(*pieces) if _arguments(given) == len(pieces) else given(key, *pieces)
            return _with(result, names, name, arrow)
        finally:
            _forget_accumulators()

    # PySpark counts the arguments of a function, to know whether to give it the key.
    def one(key: Any, data: Any) -> Any:
        return call(key, data)

    def two(key: Any, left: Any, right: Any) -> Any:
        return call(key, left, right)

    return two if sides == 2 else one


def _unpickled(command: bytes) -> Any:
    found = pickle.loads(command)
    if not isinstance(found, tuple):  # PySpark broadcasts what is large
        found = pickle.loads(found.value)
    return found[0]


def _arguments(function: Any) -> int:
    return len(inspect.getfullargspec(function).args)


def _batches(function: Any, key: Any, data: Iterator[Any], names: Sequence[str], arrow: bool) -> Iterator[Any]:
    seen: list[Any] = []

    def pieces() -> Iterator[Any]:
        for batch in data:
            piece, name = _without(batch, names, arrow)
            seen[:] = [name]
            yield piece

    results = function(pieces()) if _arguments(function) == 1 else function(key, pieces())
    for result in results:
        yield _with(result, names, seen[0], arrow)


def _without(data: Any, names: Sequence[str], arrow: bool) -> tuple[Any, Any]:
    """The data without the columns of names, and the name; None if there are no rows."""
    rows = data.num_rows if arrow else len(data)
    if arrow:
        name = [data.column(data.num_columns - len(names) + i)[0] for i in range(len(names))] if rows else None
        return data.select(list(range(data.num_columns - len(names)))), name
    name = [data.iloc[0, i - len(names)] for i in range(len(names))] if rows else None
    return data.iloc[:, : data.shape[1] - len(names)], name


def _with(result: Any, names: Sequence[str], name: Sequence[Any], arrow: bool) -> Any:
    if arrow:
        import pyarrow as pa

        make = pa.repeat
        for label, value in zip(names, name):
            result = result.append_column(pa.field(label, pa.int64()), make(value, result.num_rows))
        return result
    labelled = not len(result.columns) or any(isinstance(label, str) for label in result.columns)
    at = result.shape[1]
    return result.assign(**dict(zip(names, name))) if labelled else _by_position(result, name, at)


def _by_position(result: Any, name: Sequence[Any], at: int) -> Any:
    result = result.copy(deep=False)
    for i, value in enumerate(name):
        result[at + i] = value
    return result


def _forget_accumulators() -> None:
    """What a question computes again must not be added up again."""
    accumulators = sys.modules.get("pyspark.accumulators")
    if accumulators is not None:
        accumulators._accumulatorRegistry.clear()
