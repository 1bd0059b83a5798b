"""Pages of traces: records by their numbers, the same ones however they are asked for, and traces from some of them."""

from __future__ import annotations

import pytest

from bigdebug.errors import UnknownOperatorError, UnknownRecordError
from bigdebug.spark.sql.paged import MOST


@pytest.fixture(scope="module")
def words(dbg):
    lines = dbg.context.parallelize(["a b", "b c", "c d e", "b"], 3).map(str)
    counts = lines.flatMap(str.split).map(lambda word: (word, 1)).reduceByKey(lambda n, m: n + m, 2)
    with dbg.capture("words") as run:
        counts.join(counts.mapValues(str)).collect()
    return dbg.lineage(run)


@pytest.fixture(scope="module")
def rows(dbg, spark):
    spark.range(20).selectExpr("id % 3 AS k", "id AS v", "array(id) AS a").createOrReplaceTempView("numbers")
    return spark.sql("SELECT l.k, sum(l.v) AS s, first(l.a) AS a FROM numbers l JOIN numbers r ON l.v = r.v + 1 GROUP BY l.k")


def all_rows(trace, num):
    """Every page, and their records by number."""
    found, start = [], 0
    while True:
        page = trace.page(start, num)
        found += zip(page.numbers, page.rows)
        if not page.more:
            return found
        start += num


@pytest.mark.parametrize("num", [1, 2, 50])
def test_pages_hold_the_records_of_an_rdd_in_the_order_of_their_rids(words, num):
    assert [tuple(row) for _, row in all_rows(words, num)] == words.collect()
    assert [number for number, _ in all_rows(words, num)] == list(range(words.count()))
    source = words.goBackAll()
    assert source.page(1, 1).names == (str(source.origins()[1]),)
    assert source.page(1, 1).rows == ((source.collect()[1],),)


def test_numbered_records_are_those_of_the_page(words):
    for trace in (words, words.goBack(), words.goBackAll()):
        page = trace.page()
        for number, row in zip(page.numbers, page.rows):
            [record] = trace.numbered([number]).collect()
            assert record == (row[0] if page.columns == ("record",) else row)
    assert words.numbered([2, 0, 2]).rids().tolist() == words.rids()[[0, 2]].tolist()
    with pytest.raises(UnknownRecordError, match="5 records"):
        words.numbered([5]).count()
    with pytest.raises(UnknownRecordError, match="from 0"):
        words.numbered([-1])


def test_a_trace_at_several_operators_has_a_part_for_each(words):
    graph = words.run.graph
    parents = [graph[p] for p in graph[words.run.subject].parents]
    both = words.numbered([0]).back_to(parents[0])
    assert both[parents[0]].rids().tolist() == both.rids().tolist()
    with pytest.raises(UnknownOperatorError, match="does not stand at"):
        words[parents[0]]


def test_pages_of_rows_are_the_rows_and_lead_back(dbg, rows):
    trace = dbg.lineage(rows)
    assert sorted(row for _, row in all_rows(trace, 2)) == sorted(map(tuple, rows.collect()))
    for number, row in all_rows(trace, 1):
        chosen = trace.numbered([number])
        assert [tuple(r) for r in chosen.collect()] == [row]
        assert chosen.goBackAll().count() == trace.where(f"k = {row[0]}").goBackAll().count()


def test_rows_of_a_source_are_numbered_by_their_rids(dbg, rows):
    source = dbg.lineage(rows).where("k = 1").goBackAll()
    parts = [source[source.run.graph[o]] for o in source.operators]
    for part in parts:
        page = part.page(2, 3)
        assert page.numbers == (2, 3, 4)
        assert page.names == tuple(map(str, part.origins()[2:5]))
        assert page.rows == tuple(map(tuple, part.collect()[2:5]))
    assert len(parts) == 2


def test_a_row_of_a_source_that_is_read_twice_goes_ahead_from_both_readings(dbg, rows):
    source = dbg.lineage(rows).goBackAll()["numbers"]
    assert len(source.operators) == 2
    for number in (0, 7):
        rid = int(source.rids()[number])
        ahead = source.numbered([number]).goNextAll()
        assert sorted(map(tuple, ahead.collect())) == sorted(map(tuple, source.at([rid]).goNextAll().collect()))
    assert source.numbered([7]).goNextAll().count() == 2


@pytest.mark.parametrize("beyond", [0, 1])
def test_the_last_page_says_whether_there_are_rows_without_a_number(dbg, spark, beyond):
    for trace in (result := dbg.lineage(spark.range(MOST + beyond)), result.goBackAll(), result.where("id >= 0")):
        page = trace.page(MOST - 1, 50)
        assert (page.numbers, page.more, page.beyond) == ((MOST - 1,), False, bool(beyond))
        assert not trace.page(0, 50).beyond


def test_rows_that_were_made_at_once_have_one_number(dbg, spark):
    frame = spark.range(2).selectExpr("id", "explode(array(7, 7, 8)) AS e")
    trace = dbg.lineage(frame)
    page = trace.page(0, 1)
    assert set(page.numbers) == {0}
    assert [tuple(row) for row in trace.numbered([0]).collect()] == list(page.rows)
    assert trace.numbered([0]).goBackAll().count() == 1


def test_a_page_shows_values_that_python_does_not_have_as_text(dbg, spark):
    """Text in another encoding is what somebody looks for who looks at a page."""
    odd = spark.sql("SELECT id, cast(unhex(if(id = 1, 'C8FF', '61')) AS string) AS t, date_add(date'9999-12-30', cast(id AS int)) AS d, struct(id) AS s FROM range(3)")
    page = dbg.lineage(odd).page()
    assert [tuple(map(str, row)) for row in page.rows] == [
        ("0", "a", "9999-12-30", "Row(id=0)"), ("1", "\\xc8\\xff", "9999-12-31", "Row(id=1)"), ("2", "a", "10000-01-01", "Row(id=2)"),
    ]
