"""The localization view's messages: the golden files, which the widget's own tests read and write as well, and a search that is watched.

``python -m tests.unit.test_diagnosis_view`` writes them anew.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import bigdebug
from bigdebug.errors import LocalizeError
from bigdebug.localize.diagnosis import AMBIGUOUS, CULPRIT, Cost, Diagnosis, FaultSet
from bigdebug.localize.oracle import Budget
from bigdebug.localize.progress import Course, Step
from bigdebug.localize.search import Search
from bigdebug.model import Origin, SourceRecord
from bigdebug.views.diagnosing import FAULTS, LONGEST, POINTS, RANKED, ROWS, SETS, course
from bigdebug.views.diagnosisview import DiagnosisView
from bigdebug.views.payload import VERSION
from tests.unit.test_payload import HOSTILE

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "diagnosis"


def source(record: Any, line: int) -> SourceRecord:
    return SourceRecord(record, line, Origin("log.txt", "/data/log.txt", line), 1)


CORRUPT = [source(("oslo", -999.0, None), 7), source((HOSTILE, float("nan"), b"\x00"), 12)]
OTHER = source("x" * 1_000_000, 3)
FOUND = Diagnosis(
    AMBIGUOUS,
    (
        FaultSet(tuple(CORRUPT), (("oslo", -41.5), (HOSTILE, None)), ("It is wrong on ('oslo', -999.0) (/data/log.txt:7) alone.",), (), CULPRIT),
        FaultSet((OTHER,), ({"nested": [1, (2,)]},), (f"2 other sets repair it as well: {HOSTILE}.",), ((CORRUPT[0],), (CORRUPT[1], OTHER)), AMBIGUOUS, True),
    ),
    ((CORRUPT[0], 1.0), (CORRUPT[1], 0.25), (OTHER, float("nan"))), Cost(12_345, 6.78), f"without 2 faults, all 3 outputs are right {HOSTILE}", "it was stopped",
)


def begun() -> tuple[Search, Budget]:
    """A search that has come some way, of which a quarter of a second passes at each step."""
    now = 0.0
    budget = Budget(clock=lambda: now)
    course = budget.course
    course.outputs = 3
    course.look("('oslo', -41.5)", 4_096)
    course.step = Step.REPAIRING
    for left in (4_096, 256, 31, 2):
        now += 0.25
        course.narrow(left)
    course.explained, course.faults, budget.tests = 1, 1, 321
    course.look(f"({HOSTILE!r}, None)", 50_000)
    now += 0.75
    course.narrow(700)
    now += 1
    search = Search()
    return search, budget


def golden(name: str) -> Any:
    return json.loads((GOLDEN / f"{name}.json").read_text())


def written() -> dict[str, Any]:
    """What the kernel says, by the name of the golden file."""
    said: dict[str, Any] = {}
    search, budget = begun()
    told = list[Any]()
    said["answer-waiting"] = DiagnosisView(Search()).answer(golden("request-diagnosis"))
    with search.running(budget):
        view = DiagnosisView(search)
        said["answer-diagnosis"] = view.answer(golden("request-diagnosis"))
        said["answer-stop"] = view.answer(golden("request-stop"))
        view.hear(told.append)
        search.diagnosis = FOUND
    while not told or told[-1]["content"]["state"] != "ended":
        search.wait(0.01)
    said["event-search"] = told[-1]
    said["answer-records"] = view.answer(golden("request-records"))
    said["answer-refused"] = view.answer(golden("request-gone"))
    failed = Search()
    with pytest.raises(LocalizeError), failed.running(Budget(clock=lambda: 0.0)):
        raise LocalizeError("No output is wrong", value=HOSTILE, remedy="Say which are.")
    said["answer-failed"] = DiagnosisView(failed).answer(golden("request-diagnosis"))
    for name, at in (("answer-diagnosis", 1), ("answer-stop", 2), ("event-search", 9)):  # how often it was told before is a matter of time
        said[name]["content"]["at"] = at
    return said


def asked(view: DiagnosisView, request: str, **content: Any) -> Any:
    return view.answer({"version": VERSION, "id": 1, "request": request, "content": content})["content"]


def test_the_kernel_writes_the_golden_files() -> None:
    said = written()
    assert said == {name: golden(name) for name in said}
    assert {path.stem for path in GOLDEN.glob("*.json") if not path.stem.startswith("request-")} == set(said)


def test_a_message_has_no_more_than_is_shown_and_says_what_is_left() -> None:
    many = tuple(source((number, "y" * 5_000), number) for number in range(1_000))
    fault = FaultSet(many, tuple(range(500)), ("z" * 100_000,), tuple((each,) for each in many), AMBIGUOUS)
    view = DiagnosisView(Diagnosis(AMBIGUOUS, (fault,) * (FAULTS + 3), tuple((each, 0.5) for each in many), Cost(1, 1.0), "", None))
    said = asked(view, "diagnosis")["diagnosis"]
    first = said["faults"][0]
    assert (len(said["faults"]), said["left"]) == (FAULTS, 3)
    assert (len(first["records"]["rows"]), first["records"]["total"]) == (ROWS, 1_000)
    assert (len(first["instead"]), first["others"], first["explains"]) == (SETS, 1_000, 500)
    assert (len(said["ranking"]["rows"]), said["ranking"]["total"]) == (RANKED, 1_000)
    assert len(first["evidence"][0]) == LONGEST
    page = asked(view, "records", fault=2, start=980)
    assert (page["fault"], page["start"], len(page["rows"]), page["rows"][0]["cells"][0]) == (2, 980, 20, "980")
    assert asked(view, "records", fault=2, start=5_000)["rows"] == []


@given(st.lists(st.integers(0, 10**6), max_size=2_000))
def test_a_course_is_shortened_and_keeps_its_first_point_and_its_last(lefts: list[int]) -> None:
    known = Course()
    for left in lefts:
        known.narrow(left)
    said = course(known.points)
    assert len(said) <= POINTS + 1
    assert [said[0][1], said[-1][1]] == [known.points[0].left, known.points[-1].left] if said else not known.points


def anything() -> st.SearchStrategy[Any]:
    leaves = st.none() | st.booleans() | st.integers(-1, 5) | st.text(max_size=3)
    return st.tuples(st.sampled_from(["diagnosis", "stop", "records", "eval"]), st.dictionaries(st.sampled_from(["fault", "start"]), leaves))


@given(st.lists(anything(), max_size=6), st.booleans())
def test_whatever_is_asked_has_an_answer_that_is_json(messages: list[Any], known: bool) -> None:
    view = DiagnosisView(FOUND if known else Search())
    for request, content in messages:
        said = view.answer({"version": VERSION, "id": 1, "request": request, "content": content})
        json.dumps(said, allow_nan=False)
        assert said["answer"] in (request, "refused")


# ---- a search that is watched -------------------------------------------------------------------------------------


@pytest.fixture
def watched() -> Iterator[tuple[DiagnosisView, Search, list[Any]]]:
    """A view that was made before the search, and what it says."""
    search = Search()
    view, told = bigdebug.view(search), list[Any]()
    view.hear(lambda said: told.append((threading.current_thread(), said["content"])))
    yield view, search, told
    assert not [each for each in threading.enumerate() if each.name == "bigdebug search" and not each.join(9) and each.is_alive()]


def until_over(search: Search, told: list[Any]) -> list[Any]:
    for _ in range(900):
        if told and told[-1][1]["state"] in ("ended", "failed"):
            break
        threading.Event().wait(0.01)
    return [content for _, content in told]


def test_a_view_made_before_the_search_tells_of_it_and_not_in_its_thread(watched: Any) -> None:
    view, search, told = watched
    assert asked(view, "diagnosis")["state"] == "waiting"
    assert not [each for each in threading.enumerate() if each.name == "bigdebug search"]
    budget, began = Budget(), time.monotonic()
    with search.running(budget):
        assert search.shown
        for tests in range(40):
            budget.tests = tests
            search.wait(0.01)
        search.diagnosis = FOUND
    states = until_over(search, told)
    assert 2 <= len(states) <= 4 + 10 * (time.monotonic() - began)  # ten a second, not forty
    assert [each["at"] for each in states] == sorted(each["at"] for each in states)
    assert states[0]["state"] == "running"
    assert states[-1]["diagnosis"]["verdict"] == AMBIGUOUS
    assert {thread for thread, _ in told}.isdisjoint({threading.current_thread()})
    assert view.frame()["record"].tolist()[0] == ("oslo", -999.0, None)
    assert view.table().text() == FOUND.table().text()


def test_stop_is_told_at_once_and_the_search_ends_at_its_next_test(watched: Any) -> None:
    view, search, told = watched
    with search.running(Budget(stops=[search.event])):
        assert asked(view, "stop")["stopping"]
        assert search.event.is_set()
        search.diagnosis = FOUND
    assert until_over(search, told)[-1]["stopping"]
    assert asked(view, "stop")["state"] == "ended"


@pytest.mark.parametrize(("problem", "what"), [
    (KeyboardInterrupt(), "It was interrupted before anything was known."),
    (LocalizeError("No output is wrong"), "No output is wrong."),
    (ZeroDivisionError(HOSTILE), "ZeroDivisionError"),
])
def test_a_search_that_raises_says_what(watched: Any, problem: BaseException, what: str) -> None:
    view, search, told = watched
    with pytest.raises(type(problem)), search.running(Budget()):
        raise problem
    said = until_over(search, told)[-1]
    assert said["state"] == "failed"
    assert what in said["error"]["what"]
    assert what in view.table().text()
    with pytest.raises(LocalizeError, match="has no diagnosis"):
        view.frame()


def test_two_searches_have_a_view_each() -> None:
    searches = [Search(), Search()]
    views = [DiagnosisView(each) for each in searches]
    with searches[0].running(Budget()), searches[1].running(Budget()):
        asked(views[1], "stop")
        assert [each.stopping for each in searches] == [False, True]
        searches[0].diagnosis = searches[1].diagnosis = FOUND
    assert [asked(each, "diagnosis")["stopping"] for each in views] == [False, True]


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for number, (name, request, content) in enumerate([
        ("diagnosis", "diagnosis", {}), ("stop", "stop", {}), ("records", "records", {"fault": 0, "start": 1}), ("gone", "records", {"fault": 2, "start": 0}),
    ], 1):
        message = {"version": VERSION, "id": number, "request": request, "content": content}
        (GOLDEN / f"request-{name}.json").write_text(json.dumps(message, indent=2) + "\n")
    for golden_name, message in written().items():
        (GOLDEN / f"{golden_name}.json").write_text(json.dumps(message, indent=2, ensure_ascii=False) + "\n")
