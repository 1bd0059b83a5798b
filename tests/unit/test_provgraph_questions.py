"""Answers from an index are those of loops over all triples: of ancestors, descendants, what is common, and what else a source feeds."""

from __future__ import annotations

import dataclasses
import time

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigdebug.errors import ProvenanceError, TooLargeError, UnknownItemError
from bigdebug.provgraph import nearest, walking
from bigdebug.provgraph.components import components
from bigdebug.provgraph.index import Index
from bigdebug.provgraph.paths import paths
from bigdebug.provgraph.questions import ancestors, common, descendants, feeds
from bigdebug.provgraph.workflow import Workflow
from bigdebug.store.arrays import InMemory
from tests.laws.graphs import graphs, lineage

PAPER = [
    (1, 13, "R1"), (4, 16, "R1"), (7, 19, "R1"), (2, 14, "R1"), (5, 17, "R1"), (14, 22, "R2"), (17, 22, "R2"), (8, 20, "R1"),
    (20, 24, "R2"), (3, 15, "R1"), (6, 18, "R1"), (15, 23, "R2"), (18, 23, "R2"), (9, 21, "R1"), (21, 25, "R2"),
]
"""Its Table IV."""


def index_of(triples) -> Index:
    return Index.of_arrays(*([triple[place] for triple in triples] for place in range(3)))


def rows(frame):
    return {(src, dst, op) for src, dst, op in frame.itertuples(index=False)}


@given(graphs(), st.data())
def test_ancestors_and_descendants_are_those_of_a_loop(graph, data):
    index = index_of(graph.triples)
    if not graph.triples:
        return
    asked = data.draw(st.lists(st.sampled_from(graph.items), min_size=1, max_size=4))
    depth = data.draw(st.none() | st.integers(0, 4))
    for question, backward in ((ancestors, True), (descendants, False)):
        answer = question(index, asked, depth=depth)
        depths, triples = lineage(graph.triples, asked, backward=backward, depth=depth)
        assert dict(zip(answer.items.tolist(), answer.depths.tolist())) == depths
        assert len(answer) == len(depths)
        assert answer.depths.tolist() == sorted(answer.depths.tolist())
        assert rows(answer.triples) == triples
        assert len(answer.triples) == len(triples)
        beyond = len(lineage(graph.triples, asked, backward=backward)[1]) - len(triples)
        assert bool(answer.stopped) == (beyond > 0)


@given(graphs(), st.data())
def test_a_limit_keeps_the_nearest_items_and_says_so(graph, data):
    index = index_of(graph.triples)
    if not graph.triples:
        return
    asked = data.draw(st.sampled_from(graph.items))
    limit = data.draw(st.integers(0, 12))
    whole, answer = ancestors(index, asked), ancestors(index, asked, limit=limit)
    assert answer.items.tolist() == whole.items.tolist()[:limit]
    kept = {asked, *answer.items.tolist()}
    assert rows(answer.triples) <= {triple for triple in rows(whole.triples) if triple[0] in kept and triple[1] in kept}
    assert set(answer.triples["src"]) == set(answer.items.tolist())
    assert bool(answer.stopped) == (len(answer.triples) < len(whole.triples))


@pytest.mark.slow
@given(graphs(), st.data())
def test_the_nearest_items_are_the_same_where_not_all_triples_are_read(graph, data):
    index = index_of(graph.triples)
    if not graph.triples:
        return
    asked = data.draw(st.lists(st.sampled_from(graph.items), min_size=1, max_size=3))
    limit = data.draw(st.integers(0, 12))
    for ask in (ancestors, descendants):
        whole = ask(index, asked, limit=limit)
        with pytest.MonkeyPatch.context() as cheap:
            cheap.setattr(walking, "SEARCH", 1e-3)
            cheap.setattr(nearest, "_AT_ONCE", 3)
            some = ask(index, asked, limit=limit)
        assert some.toPandas().equals(whole.toPandas())
        assert some.triples.equals(whole.triples)
        assert some.stopped == whole.stopped


