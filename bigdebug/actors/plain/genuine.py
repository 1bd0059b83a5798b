"""Genuine: whether what stand-ins stand for is what pandas and numpy made, and nothing that somebody has put in its place."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import lru_cache
from types import CodeType
from typing import Any

import numpy as np

from bigdebug.actors.plain.accessors import TEXT_METHODS, TIME_METHODS, TIME_PARTS
from bigdebug.actors.plain.column import ColumnStandIn
from bigdebug.actors.plain.frame import FrameStandIn
from bigdebug.actors.plain.grouped import FUNCTIONS, GroupsStandIn
from bigdebug.actors.plain.modules import NUMPY, PANDAS

_OPERATORS = tuple(f"__{name}__" for name in (
    "add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "floordiv", "mod", "pow", "eq", "ne", "lt", "le", "gt", "ge", "and", "rand", "or", "ror", "xor", "rxor", "invert", "neg", "pos",
    "abs", "round", "array_ufunc", "getattr",
))

Place = tuple[Any, str]

_TAKEN = object()


def genuine() -> bool:
    """Whether it is, of all of them: as it was when this was first asked, and made by pandas or numpy then; and no option makes another thing of nulls, or of texts. Takes 30 us."""
    import pandas as pd

    return not pd.isna(np.inf) and not pd.get_option("future.infer_string") and all(getattr(owner, name, None) is there for (owner, name), there in _as_it_was())


def types_are_numpys(rows: int) -> bool:
    """Whether types of what is computed of so many rows are those of numpy: pandas has numexpr compute much at once, with others."""
    from pandas.core.computation import expressions

    return rows < _FEWER or getattr(expressions, "USE_NUMEXPR", True) is False


_FEWER = 100_000
"""Rows of which pandas lets numpy compute."""


@lru_cache(maxsize=1)
def _as_it_was() -> list[tuple[Place, Any]]:
    """What there is at each place; at one that somebody has taken, what nothing is."""
    found = [((owner, name), getattr(owner, name, None)) for owner, name in _places()]
    return [(place, there if there is None or _is_of(there) else _TAKEN) for place, there in found]


def _places() -> Iterator[Place]:
    import pandas as pd
    from pandas.core.groupby import DataFrameGroupBy, SeriesGroupBy
    from pandas.core.indexing import _LocIndexer

    for owner, stands in ((pd.DataFrame, FrameStandIn), (pd.Series, ColumnStandIn)):
        for name in (*(name for name in vars(stands) if not name.startswith("_")), *_OPERATORS, "__getitem__", "__setitem__", "__getattr__"):
            yield owner, name
    yield _LocIndexer, "__getitem__"
    for owner in (DataFrameGroupBy, SeriesGroupBy):
        for name in (*FUNCTIONS, *(vars(GroupsStandIn).keys() & {"agg", "aggregate", "transform"}), "__getitem__", "__getattr__"):
            yield owner, name
    for owner, names in ((pd.Series.str, TEXT_METHODS), (pd.Series.str, ("__getitem__",)), (pd.Series.dt, TIME_PARTS | TIME_METHODS), (np, NUMPY.keys() - {"nan"}), (pd, PANDAS)):
        for name in names:
            yield owner, name


def _is_of(there: Any) -> bool:
    """Whether pandas or numpy made something: a function by the file of its code, else by the kind that it is."""
    import pandas as pd

    code = getattr(there, "__code__", None)
    if isinstance(code, CodeType):
        return code.co_filename.startswith(tuple(os.path.join(*package.__path__, "") for package in (pd, np)))
    if isinstance(there, property):
        return there.fget is not None and _is_of(there.fget)
    if isinstance(there, np.ufunc):
        return "(vectorized)" not in there.__name__  # of a function of somebody's
    if isinstance(there, type):
        return there.__module__.startswith("pandas.")
    return type(there).__name__ in ("wrapper_descriptor", "method_descriptor", "builtin_function_or_method", "cython_function_or_method", "getset_descriptor", "_ArrayFunctionDispatcher")
