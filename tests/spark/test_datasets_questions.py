"""Questions over what Spark really did, from jobs as people write them; and no byte of a secret in the store."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import bigdebug
from bigdebug.views.datasetsview import DatasetsView

SECRET = "Zq7-hunter2.X9"


@pytest.fixture(scope="module")
def shop(spark: Any, dbg: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A pipeline: raw files, a table, files made of the table's files, and a report that is captured."""
    folder = tmp_path_factory.mktemp("shop")
    spark.sql("drop table if exists l2_orders")
    spark.range(40).selectExpr("id", "id % 7 item", "id * 1.5 price").write.csv(f"{folder}/raw_orders", header=True)
    raw = spark.read.csv(f"{folder}/raw_orders", schema="id long, item int, price double", header=True)
    raw.where("price > 3").write.saveAsTable("l2_orders")
    files = next(row["data_type"] for row in spark.sql("describe extended l2_orders").collect() if row["col_name"] == "Location")
    spark.read.parquet(files).groupBy("item").agg({"price": "sum"}).withColumnRenamed("sum(price)", "total").write.parquet(f"{folder}/sales")
    with dbg.capture("report"):
        spark.read.parquet(f"{folder}/sales").where("total > 10").write.json(f"{folder}/report")
    yield folder
    spark.sql("drop table if exists l2_orders")


def test_what_feeds_what_is_followed_over_jobs_tables_and_their_files(dbg: Any, shop: Path) -> None:
    up = dbg.datasets.upstream(f"{shop}/report")
    assert [row["dataset"].rpartition("/")[2] for row in up][:1] == ["sales"]
    assert f"file:{shop}/raw_orders" in up.column("dataset")
    assert {f"file:{shop}/sales", f"file:{shop}/report"} <= set(dbg.datasets.downstream("l2_orders").column("dataset"))
    columns = {(row["dataset"].rpartition("/")[2], row["column"]): row["influence"] for row in dbg.datasets.upstream(f"{shop}/report", "total")}
    assert columns["raw_orders", "price"] == "value"
    assert columns["raw_orders", "item"] == "decides"


def test_a_dropped_column_fails_the_job_that_sums_it(dbg: Any, shop: Path) -> None:
    found = list(dbg.datasets.impact("l2_orders", "PRICE"))
    assert any(row["effect"] == "fails" and f"file:{shop}/sales" in row["writes"] for row in found)
    assert any(row["effect"] == "stale" and row["writes"] == (f"file:{shop}/report",) for row in found)


def test_history_and_records_of_a_write(dbg: Any, shop: Path) -> None:
    rows = list(dbg.datasets.history(f"{shop}/report"))
    assert [(row["what"], row["status"], row["rows"]) for row in rows] == [("created", "succeeded", 7)]
    assert dbg.datasets.trace(f"{shop}/report").goBackAll().count() == 7


def test_a_column_is_followed_that_is_read_under_another_case(spark: Any, dbg: Any, shop: Path) -> None:
    spark.read.schema("ITEM int, TOTAL double").parquet(f"{shop}/sales").selectExpr("TOTAL + 1 as x").write.parquet(f"{shop}/upper")
    columns = {(row["dataset"].rpartition("/")[2], row["column"]): row["influence"] for row in dbg.datasets.upstream(f"{shop}/upper", "x")}
    assert columns["raw_orders", "price"] == "value"
    assert any(row["effect"] == "fails" and f"file:{shop}/upper" in row["writes"] for row in dbg.datasets.impact(f"{shop}/sales", "total"))


def test_where_columns_of_csv_are_not_known_is_said(spark: Any, dbg: Any, shop: Path) -> None:
    spark.read.csv(f"{shop}/raw_orders").write.parquet(f"{shop}/by_place")
    assert any(f"file:{shop}/raw_orders was read with other columns" in note for note in dbg.datasets.upstream(f"{shop}/by_place", "_c2").notes)


def test_a_view_of_the_session_is_drawn(dbg: Any, shop: Path) -> None:
    view = bigdebug.view(dbg.datasets)
    assert isinstance(view, DatasetsView)
    around = DatasetsView(dbg.datasets, f"{shop}/report").answer({"version": 1, "id": 1, "request": "graph", "content": {}})["content"]
    assert {"report", "sales", "raw_orders"} <= {node["name"] for node in around["nodes"]}


