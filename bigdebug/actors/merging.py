"""Merging: two frames as one step, whose rows were each made of the one or two that they join."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bigdebug.actors.actor import Home
from bigdebug.actors.associations import Pairs, Unknown, one_to_one
from bigdebug.actors.callers import pandas_by_caller
from bigdebug.actors.columns import Column
from bigdebug.actors.files import runs_of
from bigdebug.actors.frames import all_inputs, given
from bigdebug.actors.items import Items
from bigdebug.actors.places import NOWHERE, Places
from bigdebug.actors.steady import PANDAS, steady
from bigdebug.errors import UntraceableError
from bigdebug.outside import from_outside
from bigdebug.trace.across.located import Extent, Unit, gives_path
from bigdebug.trace.across.paths import short

if TYPE_CHECKING:
    import pandas as pd


def merge(left: pd.DataFrame, right: pd.DataFrame, how: Any = "inner", on: Any = None, *, name: str = "merge", home: Home = None, **options: Any) -> pd.DataFrame:
    """``left.merge(right, ...)`` as a step: a row was made of the one or two that it joins. Raises what pandas does of anything else than frames and series."""
    import pandas as pd

    options.update(how=how, on=on)
    if not (isinstance(left, (pd.DataFrame, pd.Series)) and isinstance(right, (pd.DataFrame, pd.Series))):
        return pandas_by_caller(pd.merge, left, right, **options)
    frames = [frame.to_frame() if frame.ndim == 1 else frame for frame in (left, right)]
    for frame in frames:
        if frame.columns.nlevels > 1 or any(mark in frame.columns for mark in _MARKS):
            raise UntraceableError("Frames with several levels of columns cannot be followed through a merge", remedy="Use pandas' own merge.")
    inputs, why = all_inputs([left, right], lambda items: _handed_on(items, home))
    with steady(name, PANDAS, home) as actor:
        marked = [_marked(frame, mark) for frame, mark in zip(frames, _MARKS)]
        joined = _joined(marked, options)
        if joined is None:
            joined = pandas_by_caller(pd.merge, left, right, **options)  # which raises what pandas does of the frames themselves
            why = (*why, unmarked := f"{name} has no lineage: pandas does not join the frames with the numbers of their rows beside")
            given(actor, joined, inputs, Unknown(unmarked), why)
            return joined
        of_left, of_right = (_numbers(joined.pop(mark).to_numpy()) for mark in _MARKS)
        if not all(map(_called_by_texts, frames)):
            columns = _columns(left, right, options, list(joined.columns))
            if columns is None:
                joined = pandas_by_caller(pd.merge, left, right, **options)
            else:
                joined.columns = columns
        given(actor, joined, inputs, Pairs(of_left, of_right, len(left)), why)
    return joined


def _joined(marked: list[pd.DataFrame], options: dict[str, Any]) -> pd.DataFrame | None:
    """The frames as they are joined; None where that raises, for what it says may count the column of numbers."""
    try:
        joined: pd.DataFrame = pandas_by_caller(marked[0].merge, marked[1], **options)
    except Exception as error:
        if from_outside(error):
            raise
        return None
    return joined


def _handed_on(items: Items, home: Home) -> Items:
    """The rows of a frame as those of a step of its own, which hands on what it was given."""
    with steady(f"read {short(items.places.files[0].path)}", PANDAS, home) as actor:
        actor.commit_as(items, Items(items.count), one_to_one(items.count))
    return Items(items.count, Places.of([Extent(gives_path(actor.id), Unit.ROW, "item")], runs_of([items.count])) if actor.id else NOWHERE)


_MARKS = ("bigdebug: row of the left frame", "bigdebug: row of the right frame")


def _called_by_texts(frame: Any) -> bool:
    """Whether its columns are called by nothing but texts, in an index of objects without a name: that of what pandas joins is then of the same kind, with marks or without."""
    import pandas as pd

    columns = frame.columns
    return type(columns) is pd.Index and columns.dtype == np.dtype(object) and columns.name is None and set(map(type, columns)) == {str}


def _columns(left: Any, right: Any, options: dict[str, Any], labels: list[Any]) -> Any:
    """These labels in an index as pandas gives it, which is of another kind where a mark was among them: as it gives it for no rows.

    None where it gives none for those, as keys of no rows seem to be of types that do not go together, or others, as it adds a key to a result that has rows.
    """
    import pandas as pd

    keys = {name: _none_of(options[name]) for name in ("on", "left_on", "right_on") if options.get(name) is not None}
    try:
        columns = pandas_by_caller(pd.merge, _without_rows(left), _without_rows(right), **{**options, **keys}).columns
        return columns if list(columns) == labels else None
    except Exception as error:  # pandas' own; of the frames themselves it raises what it does
        if from_outside(error):
            raise
        return None


def _without_rows(frame: Any) -> Any:
    """A frame with the same columns and no rows. They are objects: of an object pandas looks which type it is, and finds that nothing is no number."""
    none = frame.iloc[:0].astype(np.dtype(object))
    return none if none.index.nlevels > 1 else none.set_axis(none.index.astype(np.dtype(object)))


def _none_of(keys: Any) -> Any:
    """The names of keys; of keys that are values themselves, a value for each row, none."""
    if isinstance(keys, (list, tuple)):
        return type(keys)(map(_none_of, keys)) if type(keys) in (list, tuple) else keys
    return keys.iloc[:0].astype(np.dtype(object)) if hasattr(keys, "iloc") else keys[:0].astype(np.dtype(object)) if getattr(keys, "ndim", 0) else keys


def _marked(frame: pd.DataFrame, mark: str) -> pd.DataFrame:
    """The frame with the numbers of its rows beside; its columns are not copied. Joined, for pandas warns of one column that is put to many, and who catches that does so for all threads."""
    import pandas as pd

    plain = frame.copy(deep=False)
    plain.columns = plain.columns.astype(np.dtype(object))  # some kinds take no other name
    plain.index = pd.RangeIndex(len(frame))
    numbers = pd.DataFrame({mark: np.arange(len(frame), dtype=np.int32 if len(frame) < 2**31 else np.int64)})
    uncopied: Any = {"copy": False} if pd.__version__ < "3" else {}
    marked = pd.concat([plain, numbers], axis=1, **uncopied).__finalize__(frame)
    marked.index = frame.index
    return marked


def _numbers(places: Any) -> Column:
    """For each row the number of the one that it was made of, from 1: 0 where pandas has none, which is a null."""
    return Column.of(places + 1 if places.dtype.kind == "i" else np.nan_to_num(places + 1).astype(np.int64))
