"""Localization in queries of all shapes, and clear words where nothing can be looked for; the acceptance cases are in cases/test_localized_queries.py."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest
from pyspark.sql import functions as F

from bigdebug import checks
from bigdebug.errors import LocalizeError, PredicateError
from tests.left import cached


def sales(spark: Any) -> Any:
    rows = [
        (s, d, (d + k) % 9 + 1 if s == 99 and d != 3 else -1000 if s == 99 else (s * 31 + d * 7 + k) % 9 + 1)
        for s in (*range(5), 99) for d in range(6) for k in range(4)
    ]
    return spark.createDataFrame(spark.sparkContext.parallelize(rows, 4), "store int, day int, amount int")


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


@pytest.mark.slow
def test_the_only_row_that_others_are_joined_with_is_not_what_is_named_first(dbg: Any, spark: Any) -> None:
    """Without it the wrong row is gone, and not right; of two corrupt rows, none alone repairs it. But its own value may be what is wrong."""
    sold = orders(spark, {6: -900.0, 10: -900.0}).join(shops(spark), "shop").groupBy("name").agg(F.sum("amount").alias("total"))
    found = dbg.localize(sold.join(shops(spark), "name"), lambda row: row.total < 0)
    assert (found.verdict, named(found)) == ("ambiguous", [{(6, 2, -900.0), (10, 2, -900.0)}])
    assert might_be(found) == {(2, "shop 2", 1.0)}
    assert "it is not there any more" in " ".join(found.fault_sets[0].evidence)


@pytest.mark.slow
def test_a_corrupt_row_that_all_others_are_joined_with_is_the_cause(dbg: Any, spark: Any) -> None:
    sold = orders(spark, {}).join(shops(spark, -5.0), "shop").groupBy("name").agg(F.sum(F.col("amount") * F.col("factor")).alias("total"))
    found = dbg.localize(sold, sold["total"] < 0)
    assert (found.verdict, named(found)) == ("ambiguous", [{(2, "shop 2", -5.0)}])
    assert "not there any more" in found.explanation


@pytest.mark.many
@pytest.mark.parametrize("test", ["total < 0", "n > 0 and coalesce(total, 0) < 0", lambda row: (row.total or 0) < 0], ids=["condition", "condition that takes NULL for right", "function"])
def test_a_row_without_which_nothing_is_known_is_not_what_is_named_first(dbg: Any, spark: Any, test: Any) -> None:
    sold = orders(spark, {6: -900.0, 10: -900.0}).join(shops(spark), "shop", "left").groupBy("shop").agg(F.sum(F.expr("amount * factor")).alias("total"), F.count("*").alias("n"))
    found = dbg.localize(sold, test)
    assert (found.verdict, named(found)) == ("ambiguous", [{(6, 2, -900.0), (10, 2, -900.0)}])
    assert might_be(found) == {(2, "shop 2", 1.0)}


@pytest.mark.many
@pytest.mark.parametrize("test", [lambda row: row.both.mean < -50, "both.mean < -50"], ids=["function", "condition"])
def test_a_value_within_a_row_that_is_null_or_nan_without_a_record_is_not_right_without_it(dbg: Any, spark: Any, test: Any) -> None:
    """The means are beside a count, and NaN where there is no factor."""
    of_each = F.expr("amount * coalesce(factor, double('NaN'))")
    sold = orders(spark, {6: -900.0, 10: -900.0}).join(shops(spark), "shop", "left").groupBy("shop")
    found = dbg.localize(sold.agg(F.struct(F.count("*").alias("n"), F.avg(of_each).alias("mean")).alias("both")), test)
    assert (found.verdict, named(found)) == ("ambiguous", [{(6, 2, -900.0), (10, 2, -900.0)}])
    assert might_be(found) == {(2, "shop 2", 1.0)}


def test_a_check_looks_at_the_last_column_of_numbers_whatever_is_null_behind_it(dbg: Any, spark: Any) -> None:
    rows = [(70, 5, "x", None), (71, 900, "y", None), (72, None, "z", "note")]
    noted = spark.createDataFrame(rows, "id int, v int, k string, note string").groupBy("id", "v", "k").agg(F.max("note").alias("note")).select("id", "v", "note")
    found = dbg.localize(noted, checks.at_most(60))
    assert (found.verdict, named(found)) == ("culprit", [{rows[1]}])


@pytest.mark.slow
def test_what_is_wrong_in_another_group_is_not_repaired(dbg: Any, spark: Any) -> None:
    """By the parity of totals: without the one that is innocent, the wrong total is even, and the odd ones are right."""
    spark.createDataFrame([("a", 1_000), ("a", 1_000), ("a", 1), ("b", 3)], "shop string, amount int").createOrReplaceTempView("parities")
    totals = "(select shop, sum(amount) total from parities group by shop)"
    for test in ("s > 900", lambda row: row.s > 900):
        found = dbg.localize(spark.sql(f"select total % 2 p, sum(total) s from {totals} group by total % 2"), test)
        assert (found.verdict, named(found), len(found.fault_sets[0].records)) == ("culprit", [{("a", 1_000)}], 2)


@pytest.mark.slow
def test_two_corrupt_rows_that_one_takes_along_do_not_make_it_the_culprit(dbg: Any, spark: Any) -> None:
    stores = spark.createDataFrame([("a", "x"), ("b", "x")], "k string, name string")
    sold = spark.createDataFrame([("a", 1_000), ("a", 1_000), ("b", 1)], "k string, v int")
    found = dbg.localize(sold.join(stores, "k").groupBy("name").agg(F.sum("v").alias("s")), "s > 900")
    assert (found.verdict, named(found), might_be(found)) == ("ambiguous", [{("a", "x")}], {("a", 1_000)})


@pytest.mark.slow
def test_a_window_goes_back_to_the_row_that_others_add_up_with(dbg: Any, spark: Any) -> None:
    orders(spark, {6: -900.0}).createOrReplaceTempView("sold")
    found = dbg.localize(spark.sql("select id, sum(amount) over (partition by shop order by id) so_far from sold"), "so_far < 0")
    assert named(found) == [{(6, 2, -900.0)}]
    assert {row.id for row in found.fault_sets[0].outputs} == set(range(6, 40, 4))


@pytest.mark.slow
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


@pytest.mark.slow
def test_all_rows_as_a_whole_and_rows_by_a_key_of_ones_own(dbg: Any, spark: Any) -> None:
    sold = orders(spark, {6: -900.0}).groupBy("shop").agg(F.sum("amount").alias("total"))
    whole = dbg.localize(sold, whole=lambda rows: sum(row.total for row in rows) < 0)
    assert (whole.verdict, named(whole)) == ("culprit", [{(6, 2, -900.0)}])
    mean = spark.createDataFrame([(1_000.0,), (5.0,)], "v double").agg(F.avg("v").alias("x"))
    assert dbg.localize(mean, whole=lambda rows: any((row.x or 0) > 4.5 for row in rows)).verdict == "ambiguous", "of no records it is NULL, which is not right"
    with pytest.raises(LocalizeError, match="nothing wrong with the 4 rows of the result as a whole"):
        dbg.localize(sold, whole=lambda rows: False)
    with pytest.raises(LocalizeError, match=r"as a whole: two outputs are alike in field 'shop' of none") as none:
        dbg.localize(sold, checks.unique(field="shop"))
    assert "whole=" not in str(none.value)
    for key in ("shop", ["SHOP"], lambda row: row.shop):
        test = (lambda row, shop: row.total < 0 and shop == 2) if callable(key) or key == "shop" else "total < 0"
        assert named(dbg.localize(sold, test, key=key)) == [{(6, 2, -900.0)}]


@pytest.mark.slow
def test_what_depends_on_the_order_of_records_is_said_to(dbg: Any, spark: Any) -> None:
    rows = [(i % 2, -1 if i in (0, 8) else i) for i in range(10)]
    first = spark.createDataFrame(spark.sparkContext.parallelize(rows, 1), "k int, v int").groupBy("k").agg(F.first("v").alias("v"), F.count("*").alias("n"))
    with dbg.capture():
        first.collect()
    assert dbg.localize(first, lambda row: row.v < 0).verdict == "order-dependent"


@pytest.mark.slow
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

    before, held = state(), cached(spark.sparkContext)
    assert named(dbg.localize(sold, "total < 0")) == [{(6, 2, -900.0)}]
    assert named(dbg.localize(sold, lambda row: row.total < 0)) == [{(6, 2, -900.0)}]
    assert state() == before
    assert cached(spark.sparkContext) <= held


@pytest.mark.slow
def test_of_many_wrong_rows_those_of_the_fewest_records_are_looked_at(dbg: Any, spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [(k, -1) for k in range(9) for _ in range(9 - k)]
    totals = spark.createDataFrame(rows, "k int, v int").groupBy("k").agg(F.sum("v").alias("total"))
    monkeypatch.setattr("bigdebug.spark.sql.inquiry.faulty.OUTPUTS", 2)
    found = dbg.localize(totals, "total < 0")
    assert {row.k for fault in found.fault_sets for row in fault.outputs} == {7, 8}
    assert "the 2 that were looked at of 9 wrong outputs" in found.explanation
    assert found.incomplete == "of 9 wrong rows, 2 were looked at, those made of the fewest records"


@pytest.mark.slow
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
    slow = F.udf(lambda amount: time.sleep(0.03) or amount, "double")
    sold = orders(spark, {6: -900.0}).withColumn("amount", slow("amount")).groupBy("shop").agg(F.sum("amount").alias("total"))
    trace = dbg.lineage(sold).where("shop = 2")
    trace.goBackAll().count()
    stop = threading.Event()
    threading.Timer(1.0, stop.set).start()
    for bounds, why in (({"stop": stop}, "it was stopped"), ({"seconds": 1.5}, "its 1.5 seconds were over")):
        found = dbg.localize(trace, lambda row: row.total < 0, **bounds)
        assert (found.verdict, found.incomplete) == ("ambiguous", why)
        assert found.cost.seconds < 4
    assert spark.sparkContext._jsc.sc().dagScheduler().activeJobs().size() == 0  # its listeners hear of that later
