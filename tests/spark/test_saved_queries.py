"""A saved run of a DataFrame answers in a process that has no Spark what the live session answers, or says by name why not."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyspark.sql import functions as F

import bigdebug
from bigdebug.errors import BigdebugError, IncompleteLineageError, UnknownRecordError
from tests.spark.fresh import fresh

ASKED = 4
"""Rows of a result that are asked about in both."""
SLOW = {"two groups", "union of itself", "group", "one row", "limit"}

WORD = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def tables(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Orders in Parquet, customers in CSV, notes in text."""
    folder = tmp_path_factory.mktemp("tables")
    rows = [(i, i % 7 if i % 5 else None, float(i) if i % 11 else float("nan"), WORD if i % 9 == 0 else f"o{i % 4}") for i in range(60)]
    spark.createDataFrame(rows, "o int, c int, price double, tag string").repartition(3).write.parquet(str(folder / "orders"))
    (folder / "customers.csv").write_text("c,city\n" + "".join(f"{i},city {i % 3}\n" for i in range(9)))
    (folder / "notes.txt").write_text("".join(f"{i % 3} note {i}\n" for i in range(12)))
    return {
        "orders": spark.read.parquet(str(folder / "orders")), "customers": spark.read.csv(str(folder / "customers.csv"), header=True, schema="c int, city string"),
        "notes": spark.read.text(str(folder / "notes.txt")), "folder": folder,
    }


QUERIES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "filter": lambda t: t["orders"].where("price > 20").select("o", "tag"),
    "group": lambda t: t["orders"].groupBy("c").agg(F.sum("price").alias("total"), F.count("*").alias("n")),
    "join": lambda t: t["orders"].join(t["customers"], "c").groupBy("city").agg(F.max("o").alias("last")),
    "two groups": lambda t: t["orders"].groupBy("c", "tag").count().groupBy("tag").agg(F.sum("count").alias("n")),
    "union of itself": lambda t: t["orders"].select("o").where("o < 5").union(t["orders"].select("o").where("o > 55")),
    "lines": lambda t: t["notes"].select(F.split("value", " ")[0].alias("k"), "value").groupBy("k").agg(F.count("*").alias("n")),
    "window": lambda t: t["orders"].selectExpr("o", "sum(o) OVER (PARTITION BY tag ORDER BY o) AS so_far").where("o < 12"),
    "limit": lambda t: t["orders"].orderBy("o").limit(5),
    "anti join": lambda t: t["customers"].join(t["orders"], "c", "left_anti"),
    "subquery": lambda t: t["orders"].where("o > (SELECT 50)").select("o"),
    "empty": lambda t: t["orders"].where("o < 0").groupBy("c").count(),
    "one row": lambda t: t["orders"].agg(F.sum("o").alias("all")),
}


def origins(trace: Any) -> list[str]:
    return sorted(map(str, trace.origins()))


@pytest.mark.many
@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in QUERIES])
def test_a_saved_query_answers_as_the_live_one_does(dbg: Any, tables: Any, tmp_path: Path, name: str) -> None:
    frame = QUERIES[name](tables)
    with dbg.capture(name) as run:
        rows = frame.collect()
    saved = bigdebug.open(dbg.save(tmp_path / "saved", run, lineage=True))
    trace = saved.lineage(name)
    assert saved.runs[0].unsaved == ""
    assert trace.count() == len(rows)
    held = trace.collect()
    assert sorted(map(repr, held)) == sorted(map(repr, rows))
    whole = dbg.lineage(frame)
    made: dict[tuple[str, str], set[int]] = {}
    for number, row in enumerate(held[:ASKED]):
        mine = trace.at([number]).goBackAll()
        live = whole.where({n: v for n, v in zip(frame.columns, row) if v == v and v is not None}).goBackAll()
        if sum(repr(other) == repr(row) for other in rows) == 1 and live.count():
            assert origins(mine) == origins(live), row
        for origin in mine.origins():
            made.setdefault((origin.dataset, str(origin)), set()).add(number)
    back = trace.goBackAll()
    for dataset in dict.fromkeys(back.run.datasets().values()):
        part = back[dataset]
        for rid, origin in list(zip(part.rids().tolist(), part.origins()))[:20]:
            ahead: set[int] = set()
            for operator in part.operators:  # where a query reads it, and has this record
                with suppress(UnknownRecordError):
                    ahead |= set(saved.lineage(name, operator).at([rid]).goNextAll().rids().tolist())
            assert made.get((dataset, str(origin)), set()) == {n for n in ahead if n < ASKED}


