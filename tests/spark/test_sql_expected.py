"""What rows of a query were to be: changed, not expected, lacking; given as rows, as a DataFrame or by key. And clear words where it is no such thing, or cannot be told."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import Row
from pyspark.sql import functions as F

from bigdebug.errors import LocalizeError, PredicateError, TooLargeError, UnknownColumnError

SOLD = [(i, "abcd"[i % 4], i % 3, float(1 + i % 7)) for i in range(40)]

EXTRA = (99, "c", 1, 5.5)
"""No other row is worth as much."""


def frame(spark: Any, rows: list[Any]) -> Any:
    return spark.createDataFrame(spark.sparkContext.parallelize(rows, 3), "id int, shop string, day int, amount double")


def totals(spark: Any, rows: list[Any], *by: str) -> Any:
    return frame(spark, rows).groupBy(*(by or ("shop",))).agg(F.sum("amount").alias("total"))


def blamed(found: Any) -> list[set[Any]]:
    return [{tuple(source.record) for source in fault.records} for fault in found.fault_sets]


def might_be(found: Any) -> set[Any]:
    return {tuple(source.record) for fault in found.fault_sets for each in fault.instead for source in each}


@pytest.mark.many
@pytest.mark.parametrize(
    ("more", "culprits", "said"),
    [
        ([EXTRA], [{EXTRA}], "Row(shop='c', total=47.5) was to be Row(shop='c', total=42.0)."),
        ([(99, "zz", 1, 5.5)], [{(99, "zz", 1, 5.5)}], "Row(shop='zz', total=5.5) was not expected."),
        ([EXTRA, (98, "a", 0, -3.25)], [{EXTRA}, {(98, "a", 0, -3.25)}], None),
        ([(97, "c", 0, 900.0)], [{(97, "c", 0, 900.0)}], None),
    ],
    ids=["changed", "not expected", "two", "large"],
)
def test_rows_that_were_expected_otherwise_are_localized(dbg: Any, spark: Any, more: list[Any], culprits: list[Any], said: str | None) -> None:
    found = dbg.localize(totals(spark, SOLD + more), expected=totals(spark, SOLD).collect())
    assert (found.verdict, sorted(blamed(found), key=repr), found.incomplete) == ("culprit", sorted(culprits, key=repr), None)
    assert said is None or found.fault_sets[0].evidence[0] == said
    assert all(isinstance(output, Row) for fault in found.fault_sets for output in fault.outputs)


@pytest.mark.slow
def test_a_row_of_which_no_removal_makes_what_was_expected_is_right_on_the_other_side_of_it(dbg: Any, spark: Any) -> None:
    sold = [(6, "c", 0, 900.0) if row[0] == 6 else row for row in SOLD]
    found = dbg.localize(totals(spark, sold), expected=totals(spark, SOLD))
    assert (found.verdict, blamed(found)) == ("culprit", [{(6, "c", 0, 900.0)}])
    assert found.fault_sets[0].evidence[0].endswith("no records were found whose leaving out makes exactly that of it, so it counts as right when it is no longer more.")
    less = dbg.localize(totals(spark, [(6, "c", 0, -900.0) if row[0] == 6 else row for row in SOLD]), expected=totals(spark, SOLD))
    assert (less.verdict, less.fault_sets, tuple(less.ranking[0][0].record)) == ("ambiguous", (), (6, "c", 0, -900.0))
    assert "so it counts as right when it is no longer less" in less.incomplete


@pytest.mark.slow
def test_rows_are_expected_as_rows_as_a_dataframe_or_by_key(dbg: Any, spark: Any) -> None:
    sold, due = totals(spark, [*SOLD, EXTRA]), totals(spark, SOLD).collect()
    given: list[tuple[Any, Any]] = [
        (due, None), (totals(spark, SOLD), "SHOP"), (totals(spark, SOLD).select("total", "shop"), None), ([tuple(row) for row in due], ["shop"]), ([list(row) for row in due], None),
        ([{"total": row.total, "shop": row.shop} for row in due], None), ({row.shop: row.total for row in due}, None), ({row.shop: Row(total=row.total) for row in due}, "shop"),
        (iter(due), lambda row: row.shop), ({row.shop: row for row in due}, lambda row: row.shop),
    ]
    for expected, key in given:
        assert blamed(dbg.localize(sold, expected=expected, key=key)) == [{EXTRA}]
    one = frame(spark, [*SOLD, EXTRA]).agg(F.sum("amount").alias("total"))
    [(total,)] = frame(spark, SOLD).agg(F.sum("amount")).collect()
    for expected in ([(total,)], [total], [{"total": total}]):
        found = dbg.localize(one, expected=expected)
        assert (found.verdict, blamed(found), found.incomplete) == ("culprit", [{EXTRA}], None), "of nothing, a sum is NULL, which says nothing"


@pytest.mark.slow
def test_rows_of_one_key_are_told_apart_by_what_else_they_have(dbg: Any, spark: Any) -> None:
    sold, due = totals(spark, [*SOLD, EXTRA], "shop", "day"), totals(spark, SOLD, "shop", "day").collect()
    for expected, key in ((due, None), ({(row.shop, row.day): row.total for row in due}, ["shop", "day"])):
        found = dbg.localize(sold, expected=expected, key=key)
        assert (found.verdict, blamed(found), found.fault_sets[0].outputs[0][:2]) == ("culprit", [{EXTRA}], ("c", 1))
    so_far = "shop", "id", "sum(amount) over (partition by shop order by id) so_far"
    first = (-1, "c", 1, 5.5)
    found = dbg.localize(frame(spark, [*SOLD, first]).selectExpr(*so_far), expected=frame(spark, SOLD).selectExpr(*so_far), key="shop")
    assert blamed(found) == [{first}], "the other rows of the window are of that key as well"


def test_numbers_with_a_fraction_are_expected_to_nine_digits(dbg: Any, spark: Any) -> None:
    thirds = spark.createDataFrame([(1, 0.1), (1, 0.2), (2, 2.0)], "k int, v double").groupBy("k").agg(F.sum("v").alias("v"))
    for expected in ([(1, 0.3), (2, 2)], {1: 0.3, 2: 2}):
        with pytest.raises(LocalizeError, match="The 2 rows of the result are what was expected"):
            dbg.localize(thirds, expected=expected)
    with pytest.raises(LocalizeError, match="The 2 rows of the result are what was expected"):
        dbg.localize(thirds.select("v"), expected=[0.3, 2])


@pytest.mark.slow
def test_a_fact_of_a_group_of_joined_rows_is_a_culprit_and_what_has_only_moved_is_not_repaired(dbg: Any, spark: Any) -> None:
    names = spark.createDataFrame([("a", "x"), ("b", "x"), ("c", "y"), ("d", "y")], "shop string, name string")

    def by_name(rows: list[Any]) -> Any:
        return frame(spark, rows).join(names, "shop").groupBy("name").agg(F.sum("amount").alias("total"))

    found = dbg.localize(by_name([*SOLD, EXTRA]), expected=by_name(SOLD))
    assert (found.verdict, blamed(found)) == ("culprit", [{EXTRA}])
    spark.createDataFrame([("a", 7), ("a", 7), ("a", 1), ("b", 3), ("c", 4)], "shop string, amount int").createOrReplaceTempView("moved")
    odd = spark.sql("select total % 2 p, count(*) n from (select shop, sum(amount) total from moved group by shop) group by total % 2")
    moved = dbg.localize(odd, expected={0: 1, 1: 1})
    assert (moved.verdict, blamed(moved)) == ("culprit", [{("b", 3)}]), "without an amount of shop a, that is counted under the other parity"


@pytest.mark.slow
def test_the_row_that_corrupt_ones_are_joined_with_is_no_culprit(dbg: Any, spark: Any) -> None:
    """Without it, a row that was not expected is gone, as it should be; without either fact it is not."""
    facts = spark.createDataFrame([("zz", 1), ("zz", 2), ("a", 3)], "k string, v int")
    names = spark.createDataFrame([("zz", "Z"), ("a", "A")], "k string, name string")
    sums = facts.join(names, "k").groupBy("name").agg(F.sum("v").alias("s"))
    found = dbg.localize(sums, expected=[("A", 3)])
    assert found.verdict == "ambiguous"
    assert {("zz", "Z"), ("zz", 1), ("zz", 2)} <= {*might_be(found), *(record for each in blamed(found) for record in each)}


@pytest.mark.slow
def test_what_is_not_there_says_nothing_of_what_was_expected(dbg: Any, spark: Any) -> None:
    """Without the 20 it is what was expected; but the weight may be what is wrong, and without that there is nothing to look at."""
    facts = spark.createDataFrame([("k", 20), ("k", 1), ("k", 2), ("j", 1)], "k string, v int")
    weights = spark.createDataFrame([("k", 1), ("j", 1)], "k string, w int")
    said = facts.join(weights, "k").groupBy("k").agg(F.expr("if(max(v * w) > 10, 'bad', 'ok')").alias("said"))
    found = dbg.localize(said, expected={"k": "ok", "j": "ok"})
    assert (found.verdict, blamed(found), might_be(found)) == ("ambiguous", [{("k", 20)}], {("k", 1)})


def test_what_is_lacking_or_there_too_often_is_said_to_be(dbg: Any, spark: Any) -> None:
    few = [row for row in SOLD if row[1] != "d"]
    [lost] = [row for row in totals(spark, SOLD).collect() if row.shop == "d"]
    found = dbg.localize(totals(spark, few), expected=totals(spark, SOLD).collect())
    assert (found.verdict, found.fault_sets) == ("ambiguous", ())
    assert found.incomplete == f"1 of the rows that were expected is lacking, and what keeps rows out of a result is not looked for in a query: {lost}"
    both = dbg.localize(totals(spark, [*few, EXTRA]), expected=totals(spark, SOLD))
    assert blamed(both) == [{EXTRA}]
    assert "is lacking" in both.incomplete
    twice = dbg.localize(frame(spark, [*SOLD, SOLD[3]]).select("id", "amount"), expected=[(row[0], row[3]) for row in SOLD])
    assert (twice.verdict, twice.fault_sets) == ("ambiguous", ())
    assert twice.incomplete == (
        "1 of the rows of the result is there more often than expected, and which of these is one too many nothing says: Row(id=3, amount=4.0)"
    )


def test_a_row_that_moves_up_into_the_place_of_another_makes_nobody_a_culprit(dbg: Any, spark: Any) -> None:
    def top(rows: list[Any]) -> Any:
        return frame(spark, rows).orderBy(F.desc("amount"), "id").limit(2).select("id", "amount")

    found = dbg.localize(top([*SOLD, (99, "c", 1, 900.0)]), expected=top(SOLD))
    assert found.verdict == "ambiguous"
    assert {(99, "c", 1, 900.0)} in blamed(found)


@pytest.mark.slow
def test_values_of_all_types_are_expected(dbg: Any, spark: Any) -> None:
    schema = "k binary, t timestamp, d decimal(9,2), a array<int>, m map<string,int>, r struct<x:int,y:string>, n double"
    made = "first(a) a", "first(m) m", "first(r) r", "sum(d) d", "max(t) t", "max(n) n"

    def by_key(extra: str) -> Any:
        values = (
            "(X'00ff', timestamp'2020-01-01', 1.50bd, array(1), map('x', 1), named_struct('x', 1, 'y', '<script>'), double('NaN')), "
            f"(X'01', null, 1.50bd, null, null, null, null){extra}"
        )
        rows = spark.sql(f"select * from values {values} as v(k, t, d, a, m, r, n)").selectExpr(*(f"cast({each.split(' ')[0]} as {each.split(' ')[1]}) {each.split(' ')[0]}" for each in schema.split(", ")))
        return rows.groupBy("k").agg(*map(F.expr, made))

    due = by_key("").collect()
    with pytest.raises(LocalizeError, match="are what was expected"):
        dbg.localize(by_key(""), expected=due)
    found = dbg.localize(by_key(", (X'01', null, 7.25bd, null, null, null, null)"), expected=due)
    assert (found.verdict, [[source.record.d for source in fault.records] for fault in found.fault_sets]) == ("culprit", [[due[0].d * 0 + type(due[0].d)("7.25")]])


@pytest.mark.parametrize(
    ("expected", "key", "error", "said"),
    [
        ([(1, 2, 3)], None, TypeError, r"what is expected has the columns shop, total, and not those of \(1, 2, 3\)"),
        ([{"x": 1, "shop": "a"}], None, TypeError, "what is expected has the columns shop, total"),
        ([1, 2], None, TypeError, "what is expected has the columns shop, total, and not those of 1"),
        ({"a": (1, 2)}, None, TypeError, r"has the columns total, and not those of \(1, 2\)"),
        ({"a": 1}, ["shop", "total"], TypeError, "there are none"),
        ("abc", None, TypeError, "expected= is a list of outputs, an RDD or a DataFrame of them, or a dict"),
        ([("a", 1)], "shap", UnknownColumnError, "no such column"),
        ([("a", 1)], lambda row: row.shap, PredicateError, "key="),
    ],
)
def test_what_are_no_rows_of_the_result_is_refused(dbg: Any, spark: Any, expected: Any, key: Any, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        dbg.localize(totals(spark, SOLD), expected=expected, key=key)


def test_other_frames_and_more_than_the_driver_compares_are_refused(dbg: Any, spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    sold = totals(spark, [*SOLD, EXTRA])
    with pytest.raises(TypeError, match="what is expected has the columns shop, total"):
        dbg.localize(sold, expected=spark.range(3))
    with pytest.raises(TypeError, match="not an RDD; localize"):
        dbg.localize(sold, expected=spark.sparkContext.parallelize([1]))
    with pytest.raises(TypeError, match="not a DataFrame"):
        dbg.localize(_captured(dbg, dbg.context.parallelize([1, 2]).map(lambda x: x)), expected=spark.range(3))
    monkeypatch.setattr("bigdebug.spark.sql.inquiry.due.MOST", 4)
    monkeypatch.setattr("bigdebug.spark.sql.inquiry.expecting.MOST", 4)
    assert blamed(dbg.localize(sold, expected=totals(spark, SOLD))) == [{EXTRA}]
    for expected in (spark.range(9).selectExpr("string(id)", "id"), [("a", 1)] * 5):
        with pytest.raises(TooLargeError, match="More rows are expected than the 4 which the driver compares"):
            dbg.localize(sold, expected=expected)
    monkeypatch.setattr("bigdebug.spark.sql.inquiry.expecting.MOST", 3)
    with pytest.raises(TooLargeError, match="The result has 4 rows, and the driver compares 3"):
        dbg.localize(sold, expected=[])


def _captured(dbg: Any, rdd: Any) -> Any:
    with dbg.capture():
        rdd.collect()
    return rdd


# ---- seconds= before there is a search ------------------------------------------------------------------------------


@pytest.mark.slow
def test_seconds_end_the_tracing_before_a_search(dbg: Any, spark: Any) -> None:
    """A function that takes its time, in a query that has to be run for its lineage."""
    slow = F.udf(lambda value: (time.sleep(0.05), value)[1], "double")
    sold = frame(spark, SOLD * 5).withColumn("amount", slow("amount")).groupBy("shop").agg(F.sum("amount").alias("total"))
    for asked in ({"test": "total > 0"}, {"expected": []}):
        began = time.monotonic()
        found = dbg.localize(sold, **asked, seconds=1.5)
        assert time.monotonic() - began < 6
        assert (found.verdict, found.fault_sets, found.incomplete) == ("ambiguous", (), "its 1.5 seconds were over")


@pytest.mark.parametrize("test", ["total < 0", lambda row: row.total < 0])
def test_no_time_at_all_is_an_honest_answer(dbg: Any, spark: Any, test: str | Callable[[Any], Any]) -> None:
    found = dbg.localize(totals(spark, [*SOLD, (97, "c", 0, -900.0)]), test, seconds=0)
    assert (found.verdict, found.fault_sets, found.incomplete) == ("ambiguous", (), "its 0 seconds were over")
