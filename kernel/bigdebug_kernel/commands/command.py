"""A command: one word after ``%lineage``."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from typing import Any, ClassVar

from IPython.core.error import UsageError

from bigdebug.errors import BigdebugError
from bigdebug.shown import plain
from bigdebug_kernel.asking import Asking
from bigdebug_kernel.words import LackingError, Words


class Command(ABC):
    """What a command takes and answers. Its docstring is its help, with the first line in the list of all. It keeps nothing of a call."""

    name: ClassVar[str]

    def __init__(self) -> None:
        self.words = Words(f"%lineage {self.name}", self._does, see=f"%lineage {self.name}?")
        self.takes(self.words)

    def takes(self, words: Words) -> None:  # noqa: B027 (some take nothing)
        """Say what it takes."""

    @abstractmethod
    def answer(self, given: Any, asking: Asking) -> Any:
        """What is displayed: what the session gives."""

    @property
    def _does(self) -> str:
        return inspect.getdoc(type(self)) or ""

    @property
    def summary(self) -> str:
        """A line for the list of commands."""
        return self._does.partition("\n")[0]

    def help(self) -> str:
        """What it does and takes."""
        return self.words.format_help().strip()

    def asked(self, line: str, asking: Asking) -> Any:
        """Its answer to what stands behind it. Raises UsageError, with what to do, for a question that has none."""
        try:
            given = self.words.parsed(line)
        except LackingError as problem:
            raise UsageError(plain(f"{problem}; {asking.known()}")) from None
        try:
            return self.answer(given, asking)
        except BigdebugError as problem:  # its sentence says what is wrong and what to do; our frames say neither
            raise UsageError(plain(str(problem))) from problem
