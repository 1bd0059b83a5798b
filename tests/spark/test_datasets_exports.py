"""What Spark really did, as others are told of it: each event and each entity valid, and taken by a collector that checks it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from bigdebug.datasets.questions import Datasets
from bigdebug.datasets.store import DatasetStore
from bigdebug.spark.datasets.recording import Recording
from tests.collector import Collector, collecting
from tests.validating import check_entities, check_event


class Told:
    """Two collectors, and the files that were exported at the end."""

    def __init__(self, events: Collector, atlas: Collector, folder: Path) -> None:
        self.events = [event for event in events.taken if event["eventType"] != "RUNNING"]
        self.running = [event for event in events.taken if event["eventType"] == "RUNNING"]
        self.wrong = events.wrong + atlas.wrong
        self.entities = [entity for body in atlas.taken for entity in [*body["entities"], *body["referredEntities"].values()]]
        self.folder = folder

    def ends(self, name: str) -> list[Any]:
        """The last events of runs that wrote what is called so."""
        return [event for event in self.events if event["eventType"] != "START" and any(output["name"].endswith(name) for output in event["outputs"])]


@pytest.fixture(scope="module")
def told(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Told]:
    """A small pipeline, a failure, a stream and a dropped table, recorded, sent and exported."""
    folder = tmp_path_factory.mktemp("exports")
    datasets = Datasets(DatasetStore(folder / "home" / "datasets.sqlite"))
    recording = Recording(spark.sparkContext, datasets.record)
    with pytest.MonkeyPatch.context() as environment, collecting() as events, collecting(check=check_entities) as atlas:
        environment.setenv("NO_PROXY", "127.0.0.1")
        senders = [datasets.send(events.url), datasets.send(atlas.url, "atlas")]
        recording.open()
        try:
            _pipeline(spark, folder)
            assert recording.settled(30)
        finally:
            recording.close()
        for sender in senders:
            end = time.monotonic() + 30
            while sender.status().waiting and time.monotonic() < end:
                time.sleep(0.02)
        datasets.export(folder / "events")
        datasets.export(folder / "atlas", "atlas")
        yield Told(events, atlas, folder)
    datasets.stop_sending(0)
    datasets.store.close()


def _pipeline(spark: SparkSession, folder: Path) -> None:
    orders = spark.range(100).select("id", (F.col("id") % 7).alias("מחיר"), F.struct(F.lit("<script>alert(1)</script>").alias("s")).alias("nested"))
    orders.write.parquet(str(folder / "orders"))
    spark.read.parquet(str(folder / "orders")).createOrReplaceTempView("exported_orders")
    spark.sql("CREATE TABLE exported_sales USING parquet AS SELECT `מחיר` price, count(*) n FROM exported_orders WHERE id > 3 GROUP BY `מחיר`")
    spark.sql("INSERT INTO exported_sales VALUES (1, 2)")
    spark.table("exported_sales").toPandas()
    with pytest.raises(PySparkException):
        spark.read.parquet(str(folder / "orders")).select(F.expr("raise_error('no such price')").cast("int").alias("x")).write.csv(str(folder / "failed"))
    stream = spark.readStream.schema(spark.read.parquet(str(folder / "orders")).schema).parquet(str(folder / "orders")).select("id")
    query = stream.writeStream.format("json").option("checkpointLocation", str(folder / "check")).trigger(availableNow=True).start(str(folder / "streamed"))
    query.awaitTermination()
    spark.sql("ALTER TABLE exported_sales ADD COLUMNS (c INT)")
    spark.sql("TRUNCATE TABLE exported_sales")
    spark.sql("DROP TABLE exported_sales")
    spark.catalog.dropTempView("exported_orders")


def test_collectors_took_all_of_it(told: Told) -> None:
    assert told.wrong == []
    runs: dict[str, list[str]] = {}
    for event in told.events:
        runs.setdefault(event["run"]["runId"], []).append(event["eventType"])
    assert len(runs) >= 7
    assert {tuple(kinds) for kinds in runs.values()} <= {("START", "COMPLETE"), ("START", "FAIL")}


def _then(event: Any) -> str:
    """What was known when it was told: of a stream that begins nothing is, and where a table stands the store may know from others."""
    begins = event["eventType"] == "START"
    for dataset in [*event["inputs"], *event["outputs"]]:
        dataset["facets"].pop("symlinks", None)
    return json.dumps({**event, "inputs": [], "outputs": []} if begins else event, sort_keys=True)


def test_the_files_say_the_same(told: Told) -> None:
    events = [json.loads(line) for line in (told.folder / "events").read_text(encoding="utf-8").splitlines()]
    for event in events:
        check_event(event)
    assert sorted(map(_then, events)) == sorted(map(_then, told.events))
    check_entities(json.loads((told.folder / "atlas").read_text(encoding="utf-8")))


def test_a_table_that_was_made_by_a_query_says_of_which_columns(told: Told) -> None:
    created = told.ends("exported_sales")[0]["outputs"][0]
    assert created["facets"]["lifecycleStateChange"]["lifecycleStateChange"] == "CREATE"
    assert [(field["name"], field["type"]) for field in created["facets"]["schema"]["fields"]] == [("price", "bigint"), ("n", "bigint")]
    lineage = created["facets"]["columnLineage"]
    used = {(use["field"], use["transformations"][0]["subtype"]) for use in lineage["fields"]["price"]["inputFields"] if use["name"].endswith("/orders")}
    assert used == {("מחיר", "IDENTITY")}
    assert {use["field"] for use in lineage["dataset"]} == {"id", "מחיר"}


def test_what_became_of_a_table_is_told_step_by_step(told: Told) -> None:
    states = [event["outputs"][0]["facets"].get("lifecycleStateChange", {}).get("lifecycleStateChange") for event in told.ends("exported_sales")]
    assert states == ["CREATE", None, "ALTER", "TRUNCATE", "DROP"]


def test_what_failed_says_why(told: Told) -> None:
    (failed,) = [event for event in told.events if event["eventType"] == "FAIL"]
    assert "no such price" in failed["run"]["facets"]["errorMessage"]["message"]


def test_a_stream_is_one(told: Told) -> None:
    (streamed,) = told.ends("/streamed")
    assert streamed["job"]["facets"]["jobType"]["processingType"] == "STREAMING"
    assert {event["run"]["runId"] for event in told.running} <= {streamed["run"]["runId"]}


def test_atlas_has_no_process_that_puts_rows_into_a_table_by_a_truncation(told: Told) -> None:
    jobs = [entity["attributes"]["name"] for entity in told.entities if entity["typeName"] == "spark_process"]
    assert any("create_data_source_table" in job for job in jobs)
    assert not any("truncate" in job or "drop" in job for job in jobs)


def test_atlas_knows_the_files_the_table_and_its_columns(told: Told) -> None:
    known = {(entity["typeName"], entity["attributes"]["qualifiedName"]) for entity in told.entities}
    assert any(kind == "fs_path" and name.endswith("/orders@primary") for kind, name in known)
    assert any(kind == "spark_table" and name.endswith("exported_sales@primary") for kind, name in known)
    assert any(kind == "spark_column_lineage" and name.endswith("exported_sales.price@primary") for kind, name in known)
