"""The lineage of captured runs as a provenance graph gives what traces give: of records, both ways and at every operator; of values, as cells tell."""

from __future__ import annotations

from operator import add

import pytest

from bigdebug.errors import NotCapturedError, UnknownOperatorError, UntraceableError

ROWS = [("EWR", 1, 10.0), ("EWR", 2, None), ("JFK", 1, float("nan")), ("JFK", 3, 5.0), (None, 4, 7.0), ("<b>é", 1, 1.0), ("JFK", 3, 5.0)]


@pytest.fixture(scope="module")
def flights(spark):
    spark.createDataFrame(ROWS, "origin string, day int, delay double").repartition(2).localCheckpoint().createOrReplaceTempView("flights")
    return spark.table("flights")


def test_records_of_an_rdd_program(dbg):
    lines = dbg.context.parallelize([f"{n % 5} {'x' * (n % 3)}" for n in range(40)], 4)
    long = lines.filter(lambda line: len(line) > 2)
    pairs = long.map(lambda line: (line.split()[0], len(line)))
    totals = pairs.reduceByKey(add)
    large = totals.filter(lambda pair: pair[1] > 15)
    with dbg.capture("totals") as run:
        result = large.collect()
    graph = dbg.provenance(run, tables={"pairs": pairs})
    whole = dbg.lineage(run)
    assert len(graph.items(whole)) == len(result)
    for kept in (whole.where(lambda pair: pair[0] == "1"), whole):
        sources = kept.goBackAll()
        found = graph.traces(graph.ancestors(kept))
        assert sorted(found["pairs"].rids()) == sorted(kept.back_to(pairs).rids())
        assert sorted(found[sources.inputs[0]].rids()) == sorted(sources.rids())
        assert sorted(found[sources.inputs[0]].collect()) == sorted(sources.collect())
    source = whole.goBackAll().at(whole.goBackAll().rids()[:3])
    ahead = graph.traces(graph.descendants(source))
    at_totals = next(trace for table, trace in ahead.items() if table.startswith("reduceByKey"))
    assert sorted(at_totals.rids()) == sorted(source.forward_to(totals).rids())
    with pytest.raises(UnknownOperatorError, match="have no columns"):
        dbg.provenance(run, values=True)


def test_records_of_a_query(dbg, spark, flights):
    mean = spark.sql("select origin, avg(delay) mean, count(*) n from flights where day < 4 group by origin")
    late = mean.where("n > 0").join(flights.where("day = 1"), "origin")
    with dbg.capture("late") as run:
        late.collect()
    graph = dbg.provenance(run, tables={"means": mean})
    whole = dbg.lineage(run)
    for trace in (whole.where("origin = 'EWR'"), whole):
        back = graph.traces(graph.ancestors(trace))
        assert sorted(map(str, back["means"].toDF().collect())) == sorted(map(str, trace.back_to(mean).toDF().collect()))
        sources = trace.goBackAll()
        for name in whole.run.input_names().values():
            assert sorted(back[name].rids()) == sorted(sources._occurrence(name).rids())


@pytest.mark.slow
def test_values_of_a_query(dbg, spark, flights):
    means = spark.sql("select origin, avg(delay) mean, max(day) + count(*) odd from flights group by origin")
    with dbg.capture("means") as run:
        means.collect()
    graph = dbg.provenance(run, values=True)
    whole = dbg.lineage(run)
    for origin in ("EWR", "JFK", "<b>é"):
        one = whole.where(means.origin == origin)
        for column in means.columns:
            [cell] = [item for item in graph.items(one) if item.endswith(f".{column}")]
            found = graph.ancestors(cell)
            expected = {f"flights[{rid}].{name}" for source, frame in one.cells(column).items() for rid in one.goBackAll()[source].rids() for name in frame.columns[-1:]}
            assert set(found) == {item for item in expected if item.split("].")[1] in {c.split(".")[1] for c in one.columns[column]}}


def test_what_triples_do_not_tell_is_refused_by_name(dbg, spark, flights):
    with dbg.capture("windows") as run:
        spark.sql("select *, sum(delay) over (partition by origin order by day, delay) so_far from flights where delay > 1").collect()
    with pytest.raises(UntraceableError, match=r"Window.* are not told by triples"):
        dbg.provenance(run)
    with dbg.capture("other") as other:
        flights.where("day = 1").collect()
    graph = dbg.provenance(other)
    with pytest.raises(NotCapturedError, match="another run"):
        graph.ancestors(dbg.lineage(run))
