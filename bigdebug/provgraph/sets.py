"""Large components cut into weakly connected sets along the splits of the workflow, and how these derive each other (Rajmohan et al., IV)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bigdebug.errors import ProvenanceError
from bigdebug.provgraph.codes import Codes, distinct, within
from bigdebug.provgraph.components import Components, Joining, Labels, components, read
from bigdebug.provgraph.index import Adjacency, Index
from bigdebug.provgraph.membership import NO_TABLE
from bigdebug.provgraph.splits import Split, splits_of
from bigdebug.provgraph.walking import adjacency, walk
from bigdebug.shown import counted

THRESHOLD = 25_000
"""Items from which on a component or set is cut, where the workflow has splits to cut it along; the paper's."""
_LARGE = 1_000
"""Items from which on the statistics count a set as large; the paper's."""
_NOWHERE = 0xFFFF
"""The split of a table that none has. There are no more splits than tables, which are fewer."""


@dataclass(frozen=True)
class Cut:
    """What one component, or set, became within one split: a cell of the paper's Table IX."""

    component: str
    split: str
    sets: int
    large: int
    largest: int


@dataclass(frozen=True, eq=False, repr=False)
class Sets:
    """Each item's set, told by its first item: its component where that is small, else a part of it that lies in one split.

    ``dependencies`` are the pairs of sets of which one has a triple's src and the other its dst: as rows, parents first.
    """

    components: Components
    labels: Labels
    dependencies: NDArray[np.uint32]
    cuts: tuple[Cut, ...]

    def __len__(self) -> int:
        return int(np.count_nonzero(self.sizes))

    def __repr__(self) -> str:
        return (
            f"{counted(len(self), 'set')} of {counted(len(self.components), 'component')}, "
            f"with {counted(len(self.dependencies), 'dependency', 'dependencies')}"
        )

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """How many items there are with this label, for each item."""
        return np.bincount(self.labels, minlength=len(self.labels))

    def statistics(self) -> pd.DataFrame:
        """The paper's Table IX: columns component, split, sets, large (of 1,000 items or more) and largest (items).

        LC1, LC2 ... are the components that were cut, largest first, and LC2_lc1 a set of LC2 that was cut again.
        """
        rows = [(cut.component, cut.split, cut.sets, cut.large, cut.largest) for cut in self.cuts]
        return pd.DataFrame(rows, columns=["component", "split", "sets", "large", "largest"])

    def lineage_of(self, codes: Codes) -> Codes:
        """The sets that hold all ancestors of these items: theirs, and those that these derive from (Algorithm 2), sorted."""
        sets, parents = self._among
        near = distinct(self.labels[codes].astype(np.int64))
        known = near[within(near, sets)]
        above = walk(parents, np.searchsorted(sets, known), backward=True) if len(known) else None
        return distinct(np.concatenate([near, sets[above.items]])) if above else near

    def volume(self, codes: Codes) -> dict[str, int]:
        """How many sets, items and triples CSProv takes for these items, and triples of their components CCProv."""
        sets = self.lineage_of(codes)
        degrees = np.diff(self.components.index.backward.offsets.whole().astype(np.int64))
        chosen = _flagged(self.labels, sets)
        whole = _flagged(self.components.labels, distinct(self.components.labels[codes].astype(np.int64)))
        return {
            "sets": len(sets), "items": int(chosen.sum()), "triples": int(degrees[chosen].sum()), "component_triples": int(degrees[whole].sum()),
        }  # fmt: skip

    @cached_property
    def _among(self) -> tuple[Codes, Adjacency]:
        """The sets that have dependencies, and of each (by its place among them) those that it derives from."""
        sets = distinct(self.dependencies.ravel().astype(np.int64))
        src, dst = np.searchsorted(sets, self.dependencies.T.astype(np.int64))
        return sets, adjacency(dst, src, len(sets))


def sets(index: Index, threshold: int = THRESHOLD, splits: Any = None, *, found: Components | None = None) -> Sets:
    """Cut all components of ``threshold`` items or more along ``splits``, and what is as large in these along their parts (Algorithm 3).

    ``splits`` are those of the user, as ``splits_of`` takes them; where there are none they are found, so that about as many items are
    in each half of a split. Reads all triples once for each level of splits, and holds some forty bytes for each item. Raises ProvenanceError for a graph
    without a workflow that has a component so large.
    """
    check_threshold(threshold)
    whole = found or components(index)
    labels, cuts = whole.labels, []
    if (whole.sizes >= threshold).any():
        cutting = _Cutting(index, whole, threshold)
        for level in _levels(_splits(index, splits)):
            if not cutting.along(level):
                break
        labels, cuts = cutting.labels, cutting.cuts
    return Sets(whole, labels, _dependencies(index, labels) if cuts else np.zeros((0, 2), np.uint32), tuple(cuts))


