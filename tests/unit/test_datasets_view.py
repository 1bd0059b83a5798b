"""The datasets view's messages: the golden files, which the widget's own tests read and write as well; and what is drawn.

``python -m tests.unit.test_datasets_view`` writes them anew.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import bigdebug
from bigdebug.datasets.databases import of_jdbc
from bigdebug.datasets.model import Access, Field
from bigdebug.datasets.naming import of_path, of_source
from bigdebug.datasets.questions import Datasets
from bigdebug.datasets.store import DatasetStore
from bigdebug.errors import UnknownDatasetError
from bigdebug.views.datasetsview import DatasetsView
from bigdebug.views.feeding import COLUMNS, HISTORY
from bigdebug.views.payload import VERSION
from tests.unit.test_datasets_questions import BEGAN, CLEAN, LOOK, PUBLISH, SUM, process
from tests.unit.test_datasets_secrets import PLACES
from tests.unit.test_payload import HOSTILE

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "datasets"
ODD = of_path(f"/x/{HOSTILE}")
FAILED = replace(SUM, id="p8", started=BEGAN + timedelta(hours=1), status="failed", error=f"[DIVIDE_BY_ZERO] {HOSTILE}\nat ...", run="r3", ended=None)
STRANGE = process(9, f"job {HOSTILE}", [ODD], [of_path("/y/שלום")], [(of_path("/y/שלום"), HOSTILE, ODD, HOSTILE, "IDENTITY")], schemas={ODD: (Field(HOSTILE, "int"),)})
REQUESTS = {
    "graph": ("graph", {}), "around": ("around", {"dataset": 6}), "dataset": ("dataset", {"dataset": 5, "start": 0}),
    "column": ("column", {"dataset": 5, "column": 1}), "unknown": ("dataset", {"dataset": 99, "start": 0}),
}


@pytest.fixture
def asked(tmp_path: Path) -> Iterator[Datasets]:
    store = DatasetStore(tmp_path / "s.sqlite")
    store.record(CLEAN, SUM, PUBLISH, LOOK, FAILED, STRANGE)
    yield Datasets(store, "app-1")
    store.close()


def golden(name: str) -> Any:
    return json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))


def written(asked: Datasets) -> dict[str, Any]:
    """What the kernel says, by the name of the golden file."""
    return {
        f"answer-{'refused' if name == 'unknown' else name}": DatasetsView(asked).answer({"version": VERSION, "id": 1, "request": request, "content": content})
        for name, (request, content) in REQUESTS.items()
    }


def said(view: DatasetsView, request: str, **content: Any) -> Any:
    return view.answer({"version": VERSION, "id": 1, "request": request, "content": content})["content"]


def test_the_kernel_writes_the_golden_files(asked: Datasets) -> None:
    found = written(asked)
    assert found == {name: golden(name) for name in found}
    assert {path.stem for path in GOLDEN.glob("answer-*.json")} == set(found)
    for name, (request, content) in REQUESTS.items():
        assert golden(f"request-{name}") == {"version": VERSION, "id": 1, "request": request, "content": content}


def test_a_graph_is_of_all_or_of_what_is_around_a_dataset(asked: Datasets) -> None:
    view = bigdebug.view(asked)
    assert isinstance(view, DatasetsView)
    whole = said(view, "graph")
    assert {node["name"] for node in whole["nodes"]} >= {"orders", "sales", "report", "sum", "publish"}
    report = next(node["dataset"] for node in whole["nodes"] if node["name"] == "report")
    around = said(view, "around", dataset=report)
    assert around["nodes"][around["focus"]]["name"] == "report"
    assert len(around["nodes"]) < len(whole["nodes"])
    assert said(view, "graph") == around  # as it was left
    assert said(view, "graph", all=True) == whole
    assert said(DatasetsView(asked, "report"), "graph") == around
    with pytest.raises(UnknownDatasetError):
        DatasetsView(asked, "nothing like it")


def test_a_dataset_has_its_columns_and_its_history_by_pages(asked: Datasets) -> None:
    wide = tuple(Field(f"c{i}", "int") for i in range(COLUMNS + 7))
    last = of_path("/wide")
    asked.store.record(*(replace(process(50 + i, "w", [], [last]), writes=(Access(last, "overwritten", wide),)) for i in range(HISTORY + 3)))
    view = DatasetsView(asked)
    number = next(node["dataset"] for node in said(view, "graph")["nodes"] if node["name"] == "wide")
    first = said(view, "dataset", dataset=number, start=0)
    assert (len(first["columns"]), first["left"], len(first["history"]), first["more"]) == (COLUMNS, 7, HISTORY, True)
    second = said(view, "dataset", dataset=number, start=HISTORY)
    assert (len(second["history"]), second["more"]) == (3, False)
    assert view.dataset == "file:/wide"
    assert "no column of this number" in said(view, "column", dataset=number, column=9_999)["what"]


def test_a_column_names_the_datasets_that_it_reaches(asked: Datasets) -> None:
    view = DatasetsView(asked)
    nodes = {node["name"]: node["dataset"] for node in said(view, "graph")["nodes"] if node["dataset"] is not None}
    columns = [each["name"] for each in said(view, "dataset", dataset=nodes["sales"], start=0)["columns"]]
    found = said(view, "column", dataset=nodes["sales"], column=columns.index("total"))
    assert {nodes["sales"], nodes["report"], nodes["orders.csv"]} <= set(found["reached"])
    assert found["down"] == [{"steps": 1, "dataset": "file:/out/report", "column": "total", "influence": "value", "how": "identity"}]


@pytest.mark.slow
def test_ten_thousand_processes_are_drawn_as_far_as_one_can_look(tmp_path: Path) -> None:
    store = DatasetStore(tmp_path / "s.sqlite")
    edges = [(of_path("/out"), "a", of_path("/in"), "a", "IDENTITY")]
    store.record(*(process(i, f"j{i % 900}", [of_path(f"/in/{i % 900}")], [of_path(f"/t{i % 900}")], edges) for i in range(10_000)))
    content = said(DatasetsView(Datasets(store)), "graph")
    assert len(content["nodes"]) <= 300
    assert content["left"] >= 1_600
    assert len(json.dumps(content)) < 200_000
    store.close()


def test_the_figure_has_text_and_no_markup(asked: Datasets) -> None:
    drawn = DatasetsView(asked).figure().to_json()
    assert "<script" not in drawn
    assert "\\u003cscript" not in drawn
    assert "orders" in drawn
    assert DatasetsView(asked, "report").figure().data
    assert len(DatasetsView(Datasets(DatasetStore(asked.store.path.with_name("none.sqlite")))).figure().data) == 4


def test_no_picture_has_a_secret(asked: Datasets) -> None:
    """Neither what is drawn, of which a PNG is made, nor the page, nor what a browser is sent: wherever a job said it."""
    planted = [f"Q7{'abcdefghijklmnopqrst'[i]}planted9z" for i in range(20)]
    for i, (place, secret) in enumerate(zip(PLACES, planted)):
        reads, writes = [of_path(f"/p{i}"), of_source("odd", {"host": f"bob:{secret}@h{i}"})], [of_jdbc(f"jdbc:postgresql://bob:{secret}@h/db{i}", "t")]
        asked.store.record(process(100 + i, f"load {place % secret}", reads, writes, text=place % secret, error=place % secret, opaque=(place % secret,)))
    view = DatasetsView(asked)
    told = [view.figure().to_json(), view.table().html(), repr(view._repr_mimebundle_()), view.frame().to_csv(), json.dumps(said(view, "graph"))]
    told += [json.dumps(said(view, "dataset", dataset=node["dataset"], start=0)) for node in said(view, "graph")["nodes"] if node["dataset"] is not None]
    told.append(DatasetsView(asked, "/p19").figure().to_json())
    assert all("p19" in each for each in (*told[:1], told[-1]))
    assert [secret for secret in planted if any(secret in each for each in told)] == []


def test_where_no_widget_is_the_table_stands(asked: Datasets) -> None:
    assert DatasetsView(asked).table().caption == "Datasets"
    assert DatasetsView(asked, "report").table().caption == "Upstream of file:/out/report"
    assert "<script" not in DatasetsView(asked).table().html()


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        made = DatasetStore(Path(folder) / "s.sqlite")
        made.record(CLEAN, SUM, PUBLISH, LOOK, FAILED, STRANGE)
        messages = written(Datasets(made, "app-1"))
        made.close()
    for name, (request, content) in REQUESTS.items():
        messages[f"request-{name}"] = {"version": VERSION, "id": 1, "request": request, "content": content}
    for name, message in messages.items():
        (GOLDEN / f"{name}.json").write_text(json.dumps(message, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
