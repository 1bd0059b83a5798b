"""OpenLineage: whatever was recorded, its events are valid, and say all of it."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings

from bigdebug.datasets.collectors import body_of
from bigdebug.datasets.facets import PRODUCER
from bigdebug.datasets.model import MODES, Access, Cell, ColumnEdge, Dataset, Field, Process
from bigdebug.datasets.openlineage import events
from bigdebug.datasets.uses import DIRECT
from tests.processes import processes
from tests.validating import check_event

BEGAN = datetime(2026, 11, 27, 1, 2, 3, tzinfo=timezone.utc)
ENDED = BEGAN + timedelta(seconds=2)
ORDERS = Dataset("file", "/data/orders", "files", "parquet")
ITEMS = Dataset("s3://shop", "items", "files", "csv")
SALES = Dataset("file:/warehouse", "shop.sales", "table", "parquet", location="file:/warehouse/shop.db/sales")
SALE = Process(
    id="0f5e2a36-1111-4222-8333-444455556666", job="sales", sort="write", session="local-1", started=BEGAN, ended=ENDED, status="succeeded",
    reads=(Access(ORDERS, "read", (Field("id", "bigint", False), Field("price", "decimal(10,2)")), 100, 4_000), Access(ITEMS)),
    writes=(Access(SALES, "created", (Field("total", "decimal(20,2)"),), 7, 900),),
    columns=(
        ColumnEdge(SALES, "total", ORDERS, "price", "AGGREGATION"), ColumnEdge(SALES, "total", ORDERS, "id", "CONDITIONAL"),
        ColumnEdge(SALES, "", ITEMS, "order", "JOIN"), ColumnEdge(SALES, "", ORDERS, "id", "JOIN"),
    ),
    opaque=("Odd",), cell=Cell("shop.ipynb", "c-1", 3), run="run-1", text="create table sales as select ...",
)


def read(event: dict[str, Any]) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(body_of(event))
    check_event(told)
    return told


@given(processes())
@settings(max_examples=60)
def test_the_events_of_whatever_was_recorded_are_valid(process: Process) -> None:
    told = [read(event) for event in events(process, spark="4.3.0")]
    running = ["RUNNING"] if process.reads or process.writes else []
    assert [each["eventType"] for each in told] == ["START", *{"succeeded": ["COMPLETE"], "failed": ["FAIL"], "lost": ["ABORT"], "running": running}[process.status]]
    assert {each["run"]["runId"] for each in told} == {process.id}


@given(processes())
@settings(max_examples=50)
def test_each_edge_between_columns_is_told_once_and_no_other(process: Process) -> None:
    written = {access.dataset for access in process.writes}
    told = []
    for output in events(process)[-1]["outputs"]:
        facet = output["facets"].get("columnLineage", {"fields": {}})
        for column, uses in [*((name, of["inputFields"]) for name, of in facet["fields"].items()), ("", facet.get("dataset", []))]:
            for use in uses:
                told += [((output["namespace"], output["name"]), column, (use["namespace"], use["name"]), use["field"], done["type"], done["subtype"], done["masking"])
                         for done in use["transformations"]]
    edges = {
        ((edge.output.namespace, edge.output.name), edge.column, (edge.input.namespace, edge.input.name), edge.used,
         "DIRECT" if edge.how in DIRECT else "INDIRECT", edge.how, edge.masking)
        for edge in process.columns if edge.output in written and (edge.used or edge.input.kind != "model")
    }
    assert len(told) == len(edges)
    assert set(told) == edges


def test_a_write_is_told_with_all_that_is_known_of_it() -> None:
    start, complete = map(read, events(SALE, namespace="shop", spark="4.3.0"))
    assert (start["eventTime"], complete["eventTime"]) == ("2026-11-27T01:02:03+00:00", "2026-11-27T01:02:05+00:00")
    assert complete["producer"] == PRODUCER
    job, run = complete["job"], complete["run"]["facets"]
    assert (job["namespace"], job["name"]) == ("shop", "sales")
    assert job["facets"]["jobType"]["processingType"] == "BATCH"
    assert job["facets"]["sql"]["query"] == SALE.text
    assert run["parent"]["job"] == {"namespace": "shop", "name": "shop.ipynb"}
    assert run["processing_engine"]["version"] == "4.3.0"
    assert [(error["task"], "decide over all rows" in error["errorMessage"]) for error in run["extractionError"]["errors"]] == [("Odd", True)]
    lineage = run["bigdebug_recordLineage"]
    assert (lineage["captured"], lineage["notebook"]) == ("run-1", {"path": "shop.ipynb", "cell": "c-1", "execution": 3})
    orders, items = complete["inputs"]
    assert [field["name"] for field in orders["facets"]["schema"]["fields"]] == ["id", "price"]
    assert {name: orders["inputFacets"]["inputStatistics"][name] for name in ("rowCount", "size")} == {"rowCount": 100, "size": 4_000}
    assert items["inputFacets"] == {}
    (sales,) = complete["outputs"]
    assert sales["facets"]["symlinks"]["identifiers"] == [{"namespace": "file", "name": "/warehouse/shop.db/sales", "type": "LOCATION"}]
    assert sales["facets"]["lifecycleStateChange"]["lifecycleStateChange"] == "CREATE"
    assert sales["outputFacets"]["outputStatistics"]["rowCount"] == 7
    columns = sales["facets"]["columnLineage"]
    assert {use["field"]: use["transformations"][0]["type"] for use in columns["fields"]["total"]["inputFields"]} == {"price": "DIRECT", "id": "INDIRECT"}
    assert {(use["name"], use["field"]) for use in columns["dataset"]} == {("items", "order"), ("/data/orders", "id")}


def test_what_failed_tells_why_and_changed_nothing() -> None:
    start, fail = map(read, events(changed(status="failed", error="[DIVIDE_BY_ZERO] " + "x" * 10**7)))
    assert fail["eventType"] == "FAIL"
    message = fail["run"]["facets"]["errorMessage"]["message"]
    assert message.startswith("[DIVIDE_BY_ZERO]")
    assert len(message) < 11_000
    assert "errorMessage" not in start["run"]["facets"]
    assert "lifecycleStateChange" not in fail["outputs"][0]["facets"]


def test_an_error_of_python_is_one() -> None:
    fail = events(changed(status="failed", error="Traceback (most recent call last):\nValueError"))[-1]
    assert fail["run"]["facets"]["errorMessage"]["programmingLanguage"] == "PYTHON"


def test_a_stream_tells_what_it_reads_and_writes_while_it_runs_and_counts_at_its_end() -> None:
    start, running = map(read, events(changed(sort="stream", status="running", ended=None)))
    assert running["eventType"] == "RUNNING"
    assert "columnLineage" in running["outputs"][0]["facets"]
    assert "columnLineage" not in start["outputs"][0]["facets"]
    assert running["outputs"][0]["outputFacets"] == {}
    assert [event["eventType"] for event in events(changed(sort="stream", status="running", ended=None, reads=(), writes=()))] == ["START"]


def test_what_its_session_left_running_is_aborted() -> None:
    running = changed(status="running", ended=None)
    assert [(event["eventType"], event["eventTime"]) for event in map(read, events(running, over=ENDED))][1:] == [("ABORT", "2026-11-27T01:02:05+00:00")]


@pytest.mark.parametrize(("mode", "state"), [
    ("created", "CREATE"), ("appended", None), ("overwritten", "OVERWRITE"), ("written", None), ("truncated", "TRUNCATE"), ("altered", "ALTER"), ("dropped", "DROP"),
    ("renamed", "RENAME"), ("defined", "CREATE"),
])
def test_what_became_of_a_dataset_is_told(mode: str, state: str | None) -> None:
    assert mode in MODES
    (told,) = read(events(changed(writes=(Access(SALES, mode),)))[-1])["outputs"]
    assert told["facets"].get("lifecycleStateChange", {}).get("lifecycleStateChange") == state


def test_a_renamed_table_tells_its_name_before() -> None:
    old = Dataset("file:/warehouse", "shop.old", "table")
    (told,) = read(events(changed(reads=(Access(old, "renamed"),), writes=(Access(SALES, "renamed"),)))[-1])["outputs"]
    assert told["facets"]["lifecycleStateChange"]["previousIdentifier"] == {"namespace": "file:/warehouse", "name": "shop.old"}


def test_a_dataset_that_is_read_twice_is_one_input_and_counted_twice() -> None:
    told = read(events(changed(reads=(Access(ORDERS, rows=3, size=5), Access(ORDERS, rows=4))))[-1])["inputs"]
    assert [(each["name"], each["inputFacets"]["inputStatistics"].get("rowCount"), each["inputFacets"]["inputStatistics"].get("size")) for each in told] == [
        ("/data/orders", 7, None),
    ]


def test_a_call_of_python_is_no_sql() -> None:
    facets = read(events(changed(text="df.write.parquet('out')"))[-1])["job"]["facets"]
    assert "sql" not in facets
    assert facets["sourceCode"]["sourceCode"] == "df.write.parquet('out')"


def test_a_session_is_the_parent_of_all_that_it_ran_in_a_notebook() -> None:
    parents = [read(events(changed(id=str(UUID(int=n)), session=session, cell=cell))[0])["run"]["facets"]["parent"] for n, (session, cell) in enumerate([
        ("local-1", Cell("a.ipynb", "c", 1)), ("local-1", Cell("a.ipynb", "d", 2)), ("local-1", Cell("b.ipynb")), ("local-2", Cell("a.ipynb")), ("local-1", None),
    ])]
    runs = [parent["run"]["runId"] for parent in parents]
    assert runs[0] == runs[1]
    assert len(set(runs)) == 4
    assert [parent["job"]["name"] for parent in parents] == ["a.ipynb", "a.ipynb", "b.ipynb", "a.ipynb", "session"]


def test_markup_and_other_scripts_are_told_as_they_are_in_utf8() -> None:
    event = events(changed(job="<script>alert(1)</script> מחיר", reads=(Access(Dataset("file", "/d/\ud800")),)))[-1]
    told = read(event)
    assert told["job"]["name"] == "<script>alert(1)</script> מחיר"
    assert told["inputs"][0]["name"] == "/d/?"


def test_30_columns_of_which_each_is_made_of_all_are_told() -> None:
    names = [f"c{n}" for n in range(30)]
    edges = tuple(ColumnEdge(SALES, a, ORDERS, b, "TRANSFORMATION") for a in names for b in names)
    (told,) = read(events(changed(columns=edges))[-1])["outputs"]
    assert {len(of["inputFields"]) for of in told["facets"]["columnLineage"]["fields"].values()} == {30}


def changed(**fields: Any) -> Process:
    return Process(**{name: getattr(SALE, name) for name in SALE.__dataclass_fields__} | fields)
