"""Splits of a workflow are disjoint, weakly connected, and have all its tables; so are the smaller ones within each."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigdebug.errors import ProvenanceError
from bigdebug.provgraph.splits import splits_of
from bigdebug.provgraph.workflow import Workflow

CURATION = Workflow.of([("docs", "pages"), ("pages", "facts"), ("pages", "names"), ("names", "people"), ("facts", "people")])


@st.composite
def workflows(draw):
    size = draw(st.integers(1, 12))
    pairs = draw(st.lists(st.tuples(st.integers(0, size - 1), st.integers(0, size - 1)), max_size=20))
    return Workflow.of([(f"t{min(p)}", f"t{max(p)}") for p in pairs if p[0] != p[1]], tables=[f"t{n}" for n in range(size)])


def is_connected(workflow, tables):
    reached, todo = set(), [tables[0]]
    while todo:
        table = todo.pop()
        if table in tables and table not in reached:
            reached.add(table)
            todo += [*workflow.sources_of(table), *workflow.made_from(table)]
    return reached == set(tables)


@given(workflows(), st.dictionaries(st.sampled_from([f"t{n}" for n in range(12)]), st.integers(0, 1000)))
def test_splits_partition_the_tables_and_go_down_to_single_ones(workflow, sizes):
    splits = splits_of(workflow, sizes=sizes)
    assert sorted(t for s in splits for t in s.tables) == sorted(workflow.tables)
    names = [within.name for split in splits for within in split]
    assert len(set(names)) == len(names)
    for split in splits:
        for within in split:
            assert is_connected(workflow, within.tables)
            if within.parts:
                assert sorted(t for part in within.parts for t in part.tables) == sorted(within.tables)
            else:
                assert len(within.tables) == 1


def test_a_cut_leaves_about_as_many_items_on_either_side():
    chain = Workflow.of([("a", "b"), ("b", "c"), ("c", "d")])
    assert [s.tables for s in splits_of(chain)] == [("a", "b"), ("c", "d")]
    assert [s.tables for s in splits_of(chain, sizes={"a": 1000})] == [("a",), ("b", "c", "d")]


def test_splits_that_are_given_are_taken_with_those_within():
    first, second = splits_of(CURATION, [["docs", "pages"], [["facts"], ["names", "people"]]])
    assert (first.name, first.tables) == ("sp1", ("docs", "pages"))
    assert [(part.name, part.tables) for part in second.parts] == [("sp2.1", ("facts",)), ("sp2.2", ("names", "people"))]
    assert [part.tables for part in second.parts[1].parts] == [("names",), ("people",)]
    assert splits_of(CURATION, [first, second]) == (first, second)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([["docs", "pages"], ["facts", "names"], ["people"]], "not connected: nothing joins 'facts' with 'names'"),
        ([["docs", "pages"], ["pages", "facts", "names", "people"]], "same table"),
        ([["docs", "pages"], ["facts", "people"]], "No split has the tables 'names'"),
        ([["docs", "page"], ["facts", "people", "names"]], "no such table"),
        ("docs", "list of lists"),
        ([], "list of lists"),
        ([["docs", 3]], "A split is a list"),
    ],
)
def test_splits_that_are_none_are_refused_by_name(given, message):
    with pytest.raises(ProvenanceError, match=message):
        splits_of(CURATION, given)
