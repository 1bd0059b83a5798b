"""Answers: what the panel may ask, by name. No request has code, SQL or a path in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from bigdebug.errors import NotCapturedError
from bigdebug.trace.run import Run
from bigdebug.views.journal import Journal
from bigdebug.views.payload import Request, run_details
from bigdebug.views.replies import replied


class Answers:
    """Every message has an answer, also one that cannot be read: ``refused``, with what is wrong and what to do. Thread-safe."""

    def __init__(self, journal: Journal, runs: Callable[[], Sequence[Run]]) -> None:
        self._journal = journal
        self._runs = runs
        self._requests: dict[str, Callable[[Request], dict[str, Any]]] = {"changes": self._changes, "run": self._run}

    def answer(self, data: Any) -> dict[str, Any]:
        """The answer to a message of the panel's."""
        return replied(data, self._requests)

    def _changes(self, request: Request) -> dict[str, Any]:
        return self._journal.since(request.number("after"))

    def _run(self, request: Request) -> dict[str, Any]:
        wanted = request.text("run")
        for run in reversed(self._runs()):
            if run.id == wanted:
                return run_details(run)
        raise NotCapturedError("This run has been forgotten, or is of an earlier Spark session", value=wanted, remedy="Run the job again under capture.")
