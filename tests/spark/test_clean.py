"""The cleaning loop: what it removes is told with its origin, what it gives is what the program gives without that, and it ends when nothing improves."""

from __future__ import annotations

import math
from collections import Counter
from operator import add
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyspark.sql import functions as F

from bigdebug.errors import PredicateError, ReplayError, UnknownColumnError, UnknownOperatorError
from bigdebug.mining.cleaned import Rating, stands_out


def total(rows: list[tuple[Any, int]]) -> list[tuple[Any, int]]:
    """The reference: what the program gives on these records."""
    found: dict[Any, int] = {}
    for key, value in rows:
        found[key] = found.get(key, 0) + value
    return sorted(found.items(), key=repr)


def small(out: tuple[Any, int]) -> float:
    return -abs(out[1])


def summed(dbg: Any, rows: list[tuple[Any, int]]) -> Any:
    sums = dbg.context.parallelize(rows, 4).reduceByKey(add, 3)
    with dbg.capture():
        sums.collect()
    return sums


def rows_with(*bad: tuple[int, tuple[Any, int]]) -> list[tuple[Any, int]]:
    rows: list[tuple[Any, int]] = [(n % 40, 1 + n % 3) for n in range(400)]
    for place, row in bad:
        rows[place] = row
    return rows


def left(rows: list[tuple[Any, int]], found: Any) -> list[tuple[Any, int]]:
    gone = {record.origin.index for record in found.removed}
    return [row for place, row in enumerate(rows) if place not in gone]


def test_the_record_behind_the_worst_output_is_removed_and_the_rest_is_as_without_it(dbg: Any) -> None:
    rows = rows_with((133, (13, 90_000)), (27, (27, -80_000)))
    report, before = summed(dbg, rows), len(dbg.runs)
    found = dbg.clean(report, small)
    assert sorted((record.origin.index, record.record) for record in found.removed) == [(27, (27, -80_000)), (133, (13, 90_000))]
    assert sorted(found.outputs, key=repr) == total(left(rows, found)) == sorted(found.replay.collect(), key=repr)
    (first,) = found.rounds
    assert (first.before.below, first.after.below, first.kept, first.by) == (2, 0, True, "localization (culprit)")
    assert (first.before.lowest, first.after.outputs) == (-90_000 - sum(1 + n % 3 for n in range(13, 400, 40) if n != 133), 40)
    assert "2 -> 0" in repr(found)
    assert "It ended because no output is below the bar any more." in repr(found)
    assert len(dbg.runs) == before
    assert sorted(report.collect(), key=repr) == total(rows)


def test_where_an_output_goes_with_the_row_that_all_are_joined_with_it_is_one_of_these_that_is_removed(dbg: Any) -> None:
    facts, rates = dbg.context.parallelize([("k", 100), ("k", 1_000), ("k", 2), ("j", 1)], 2), dbg.context.parallelize([("k", 5), ("j", 6)], 2)
    joined = facts.join(rates, 2).mapValues(sum).reduceByKey(add, 2)
    with dbg.capture():
        joined.collect()
    found = dbg.clean(joined, small, enough=-50)
    assert {record.record for record in found.removed} == {("k", 1_000), ("k", 100)}
    assert dict(found.outputs) == {"k": 7, "j": 7}


def test_later_rounds_name_records_of_the_original_input(dbg: Any) -> None:
    """Of more bad outputs than a round looks at, the rest is left to the next, which traces its own run."""
    rows = rows_with(*((10 * n + 3, ((10 * n + 3) % 40 + 100 * n, 50_000 + n)) for n in range(27)))
    found = dbg.clean(summed(dbg, rows), small, enough=-1_000)
    assert [(each.before.below, each.after.below, each.removals) for each in found.rounds] == [(27, 7, 20), (7, 0, 7)]
    assert sorted(record.origin.index for record in found.removed) == [10 * n + 3 for n in range(27)]
    assert all(rows[record.origin.index] == record.record for record in found.removed)
    assert sorted(found.outputs, key=repr) == total(left(rows, found))