def test_of_a_source_that_feeds_more_than_an_answer_holds_the_nearest_are_found(monkeypatch):
    monkeypatch.setattr(walking, "MOST_TRIPLES", 1_000)
    index = index_of([(0, item, "R") for item in range(1, 2_000)] + [(0, item, "S") for item in range(1, 2_000)] + [(2, 0, "R")])
    few = descendants(index, 0, limit=3)
    assert few.items.tolist() == [1, 2, 3]
    assert len(few.triples) == 6
    assert "more items as near" in few.stopped
    with pytest.raises(TooLargeError, match="limit=N"):
        descendants(index, 0)
    many = descendants(index, 0, limit=400)
    assert many.items.tolist() == list(range(1, 401))
    with pytest.raises(TooLargeError, match="a smaller limit than 1990"):
        descendants(index, 0, limit=1_990)


def test_the_nearest_are_found_behind_a_broad_level(monkeypatch):
    monkeypatch.setattr(walking, "MOST_TRIPLES", 2_000)
    index = index_of([(0, item, "R") for item in range(1, 21)] + [(item, other, "R") for item in range(1, 21) for other in range(21, 171)])
    assert descendants(index, 0, limit=21).items.tolist() == list(range(1, 22))


def test_of_a_source_nearly_as_many_as_an_answer_holds_are_found(monkeypatch):
    monkeypatch.setattr(walking, "MOST_TRIPLES", 1_000)
    index = index_of([(0, item, "R") for item in range(1, 1_002)])
    assert len(descendants(index, 0, limit=900)) == 900


def test_of_a_long_chain_no_level_sorts_what_was_reached_before(monkeypatch):
    sort, sorted_ = np.sort, []
    index = Index.of_arrays(np.arange(20_000), np.arange(1, 20_001))
    monkeypatch.setattr(np, "sort", lambda codes: sorted_.append(len(codes)) or sort(codes))
    assert len(ancestors(index, 20_000, limit=200_000)) == 20_000
    assert sum(sorted_) < 20_000 * 500


@given(graphs(), st.data())
def test_it_makes_no_difference_how_what_was_reached_is_kept(graph, data):
    index = index_of(graph.triples)
    if not graph.triples:
        return
    asked = data.draw(st.lists(st.sampled_from(graph.items), min_size=1, max_size=3))
    sorted_ = descendants(index, asked)
    with pytest.MonkeyPatch.context() as small:
        small.setattr(walking, "_LATE", data.draw(st.integers(0, 3)))
        merged = descendants(index, asked)
        small.setattr(walking, "_FEW", 2)
        flagged = descendants(index, asked)
    for kept in (merged, flagged):
        assert sorted_.toPandas().equals(kept.toPandas())
        assert sorted_.triples.equals(kept.triples)


@given(graphs(), st.data())
def test_backward_and_forward_are_dual(graph, data):
    index = index_of(graph.triples)
    if not graph.triples:
        return
    one, other = (data.draw(st.sampled_from(graph.items)) for _ in range(2))
    assert (one in set(ancestors(index, other))) == (other in set(descendants(index, one)))


@given(graphs(), st.data())
def test_common_ancestors_are_the_intersection_and_the_lowest_have_none_below(graph, data):
    index = index_of(graph.triples)
    if len(graph.items) < 2:
        return
    asked = data.draw(st.lists(st.sampled_from(graph.items), min_size=2, max_size=4, unique=True))
    found = common(index, asked)
    depths = [lineage(graph.triples, [item])[0] for item in asked]
    shared = set.intersection(*map(set, depths))
    assert set(found.items.tolist()) == shared
    assert dict(zip(found, found.depths.tolist())) == {item: max(some[item] for some in depths) for item in shared}
    above = {item for low in shared for item in lineage(graph.triples, [low])[0]}
    assert set(found.lowest.tolist()) == shared - above


