"""Selected rids: those of one source that a condition lets through, by record and by the value of a column (Smoke 4.2).

Data skipping: a question about one value reads the rids of that value alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from bigdebug.trace.names import NOTHING, Names, codes_of, places


class Selected:
    """A rid array for each record and value. Building sorts the witnesses; a question takes time as its answer does."""

    def __init__(self, keys: Names, rids: Names, values: Names | None) -> None:
        """By witness: the record that it made, the rid, and its value if there are values."""
        self._codes, count = codes_of(keys)
        kinds, width = (np.zeros(len(keys), np.int64), 1) if values is None else codes_of(values)
        numbers = rids.to_numpy(zero_copy_only=False).astype(np.int64)
        order = np.lexsort((numbers, kinds, self._codes))
        cells = self._codes[order] * width + kinds[order]
        fresh = np.ones(len(order), dtype=bool)
        fresh[1:] = (cells[1:] != cells[:-1]) | (numbers[order][1:] != numbers[order][:-1])
        order, cells = order[fresh], cells[fresh]
        self._rids = numbers[order]
        self._width = width
        # The cells that there are, of each record one for each of its values.
        self._cells, starts = np.unique(cells, return_index=True)
        self._starts = np.append(starts, len(cells))
        self.records: Names = keys.take(pa.array(_first(self._codes, count)))
        self._values = None if values is None else values.take(pa.array(_first(kinds, width)))
        del self._codes

    @property
    def nbytes(self) -> int:
        known = 0 if self._values is None else self._values.nbytes
        return int(self._rids.nbytes + self._cells.nbytes + self._starts.nbytes + self.records.nbytes + known)

    def __len__(self) -> int:
        """How many rids, over all records."""
        return len(self._rids)

    def back(self, names: Names, value: Any = None) -> Names:
        """The rids that records were made of, all if None; of one value, if that is given as an array of it."""
        kinds = np.arange(self._width) if value is None else places(self._values, value)
        at = np.arange(len(self.records)) if names is None else places(self.records, names)
        wanted = (at[:, None] * self._width + kinds[None, :]).ravel() if len(at) * len(kinds) <= len(self._cells) else None
        if wanted is None:
            cells = np.flatnonzero(np.isin(self._cells // self._width, at) & np.isin(self._cells % self._width, kinds))
        else:
            cells = np.searchsorted(self._cells, wanted)
            known = cells < len(self._cells)
            cells = cells[known][self._cells[cells[known]] == wanted[known]]
        if not len(cells):
            return NOTHING
        found = np.concatenate([self._rids[self._starts[cell]: self._starts[cell + 1]] for cell in cells.tolist()])
        return pa.array(np.unique(found) if len(cells) > 1 else found)


def _first(codes: Any, count: int) -> Any:
    """For each code the first place where it stands."""
    first = np.zeros(count, dtype=np.int64)
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    return first