def test_by_lineage_all_that_only_bad_outputs_were_made_of_goes(dbg: Any) -> None:
    users = [(n, "tether" if n % 9 == 4 else "phone") for n in range(30)]
    traffic = [(n % 30, 5_000 if n % 30 % 9 == 4 else 10) for n in range(120)]
    agents, used = dbg.context.parallelize(users, 3), dbg.context.parallelize(traffic, 2)
    joined = agents.join(used, 3)
    report = joined.map(lambda r: (r[1][0], r[1][1])).reduceByKey(add, 2)
    with dbg.capture():
        report.collect()
    at_source = dbg.clean(report, small, enough=-2_000, suspects="lineage")
    assert sorted({record.record for record in at_source.removed}, key=repr) == sorted(
        {r for r in traffic if r[1] == 5_000} | {u for u in users if u[1] == "tether"}, key=repr)
    assert at_source.outputs == (("phone", sum(value for _, value in traffic if value == 10)),)
    at_join = dbg.clean(report, small, enough=-2_000, suspects="lineage", at=joined)
    assert at_join.outputs == at_source.outputs
    assert (at_join.rounds[0].before.outputs, at_join.rounds[0].after.outputs) == (2, 1)


def test_records_are_changed_instead(dbg: Any) -> None:
    rows = rows_with((133, (13, 90_000)))
    found = dbg.clean(summed(dbg, rows), small, edit=lambda row: (row[0], row[1] // 10_000))
    assert [record.record for record in found.removed] == [(13, 90_000)]
    assert sorted(found.outputs, key=repr) == total(rows_with((133, (13, 9))))
    assert "1 record changed in 1 round" in repr(found)
    useless = dbg.clean(summed(dbg, rows), small, edit=lambda row: row)
    assert [each.kept for each in useless.rounds] == [False]
    assert useless.removed == ()


def test_a_round_that_improves_nothing_is_undone_and_says_so(dbg: Any) -> None:
    rows = rows_with((133, (13, 90_000)))
    rows[53] = 13, -1_000
    innocent = dbg.clean(summed(dbg, rows), small, suspects=lambda sources: sources.where(lambda row: row[1] == -1_000))
    assert [each.kept for each in innocent.rounds] == [False]
    assert innocent.removed == ()
    assert sorted(innocent.outputs, key=repr) == total(rows)
    assert "round 1 improved nothing, and was undone" in repr(innocent)


def test_where_no_output_stands_out_nothing_is_removed(dbg: Any) -> None:
    found = dbg.clean(summed(dbg, rows_with()), small)
    assert (found.rounds, found.removed) == ((), ())
    assert "unusually low: say which is good enough" in repr(found)
    assert dbg.clean(summed(dbg, rows_with()), small, enough=-10**9).reason == "no output is below the bar any more"
    assert dbg.clean(summed(dbg, rows_with((3, (3, 10**6)))), small, rounds=0).rounds == ()


def test_when_everything_that_the_worst_were_made_of_is_in_good_ones_it_says_so(dbg: Any) -> None:
    numbers = dbg.context.parallelize(range(20), 2).flatMap(lambda n: [("fine", n), ("awful", 1_000 * n)]).reduceByKey(add, 2)
    with dbg.capture():
        numbers.collect()
    found = dbg.clean(numbers, small, enough=-500, suspects="lineage")
    assert found.rounds == ()
    assert "outputs that are good enough were made of all records" in found.reason


def test_a_program_that_cannot_be_localized_is_cleaned_by_lineage_and_says_why(dbg: Any) -> None:
    pairs = dbg.context.parallelize(rows_with((133, ("bad", 90_000))), 3).zipWithIndex().map(lambda r: r[0]).cartesian(dbg.context.parallelize([0], 1))
    sums = pairs.map(lambda r: r[0]).reduceByKey(add, 2)
    with dbg.capture():
        sums.collect()
    found = dbg.clean(sums, small)
    assert found.rounds[0].by.startswith(("lineage, for localization says: ", "localization"))
    assert (133, ("bad", 90_000)) in {(record.origin.index, record.record) for record in found.removed}
    assert ("bad", 90_000) not in found.outputs


def test_the_users_file_is_not_touched_and_lines_are_named_by_their_numbers(dbg: Any, tmp_path: Path) -> None:
    path = tmp_path / "days.txt"
    path.write_text("".join(f"{n % 20},{'99999' if n == 77 else n % 4}\n" for n in range(200)))
    before = path.read_bytes(), path.stat().st_mtime_ns
    sums = dbg.context.textFile(str(path), 3).map(lambda line: tuple(map(int, line.split(",")))).reduceByKey(add, 2)
    with dbg.capture() as run:
        sums.collect()
    found = dbg.clean(run, small)
    assert [(record.origin.line, record.record) for record in found.removed] == [(78, "17,99999")]
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before


def test_what_cannot_be_cleaned_is_refused_by_name(dbg: Any, spark: Any) -> None:
    report = summed(dbg, rows_with((3, (3, 10**6))))
    with pytest.raises(PredicateError, match="quality= raised KeyError"):
        dbg.clean(report, lambda out: {}["quality"])
    with pytest.raises(TypeError, match="quality is a function"):
        dbg.clean(report, 3)
    with pytest.raises(ValueError, match="suspects is 'localize', 'lineage'"):
        dbg.clean(report, small, suspects="best")
    with pytest.raises(TypeError, match="enough is the quality"):
        dbg.clean(report, small, enough="good")
    with pytest.raises(TypeError, match="as a trace"):
        dbg.clean(report, small, suspects=lambda sources: 3)
    frame = spark.range(3)
    with pytest.raises(PredicateError, match="quality= raised KeyError"):
        dbg.clean(frame, lambda row: {}["quality"])
    with pytest.raises(TypeError, match="a Column or SQL"):
        dbg.clean(frame, 3)
    with pytest.raises(UnknownColumnError, match="no such column"):
        dbg.clean(frame, "length")
    with pytest.raises(PredicateError, match="more than the columns of a row"):
        dbg.clean(frame, F.rand())
    with pytest.raises(ReplayError, match="cleaned as a whole"):
        dbg.clean(dbg.lineage(frame).where("id = 1"), "id")
    with pytest.raises(UnknownOperatorError, match="not made of this DataFrame"):
        dbg.clean(frame, "id", at=spark.range(4))
    few = dbg.context.parallelize(range(100), 4)
    with dbg.capture() as run:
        few.take(2)
    with pytest.raises(ReplayError, match="did not ask for all"):
        dbg.clean(run, lambda n: n)


@pytest.mark.slow
def test_an_output_without_a_quality_is_the_worst(dbg: Any) -> None:
    rows = dbg.context.parallelize([(n % 5, float(n % 7)) for n in range(60)] + [(2, math.nan)], 3).reduceByKey(add, 2)
    with dbg.capture():
        rows.collect()
    found = dbg.clean(rows, lambda out: out[1])
    assert [record.origin.index for record in found.removed] == [60]
    assert found.rounds[0].before.lowest == -math.inf


@pytest.mark.parametrize(("qualities", "bar"), [
    ([], None), ([1.0], None), ([5.0] * 20, None), ([5.0] * 20 + [-100.0], 5.0), ([5.0] * 20 + [100.0], None), ([-math.inf, 3.0, 4.0], 3.0), ([-math.inf], None),
])
def test_the_bar_is_where_qualities_are_unusually_low(qualities: list[float], bar: float | None) -> None:
    assert stands_out(qualities) == bar
    varied = [float(n % 7) for n in range(70)]
    found = stands_out([*varied, -50.0])
    assert found is not None
    assert -50.0 < found < 0.0
    assert stands_out([*varied, found]) is None


def test_better_is_fewer_below_the_bar_or_a_lowest_that_is_less_low() -> None:
    two = Rating.of([-9.0, -8.0, 1.0], 0.0)
    assert Rating.of([-99.0, 1.0], 0.0).better(two)
    assert Rating.of([-8.5, -8.0, 1.0], 0.0).better(two)
    assert not two.better(two)
    assert not Rating.of([-10.0, -1.0], 0.0).better(two)


def test_a_record_that_a_program_reads_twice_is_left_out_of_both(dbg: Any, tmp_path: Path) -> None:
    """Read in partitions of other sizes, so that it has another rid in each."""
    path = tmp_path / "days.txt"
    path.write_text("".join(f"{n % 20},{'99999' if n == 77 else n % 4}\n" for n in range(200)))

    def read(partitions: int) -> Any:
        return dbg.context.textFile(str(path), partitions).map(lambda line: tuple(map(int, line.split(","))))

    both = read(3).union(read(5)).reduceByKey(add, 2)
    with dbg.capture():
        both.collect()
    found = dbg.clean(both, small)
    assert [(record.origin.line, record.record) for record in found.removed] == [(78, "17,99999")] * 2
    assert dict(found.outputs)[17] == 2 * sum(n % 4 for n in range(200) if n % 20 == 17 and n != 77)
    sides = read(3).reduceByKey(add, 2).leftOuterJoin(read(5).filter(lambda row: row[1] < 9).reduceByKey(add, 2)).mapValues(lambda pair: pair[0] - pair[1])
    with dbg.capture():
        sides.collect()
    alone = dbg.clean(sides, small)
    assert {(record.origin.line, record.record) for record in alone.removed} == {(78, "17,99999")}
    assert dict(alone.outputs)[17] == 0


def test_records_without_a_hash_or_a_truth_value_are_cleaned(dbg: Any) -> None:
    rows = dbg.context.parallelize([(n % 7, [n, np.array([n, n])]) for n in range(100)] + [(3, [10**6, np.array([0, 0])])], 3)
    sums = rows.groupByKey(2).mapValues(lambda values: sum(value[0] for value in values))
    with dbg.capture():
        sums.collect()
    found = dbg.clean(sums, small)
    assert [record.origin.index for record in found.removed] == [100]
    assert dict(found.outputs)[3] == sum(n for n in range(100) if n % 7 == 3)
    diagnosis = dbg.localize(sums, lambda out: out[1] > 10**5)
    assert [record.origin.index for record in diagnosis.fault_sets[0].records] == [100]
    with pytest.raises(PredicateError, match=r"edit= at .*test_clean.py:\d+ raised ZeroDivisionError"):
        dbg.clean(sums, small, edit=lambda row: 1 // 0)
    assert sorted(sums.collect())[3][1] > 10**6


@pytest.mark.slow
@pytest.mark.parametrize("at", [False, True])
def test_of_two_collections_that_are_called_alike_only_the_culprits_are_removed(dbg: Any, at: bool) -> None:
    """Records at the same places of both have the same rids and origins. In later rounds they are found behind a union, or where that is cut."""
    rows = rows_with(*((10 * n + 3, ((10 * n + 3) % 40 + 100 * n, 50_000 + n)) for n in range(27)))
    middle = dbg.context.parallelize(rows[:250], 3).union(dbg.context.parallelize(rows[250:], 2)).filter(lambda row: row[1] != 3)
    sums = middle.reduceByKey(add, 3)
    with dbg.capture():
        sums.collect()
    found = dbg.clean(sums, small, enough=-1_000, at=middle if at else None)
    assert [each.removals for each in found.rounds] == [20, 7]
    assert sorted(record.record for record in found.removed) == sorted(rows[10 * n + 3] for n in range(27))
    assert sorted(found.outputs, key=repr) == total([row for row in rows if row[1] in (1, 2)])


# ---- queries --------------------------------------------------------------------------------------------------------

BAD = {6: -9_000, 9: -8_000, 22: -7_000}
"""Amounts of orders that are wrong, of three shops; the worst first."""

NAMES = [(shop, f"shop {shop}") for shop in range(4)]


def orders() -> list[tuple[int, int, int]]:
    return [(i, (i + i // 20) % 4, BAD.get(i, 1 + i % 7)) for i in range(40)]


def totals(orders: Any) -> Any:
    return orders.groupBy("shop").agg(F.sum("amount").alias("total"))


def sold(orders: Any, shops: Any) -> Any:
    """It reads the orders twice: they are left out of both."""
    return totals(orders).join(orders.where("amount > -10000").groupBy("shop").agg(F.count("*").alias("orders")), "shop").join(shops, "shop")


@pytest.fixture(scope="module")
def shops(spark: Any) -> Any:
    return spark.createDataFrame(NAMES, "shop int, name string")


@pytest.fixture(scope="module")
def in_memory(spark: Any) -> Any:
    return spark.createDataFrame(spark.sparkContext.parallelize(orders(), 3), "id int, shop int, amount int")


@pytest.fixture
def one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """A round looks at one bad output."""
    monkeypatch.setattr("bigdebug.mining.cleaning.WORST", 1)


def cleaned_as_without(found: Any, query: Any, table: Any, gone: set[int]) -> None:
    """The reference is the query over the table without the records that are told, which are those of the original table."""
    assert {record.record.id: record.record.amount for record in found.removed if "amount" in record.record} == {n: orders()[n][2] for n in gone}
    expected = Counter(query(table.where(~F.col("id").isin(gone))).collect())
    assert Counter(found.outputs) == Counter(found.replay.collect()) == expected


@pytest.mark.slow
def test_rows_of_a_query_are_localized_round_after_round_in_the_original_table(dbg: Any, in_memory: Any, shops: Any, one_by_one: None) -> None:
    query, runs = sold(in_memory, shops), len(dbg.runs)
    found = dbg.clean(query, "total", enough=0, rounds=2)
    assert [(each.before.below, each.after.below, each.removals, each.kept) for each in found.rounds] == [(3, 2, 1, True), (2, 1, 1, True)]
    assert all(each.by.startswith("localization") for each in found.rounds)
    assert [record.origin.index for record in found.removed] == [6, 9]
    cleaned_as_without(found, lambda table: sold(table, shops), in_memory, {6, 9})
    assert len(dbg.runs) == runs + 1  # of the question about a query of which no action was captured
    assert min(row.total for row in query.collect()) < -8_000


@pytest.mark.many
@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_lines_and_rows_of_files_are_left_out_round_after_round(dbg: Any, spark: Any, in_memory: Any, tmp_path: Path, one_by_one: None, form: str) -> None:
    """In later rounds their numbers are still those in the files."""
    in_memory.write.format(form).save(str(tmp_path / "orders"))
    table = spark.read.schema(in_memory.schema).format(form).load(str(tmp_path / "orders"))
    seen: list[int] = []

    def corrupt(sources: Any) -> Any:
        seen.append(sources["orders"].count())
        return sources["orders"].where("amount < 0")

    found = dbg.clean(totals(table), lambda row: row.total, enough=0, suspects=corrupt)
    assert [(each.before.below, each.after.below) for each in found.rounds] == [(3, 2), (2, 1), (1, 0)]
    assert seen == [10, 10, 10]
    places = {number: (file, row) for number, file, row in table.select("id", "_metadata.file_name", *(["_metadata.row_index"] if form == "parquet" else [F.lit(-1)])).collect()}
    for record in found.removed:
        assert Path(record.origin.path).name == places[record.record.id][0]
        assert form == "csv" or record.origin.row == places[record.record.id][1]
    cleaned_as_without(found, totals, table, set(BAD))


@pytest.mark.slow
def test_by_lineage_all_rows_that_only_bad_rows_were_made_of_go(dbg: Any, in_memory: Any, shops: Any, one_by_one: None) -> None:
    found = dbg.clean(sold(in_memory, shops), lambda row: row.total, enough=-7_900, suspects="lineage")
    assert [(each.after.outputs, each.after.below) for each in found.rounds] == [(3, 1), (2, 0)]
    gone = {number for number, shop, _ in orders() if shop in {orders()[6][1], orders()[9][1]}}
    cleaned_as_without(found, lambda table: sold(table, shops), in_memory, gone)
    assert sorted(record.record.name for record in found.removed if "name" in record.record) == sorted(f"shop {orders()[n][1]}" for n in (6, 9))


@pytest.mark.slow
def test_rows_are_left_out_inside_of_a_query_or_changed(dbg: Any, in_memory: Any, one_by_one: None) -> None:
    """Of the totals by shop and parity, those that only bad shops are made of."""
    def halves(table: Any) -> Any:
        return table.groupBy("shop", (F.col("id") % 5).alias("part")).agg(F.sum("amount").alias("total"))

    inner = halves(in_memory)
    query = inner.groupBy("shop").agg(F.sum("total").alias("total"), F.count("*").alias("parts"))
    inside = dbg.clean(query, "total", enough=-7_900, suspects="lineage", at=inner)
    bad = {orders()[n][1] for n in (6, 9)}
    assert [each.removals for each in inside.rounds] == [10, 10]
    assert Counter(inside.outputs) == Counter(row for row in query.collect() if row.shop not in bad)
    changed = dbg.clean(query, "total", enough=0, suspects=lambda sources: sources.where("amount < 0"), edit=lambda row: {**row.asDict(), "amount": 1})
    mended = in_memory.withColumn("amount", F.when(F.col("amount") < 0, 1).otherwise(F.col("amount")))
    assert Counter(changed.outputs) == Counter(halves(mended).groupBy("shop").agg(F.sum("total").alias("total"), F.count("*").alias("parts")).collect())
    assert [record.record.amount for record in changed.removed] == sorted(BAD.values())
    assert len(changed.rounds) == 3


@pytest.mark.slow
def test_what_is_left_of_a_query_may_be_refused_or_have_no_source(dbg: Any, spark: Any, in_memory: Any) -> None:
    in_memory.createOrReplaceTempView("orders")
    asking = spark.sql("select id, amount from orders where amount < (select avg(amount) + 9000 from orders)")
    with pytest.raises(ReplayError, match=r"cannot be traced.*scalarsubquery"):
        dbg.clean(asking, "amount", enough=0, suspects=lambda sources: sources.where("id = 6"))
    found = dbg.clean(spark.sql("select -1 total"), "total", enough=0)
    assert (found.rounds, found.reason) == ((), "the query reads no source")
    together = in_memory.groupBy("shop").applyInPandas(lambda rows: rows.groupby("shop", as_index=False)["amount"].sum(), "shop int, amount long")
    found = dbg.clean(together, "amount", enough=0)
    assert found.rounds[0].by.startswith("lineage, for localization says: this query cannot be tried on fewer records")
    assert [row.shop for row in found.outputs] == [0]
