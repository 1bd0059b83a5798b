"""The paper's worked examples come out as they are printed, by each plan; and what cannot be done in Spark is refused by name."""

from __future__ import annotations

from contextlib import closing

import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import functions as F

import bigdebug
from bigdebug.errors import ProvenanceError, TooLargeError, UnknownItemError
from bigdebug.provgraph.workflow import Workflow
from bigdebug.spark.provgraph.graph import SparkGraph
from bigdebug.spark.provgraph.incoming import read
from bigdebug.spark.provgraph.lookups import forget, held
from bigdebug.spark.provgraph.prepared import PLANS, Prepared
from bigdebug.spark.provgraph.recursion import BACKWARD


def triples_in(answer):
    return sorted(map(str, answer.triples.itertuples(index=False, name=None)))


def frame(spark, rows):
    return spark.createDataFrame(pd.DataFrame(rows, columns=["src", "dst", "op"]), "src string, dst string, op string" if isinstance(rows[0][0], str) else None)


PERSONS = [
    (1, 13, "R1"), (4, 16, "R1"), (7, 19, "R1"), (2, 14, "R1"), (5, 17, "R1"), (14, 22, "R2"), (17, 22, "R2"), (8, 20, "R1"), (20, 24, "R2"),
    (3, 15, "R1"), (6, 18, "R1"), (15, 23, "R2"), (18, 23, "R2"), (9, 21, "R1"), (21, 25, "R2"),
]
"""Table IV: persons, those of 25 and older, and the mean age by city."""
CCID = dict(zip(PERSONS, [1, 2, 3, 4, 4, 4, 4, 5, 5, 6, 6, 6, 6, 7, 7]))

COMPONENT = [(1, 2), (1, 3), (2, 4), (3, 4), (4, 5), (4, 6), (5, 7), (7, 8), (7, 9), (6, 10), (10, 11), (10, 12)]
"""Table VII."""
CSID = ["S1 S1", "S1 S1", "S1 S2", "S1 S2", "S2 S2", "S2 S2", "S2 S3", "S3 S3", "S3 S3", "S2 S4", "S4 S4", "S4 S4"]


def test_the_persons_of_the_paper(spark):
    workflow = Workflow.of([("Person1", "Person2", "R1"), ("Person2", "AvgAge", "R2")], items={"Person1": range(1, 13), "Person2": range(13, 22), "AvgAge": range(22, 26)})
    prepared = Prepared(read(frame(spark, PERSONS)), workflow, near=0)
    known = {tuple(row[:3]): row.component for row in prepared.in_components.collect()}
    assert len({(CCID[triple], known[triple]) for triple in PERSONS}) == len(set(CCID.values())) == len(set(known.values()))
    for name in PLANS:
        graph = SparkGraph(prepared, name)
        found = graph.ancestors(23)
        assert triples_in(found) == sorted(map(str, [(15, 23, "R2"), (18, 23, "R2"), (3, 15, "R1"), (6, 18, "R1")]))
        assert found.toPandas().values.tolist() == [[15, "Person2", 1], [18, "Person2", 1], [3, "Person1", 2], [6, "Person1", 2]]
        assert graph.ancestors([1]).toPandas().empty
        with pytest.raises(UnknownItemError, match=r"No item has this id \(got 10\)\. Near it are 9, 13"):
            graph.ancestors([23, 10])


@pytest.mark.slow
def test_the_component_of_the_paper_falls_into_its_four_sets(spark):
    workflow = Workflow.of([("A", "B"), ("B", "C"), ("B", "D")], items={"A": range(1, 4), "B": range(4, 7), "C": range(7, 10), "D": range(10, 13)})
    rows = [(*pair, "-") for pair in COMPONENT]
    prepared = Prepared(read(frame(spark, rows)), workflow, threshold=4, splits=[["A"], ["B"], ["C"], ["D"]], near=0)
    names = {1: "S1", 4: "S2", 7: "S3", 10: "S4"}
    known = {(row.src, row.dst): f"{names[row.src_csid]} {names[row.dst_csid]}" for row in prepared.in_sets.collect()}
    assert [known[pair] for pair in COMPONENT] == CSID
    assert sorted(f"{names[row[0]]} {names[row[1]]}" for row in prepared.dependencies.collect()) == ["S1 S2", "S2 S3", "S2 S4"]
    graph = SparkGraph(prepared, "csprov")
    assert graph._plan.volume(pa.array([8]), BACKWARD).triples.count() == 12 - 3
    with closing(bigdebug.provenance(pd.DataFrame(rows, columns=["src", "dst", "op"]), workflow)) as index:
        for other in (index, *(SparkGraph(prepared, plan) for plan in PLANS)):
            assert sorted(other.ancestors(8)) == [1, 2, 3, 4, 5, 7]
            assert sorted(other.ancestors(12)) == [1, 2, 3, 4, 6, 10]
            assert sorted(other.descendants(5)) == [7, 8, 9]
            assert triples_in(other.ancestors(7)) == sorted(str((*pair, "-")) for pair in COMPONENT if pair in {(1, 2), (1, 3), (2, 4), (3, 4), (4, 5), (5, 7)})
    assert graph.sets().statistics().values.tolist() == [["LC1", f"sp{n}", 1, 0, 3] for n in range(1, 5)]
    graph.close()


def test_what_is_held_lies_by_the_hash_of_its_key_and_in_order_within(spark):
    triples = frame(spark, [(number % 7, number, "r") for number in range(100, 0, -1)])
    for key in ("src", "dst"):
        found = held(triples, key, (key, "op"), 5)
        rows = found.select(key, F.spark_partition_id().alias("at"), F.pmod(F.hash(key), F.lit(5)).alias("hash")).collect()
        forget(found)
        assert len(rows) == 100
        assert all(row.at == row.hash for row in rows)
        for partition in range(5):
            within = [row[key] for row in rows if row.at == partition]
            assert within == sorted(within)


