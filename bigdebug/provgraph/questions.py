"""Questions about a provenance graph, answered from its index: where items come from, what was made of them, what they have in common.

Each takes time by the triples of its answer, however large the graph. Several items at once are one question.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from bigdebug.errors import ProvenanceError
from bigdebug.provgraph.answer import Answer, distinct_ids, named_few
from bigdebug.provgraph.codes import Codes, distinct, within
from bigdebug.provgraph.index import Index
from bigdebug.provgraph.walking import Triples, Walked, adjacency, walk
from bigdebug.provgraph.workflow import Workflow
from bigdebug.shown import counted


def ancestors(index: Index, items: Any, depth: int | None = None, limit: int | None = None) -> Answer:
    """All items that these were derived from, directly or through others: of each up to ``depth`` triples, the nearest ``limit`` in all.

    An item that is asked about is among them only where another was derived from it. Raises UnknownItemError for ids that are not there,
    TooLargeError for an answer of tens of millions of triples.
    """
    return _answered(index, "ancestors", items, depth, limit)


def descendants(index: Index, items: Any, depth: int | None = None, limit: int | None = None) -> Answer:
    """All items that were derived from these, directly or through others; as ``ancestors`` otherwise."""
    return _answered(index, "descendants", items, depth, limit)


def feeds(index: Index, source: Any, besides: Any, depth: int | None = None) -> Answer:
    """What else was derived from ``source``: its descendants without the items ``besides`` and what these were derived from.

    The triples are those that lead to what is left.
    """
    found = descendants(index, source, depth)
    known = ancestors(index, besides)
    left = ~within(found.walked.items, distinct(np.concatenate([known.walked.items, known.asked_codes])))
    items = found.walked.items[left]
    triples = found.walked.triples
    kept = within(triples.dst, np.sort(items))
    walked = Walked(items, found.walked.depths[left], Triples(*(column[kept] for column in triples)), found.stopped)
    return Answer(index, "descendants", found.asked_codes, walked, besides_codes=known.asked_codes)


def common(index: Index, items: Any) -> Common:
    """The items that all of these were derived from, and which of them are the lowest: no other common ancestor was derived from them.

    An item is no ancestor of its own. Raises ProvenanceError for fewer than two items.
    """
    asked = codes_of(index, items)
    if len(asked) < 2:
        raise ProvenanceError("Common ancestors are those of two items or more", value=len(asked), remedy="Give several: common([17, 23]).")
    shared: Codes | None = None
    deepest = np.zeros(0, np.int64)
    for code in asked:
        found = walk(index.backward, code[None], backward=True)
        order = np.argsort(found.items)
        reached, depths = found.items[order], found.depths[order]
        if shared is None:
            shared, deepest = reached, depths
            continue
        both = within(shared, reached)
        shared = shared[both]
        deepest = np.maximum(deepest[both], depths[np.searchsorted(reached, shared)])
        if not len(shared):
            break
    assert shared is not None
    # What common ancestors were derived from is common as well, and not the lowest.
    above = distinct(index.backward.of(shared).neighbours)
    order = np.lexsort((shared, deepest))
    return Common(index, asked, shared[order], deepest[order], ~within(shared, above)[order])


@dataclass(frozen=True, eq=False)
class Common:
    """Common ancestors of several items, nearest first; ``lowest`` are those of which no other common ancestor was made. Iterating gives ids."""

    index: Index
    asked_codes: Codes
    codes: Codes
    depths: Codes
    """How many triples it is, at the fewest, to the farthest of the items asked about."""
    is_lowest: NDArray[np.bool_]

    @cached_property
    def items(self) -> NDArray[Any]:
        return self.index.named(self.codes)

    @property
    def lowest(self) -> NDArray[Any]:
        return self.index.named(self.codes[self.is_lowest])

    @cached_property
    def between(self) -> Triples:
        """The triples on the ways from these items to those that were asked about. Takes time by all ancestors of the latter."""
        if not len(self.codes):
            return Triples.none()
        behind = walk(self.index.backward, self.asked_codes, backward=True).triples
        codes = distinct(np.concatenate([behind.src, behind.dst]))
        src, dst, start = (np.searchsorted(codes, some) for some in (behind.src, behind.dst, self.codes))
        ahead = np.zeros(len(codes), bool)
        ahead[start] = ahead[walk(adjacency(src, dst, len(codes)), start, backward=False).items] = True
        return Triples(*(column[ahead[src]] for column in behind))

    def toPandas(self) -> pd.DataFrame:  # noqa: N802 (as PySpark's is)
        """Columns item, table (if the graph has a workflow), depth and lowest."""
        columns: dict[str, Any] = {"item": self.items}
        if self.index.workflow:
            columns["table"] = self.index.tables_of(self.codes)
        return pd.DataFrame({**columns, "depth": self.depths, "lowest": self.is_lowest})

    def __len__(self) -> int:
        return len(self.codes)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.items.tolist())

    def __repr__(self) -> str:
        asked = named_few(self.index.named(self.asked_codes), len(self.asked_codes))
        lowest = named_few(self.lowest, len(self.lowest))
        found = f"{counted(len(self), 'common ancestor')} of {asked}"
        return found + (f"; the lowest: {lowest or 'none, for they were derived from one another in circles'}" if len(self) else "")


def codes_of(index: Index, items: Any) -> Codes:
    """The codes of one id, of several, or of the items of an answer, each once. Raises UnknownItemError for one that is not there,
    ProvenanceError for none.
    """
    if isinstance(items, (Answer, Common)) and items.index is index and len(items):
        return items.walked.items if isinstance(items, Answer) else items.codes
    return distinct_ids(index.codes(ids_of(items)))


def ids_of(items: Any) -> Sequence[Any] | NDArray[Any]:
    """The ids that are asked about: one, several in whatever holds them, or those of an answer. Raises ProvenanceError for none."""
    if isinstance(items, (Answer, Common)):
        items = items.items
    if isinstance(items, (pa.Array, pa.ChunkedArray)):
        items = items.to_pylist()
    if isinstance(items, (pd.DataFrame, pa.Table, Mapping)):
        raise ProvenanceError("Items are told by their ids", value=type(items).__name__, remedy='Give a list of them, or a column: frame["item"].')
    if isinstance(items, np.ma.MaskedArray):
        items = items.tolist()  # with None where there is none
    if isinstance(items, np.ndarray):
        items = np.atleast_1d(items)
        if items.ndim > 1:
            raise ProvenanceError("Items are told by their ids", value=f"{items.ndim} dimensions", remedy="Give one row of them: ids.ravel().")
    one = isinstance(items, (str, bytes)) or not isinstance(items, Iterable)
    ids: Sequence[Any] | NDArray[Any] = [items] if one else items if isinstance(items, np.ndarray) else list(items)
    if not len(ids):
        raise ProvenanceError("No item is asked about", remedy="Give an id, or a list of them.")
    return ids


def _answered(index: Index, kind: str, items: Any, depth: Any, limit: Any) -> Answer:
    require_count("depth", depth)
    require_count("limit", limit)
    asked = codes_of(index, items)
    backward = kind == "ancestors"
    along = index.backward if backward else index.forward
    return Answer(index, kind, asked, walk(along, asked, backward=backward, depth=depth, limit=limit))


def place_of(workflow: Workflow | None, table: str) -> int:
    """The place of a table that is asked about. Raises ProvenanceError where items are of no tables, and for a table that the workflow does not have."""
    if workflow is None:
        raise ProvenanceError("The graph has no tables", value=table, remedy="Import it with a workflow that says which items they have.")
    return workflow.place(table)


def require_count(name: str, number: Any) -> None:
    """Raises ProvenanceError for a depth or a limit that is none."""
    if number is not None and (isinstance(number, bool) or not isinstance(number, (int, np.integer)) or number < 0):
        unit = "triples" if name == "depth" else "items"
        raise ProvenanceError(f"{name} is a number of {unit}", value=number, remedy="Give 0 or more, or None for no limit.")
