"""Crash culprits: the records that a run's functions crashed on (BigDebug 4.3). Found when they are asked for."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import Any, overload

from bigdebug.errors import BigdebugError, ReplayError
from bigdebug.model import SourceRecord
from bigdebug.shown import counted, plain, shown
from bigdebug.trace.culprit import CrashCulprit, Shared
from bigdebug.trace.table import Table

SHOWN = 20
"""Causes that a table of culprits lists."""

LOOKED_AT = 1_000
"""Culprits whose sources are compared."""

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
    def failed_of(self) -> list[CrashCulprit]:
        """Those of the known culprits that the run failed of: all, but for those from which it went on."""
        return [culprit for culprit in self.known if not culprit.spared]

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
        return self._first() is not None

    @overload
    def __getitem__(self, index: int) -> CrashCulprit: ...

    @overload
    def __getitem__(self, index: slice) -> list[CrashCulprit]: ...

    def __getitem__(self, index: int | slice) -> CrashCulprit | list[CrashCulprit]:
        if index == 0:
            self._first()
        while (isinstance(index, slice) or index < 0 or index >= len(self.known)) and self.more():
            pass
        return self.known[index]

    def _first(self) -> CrashCulprit | None:
        """The first culprit, which is looked for by itself; None if there are none."""
        before, self.one_will_do = self.one_will_do, True
        try:
            return next(iter(self), None)
        finally:
            self.one_will_do = before

    def chosen(self, given: Any) -> list[CrashCulprit]:
        """Those of the known culprits that somebody gives: one, or several. Raises ReplayError for others."""
        found = [given] if isinstance(given, CrashCulprit) else list(given)
        known = {*map(id, self.known)}
        for culprit in found:
            if id(culprit) not in known:
                raise ReplayError(f"{shown(culprit)} is no culprit of this run", remedy="Take them from run.culprits.")
        return found

    def summary(self) -> str:
        """The most frequent cause of what the run failed of in a few lines, and how many culprits are known. Empty, as long as that is none."""
        failed = self.failed_of
        if not failed:
            return ""
        (cause, most), *_ = Counter(culprit.cause for culprit in failed).most_common()
        first = next(culprit for culprit in failed if culprit.cause == cause)
        what = f"{counted(len(self.known))} crashed{'' if self.complete else ' so far'}"
        more = f", {most:,} of them" if most < len(self.known) else ""
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
        return plain(f"<no culprits{': ' if self.unknown else ''}{' '.join(self.unknown)}>")

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        return self.table()._repr_mimebundle_() if self.known else {"text/plain": repr(self)}
