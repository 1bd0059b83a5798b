"""Rows apart: a few rows of a frame, for a trial. Nothing in them is the user's that may change."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from bigdebug.actors.bare import arrays_of, bare
from bigdebug.actors.cells import fixed as fixed_cells
from bigdebug.actors.codes import Untried
from bigdebug.actors.fixed import all_atoms, fixed
from bigdebug.actors.frames_apart import Copy
from bigdebug.trace.positions import Positions


def few_of(frame: Any, places: Positions) -> Any:
    """Rows of a frame, with what is written on it, which nobody has copied yet."""
    import pandas as pd

    if type(frame) not in (pd.DataFrame, pd.Series):
        return frame.iloc[places]
    rows = bare(frame).iloc[places]
    rows.attrs = frame.attrs
    return rows


def rows_apart(rows: Any, copy: Copy) -> Any:
    """Rows that were taken out of a frame, and in them objects that nobody else holds. Raises Untried where labels, or what their class hands on, may change."""
    if rows.ndim == 1:
        mine = bare(rows_apart(bare(rows).to_frame(), copy)).iloc[:, 0].rename(rows.name)
        mine.attrs = copy(rows.attrs)
        return mine
    attributes = [each for each in type(rows)._metadata if not fixed(getattr(rows, each, None))]
    if attributes:  # of a class of frames, which all its frames share
        raise Untried(f"its frame has an attribute {attributes[0]!r}, which may change")
    arrays = arrays_of(rows)
    for name, labels in _labels(rows, [each.dtype for each in arrays]):
        if not (all_atoms(labels) or all(map(_fixed_label, labels))):
            raise Untried(f"{name} of its frame are objects that may change")
    written, rows.attrs = copy(rows.attrs), {}
    mine = rows.copy(deep=False)  # they are no part of another frame to pandas then
    mine.columns = rows.columns.view()  # what it is called may be changed
    mine.attrs = written
    for i, array in enumerate(arrays):
        if array.dtype == np.dtype(object) and not fixed_cells(array):
            cells = copy(array.tolist())
            apart = np.empty(len(cells), dtype=object)
            apart[:] = cells
            mine.isetitem(i, apart)
    return mine


def _labels(rows: Any, kinds: Iterable[Any]) -> Iterable[tuple[str, list[Any]]]:
    """Labels that are objects. A copy of one could not be found among those of all rows."""
    import pandas as pd

    for name, index in (("labels", rows.index), ("names of columns", rows.columns)):
        for level in range(index.nlevels):
            values = index.get_level_values(level)
            if values.dtype == object:
                yield name, values.tolist()
    for kind in kinds:
        if isinstance(kind, pd.CategoricalDtype) and kind.categories is not None and kind.categories.dtype == object:
            yield "categories", kind.categories.tolist()


def _fixed_label(label: Any) -> bool:
    return all(map(_fixed_label, label)) if type(label) in (tuple, frozenset) else fixed(label)
