"""The culprit view's messages: the golden files, which the widget's own tests read and write as well; and what becomes of decisions.

``python -m tests.unit.test_culprit_view`` writes them anew.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

import bigdebug
from bigdebug.errors import BigdebugError, ReplayError
from bigdebug.graph import CallSite, Emission, Form, OperatorGraph, Segment, Stage
from bigdebug.model import Origin, SourceRecord
from bigdebug.shown import mask
from bigdebug.trace.culprit import CrashCulprit, Described
from bigdebug.trace.culprits import Culprits
from bigdebug.trace.resumed import Resumed
from bigdebug.trace.run import Run
from bigdebug.trace.saved.culprits import Saved
from bigdebug.views.crashing import ROWS
from bigdebug.views.culpritview import CulpritView
from bigdebug.views.payload import LONGEST, VERSION
from tests.unit.test_payload import HOSTILE, LINE, OPERATORS, run

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "culprits"

TRACEBACK = 'Traceback (most recent call last):\n  File "report.py", line 7, in <lambda>\nValueError: no digits'


class Flight(NamedTuple):
    id: int
    dep: str
    note: Any


STAGES = [
    Stage("s1", 1, (Segment((2,), Form.ONE_TO_ONE),), Emission.COMBINED, feeds=4),
    Stage("s2", 4, (Segment((4,), Form.CODES),), Emission.RECORDS, fetches=True),
]

RECORDS: list[Any] = [
    Flight(2, "NA", HOSTILE), Flight(3, "", None), {"dep": "NA", "share": 0.5, "tags": ["a", b"\x00"]}, "one line", ("x" * 10_000_000, "\r"), Described("<generator>"),
]


class Sources(NamedTuple):
    """The trace of a culprit that is not of a run."""

    found: tuple[SourceRecord, ...]

    def source_records(self) -> tuple[SourceRecord, ...]:
        return self.found

    def source_record(self, operator: int, rid: int) -> SourceRecord:
        return self.found[0]


def crash(record: Any, operator: int = 2, line: CallSite | None = LINE, message: str = "no digits", place: Any = "somewhere", met: str | None = None) -> CrashCulprit:
    sources = Sources((SourceRecord(f"line of {HOSTILE}", 4, Origin("log.txt", "/data/log.txt", line=5)),))
    told = Saved(record, met, "ValueError", message, line, {"line": repr(HOSTILE), "n": "2"}, TRACEBACK, [(1, 4)], lambda: sources)
    return CrashCulprit(told, next(each for each in OPERATORS if each.id == operator), 0, place)


Resume = Callable[[Any, Any, Any], Resumed]


FUNCTIONS: dict[int, Callable[[Any], Any]] = {}
exec(compile("\n\ndef delay(flight):\n    return flight\n", "report.py", "exec"), defined := {"__name__": "__main__"})
FUNCTIONS[2] = defined["delay"]
"""What the notebook defines for an operator."""


class Resuming:
    """Resumes as a function says, where a stage holds what it had computed, and takes any record but ``"refused"``."""

    def __init__(self, resume: Resume, held: Mapping[str, Collection[int]] | None = None, refused: str | None = None) -> None:
        self._resume = resume
        self._refused = refused
        self.held = held

    def __call__(self, skip: Any, repair: Any, fix: Any) -> Resumed:
        return self._resume(skip, repair, fix)

    def defined(self, operator: int) -> Any:
        return FUNCTIONS.get(operator)

    def check(self) -> None:
        if self._refused is not None:
            raise ReplayError(self._refused, remedy="Take another action.")

    def check_repair(self, culprit: CrashCulprit, record: Any) -> None:
        if record == "refused":
            raise ReplayError(f"{record} does not fit", remedy="Give another one.")


def failed(records: list[Any], resume: Resume | Resuming | None = None, found: Culprits | None = None) -> Run:
    found = Culprits() if found is None else found
    found.known += [crash(record, 4 if number == 1 else 2, met=HOSTILE if number > 3 else None) for number, record in enumerate(records)]
    return replace(run("r3", HOSTILE, culprits=found), status="failed", graph=OperatorGraph(OPERATORS, [4], STAGES), resuming=[] if resume is None else [resume if isinstance(resume, Resuming) else Resuming(resume)])


def resumed(skip: Any, repair: Any, fix: Any) -> Resumed:
    """As if the action gave what it was given."""
    again = replace(crash(("worse", HOSTILE)), again=True)
    known = Culprits()
    known.known += [crash("left out"), again]
    known.unknown.append("Partition 3 was not looked at.")
    left = skip if skip is True else len(skip or ())
    return Resumed([("skip", left), *(("repair", record) for record in (repair or {}).values())], run("r4", "resumed", culprits=known), 3, 2)


def golden(name: str) -> Any:
    return json.loads((GOLDEN / f"{name}.json").read_text())


ASKED = ("culprits", "page", "culprit", "sources", "skip", "repair", "common")


def written() -> dict[str, Any]:
    """What the kernel says, by the name of the golden file: answers to the requests of other golden files, in their order."""
    view = CulpritView((known := failed(RECORDS, Resuming(resumed, {"s1": [0, 1, 5]}))).culprits, known)
    said = {f"answer-{name}": view.answer(golden(f"request-{name}")) for name in ASKED}
    said["answer-repaired"] = view.answer(golden("request-culprit"))
    said["answer-fix"] = view.answer(golden("request-fix"))
    said["answer-fixed"] = view.answer(golden("request-culprit"))
    said["answer-refused"] = view.answer(golden("request-unread"))
    heard: list[Any] = []
    view.hear(heard.append)
    asked(view, "skip", of="all", at=0, on=True)
    assert view.answer(golden("request-resume"))["answer"] == "resume"
    assert view.wait(10)
    return said | {"event-culprits": heard[-1], "answer-result": view.answer(golden("request-result"))}


def asked(view: CulpritView, request: str, **content: Any) -> Any:
    return view.answer({"version": VERSION, "id": 1, "request": request, "content": content})["content"]


def test_the_kernel_writes_the_golden_files() -> None:
    said = written()
    told, known = said["event-culprits"]["content"], golden("event-culprits")["content"]
    told["change"] = known["change"]  # it is told while it goes on, as often as that takes
    assert told["resumed"].pop("seconds") <= known["resumed"].pop("seconds") + 30
    assert said == {name: golden(name) for name in said} | {"event-culprits": golden("event-culprits") | {"content": known}}
    assert {path.stem for path in GOLDEN.glob("*.json") if not path.stem.startswith("request-")} == set(said)


def test_a_message_has_no_more_than_is_shown() -> None:
    view = CulpritView(failed([tuple(range(700)), *["x"] * 30]).culprits)
    assert (len((found := asked(view, "culprit", number=0))["fields"]), found["left"]) == (500, 200)
    page = asked(view, "page", cause=0, start=ROWS)
    assert (len(page["rows"]), page["rows"][0]["number"], page["total"]) == (ROWS, ROWS + 1, 30)
    hostile = asked(CulpritView(failed(RECORDS).culprits), "culprit", number=4)
    assert max(len(field["value"]) for field in hostile["fields"]) == LONGEST
    assert [field["text"] for field in hostile["fields"]] == [None, repr("\r")]


# ---- where it is shown -------------------------------------------------------------------------------------------


def test_a_run_that_failed_its_culprits_and_one_of_them_need_no_session() -> None:
    known = failed(RECORDS)
    assert isinstance(view := bigdebug.view(known), CulpritView)
    assert (view.run, view.table().rows) == (known, known.culprits.table().rows)
    assert "6 culprits" in repr(view)
    found = bigdebug.view(known.culprits)
    assert isinstance(found, CulpritView)
    assert found.culprits is known.culprits
    one = bigdebug.view(known.culprits[2])
    assert asked(one, "culprits")["first"] == {"number": 0, "cause": 0, "at": 0}
    assert asked(one, "culprit", number=0)["type"] == "dict"


def test_what_cannot_be_resumed_is_looked_at_and_says_why() -> None:
    view = CulpritView(failed(["a", "b"]).culprits)
    assert "did not crash in this session" in asked(view, "culprits")["refused"]
    assert "nothing to resume" in asked(view, "resume")["what"]
    assert asked(view, "culprit", number=0)["fix"]["code"] is None
    assert "not been resumed" in asked(view, "result", start=0)["what"]
    assert "no such culprit" in asked(view, "culprit", number=2)["what"]
    assert "no such cause" in asked(view, "page", cause=2, start=0)["what"]
    none = CulpritView(Culprits())
    assert asked(none, "culprits")["causes"] == []
    assert none._repr_mimebundle_()["text/plain"]


# ---- decisions ---------------------------------------------------------------------------------------------------


def test_one_is_repaired_and_the_rest_is_skipped() -> None:
    known = failed(["1x", "b", "c", "d"], resumed)
    view = CulpritView(known.culprits, known)
    assert asked(view, "repair", number=0, edits=[{"field": 0, "text": "1"}])["decided"] == {"skipped": 0, "repaired": 1, "fixed": 0, "open": 3}
    assert "Of 3 records that crashed nothing was decided" in asked(view, "resume")["what"]
    assert asked(view, "skip", of="all", at=0, on=True)["decided"] == {"skipped": 3, "repaired": 1, "fixed": 0, "open": 0}
    assert view.decided == {"skip": True, "repair": {known.culprits[0]: "1"}}
    asked(view, "resume")
    assert view.wait(10)
    assert view.resumed is not None
    assert view.resumed.result == [("skip", True), ("repair", "1")]
    assert asked(view, "culprits")["resumed"]["latest"]
    assert not asked(view, "restore", number=0)["resumed"]["latest"]


def test_what_is_said_of_one_counts_more_than_what_is_said_of_its_cause_and_that_more_than_of_all() -> None:
    known = failed(list("abcd"))
    view = CulpritView(known.culprits, known)
    asked(view, "skip", of="cause", at=0, on=True)
    assert asked(view, "skip", of="culprit", at=2, on=False)["decided"] == {"skipped": 2, "repaired": 0, "fixed": 0, "open": 2}
    assert asked(view, "skip", of="culprit", at=1, on=True)["decided"] == {"skipped": 3, "repaired": 0, "fixed": 0, "open": 1}
    with pytest.raises(ReplayError, match="on it as before"):
        assert view.decided
    assert asked(view, "skip", of="cause", at=0, on=True)["decided"]["open"] == 0
    assert view.decided == {"skip": [*known.culprits]}
    assert asked(view, "skip", of="all", at=0, on=False)["decided"]["open"] == 4
    asked(view, "repair", number=3, edits=[{"field": 0, "text": "e"}])
    asked(view, "skip", of="all", at=0, on=True)
    assert asked(view, "culprit", number=3)["decided"] == "repair"
    assert asked(view, "restore", number=3)["decided"] == {"skipped": 4, "repaired": 0, "fixed": 0, "open": 0}
    assert view.decided == {"skip": True}


def test_culprits_that_are_found_later_are_what_was_said_of_their_cause_and_of_all() -> None:
    waves = iter([[crash("late")], [crash("later", 4), crash("last")]])
    known = failed(["a", "b"], resumed, Culprits(lambda: next(waves, None)))
    view = CulpritView(known.culprits, known)
    said = asked(view, "skip", of="cause", at=0, on=True)
    assert (said["known"], said["complete"]) == (2, False)
    asked(view, "find")
    assert view.wait(10)
    said = asked(view, "culprits")
    assert (said["known"], said["complete"], said["doing"]) == (5, True, None)
    assert [(each["cause"], each["skipped"], each["open"]) for each in said["causes"]] == [(0, 3, 0), (1, 0, 2)]


def test_a_resume_finds_all_before_and_goes_on_only_if_all_are_decided() -> None:
    known = failed(["a"], resumed, Culprits(iter([[crash("late", 4)], None]).__next__))
    view = CulpritView(known.culprits, known)
    asked(view, "skip", of="culprit", at=0, on=True)
    asked(view, "resume")
    assert view.wait(10)
    said = asked(view, "culprits")
    assert said["problem"]["what"] == ["Of 1 record that crashed nothing was decided, and the job would crash on it as before."]
    assert (said["resumed"], said["decided"]) == (None, {"skipped": 1, "repaired": 0, "fixed": 0, "open": 1})
    asked(view, "skip", of="all", at=0, on=True)
    asked(view, "resume")
    assert view.wait(10)
    assert view.resumed is not None
    assert asked(view, "culprits")["problem"] is None


def test_a_repair_that_a_resume_would_refuse_is_refused_when_it_is_edited() -> None:
    known = failed(["a", "b"], resumed)
    view = CulpritView(known.culprits, known)
    assert asked(view, "repair", number=0, edits=[{"field": 0, "text": "refused"}])["what"] == "refused does not fit."
    assert asked(view, "repair", number=0, edits=[{"field": 0, "text": "taken"}])["decided"]["repaired"] == 1


def test_an_action_that_cannot_be_called_again_is_told_before_somebody_decides() -> None:
    known = failed(["a"], Resuming(resumed, refused="save() writes"))
    said = asked(view := CulpritView(known.culprits, known), "culprits")
    assert (said["refused"], said["forecast"]) == ("save() writes. Take another action.", None)
    asked(view, "skip", of="all", at=0, on=True)
    assert asked(view, "resume")["what"] == "save() writes."


def test_what_a_resume_takes_and_reaches_is_said_before_as_far_as_it_is_known() -> None:
    known = failed(["a", "b", "c"], resumed)
    view = CulpritView(known.culprits, known)
    (said,) = asked(view, "culprits")["forecast"]["said"]
    assert "not known before it ran" in said
    asked(view, "repair", number=0, edits=[{"field": 0, "text": "1"}])
    assert asked(view, "culprits")["forecast"]["said"][-1] == "How many outputs the repaired record reaches is not known before it ran."
    known = failed(["a", "b", "c"], Resuming(resumed, {}))
    view = CulpritView(known.culprits, known)
    asked(view, "repair", number=0, edits=[{"field": 0, "text": "1"}])
    asked(view, "repair", number=2, edits=[{"field": 0, "text": "2"}])
    assert asked(view, "culprits")["forecast"]["said"] == ["Resuming computes 11 partitions in 2 stages.", "The 2 repaired records reach at most 2 outputs."]


def test_how_many_tasks_a_resume_takes_is_told_while_it_goes_on() -> None:
    def resume(skip: Any, repair: Any, fix: Any) -> Resumed:
        told.append(asked(view, "culprits")["doing"])
        return resumed(skip, repair, fix)

    for on, of in ((2, 8), (4, None)):  # a function over several records may have the action called anew
        told: list[Any] = []
        known = failed([], Resuming(resume, {"s1": [0, 1, 5]}))
        known.culprits.known.append(crash("a", on))
        view = CulpritView(known.culprits, known)
        asked(view, "skip", of="all", at=0, on=True)
        asked(view, "resume")
        assert view.wait(10)
        assert [(each["what"], each["of"]) for each in told] == [("resuming", of)]


def test_what_a_resume_raises_is_told_and_what_was_decided_is_kept() -> None:
    def resume(skip: Any, repair: Any, fix: Any) -> Resumed:
        problem = RuntimeError("job aborted")
        problem.add_note("bigdebug: 1 record crashed with ValueError: worse")
        raise problem

    known = failed(["a", "b"], resume)
    view = CulpritView(known.culprits, known)
    asked(view, "skip", of="all", at=0, on=True)
    asked(view, "resume")
    assert view.wait(10)
    said = asked(view, "culprits")
    assert said["problem"]["what"] == ["The job crashed: 1 record crashed with ValueError: worse."]
    assert said["decided"] == {"skipped": 2, "repaired": 0, "fixed": 0, "open": 0}


def test_one_thing_is_done_at_a_time_also_while_somebody_looks_and_it_can_be_stopped() -> None:
    begun, go_on = threading.Event(), threading.Event()

    def resume(skip: Any, repair: Any, fix: Any) -> Resumed:
        begun.set()
        assert go_on.wait(10)
        raise RuntimeError("cancelled")

    known = failed(["a", "b"], resume)
    view = CulpritView(known.culprits, known)
    asked(view, "skip", of="all", at=0, on=True)
    asked(view, "resume")
    assert begun.wait(10)
    assert asked(view, "culprits")["doing"]["what"] == "resuming"
    assert "This view is resuming" in asked(view, "resume")["what"]
    assert asked(view, "culprit", number=1)["decided"] == "skip"
    asked(view, "stop")
    go_on.set()
    assert view.wait(10)
    assert asked(view, "culprits")["problem"]["what"] == ["It was stopped."]


def test_a_culprit_that_no_other_record_can_stand_for_is_not_repaired() -> None:
    known = failed([])
    known.culprits.known += [crash("a", place=None), replace(crash("b"), again=True)]
    view = CulpritView(known.culprits, known)
    edits = [{"field": 0, "text": "1"}]
    assert "no single record" in asked(view, "repair", number=0, edits=edits)["what"]
    assert "came in the place" in asked(view, "repair", number=1, edits=edits)["what"]
    assert asked(view, "culprits")["decided"]["open"] == 2


def test_an_operator_is_fixed_with_the_function_that_the_notebook_defines_for_it_now() -> None:
    known = failed([*"abcd"], resumed)  # "b" at another operator, which has none
    view = CulpritView(known.culprits, known)
    asked(view, "skip", of="cause", at=0, on=True)
    said = asked(view, "culprit", number=0)["fix"]
    assert (said["defined"], said["by"]) == ("delay, report.py:3", None)
    assert asked(view, "fix", number=0, on=True)["decided"] == {"skipped": 0, "repaired": 0, "fixed": 3, "open": 1}
    assert asked(view, "culprit", number=2)["fix"]["by"] == "delay, report.py:3"
    assert asked(view, "skip", of="all", at=0, on=True)["decided"] == {"skipped": 1, "repaired": 0, "fixed": 3, "open": 0}
    assert view.decided == {"skip": True, "fix": {known.graph[2]: FUNCTIONS[2]}}
    asked(view, "skip", of="culprit", at=2, on=True)
    asked(view, "repair", number=3, edits=[{"field": 0, "text": "e"}])
    assert asked(view, "culprits")["decided"] == {"skipped": 2, "repaired": 1, "fixed": 1, "open": 0}
    culprits = known.culprits
    assert view.decided == {"skip": [culprits[1], culprits[2]], "repair": {culprits[3]: "e"}, "fix": {known.graph[2]: FUNCTIONS[2]}}
    assert asked(view, "fix", number=0, on=False)["decided"] == {"skipped": 3, "repaired": 1, "fixed": 0, "open": 0}
    assert asked(view, "fix", number=0, on="yes")["what"].startswith("This request needs on")
    assert "no function that this notebook defines" in asked(view, "fix", number=1, on=True)["what"]
    assert "did not crash in this session" in asked(CulpritView(known.culprits), "culprit", number=0)["fix"]["why"]


def test_secrets_are_not_shown_and_not_edited() -> None:
    mask("sk-[a-z]+")
    try:
        known = failed([("sk-abc", "NA"), "x"])
        said = asked(CulpritView(known.culprits, known), "culprit", number=0)
        assert "sk-abc" not in json.dumps(said)
        assert [(field["text"], field["why"]) for field in said["fields"]] == [(None, "It has something secret in it, which is not shown."), ("NA", None)]
        with pytest.raises(BigdebugError, match="not edited as text"):
            CulpritView(known.culprits, known)._decisions.repair(0, {0: "x"})
    finally:
        mask(None)


def anything() -> st.SearchStrategy[Any]:
    leaves = st.none() | st.booleans() | st.integers(-1, 7) | st.text(max_size=3) | st.sampled_from(["culprit", "cause", "all"])
    edits = st.fixed_dictionaries({"field": leaves, "text": leaves})
    names = ["cause", "start", "number", "of", "at", "on", "edits"]
    content = st.dictionaries(st.sampled_from(names), leaves | st.lists(edits | leaves, max_size=2))
    return st.tuples(st.sampled_from(["culprits", "page", "culprit", "sources", "common", "skip", "repair", "restore", "fix", "find", "resume", "stop", "result", "eval"]), content)


@given(st.lists(anything(), max_size=6))
def test_whatever_is_asked_has_an_answer_that_is_json(messages: list[Any]) -> None:
    known = failed([Flight(1, "NA", None), "x", ("a", 2)], resumed)
    view = CulpritView(known.culprits, known)
    for request, content in messages:
        said = view.answer({"version": VERSION, "id": 1, "request": request, "content": content})
        json.dumps(said, allow_nan=False)
        assert said["answer"] in (request, "refused")
    assert view.wait(10)
    decided = asked(view, "culprits")["decided"]
    assert sum(decided.values()) == 3


if __name__ == "__main__":
    for golden_name, message in written().items():
        (GOLDEN / f"{golden_name}.json").write_text(json.dumps(message, indent=2, ensure_ascii=False) + "\n")