@pytest.mark.slow
def test_items_of_no_table_are_cut_off_together(spark):
    # Spark 4.3 takes element_at of a place that is NULL for one that is not.
    prepared = Prepared(read(frame(spark, [(1, 2, "-"), (1, 3, "-")])), Workflow.of([], tables=["a", "b"], items={"b": range(1, 3)}), threshold=1, near=0)
    assert prepared.sets.statistics().values.tolist() == [["LC1", "sp2", 1, 0, 2], ["LC1", "no table", 1, 0, 1]]
    prepared._close()


def test_what_is_no_triple_is_left_out_and_told_of(spark):
    rows = [("a/1", "b/1", "x"), ("a/1", "b/1", "x"), (None, "b/1", "x"), ("b/1", "b/1", None), ("b/1", "a/2", "<script>alert(1)</script>"), ("c", "b/1", "x")]
    prepared = Prepared(read(frame(spark, rows)), Workflow.of([("A", "B")], items={"A": "a/", "B": "b/"}))
    report = prepared.report
    assert (report.rows, report.edges, report.items, report.operations) == (6, 3, 4, 2)
    assert {finding.kind: (finding.count, finding.examples) for finding in report.findings} == {
        "missing": (1, ("None -> 'b/1' by 'x'",)), "self-loops": (1, ("'b/1' -> 'b/1'",)), "duplicates": (1, ("'a/1' -> 'b/1' by 'x'",)), "no table": (1, ("'c'",)),
        "unmade": (1, ("'b/1' -> 'a/2' by '<script>alert(1)</script>' ('B' -> 'A')",)),
    }
    with pytest.raises(ProvenanceError, match="not clean"):
        Prepared(read(frame(spark, rows)), strict=True)


@pytest.mark.slow
def test_a_long_id_does_not_come_with_each_item_of_its_component(spark):
    long = ["a" * 2_000 + str(n) for n in range(2)]
    rows = [(long[0], long[1], "r"), *((long[1], f"b/{n}", "r") for n in range(30)), *((f"b/{n}", f"c/{n}", "r") for n in range(30))]
    workflow = Workflow.of([("A", "A2"), ("A2", "B"), ("B", "C")], items={"A": "a", "A2": long[1], "B": "b/", "C": "c/"})
    for near in (10_000, 0):
        prepared = Prepared(read(frame(spark, rows)), workflow, threshold=10, near=near)
        [[size]] = prepared.placed.selectExpr("sum(octet_length(component))").collect()
        assert size == 62 * (100 + 64)
        graph = SparkGraph(prepared, "csprov" if near else "ccprov")
        assert list(graph.ancestors("c/7")) == ["b/7", long[1], long[0]]
        graph.close()


@pytest.mark.parametrize(
    ("columns", "message"), [(("parent", "dst", "op"), "no such column"), (("src", "dst", "when"), "Operations are texts"), (("src", "op", "dst"), "integers or texts")],
)
def test_columns_that_have_no_ids_are_refused_by_name(spark, columns, message):
    with pytest.raises(ProvenanceError, match=r"decimal\(20,0\).*integers by col\('src'\).cast\('bigint'\)"):
        read(spark.sql("select cast(1 as decimal(20, 0)) src, cast(2 as decimal(20, 0)) dst, 'x' op"))
    with pytest.raises(ProvenanceError, match=message):
        read(spark.sql("select 1L src, 2 dst, 'x' op, current_timestamp() when"), columns)


@pytest.mark.slow
def test_an_answer_that_the_driver_does_not_take_stays_in_spark(spark, monkeypatch):
    monkeypatch.setattr("bigdebug.spark.provgraph.graph.MOST", 3)
    rows = [(n, n + 1, "next") for n in range(20)]
    graph = SparkGraph(Prepared(read(frame(spark, rows))), "rq")
    answer = graph.ancestors([8])
    assert {(row.item, row.depth) for row in answer.toDF().collect()} == {(n, 8 - n) for n in range(8)}
    assert {(row.src, row.dst) for row in answer.triplesDF().collect()} == {(n, n + 1) for n in range(8)}
    assert len(graph.descendants([8], depth=4)) == 4
    # An item that is asked about is an ancestor where another was made of it; the nearest come first.
    several = graph.ancestors([5, 8])
    assert {(row.item, row.depth) for row in several.toDF().collect()} == {(n, min((asked - n) for asked in (5, 8) if asked > n)) for n in range(8)}
    cut = graph.ancestors([15], limit=4)
    assert (sorted(row.item for row in cut.toDF().collect()), cut.triplesDF().count(), cut.stopped) == ([11, 12, 13, 14], 4, "limit 4: there are triples beyond it")
    with pytest.raises(TooLargeError, match="toDF"):
        answer.toPandas()
    # What stays in Spark can be asked about all the same, in any graph, as far as the driver takes its items.
    assert list(answer) == list(range(7, -1, -1))
    assert {(row.item, row.depth) for row in graph.descendants(answer, depth=1).toDF().collect()} == {(n, 1) for n in range(1, 9)}
    assert set(bigdebug.provenance(pd.DataFrame(rows, columns=["src", "dst", "op"]), progress=False).descendants(answer, depth=2)) == set(range(1, 10))
    monkeypatch.setattr("bigdebug.spark.provgraph.answers.MOST", 3)
    with pytest.raises(TooLargeError, match="more items than the driver takes"):
        graph.descendants(answer)
    with pytest.raises(UnknownItemError, match="Near it are 20"):
        graph.ancestors([8, 99])
