"""A workflow is a graph of tables without cycles, and says which items are whose; what cannot be is refused by name."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigdebug.errors import ProvenanceError
from bigdebug.provgraph.membership import NO_TABLE, Columns, Listed, Prefixes, Ranges
from bigdebug.provgraph.workflow import Workflow

EDGES = [("raw", "clean", ["trim", "cast"]), ("raw", "notes"), ("clean", "sums", "sum"), ("notes", "sums", 7), ("raw", "clean", "trim")]


def test_tables_stand_behind_those_they_are_made_from():
    flow = Workflow.of(EDGES, tables=["alone", "raw"])
    assert sorted(flow.tables) == ["alone", "clean", "notes", "raw", "sums"]
    assert all(flow.place(source) < flow.place(made) for source, made in flow.edges)
    assert flow.edges == (("raw", "clean"), ("raw", "notes"), ("clean", "sums"), ("notes", "sums"))
    assert flow.operations == {("raw", "clean"): {"trim", "cast"}, ("clean", "sums"): {"sum"}, ("notes", "sums"): {7}}
    assert flow.sources_of("sums") == ("clean", "notes")
    assert flow.made_from("raw") == ("clean", "notes")
    assert flow.made_from("alone") == flow.sources_of("raw") == ()
    assert len({flow.pair(*edge) for edge in flow.edges}) == 4


def test_a_workflow_is_told_and_read_again():
    flow = Workflow.of(EDGES, tables=["alone"])
    again = Workflow.of_data(json.loads(json.dumps(flow.data())))
    assert again == flow
    assert again.operations == flow.operations


@pytest.mark.parametrize(
    ("edges", "because"),
    [
        ([("a", "b"), ("b", "c"), ("c", "a")], r"'\w' -> '\w' -> '\w' -> '\w'"),
        ([("a", "a")], "'a' -> 'a'"),
        (["ab"], "pair of tables"),
        ([("a",)], "pair of tables"),
        ([("a", "b", "c", "d")], "pair of tables"),
        ([("a", 1)], "a text for a name"),
        (None, "pair of tables"),
        ([("a", "b", 1.5)], "an integer.*1.5"),
        ([("a", "b", [b"x"])], "an integer"),
        ([("a", "b", [["x"]])], "an integer"),
        ([(str(table), str(table + 1)) for table in range(65_535)], "too many tables"),
    ],
)
def test_what_is_no_workflow_is_refused(edges, because):
    with pytest.raises(ProvenanceError, match=because):
        Workflow.of(edges)


@pytest.mark.parametrize(
    ("items", "because"),
    [
        ({"clena": range(3)}, "no such table.*'clean'"),
        ({"raw": range(3), "clean": range(2, 5)}, "overlap: range"),
        ({"raw": range(0, 9, 2)}, "leaves some out"),
        ({"raw": range(0)}, "has no integers"),
        ({"raw": range(2**63 - 1, 2**63 + 1)}, "more than 64 bits"),
        ({"raw": range(3), "clean": "c/"}, "ranges of integers, or by beginnings"),
        ({"raw": "c/", "clean": ["x/", "c/"]}, "begin alike"),
        ({"raw": 17}, "ranges of integers, or by beginnings"),
        ({}, "ranges of integers, or by beginnings"),
        (17, "does not say which table"),
        (("one",), "does not say which table"),
    ],
)
def test_items_that_no_table_can_have_are_refused(items, because):
    with pytest.raises(ProvenanceError, match=because):
        Workflow.of(EDGES, items=items)


@pytest.mark.parametrize(
    ("items", "kind"),
    [
        (None, type(None)), (("s", "d"), Columns), ("items.parquet", Listed), (pd.DataFrame(), Listed), (pa.table({}), Listed),
        ({"raw": range(3)}, Ranges), ({"raw": ["a", "b"]}, Prefixes), (Listed("x", "id", "t"), Listed),
    ],
)
def test_ways_to_tell_items(items, kind):
    assert isinstance(Workflow.of(EDGES, items=items).items, kind)


@given(st.lists(st.integers(-(2**63), 2**63 - 1), unique=True, min_size=2, max_size=9), st.lists(st.integers(-(2**63), 2**63 - 1)))
def test_ranges_say_what_a_loop_says(bounds, ids):
    ends = sorted(bounds)
    tables = {f"t{place}": range(low, high) for place, (low, high) in enumerate(zip(ends[::2], ends[1::2]))}
    flow = Workflow.of([], tables=tables, items=tables)
    ids = [*ids, *bounds]
    wanted = [next((flow.place(name) for name, some in tables.items() if one in some), NO_TABLE) for one in ids]
    assert flow.items.of(np.array(ids, np.int64)).tolist() == wanted


@given(st.lists(st.text("ab/", max_size=3), unique=True, min_size=1, max_size=6), st.lists(st.text("ab/", max_size=6)))
def test_beginnings_say_what_a_loop_says(beginnings, ids):
    tables = {f"t{place}": text for place, text in enumerate(beginnings)}
    flow = Workflow.of([], tables=tables, items=tables)
    wanted = []
    for one in ids:
        fitting = [(len(text), name) for name, text in tables.items() if one.startswith(text)]
        wanted.append(flow.place(max(fitting)[1]) if fitting else NO_TABLE)
    assert flow.items.of(pa.array(ids, pa.large_string())).tolist() == wanted
