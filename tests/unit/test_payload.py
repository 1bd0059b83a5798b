"""What the kernel says to JupyterLab's panel: the golden files, which the panel's own tests read and write as well.

``python -m tests.unit.test_payload`` writes them anew.
"""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigdebug.errors import MessageError
from bigdebug.graph import CallSite, Form, Kind, Operator, OperatorGraph
from bigdebug.model import Statistics
from bigdebug.shown import mask
from bigdebug.trace.culprit import CrashCulprit, Described
from bigdebug.trace.culprits import Culprits
from bigdebug.trace.run import Run
from bigdebug.trace.saved.culprits import Saved
from bigdebug.trace.watch import Steering, Watch
from bigdebug.trace.watched import GuardError, HungCall, SlowRecord, WatchedRecord
from bigdebug.views.answers import Answers
from bigdebug.views.journal import Journal, session_line
from bigdebug.views.payload import LONGEST, VERSION, Request, event, read_request, text
from bigdebug.views.replies import replied
from bigdebug.views.watching import watch_line
from bigdebug.views.watchview import WatchView

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "payload"
NOON = 1_790_000_000.5

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)> \x1b[2J \u202egnp.exe \ud800 שלום & $x$"

LINE = CallSite("report.py", 7, "int(line.split()[1])")
OPERATORS = [
    Operator(1, "textFile", Kind.SOURCE, Form.SOURCE, (), 8, CallSite("report.py", 3), "log.txt"),
    Operator(2, "map", Kind.DISPATCHER, Form.ONE_TO_ONE, (1,), 8, LINE),
    Operator(3, "internal", Kind.DISPATCHER, Form.ONE_TO_ONE, (2,), 8, detail={"internal": True}),
    Operator(4, HOSTILE, Kind.AGGREGATOR, Form.CODES, (2,), 3, None, HOSTILE),
]


def culprit(message: str, record: str, operator: int = 2) -> CrashCulprit:
    told = Saved(Described(record), None, "ValueError", message, LINE, {}, "", [], lambda: None)
    return CrashCulprit(told, {each.id: each for each in OPERATORS}[operator], 0)


def run(number: str, name: str = "errors", **known: Any) -> Run:
    statistics = Statistics(1_000, 5, 12_345, 1.25, {1: 1_000, 4: 5})
    return Run(number, name, "collect", "succeeded", 4, OperatorGraph(OPERATORS, [4]), **{"statistics": statistics, "began": NOON - 2, **known})


def crashed(number: str) -> Run:
    found = Culprits(lambda: None)
    found.known += [culprit("no digits in 'x'", "'ERROR x'"), culprit("no digits in 'y'", "'ERROR y'"), culprit(HOSTILE, repr(HOSTILE), 4)]
    found.known += [culprit("no digits in 'x'", "'again x'")]
    found.unknown.append("Partition 3 was not looked at.")
    unknown = Statistics(-1, -1, -1, float("nan"))
    return replace(run(number, HOSTILE, statistics=unknown, incomplete=("partition 3 is lost",), culprits=found), status="failed")


def asked(number: str) -> Run:
    """Of a DataFrame that somebody only asked about."""
    return replace(run(number, "k, count(1)", began=None, statistics=Statistics(-1, -1, -1)), action="no action")


class Latencies:
    """What took long, as a task told of it."""

    def hangs(self) -> list[HungCall]:
        return [HungCall(**seen("('hangs', 1)"), seconds=12.34, state="running", user_line=LINE, traceback="")]

    def slow(self) -> list[SlowRecord]:
        return [SlowRecord(**seen(HOSTILE), seconds=0.51234, deviations=7.25)]


def seen(shows: str) -> dict[str, Any]:
    return {
        "operator": OPERATORS[1], "partition": 3, "attempt": 0, "run": "r3", "at": None, "came": None, "pickled": None, "text": shows,
        "finding": lambda: None,
    }


def watch() -> Watch:
    """A watch that has seen seven records, of which the panel is told the latest five, and whose guard has raised."""
    steering = Steering(lambda watch, guard: None, lambda watch: None, lambda records, back: None)
    found = Watch("w1", OPERATORS[1], str.isdigit, 10.0, 3.0, 1_000, 1_000, steering, Latencies())
    for number in range(7):
        found.saw(WatchedRecord(**seen(f"'record {number}'" if number else HOSTILE), when=datetime.fromtimestamp(NOON + number)))
    found.counted("task", (12_345, 7, 1, 2, False))
    found.raised(GuardError(Described("None"), "TypeError", "not a <b>text</b>", LINE, ""), 100)
    found.unheard("the driver could not be reached")
    return found


def golden(name: str) -> Any:
    return json.loads((GOLDEN / f"{name}.json").read_text())


def written() -> dict[str, Any]:
    """What the kernel says, by the name of the golden file: events, and answers to the requests of other golden files."""
    journal = Journal(clock=lambda: NOON)
    runs = [run("r1"), run("r2", "gone"), crashed("r3"), asked("r4")]
    answers = Answers(journal, lambda: runs)
    journal.note(runs, session_line("my <b>app</b>", True), "cell-3", 7, [watch_line(watch())])
    said = {"event-changes": event("changes", journal.since(0)), "answer-run": answers.answer(golden("request-run"))}
    del runs[1]
    journal.note(runs, session_line("my <b>app</b>", False), watches=[watch_line(watch())])
    said["answer-changes"] = answers.answer(golden("request-changes"))
    said["answer-refused"] = answers.answer({"version": 1, "id": 9, "request": "run", "content": {"run": "r2"}})
    said["refused-request"] = answers.answer(golden("request-unknown"))
    said["refused-version"] = answers.answer(golden("request-later"))
    return said


@pytest.mark.parametrize("name", sorted(path.stem for path in GOLDEN.glob("*.json") if not path.stem.startswith("request-")))
def test_the_kernel_writes_the_golden_files(name: str) -> None:
    assert written()[name] == golden(name)


def test_every_message_of_the_kernel_has_its_golden_file() -> None:
    assert {path.stem for path in GOLDEN.glob("*.json")} == {*written(), "request-changes", "request-run", "request-unknown", "request-later"}


def test_the_kernel_reads_what_the_panel_writes() -> None:
    asked = read_request(golden("request-changes"))
    assert (asked.id, asked.name, asked.number("after")) == (1, "changes", 1)
    assert read_request(golden("request-run")).text("run") == "r3"
    with pytest.raises(MessageError, match="version 2 of their messages, this kernel's version 1"):
        read_request(golden("request-later"))


def anything() -> st.SearchStrategy[Any]:
    leaves = st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from(["run", "changes", "r1"])
    names = st.sampled_from(["version", "id", "request", "content", "after", "run"])
    return st.recursive(leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=6), max_leaves=12)


