"""Plans: how a question about a graph in Spark finds the few triples that have its whole answer (Rajmohan et al., III)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F

from bigdebug.provgraph.index import Index
from bigdebug.provgraph.walking import walk
from bigdebug.spark.provgraph.lookups import MOST, among, fetched, few, forget, held, ids_in
from bigdebug.spark.provgraph.recursion import Ends, Far, recursed


class Volume(NamedTuple):
    """Triples that have the whole lineage of some items; ``few`` if the driver may take them all at once."""

    triples: Any
    few: bool


class Plan(Protocol):
    """One way to find them."""

    def volume(self, items: pa.Array, ends: Ends) -> Volume:
        """The triples that have the whole lineage of those of these items that there are, on the ways that begin at the near end."""

    def missing(self, items: pa.Array) -> pa.Array:
        """Those of some items that the graph does not have."""

    def close(self) -> None:
        """Let go of what Spark holds for it."""


class Layouts:
    """Triples held for each direction in which they were asked for."""

    def __init__(self, triples: Any, partitions: int, layout: Callable[[str], tuple[str, tuple[str, ...]]]) -> None:
        """``layout`` gives, for the near end, the column to partition by and the order within."""
        self.triples = triples
        self._partitions = partitions
        self._layout = layout
        self._held: dict[str, Any] = {}

    def by(self, near: str) -> Any:
        if near not in self._held:
            key, order = self._layout(near)
            self._held[near] = held(self.triples, key, order, self._partitions)
        return self._held[near]

    def close(self) -> None:
        for frame in self._held.values():
            forget(frame)
        self._held.clear()


class Recursive:
    """RQ: all triples, held by the end that a question comes from. The answer takes a job for each level (III-A)."""

    def __init__(self, triples: Any, items: Any, partitions: int) -> None:
        """``items`` are all that the graph has."""
        self._items = items
        self._layouts = Layouts(triples, partitions, lambda near: (near, (near,)))

    def volume(self, items: pa.Array, ends: Ends) -> Volume:
        return Volume(self._layouts.by(ends.near), few=False)

    def missing(self, items: pa.Array) -> pa.Array:
        return _without(items, fetched(among(self._items, "item", items).select("item"), len(items)), "item")

    def close(self) -> None:
        self._layouts.close()


class _Grouped:
    """What plans share that know of each item which group it is in."""

    def __init__(self, items: Any, group: str, partitions: int) -> None:
        """``items`` have ``item`` and, in the column ``group``, its group."""
        self._group = group
        self._items = held(items.select("item", group), "item", ("item",), partitions)

    def groups(self, items: pa.Array) -> pa.Array:
        """The groups that these items are in; a job."""
        return ids_in(self._found(items)[self._group])

    def missing(self, items: pa.Array) -> pa.Array:
        return _without(items, self._found(items), "item")

    def _found(self, items: pa.Array) -> pa.Table:
        found = fetched(among(self._items, "item", items), len(items))
        assert found is not None  # an item is there once
        return found

    def close(self) -> None:
        forget(self._items)


class ConnectedComponents(_Grouped):
    """CCProv: the triples of the components that the items are in, held by the near end (III-B, Algorithm 1)."""

    def __init__(self, triples: Any, items: Any, partitions: int) -> None:
        """``triples`` have the ``component`` of their items."""
        super().__init__(items, "component", partitions)
        self._layouts = Layouts(triples, partitions, lambda near: (near, ("component", near)))
        large = fetched(triples.groupBy("component").count().where(F.col("count") > MOST).select("component"), MOST)
        assert large is not None  # more than that many of so many triples there are not
        self._large = large["component"]

    def volume(self, items: pa.Array, ends: Ends) -> Volume:
        groups = self.groups(items)
        few = not pc.any(pc.is_in(groups, value_set=self._large.cast(groups.type))).as_py()
        return Volume(among(self._layouts.by(ends.near), "component", groups), few)

    def close(self) -> None:
        super().close()
        self._layouts.close()


class ConnectedSets(_Grouped):
    """CSProv: the triples of the sets that the items' sets were derived from, held by the sets of the near end (III-C, Algorithm 2)."""

    def __init__(self, triples: Any, items: Any, dependencies: Any, partitions: int) -> None:
        """``triples`` have ``src_csid`` and ``dst_csid``, as ``dependencies`` do between which sets there are triples."""
        super().__init__(items, "csid", partitions)
        self._layouts = Layouts(triples, partitions, lambda near: (f"{near}_csid", (f"{near}_csid", near)))
        self._dependencies = Layouts(dependencies, partitions, lambda near: (near, (near,)))

    @cached_property
    def _sets(self) -> Index | None:
        """The dependencies between sets, if the driver takes them: then to follow them takes no job."""
        found = few(self._dependencies.triples, MOST)
        return None if found is None else Index.of_arrays(found["src_csid"], found["dst_csid"])

    def volume(self, items: pa.Array, ends: Ends) -> Volume:
        near = f"{ends.near}_csid"
        sets = self._lineage(self.groups(items), Ends(near, f"{ends.far}_csid"))
        triples = self._layouts.by(ends.near)
        if isinstance(sets, Far):
            own = sets.start.union(sets.items.select("item")).select(F.col("item").alias(near))
            return Volume(triples.join(own, near, "left_semi"), few=False)
        return Volume(among(triples, near, sets), few=True)

    def _lineage(self, sets: pa.Array, ends: Ends) -> pa.Array | Far:
        """These sets and all that they were derived from; from the other end, all that were derived from them."""
        if self._sets is not None:
            return _reached(self._sets, sets, ends)
        found = recursed(self._dependencies.by(ends.near), sets, ends, MOST)
        return found if isinstance(found, Far) else pa.concat_arrays([sets, ids_in(found[ends.far]).cast(sets.type)]).unique()

    def close(self) -> None:
        super().close()
        self._layouts.close()
        self._dependencies.close()


def _reached(sets: Index, start: pa.Array, ends: Ends) -> pa.Array:
    backward = ends.near.startswith("dst")
    codes = sets.ids.codes(start.to_pylist())
    found = walk(sets.backward if backward else sets.forward, codes[codes >= 0], backward=backward)
    return pa.concat_arrays([start, pa.array(sets.named(found.items), start.type)]).unique()


def _without(items: pa.Array, found: pa.Table | None, column: str) -> pa.Array:
    assert found is not None  # not more than the items that were asked for
    return items.filter(pc.invert(pc.is_in(items, value_set=ids_in(found[column]).cast(items.type))))
