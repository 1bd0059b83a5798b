"""The panel's comms in a real kernel without Spark: what it is told as it opens, while a cell runs, and when bigdebug goes."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from ipykernel.kernelspec import write_kernel_spec
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import KernelManager

from bigdebug.trace.run import Run
from bigdebug.views.payload import CONTROL, EVENTS, VERSION
from bigdebug_kernel.panel import Panel
from tests.unit.test_payload import run

GONE = """
import comm, time
end = time.monotonic() + 10
while {!r} in comm.get_comm_manager().comms:
    assert time.monotonic() < end
    time.sleep(0.01)
"""
"""Waits for the end of a comm."""


class Front:
    """What stands for JupyterLab: it opens comms on a subshell, as the panel does, and hears what the kernel says on them."""

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel
        kernel.control_channel.send(made := kernel.session.msg("create_subshell_request", {}))
        reply = kernel.get_control_msg(timeout=20)
        assert reply["parent_header"]["msg_id"] == made["header"]["msg_id"]
        self._subshell = reply["content"]["subshell_id"]

    def say(self, kind: str, comm: str, data: Any, **more: Any) -> None:
        message = self._kernel.session.msg(kind, {"comm_id": comm, "data": data, **more})
        message["header"]["subshell_id"] = self._subshell
        self._kernel.shell_channel.send(message)

    def open(self, target: str, version: int = VERSION, **more: str) -> str:
        return self.open_with(target, {"version": version, **more})

    def open_with(self, target: str, data: Any) -> str:
        comm = uuid4().hex
        self.say("comm_open", comm, data, target_name=target)
        return comm

    def heard(self, comm: str) -> Any:
        """The next that is said on a comm; None if it is closed."""
        end = time.monotonic() + 20
        while time.monotonic() < end:
            message = self._kernel.get_iopub_msg(timeout=20)
            if message["content"].get("comm_id") == comm:
                return message["content"]["data"] if message["msg_type"] == "comm_msg" else None
        raise TimeoutError(f"nothing was said on {comm}")

    def run(self, code: str) -> None:
        reply = self._kernel.execute_interactive(code, timeout=20)
        assert reply["content"]["status"] == "ok"

    def start(self, code: str) -> None:
        """Run a cell, and go on when it runs."""
        self._kernel.execute(code)
        while self._kernel.get_iopub_msg(timeout=20)["msg_type"] != "stream":
            pass


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    home = tmp_path_factory.mktemp("home")
    write_kernel_spec(home / "specs" / "python3")
    manager = KernelManager(kernel_name="python3", kernel_spec_manager=KernelSpecManager(kernel_dirs=[str(home / "specs")]))
    manager.start_kernel(extra_arguments=["--ext=bigdebug", f"--ipython-dir={home}"], cwd=str(home))
    client = manager.client()
    client.start_channels()
    client.wait_for_ready(timeout=60)
    yield client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


@pytest.fixture
def front(kernel: Any) -> Front:
    return Front(kernel)


class Spark:
    """A session whose runs are looked at, and one more comes before the look is noted."""

    watches = ()
    context = SimpleNamespace(appName="app", _jsc=None)
    running = False

    def __init__(self) -> None:
        self.known: list[Run] = []
        self.looks, self.noted = threading.Event(), threading.Event()

    @property
    def runs(self) -> tuple[Run, ...]:
        found = (*self.known,)
        if not self.looks.is_set():
            self.looks.set()
            self.noted.wait(0.5)
        return found


def test_a_run_that_comes_while_an_older_look_is_noted_stays_that_of_its_cell() -> None:
    session = Spark()
    panel = Panel(SimpleNamespace(execution_count=8), SimpleNamespace(latest=session))  # type: ignore[arg-type]
    panel._started(SimpleNamespace(store_history=True, cell_id="cell-3"))
    teller = threading.Thread(target=panel.tell)
    teller.start()
    assert session.looks.wait(5)
    session.known.append(run("r1"))
    panel.note()
    panel._ended(SimpleNamespace(info=SimpleNamespace(store_history=True), execution_count=7))
    session.noted.set()
    teller.join()
    panel.tell()
    changes = panel._answers.answer({"version": VERSION, "id": 1, "request": "changes", "content": {"after": 0}})["content"]
    assert [(each["id"], each["cell"], each["execution"]) for each in changes["runs"]] == [("r1", "cell-3", 7)]


def test_a_panel_that_opens_is_told_what_there_is(front: Front) -> None:
    told = front.heard(front.open(EVENTS))
    assert told == {"version": VERSION, "event": "changes", "content": {"after": 0, "upto": 0, "session": None, "runs": [], "forgotten": [], "watches": []}}


def test_a_request_is_answered_while_a_cell_runs(front: Front, tmp_path: Path) -> None:
    control = front.open(CONTROL)
    door = tmp_path / "door"
    front.start(f"import pathlib, time\nprint('inside', flush=True)\nwhile not pathlib.Path({str(door)!r}).exists(): time.sleep(0.01)")
    front.say("comm_msg", control, {"version": VERSION, "id": 7, "request": "changes", "content": {"after": 0}})
    assert front.heard(control)["id"] == 7  # the cell waits for the door
    door.touch()


def test_a_panel_of_another_release_is_told_so(front: Front) -> None:
    told = front.heard(front.open(EVENTS, version=VERSION + 1))
    assert told["answer"] == "refused"
    assert "Install the same bigdebug" in told["content"]["remedy"]


def test_a_panel_of_which_one_end_is_closed_is_gone_with_both(front: Front) -> None:
    events, control = front.open(EVENTS, panel="mine"), front.open(CONTROL, panel="mine")
    other = front.open(EVENTS, panel="another")
    assert front.heard(other) is not None
    front.say("comm_close", control, {})
    assert front.heard(events) is None
    front.run(GONE.format(events))  # it is told a moment before the kernel lets go of it, in another thread than that of cells
    front.run(f"assert {other!r} in comm.get_comm_manager().comms")


def test_panels_are_closed_when_bigdebug_goes_and_can_come_back(front: Front) -> None:
    events = front.open(EVENTS)
    assert front.heard(events) is not None
    front.run("import threading\n%unload_ext bigdebug")
    assert front.heard(front.open(EVENTS)) is None
    front.run("for each in threading.enumerate():\n    if each.name == 'bigdebug panel': each.join(5); assert not each.is_alive()")
    front.run("%load_ext bigdebug")
    assert front.heard(front.open(EVENTS)) is not None
