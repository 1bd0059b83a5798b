"""Questions about datasets: what is upstream and downstream, of columns too; what a dropped column breaks; what was done, and what changed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bigdebug.datasets.drawing import DatasetNode, JobNode
from bigdebug.datasets.graph import _over
from bigdebug.datasets.layers import layered
from bigdebug.datasets.model import Access, Cell, ColumnEdge, Dataset, Field, Process
from bigdebug.datasets.naming import of_path, of_session, of_table
from bigdebug.datasets.questions import Datasets
from bigdebug.datasets.steps import steps_from
from bigdebug.datasets.store import DatasetStore
from bigdebug.errors import (
    AmbiguousDatasetError,
    DatasetsError,
    NotCapturedError,
    UnknownColumnError,
    UnknownDatasetError,
)

BEGAN = datetime(2026, 11, 27, 1, 2, 3, tzinfo=timezone.utc)
RAW, ITEMS = of_path("s3://lake/raw/orders.csv", "csv"), of_path("/data/items", "parquet")
ORDERS = of_table("shop.orders", "file:/w", "file:/w/shop.db/orders", "parquet")
SALES, REPORT = of_table("shop.sales", "file:/w", "file:/w/shop.db/sales"), of_path("/out/report", "json")
RESULT = of_session("app-1", "result 1f", "memory")


def schema(*names: str, kind: str = "int") -> tuple[Field, ...]:
    return tuple(Field(name, kind) for name in names)


def process(number: int, job: str, reads: list[Dataset], writes: list[Dataset], edges: list[tuple[Any, ...]] = [], **said: Any) -> Process:  # noqa: B006
    said.setdefault("mode", "overwritten")
    mode, schemas = said.pop("mode"), said.pop("schemas", {})
    return Process(
        **{
            "id": f"p{number}", "job": job, "sort": "write", "session": "app-1", "started": BEGAN + timedelta(minutes=number),
            "ended": BEGAN + timedelta(minutes=number, seconds=2), "status": "succeeded",
            "reads": tuple(Access(each, schema=schemas.get(each, ()), rows=7) for each in reads),
            "writes": tuple(Access(each, mode, schemas.get(each, ()), rows=5) for each in writes),
            "columns": tuple(ColumnEdge(*edge) for edge in edges), **said,
        }
    )


CLEAN = process(1, "clean", [RAW], [ORDERS], [(ORDERS, "price", RAW, "price", "TRANSFORMATION"), (ORDERS, "id", RAW, "id", "IDENTITY"),
                (ORDERS, "item", RAW, "item", "IDENTITY"), (ORDERS, "", RAW, "id", "FILTER")], schemas={ORDERS: schema("id", "price", "item")})
# Reads the files of the table, not the table.
SUM = process(2, "sum", [of_path("/w/shop.db/orders"), ITEMS], [SALES], [
    (SALES, "total", of_path("/w/shop.db/orders"), "price", "AGGREGATION"), (SALES, "name", ITEMS, "name", "IDENTITY"),
    (SALES, "", of_path("/w/shop.db/orders"), "item", "JOIN"), (SALES, "", ITEMS, "item", "JOIN"), (SALES, "", ITEMS, "name", "GROUP_BY"),
], schemas={SALES: schema("name", "total")})
PUBLISH = process(3, "publish", [SALES], [REPORT], [(REPORT, "name", SALES, "name", "IDENTITY"), (REPORT, "total", SALES, "total", "IDENTITY")],
                  cell=Cell("/nb/report.ipynb", "c", 4))
LOOK = process(4, "look", [ORDERS], [RESULT], [(RESULT, "price", ORDERS, "price", "IDENTITY")], sort="query", mode="created")


@pytest.fixture
def asked(tmp_path: Path) -> Iterator[Datasets]:
    store = DatasetStore(tmp_path / "s.sqlite")
    store.record(CLEAN, SUM, PUBLISH, LOOK)
    yield Datasets(store, "app-1")
    assert store.trouble == ""
    store.close()


# ---- datasets ---------------------------------------------------------------------------------------------------


def test_upstream_and_downstream_go_all_the_way(asked: Datasets) -> None:
    up = asked.upstream("report")
    assert [(row["steps"], row["dataset"], row["by"]) for row in up] == [
        (1, "file:/w/shop.sales", ("publish",)), (2, "file:/w/shop.db/orders", ("sum",)), (2, "file:/data/items", ("sum",)), (3, "s3://lake/raw/orders.csv", ("clean",)),
    ]
    down = asked.downstream("orders.csv")
    assert [(row["steps"], row["dataset"]) for row in down] == [(1, "file:/w/shop.orders"), (2, "file:/w/shop.sales"), (3, "file:/out/report")]
    assert down.notes == ("1 query used it, too, and wrote nothing.",)
    assert [row["dataset"] for row in asked.upstream("result 1f")] == ["file:/w/shop.orders", "s3://lake/raw/orders.csv"]
    assert len(asked.upstream("items")) == 0


def test_a_part_of_a_directory_is_of_the_directory(tmp_path: Path) -> None:
    store = DatasetStore(tmp_path / "s.sqlite")
    day, days, other = of_path("/in/day=1"), of_path("/in"), of_path("/in/day=2")
    store.record(process(1, "write", [RAW], [days]), process(2, "read", [day], [REPORT]), process(3, "more", [ITEMS], [other]))
    asked = Datasets(store)
    assert [row["dataset"] for row in asked.upstream("report")] == ["file:/in/day=1", "s3://lake/raw/orders.csv"]
    assert {row["dataset"] for row in asked.downstream("orders.csv")} == {"file:/in", "file:/out/report"}
    assert {row["dataset"] for row in asked.upstream("/in")} == {"s3://lake/raw/orders.csv", "file:/data/items"}
    assert [row["dataset"] for row in asked.downstream("items")] == ["file:/in/day=2"]  # nobody read day=2, or all of /in
    store.close()


def test_a_dataset_that_is_made_from_itself_ends(tmp_path: Path) -> None:
    store = DatasetStore(tmp_path / "s.sqlite")
    store.record(process(1, "loop", [SALES, ORDERS], [SALES], [(SALES, "a", SALES, "a", "IDENTITY")]), process(2, "back", [SALES], [ORDERS]))
    asked = Datasets(store)
    assert {row["dataset"] for row in asked.upstream("sales")} == {"file:/w/shop.orders", "file:/w/shop.sales"}
    assert [row["column"] for row in asked.upstream("sales", "a")] == []
    store.close()


# ---- columns ----------------------------------------------------------------------------------------------------


def told(answer: Any) -> list[tuple[Any, ...]]:
    return [(row["steps"], row["dataset"], row["column"], row["influence"], row["how"]) for row in answer]


def test_columns_are_followed_by_value_and_by_what_decides(asked: Datasets) -> None:
    found = told(asked.upstream("report", column="TOTAL"))
    assert found[0] == (1, "file:/w/shop.sales", "total", "value", "identity")
    assert (3, "s3://lake/raw/orders.csv", "price", "value", "aggregation") in found
    assert (2, "file:/data/items", "name", "decides", "group by") in found
    assert (2, "file:/w/shop.db/orders", "item", "decides", "join") in found
    assert (3, "s3://lake/raw/orders.csv", "id", "decides", "filter") in found
    down = told(asked.downstream("s3://lake/raw/orders.csv", "price"))
    assert down == [
        (1, "file:/w/shop.orders", "price", "value", "transformation"), (2, "file:/w/shop.sales", "total", "value", "aggregation"),
        (3, "file:/out/report", "total", "value", "aggregation"),
    ]
    assert (1, "file:/w/shop.sales", "(all columns)", "decides", "join") in told(asked.downstream("/w/shop.db/orders", "item"))


def test_a_step_of_which_no_columns_are_known_is_said(tmp_path: Path) -> None:
    store = DatasetStore(tmp_path / "s.sqlite")
    store.record(CLEAN, process(2, "rdd", [ORDERS], [REPORT]), process(3, "move", [REPORT], [of_path("/new")], mode="renamed"))
    asked = Datasets(store)
    answer = asked.downstream("orders.csv", "price")
    assert told(answer)[1] == (2, "file:/out/report", "(all columns)", "not known", "unknown")
    assert "not known which columns" in answer.notes[-1]
    assert told(asked.upstream("/new", "x"))[0] == (1, "file:/out/report", "x", "value", "identity") if "x" in asked.columns("/new").column("column") else True
    store.close()


def test_columns_of_a_dataset_are_said_with_what_they_are_made_of(asked: Datasets) -> None:
    assert [(row["column"], row["type"], row["made of"]) for row in asked.columns("sales")] == [
        ("name", "int", ("file:/data/items name (identity)",)), ("total", "int", ("file:/w/shop.db/orders price (aggregation)",)),
    ]
    with pytest.raises(UnknownColumnError, match=r"totl.*It has total"):
        asked.upstream("sales", "totl")


def test_dropping_a_column_breaks_who_uses_it_and_makes_the_rest_stale(asked: Datasets) -> None:
    answer = asked.impact("orders", "Price")
    assert [(row["effect"], row["job"], row["writes"], row["steps"]) for row in answer] == [
        ("fails", "sum", ("file:/w/shop.sales",), 1), ("fails or loses it", "look", (str(RESULT),), 1),
        ("stale", "", ("file:/w/shop.sales",), 1), ("stale", "", ("file:/out/report",), 2),
    ]
    assert "1 fails, 1 fails or loses it, 2 are stale." in answer.notes
    lost = asked.impact("sales", "name")
    assert [(row["effect"], row["job"], row["how"]) for row in lost] == [("fails or loses it", "publish", "identity"), ("stale", "", "loses name")]
    assert len(asked.impact("report", "total")) == 0


# ---- what was done ----------------------------------------------------------------------------------------------


def test_history_says_what_was_done_with_rows_and_what_became_of_the_schema(asked: Datasets) -> None:
    asked.store.record(replace(CLEAN, id="p5", started=BEGAN + timedelta(minutes=5), status="failed", error="[DIVIDE] by zero\nat x", ended=None, writes=(
        replace(CLEAN.writes[0], schema=(Field("id", "bigint"), Field("item", "int"), Field("new", "string"))),)))
    rows = list(asked.history("shop.orders"))
    assert [(row["what"], row["job"], row["status"], row["schema"]) for row in rows] == [
        ("overwritten", "clean", "failed", "+new string, -price, id: int -> bigint"), ("read", "look", "succeeded", ""), ("read", "sum", "succeeded", ""),
        ("overwritten", "clean", "succeeded", ""),
    ]
    assert (rows[0]["error"], rows[0]["seconds"], rows[1]["seconds"]) == ("[DIVIDE] by zero", None, 2.0)
    assert asked.history("report").rows[0][8] == "report.ipynb In[4]"
    assert len(asked.history("orders", limit=1)) == 1
    assert "limit" in asked.history("orders", limit=1).notes[-1]


def test_what_changed_between_two_runs_of_a_job(asked: Datasets) -> None:
    later = replace(
        SUM, id="p9", started=BEGAN + timedelta(minutes=9), ended=BEGAN + timedelta(minutes=9, seconds=60), status="failed", error="boom",
        reads=(*SUM.reads[:1], Access(RAW)), writes=(replace(SUM.writes[0], rows=0, schema=schema("name", "total", kind="bigint")),),
        columns=(ColumnEdge(SALES, "total", RAW, "price", "AGGREGATION"),),
    )
    asked.store.record(later)
    found = {(row["what"], row["of"]): (row["before"], row["after"]) for row in asked.changed("sum")}
    assert found["status", ""] == ("succeeded", "failed")
    assert found["error", ""] == (None, "boom")
    assert found["seconds", ""] == (2.0, 60.0)
    assert found["reads", "file:/data/items"] == ("read", None)
    assert found["reads", "s3://lake/raw/orders.csv"] == (None, "read")
    assert found["rows written", "file:/w/shop.sales"] == (5, 0)
    assert found["columns", "file:/w/shop.sales"][1] == "name: int -> bigint, total: int -> bigint"
    assert found["made of", "file:/w/shop.sales total"][1] == "s3://lake/raw/orders.csv price (AGGREGATION)"
    assert asked.changed("sum", before="p2", after="p2").notes[-1] == "Nothing is different."
    assert "ran once" in asked.changed("publish").notes[0]
    asked.store.record(replace(later, id="p10", started=BEGAN + timedelta(minutes=10)))
    assert ("status", "succeeded") in {(row["what"], row["before"]) for row in asked.changed("sum", after="p9")}  # from the run before it, not from itself
    assert asked.changed("sum", before="p10").notes == ("That is its last run, so there is nothing to compare.",)
    assert asked.changed("sum", after="p2").notes == ("It did not run before that, so there is nothing to compare.",)
    assert "p1 is a run of clean." in asked.changed("sum", "p1", "p2").notes
    with pytest.raises(UnknownDatasetError, match="No process"):
        asked.changed("sum", after="p99")
    with pytest.raises(UnknownDatasetError, match=r"clean, look, publish|Name one of"):
        asked.changed("l")
    with pytest.raises(UnknownDatasetError, match="processes"):
        asked.changed("nothing like it")


def test_history_says_what_became_of_the_schema_however_far_back_it_was_another(tmp_path: Path) -> None:
    store = DatasetStore(tmp_path / "s.sqlite")
    store.record(
        process(1, "write", [RAW], [ITEMS], schemas={ITEMS: schema("a", "b")}), *(process(n, "read", [ITEMS], [REPORT]) for n in range(2, 9)),
        process(10, "write", [RAW], [ITEMS], schemas={ITEMS: schema("a", "odd")}, status="failed", error="boom"),
        process(11, "write", [RAW], [ITEMS], schemas={ITEMS: schema("a", "b", "c")}),
    )
    asked = Datasets(store)
    assert asked.history("items", limit=1).column("schema") == ["+c int"]
    assert asked.history("items").column("schema")[:2] == ["+c int", "+odd int, -b"]  # what failed was to, and changed nothing
    store.close()


def test_a_dataset_has_the_columns_that_were_written_and_not_those_that_failed_to_be(tmp_path: Path) -> None:
    store = DatasetStore(tmp_path / "s.sqlite")
    store.record(process(1, "write", [RAW], [ITEMS], schemas={ITEMS: schema("a")}), process(2, "write", [RAW], [ITEMS], schemas={ITEMS: schema("odd")}, status="failed"))
    asked = Datasets(store)
    assert asked.columns("items").column("column") == ["a"]
    store.record(process(3, "write", [RAW], [SALES], schemas={SALES: schema("odd")}, status="failed"))
    assert asked.columns("sales").column("column") == ["odd"]
    store.close()


def test_a_job_is_counted_once_whatever_it_does(asked: Datasets) -> None:
    asked.store.record(process(9, "sum", [RAW], [SALES]), process(10, "sum", [ITEMS], [SALES]))
    assert [(row["jobs that write it"], row["jobs that read it"]) for row in asked.find("sales")] == [(1, 1)]


@pytest.mark.parametrize("text", ["\udcff", "a\0b", "x" * 100_000, "'\"%_", "\u202e\N{HEBREW LETTER ALEF}"])
def test_whatever_is_asked_is_a_text(asked: Datasets, text: str) -> None:
    asked.store.record(process(9, "odd", [RAW], [of_path(f"/x/{text}")], [(of_path(f"/x/{text}"), text, RAW, "id", "IDENTITY")]))
    there = next(iter(asked.process("p9").writes)).dataset
    assert len(asked.upstream(there)) == 1
    if len(text) < 1_000:
        assert len(asked.upstream(of_path(f"/x/{text}"))) == len(asked.upstream(f"/x/{text}", text)) == len(asked.find(text)) == 1
    for ask in (asked.find, asked.processes):
        ask(text)
    for ask in (asked.show, asked.changed, partial(asked.columns), partial(asked.impact, "orders")):
        with pytest.raises((UnknownDatasetError, UnknownColumnError)):
            ask(f"?{text}")


def test_lists(asked: Datasets) -> None:
    assert [row["dataset"] for row in asked.find("ord")] == ["file:/w/shop.orders", "file:/w/shop.db/orders", "s3://lake/raw/orders.csv"]
    assert len(asked.find("%")) == 0
    assert len(asked.find()) == 6
    assert [row["job"] for row in asked.processes()] == ["look", "publish", "sum", "clean"]
    assert [row["job"] for row in asked.processes(job="u", status="succeeded", limit=1)] == ["publish"]
    assert asked.process("p1") == CLEAN
    with pytest.raises(UnknownDatasetError, match="processes"):
        asked.process("p99")


# ---- names ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("typed", "name"), [
    ("shop.orders", "file:/w/shop.orders"), ("orders", "file:/w/shop.orders"), ("ORDERS", "file:/w/shop.orders"), ("file:/w/shop.db/orders", "file:/w/shop.orders"),
    ("/w/shop.db/orders/", "file:/w/shop.orders"), ("raw/orders.csv", "s3://lake/raw/orders.csv"), ("s3a://lake/raw/orders.csv", "s3://lake/raw/orders.csv"),
    ("report", "file:/out/report"), ("out/report", "file:/out/report"), ("`sales`", "file:/w/shop.sales"), ("`shop`.`sales`", "file:/w/shop.sales"),
    ("spark_catalog.shop.sales", "file:/w/shop.sales"), ("`spark_catalog`.shop.`sales`", "file:/w/shop.sales"), (" items ", "file:/data/items"),
])
def test_names_are_taken_as_people_type_them(asked: Datasets, typed: str, name: str) -> None:
    assert asked.history(typed).title == f"History of {name}"


def test_names_of_several_and_of_none_are_refused_with_what_there_is(asked: Datasets) -> None:
    asked.store.record(process(7, "x", [of_path("/other/items"), of_path("/a/x.csv"), of_path("/b/x.csv")], [of_path("/reports")]))
    with pytest.raises(AmbiguousDatasetError, match=r"2 datasets are called so.*file:/data/items, file:/other/items"):
        asked.upstream("items")
    with pytest.raises(AmbiguousDatasetError, match=r"/a/x\.csv, file:/b/x\.csv"):
        asked.upstream("x")
    assert len(asked.upstream("data/items")) == 0
    with pytest.raises(UnknownDatasetError, match=r"Do you mean .*orders"):
        asked.upstream("ordrs")
    with pytest.raises(UnknownDatasetError, match="find"):
        asked.upstream("qqqqqqq")
    with pytest.raises(TypeError, match="named by text"):
        asked.upstream(None)  # type: ignore[arg-type]


@pytest.mark.parametrize("status", ["sucess", "Failed", "success"])
def test_a_status_that_there_is_not_is_no_empty_answer(asked: Datasets, status: str) -> None:
    with pytest.raises(DatasetsError, match="running, succeeded, failed"):
        asked.processes(status=status)


@pytest.mark.parametrize("limit", [0, -1, 1.5, True, "9", 2**63])
def test_a_limit_is_a_number_of_rows(asked: Datasets, limit: Any) -> None:
    for ask in (asked.find, asked.processes, partial(asked.history, "orders"), partial(asked.upstream, "report"), partial(asked.impact, "orders", "price"), asked.drawn):
        with pytest.raises(DatasetsError, match="from 1 to"):
            ask(limit=limit)


def test_views_of_this_session_come_before_those_of_others(asked: Datasets) -> None:
    for number, session in enumerate(("app-0", "app-1", "app-2"), 10):
        asked.store.record(process(number, f"view {session}", [ITEMS], [of_session(session, "v", "view")], session=session, mode="defined"))
    assert asked.history("v").title == "History of spark:app-1/v"
    other = Datasets(asked.store).history("v")
    assert (other.title, other.notes[0]) == ("History of spark:app-2/v", "3 sessions had one of this name; this is that of app-2.")


# ---- answers ----------------------------------------------------------------------------------------------------


def test_answers_are_tables_frames_and_json(asked: Datasets) -> None:
    answer = asked.upstream("report")
    assert list(answer.toPandas().columns) == ["steps", "dataset", "kind", "by", "last run", "status"]
    assert json.loads(json.dumps(answer.data()))["rows"][0]["last run"] == "2026-11-27T01:05:03+00:00"
    assert answer._repr_mimebundle_()["text/plain"].splitlines()[0] == "Upstream of file:/out/report"
    assert "There are none." in repr(asked.upstream("items"))
    assert "6 datasets" in repr(asked) or "7 datasets" in repr(asked)


def test_names_of_the_user_are_text(asked: Datasets) -> None:
    odd = of_path("/x/<script>alert(1)</script>/\u202eevil\n")
    asked.store.record(process(8, "<b>job</b>", [odd], [REPORT]))
    html = asked.upstream("report")._repr_mimebundle_()["text/html"]
    assert "<script>" not in html
    assert "<b>" not in html
    assert "\u202e" not in asked.upstream("report")._repr_mimebundle_()["text/plain"]


def test_records_are_traced_where_a_run_was_captured(asked: Datasets) -> None:
    asked.store.record(replace(SUM, id="p20", run="r7", started=BEGAN + timedelta(hours=1)))
    with pytest.raises(NotCapturedError, match="capture"):
        asked.trace("report")
    tracing = Datasets(asked.store, "app-1", trace=lambda run: f"trace of {run}")
    assert tracing.trace("sales") == "trace of r7"
    assert Datasets(asked.store, "app-2", trace=str).history("sales").rows[0][9] == "r7"
    with pytest.raises(NotCapturedError):
        Datasets(asked.store, "app-2", trace=str).trace("sales")


# ---- the laws ---------------------------------------------------------------------------------------------------

PLACES = [of_path(f"/d{i}") for i in range(5)]


@st.composite
def programs(draw: st.DrawFn) -> list[Process]:
    some = st.lists(st.sampled_from(PLACES), max_size=3, unique=True)
    made = []
    for number in range(draw(st.integers(1, 7))):
        reads, writes = draw(some), draw(some)
        edges = {(w, draw(st.sampled_from("abc")), r, draw(st.sampled_from("abc")), draw(st.sampled_from(["IDENTITY", "AGGREGATION", "JOIN"]))) for r in reads for w in writes}
        made.append(process(number, f"j{number}", reads, writes, sorted(edges) if draw(st.booleans()) else []))
    return made


def closure(steps: set[tuple[Any, Any]], start: Any) -> set[Any]:
    found: set[Any] = set()
    rest = [start]
    while rest:
        here = rest.pop()
        new = {far for near, far in steps if near == here} - found
        found |= new
        rest += new
    return found


@given(programs())
@settings(max_examples=40)
def test_what_is_reached_is_what_steps_lead_to_and_both_ways_agree(tmp_path_factory: pytest.TempPathFactory, given: list[Process]) -> None:
    store = DatasetStore(tmp_path_factory.mktemp("s") / "s.sqlite")
    store.record(*given)
    asked = Datasets(store)
    steps = {(str(w.dataset), str(r.dataset)) for each in given for w in each.writes for r in each.reads}
    there = {str(access.dataset) for each in given for access in (*each.reads, *each.writes)}
    up = {name: set(asked.upstream(name).column("dataset")) for name in there}
    down = {name: set(asked.downstream(name).column("dataset")) for name in there}
    for name in there:
        assert up[name] == closure(steps, name)
        assert down[name] == {other for other in there if name in up[other]}
    edges = {((str(e.output), e.column), (str(e.input), e.used)) for each in given for e in each.columns}
    unknown = {(str(w.dataset), str(r.dataset)) for each in given if not each.columns for w in each.writes for r in each.reads}
    if not unknown:
        for name, column in {edge[0] for edge in edges}:
            assert {(row["dataset"], row["column"]) for row in asked.upstream(name, column)} == closure(edges, (name, column)) - {(name, column)}
        for name, column in {edge[1] for edge in edges}:
            backward = {(far, near) for near, far in edges}
            assert {(row["dataset"], row["column"]) for row in asked.downstream(name, column)} == closure(backward, (name, column)) - {(name, column)}
    store.close()


@given(programs(), st.booleans())
@settings(max_examples=40)
def test_steps_that_are_read_at_once_are_those_that_are_asked_one_by_one(tmp_path_factory: pytest.TempPathFactory, given: list[Process], renames: bool) -> None:
    if renames:
        given = [replace(each, writes=tuple(replace(write, mode="renamed") for write in each.writes)) for each in given]
    store = DatasetStore(tmp_path_factory.mktemp("s") / "s.sqlite")
    store.record(*given)
    with store.reading() as db, pytest.MonkeyPatch.context() as patch:
        columns = [(number, name) for (number,) in db.execute("SELECT id FROM dataset").fetchall() for name in ("a", "b", "c", "")]
        for upstream in (True, False):
            asked = {column: set(steps) for column, steps in steps_from(db, columns, upstream).items()}
            patch.setattr("bigdebug.datasets.steps.FAR", 0)
            assert {column: set(steps) for column, steps in steps_from(db, columns, upstream).items()} == asked
            patch.undo()
    store.close()


def test_a_view_that_is_defined_anew_does_not_mix_what_it_was_made_of(tmp_path: Path) -> None:
    """As in a loop over months with a temporary view in it: each report is made of its own month."""
    store = DatasetStore(tmp_path / "s.sqlite")
    view = Dataset("spark:app", "t", "view")
    for month in range(3):
        source, report = of_path(f"/in/{month}"), of_path(f"/out/{month}")
        edges = [(report, "a", source, "a", "IDENTITY"), (report, "a", view, "a", "IDENTITY")]
        define = process(10 * month, "define", [source], [view], [(view, "a", source, "a", "IDENTITY")])
        store.record(replace(define, writes=(replace(define.writes[0], mode="defined"),)), process(10 * month + 1, f"write {month}", [source, view], [report], edges))
    asked = Datasets(store)
    assert set(asked.upstream("/out/1").column("dataset")) == {"file:/in/1", "spark:app/t"}
    assert set(asked.downstream("/in/1").column("dataset")) == {"spark:app/t", "file:/out/1"}
    assert set(asked.upstream("t").column("dataset")) == {"file:/in/0", "file:/in/1", "file:/in/2"}
    assert set(asked.downstream("t").column("dataset")) == {"file:/out/0", "file:/out/1", "file:/out/2"}
    assert set(asked.upstream("/out/1", "a").column("dataset")) == {"file:/in/1", "spark:app/t"}
    assert set(asked.downstream("/in/1", "a").column("dataset")) == {"spark:app/t", "file:/out/1"}
    assert {each for row in asked.impact("/in/1", "a") for each in row["writes"]} == {"spark:app/t", "file:/out/1"}
    store.close()


def test_the_table_of_a_stream_is_followed_to_what_the_stream_read(tmp_path: Path) -> None:
    store = DatasetStore(tmp_path / "s.sqlite")
    table = Dataset("spark:app", "live", "view")
    define = process(0, "define", [], [table], [])
    store.record(replace(define, writes=(replace(define.writes[0], mode="defined"),)))  # so Spark lets it be asked
    stream = process(1, "stream", [of_path("/in")], [table], [(table, "a", of_path("/in"), "a", "IDENTITY")])
    write = process(2, "write", [table], [of_path("/out")], [(of_path("/out"), "a", table, "a", "IDENTITY")])
    store.record(replace(stream, writes=(replace(stream.writes[0], mode="appended"),)), write)
    assert Datasets(store).upstream("/out", "a").column("dataset") == ["spark:app/live", "file:/in"]
    assert Datasets(store).downstream("/in", "a").column("dataset") == ["spark:app/live", "file:/out"]
    assert Datasets(store).upstream("/out").column("dataset") == ["spark:app/live", "file:/in"]
    store.close()


@pytest.mark.parametrize("far", [0, 64])
def test_what_decides_over_hundreds_of_columns_is_followed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, far: int) -> None:
    """As ``dropDuplicates()`` does: each step of a pipeline once took a second for 300 columns."""
    monkeypatch.setattr("bigdebug.datasets.steps.FAR", far)
    names, places = [f"c{i}" for i in range(100)], [of_path(f"/step/{i}") for i in range(7)]
    store = DatasetStore(tmp_path / "s.sqlite")
    for i, (source, target) in enumerate(pairwise(places)):
        store.record(process(i, f"step {i}", [source], [target], [
            *((target, name, source, name, "IDENTITY") for name in names), *((target, "", source, name, "GROUP_BY") for name in names),
        ]))
    before = _over.cache_info()
    answer = Datasets(store).upstream("/step/6", "c7")
    after = _over.cache_info()
    assert len(answer) == 600
    assert [row["how"] for row in answer if row["column"] == "c7"] == ["group by, identity"] * 6
    assert {row["how"] for row in answer if row["column"] != "c7"} == {"group by"}
    assert after.hits + after.misses - before.hits - before.misses < 3_000
    store.close()


def test_a_long_chain_is_followed_to_its_end(tmp_path: Path) -> None:
    store = DatasetStore(tmp_path / "s.sqlite")
    places = [of_path(f"/step{i}") for i in range(301)]
    store.record(*(process(i, f"j{i}", [near], [far], [(far, "a", near, "a", "IDENTITY")]) for i, (near, far) in enumerate(pairwise(places))))
    asked = Datasets(store)
    assert [row["steps"] for row in asked.upstream("/step300", "a")] == list(range(1, 301))
    assert len(asked.downstream("/step0", "a")) == len(asked.impact("/step0", "a")) // 2 == 300
    store.close()


# ---- the drawing ------------------------------------------------------------------------------------------------


def test_the_drawing_has_what_feeds_others_before_them(asked: Datasets) -> None:
    drawn = asked.drawn()
    layer = {str(node.dataset) if isinstance(node, DatasetNode) else node.job: node.layer for node in drawn.nodes}
    assert layer == {
        "s3://lake/raw/orders.csv": 0, "clean": 1, "file:/w/shop.orders": 2, "file:/w/shop.db/orders": 3, "file:/data/items": 3, "sum": 4, "file:/w/shop.sales": 5,
        "publish": 6, "file:/out/report": 7,
    }
    same = [(drawn.nodes[near], drawn.nodes[far]) for near, far, same, _ in drawn.links if same]
    assert [(str(near.dataset), str(far.dataset)) for near, far in same] == [("file:/w/shop.orders", "file:/w/shop.db/orders")]
    assert (drawn.left, drawn.focus) == (0, None)
    around = asked.drawn("report")
    assert around.focus is not None
    assert str(around.nodes[around.focus].dataset) == "file:/out/report"
    assert {node.job for node in around.nodes if isinstance(node, JobNode)} == {"publish", "sum", "clean"}
    few = asked.drawn(limit=3)
    assert (sum(isinstance(node, DatasetNode) for node in few.nodes), few.left) == (2, 4)
    assert asked.drawn("items", limit=1).left == 3


@given(st.integers(1, 12).flatmap(lambda count: st.tuples(st.just(count), st.lists(st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)), max_size=30))))
def test_layers_go_forward_but_for_circles_and_no_two_nodes_stand_in_one_place(given: tuple[int, list[tuple[int, int]]]) -> None:
    count, steps = given
    places, ways = layered(count, steps)
    taken = [*places, *(place for way in ways.values() for place in way)]
    assert len(set(taken)) == len(taken)
    for (near, far), way in ways.items():
        assert [layer for layer, _ in way] == list(range(places[near][0] + 1, places[far][0]))
    back = {(near, far) for near, far in steps if near != far and places[near][0] >= places[far][0]}
    assert all(near in closure(set(steps), far) for near, far in back)


def test_no_question_looks_at_all_that_was_recorded(asked: Datasets) -> None:
    """10,000 processes are asked as quickly as ten: each table of theirs is entered by an index."""
    statements: set[str] = set()
    with asked.store.reading() as db:
        db.set_trace_callback(statements.add)
    for ask in (
        lambda: asked.upstream("report"), lambda: asked.downstream("orders"), lambda: asked.upstream("report", "total"), lambda: asked.downstream("orders", "price"),
        lambda: asked.impact("orders", "price"), lambda: asked.history("orders"), lambda: asked.changed("sum"), lambda: asked.columns("sales"),
        lambda: asked.drawn("report"), asked.processes, lambda: asked.show("p1"),
    ):
        ask()
    scanned = set()
    with asked.store.reading() as db:
        db.set_trace_callback(None)
        for statement in statements:
            if statement.lstrip().startswith(("SELECT", "WITH")):
                scanned |= {(line[3], statement) for line in db.execute(f"EXPLAIN QUERY PLAN {statement}") if line[3].startswith("SCAN")}
    every = "SELECT DISTINCT job FROM flow WHERE instr"
    wrong = [
        (plan, statement) for plan, statement in scanned
        if not re.match(r"SCAN (json_each|value|some|one|asked|reached|CONSTANT|\(subquery|\d)|SCAN .* VIRTUAL TABLE|SCAN p USING INDEX process_(started|running)", plan) and every not in statement
    ]
    assert wrong == []
