"""What provenance in Spark cannot do it says by name; what failed, or was closed, holds nothing of Spark's."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import functions as F

import bigdebug
from bigdebug import Workflow
from bigdebug.errors import IncompleteLineageError, ProvenanceError, UnknownItemError, UnknownOperatorError
from tests.left import cached

FLOW = Workflow.of([("a", "b"), ("b", "c")], items={"a": range(1, 2), "b": range(2, 3), "c": range(3, 9)})
ROWS = pa.table({"src": [1, 2, 2, 3], "dst": [2, 3, 3, 3], "op": ["x", None, None, "y"]})


@pytest.fixture(scope="module")
def triples(spark: Any) -> Any:
    return spark.createDataFrame(ROWS)


@pytest.fixture(scope="module")
def graph(dbg: Any, triples: Any) -> Any:
    made = dbg.provenance(triples, FLOW, "rq")
    yield made
    made.close()


@pytest.mark.parametrize(
    ("given", "message"),
    [({"plan": "rq", "strict": True}, "not clean"), ({"plan": "index", "strict": True}, "not clean"), ({"plan": "csprov", "workflow": None}, "says which table"),
     ({"plan": "csprov", "splits": [["a"]]}, "No split has the tables"), ({"plan": "csprov", "threshold": "x"}, "threshold is a number"),
     ({"plan": "rq", "workflow": Workflow.of([("a", "b")], items={"a": "a/"})}, "beginnings of texts"), ({"columns": ("src", "dst")}, "three columns"),
     ({"values": True}, "values= means nothing of triples"), ({"tables": {}}, "tables= means nothing of triples"), ({"at": 5}, "told by its path")],
)  # fmt: skip
def test_what_fails_leaves_nothing_in_spark(dbg: Any, spark: Any, triples: Any, given: dict[str, Any], message: str) -> None:
    before = cached(spark.sparkContext)
    with pytest.raises(ProvenanceError, match=message):
        dbg.provenance(triples, **{"workflow": FLOW, **given})
    assert cached(spark.sparkContext) <= before


@pytest.mark.parametrize("given", [pd.DataFrame({"src": [1], "dst": [2], "op": "r"}), ROWS, "triples.parquet", None])
def test_what_is_no_dataframe_of_spark_is_sent_where_it_is_read(dbg: Any, given: Any) -> None:
    with pytest.raises(ProvenanceError, match=r"bigdebug\.provenance\(triples, workflow\)"):
        dbg.provenance(given)


def test_a_stream_is_refused(dbg: Any, spark: Any) -> None:
    stream = spark.readStream.format("rate").load().selectExpr("value src", "value + 1 dst", "'r' op")
    with pytest.raises(ProvenanceError, match="stream"):
        dbg.provenance(stream)


@pytest.mark.parametrize("items", [[[1]], True, 3.0, "3", None, 2**63, [3, None]])
def test_what_is_no_id_is_refused(graph: Any, items: Any) -> None:
    with pytest.raises(UnknownItemError, match="An item is not there"):
        graph.ancestors(items)


@pytest.mark.parametrize(
    ("ask", "message"),
    [(lambda g: g.ancestors(pd.DataFrame({"item": [3]})), "a column"), (lambda g: g.ancestors([]), "No item"), (lambda g: g.ancestors(3, depth="x"), "number of triples"),
     (lambda g: g.descendants(3, limit=-1), "number of items"), (lambda g: g.feeds(1, 3, depth=True), "number of triples"), (lambda g: g.planned("index"), "Plans are rq, ccprov, csprov;"),
     (lambda g: g.common([3]), "two items or more"), (lambda g: g.paths(3, 3), "from one item to another"), (lambda g: g.first("d"), "no such table")],
)  # fmt: skip
def test_what_is_no_question_is_refused(graph: Any, ask: Any, message: str) -> None:
    with pytest.raises(ProvenanceError, match=message):
        ask(graph)


def test_items_are_told_in_any_column(graph: Any) -> None:
    for items in (pa.array([3, 3]), np.array([3]), np.array(3), pd.Series([3]), {3}, graph.descendants(2)):
        assert list(graph.ancestors(items)) == [2, 1]
    assert (graph.first(), graph.first("c"), graph.first(limit=1), len(graph), graph.workflow) == ([1, 2, 3], [3], [1], 3, FLOW)


def test_a_closed_graph_says_so(dbg: Any, spark: Any, triples: Any) -> None:
    before = cached(spark.sparkContext)
    one = dbg.provenance(triples, FLOW, "rq")
    other = one.planned("ccprov")
    one.close()
    one.close()
    assert list(other.ancestors(3)) == [2, 1]
    for ask in (lambda: one.ancestors(3), lambda: one.planned("rq"), one.statistics, one.sets, one.first):
        with pytest.raises(ProvenanceError, match="was closed"):
            ask()
    assert "closed" in repr(one)
    other.close()
    assert cached(spark.sparkContext) <= before


def test_a_stopped_spark_is_told(dbg: Any, graph: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    # As spark.stop() leaves it; the session of these tests goes on.
    monkeypatch.setattr(graph._prepared.spark.sparkContext, "_jsc", None)
    for ask in (lambda: graph.ancestors(3), lambda: graph.planned("ccprov"), graph.statistics, graph.sets, graph.first):
        with pytest.raises(IncompleteLineageError, match="has been stopped"):
            ask()


def test_what_is_not_clean_is_logged(dbg: Any, triples: Any, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        dbg.provenance(triples, FLOW, "rq").close()
    assert "1 triple that derives an item from itself (left out): 3 -> 3 by 'y'" in caplog.text
    assert "1 triple that was there before (left out): 2 -> 3" in caplog.text


@pytest.mark.parametrize("plan", ["index", "rq"])
def test_texts_that_are_not_utf8_are_left_out_and_told(dbg: Any, spark: Any, plan: str) -> None:
    frame = spark.sql("select cast(X'ff41' as string) src, 'b' dst, 'r' op union all select 'x', 'y', cast(X'fe' as string) union all select 'y', 'z', 'r'")
    graph = dbg.provenance(frame, plan=plan)
    assert graph.report["malformed"].count == 2
    assert list(graph.ancestors("z")) == ["y"]
    assert graph.first() == ["y", "z"]


@pytest.mark.many
@pytest.mark.parametrize("plan", ["index", "ccprov"])
def test_lists_of_items_are_read_alike(dbg: Any, triples: Any, tmp_path: Any, plan: str) -> None:
    (tmp_path / "items.tsv").write_text('item\ttable\n1\ta\n"2"\tb\n3\tc\n9\tc\n')
    flow = Workflow.of(FLOW.edges, items=tmp_path / "items.tsv")
    graph = dbg.provenance(triples, flow, plan)
    assert (len(graph), len(graph.ancestors(9)), graph.statistics()["items"].tolist()) == (4, 0, [1, 1, 2])
    assert graph.ancestors(3).tables.tolist() == ["b", "a"]
    for wrong, message in (("1\ta\n007\tb", "has no id"), ("\ta", "has no id"), ("1\tz", "no such table")):
        (tmp_path / "items.tsv").write_text(f"item\ttable\n{wrong}\n")
        with pytest.raises(ProvenanceError, match=message):
            dbg.provenance(triples, flow, plan)
    for strange in (pd.DataFrame({"item": ["1", "x"], "table": "a"}), pd.DataFrame({"id": [1], "table": "a"}), tmp_path / "nothing.csv"):
        with pytest.raises(ProvenanceError, match=r"all texts or all integers|column|no such file|cannot be read"):
            dbg.provenance(triples, Workflow.of(FLOW.edges, items=strange), plan)


@pytest.mark.many
@pytest.mark.parametrize("plan", ["index", "rq", "ccprov", "csprov"])
def test_nothing_at_all_is_a_graph_of_nothing(dbg: Any, spark: Any, triples: Any, plan: str, caplog: pytest.LogCaptureFixture) -> None:
    graph = dbg.provenance(triples.where("src > 99").repartition(5), FLOW, plan)
    assert "from no rows at all" in caplog.text
    assert (len(graph), graph.first(), graph.statistics()["items"].tolist()) == (0, [], [0, 0, 0])
    with pytest.raises(UnknownItemError, match="The graph has no items"):
        graph.ancestors(1)


def test_columns_without_operations(dbg: Any, triples: Any) -> None:
    for graph in (dbg.provenance(triples, columns=("src", "dst", None)), dbg.provenance(triples.withColumn("op", F.lit(None)), plan="rq")):
        assert (graph.report.operations, graph.ancestors(3).triples["op"].tolist()) == (0, [None, None])


def test_an_index_is_built_anew_if_it_is_said(dbg: Any, triples: Any, tmp_path: Any) -> None:
    dbg.provenance(triples, at=tmp_path / "graph")
    with pytest.raises(bigdebug.errors.StoreError, match="replace=True"):
        dbg.provenance(triples.where("src = 1"), at=tmp_path / "graph")
    assert len(dbg.provenance(triples.where("src = 1"), at=tmp_path / "graph", replace=True)) == 2


def test_what_means_nothing_of_a_run_is_refused(dbg: Any, spark: Any, triples: Any) -> None:
    doubled = triples.selectExpr("src * 2 `a].b`", "op").where("op is not null")
    with dbg.capture("doubled") as run:
        doubled.collect()
    for name, value in {"workflow": FLOW, "plan": "rq", "columns": ("a", "b", "c"), "threshold": 3, "splits": [["a"]], "strict": True}.items():
        with pytest.raises(ProvenanceError, match=f"{name}= means nothing of a run"):
            dbg.provenance(run, **{name: value})
    with pytest.raises(UnknownOperatorError, match="was not made of this DataFrame"):
        dbg.provenance(run, values=True, tables={"x": triples.limit(1)})
    with pytest.raises(UnknownOperatorError, match="names of operators"):
        dbg.provenance(run, tables=["x"])
    graph = dbg.provenance(run, values=True)
    with pytest.raises(UnknownItemError, match="Near it are"):
        graph.traces("junk")
    [cell] = [item for item in graph.first() if item.endswith(".a].b")][:1]
    assert {table: trace.count() for table, trace in graph.traces([cell]).items()} == {cell.split("[")[0]: 1}


def test_what_is_read_and_nothing_else_is_made_of_nothing(dbg: Any, triples: Any) -> None:
    with dbg.capture("read") as run:
        triples.collect()
    graph = dbg.provenance(run, values=True)
    assert (len(graph), graph.report.edges) == (12, 0)


def test_rows_may_have_columns_called_as_ours(dbg: Any, spark: Any) -> None:
    frame = spark.createDataFrame(pa.table({"rid": [7], "origin": ["EWR"]}))
    with dbg.capture("named"):
        frame.where("rid > 0").collect()
    found = dbg.lineage(frame.where("rid > 0")).goBackAll().toPandas()
    assert list(found.columns) == ["bigdebug_rid", "bigdebug_origin", "rid", "origin"]
    assert found["origin"].tolist() == ["EWR"]
