"""Crash culprits: the records that a run's functions crashed on (BigDebug 4.3). Found when they are asked for."""

from __future__ import annotations

import linecache
import os
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from html import escape
from itertools import groupby
from typing import Any, NamedTuple, Protocol, overload

from bigdebug.errors import BigdebugError, ReplayError
from bigdebug.graph import CallSite, Operator
from bigdebug.model import SourceRecord
from bigdebug.shown import counted, masked, place, plain, shown
from bigdebug.trace.sourced import Sourced
from bigdebug.trace.table import Table

SHOWN = 20
"""Causes that a table of culprits lists."""

LOOKED_AT = 1_000
"""Culprits whose sources are compared."""

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
        return f"<culprit of {self.operator}: {shown(self.record)}: {plain(self.exception_type)}: {plain(self.message)}>"

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        text = self.text()
        return {"text/plain": text, "text/html": f"<pre>{escape(text)}</pre>"}


_FRAME = re.compile(r'^  File "([^"]+)", line (\d+)')


def _placed(frame: re.Match[str]) -> str:
    """A line of a traceback, with a cell's name in the place of its file's."""
    there = place(frame[1], int(frame[2]))
    return frame[0] if there == f"{frame[1]}:{frame[2]}" else f"  {there}"


Finding = Callable[[], Sequence[CrashCulprit] | None]
"""Gives the culprits that are found next, None when there can be no more. A call that was interrupted may be made again."""


