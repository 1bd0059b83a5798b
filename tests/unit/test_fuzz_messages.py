"""Messages from a browser that no browser of ours sends: every one has an answer that is JSON, an error of ours by name where it makes no sense, and harms nobody."""

from __future__ import annotations

import copy
import json
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bigdebug.datasets.questions import Datasets
from bigdebug.datasets.store import DatasetStore
from bigdebug.trace.culprits import Culprits
from bigdebug.views.answers import Answers
from bigdebug.views.buffers import taken_out
from bigdebug.views.comparisonview import ComparisonView
from bigdebug.views.culpritview import CulpritView
from bigdebug.views.datasetsview import DatasetsView
from bigdebug.views.diagnosisview import DiagnosisView
from bigdebug.views.journal import Journal
from bigdebug.views.payload import VERSION
from bigdebug_kernel.panel import Panel
from bigdebug_kernel.showing import Showing
from tests.unit import test_brush_view, test_comparison_view, test_culprit_view, test_diagnosis_view, test_trace_view
from tests.unit.test_datasets_questions import CLEAN, LOOK, PUBLISH, SUM
from tests.unit.test_payload import crashed, run

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
EXAMPLES = settings(max_examples=40 * int(os.environ.get("LAW_EXAMPLES", "30")) // 5, deadline=None)

huge = st.sampled_from([-1, 2**31, 2**53 - 1, 2**53, 2**63, 2**64, 10**400, 1e308, float("nan"), float("inf"), 0.5, True])
text = st.text(max_size=4) | st.sampled_from(["x" * 100_000, "\ud800", "\x00", "__class__", "<script>alert(1)</script>", "([" * 50_000, "9" * 10_000, "1e999999999", "-" * 20_000])
leaves = st.none() | st.booleans() | st.integers(-2, 9) | huge | text | st.integers(0, 2).map(lambda number: {"$buffer": number})
values = st.recursive(leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3), max_leaves=8)


def deep(levels: int) -> Any:
    """As deep as Python reads JSON, and no deeper: more is no message at all."""
    value: Any = 1
    for number in range(levels):
        value = {"k": value} if number % 2 else [value]
    return value


def requests(folder: str) -> list[Any]:
    found = [json.loads(path.read_text()) for path in sorted((GOLDEN / folder).glob("request-*.json"))]
    return [each.get("message", each) for each in found]


@st.composite
def spoilt(draw: st.DrawFn, folder: str) -> Any:
    """A request that a browser does make, with some of its parts replaced, taken away or added."""
    message = copy.deepcopy(draw(st.sampled_from(requests(folder))))
    for _ in range(draw(st.integers(1, 3))):
        at, key = draw(st.sampled_from([(holder, key) for holder, key in places(message)] or [(message, "content")]))
        if draw(st.integers(0, 4)):
            at[key] = draw(values)
        else:
            at.pop(key)
    return message


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Each part of a message, by what holds it."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in list(parts):
        yield value, key
        yield from places(each)


def said(answer: Callable[..., Any], message: Any, *buffers: bytes) -> Any:
    """The answer, which is one by all that is promised of it."""
    found = answer(message, buffers) if buffers else answer(message)
    json.dumps(taken_out(found)[0], allow_nan=False).encode()
    assert found["version"] == VERSION
    if found["answer"] == "refused":
        assert "cannot be shown" not in found["content"]["what"], found["content"]["what"]
        assert len(found["content"]["what"]) <= 400
        assert found["content"]["remedy"]
    return found


def view_of(kind: str, folder: Path) -> Any:
    match kind:
        case "view":
            return test_trace_view.view_of(test_trace_view.RECORDS)
        case "culprits":
            known = test_culprit_view.failed(test_culprit_view.RECORDS, test_culprit_view.Resuming(test_culprit_view.resumed, {"s1": [0, 1, 5]}))
            return CulpritView(known.culprits, known)
        case "brush":
            return test_brush_view.strange()
        case "diagnosis":
            return DiagnosisView(test_diagnosis_view.FOUND)
        case "comparison":
            return ComparisonView(test_comparison_view.FOUND)
        case "datasets":
            store = DatasetStore(folder / "datasets.sqlite")
            store.record(CLEAN, SUM, LOOK, PUBLISH)
            return DatasetsView(Datasets(store))
    return Answers(Journal(), lambda: (run("r1"), crashed("r2")))


