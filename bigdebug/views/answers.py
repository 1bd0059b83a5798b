"""Answers: what the panel may ask, by name. No request has code, SQL or a path in it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

from bigdebug.errors import BigdebugError, MessageError, NotCapturedError
from bigdebug.trace.run import Run
from bigdebug.views.journal import Journal
from bigdebug.views.payload import Request, answer, read_request, refused, run_details

log = logging.getLogger("bigdebug")


class Answers:
    """Every message has an answer, also one that cannot be read: ``refused``, with what is wrong and what to do. Thread-safe."""

    def __init__(self, journal: Journal, runs: Callable[[], Sequence[Run]]) -> None:
        self._journal = journal
        self._runs = runs
        self._requests: dict[str, Callable[[Request], dict[str, Any]]] = {"changes": self._changes, "run": self._run}

    def answer(self, data: Any) -> dict[str, Any]:
        """The answer to a message of the panel's."""
        try:
            request = read_request(data)
            return answer(request, self._asked(request.name)(request))
        except BigdebugError as why:
            return refused(data, why)
        except Exception as trouble:  # the panel waits for an answer, and who looks at it cannot see this process's log
            log.warning("bigdebug could not answer the panel: %s", trouble, exc_info=True)
            remedy = "The kernel's log has the traceback."
            return refused(data, BigdebugError(f"This cannot be shown: {type(trouble).__name__}: {trouble}", remedy=remedy))

    def _asked(self, name: str) -> Callable[[Request], dict[str, Any]]:
        if name not in self._requests:
            raise MessageError(
                f"This kernel's bigdebug knows the requests {', '.join(self._requests)}, and no other", value=name,
                remedy="Install the same bigdebug where JupyterLab runs and where the kernel does.",
            )
        return self._requests[name]

    def _changes(self, request: Request) -> dict[str, Any]:
        return self._journal.since(request.number("after"))

    def _run(self, request: Request) -> dict[str, Any]:
        wanted = request.text("run")
        for run in reversed(self._runs()):
            if run.id == wanted:
                return run_details(run)
        raise NotCapturedError("This run has been forgotten, or is of an earlier Spark session", value=wanted, remedy="Run the job again under capture.")