@given(anything())
def test_whatever_is_asked_has_an_answer_that_is_json(message: Any) -> None:
    journal = Journal(clock=lambda: NOON)
    runs = [crashed("r1")]
    journal.note(runs, None)
    said = Answers(journal, lambda: runs).answer(message)
    json.dumps(said, allow_nan=False)
    assert said["version"] == VERSION
    if said["answer"] == "refused":
        assert said["content"]["what"].endswith(".")
        assert said["content"]["remedy"]


def test_what_breaks_is_told_and_not_raised(caplog: pytest.LogCaptureFixture) -> None:
    def broken() -> list[Run]:
        raise RuntimeError("the JVM is gone")

    said = Answers(Journal(), broken).answer(golden("request-run"))
    assert said["content"] == {"what": "This cannot be shown: RuntimeError: the JVM is gone.", "remedy": "The kernel's log has the traceback."}
    assert "the JVM is gone" in caplog.text


@pytest.mark.parametrize(("trouble", "what"), [
    ("An error occurred.\n: org.apache.spark.SparkException: No.\n\tat a.b(C.java:1)\n\tat d.e(F.java:2)", "An error occurred. : org.apache.spark.SparkException: No."),
    ("[SPARK_JOB_CANCELLED] Job 6 cancelled as part of cancellation of all jobs\n\tat a.b(C.java:1)", "The Spark job of this was cancelled."),
])
def test_of_what_spark_raised_the_browser_is_told_what_it_says(trouble: str, what: str) -> None:
    def ask(request: Request) -> dict[str, Any]:
        raise RuntimeError(trouble)

    said = replied({"version": VERSION, "id": 1, "request": "ask", "content": {}}, {"ask": ask})
    assert said["content"]["what"].endswith(what)


@given(st.text(max_size=50) | st.text(min_size=1).map(lambda piece: piece * 1_000))
def test_a_text_is_printable_and_not_longer_than_a_reader_needs(given_text: str) -> None:
    shown = text(given_text)
    assert shown.isprintable()
    assert len(shown) <= LONGEST


def test_no_part_of_a_secret_is_in_a_text() -> None:
    mask("sk-[a-z]{30}")
    try:
        assert text("x" * (LONGEST - 10) + "sk-" + "a" * 30) == "x" * (LONGEST - 10) + "***"
    finally:
        mask(None)


# ---- the journal -------------------------------------------------------------------------------------------------


def names(changes: dict[str, Any]) -> list[str]:
    return [each["name"] for each in changes["runs"]]