@pytest.mark.parametrize("kind", ["view", "culprits", "brush", "diagnosis", "comparison", "datasets", "payload"])
def test_a_request_that_was_spoilt_is_answered_or_refused(kind: str, tmp_path: Path) -> None:
    shown = view_of(kind, tmp_path)
    whole = [message for message in requests(kind) if message["request"] not in ("resume", "stop")]

    @EXAMPLES
    @given(spoilt(kind))
    def law(message: Any) -> None:
        if kind == "payload":
            said(shown.answer, message)
        else:
            said(shown.answer, message, b"\x07")
        for each in whole[:1]:  # and the next one is answered as ever
            said(shown.answer, each)

    law()


@settings(max_examples=100)
@given(values)
def test_what_is_no_request_is_refused(message: Any) -> None:
    assert said(Answers(Journal(), lambda: ()).answer, message)["answer"] == "refused"


@pytest.mark.parametrize("levels", [10, 500, 900])
@pytest.mark.parametrize("where", ["", "version", "id", "request", "content", "after"])
def test_what_is_nested_deep_is_refused(where: str, levels: int) -> None:
    whole = {"version": VERSION, "id": 1, "request": "changes", "content": {"after": 0}}
    spoilt = deep(levels) if not where else {**whole, "content": {"after": deep(levels)}} if where == "after" else {**whole, where: deep(levels)}
    assert said(Answers(Journal(), lambda: ()).answer, spoilt)["answer"] == "refused"


@pytest.mark.parametrize("changed", [{"id": 10**4000}, {"request": "x" * 10_000_000}, {"content": {"after": 10**4000}}, {"content": {"after": "x" * 10_000_000}}], ids=["id", "name", "number", "text"])
def test_what_is_large_is_refused_in_few_words(changed: Any) -> None:
    whole = {"version": VERSION, "id": 1, "request": "changes", "content": {"after": 0}}
    found = said(Answers(Journal(), lambda: ()).answer, {**whole, **changed})
    assert found["answer"] == "refused"
    assert len(json.dumps(found)) < 10_000


class Comm:
    """One end of a comm: it keeps what is said on it."""

    def __init__(self) -> None:
        self.comm_id = "c"
        self.said: list[Any] = []
        self.heard: Callable[[Any], None] = lambda message: None
        self.spoke = threading.Event()

    def send(self, data: Any = None, buffers: Any = None) -> None:
        self.said.append(data)
        self.spoke.set()

    def on_msg(self, ear: Callable[[Any], None]) -> None:
        self.heard = ear

    def on_close(self, ear: Callable[[Any], None]) -> None:
        pass

    def close(self) -> None:
        pass


@settings(max_examples=100, deadline=None)
@given(values | st.fixed_dictionaries({"version": st.just(VERSION) | values, "panel": values}), values)
@example([], [])
def test_comms_that_are_opened_with_anything_answer(opening: Any, asked: Any) -> None:
    extension: Any = SimpleNamespace(latest=None)
    panel = Panel(SimpleNamespace(), extension)
    control, events, view = Comm(), Comm(), Comm()
    panel._asked(control, {"content": {"data": opening}})
    control.heard({"content": {"data": asked}})
    assert control.said[-1]["answer"] == "refused"
    panel._opened(events, {"content": {"data": opening}})
    panel.tell()
    assert events.said[-1].get("answer") == "refused" or events.said[-1]["event"] == "changes"
    for each in (control, events):
        panel._closed(each)
    Showing(SimpleNamespace(), extension)._opened(view, {"content": {"data": opening}})
    assert view.spoke.wait(10)
    assert view.said[-1]["answer"] == "refused"


def test_a_record_without_fields_has_none_to_repair() -> None:
    known = test_culprit_view.failed([()])
    shown = CulpritView(known.culprits, known)
    found = said(shown.answer, {"version": VERSION, "id": 1, "request": "repair", "content": {"number": 0, "edits": [{"field": 0, "text": "x"}]}})
    assert found["answer"] == "refused"
    assert said(CulpritView(Culprits()).answer, {"version": VERSION, "id": 1, "request": "culprit", "content": {"number": 0}})["answer"] == "refused"
