"""Raised: what a function of the user raised on a worker, in the words of a culprit."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from bigdebug.agents.guards.crash import Raised
from bigdebug.graph import CallSite, Operator


def line_of(raised: Raised) -> CallSite | None:
    """The innermost line of the user's own."""
    line = raised.line
    return None if line is None else CallSite(line.file, line.line, line.code)


def told(raised: Raised, operator: Operator) -> dict[str, Any]:
    """What somebody says of what an operator raised."""
    return {
        "exception_type": raised.exception, "message": raised.message, "locals": dict(raised.locals), "traceback": raised.traceback,
        "user_line": line_of(raised) or operator.call_site,
    }


class OfFunction(ABC):
    """What is told of a crash of a function of the user."""

    __slots__ = ()

    @property
    def settled(self) -> bool:
        return True

    @property
    @abstractmethod
    def raised(self) -> Raised:
        """What the task told."""

    @property
    def exception(self) -> str:
        return self.raised.exception

    @property
    def message(self) -> str:
        return self.raised.message

    @property
    def line(self) -> CallSite | None:
        return line_of(self.raised)

    @property
    def locals(self) -> Mapping[str, str]:
        return dict(self.raised.locals)

    @property
    def traceback(self) -> str:
        return self.raised.traceback
