"""Law: RQ = CCProv = CSProv = the index, on graphs of every kind; and all tell the same of triples that are none."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import bigdebug
from bigdebug import Workflow
from bigdebug.errors import ProvenanceError
from bigdebug.provgraph import questions
from bigdebug.provgraph.index import NO_TABLE, Index
from bigdebug.provgraph.paths import paths
from bigdebug.provgraph.sets import sets
from bigdebug.spark.provgraph.answers import FarAnswer
from bigdebug.spark.provgraph.graph import SparkGraph
from bigdebug.spark.provgraph.incoming import read
from bigdebug.spark.provgraph.prepared import PLANS, Prepared
from bigdebug.store.arrays import InMemory
from tests.laws.graphs import Graph, side_by_side

# The first example is the smallest there is.
FEW = settings(max_examples=max(2, int(os.environ.get("LAW_EXAMPLES", "10")) // 4), deadline=None, suppress_health_check=[*HealthCheck])


def framed(spark: Any, rows: list[tuple[Any, ...]], *more: str) -> Any:
    """By Arrow, which takes no worker of Python's."""
    kind = pa.string() if any(isinstance(value, str) for row in rows for value in row[:2]) else pa.int64()
    kinds = [kind, kind, *[pa.string()] * (1 + len(more))]
    columns = [pa.array([row[place] for row in rows], kind) for place, kind in enumerate(kinds)]
    return spark.createDataFrame(pa.table(columns, ["src", "dst", "op", *more]))


def graph_of(spark: Any, graph: Graph, told: str, threshold: int, lost: Collection[Any] = ()) -> tuple[Prepared, Index]:
    """The graph as Spark has it, with tables told by columns or by a list, those of some items by neither; and its index in memory."""
    rows: list[tuple[Any, ...]] = [*graph.triples]
    tables = {item: graph.tables[item] for item in graph.items if item not in lost}
    items: Any = ("s", "d")
    if told == "columns":
        rows = [(*triple, tables.get(triple[0]), tables.get(triple[1])) for triple in graph.triples]
    else:
        kind = pa.string() if any(isinstance(item, str) for item in graph.items) else pa.int64()
        items = pa.table([pa.array(list(tables), kind), pa.array(list(tables.values()), pa.string())], ["item", "table"])
    workflow = Workflow.of(graph.dependencies, items=items)
    prepared = Prepared(read(framed(spark, rows, *(("s", "d") if told == "columns" else ())), workflow=workflow), workflow, threshold)
    index = Index.of_arrays(*zip(*graph.triples))
    places = [workflow.place(tables[item]) if item in tables else NO_TABLE for item in index.named(np.arange(index.items)).tolist()]
    return prepared, replace(index, workflow=workflow, tables=InMemory(np.array(places, np.uint16)))


def rows_in(triples: pd.DataFrame) -> list[Any]:
    return sorted(triples.itertuples(index=False, name=None), key=repr)


def same(answer: Any, expected: Any) -> None:
    pd.testing.assert_frame_equal(answer.toPandas(), expected.toPandas())
    assert rows_in(answer.triples) == rows_in(expected.triples)
    assert (answer.stopped, repr(answer)) == (expected.stopped, repr(expected))


def same_in_spark(answer: Any, expected: Any) -> None:
    """An answer that stays in Spark."""
    assert isinstance(answer, FarAnswer)
    assert [tuple(row) for row in answer.toDF().orderBy("depth", "item").collect()] == list(zip(expected.items.tolist(), expected.depths.tolist()))
    assert sorted(map(repr, map(tuple, answer.triplesDF().collect()))) == sorted(map(repr, map(tuple, rows_in(expected.triples))))
    assert (answer.stopped, len(answer)) == (expected.stopped, len(expected))


@pytest.mark.slow
@FEW
@given(known=side_by_side(least=6), told=st.sampled_from(["columns", "list"]), data=st.data())
def test_all_plans_answer_as_the_index_does(spark: Any, known: tuple[Graph, list[set[Any]]], told: str, data: st.DataObject) -> None:
    graph, kinds = known
    lost = data.draw(st.sets(st.sampled_from(graph.items), min_size=2, max_size=4))
    prepared, index = graph_of(spark, graph, told, data.draw(st.integers(2, 12)), lost)
    again = len(graph.triples) - len(set(graph.triples))
    assert (prepared.report.edges, prepared.report.items) == (index.edges, index.items)
    assert [(finding.kind, finding.count) for finding in prepared.report.findings] == [("duplicates", again)] * bool(again) + [("no table", len(lost))]
    asked = [data.draw(st.sampled_from(sorted(items))) for items in kinds if items]
    one, other = data.draw(st.lists(st.sampled_from(graph.items), min_size=2, max_size=2, unique=True))
    depth, limit = data.draw(st.integers(0, 4)), data.draw(st.integers(0, 9))
    graphs = [SparkGraph(prepared, name) for name in PLANS]
    assert graphs[0].sets().statistics().equals(sets(index, prepared._threshold).statistics())
    for graph_in_spark in graphs:
        same(graph_in_spark.ancestors(asked), questions.ancestors(index, asked))
        same(graph_in_spark.descendants(asked, limit=limit), questions.descendants(index, asked, limit=limit))
        same(graph_in_spark.ancestors(one, depth=depth), questions.ancestors(index, one, depth=depth))
        assert list(graph_in_spark.common([one, other]).items) == list(questions.common(index, [one, other]).items)
        same(graph_in_spark.feeds(one, other, depth=depth), questions.feeds(index, one, other, depth))
        found = graph_in_spark.paths(one, other)
        assert (found.count, found.lengths) == (paths(index, one, other).count, paths(index, one, other).lengths)
        graph_in_spark.close()


