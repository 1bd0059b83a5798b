"""The acceptance cases as queries over DataFrames of lines. With other columns to group ``by``, each group of these is the case for itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pyspark.sql import functions as F

from tests.cases.programs import CASES, Case

AIRPORT, WEATHER, STUDENTS, COMMUTE, WORDS = CASES


def fields(frame: Any, separator: str, *names: str) -> Any:
    return frame.select("*", *(F.split("line", separator)[i].alias(name) for i, name in enumerate(names)))


def airport(lines: Any, *by: str) -> Any:
    known = fields(lines, ",", "date", "passenger", "arrival", "departure", "airport")
    minutes = "60 * int(split({0}, ':')[0]) + int(split({0}, ':')[1])".format
    stays = known.withColumn("stay", F.expr(f"{minutes('departure')} - ({minutes('arrival')})")).where("stay < 45")
    return stays.groupBy(*by, "airport", F.split("arrival", ":")[0].alias("hour")).agg(F.sum("stay").alias("stays"))


def weather(lines: Any, *by: str) -> Any:
    known = fields(lines, ",", "zip", "date", "snow").select(
        *by, F.expr("int(zip) % 50").alias("state"), F.split("date", "/").alias("day"),
        F.expr("double(left(snow, len(snow) - 2)) * if(endswith(snow, 'mm'), 1, 304.8)").alias("amount"),
    )
    both = known.select(*by, "state", "amount", F.explode(F.expr("array(day[0] || '/' || day[1], '/' || day[2])")).alias("time"))
    return both.groupBy(*by, "state", "time").agg((F.max("amount") - F.min("amount")).alias("delta"))


def students(lines: Any, *by: str) -> Any:
    known = fields(lines, " ", "first", "last", "gender", "age", "grade", "major").select(*by, F.expr("int(grade)"), F.expr("int(age)"))
    return known.groupBy(*by, "grade").agg(F.avg("age").alias("age"))


def commute(lines: Any, *by: str) -> Any:
    known = fields(lines, ",", "region", "from", "to", "distance", "time").withColumn("speed", F.expr("int(distance) div int(time)"))
    kind = F.expr("CASE WHEN speed > 40 THEN 'car' WHEN speed > 15 THEN 'public' ELSE 'onfoot' END")
    return known.groupBy(*by, "region", kind.alias("kind")).agg(F.avg("speed").alias("average"))


def words(lines: Any, *by: str) -> Any:
    known = lines.select(*by, F.explode(F.split("line", " ")).alias("word"))
    return known.groupBy(*by, F.left("word", F.lit(1)).alias("letter")).agg(F.expr("sum(len(word)) div count(*)").alias("mean"))


@dataclass(frozen=True)
class InSql:
    """An acceptance case as a query; ``key`` gives of a row the key that the case knows it by."""

    case: Case
    query: Callable[..., Any]
    test: Any
    key: Callable[[Any], Any]


QUERIES = (
    InSql(AIRPORT, airport, "stays < 0", lambda row: (row.airport, row.hour)),
    InSql(WEATHER, weather, lambda row: row.delta > 6000, lambda row: (row.state, row.time)),
    InSql(STUDENTS, students, "grade > 3 OR age > 25 OR age < 18", lambda row: row.grade),
    InSql(COMMUTE, commute, lambda row: row.kind == "car" and row.average > 50, lambda row: (row.region, row.kind)),
    InSql(WORDS, words, "mean > 70", lambda row: row.letter),
)
