"""What a kernel without Spark can show: a session with one run, whose records are in this process."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from bigdebug.datasets.questions import Datasets
from bigdebug.datasets.store import DatasetStore
from tests.unit.test_trace_view import RECORDS, Held, held


class HeldSession:
    """As much of a debug session as the panel and views of runs ask."""

    def __init__(self) -> None:
        self.trace = held(RECORDS)
        object.__setattr__(self.trace.run, "began", 1_790_000_000.25)
        self.runs: tuple[Any, ...] = (self.trace.run,)
        self.watches: tuple[Any, ...] = ()
        self.context = SimpleNamespace(appName="held", _jsc=object())
        self.plain_context = object()
        self.running = True
        self.datasets = Datasets(DatasetStore(), "held")

    def lineage(self, run: Any) -> Held:
        return self.trace


def hold(shell: Any) -> HeldSession:
    """Let the kernel of a shell have such a session."""
    session = HeldSession()
    shell._bigdebug._sessions[:] = [session]
    shell._bigdebug._panel.note()
    return session