@pytest.mark.slow
@FEW
@given(known=side_by_side(least=6), data=st.data())
def test_answers_that_stay_in_spark_are_those_of_the_index(spark: Any, known: tuple[Graph, list[set[Any]]], data: st.DataObject) -> None:
    graph, _ = known
    with pytest.MonkeyPatch.context() as small:
        small.setattr("bigdebug.spark.provgraph.graph.MOST", 0)
        small.setattr("bigdebug.spark.provgraph.plans.MOST", data.draw(st.sampled_from([5, 2_000_000])))
        prepared, index = graph_of(spark, graph, "list", threshold=4)
        asked = data.draw(st.lists(st.sampled_from([dst for _, dst, _ in graph.triples]), min_size=1, max_size=3))
        depth, limit = data.draw(st.integers(0, 4)), data.draw(st.integers(0, 9))
        for graph_in_spark in [SparkGraph(prepared, plan) for plan in ("rq", "csprov")]:
            same_in_spark(graph_in_spark.ancestors(asked), questions.ancestors(index, asked))
            same_in_spark(graph_in_spark.ancestors(asked, depth=depth), questions.ancestors(index, asked, depth=depth))
            same_in_spark(graph_in_spark.ancestors(asked, limit=limit), questions.ancestors(index, asked, limit=limit))
            graph_in_spark.close()


ITEM = st.sampled_from(["", "a", "b\0", "ab" * 500, "<b>é", "c", "d", "e", None])
TABLE = st.sampled_from(["raw", "clean", "sums", None])


@FEW
@given(st.lists(st.tuples(ITEM, ITEM, st.sampled_from(["f", "g", None]), TABLE, TABLE), min_size=3, max_size=30), st.booleans())
def test_all_tell_the_same_of_triples_that_are_none(spark: Any, rows: list[tuple[Any, ...]], named: bool) -> None:
    edges = [("raw", "clean", ["f"] if named else []), ("clean", "sums", ["g", None] if named else [])]
    workflow = Workflow.of(edges, items=("s", "d"))
    frame = framed(spark, rows, "s", "d")
    index = bigdebug.provenance(frame.toPandas(), workflow, progress=False).report
    prepared = Prepared(read(frame, workflow=workflow), workflow)
    report = prepared.report
    assert (report.rows, report.edges, report.items, report.operations) == (index.rows, index.edges, index.items, index.operations)
    counted = [{finding.kind: finding.count for finding in one.findings if finding.kind not in ("unmade", "unknown operations")} for one in (report, index)]
    assert counted[0] == counted[1]
    if not index["two tables"].count:  # of which of them it is, nobody says
        assert [(one["unmade"].count, one["unknown operations"].count) for one in (report, index)] == [(index["unmade"].count, index["unknown operations"].count)] * 2
    assert all(finding.examples for finding in report.findings)
    prepared._close()


@pytest.mark.slow
def test_circles_are_answered_and_told(spark: Any) -> None:
    rows = [(1, 2, "R"), (2, 3, "R"), (3, 1, "R"), (3, 4, "R"), (8, 7, "R")]
    index = Index.of_arrays(*zip(*rows))
    prepared = Prepared(read(framed(spark, rows)))
    assert [(finding.kind, finding.count) for finding in prepared.report.findings] == [("cycles", 3)]
    assert prepared.report["cycles"].examples[0].count("<-") == 3
    for graph in [SparkGraph(prepared, plan) for plan in ("rq", "ccprov")]:
        same(graph.ancestors([1, 4]), questions.ancestors(index, [1, 4]))
        with pytest.raises(ProvenanceError, match="go in circles"):
            graph.paths(1, 4)
        graph.close()


def test_cycles_that_were_not_looked_for_are_told(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bigdebug.spark.provgraph.checks._MOST", 1)
    for rows, unlooked in (([(1, 2, "R"), (3, 2, "R"), (4, 3, "R")], True), ([(1, 2, "R"), (1, 3, "R")], False), ([(3, 2, "R"), (2, 1, "R")], False)):
        prepared = Prepared(read(framed(spark, rows)))
        assert ("not looked for: cycles" in str(prepared.report)) == unlooked
        prepared._close()
