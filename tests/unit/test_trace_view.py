"""The trace view's messages: the golden files, which the widget's own tests read and write as well, and the way that a view takes.

``python -m tests.unit.test_trace_view`` writes them anew.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bigdebug
from bigdebug.errors import NotCapturedError
from bigdebug.trace.page import Page, fields_of, numbered, page_of
from bigdebug.trace.run import Run
from bigdebug.trace.trace import Trace
from bigdebug.views import bundle
from bigdebug.views.fields import COLUMNS
from bigdebug.views.payload import LONGEST, VERSION
from bigdebug.views.traceview import MOVES, TraceView
from bigdebug.views.tracing import ROWS
from tests.unit.test_payload import HOSTILE, crashed, run

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "view"

RECORDS: list[Any] = [("a", float("nan")), (HOSTILE, None), ("x" * 10_000_000, b"\x00\xff"), ({"nested": [1, (2,)]}, "\u05e9\u05dc\u05d5\u05dd")]


class Held(Trace):
    """A trace whose records are in this process, at each operator the same."""

    def __init__(self, run: Run, operators: Iterable[int], standing: Any, records: list[Any]) -> None:
        super().__init__(run, operators, standing)
        self._records = records

    def _to(self, operators: Iterable[int], find: Any) -> Held:
        return Held(self.run, operators, find, self._records)

    def collect(self) -> list[Any]:
        return [self._records[rid] for rid in self.rids().tolist()]

    def page(self, start: int = 0, num: int = 50) -> Page:
        return page_of(self, start, num)


def held(records: list[Any]) -> Held:
    run = crashed("r3")
    return Held(run, [4], lambda: {4: {0: np.arange(len(records))}}, records)


def view_of(records: list[Any]) -> TraceView:
    return TraceView(held(records), crashed("r3").table)


def golden(name: str) -> Any:
    return json.loads((GOLDEN / f"{name}.json").read_text())


def written() -> dict[str, Any]:
    """What the kernel says, by the name of the golden file: answers to the requests of other golden files, in their order."""
    view = view_of(RECORDS)
    names = ("trace", "page", "count", "move", "crumb")
    said = {f"answer-{name}": view.answer(golden(f"request-{name}")) for name in names} | {"answer-refused": view.answer(golden("request-gone"))}
    short = view_of([RECORDS[0], RECORDS[1], RECORDS[3], ("=1+1", -5)])
    return said | {"answer-export": short.answer(golden("request-export"))}


def asked(view: TraceView, request: str, **content: Any) -> Any:
    return view.answer({"version": VERSION, "id": 1, "request": request, "content": content})["content"]


def test_the_kernel_writes_the_golden_files() -> None:
    said = written()
    assert said == {name: golden(name) for name in said}
    assert {path.stem for path in GOLDEN.glob("answer-*.json")} == set(said)


def test_a_message_has_no_more_than_is_shown() -> None:
    page = asked(view_of([tuple(range(COLUMNS + 7))] * 3 * ROWS), "page", at=0, operator=4, start=ROWS)
    assert (len(page["rows"]), page["numbers"][0], page["more"], page["left"]) == (ROWS, ROWS, True, 7)
    assert {len(row) for row in page["rows"]} == {COLUMNS}
    cells = [cell for row in written()["answer-page"]["content"]["rows"] for cell in row]
    assert max(map(len, cells)) == LONGEST
    assert all(cell.isprintable() for cell in cells)


def test_chosen_records_are_kept_and_the_way_leads_back() -> None:
    view = view_of(list("abcdef"))
    kept = asked(view, "move", at=0, operator=4, numbers=[4, 1, 4], move="keep")
    assert view.trace.collect() == ["b", "e"]
    assert kept["crumbs"][1] == {"move": "keep", "chosen": 2, "from": 4, "operators": [4]}
    asked(view, "move", at=1, operator=4, numbers=[1], move="keep")
    assert view.trace.collect() == ["e"]
    assert asked(view, "crumb", at=0)["at"] == 0
    assert view.trace.count() == 6
    assert len(asked(view, "trace")["crumbs"]) == 3
    assert len(asked(view, "move", at=0, operator=4, numbers=[0], move="keep")["crumbs"]) == 2
    assert asked(view, "crumb", at=2)["what"].startswith("The way that this view took has changed")
    assert asked(view, "move", at=0, operator=4, numbers=[2**70], move="keep")["what"].startswith("This request needs numbers")
    assert asked(view, "page", at=0, operator=4, start=2**70)["what"].startswith("The request 'page' needs start")


def test_a_move_goes_where_the_graph_leads_and_is_refused_elsewhere() -> None:
    view = view_of(list("abc"))
    back = asked(view, "move", at=0, operator=4, numbers=[], move="to", to=2)
    assert (back["crumbs"][1]["operators"], back["back"], back["ahead"]) == ([2], [1], [4])
    assert asked(view, "move", at=1, operator=2, numbers=[], move="to", to=4)["crumbs"][2]["operators"] == [4]
    assert asked(view, "move", at=0, operator=4, numbers=[], move="sources")["crumbs"][1]["operators"] == [1]
    assert asked(view, "move", at=0, operator=9, numbers=[0], move="back")["what"].startswith("This operator is not part of the run")
    assert asked(view, "move", at=0, operator=4, numbers=[3], move="keep")["at"] == 1
    assert asked(view, "page", at=1, operator=4, start=0)["what"].startswith("This trace names 3 records")
    assert asked(view, "move", at=0, operator=4, numbers=[], move="os.system")["what"].startswith("A trace moves by")


def anything() -> st.SearchStrategy[Any]:
    leaves = st.none() | st.booleans() | st.integers(-1, 5) | st.text(max_size=3) | st.sampled_from([*MOVES, "to", "csv", "json"])
    content = st.dictionaries(st.sampled_from(["at", "operator", "start", "numbers", "move", "to", "form"]), leaves | st.lists(leaves, max_size=3))
    return st.tuples(st.sampled_from(["trace", "page", "count", "export", "move", "crumb", "eval"]), content)


@given(st.lists(anything(), max_size=6))
def test_whatever_is_asked_has_an_answer_that_is_json(messages: list[Any]) -> None:
    view = view_of(["a", "b"])
    for request, content in messages:
        said = view.answer({"version": VERSION, "id": 1, "request": request, "content": content})
        json.dumps(said, allow_nan=False)
        assert said["answer"] in (request, "refused")
    assert asked(view, "trace")["at"] < len(asked(view, "trace")["crumbs"])


class Point(NamedTuple):
    x: int
    y: int


@pytest.mark.parametrize(
    ("records", "columns"),
    [
        ([], ("record",)),
        ([1, "a"], ("record",)),
        ([(1, 2), (3, 4)], ("_1", "_2")),
        ([(1, 2), (3,)], ("record",)),
        ([(), ()], ("record",)),
        ([(1, 2), [3, 4]], ("record",)),
        ([Point(1, 2), Point(3, 4)], ("x", "y")),
        ([Point(1, 2), (3, 4)], ("_1", "_2")),
    ],
)
def test_records_have_a_column_for_each_field_if_all_are_tuples_of_one_length(records: list[Any], columns: tuple[str, ...]) -> None:
    found, rows = fields_of(records)
    assert found == columns
    assert [len(row) for row in rows] == [len(columns)] * len(records)


@given(st.dictionaries(st.integers(0, 4), st.lists(st.integers(0, 30), min_size=1, unique=True).map(sorted)), st.data())
def test_numbers_count_records_through_the_partitions(given_places: dict[int, list[int]], data: st.DataObject) -> None:
    places = {partition: np.array(positions) for partition, positions in given_places.items()}
    everything = [(p, at) for p in sorted(given_places) for at in given_places[p]]
    chosen = sorted(data.draw(st.sets(st.integers(0, len(everything) - 1))) if everything else [])
    found = numbered(places, np.array(chosen, dtype=np.int64))
    assert [(p, at) for p in sorted(found) for at in found[p].tolist()] == [everything[number] for number in chosen]


# ---- where it is shown -------------------------------------------------------------------------------------------


def test_a_table_stands_beside_the_widget(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(bundle, "_STATIC", tmp_path)
    (tmp_path / "views.js").write_text("export default {}")
    (tmp_path / "views.css").write_text("")
    view = view_of(RECORDS)
    shown = view._repr_mimebundle_()
    assert set(shown) == {"text/plain", "text/html", "application/vnd.jupyter.widget-view+json"}
    assert shown["text/plain"] == crashed("r3").table().text()
    assert "<script>" not in shown["text/html"]
    assert view.widget._esm == "export default {}"


def test_without_the_bundle_it_is_the_table_and_what_to_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(bundle, "_STATIC", tmp_path)
    shown = view_of(RECORDS)._repr_mimebundle_()
    assert set(shown) == {"text/plain", "text/html"}
    assert all("make panel" in text for text in shown.values())


def test_a_trace_needs_no_session_and_anything_else_does() -> None:
    assert bigdebug.view(held(RECORDS)).trace.count() == len(RECORDS)
    with pytest.raises(NotCapturedError, match=r"attached to no Spark session.*saved\.lineage"):
        bigdebug.view(run("r3"))


if __name__ == "__main__":
    for golden_name, message in written().items():
        (GOLDEN / f"{golden_name}.json").write_text(json.dumps(message, indent=2, ensure_ascii=False) + "\n")
