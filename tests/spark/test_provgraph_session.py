"""dbg.provenance chooses a plan by size and says why; every plan gives the same answers, as DataFrames too; the user's Spark is as it was."""

from __future__ import annotations

import shutil
from collections import namedtuple
from contextlib import closing

import pandas as pd
import pytest

import bigdebug
from benchmarks.memory import watching
from bigdebug import Workflow
from bigdebug.errors import ProvenanceError, TooLargeError, UnknownItemError
from tests.left import cached

FLOW = [("raw", "clean", "filter"), ("clean", "mean", "avg")]
ROWS = [(f"raw/{n}", f"clean/{n}", "filter") for n in range(0, 40, 2)] + [(f"clean/{n}", f"mean/{n % 3}", "avg") for n in range(0, 40, 2)]
SCHEMA = "src string, dst string, op string"
PLANS = ["index", "rq", "ccprov", "csprov"]


@pytest.fixture(scope="module")
def triples(spark):
    return spark.createDataFrame(ROWS, SCHEMA)


@pytest.fixture(scope="module")
def known(dbg, triples):
    """A graph for each plan, over the same triples."""
    flow = Workflow.of(FLOW, items={name: f"{name}/" for name in ("raw", "clean", "mean")})
    graphs = {plan: dbg.provenance(triples, flow, plan, threshold=5) for plan in PLANS}
    yield graphs
    for plan in PLANS[1:]:
        graphs[plan].close()


@pytest.mark.many
@pytest.mark.parametrize("plan", PLANS)
def test_answers_are_dataframes_too(known, plan):
    graph = known[plan]
    assert f"plan {plan} (as asked)" in repr(graph)
    answer = graph.ancestors("mean/1")
    made = [n for n in range(0, 40, 2) if n % 3 == 1]
    assert {tuple(row) for row in answer.toDF().collect()} == {(f"{t}/{n}", t, d) for t, d in (("clean", 1), ("raw", 2)) for n in made}
    assert {tuple(row) for row in answer.triplesDF().collect()} == {row for row in ROWS if int(row[0].split("/")[1]) in made}
    assert answer.toDF().schema.simpleString() == "struct<item:string,table:string,depth:bigint>"
    assert graph.ancestors("raw/0").toDF().collect() == []
    assert graph.ancestors("raw/0").triplesDF().schema.simpleString() == "struct<src:string,dst:string,op:string>"
    fed = graph.feeds("raw/4", "clean/4")
    assert sorted(fed) == ["mean/1"]
    assert fed.index.tables_of(fed.walked.triples.src).tolist() == ["clean"]
    assert "besides 'clean/4' and what made it" in repr(fed)
    with pytest.raises(UnknownItemError, match="mean/1"):
        graph.ancestors("mean/11")
    with pytest.raises(UnknownItemError, match="Near it are 'mean/2'"):
        graph.ancestors("Mean/2")
    with pytest.raises(UnknownItemError, match="An item is not there"):
        graph.ancestors(3)


@pytest.mark.many
@pytest.mark.parametrize("plan", PLANS)
def test_common_ancestors_and_paths_are_dataframes_and_pictures_too(known, plan):
    graph = known[plan]
    shared = graph.common(["mean/1", "clean/4"])
    assert shared.toDF().schema.simpleString() == "struct<item:string,table:string,depth:bigint,lowest:boolean>"
    assert [tuple(row) for row in shared.toDF().collect()] == [tuple(row) for row in shared.toPandas().itertuples(index=False)] == [("raw/4", "raw", 2, True)]
    assert sorted(map(tuple, shared.triplesDF().collect())) == [("clean/4", "mean/1", "avg"), ("raw/4", "clean/4", "filter")]
    assert list(bigdebug.view(shared).layout.xaxis.ticktext) == [f"\u2068{table}\u2069" for table in ("raw", "clean", "mean")]
    assert graph.common(["mean/1", "mean/2"]).toDF().collect() == []
    way = graph.paths("raw/4", "mean/1")
    assert way.toDF().schema.simpleString() == "struct<item:string,table:string,depth:bigint,paths:decimal(38,0)>"
    assert [tuple(row) for row in way.toDF().collect()] == [("raw/4", "raw", 0, 1), ("clean/4", "clean", 1, 1), ("mean/1", "mean", 2, 1)]
    assert sorted(map(tuple, way.triplesDF().collect())) == sorted(map(tuple, shared.triplesDF().collect()))
    assert graph.paths("raw/4", "mean/2").toDF().collect() == []


def test_more_paths_than_spark_counts_are_refused(dbg, spark):
    graph = dbg.provenance(spark.range(254).selectExpr("id div 2 src", "id div 2 + 1 dst", "string(id) op"), plan="index")
    way = graph.paths(0, 127)
    assert way.count == 2**127
    with pytest.raises(TooLargeError, match="38 digits"):
        way.toDF()
    assert way.triplesDF().count() == 254
    assert graph.paths(0, 126).toDF().agg({"paths": "max"}).collect()[0][0] == 2**126


@pytest.mark.many
@pytest.mark.parametrize("plan", PLANS[1:])
def test_all_tell_the_same_of_what_was_read(known, plan):
    assert str(known[plan].report).split("\n")[0].split(";")[0] == str(known["index"].report).split("\n")[0].split(";")[0]
    assert not known["index"].sets().statistics().empty
    pd.testing.assert_frame_equal(known[plan].statistics(), known["index"].statistics(), check_dtype=False)
    assert known[plan].sets().statistics().equals(known["index"].sets().statistics())