def check_threshold(threshold: Any) -> None:
    """Raises ProvenanceError for what is no number of items."""
    if isinstance(threshold, bool) or not isinstance(threshold, (int, np.integer)) or threshold < 1:
        raise ProvenanceError("The threshold is a number of items", value=threshold, remedy=f"Give 1 or more; the paper's is {THRESHOLD:,}.")


def _splits(index: Index, given: Any) -> tuple[Split, ...]:
    if index.workflow is None or index.tables is None:
        raise ProvenanceError(
            "Components are cut into sets along a workflow that says which table an item is of, and this graph has none",
            remedy="Import it with workflow=Workflow.of(edges, items=...), or ask its index: that needs no sets.",
        )
    counts = np.bincount(index.tables.whole(), minlength=NO_TABLE + 1)
    return splits_of(index.workflow, given, {name: int(counts[place]) for place, name in enumerate(index.workflow.tables)})


def _levels(splits: Iterable[Split]) -> Iterator[list[Split]]:
    """The splits, their parts, the parts of these, and so on. What has no parts is not cut again."""
    level = list(splits)
    while level:
        yield level
        level = [part for split in level for part in split.parts]


class _Cutting:
    """Sets as far as they are cut; ``along`` cuts those that are still too large by one level of splits."""

    def __init__(self, index: Index, whole: Components, threshold: int) -> None:
        self.index = index
        self.labels = whole.labels
        self.cuts: list[Cut] = []
        self._threshold = threshold
        self._names = _numbered("LC", whole.firsts[whole.sizes[whole.firsts] >= threshold])

    def along(self, splits: list[Split]) -> bool:
        """False if there was nothing left to cut."""
        assert self.index.tables is not None
        place = self._places(splits)
        at = place[self.index.tables.whole()]
        large = np.bincount(self.labels, minlength=self.index.items) >= self._threshold
        chosen = large[self.labels] & (at != _NOWHERE)
        if not chosen.any():
            return False
        joining = Joining(self.index.items)
        for one, other in read(self.index.backward):
            together = chosen[one] & (at[one] == at[other]) & chosen[other] & (self.labels[one] == self.labels[other])
            joining.join(one[together], other[together])
        cut = joining.labels()
        del joining
        np.copyto(cut, self.labels, where=~chosen)
        self._tell(splits, at, np.flatnonzero(chosen), cut)
        self.labels = cut
        return True

    def _places(self, splits: list[Split]) -> NDArray[np.uint16]:
        """By table, the place of its split on this level. Items of no table are together, as if they were one, where sets are first cut."""
        assert self.index.workflow is not None
        place = np.full(NO_TABLE + 1, _NOWHERE, np.uint16)
        for number, split in enumerate(splits):
            for table in split.tables:
                place[self.index.workflow.place(table)] = number
        if not self.cuts:
            place[NO_TABLE] = len(splits)
        return place

    def _tell(self, splits: list[Split], at: NDArray[np.uint16], chosen: Codes, cut: Labels) -> None:
        """Note what each set became in each split, and name the sets that are still too large."""
        firsts = distinct(cut[chosen].astype(np.int64))
        sizes = np.bincount(cut, minlength=self.index.items)[firsts]
        frame = pd.DataFrame({"was": self.labels[firsts], "split": at[firsts], "items": sizes})
        order = {was: number for number, was in enumerate(self._names)}
        names: dict[int, str] = {}
        for (was, number), part in sorted(frame.groupby(["was", "split"])["items"], key=lambda row: (order[row[0][0]], row[0][1])):
            split = splits[number].name if number < len(splits) else "no table"
            self.cuts.append(Cut(self._names[was], split, len(part), int((part >= _LARGE).sum()), int(part.max())))
        for was, name in self._names.items():
            left = (self.labels[firsts] == was) & (sizes >= self._threshold)
            names |= _numbered(f"{name}_lc", firsts[left][np.argsort(-sizes[left], kind="stable")])
        self._names = names


def _numbered(name: str, firsts: Codes) -> dict[int, str]:
    return {first: f"{name}{number}" for number, first in enumerate(firsts.tolist(), 1)}


def _dependencies(index: Index, labels: Labels) -> NDArray[np.uint32]:
    """The distinct pairs of sets that a triple leads from and to, where these are two."""
    found = np.zeros(0, np.int64)
    for dst, src in read(index.backward):
        parents, children = labels[src], labels[dst]
        apart = parents != children
        # Two codes in one number: sorting numbers is much quicker than sorting pairs. Large codes make negative ones, which come apart again.
        keys = (parents[apart].astype(np.int64) << 32) | children[apart].astype(np.int64)
        found = distinct(np.concatenate([found, distinct(keys)]))
    return np.stack([found >> 32, found & 0xFFFFFFFF], axis=1).astype(np.uint32)


def _flagged(labels: Labels, chosen: Codes) -> NDArray[np.bool_]:
    flags = np.zeros(len(labels), bool)
    flags[chosen] = True
    return flags[labels]
