"""Composed lineage: which records of an input each row of a result has in its lineage, for all rows at once, level by level."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bigdebug.errors import ViewError
from bigdebug.model import Rids
from bigdebug.spark.sql.steps import Steps
from bigdebug.store.ranges import spread
from bigdebug.trace.names import Names, array_of, codes_of

Numbers = npt.NDArray[np.int64]


def composed(steps: Steps, marks: Names, sources: frozenset[int]) -> tuple[Numbers, Rids]:
    """Pairs of a mark and a record of ``sources``, each once; ``marks`` are the names of the result's rows.

    A job for each level on the way, and as much memory as its witnesses take. Raises ViewError for windows, and limits that skip rows.
    """
    ways = steps.towards(sources)
    for level in ways:
        if steps.peers(level) is not None:
            raise ViewError(
                f"{steps.operator(level)} makes its rows of others beside them, and linked views do not follow that",
                remedy="Brush results without it, or put localCheckpoint() behind it and brush what is made of that.",
            )
    root = steps.root.id
    if root in sources:
        return np.arange(len(marks)), marks.to_numpy(zero_copy_only=False)
    found, below = _matched(marks, _Below(steps, ways, sources).of(root))
    return _each_once(found, below)


class _Below:
    """The records of the sources below each level."""

    def __init__(self, steps: Steps, ways: frozenset[int], sources: frozenset[int]) -> None:
        self._steps, self._ways, self._sources = steps, ways, sources
        self._known: dict[int, tuple[Names, Rids]] = {}

    def of(self, level: int) -> tuple[Names, Rids]:
        """Names of records of a level, and beside each a record of a source that it was made of."""
        if level not in self._known:
            self._known[level] = self._found(level)
        return self._known[level]

    def _found(self, level: int) -> tuple[Names, Rids]:
        known = self._steps.association(level)
        below = [name for name in known.names if name.level in self._ways]
        columns = {f"n{name.level}": name.column for name in below} | {f"k{i}": part for i, part in enumerate(known.told)}
        table = self._steps.catalyst.table(known.plan, columns).combine_chunks()
        fields = [array_of(table[f"k{i}"]) for i in range(len(known.told))]
        keys = pa.StructArray.from_arrays(fields, [f"_{i}" for i in range(len(fields))])
        parts = [self._through(keys, array_of(table[f"n{name.level}"]), name.level) for name in below]
        return pa.concat_arrays([part for part, _ in parts]), np.concatenate([rids for _, rids in parts])

    def _through(self, keys: Names, names: Names, level: int) -> tuple[Names, Rids]:
        """The records of the sources by way of those that witnesses name at a level below."""
        if names.null_count:
            there = names.is_valid()
            keys, names = keys.filter(there), names.filter(there)
        if level in self._sources:
            return keys, names.to_numpy(zero_copy_only=False)
        witnesses, rids = _matched(names, self.of(level))
        return keys.take(pa.array(witnesses)), rids


def _matched(names: Names, below: tuple[Names, Rids]) -> tuple[Numbers, Rids]:
    """For each name, given by its number, the records beside the same name; as far as that is told, where several were made together."""
    keys, rids = below
    fields = names.flatten()[: keys.type.num_fields]
    told = pa.StructArray.from_arrays(fields, [field.name for field in keys.type]).cast(keys.type)
    codes, size = codes_of(pa.concat_arrays([told, keys]))
    wanted, known = codes[: len(names)], codes[len(names):]
    counts = np.bincount(known, minlength=size)
    starts, times = (np.cumsum(counts) - counts)[wanted], counts[wanted]
    return np.repeat(np.arange(len(names)), times), rids[np.argsort(known, kind="stable")[spread(starts, times)]]


def _each_once(marks: Numbers, rids: Rids) -> tuple[Numbers, Rids]:
    order = np.lexsort((rids, marks))
    marks, rids = marks[order], rids[order]
    first = np.ones(len(marks), dtype=bool)
    first[1:] = (marks[1:] != marks[:-1]) | (rids[1:] != rids[:-1])
    return marks[first], rids[first]