@given(graphs(), st.data())
def test_what_else_a_source_feeds(graph, data):
    index = index_of(graph.triples)
    if not graph.triples:
        return
    source, item = (data.draw(st.sampled_from(graph.items)) for _ in range(2))
    found = feeds(index, source, besides=item)
    everything = set(lineage(graph.triples, [source], backward=False)[0])
    left = everything - {item} - set(lineage(graph.triples, [item])[0])
    assert set(found) == left
    assert rows(found.triples) == {t for t in lineage(graph.triples, [source], backward=False)[1] if t[1] in left}


def test_the_papers_example():
    """Section I: 23 is derived from 15 and 18 by R2, and these from 3 and 6 by R1."""
    answer = ancestors(index_of(PAPER), 23)
    assert answer.toPandas().to_dict("list") == {"item": [15, 18, 3, 6], "depth": [1, 1, 2, 2]}
    assert rows(answer.triples) == {(15, 23, "R2"), (18, 23, "R2"), (3, 15, "R1"), (6, 18, "R1")}
    assert repr(answer) == "4 ancestors of 23, by 4 triples: 15, 18, 3, 6"
    assert repr(ancestors(index_of(PAPER), 3)) == "0 ancestors of 3, by 0 triples: nothing in this graph made it"


def test_items_by_table():
    tables = {**dict.fromkeys(range(1, 13), "Person1"), **dict.fromkeys(range(13, 22), "Person2")}
    workflow = Workflow.of([("Person1", "Person2"), ("Person2", "AvgAge")])
    index = index_of(PAPER)
    places = [workflow.place(tables[item]) if item in tables else 0xFFFF for item in index.named(np.arange(index.items)).tolist()]
    index = dataclasses.replace(index, workflow=workflow, tables=InMemory(np.array(places, np.uint16)))
    answer = ancestors(index, [22, 25])
    assert answer.by_table().to_dict("list") == {"table": ["Person1", "Person2"], "items": [3, 3], "depth": [2, 1]}
    assert answer.toPandas()["table"].tolist() == ["Person2"] * 3 + ["Person1"] * 3
    found = descendants(index, 2).by_table()
    assert found["table"].isna().tolist() == [False, True]
    assert common(index, [22, 14]).toPandas().to_dict("list") == {"item": [2], "table": ["Person1"], "depth": [2], "lowest": [True]}
    assert paths(index, 2, 22).toPandas()["table"].tolist() == ["Person1", "Person2", None]


def test_an_answer_can_be_asked_about():
    index = index_of(PAPER)
    assert set(descendants(index, ancestors(index, 23, depth=1))) == {23}
    assert set(descendants(index, common(index, [14, 22]), depth=1)) == {14}
    with pytest.raises(ProvenanceError, match="No item is asked about"):
        ancestors(index, ancestors(index, 3))
    # By its codes, where it is of the same index; else by its ids.
    assert set(descendants(index_of(PAPER[::-1]), ancestors(index, 23, depth=1))) == {23}


def test_circles_end():
    index = index_of([(1, 2, "R"), (2, 3, "R"), (3, 1, "R")])
    answer = ancestors(index, 1)
    assert dict(zip(answer, answer.depths.tolist())) == {3: 1, 2: 2, 1: 3}


@pytest.mark.parametrize("wrong", [-1, 1.5, "3", True])
@pytest.mark.parametrize("name", ["depth", "limit"])
def test_limits_that_are_none(name, wrong):
    with pytest.raises(ProvenanceError, match=f"{name} is a number of"):
        ancestors(index_of(PAPER), 23, **{name: wrong})


@pytest.mark.parametrize("item", [0, 99, "23", None, 2.5, float("nan"), (22, 99)])
def test_items_that_are_not_there(item):
    with pytest.raises(UnknownItemError):
        ancestors(index_of(PAPER), item)


def test_nothing_is_asked():
    with pytest.raises(ProvenanceError, match="No item is asked about"):
        ancestors(index_of(PAPER), [])
    with pytest.raises(ProvenanceError, match="two items or more"):
        common(index_of(PAPER), [22, 22])


