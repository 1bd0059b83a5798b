"""Views in JupyterLab's main area, at the kernel's end: a real kernel without Spark, in which one run is known."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bigdebug.views.payload import VERSION, VIEW
from tests.kernel.test_panel import Front, kernel  # noqa: F401 (a fixture)

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden" / "showing"

KNOWN = f"""import sys; sys.path.insert(0, {str(ROOT)!r})
from tests.kernel.held import hold
session = hold(get_ipython())"""


def golden(name: str) -> Any:
    return json.loads((GOLDEN / f"{name}.json").read_text())


@pytest.fixture
def front(kernel: Any) -> Iterator[Front]:  # noqa: F811
    front = Front(kernel)
    front.run(KNOWN)
    yield front
    front.run("get_ipython()._bigdebug._sessions.clear()")


def opened(front: Front, **content: Any) -> str:
    asked = golden("request-view")
    return front.open_with(VIEW, {**asked, "content": {**asked["content"], **content}})


def asked(front: Front, comm: str, request: str, **content: Any) -> Any:
    front.say("comm_msg", comm, {"version": VERSION, "id": 5, "request": request, "content": content})
    said = front.heard(comm)
    assert said["id"] == 5
    return said["content"]


def test_a_view_of_a_run_is_opened_and_asked_while_a_cell_runs(front: Front, tmp_path: Path) -> None:
    door = tmp_path / "door"
    front.start(f"import pathlib, time\nprint('inside', flush=True)\nwhile not pathlib.Path({str(door)!r}).exists(): time.sleep(0.01)")
    comm = opened(front)
    assert front.heard(comm) == golden("answer-view")
    assert asked(front, comm, "trace")["at"] == 0
    page = asked(front, comm, "page", at=0, operator=4, start=0)
    assert len(page["rows"]) == 4
    door.touch()


def test_datasets_are_shown_where_there_is_a_session(front: Front) -> None:
    comm = opened(front, kind="datasets", run="", began=None)
    assert front.heard(comm)["content"]["kind"] == "datasets"
    assert opened(front, kind="datasets", run="", began=None) != comm
    front.run("get_ipython()._bigdebug._sessions.clear()")
    refused = front.heard(opened(front, kind="datasets", run="", began=None))
    assert refused["answer"] == "refused"
    assert "No Spark session" in refused["content"]["what"]


def test_two_windows_show_one_view_and_one_that_closes_leaves_the_other(front: Front) -> None:
    first, second = opened(front), opened(front)
    assert front.heard(first) is not None
    assert front.heard(second) is not None
    asked(front, first, "move", at=0, operator=4, numbers=[1], move="keep")
    front.say("comm_close", first, {})
    assert asked(front, second, "trace")["at"] == 1
    front.run(f"ends = get_ipython()._bigdebug._showing._ends; assert {second!r} in ends and {first!r} not in ends")


@pytest.mark.parametrize(("content", "what", "remedy"), [
    ({"kind": "other"}, "no view of the kind other", "Install the same bigdebug"),
    ({"run": "r4"}, "This run is not there any more", "Run its cell again"),
    ({"began": 1.0}, "This run is not there any more", "Run its cell again"),
    ({"run": 7}, "needs run, a text", "Reload the page"),
    ({"kind": "watch", "run": "w2"}, "This watch is not on any more", "dbg.watch(...)"),
])
def test_what_cannot_be_shown_is_refused_with_what_to_do(front: Front, content: dict[str, Any], what: str, remedy: str) -> None:
    said = front.heard(opened(front, **content))
    assert said["answer"] == "refused"
    assert what in said["content"]["what"]
    assert remedy in said["content"]["remedy"]


def test_another_version_is_refused(front: Front) -> None:
    said = front.heard(front.open_with(VIEW, {**golden("request-view"), "version": VERSION + 1}))
    assert "speaks version 2" in said["content"]["what"]


def test_a_run_that_is_forgotten_is_not_held(front: Front) -> None:
    assert front.heard(opened(front)) is not None
    front.run("session.runs = ()")
    assert "not there any more" in front.heard(opened(front))["content"]["what"]
    front.run("assert not get_ipython()._bigdebug._showing._views")


def test_views_are_closed_when_bigdebug_goes(front: Front) -> None:
    comm = opened(front)
    assert front.heard(comm) is not None
    front.run(f"%unload_ext bigdebug\nimport comm; assert {comm!r} not in comm.get_comm_manager().comms")
    assert front.heard(opened(front)) is None
    front.run("%load_ext bigdebug")


def test_a_run_is_known_by_the_cell_that_made_it_and_its_number(kernel: Any, front: Front) -> None:  # noqa: F811
    reply = kernel.execute_interactive(KNOWN, timeout=20)
    front.run(f"(line,) = get_ipython()._bigdebug._panel._journal.since(0)['runs']; assert line['execution'] == {reply['content']['execution_count']}")


def test_a_watch_is_viewed_and_stopped(front: Front) -> None:
    front.run("from tests.unit.test_payload import watch\nsession.watches = (watch(),)")
    comm = opened(front, kind="watch", run="w1", began=None)
    assert front.heard(comm)["content"] == {"kind": "watch", "run": "w1"}
    assert len(asked(front, comm, "watch")["records"]) == 7
    front.run("held = session.watches\nsession.watches = ()")
    assert asked(front, comm, "stop")["on"] is False