@pytest.mark.many
@pytest.mark.parametrize("plan", PLANS[1:])
def test_components_and_cuts_are_for_all_to_see(known, plan):
    graph, index = known[plan], known["index"]
    whole = graph.components()
    assert len(whole) == len(index.components()) == 3
    pd.testing.assert_frame_equal(whole.largest(2), index.components().largest(2), check_dtype=False)
    assert {item for item, component in whole.toDF().collect() if component == "clean/0"} == {"clean/0", *graph.descendants("clean/0"), *graph.ancestors("mean/0")}
    for given in ({}, {"threshold": 1_000}, {"threshold": 3, "splits": [["raw"], ["clean", "mean"]]}):
        found, other = graph.sets(**given), index.sets(**given)
        assert graph.sets(**given) is found
        assert found.statistics().equals(other.statistics())
        assert len(found) == len(other)
        names = index.index.named(other.dependencies.ravel()).reshape(-1, 2)
        assert sorted(map(tuple, found.dependencies.collect())) == sorted(map(tuple, names))
        assert dict(found.toDF().select("item", "csid").collect()) == dict(zip(index.first(limit=None), index.index.named(other.labels)))
    with pytest.raises(ProvenanceError, match="threshold is a number"):
        graph.sets(threshold=0)
    with pytest.raises(ProvenanceError, match="no such table"):
        graph.sets(splits=[["raw"], ["strange"]])
    assert graph.sets(threshold=5) is graph.sets()


@pytest.mark.slow
def test_the_plan_follows_from_the_size_of_the_triples_and_of_the_disk(dbg, triples, monkeypatch):
    graph = dbg.provenance(triples)
    assert graph.plan == "index"
    assert "40 triples take" in repr(graph)
    disk = namedtuple("disk", "total used free")  # noqa: PYI024
    monkeypatch.setattr(shutil, "disk_usage", lambda path: disk(100, 100, 4000))
    graph = dbg.provenance(triples)
    assert graph.plan == "ccprov"
    assert graph.planned("rq").ancestors("clean/0").items.tolist() == ["raw/0"]
    graph.close()


def test_an_index_is_opened_again(dbg, triples, tmp_path):
    dbg.provenance(triples, plan="index", at=tmp_path / "graph")
    assert bigdebug.open(tmp_path / "graph").ancestors("clean/0").items.tolist() == ["raw/0"]


def test_large_partitions_are_streamed_in_parts(dbg, spark, monkeypatch):
    monkeypatch.setattr("bigdebug.spark.provgraph.provenance._PORTIONS", 1 << 18)
    graph = dbg.provenance(spark.range(1, 100, 1, 1).selectExpr("id - 1 parent", "id child", "'next' how"), plan="index", columns=("parent", "child", "how"), memory="128m")
    assert graph.report.edges == 99
    assert len(graph.ancestors(50)) == 50


@pytest.mark.slow
def test_memory_stays_below_the_limit_on_the_way_out_of_spark(dbg, spark):
    long = spark.range(0, 800_000, 1, 8).selectExpr("concat('clean/', repeat('of a row ', 10), id) src", "concat('mean/', repeat('of a row ', 10), id) dst", "'avg' op")
    dbg.provenance(long.limit(10), plan="index", memory="128m").close()
    with watching() as watched:
        dbg.provenance(long, plan="index", memory="128m").close()
    assert watched.most - watched.before < 128, "megabytes"


@pytest.mark.parametrize(
    ("given", "message"),
    [({"plan": "fast"}, "no such plan"), ({"workflow": FLOW}, "no workflow"), ({"plan": "rq", "at": "somewhere"}, "Only an index"), ({"columns": ("src", "dst", "how")}, "no such column"), ({"memory": 100}, "so little memory")],
)
def test_what_cannot_be_done_is_refused_by_name(dbg, triples, given, message):
    with pytest.raises(ProvenanceError, match=message):
        dbg.provenance(triples, **given)


@pytest.mark.many
@pytest.mark.parametrize("plan", ["index", "rq"])
def test_a_workflow_that_does_not_say_which_items_tables_have_adds_no_column(dbg, triples, plan):
    with closing(dbg.provenance(triples, Workflow.of(FLOW), plan)) as graph:
        assert "not looked for: tables" in str(graph.report)
        assert graph.ancestors("mean/1").toDF().columns == ["item", "depth"]
        assert graph.workflow is None
        assert len(graph.statistics()) == 1
        with pytest.raises(ProvenanceError, match="has no tables"):
            graph.first("raw")


def test_sets_take_a_workflow(dbg, triples):
    with pytest.raises(ProvenanceError, match="none was given that says which table"):
        dbg.provenance(triples, plan="csprov")


@pytest.mark.many
@pytest.mark.parametrize("plan", PLANS)
def test_what_is_the_users_stays_as_it_is(dbg, spark, triples, plan):
    own = triples.where("op = 'avg'").cache()
    own.count()
    conf = dict(spark.sparkContext.getConf().getAll())
    held, runs_before, tables = cached(spark.sparkContext), len(dbg.runs), spark.catalog.listTables()
    with dbg.capture("user's") as runs:
        graph = dbg.provenance(triples, plan=plan if plan != "csprov" else "ccprov")
        graph.ancestors("mean/1").toPandas()
    assert not runs.runs
    getattr(graph, "close", lambda: None)()
    assert cached(spark.sparkContext) <= held
    assert (len(dbg.runs), spark.catalog.listTables()) == (runs_before, tables)
    assert own.is_cached
    assert dict(spark.sparkContext.getConf().getAll()) == conf
    own.unpersist()