def test_records_of_parquet_and_text_are_read_without_spark(dbg: Any, tables: Any, tmp_path: Path) -> None:
    for name in ("group", "lines"):
        with dbg.capture(name):
            QUERIES[name](tables).collect()
    saved = bigdebug.open(dbg.save(tmp_path / "saved", dbg.runs[-2:], lineage=True))
    orders = saved.lineage("group").where({"c": 3}).goBackAll().source_records()
    assert {known.record["c"] for known in orders} == {3}
    assert sorted(known.record["o"] for known in orders) == [i for i in range(60) if i % 5 and i % 7 == 3]
    assert [known.record["value"] for known in saved.lineage("lines").where({"k": "1"}).goBackAll().source_records()] == [f"{i % 3} note {i}" for i in range(1, 12, 3)]
    numbers = [i for i in range(12) if i % 3 == 1]
    assert [known.origin.line for known in saved.lineage("lines").where({"k": "1"}).goBackAll().source_records()] == [i + 1 for i in numbers]


def test_records_of_orc_files_that_were_read_in_pieces_are_their_own(dbg: Any, spark: Any, tmp_path: Path) -> None:
    spark.range(4_000).selectExpr("id", "repeat(string(id), 9) AS text").coalesce(1).write.orc(str(tmp_path / "orc"))
    with dbg.capture("orc") as run:
        spark.read.orc(str(tmp_path / "orc")).where("id % 1000 = 7").collect()
    trace = bigdebug.open(dbg.save(tmp_path / "saved", run, lineage=True)).lineage("orc")
    assert [known.record["id"] for known in trace.goBackAll().source_records()] == [7, 1007, 2007, 3007]
    assert [origin.row for origin in trace.goBackAll().origins()] == [7, 1007, 2007, 3007]


def test_what_cannot_be_traced_is_saved_without_lineage_and_says_why(dbg: Any, spark: Any, tmp_path: Path) -> None:
    with dbg.capture("drawn", strategy="lazy") as drawn:
        rows = spark.range(4).withColumn("r", F.rand()).where("r < 2").collect()
    with pytest.raises(Exception, match="DIVIDE_BY_ZERO"), dbg.capture("failed") as failed:
        spark.range(4).selectExpr("1 div (id - 2)").collect()
    saved = bigdebug.open(dbg.save(tmp_path / "saved", [drawn.latest, failed.latest], lineage=True))
    assert "inject" in saved.run("drawn").unsaved
    assert list(map(tuple, saved.lineage("drawn").collect())) == list(map(tuple, rows))
    assert "failed" in saved.run("failed").unsaved
    for name in ("drawn", "failed"):
        with pytest.raises(IncompleteLineageError, match="not saved"):
            saved.lineage(name).goBackAll()


def test_a_fresh_process_needs_no_spark(dbg: Any, tables: Any, tmp_path: Path) -> None:
    with dbg.capture("fresh") as run:
        QUERIES["join"](tables).collect()
    saved = dbg.save(tmp_path / "saved", run, lineage=True)
    expected = sorted(map(str, dbg.lineage(run).where({"city": "city 1"}).goBackAll().origins()))
    script = "answer = sorted(map(str, session.lineage('fresh').where({'city': 'city 1'}).goBackAll().origins()))"
    assert fresh(saved, script) == expected


def test_without_lineage_nothing_runs_and_the_remedy_is_named(dbg: Any, tables: Any, tmp_path: Path) -> None:
    frame = QUERIES["group"](tables)
    with dbg.capture("plain") as run, dbg.following() as jobs:
        rows = frame.collect()
        bus = dbg.spark.sparkContext._jsc.sc().listenerBus()
        bus.waitUntilEmpty()
        before = jobs.tasks
        saved = bigdebug.open(dbg.save(tmp_path / "saved", run))
        bus.waitUntilEmpty()
        assert jobs.tasks == before
    assert saved.lineage("plain").count() == len(rows)
    assert list(map(repr, saved.lineage("plain").collect())) == list(map(repr, rows))
    with pytest.raises(IncompleteLineageError, match="lineage=True"):
        saved.lineage("plain").goBackAll()
    assert "lineage=True" in str(saved.runs_table())