class Culprits(Sequence[CrashCulprit]):
    """The crash culprits of a run. Those that are known cost nothing; who asks for all of them waits until they are found.

    Interrupting that loses nothing: what was found stays, and the next question goes on from there. Thread-safe.
    """

    def __init__(self, finding: Finding | None = None) -> None:
        self._finding = finding
        self._alone = threading.RLock()
        self.known: list[CrashCulprit] = []
        self.unknown: list[str] = []
        """What was not looked at, and why: there may be more culprits in it."""
        self.one_will_do = False
        """Whether who asks would rather have one soon than all of them sooner."""

    def find_by(self, finding: Finding) -> None:
        """Look for culprits with ``finding`` when they are asked for."""
        self._finding = finding

    @property
    def complete(self) -> bool:
        """Whether all are known."""
        return self._finding is None

    def more(self) -> bool:
        """Look further; False if all are known."""
        with self._alone:
            found = None if self._finding is None else self._finding()
            if found is None:
                self._finding = None
                return False
            self.known += found
            return True

    def __iter__(self) -> Iterator[CrashCulprit]:
        """The culprits as they are found."""
        at = 0
        while at < len(self.known) or self.more() or at < len(self.known):  # another thread may have found the last ones
            if at < len(self.known):
                yield self.known[at]
                at += 1

    def __len__(self) -> int:
        while self.more():
            pass
        return len(self.known)

    def __bool__(self) -> bool:
        return next(iter(self), None) is not None

    @overload
    def __getitem__(self, index: int) -> CrashCulprit: ...

    @overload
    def __getitem__(self, index: slice) -> list[CrashCulprit]: ...

    def __getitem__(self, index: int | slice) -> CrashCulprit | list[CrashCulprit]:
        while (isinstance(index, slice) or index < 0 or index >= len(self.known)) and self.more():
            pass
        return self.known[index]

    def chosen(self, given: Any) -> list[CrashCulprit]:
        """Those of the known culprits that somebody gives: one, or several. Raises ReplayError for others."""
        found = [given] if isinstance(given, CrashCulprit) else list(given)
        known = {*map(id, self.known)}
        for culprit in found:
            if id(culprit) not in known:
                raise ReplayError(f"{shown(culprit)} is no culprit of this run", remedy="Take them from run.culprits.")
        return found

    def summary(self) -> str:
        """The most frequent cause in a few lines, and how many culprits are known."""
        if not self.known:
            return ""
        (cause, most), *others = Counter(culprit.cause for culprit in self.known).most_common()
        first = next(culprit for culprit in self.known if culprit.cause == cause)
        what = f"{counted(len(self.known))} crashed{'' if self.complete else ' so far'}"
        more = f", {most:,} of them" if others else ""
        return "\n".join(map(plain, [
            f"bigdebug: {what}{more} with {first.exception_type}: {first.message}", f"  in {first.operator}", f"  the first is {shown(first.record)}",
            *first.told_line(), "  run.culprits, or dbg.runs[-1].culprits, has them with where they came from",
        ]))

    def common(self, most: int = 3) -> list[tuple[SourceRecord, int]]:
        """Source records behind several of the known culprits, and behind how many: the first may be what is wrong with all of them.

        Looks at the first 1,000 culprits; costs a job for each of the ``most`` records that it gives, at most, and of DataFrames one more for
        each operator that crashed, the first time. Of rows that went through groups or windows before they crashed, it gives none.
        """
        return self._common(most, asked=True)

    def _common(self, most: int, asked: bool) -> list[tuple[SourceRecord, int]]:
        """As ``common``; if not ``asked``, without jobs that only find out what is behind the culprits."""
        behind: Counter[tuple[int, int]] = Counter()
        traces: dict[tuple[int, int], Any] = {}
        for culprit in self.known[:LOOKED_AT]:
            for at in culprit.told.names():
                behind[at] += 1
                traces.setdefault(at, culprit.trace)
        shared = {at: Shared(("", 0), count, partial(traces[at].source_record, *at)) for at, count in behind.most_common(most) if count > 1}
        found = [*shared.values()]
        together = dict.fromkeys(culprit.behind for culprit in self.known[:LOOKED_AT] if culprit.behind is not None)
        every = [each for known in together if asked or known.known for each in known()]
        for name, several in groupby(sorted(every, key=lambda each: each.name), key=lambda each: each.name):
            first, *others = several
            found.append(first._replace(name=name, culprits=first.culprits + sum(other.culprits for other in others)))
        found.sort(key=lambda each: -each.culprits)
        return [(each.record(), each.culprits) for each in found[:most]]

    def met(self) -> list[tuple[str, int]]:
        """The text of what most of the first 1,000 known culprits were to be combined with, and how many; nothing if no two met the same."""
        found = Counter(culprit.met for culprit in self.known[:LOOKED_AT] if culprit.met is not None)
        return [(what, count) for what, count in found.most_common(1) if count > 1]

    def table(self) -> Table:
        """The known culprits by cause, the most frequent first, with the first record of each."""
        causes = Counter(culprit.cause for culprit in self.known)
        first = {culprit.cause: culprit for culprit in reversed(self.known)}
        rows = [
            (f"{count:,}", f"{c.exception_type}: {c.message}", str(c.operator), str(c.user_line or ""), shown(c.record))
            for count, c in ((count, first[cause]) for cause, count in causes.most_common(SHOWN))
        ]
        notes = [] if self.complete else ["These are the first ones; len(run.culprits) finds all of them."]
        notes += self.unknown
        notes += [f"{count:,} of them met the same, which may be what is wrong: {what}" for what, count in self.met()]
        try:
            notes += [f"behind {count:,} of them: {source.origin}: {shown(source.record)}" for source, count in self._common(3, asked=False)]
        except BigdebugError as why:
            notes.append(f"What is behind several of them cannot be read: {why}")
        if len(causes) > SHOWN:
            notes.append(f"{len(causes) - SHOWN:,} more causes are not shown.")
        return Table(("culprits", "exception", "operator", "line", "first record"), rows, tuple(notes))

    def __repr__(self) -> str:
        if self.known:
            return self.table().text()
        if not self.complete:
            return "<culprits: none is known yet, len(run.culprits) looks for them>"
        return f"<no culprits{': ' if self.unknown else ''}{' '.join(self.unknown)}>"

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        return self.table()._repr_mimebundle_() if self.known else {"text/plain": repr(self)}


def code_of(line: CallSite) -> str:
    """The text of a line: workers have no cells of notebooks. A saved session may name what is no file, of which nothing is read."""
    known = line.file in linecache.cache or os.path.isfile(line.file)
    return line.code or (linecache.getline(line.file, line.line).strip() if known else "")
