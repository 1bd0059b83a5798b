"""Apache Atlas: whatever was recorded, its entities are of Atlas's types, and say who made what of what."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bigdebug.datasets.atlas import bundle, messages
from bigdebug.datasets.collectors import Collector, body_of
from bigdebug.datasets.model import Access, ColumnEdge, Dataset, Field, Process
from bigdebug.datasets.sending import Pace, Sender
from bigdebug.datasets.spool import Spool
from tests.collector import collecting
from tests.processes import processes
from tests.unit.test_datasets_openlineage import ORDERS, SALE, SALES
from tests.validating import check_entities


def told(*some: Process) -> dict[tuple[str, str], dict[str, Any]]:
    body = json.loads(body_of(bundle(some)))
    check_entities(body)
    entities = [*body["entities"], *body["referredEntities"].values()]
    return {(entity["typeName"], entity["attributes"]["qualifiedName"]): entity for entity in entities}


def names(references: Any) -> list[str]:
    return [reference["uniqueAttributes"]["qualifiedName"] for reference in references]


@given(st.lists(processes(), max_size=3))
@settings(max_examples=60)
def test_the_entities_of_whatever_was_recorded_are_valid(some: list[Process]) -> None:
    check_entities(json.loads(body_of(bundle(some))) if all("\ud800" not in repr(each) for each in some) else bundle(some))


def test_a_write_is_told_with_all_that_is_known_of_it() -> None:
    entities = told(SALE)
    process = entities["spark_process", "sales@primary"]
    assert names(process["attributes"]["inputs"]) == ["file:/data/orders@primary", "s3://shop/items@primary"]
    assert names(process["attributes"]["outputs"]) == ["file:/warehouse/shop.sales@primary"]
    assert "succeeded, 2026-11-27T01:02:03+00:00" in process["attributes"]["details"]
    assert process["attributes"]["sparkPlanDescription"] == SALE.text
    table = entities["spark_table", "file:/warehouse/shop.sales@primary"]
    assert table["attributes"] | {"tableType": "TABLE", "provider": "parquet", "parameters": {"location": SALES.location}} == table["attributes"]
    assert names(table["relationshipAttributes"]["columns"]) == ["file:/warehouse/shop.sales.total@primary"]
    assert names([table["relationshipAttributes"]["db"]]) == ["file:/warehouse/shop@primary"]
    lineage = entities["spark_column_lineage", "sales@primary:file:/warehouse/shop.sales.total@primary"]
    assert names(lineage["attributes"]["inputs"]) == ["file:/data/orders.price@primary", "file:/data/orders.id@primary"]
    assert names([lineage["relationshipAttributes"]["process"]]) == ["sales@primary"]
    price = entities["spark_column", "file:/data/orders.price@primary"]
    assert price["attributes"] | {"type": "decimal(10,2)", "nullable": True} == price["attributes"]


def test_the_same_job_again_is_the_same_process() -> None:
    again = replace(SALE, id="1f5e2a36-1111-4222-8333-444455556666", writes=(replace(SALE.writes[0], rows=8),))
    processes = [entity for (kind, _), entity in told(SALE, again).items() if kind == "spark_process"]
    assert len(processes) == 1
    assert "8 rows" in processes[0]["attributes"]["details"]


@pytest.mark.parametrize("status", ["failed", "running"])
def test_what_did_not_succeed_made_nothing(status: str) -> None:
    assert messages(replace(SALE, status=status)) == []


@pytest.mark.parametrize("mode", ["dropped", "truncated", "altered"])
def test_what_puts_no_rows_into_a_table_did_not_make_it(mode: str) -> None:
    assert messages(replace(SALE, reads=(), writes=(Access(SALES, mode),), columns=())) == []


def test_what_a_query_gave_its_user_is_nowhere() -> None:
    answer = Dataset("spark:local-1", "result 1", "memory")
    asked = replace(SALE, sort="query", writes=(Access(answer, "created"),), columns=(ColumnEdge(answer, "total", ORDERS, "price", "AGGREGATION"),))
    entities = told(asked)
    assert entities["spark_process", "sales@primary"]["attributes"]["outputs"] == []
    assert not [kind for kind, name in entities if kind == "spark_column_lineage" or "result" in name]


@pytest.mark.parametrize(
    ("dataset", "kind", "name"),
    [
        (Dataset("file", "/data/in"), "fs_path", "file:/data/in@primary"),
        (Dataset("hdfs://host:8020", "/data/in"), "hdfs_path", "hdfs://host:8020/data/in@primary"),
        (Dataset("kafka://host:9092", "orders", "topic"), "kafka_topic", "orders@primary"),
        (Dataset("hive://host:9083", "shop.orders", "table"), "spark_table", "shop.orders@primary"),
        (Dataset("postgres://host:5432", "shop.orders", "jdbc"), "spark_table", "postgres://host:5432/shop.orders@primary"),
        (Dataset("file", "/models/m", "model"), "spark_ml_model", "file:/models/m@primary"),
        (Dataset("spark:local-1", "v", "view"), "spark_table", "spark:local-1/v@primary"),
    ],
)
def test_each_dataset_has_the_type_and_the_name_that_atlas_has_for_it(dataset: Dataset, kind: str, name: str) -> None:
    assert (kind, name) in told(replace(SALE, reads=(), writes=(Access(dataset),), columns=()))


def test_a_column_with_a_dot_is_no_column_of_something_else() -> None:
    dotted = replace(SALE, reads=(Access(ORDERS, schema=(Field("a.b", "int"),)), Access(Dataset("file", "/data/orders.a"), schema=(Field("b", "int"),))), columns=())
    columns = [name for kind, name in told(dotted) if kind == "spark_column" and "orders" in name]
    assert columns == ["file:/data/orders.`a.b`@primary", "file:/data/orders.a.b@primary"]


@pytest.fixture
def spool(tmp_path: Path) -> Iterator[Spool]:
    made = Spool(tmp_path / "spool")
    yield made
    made.close()


def test_atlas_is_told_as_collectors_of_events_are(spool: Spool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with collecting(check=check_entities) as atlas:
        sending = Sender(spool, Collector(atlas.url, partial(messages, cluster="lab")), pace=Pace(0.01, 0.05))
        for process in (replace(SALE, status="running"), SALE, replace(SALE, status="failed")):
            sending.send(process)
        sending.flush(10)
        sending.close()
    (body,) = atlas.taken
    assert {entity["attributes"]["qualifiedName"].rpartition("@")[2] for entity in body["entities"]} == {"lab"}
