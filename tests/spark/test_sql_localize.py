"""Localization in queries: the corrupt rows of the acceptance cases and no innocent ones, and clear words where nothing can be looked for."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

import pytest
from pyspark.sql import functions as F

from bigdebug.errors import LocalizeError, PredicateError
from tests.cases.programs import CASES, Case

AIRPORT, WEATHER, STUDENTS, COMMUTE, WORDS = CASES


def lines_of(spark: Any, lines: Any, partitions: int) -> Any:
    return spark.createDataFrame(spark.sparkContext.parallelize([(line,) for line in lines], partitions), "line string")


def fields(frame: Any, separator: str, *names: str) -> Any:
    return frame.select("line", *(F.split("line", separator)[i].alias(name) for i, name in enumerate(names)))


def airport(lines: Any) -> Any:
    known = fields(lines, ",", "date", "passenger", "arrival", "departure", "airport")
    minutes = "60 * int(split({0}, ':')[0]) + int(split({0}, ':')[1])".format
    stays = known.withColumn("stay", F.expr(f"{minutes('departure')} - ({minutes('arrival')})")).where("stay < 45")
    return stays.groupBy("airport", F.split("arrival", ":")[0].alias("hour")).agg(F.sum("stay").alias("stays"))


def weather(lines: Any) -> Any:
    known = fields(lines, ",", "zip", "date", "snow").select(
        F.expr("int(zip) % 50").alias("state"), F.split("date", "/").alias("day"),
        F.expr("double(left(snow, len(snow) - 2)) * if(endswith(snow, 'mm'), 1, 304.8)").alias("amount"),
    )
    both = known.select("state", "amount", F.explode(F.expr("array(day[0] || '/' || day[1], '/' || day[2])")).alias("time"))
    return both.groupBy("state", "time").agg((F.max("amount") - F.min("amount")).alias("delta"))


def students(lines: Any) -> Any:
    known = fields(lines, " ", "first", "last", "gender", "age", "grade", "major").select(F.expr("int(grade)"), F.expr("int(age)"))
    return known.groupBy("grade").agg(F.avg("age").alias("age"))


def commute(lines: Any) -> Any:
    known = fields(lines, ",", "region", "from", "to", "distance", "time").withColumn("speed", F.expr("int(distance) div int(time)"))
    kind = F.expr("CASE WHEN speed > 40 THEN 'car' WHEN speed > 15 THEN 'public' ELSE 'onfoot' END")
    return known.groupBy("region", kind.alias("kind")).agg(F.avg("speed").alias("average"))


def words(lines: Any) -> Any:
    known = lines.select(F.explode(F.split("line", " ")).alias("word"))
    return known.groupBy(F.left("word", F.lit(1)).alias("letter")).agg(F.expr("sum(len(word)) div count(*)").alias("mean"))


@dataclass(frozen=True)
class InSql:
    """An acceptance case as a query; ``key`` gives of a row the key that the case knows it by."""

    case: Case
    query: Callable[[Any], Any]
    test: Any
    key: Callable[[Any], Any]


QUERIES = (
    InSql(AIRPORT, airport, "stays < 0", lambda row: (row.airport, row.hour)),
    InSql(WEATHER, weather, lambda row: row.delta > 6000, lambda row: (row.state, row.time)),
    InSql(STUDENTS, students, "grade > 3 OR age > 25 OR age < 18", lambda row: row.grade),
    InSql(COMMUTE, commute, lambda row: row.kind == "car" and row.average > 50, lambda row: (row.region, row.kind)),
    InSql(WORDS, words, "mean > 70", lambda row: row.letter),
)


def told(found: Any, key: Callable[[Any], Any]) -> dict[Any, set[Any]]:
    return {key(row): {s.record for each in (fault.records, *fault.instead) for s in each} for fault in found.fault_sets for row in fault.outputs}


@pytest.mark.parametrize("partitions", [1, 4, 7])
@pytest.mark.parametrize("known", QUERIES, ids=lambda known: known.case.name)
def test_the_corrupt_rows_are_found_and_no_others(dbg: Any, spark: Any, known: InSql, partitions: int) -> None:
    found = dbg.localize(known.query(lines_of(spark, known.case.lines, partitions)), known.test)
    assert told(found, known.key) == {key: {(line,) for line in lines} for key, lines in known.case.culprits.items()}
    assert found.verdict == ("ambiguous" if known.case is WORDS else "culprit")
    assert found.ranking[0][0] in [source for fault in found.fault_sets for source in fault.records]
    assert found.incomplete is None
    assert all(known.case.lines[s.origin.index] == s.record.line for fault in found.fault_sets for s in fault.records)


def placed(case: Case, where: str) -> list[str]:
    """The lines of a case with the corrupt ones elsewhere among the others: all first, all last, beside each other in the middle, or drawn, the same each time."""
    corrupt = list(dict.fromkeys(line for lines in case.culprits.values() for line in lines))
    found = [line for line in case.lines if line not in corrupt]
    draw = Random(case.name)
    for line in corrupt:
        found.insert({"first": 0, "last": len(found), "together": len(found) // 2, "drawn": draw.randint(0, len(found))}[where], line)
    return found


@pytest.mark.parametrize(("number", "where"), [
    (0, "first"), (0, "drawn"), (1, "last"), (1, "drawn"), (2, "first"), (2, "last"), (3, "first"), (3, "together"), (3, "drawn"), (4, "together"), (4, "last"),
])
def test_the_corrupt_rows_are_found_wherever_they_stand(dbg: Any, spark: Any, number: int, where: str) -> None:
    known = QUERIES[number]
    lines = placed(known.case, where)
    found = dbg.localize(known.query(lines_of(spark, lines, 4)), known.test)
    assert told(found, known.key) == {key: {(line,) for line in culprits} for key, culprits in known.case.culprits.items()}
    assert found.verdict == ("ambiguous" if known.case is WORDS else "culprit")
    assert all(lines[s.origin.index] == s.record.line for fault in found.fault_sets for s in fault.records)


def sales(spark: Any) -> Any:
    rows = [
        (s, d, (d + k) % 9 + 1 if s == 99 and d != 3 else -1000 if s == 99 else (s * 31 + d * 7 + k) % 9 + 1)
        for s in (*range(5), 99) for d in range(6) for k in range(4)
    ]
    return spark.createDataFrame(spark.sparkContext.parallelize(rows, 4), "store int, day int, amount int")


def test_the_average_of_sums_goes_back_to_the_four_rows_of_the_day(dbg: Any, spark: Any) -> None:
    days = sales(spark).groupBy("store", "day").agg(F.sum("amount").alias("total"))
    found = dbg.localize(days.groupBy("store").agg(F.avg("total").alias("average")), "average < 0")
    assert found.verdict == "culprit"
    assert told(found, lambda row: row.store) == {99: {(99, 3, -1000)}}
    assert len({source.rid for source in found.fault_sets[0].records}) == 4


def test_a_test_that_finds_nothing_wrong_is_said_to(dbg: Any, spark: Any) -> None:
    with pytest.raises(LocalizeError, match="finds nothing wrong with any of the 6 rows"):
        dbg.localize(sales(spark).groupBy("store").count(), "count < 0")


def test_a_test_that_fails_on_nothing_at_all_is_said_to(dbg: Any, spark: Any) -> None:
    with pytest.raises(LocalizeError, match="no records at all"):
        dbg.localize(sales(spark).agg(F.count("*").alias("n")), "n < 1000")
    with pytest.raises(LocalizeError, match="no records at all"):
        dbg.localize(sales(spark).groupBy("store").count(), whole=lambda rows: True)


def test_a_test_that_raises_is_named_with_its_row(dbg: Any, spark: Any) -> None:
    with pytest.raises(PredicateError, match=r"The test of localize\(\) at .*test_sql_localize.py:\d+ raised KeyError: 'sum', on the record Row\("):
        dbg.localize(sales(spark).groupBy("store").count(), lambda row: {}["sum"])


def test_no_tests_at_all_leave_an_honest_answer(dbg: Any, spark: Any) -> None:
    found = dbg.localize(sales(spark).groupBy("store").agg(F.sum("amount").alias("total")), "total < 0", tests=0)
    assert (found.verdict, found.fault_sets, found.incomplete) == ("ambiguous", (), "its 0 tests were spent")


def named(found: Any) -> list[set[Any]]:
    return [{source.record for source in fault.records} for fault in found.fault_sets]


def orders(spark: Any, corrupt: dict[int, float]) -> Any:
    rows = [(i, i % 4, corrupt.get(i, float(1 + i % 7))) for i in range(40)]
    return spark.createDataFrame(spark.sparkContext.parallelize(rows, 3), "id int, shop int, amount double")


def shops(spark: Any, factor: float = 1.0) -> Any:
    return spark.createDataFrame([(i, f"shop {i}", factor if i == 2 else 1.0) for i in range(4)], "shop int, name string, factor double")


def might_be(found: Any) -> set[tuple[Any, ...]]:
    """What is named beside the first fault set."""
    return {tuple(record.record) for each in found.fault_sets[0].instead for record in each}


def test_the_only_row_that_others_are_joined_with_is_not_what_is_named_first(dbg: Any, spark: Any) -> None:
    """Without it the wrong row is gone, and not right; of two corrupt rows, none alone repairs it. But its own value may be what is wrong."""
    sold = orders(spark, {6: -900.0, 10: -900.0}).join(shops(spark), "shop").groupBy("name").agg(F.sum("amount").alias("total"))
    found = dbg.localize(sold.join(shops(spark), "name"), lambda row: row.total < 0)
    assert (found.verdict, named(found)) == ("ambiguous", [{(6, 2, -900.0), (10, 2, -900.0)}])
    assert might_be(found) == {(2, "shop 2", 1.0)}
    assert "it is not there any more" in " ".join(found.fault_sets[0].evidence)


def test_a_corrupt_row_that_all_others_are_joined_with_is_the_cause(dbg: Any, spark: Any) -> None:
    sold = orders(spark, {}).join(shops(spark, -5.0), "shop").groupBy("name").agg(F.sum(F.col("amount") * F.col("factor")).alias("total"))
    found = dbg.localize(sold, sold["total"] < 0)
    assert (found.verdict, named(found)) == ("ambiguous", [{(2, "shop 2", -5.0)}])
    assert "are not there any more" in found.explanation or "is not there any more" in found.explanation


@pytest.mark.parametrize("test", ["total < 0", lambda row: (row.total or 0) < 0], ids=["condition", "function"])
def test_a_row_without_which_nothing_is_known_is_not_what_is_named_first(dbg: Any, spark: Any, test: Any) -> None:
    sold = orders(spark, {6: -900.0, 10: -900.0}).join(shops(spark), "shop", "left").groupBy("shop").agg(F.sum(F.expr("amount * factor")).alias("total"))
    found = dbg.localize(sold, test)
    assert (found.verdict, named(found)) == ("ambiguous", [{(6, 2, -900.0), (10, 2, -900.0)}])
    assert might_be(found) == {(2, "shop 2", 1.0)}


def test_a_window_goes_back_to_the_row_that_others_add_up_with(dbg: Any, spark: Any) -> None:
    orders(spark, {6: -900.0}).createOrReplaceTempView("sold")
    found = dbg.localize(spark.sql("select id, sum(amount) over (partition by shop order by id) so_far from sold"), "so_far < 0")
    assert named(found) == [{(6, 2, -900.0)}]
    assert {row.id for row in found.fault_sets[0].outputs} == set(range(6, 40, 4))


def test_the_first_rows_of_an_order_are_those_of_each_set(dbg: Any, spark: Any) -> None:
    top = orders(spark, {6: 900.0}).orderBy(F.desc("amount"), "id").limit(3)
    found = dbg.localize(top.agg(F.sum("amount").alias("total")), "total > 100")
    assert (found.verdict, named(found)) == ("ambiguous", [{(6, 2, 900.0)}]), "in its place another one moves up"
    assert "others may come in their place" in found.explanation


def test_a_row_that_is_read_twice_is_one(dbg: Any, spark: Any) -> None:
    sold = orders(spark, {6: -900.0})
    pairs = sold.alias("a").join(sold.alias("b"), F.expr("a.shop = b.shop AND a.id <= b.id"))
    found = dbg.localize(pairs.groupBy("a.shop").agg(F.sum(F.expr("a.amount + b.amount")).alias("total")), "total < 0")
    assert (found.verdict, named(found)) == ("culprit", [{(6, 2, -900.0)}])


def test_nulls_and_what_is_no_number_are_groups_and_values_as_others(dbg: Any, spark: Any) -> None:
    rows = [(None if i % 2 else float("nan"), float("nan") if i == 7 else 1.0) for i in range(12)]
    known = spark.createDataFrame(rows, "k double, v double").groupBy("k").agg(F.avg("v").alias("mean"))
    found = dbg.localize(known, "isnan(mean)")
    assert found.verdict == "culprit"
    assert [[source.rid & 0xFF for source in fault.records] for fault in found.fault_sets] == [[found.fault_sets[0].records[0].rid & 0xFF]]
    assert str(found.fault_sets[0].outputs[0]) == "Row(k=None, mean=nan)"


def test_all_rows_as_a_whole_and_rows_by_a_key_of_ones_own(dbg: Any, spark: Any) -> None:
    sold = orders(spark, {6: -900.0}).groupBy("shop").agg(F.sum("amount").alias("total"))
    whole = dbg.localize(sold, whole=lambda rows: sum(row.total for row in rows) < 0)
    assert (whole.verdict, named(whole)) == ("culprit", [{(6, 2, -900.0)}])
    with pytest.raises(LocalizeError, match="nothing wrong with the 4 rows of the result as a whole"):
        dbg.localize(sold, whole=lambda rows: False)
    for key in ("shop", ["SHOP"], lambda row: row.shop):
        test = (lambda row, shop: row.total < 0 and shop == 2) if callable(key) else "total < 0"
        assert named(dbg.localize(sold, test, key=key)) == [{(6, 2, -900.0)}]


def test_what_depends_on_the_order_of_records_is_said_to(dbg: Any, spark: Any) -> None:
    rows = [(i % 2, -1 if i in (0, 8) else i) for i in range(10)]
    first = spark.createDataFrame(spark.sparkContext.parallelize(rows, 1), "k int, v int").groupBy("k").agg(F.first("v").alias("v"), F.count("*").alias("n"))
    with dbg.capture():
        first.collect()
    assert dbg.localize(first, lambda row: row.v < 0).verdict == "order-dependent"


def test_what_raises_on_fewer_records_leaves_these_open(dbg: Any, spark: Any) -> None:
    """Without one record, whichever it is, there are nine, and the query raises; without the corrupt one and another it is right."""
    shared = orders(spark, {6: -900.0}).groupBy("shop").agg(F.sum("amount").alias("total"), F.count("*").alias("n"))
    found = dbg.localize(shared.withColumn("share", F.expr("total / abs(n - 9)")), "share < 0")
    assert found.verdict == "ambiguous"
    [fault] = found.fault_sets
    assert all((6, 2, -900.0) in {source.record for source in each} for each in (fault.records, *fault.instead))


def test_functions_of_the_users_run_on_fewer_records(dbg: Any, spark: Any) -> None:
    shared = orders(spark, {6: -900.0}).groupBy("shop").agg(F.sum("amount").alias("total"))
    found = dbg.localize(shared.withColumn("half", F.udf(lambda total: total / 2, "double", useArrow=False)("total")), "half < 0")
    assert (found.verdict, named(found)) == ("culprit", [{(6, 2, -900.0)}])


def test_what_cannot_be_tried_on_fewer_records_is_refused_by_name(dbg: Any, spark: Any) -> None:
    sold = orders(spark, {6: -900.0})
    sold.createOrReplaceTempView("sold")
    for refused, why in (
        (sold.withColumn("r", F.rand()).groupBy("shop").agg(F.sum("amount").alias("total")), "Project.* computes rand"),
        (sold.limit(40).groupBy("shop").agg(F.sum("amount").alias("total")), "keeps rows in no order"),
        (sold.groupBy("shop").applyInPandas(lambda rows: rows, "id int, shop int, total double"), "takes rows together"),
        (spark.sql("select *, amount total from sold a, lateral (select max(b.id) m from sold b where b.id < a.id)"), "values of the query around it"),
        (spark.sql("select *, amount total from sold").withColumn("file", F.input_file_name()), "asks for the file"),
        (spark.sql("select shop, amount + (select amount from sold where id = 1) total from sold"), "asks a subquery"),
    ):
        with pytest.raises(LocalizeError, match=why):
            dbg.localize(refused, "total < 0")
    with pytest.raises(LocalizeError, match="more than the columns of a row"):
        dbg.localize(sold.select("shop"), "amount < 0")
    with pytest.raises(LocalizeError, match="rows of a result"):
        dbg.localize(dbg.lineage(sold.groupBy("shop").count()).goBackAll(), "amount < 0")
    with pytest.raises(TypeError, match="Column or SQL, not 3"):
        dbg.localize(sold, 3)


def test_nothing_of_the_users_is_left_changed(dbg: Any, spark: Any, tmp_path: Any) -> None:
    orders(spark, {6: -900.0}).write.parquet(str(tmp_path / "sold"))
    sold = spark.read.parquet(str(tmp_path / "sold")).groupBy("shop").agg(F.sum("amount").alias("total"))
    with dbg.capture():
        sold.collect()

    def state() -> Any:
        tables = sorted(table.name for table in spark.catalog.listTables())
        return (
            tables, dict(spark.sparkContext.getConf().getAll()), len(dbg.runs),
            {row.key: row.value for row in spark.sql("SET").collect()}, str(spark._jvm.SparkSession.getActiveSession()), dbg.plain_context.getJobTags(),
        )

    before, held = state(), set(spark.sparkContext._jsc.getPersistentRDDs())
    assert named(dbg.localize(sold, "total < 0")) == [{(6, 2, -900.0)}]
    assert named(dbg.localize(sold, lambda row: row.total < 0)) == [{(6, 2, -900.0)}]
    assert state() == before
    assert set(spark.sparkContext._jsc.getPersistentRDDs()) <= held


def test_of_many_wrong_rows_those_of_the_fewest_records_are_looked_at(dbg: Any, spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [(k, -1) for k in range(9) for _ in range(9 - k)]
    totals = spark.createDataFrame(rows, "k int, v int").groupBy("k").agg(F.sum("v").alias("total"))
    monkeypatch.setattr("bigdebug.spark.sql.faulty.OUTPUTS", 2)
    found = dbg.localize(totals, "total < 0")
    assert {row.k for fault in found.fault_sets for row in fault.outputs} == {7, 8}
    assert "the 2 that were looked at of 9 wrong outputs" in found.explanation
    assert found.incomplete == "of 9 wrong rows, 2 were looked at, those made of the fewest records"


def test_functions_of_batches_of_rows_are_tried_on_one_set_at_a_time(dbg: Any, spark: Any) -> None:
    """In one query, many sets would share a batch."""
    twice = F.pandas_udf(lambda values: values * 2, "double")
    sold = orders(spark, {6: -900.0}).withColumn("amount", twice("amount")).groupBy("shop").agg(F.sum("amount").alias("total"))
    found = dbg.localize(sold, "total < 0")
    assert (found.verdict, named(found), found.incomplete) == ("culprit", [{(6, 2, -900.0)}], None)
    standing = F.pandas_udf(lambda values: (values - values.mean()) / values.std(), "double")
    looking = dbg.localize(orders(spark, {6: -900.0}).select("id", standing("amount").alias("z")), "z < -2")
    assert looking.verdict == "not-reproducible"
    assert "may look at all rows of a batch, and of fewer records there are others in it" in str(looking.incomplete)


def test_a_search_in_a_query_is_ended_within_a_query(dbg: Any, spark: Any) -> None:
    def slow(amount: float) -> float:
        time.sleep(0.03)
        return amount

    sold = orders(spark, {6: -900.0}).withColumn("amount", F.udf(slow, "double")("amount")).groupBy("shop").agg(F.sum("amount").alias("total"))
    trace = dbg.lineage(sold).where("shop = 2")
    trace.goBackAll().count()
    stop = threading.Event()
    threading.Timer(1.0, stop.set).start()
    for bounds, why in (({"stop": stop}, "it was stopped"), ({"seconds": 1.0}, "its 1 seconds were over")):
        found = dbg.localize(trace, lambda row: row.total < 0, **bounds)
        assert (found.verdict, found.incomplete) == ("ambiguous", why)
        assert found.cost.seconds < 4
    assert not spark.sparkContext.statusTracker().getActiveJobsIds()
