"""Components, sets and their dependencies are those of loops over triples, and no ancestor lies outside the sets that Algorithm 2 takes."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigdebug.errors import ProvenanceError
from bigdebug.provgraph.components import Joining, components, read
from bigdebug.provgraph.index import Index
from bigdebug.provgraph.questions import ancestors
from bigdebug.provgraph.sets import sets
from bigdebug.provgraph.workflow import Workflow
from bigdebug.store.arrays import InMemory
from tests.laws.graphs import components as joined
from tests.laws.graphs import graphs, lineage
from tests.unit.test_provgraph_questions import PAPER

COMPONENT = [
    (1, 2), (1, 3), (2, 4), (3, 4), (4, 5), (4, 6), (5, 7), (7, 8), (7, 9), (6, 10), (10, 11), (10, 12),
]  # fmt: skip
"""Its Table VII."""
SETS = {1: "a", 2: "a", 3: "a", 4: "b", 5: "b", 6: "b", 7: "c", 8: "c", 9: "c", 10: "d", 11: "d", 12: "d"}


def index_of(triples, tables=None, dependencies=()) -> Index:
    index = Index.of_arrays([t[0] for t in triples], [t[1] for t in triples], [t[2] if len(t) > 2 else None for t in triples])
    if tables is None:
        return index
    workflow = Workflow.of(dependencies, tables=sorted(set(tables.values())))
    places = [workflow.place(tables[item]) for item in index.named(np.arange(index.items)).tolist()]
    return dataclasses.replace(index, workflow=workflow, tables=InMemory(np.array(places, np.uint16)))


def groups(index: Index, labels) -> set[frozenset[Any]]:
    found: dict[int, set[Any]] = {}
    for item, label in zip(index.named(np.arange(index.items)).tolist(), labels.tolist()):
        found.setdefault(label, set()).add(item)
    return {frozenset(group) for group in found.values()}


def of_labels(index: Index, labels, chosen) -> set[Any]:
    return set(index.named(np.flatnonzero(np.isin(labels, chosen))).tolist())


def cut(graph, group: frozenset[Any], splits, threshold: int) -> set[frozenset[Any]]:
    """Algorithm 3, as it is written."""
    found = set()
    for split in splits:
        tables = {table for part in split for table in part} if split and isinstance(split[0], list) else set(split)
        within = {item for item in group if graph.tables[item] in tables}
        for piece in joined(graph.triples, within):
            parts = split if split and isinstance(split[0], list) else [[table] for table in split] if len(split) > 1 else []
            found |= cut(graph, piece, parts, threshold) if len(piece) >= threshold and parts else {piece}
    return found


@given(graphs())
def test_components_are_those_of_a_loop(graph):
    index = index_of(graph.triples)
    found = components(index)
    assert groups(index, found.labels) == joined(graph.triples)
    assert all(label <= item for item, label in enumerate(found.labels.tolist()))
    assert len(found) == len(joined(graph.triples))
    sizes = found.largest(3)["items"].tolist()
    assert sizes == sorted(map(len, joined(graph.triples)), reverse=True)[:3]
    assert found.largest(99)["triples"].sum() == index.edges


@given(graphs(), st.integers(1, 5))
def test_it_makes_no_difference_in_which_portions_triples_come(graph, chunk):
    index = index_of(graph.triples)
    joining = Joining(index.items)
    for one, other in read(index.backward, chunk):
        joining.join(one, other)
    assert (joining.labels() == components(index).labels).all()


@given(graphs(least=15), st.integers(1, 12), st.data())
def test_sets_are_those_of_algorithm_3(graph, threshold, data):
    if not graph.triples:
        return
    index = index_of(graph.triples, graph.tables, graph.dependencies)
    assert index.workflow is not None
    splits = [[table] for table in index.workflow.tables]
    linked = [pair for pair in graph.dependencies if data.draw(st.booleans())][:1]
    for one, other in linked:  # one split of two tables that the workflow joins, and these its parts
        splits = [split for split in splits if split[0] not in (one, other)] + [[[one], [other]]]
    found = sets(index, threshold, splits)
    expected = set()
    for group in joined(graph.triples):
        expected |= cut(graph, group, splits, threshold) if len(group) >= threshold else {group}
    assert groups(index, found.labels) == expected
    assert len(found) == len(expected)
    of = dict(zip(index.named(np.arange(index.items)).tolist(), found.labels.tolist()))
    pairs = {(of[src], of[dst]) for src, dst, _ in graph.triples if of[src] != of[dst]}
    assert {(src, dst) for src, dst in found.dependencies.tolist()} == pairs
    assert len(found.dependencies) == len(pairs)


@given(graphs(least=10), st.integers(1, 12), st.data())
def test_rq_is_ccprov_is_csprov_is_the_index(graph, threshold, data):
    """RQ over the triples that each plan takes gives what it gives over all of them, and what the index gives."""
    if not graph.triples:
        return
    index = index_of(graph.triples, graph.tables, graph.dependencies)
    found = sets(index, threshold)
    asked = data.draw(st.lists(st.sampled_from(graph.items), min_size=1, max_size=3))
    codes = index.codes(asked)
    everything = lineage(graph.triples, asked)
    component = of_labels(index, found.components.labels, found.components.labels[codes])
    ccprov = [triple for triple in graph.triples if triple[1] in component]
    chosen = of_labels(index, found.labels, found.lineage_of(codes))
    csprov = [triple for triple in graph.triples if triple[1] in chosen]
    assert lineage(ccprov, asked) == everything
    assert lineage(csprov, asked) == everything
    answer = ancestors(index, asked)
    assert dict(zip(answer, answer.depths.tolist())) == everything[0]
    volume = found.volume(codes)
    assert volume["triples"] == len(set(csprov))
    assert volume["component_triples"] == len(set(ccprov))
    assert volume["items"] == len(chosen)


def test_the_papers_first_example():
    """Tables I to V: fifteen triples, and ten components: seven of Table IV's, and three values of Mary's that nothing was derived from."""
    index = Index.of_arrays(*([triple[place] for triple in PAPER] for place in range(3)), ids=range(1, 26))
    found = components(index)
    assert groups(index, found.labels) == {
        frozenset(group)
        for group in ({1, 13}, {4, 16}, {7, 19}, {2, 14, 5, 17, 22}, {8, 20, 24}, {3, 15, 6, 18, 23}, {9, 21, 25}, {10}, {11}, {12})
    }
    assert len(found) == 10


def test_the_papers_second_example():
    """Tables VI to VIII: four sets, three dependencies, and of the twelve triples the nine that 8 needs."""
    index = index_of(COMPONENT, SETS, [("a", "b"), ("b", "c"), ("b", "d")])
    found = sets(index, 12, [["a"], ["b"], ["c"], ["d"]])
    named = groups(index, found.labels)
    assert named == {frozenset(group) for group in ({1, 2, 3}, {4, 5, 6}, {7, 8, 9}, {10, 11, 12})}
    assert index.named(found.dependencies.astype(np.int64).ravel()).tolist() == [1, 4, 4, 7, 4, 10]
    assert found.volume(index.codes([8])) == {"sets": 3, "items": 9, "triples": 9, "component_triples": 12}
    assert found.statistics().to_dict("list") == {
        "component": ["LC1"] * 4, "split": ["sp1", "sp2", "sp3", "sp4"], "sets": [1] * 4, "large": [0] * 4, "largest": [3] * 4,
    }  # fmt: skip


def test_splits_are_found_where_none_are_given():
    index = index_of(COMPONENT, SETS, [("a", "b"), ("b", "c"), ("b", "d")])
    found = sets(index, 12)
    assert len(found) > 1
    assert sets(index, 13).statistics().empty
    assert len(sets(index, 13)) == 1


def test_items_of_no_table_are_cut_off_together():
    index = index_of(COMPONENT, SETS, [("a", "b"), ("b", "c"), ("b", "d")])
    assert index.tables is not None
    lost = dataclasses.replace(index, tables=InMemory(np.where(index.tables.whole() == 0, 0xFFFF, index.tables.whole()).astype(np.uint16)))
    found = sets(lost, 12)
    assert frozenset({1, 2, 3}) in groups(lost, found.labels)
    assert "no table" in set(found.statistics()["split"])


def test_a_long_chain_is_one_component_in_few_rounds():
    src = np.arange(200_000, dtype=np.uint32)
    for order in (src, src[::-1], np.random.default_rng(1).permutation(src)):
        joining = Joining(200_001)
        for part in np.array_split(order, 7):
            joining.join(part, part + np.uint32(1))
        assert not joining.labels().any()


@pytest.mark.parametrize("threshold", [0, -1, 2.5, True, None])
def test_a_threshold_that_is_none(threshold):
    with pytest.raises(ProvenanceError, match="The threshold is a number of items"):
        sets(index_of(COMPONENT), threshold)


def test_without_a_workflow_large_components_stay_whole_by_name():
    with pytest.raises(ProvenanceError, match="along a workflow"):
        sets(index_of(COMPONENT), 12)
    assert len(sets(index_of(COMPONENT), 13)) == 1
