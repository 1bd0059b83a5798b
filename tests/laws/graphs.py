"""Random provenance graphs, and what they say: dicts, sets and loops, the plainest there are."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate
from typing import Any, NamedTuple

from hypothesis import strategies as st

TEXTS = ("", "a", "a\0", "ab" * 1_000, "<script>alert(1)</script>", "שלום", "\U0001f600", "z", "10", "9")
OPS = st.none() | st.sampled_from(["R1", "R2", "סכום", "<b>"])


class Graph(NamedTuple):
    """Triples, with the table of each item; each table is made from those of lower numbers that its triples lead from."""

    triples: list[tuple[Any, Any, str | None]]
    tables: dict[Any, str]

    @property
    def items(self) -> list[Any]:
        return sorted({item for src, dst, _ in self.triples for item in (src, dst)})

    @property
    def dependencies(self) -> list[tuple[str, str]]:
        return sorted({(self.tables[src], self.tables[dst]) for src, dst, _ in self.triples})


KINDS = ("layered", "tangled", "giant", "small")


@st.composite
def graphs(draw: st.DrawFn, least: int = 1) -> Graph:
    """Layered as workflows are, tangled, one component, or many small ones; ids are integers of any size, or texts."""
    level, kept = draw(_shapes(draw(st.sampled_from(KINDS)), least))
    names = draw(_ids(len(level)))
    tables = {names[item]: f"t{level[item]:02}" for item in range(len(level))}
    return Graph([(names[src], names[dst], op) for src, dst, op in kept], tables)


@st.composite
def side_by_side(draw: st.DrawFn, least: int = 1) -> tuple[Graph, list[set[Any]]]:
    """One graph of each kind, none joined with another, as one; and the items of each."""
    shapes = [draw(_shapes(kind, least)) for kind in KINDS]
    starts = [0, *accumulate(len(level) for level, _ in shapes)]
    names = draw(_ids(starts[-1]))
    tables = {names[start + item]: f"t{deep:02}" for start, (level, _) in zip(starts, shapes) for item, deep in enumerate(level)}
    triples = [(names[start + src], names[start + dst], op) for start, (_, kept) in zip(starts, shapes) for src, dst, op in kept]
    return Graph(triples, tables), [{names[start + item] for row in kept for item in row[:2]} for start, (_, kept) in zip(starts, shapes)]


@st.composite
def _shapes(draw: st.DrawFn, kind: str, least: int) -> tuple[list[int], list[tuple[int, int, str | None]]]:
    """The level of each item, and the triples between them."""
    count = draw(st.integers(2, 24))
    # Triples lead from lower levels to higher ones. In a tangle each item is a level, and a table.
    level = list(range(count)) if kind == "tangled" else draw(st.lists(st.integers(0, 4), min_size=count, max_size=count))
    if kind == "giant":
        level[0], level[1:] = 0, [1 + one for one in level[1:]]
    kept = [(0, item, "R1") for item in range(1, count)] if kind == "giant" else []
    for one, other, op in draw(st.lists(st.tuples(st.integers(0, count - 1), st.integers(0, count - 1), OPS), min_size=least, max_size=50)):
        if kind == "small":
            other = min(one // 3 * 3 + other % 3, count - 1)
        if level[one] != level[other]:
            kept.append((one, other, op) if level[one] < level[other] else (other, one, op))
    return level, kept


@st.composite
def _ids(draw: st.DrawFn, count: int) -> list[Any]:
    if draw(st.booleans()):
        return draw(st.permutations(range(-3, count - 3)))
    if draw(st.booleans()):
        return draw(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=count, max_size=count, unique=True))
    return draw(st.permutations([TEXTS[n] if n < len(TEXTS) else f"item {n}" for n in range(count)]))


def lineage(
    triples: Iterable[tuple[Any, Any, Any]], items: Iterable[Any], *, backward: bool = True, depth: int | None = None
) -> tuple[dict[Any, int], set[tuple[Any, Any, Any]]]:
    """How far each ancestor (or descendant) is at least, and the triples on the way: one level after another, each over all triples."""
    everything = set(triples)
    near, far = (1, 0) if backward else (0, 1)
    found: dict[Any, int] = {}
    seen: set[tuple[Any, Any, Any]] = set()
    frontier, asked, steps = set(items), set(items), 0
    while frontier and (depth is None or steps < depth):
        steps += 1
        level = {triple for triple in everything if triple[near] in frontier}
        seen |= level
        reached = {triple[far] for triple in level} - set(found)
        found |= dict.fromkeys(reached, steps)
        frontier = reached - asked
    return found, seen


def paths(triples: Iterable[tuple[Any, Any, Any]], start: Any, end: Any) -> list[list[tuple[Any, Any, Any]]]:
    """Every path from start to end, shortest first."""
    everything = set(triples)

    def ahead(item: Any) -> list[list[tuple[Any, Any, Any]]]:
        if item == end:
            return [[]]
        return [[triple, *rest] for triple in everything if triple[0] == item for rest in ahead(triple[1])]

    return sorted(ahead(start), key=len)


def components(triples: Iterable[tuple[Any, Any, Any]], within: set[Any] | None = None) -> set[frozenset[Any]]:
    """The weakly connected components, of all items or of those within: joined one triple after another."""
    groups = {item: {item} for item in within or ()}
    for src, dst, _ in triples:
        if within is not None and not {src, dst} <= within:
            continue
        joined = groups.get(src, {src}) | groups.get(dst, {dst})
        groups |= dict.fromkeys(joined, joined)
    return {frozenset(group) for group in groups.values()}
