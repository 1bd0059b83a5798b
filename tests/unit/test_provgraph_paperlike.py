"""The generator gives a graph of the paper's shape: its figures are those of section V, as exactly as they are told there."""

from __future__ import annotations

from graphlib import TopologicalSorter

import numpy as np
import pyarrow.parquet as pq
import pytest

from bigdebug.provgraph.dictionary import ids_of, integer_ids
from bigdebug.provgraph.index import Index
from bigdebug.provgraph.paperlike import PaperLike
from bigdebug.provgraph.paperqueries import CLASSES, queries
from bigdebug.provgraph.papertables import LEVELS, OPERATIONS, TABLES, splits, table_of
from bigdebug.provgraph.questions import ancestors
from bigdebug.provgraph.sets import sets
from bigdebug.provgraph.splits import splits_of
from bigdebug.provgraph.walking import adjacency
from bigdebug.store.arrays import InMemory


@pytest.fixture(scope="module")
def whole():
    return PaperLike.generate(7)


@pytest.mark.slow
def test_it_is_as_large_as_the_papers(whole):
    assert len(TABLES) == 25
    assert round(whole.items / 1e6, 1) == 4.6
    assert round(len(whole.src) / 1e6, 1) == 6.4
    assert np.diff(np.sort(whole.src * whole.items + whole.dst)).all()


def test_fan_ins_are_the_papers(whole):
    fan = np.bincount(whole.dst, minlength=whole.items)
    assert int((fan > 100).sum()) == 32
    assert int(fan.max()) == 450
    assert int(((fan > 10) & (fan < 100)).sum()) == 3_963
    assert not np.isin(fan, (10, 100)).any()
    assert (fan + np.bincount(whole.src, minlength=whole.items) > 0).all()


@pytest.mark.parametrize(
    ("span", "items", "edges"), [("LC1", 1.2, 2.7), ("LC2", 0.9, 1.4), ("LC3", 0.7, 1.2), ("SC", 0.007453, 0.008122)]
)
def test_components_have_their_share(whole, span, items, edges):
    place = np.empty(whole.items, np.int64)
    place[whole.ids] = np.arange(whole.items)
    within = whole.spans[span]
    src, dst = ((place[column] >= within.start) & (place[column] < within.stop) for column in (whole.src, whole.dst))
    assert (src == dst).all()
    digits = 6 if span == "SC" else 1
    assert (round(len(within) / 1e6, digits), round(int(src.sum()) / 1e6, digits)) == (items, edges)


def test_triples_follow_the_workflow_and_its_levels(whole):
    workflow = whole.workflow()
    src, dst = table_of(whole.starts, whole.src), table_of(whole.starts, whole.dst)
    level = np.repeat(np.arange(len(LEVELS)), [len(names) for names in LEVELS])
    assert (level[src] < level[dst]).all()
    seen = {(TABLES[pair // 25], TABLES[pair % 25]) for pair in np.unique(src.astype(int) * 25 + dst).tolist()}
    assert seen <= set(workflow.edges)
    assert [len(split.tables) for split in splits_of(workflow, splits())] == [5, 8, 12]


@pytest.fixture(scope="module")
def cut(whole):
    workflow = whole.workflow()
    tables = np.array([workflow.place(name) for name in TABLES], np.uint16)[table_of(whole.starts, np.arange(whole.items))]
    backward, forward = adjacency(whole.dst, whole.src, whole.items), adjacency(whole.src, whole.dst, whole.items)
    index = Index(integer_ids(np.arange(whole.items)), ids_of(OPERATIONS)[0], backward, forward, workflow, InMemory(tables))
    return sets(index, splits=splits())


@pytest.mark.slow
def test_its_sets_are_those_of_table_ix(cut):
    assert [tuple(row) for row in cut.statistics().itertuples(index=False)] == [
        ("LC1", "sp1", 20, 0, 490), ("LC1", "sp2", 29_696, 4, 21_734), ("LC1", "sp3", 219_879, 11, 3_291),
        ("LC2", "sp1", 1, 0, 4), ("LC2", "sp2", 1, 0, 211), ("LC2", "sp3", 1, 1, 899_785),
        ("LC3", "sp1", 10, 0, 313), ("LC3", "sp2", 15_491, 1, 2_578), ("LC3", "sp3", 128_264, 0, 643),
        ("LC2_lc1", "sp3.1", 64_737, 0, 30), ("LC2_lc1", "sp3.2", 132_599, 2, 24_733),
    ]
    assert len(cut) - len(cut.components) + 3 == 590_698
    assert len(cut.dependencies) == 645_303


@pytest.mark.slow
def test_its_other_components_are_small(cut):
    sizes = cut.components.sizes[cut.components.firsts]
    assert int((sizes > 7_453).sum()) == 3
    middling = sizes[(sizes > 100) & (sizes <= 7_453)]
    assert (len(middling), int(middling.min()), int(middling.max())) == (132, 910, 7_453)


@pytest.mark.slow
def test_its_three_classes_of_queries_are_there(whole, cut):
    found = queries(whole, 10)
    longest = {"SC-SL": 7, "LC-SL": 7, "LC-LL": 10}
    for one in CLASSES:
        assert len(found[one.name]) == 10
        for item in found[one.name].tolist():
            answer = ancestors(cut.components.index, item)
            assert len(answer) in one.lineage
            assert len(answer.walked.triples.src) in one.lineage
            assert longest_path(answer.walked.triples) == longest[one.name]
            places = np.flatnonzero(whole.ids == item)[0]
            assert any(places in whole.spans[component] for component in one.components)
            volume = cut.volume(np.array([item]))
            assert len(answer) < volume["items"]
            assert volume["triples"] <= volume["component_triples"]


def longest_path(triples):
    """Triples of the longest path among some that have no circle."""
    behind: dict[int, set[int]] = {}
    for src, dst in zip(triples.src.tolist(), triples.dst.tolist()):
        behind.setdefault(dst, set()).add(src)
    known: dict[int, int] = {}
    for item in TopologicalSorter(behind).static_order():
        known[item] = max((known[source] + 1 for source in behind.get(item, ())), default=0)
    return max(known.values())


def test_the_same_seed_gives_the_same_graph_and_another_one_another():
    first, again, other = (PaperLike.generate(seed, 0.01) for seed in (3, 3, 4))
    assert (first.src == again.src).all()
    assert (first.dst == again.dst).all()
    assert len(first.src) != len(other.src) or (first.src != other.src).any()


def test_copies_are_the_graph_several_times(tmp_path):
    graph = PaperLike.generate(3, 0.01)
    graph.write(tmp_path / "triples.parquet", copies=3)
    read = pq.read_table(tmp_path / "triples.parquet").to_pandas()
    edges = len(graph.src)
    assert len(read) == 3 * edges
    assert sorted(set(read["src"]) | set(read["dst"])) == list(range(3 * graph.items))
    workflow = graph.workflow(copies=3)
    assert workflow.items is not None
    places = {name: workflow.place(name) for name in TABLES}
    assert [OPERATIONS.index(f"make {workflow.tables[table]}") for table in workflow.items.of(read["dst"].to_numpy())] == [
        OPERATIONS.index(op) for op in read["op"]
    ]
    assert len(places) == 25
    # Each copy is the graph under other numbers: fan-ins and fan-outs along the triples are the same.
    shapes = [
        sorted(zip(part.groupby("dst")["src"].transform("size"), part.groupby("src")["dst"].transform("size"), part["op"]))
        for part in (read[at : at + edges] for at in range(0, 3 * edges, edges))
    ]
    assert shapes[0] == shapes[1] == shapes[2]
