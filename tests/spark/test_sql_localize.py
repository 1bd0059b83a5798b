"""Localization in queries: the corrupt rows of the acceptance cases and no innocent ones, and clear words where nothing can be looked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
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
