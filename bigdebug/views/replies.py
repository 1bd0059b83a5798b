"""Replies: each message of a browser's has one, and a request is answered by what is known under its name."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bigdebug.errors import BigdebugError, MessageError
from bigdebug.views.buffers import put_in
from bigdebug.views.payload import Request, answer, read_request, refused

log = logging.getLogger("bigdebug")

_CANCELLED = "SPARK_JOB_CANCELLED"
"""Spark's name for the error of a job that was cancelled."""

Known = Mapping[str, Callable[[Request], dict[str, Any]]]
"""What answers a request, by its name."""


def replied(data: Any, known: Known, buffers: Sequence[Any] = ()) -> dict[str, Any]:
    """The answer to a message and what came beside it, also to one that cannot be read: ``refused`` then, with what is wrong and what to do."""
    try:
        request = read_request(put_in(data, buffers))
        return answer(request, _asked(request.name, known)(request))
    except BigdebugError as why:
        return refused(data, why)
    except Exception as trouble:  # the browser waits for an answer, and who looks at it cannot see this process's log
        if (cancelled := cancellation(trouble)) is not None:
            return refused(data, cancelled)
        log.warning("bigdebug could not answer the browser: %s", trouble, exc_info=True)
        remedy = "The kernel's log has the traceback."
        return refused(data, BigdebugError(f"This cannot be shown: {type(trouble).__name__}: {_said(trouble)}", remedy=remedy))


def cancellation(trouble: Exception) -> BigdebugError | None:
    """Why there is no answer if it is that somebody had Spark cancel its job; None else. PySpark cancels all there are when a cell is interrupted."""
    if _CANCELLED not in str(trouble):
        return None
    return BigdebugError("The Spark job of this was cancelled", remedy="Interrupting a cell cancels all jobs that run, also those of views: ask again.")


def _said(trouble: Exception) -> str:
    """What an exception says, on one line, without the calls of the JVM's that led to it."""
    return " ".join(line.strip() for line in str(trouble).splitlines() if not line.startswith("\tat ")).rstrip(" .")


def _asked(name: str, known: Known) -> Callable[[Request], dict[str, Any]]:
    if name not in known:
        raise MessageError(
            f"This kernel's bigdebug knows the requests {', '.join(known)}, and no other", value=name,
            remedy="Install the same bigdebug where JupyterLab runs and where the kernel does.",
        )
    return known[name]
