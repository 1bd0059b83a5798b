"""Raised: what a function of the user raised on a worker, in the words of a culprit."""

from __future__ import annotations

from typing import Any

from bigdebug.agents.guards.crash import Raised
from bigdebug.graph import CallSite, Operator


def told(raised: Raised, operator: Operator) -> dict[str, Any]:
    """What a culprit of an operator says of what was raised."""
    line = raised.line
    return {
        "exception_type": raised.exception, "message": raised.message, "locals": dict(raised.locals), "traceback": raised.traceback,
        "user_line": operator.call_site if line is None else CallSite(line.file, line.line, line.code),
    }