def _plants(spark: Any, folder: Path) -> dict[str, Callable[[str], Any]]:
    """As many jobs as places where people put secrets; each is given one."""
    derby, driver = f"jdbc:derby:memory:{folder.name}plants;create=true", "org.apache.derby.iapi.jdbc.AutoloadedDriver"
    jdbc = {"url": derby, "driver": driver}
    hadoop = spark.sparkContext._jsc.hadoopConfiguration()
    with_key = "select aes_decrypt(aes_encrypt('a', '{}'), '{}')"

    def told(sql: str) -> Callable[[str], Any]:
        return lambda value: spark.sql(sql.replace("{}", value)).collect()

    def failing(value: str) -> None:
        from pyspark.sql.functions import udf

        def log_in(_: int) -> int:
            raise ValueError(f"cannot reach https://bob:{value}@host/x, and {value} is refused")

        spark.range(1).select(udf(log_in, "int")("id")).collect()

    def raising(said: str) -> Callable[[Any], Any]:
        def raises(_: Any) -> Any:
            raise ValueError(said)

        return raises

    def failing_on_files(value: str) -> None:
        from pyspark.sql.functions import udf

        files = spark.read.option("dbPass", value).schema("a string").csv(f"{folder}/raw_orders")
        files.select(udf(raising(f"no access with {value}"))("a")).collect()

    def in_the_environment(value: str) -> None:
        with pytest.MonkeyPatch.context() as environment:
            environment.setenv("DB_PASSWORD", value)
            spark.sql(f"select raise_error('bad {value}')").collect()

    def written_with(value: str) -> None:
        spark.range(1).selectExpr(f"'{value}' x").write.option("encryptionPassphrase", value).csv(f"{folder}/with_option")

    return {
        "an option of files": failing_on_files,
        "an option of a write": written_with,
        "an option of a table of files": lambda value: (
            spark.sql(f"create table l2_props2 (a string) using csv options (userPass '{value}')"), told("select concat(a, '{}') from l2_props2")(value)),
        "the environment": in_the_environment,
        "an element": told("select raise_error('<password>{}</password>')"),
        "prose": told("select raise_error('Invalid API key: {}')"),
        "a block comment": told("select /* db passwd {} */ id from range(2)"),
        "a message of an RDD": lambda value: spark.sparkContext.parallelize([1]).map(raising(f"access denied: password={value}")).saveAsTextFile(f"{folder}/rdd"),
        "a message of a write": lambda value: spark.range(1).rdd.map(raising(f"denied: {value} as secret_key={value}")).toDF("a int").write.parquet(f"{folder}/rdd2"),
        "a setting": lambda value: (spark.conf.set("plant.token", value), told("select '{}' as plain")(value), spark.conf.unset("plant.token")),
        "SET": lambda value: (spark.sql(f"set plant.password={value}"), told("select '{}' as plain")(value), spark.conf.unset("plant.password")),
        "Hadoop": lambda value: (hadoop.set("plant.secret.key", value), told("select '{}' as plain")(value)),
        "a literal": told("select '{}' as password"),
        "a comment": told("select 1 -- password: {}\n"),
        "a query of a URL": lambda value: spark.range(1).write.parquet(f"{folder}/x?token={value}"),
        "a folder": lambda value: spark.range(1).write.parquet(f"{folder}/token={value}"),
        "a function's message": failing,
        "a view": told("create or replace temp view l2_view as select id from range(3) where 'a' <> 'b' or '{}' = 'c' and 'api_key' = '{}'"),
        "an option": lambda value: spark.range(1).write.format("jdbc").options(dbtable="app.p", password=value, **jdbc).save(),
        "a URL": lambda value: spark.range(1).write.jdbc(f"{derby};user=app;password={value}", "app.q", properties={"driver": driver}),
        "a query of a database": lambda value: spark.read.format("jdbc").options(query=f"select '{value}' as secret_token from sysibm.sysdummy1", **jdbc).load().collect(),
        "options of a table": told(f"create table l2_planted using jdbc options (url '{derby}', dbtable 'app.p', password '{{}}', driver '{driver}')"),
        "properties of a table": told("create table l2_props (name string, password string) using parquet tblproperties ('plant.api_key' = '{}')"),
        "a header": told("select 'Authorization: Bearer {}' as h"),
        "values by name": told("insert into l2_props (name, password) values ('bob', '{}')"),
        "values": told("insert into l2_props values ('bob', '{}')"),
        "a message": told("select raise_error('the password for bob is {}')"),
        "a key": told(with_key),
        "a subquery": told("select id from range(2) where id in (select id from range(3) where 'x' = 'y' or concat('token', id) in ('a') or 'password' = '{}')"),
        "an option of a query": told("select * from l2_props where password in ('x', '{}') or password <> '{}'"),
    }


