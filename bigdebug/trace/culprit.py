"""Crash culprits: a record that an operator crashed on, what is told of the crash, and where the record came from (DESIGN 4.3). Pure."""

from __future__ import annotations

import linecache
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import Any, NamedTuple, Protocol

from bigdebug.errors import BigdebugError
from bigdebug.graph import CallSite, Operator
from bigdebug.model import SourceRecord
from bigdebug.shown import counted, masked, place, plain, shown
from bigdebug.trace.sourced import Sourced

_VARIABLES = 5
"""Variables of the line that crashed, of which an exception tells."""


@dataclass(frozen=True)
class Described:
    """Stands for a record that cannot leave the task it was in: its text is all there is of it."""

    text: str

    def __repr__(self) -> str:
        return self.text


class Shared(NamedTuple):
    """A source record behind several culprits: what names it in all runs, behind how many it is, and how it is read."""

    name: tuple[str, int]
    culprits: int
    record: Callable[[], SourceRecord]


class Behind(Protocol):
    """What is behind several culprits together; it costs a job when it is first asked, and it is ``known`` if it was."""

    @property
    def known(self) -> bool: ...

    def __call__(self) -> list[Shared]: ...


class Account(Protocol):
    """What is told of one crash."""

    @property
    def settled(self) -> bool:
        """Whether all that is around it was looked at. If not, who asks for the trace waits until it is."""

    @property
    def record(self) -> Any: ...

    @property
    def met(self) -> str | None: ...

    @property
    def exception(self) -> str: ...

    @property
    def message(self) -> str: ...

    @property
    def line(self) -> CallSite | None:
        """The innermost one of the user's own."""

    @property
    def locals(self) -> Mapping[str, str]: ...

    @property
    def traceback(self) -> str: ...

    @property
    def raised(self) -> Any:
        """What a function raised, as the task told it, for who resumes the run; None if it was none."""

    def trace(self) -> Any:
        """The trace over the records of the job's input that the record was made of; None if they cannot be told."""

    def names(self) -> Iterable[tuple[int, int]]:
        """Operators and rids of these, where they are known without a job."""


@dataclass(frozen=True, repr=False, eq=False)
class CrashCulprit(Sourced):
    """A record that ``operator`` crashed on.

    ``record`` is what its function was given (None, if it had been given nothing), ``met`` the text of what the record was to be combined
    with, if it was. ``partition`` is that of the stage that crashed, and None for DataFrames: a diagnosis cuts their inputs into other
    partitions than the query had. ``user_line`` is the innermost line of the user's own that was running, ``locals`` the texts of its variables;
    ``traceback`` goes from there outwards to what Spark called. ``sources`` are the records of the job's input that it was made of,
    ``trace`` is the trace over them: both are found when they are first asked for. A culprit is equal to itself alone.
    """

    told: Account
    operator: Operator
    partition: int | None
    place: Any = None
    """Which crash of the run it is, for who resumes it."""
    again: bool = False
    """Whether the record came in the place of another one that had crashed."""
    behind: Behind | None = None
    """What is behind this culprit and others with it, where that takes a job."""
    spared: bool = False
    """Whether the run went on from it, as its policy said: then it is not what the run failed of."""

    @cached_property
    def record(self) -> Any:
        return self.told.record

    @property
    def met(self) -> str | None:
        return self.told.met

    @property
    def exception_type(self) -> str:
        return self.told.exception

    @property
    def message(self) -> str:
        return masked(self.told.message)

    @property
    def user_line(self) -> CallSite | None:
        return self.told.line or self.operator.call_site

    @property
    def locals(self) -> Mapping[str, str]:
        return self.told.locals

    @property
    def traceback(self) -> str:
        return masked(self.told.traceback)

    def finding(self) -> Any:
        return self.told.trace()

    @property
    def cause(self) -> tuple[str, int, str]:
        """What culprits of one cause have in common: exception, operator, and line."""
        return self.exception_type, self.operator.id, str(self.user_line)

    def text(self) -> str:
        """As a traceback that ends with the record."""
        lines = [f"{self.exception_type}: {self.message}", f"  in {self.operator}" + ("" if self.partition is None else f", partition {self.partition}")]
        lines.append(f"  on {shown(self.record)}" + (", which came in the place of one that crashed" if self.again else "") + ("" if self.met is None else f", which met {self.met}"))
        lines += [*self._whence(), "", *self.frames()]
        lines += [f"      {name} = {value}" for name, value in self.locals.items()]
        return "\n".join(map(plain, lines))

    def frames(self) -> list[str]:
        """The lines of the traceback, with cells by the names that a notebook shows."""
        return [_FRAME.sub(_placed, line) for line in self.traceback.splitlines()]

    def told_line(self) -> list[str]:
        """The line of the user's that was running, with its variables, if it is known."""
        line, known = self.told.line, list(self.locals.items())
        if line is None:
            return []
        code = code_of(line)
        more = [f"      and {len(known) - _VARIABLES} more"] if len(known) > _VARIABLES else []
        return [f"  at {line}" + (f": {code}" if code else ""), *(f"      {name} = {value}" for name, value in known[:_VARIABLES]), *more]

    def _whence(self) -> list[str]:
        """Where it came from, without waiting until that is known."""
        if not self.told.settled:
            return ["  from where is known when its partition has been looked at; its sources wait for that"]
        try:
            found = [f"  from {source.origin}: {shown(source.record)}" for source in self.sources[:3]]
            return found + ([f"  and {counted(len(self.sources) - 3)} more"] if len(self.sources) > 3 else [])
        except BigdebugError as why:
            return [f"  from where is not known: {why}"]

    def __repr__(self) -> str:
        return plain(f"<culprit of {self.operator}: {shown(self.record)}: {self.exception_type}: {self.message}>")

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        text = self.text()
        return {"text/plain": text, "text/html": f"<pre>{escape(text)}</pre>"}


_FRAME = re.compile(r'^  File "([^"]+)", line (\d+)')


def _placed(frame: re.Match[str]) -> str:
    """A line of a traceback, with a cell's name in the place of its file's."""
    there = place(frame[1], int(frame[2]))
    return frame[0] if there == f"{frame[1]}:{frame[2]}" else f"  {there}"


def code_of(line: CallSite) -> str:
    """The text of a line: workers have no cells of notebooks. A saved session may name what is no file, of which nothing is read."""
    known = line.file in linecache.cache or os.path.isfile(line.file)
    return line.code or (linecache.getline(line.file, line.line).strip() if known else "")