def test_a_panel_is_told_what_changed_since_it_heard_last() -> None:
    journal = Journal()
    first, second = run("r1", "first"), crashed("r2")
    assert journal.note([first, second], None)
    assert not journal.note([first, second], None)
    second.culprits.known.append(culprit("no digits", "'z'"))
    assert journal.note([first, second], None)
    assert [each["culprits"]["known"] for each in journal.since(1)["runs"]] == [5]
    assert journal.note([second], None)
    assert (journal.since(2)["runs"], journal.since(2)["forgotten"]) == ([], ["r1"])
    assert journal.note([second], session_line("app", True))
    assert journal.since(3)["session"] == {"application": "app", "running": True}
    assert journal.since(4) == {"after": 4, "upto": 4, "session": {"application": "app", "running": True}, "runs": [], "forgotten": [], "watches": None}


def test_who_has_heard_of_another_journal_is_told_everything() -> None:
    journal = Journal()
    journal.note([run("r1", "first")], None)
    assert journal.since(17)["after"] == 0
    assert names(journal.since(17)) == ["first"]


def test_ids_of_a_new_session_are_other_runs() -> None:
    journal = Journal(clock=iter([1.0, 2.0]).__next__)
    journal.note([run("r1", "before")], None)
    journal.note([run("r1", "after")], None)
    (line,) = journal.since(1)["runs"]
    assert (line["name"], line["noted"]) == ("after", 2.0)


def test_a_run_stays_with_the_cell_in_which_it_was_first_known() -> None:
    journal, found = Journal(), crashed("r1")
    journal.note([found], None, "cell-1")
    found.culprits.known.append(culprit("more", "'z'"))
    journal.note([found], None, "cell-2")
    assert [line["cell"] for line in journal.since(0)["runs"]] == ["cell-1"]


def test_watches_are_told_when_something_about_them_has_changed() -> None:
    journal, found = Journal(), watch()
    assert journal.note([], None, watches=[watch_line(found)])
    assert not journal.note([], None, watches=[watch_line(found)])
    found.saw(WatchedRecord(**seen("'one more'"), when=datetime.fromtimestamp(NOON)))
    assert journal.note([], None, watches=[watch_line(found)])
    assert [each["records"][0]["record"] for each in journal.since(1)["watches"]] == ["'one more'"]
    assert journal.note([], session_line("app", True), watches=[watch_line(found)])
    assert journal.since(2)["watches"] is None
    assert journal.note([], session_line("app", True))
    assert journal.since(3)["watches"] == []


def test_a_watch_is_viewed_and_stopped_by_its_view() -> None:
    found = watch()
    view = WatchView(found)
    said = view.answer({"version": VERSION, "id": 1, "request": "watch", "content": {}})
    assert said["content"] == watch_line(found, 50)
    assert len(said["content"]["records"]) == 7
    assert view.table().text() == found.tables()[0].text()
    assert view.answer({"version": VERSION, "id": 2, "request": "stop", "content": {}})["content"]["on"] is False


changes_of_runs = st.lists(st.sampled_from(["run", "crash", "forget", "hear"]), max_size=30)


@given(changes_of_runs)
def test_what_a_panel_adds_up_is_what_there_is(steps: list[str]) -> None:
    journal, runs, panel, heard = Journal(clock=lambda: NOON), [], {}, 0
    for number, step in enumerate([*steps, "hear"]):
        if step == "run":
            runs.append(crashed(f"r{number}"))
        elif step == "crash" and runs:
            runs[0].culprits.known.append(culprit("more", "'z'"))
        elif step == "forget" and runs:
            del runs[0]
        elif step == "hear":
            changes = journal.since(heard)
            panel = {} if changes["after"] == 0 else {name: line for name, line in panel.items() if name not in changes["forgotten"]}
            panel.update({line["id"]: line for line in changes["runs"]})
            heard = changes["upto"]
        journal.note(runs, None)
    journal.note(runs, None)
    panel = {name: line for name, line in panel.items() if name not in journal.since(heard)["forgotten"]}
    panel.update({line["id"]: line for line in journal.since(heard)["runs"]})
    assert panel == {line["id"]: line for line in journal.since(0)["runs"]}


def test_two_threads_may_note_at_once() -> None:
    journal = Journal()
    runs = [run(f"r{number}") for number in range(200)]
    threads = [threading.Thread(target=lambda: [journal.note(runs[:n], None) for n in range(200)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    journal.note(runs, None)
    assert len(journal.since(0)["runs"]) == 200


if __name__ == "__main__":
    for golden_name, message in written().items():
        (GOLDEN / f"{golden_name}.json").write_text(json.dumps(message, indent=2, ensure_ascii=False) + "\n")