def test_an_answer_that_is_too_large_is_refused_before_it_is_read(monkeypatch):
    monkeypatch.setattr(walking, "MOST_TRIPLES", 3)
    with pytest.raises(TooLargeError, match="ask with depth=N"):
        ancestors(index_of(PAPER), 23)
    assert len(ancestors(index_of(PAPER), 23, depth=1)) == 2


def test_long_ids_are_cut_in_print_only():
    long = "x" * 10_000_000
    index = index_of([(long, "<script>alert(1)</script>", None), ("א", long, "R")])
    answer = ancestors(index, "<script>alert(1)</script>")
    assert len(repr(answer)) < 500
    assert answer.items.tolist() == [long, "א"]
    assert answer.triples["op"].tolist() == [None, "R"]


def test_a_question_costs_nothing_of_the_size_of_the_graph():
    """50,000 chains of ten items: the best of twenty questions takes a hundredth of what a look at each item takes."""
    src = np.arange(500_000)
    src = src[src % 10 != 9]
    index = Index.of_arrays(src, src + 1)

    def seconds() -> float:
        began = time.perf_counter()
        assert ancestors(index, 400_009).items.tolist() == list(range(400_008, 399_999, -1))
        return time.perf_counter() - began

    assert min(seconds() for _ in range(20)) < 0.005


@pytest.mark.parametrize("items", [pa.array([3, 4]), pa.chunked_array([[3], [4]]), pd.Series([3, 4]), np.array([3, 4]), np.array(4), (3, 4), {3, 4}])
def test_items_are_told_in_any_column(items):
    assert sorted(ancestors(CHAIN, items)) == [1, 2, 3]


@pytest.mark.parametrize("items", [np.array([[3, 4]]), np.array([["3", "4"]]), np.ma.array([3, 4], mask=[False, True])])
def test_items_that_are_no_list_of_ids_are_refused(items):
    with pytest.raises((ProvenanceError, UnknownItemError), match=r"ravel|NoneType"):
        ancestors(CHAIN, items)


def test_answers_can_be_compared_and_kept_in_a_set():
    one, other = ancestors(CHAIN, 4), ancestors(CHAIN, 4)
    assert one == one
    assert one != other
    assert len({one, other, common(CHAIN, [3, 4])}) == 3


@pytest.mark.parametrize("items", [pd.DataFrame({"item": [3]}), pa.table({"item": [3]}), {"item": [3]}])
def test_a_table_of_items_is_refused(items):
    # Iterating gives its names, which may be ids of texts.
    with pytest.raises(ProvenanceError, match="a column"):
        ancestors(CHAIN, items)


CHAIN = index_of([(1, 2, "a"), (2, 3, "a"), (3, 4, "a")])


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (ancestors(CHAIN, 2), "1 ancestor of 2, by 1 triple: 1"),
        (ancestors(CHAIN, [1, 2], depth=0), "0 ancestors of 1, 2, by 0 triples (not all: depth 0: there are triples beyond it)"),
        (ancestors(CHAIN, 4, limit=0), "0 ancestors of 4, by 0 triples (not all: limit 0: there are triples beyond it)"),
        (descendants(CHAIN, 4), "0 descendants of 4, by 0 triples: nothing in this graph was made of it"),
        (feeds(CHAIN, 1, 3), "1 descendant of 1 besides 3 and what made it, by 1 triple: 4"),
        (feeds(CHAIN, 1, 4), "0 descendants of 1 besides 4 and what made it, by 0 triples"),
        (common(CHAIN, [2, 3]), "1 common ancestor of 2, 3; the lowest: 1"),
        (common(CHAIN, [1, 3]), "0 common ancestors of 1, 3"),
        (
            common(index_of([(1, 2, "a"), (2, 1, "a")]), [1, 2]),
            "2 common ancestors of 1, 2; the lowest: none, for they were derived from one another in circles",
        ),
        (components(CHAIN), "1 component of 4 items; the largest has 4 items"),
        (components(index_of([])), "0 components of 0 items"),
    ],
)
def test_answers_say_what_they_have(answer, said):
    assert repr(answer) == said