def _files(folder: Path) -> list[Path]:
    """Also those of actors, which are in the same home."""
    return [path for path in folder.rglob("*") if path.is_file()]


def test_of_secrets_that_are_planted_in_thirty_places_none_is_found_in_what_was_kept(
    spark: Any, dbg: Any, shop: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG, "bigdebug")
    before = len(dbg.datasets.processes(limit=1_000_000))
    planted = {}
    for number, (name, plant) in enumerate(_plants(spark, shop).items()):
        planted[name] = f"Q7p{number:02}lant9zX{7919 * (number + 1):05}"[:16]
        with suppress(Exception):  # what is recorded of it is looked at
            plant(planted[name])
    for table in ("l2_planted", "l2_props", "l2_props2"):
        spark.sql(f"drop table if exists {table}")
    for form in ("openlineage", "atlas"):
        dbg.datasets.export(tmp_path / form, form)  # what was done is recorded by then
    spark.sparkContext._jsc.hadoopConfiguration().unset("plant.secret.key")
    assert len(dbg.datasets.processes(limit=1_000_000)) >= before + 28
    kept = [path.read_bytes() for path in (*_files(dbg.datasets.store.path.parent), *_files(tmp_path))] + [caplog.text.encode()]
    assert [name for name, value in planted.items() if any(value.encode() in each for each in kept)] == []
    assert len(kept) >= 4


def test_no_byte_of_a_secret_is_in_the_store(spark: Any, dbg: Any, shop: Path) -> None:
    spark.conf.set("spark.hadoop.fs.s3a.secret.key", SECRET)
    derby = f"jdbc:derby:memory:{shop.name};create=true;user=app;password={SECRET}"
    frame = spark.range(3).selectExpr("id", f"'{SECRET}' as plain")
    frame.select("id").write.jdbc(derby, "app.t", properties={"password": SECRET, "driver": "org.apache.derby.iapi.jdbc.AutoloadedDriver"})
    assert spark.read.format("jdbc").options(url=derby, dbtable="app.t", password=SECRET, driver="org.apache.derby.iapi.jdbc.AutoloadedDriver").load().count() == 3
    for attempt in (
        lambda: spark.sql(f"select raise_error('login failed for https://bob:{SECRET}@host/x?token={SECRET}')").collect(),
        lambda: spark.read.jdbc(f"jdbc:derby://127.0.0.1:1/none;password={SECRET}", "t").count(),
        lambda: spark.sql(f"create table l2_secret using jdbc options (url '{derby}', dbtable 'app.t', password '{SECRET}', driver 'org.apache.derby.iapi.jdbc.AutoloadedDriver')"),
        lambda: spark.sql("insert into l2_secret values (9)").collect(),
    ):
        with suppress(Exception):  # what is recorded of it is looked at
            attempt()
    spark.sql("drop table if exists l2_secret")
    spark.conf.unset("spark.hadoop.fs.s3a.secret.key")
    assert len(dbg.datasets.find(shop.name)) >= 1
    told = repr(dbg.datasets.processes(limit=30)) + repr([dbg.datasets.process(each) for each in dbg.datasets.processes(limit=30).column("process")])
    assert "derby" in told
    assert SECRET not in told
    files = _files(dbg.datasets.store.path.parent)
    assert files
    for path in files:
        assert SECRET.encode() not in path.read_bytes(), path
    spark.catalog.clearCache()