def test_indexes_that_exist_are_saved_without_a_job(dbg: Any, tables: Any, tmp_path: Path) -> None:
    frame = QUERIES["join"](tables)
    with dbg.capture("indexed") as run:
        rows = frame.collect()
    dbg.index(run)
    with dbg.following() as jobs:
        before = jobs.tasks
        saved = bigdebug.open(dbg.save(tmp_path / "saved", run))
        assert jobs.tasks == before
    assert saved.lineage("indexed").collect() == [tuple(row) for row in rows]
    for number, row in enumerate(rows):
        assert origins(saved.lineage("indexed").at([number]).goBackAll()) == origins(dbg.lineage(run).where(row).goBackAll())


def test_what_depends_on_more_than_its_rows_is_refused_by_name_beyond_some(dbg: Any, spark: Any, tmp_path: Path) -> None:
    frame = spark.range(300).selectExpr("id", "sum(id) OVER (ORDER BY id) AS s")
    with dbg.capture("windows") as run:
        frame.collect()
    saved = bigdebug.open(dbg.save(tmp_path / "saved", run, lineage=True))
    assert "one by one, 200 at most" in saved.runs[0].unsaved
    with pytest.raises(IncompleteLineageError, match="one by one"):
        saved.lineage("windows").goBackAll()
    assert saved.lineage("windows").count() == 300


def test_files_that_have_changed_are_refused_and_rids_still_answered(dbg: Any, spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "lines.txt"
    path.write_text("a\nb\n")
    with dbg.capture("changing") as run:
        spark.read.text(str(path)).selectExpr("upper(value) AS v").collect()
    saved = bigdebug.open(dbg.save(tmp_path / "saved", run, lineage=True))
    assert [known.record["value"] for known in saved.lineage("changing").goBackAll().source_records()] == ["a", "b"]
    path.write_text("c\nd\n")
    with pytest.raises(BigdebugError, match="no longer what it was"):
        saved.lineage("changing").goBackAll().source_records()
    assert [origin.line for origin in saved.lineage("changing").goBackAll().origins()] == [1, 2]


def test_all_kinds_of_values_are_saved(dbg: Any, spark: Any, tmp_path: Path) -> None:
    frame = spark.sql(
        "SELECT 1Y AS a, CAST(NULL AS int) AS b, double('NaN') AS c, decimal(1.5) AS d, date'2020-01-02' AS e, timestamp'2020-01-02 03:04:05' AS f, X'00ff' AS g, "
        "array(1, NULL) AS h, map('k', struct(1 AS x, '\u202eevil' AS y)) AS i, struct(1, struct('<b>')) AS j, repeat('x', 1000000) AS k, interval 1 day AS l"
    )
    with dbg.capture("kinds") as run:
        [row] = frame.collect()
    [held] = bigdebug.open(dbg.save(tmp_path / "saved", run, lineage=True)).lineage("kinds").collect()
    assert held["k"] == row["k"]
    assert (held["a"], held["b"], held["d"], held["e"], held["g"], held["h"]) == (row["a"], row["b"], row["d"], row["e"], bytes(row["g"]), row["h"])
    assert np.isnan(held["c"])


def test_secrets_do_not_stand_in_saved_rows(dbg: Any, spark: Any, tmp_path: Path) -> None:
    with dbg.capture("secret") as run:
        spark.range(1).selectExpr("concat('sk-', 'abc') AS key", "id").collect()
    dbg.mask = r"sk-\w+"
    try:
        saved = dbg.save(tmp_path / "saved", run, lineage=True)
    finally:
        dbg.mask = None
    [held] = bigdebug.open(saved).lineage("secret").collect()
    assert held["key"] == "'***'"
    assert not any(b"sk-abc" in path.read_bytes() for path in saved.rglob("*") if path.is_file() and path.name != "session.json")
    assert "sk-abc" not in json.dumps(json.loads((saved / "session.json").read_text()))
