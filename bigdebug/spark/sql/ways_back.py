"""Ways back: the records that one trace has found so far; what is asked of it again costs nothing."""

from __future__ import annotations

from collections.abc import Callable

from bigdebug.spark.sql.records import Found
from bigdebug.trace.names import Names


class WaysBack:
    """What ways back from some records lead to: ``sources``, and what stands between. Each way is gone once.

    Who asks about one source mostly asks about that alone, and who asks about another will about the others: these come along.
    ``go`` may find more than it is sent for.
    """

    def __init__(self, go: Callable[[frozenset[int]], Found], sources: frozenset[int]) -> None:
        self._go = go
        self._sources = sources
        self._gone: frozenset[int] = frozenset()
        self._found: dict[int, Names] = {}

    def __call__(self, goals: frozenset[int]) -> Found:
        """The records at ``goals``."""
        missing = goals - self._gone
        if missing and missing <= self._sources and self._gone & self._sources:
            missing = self._sources - self._gone
        if missing:
            more = self._go(missing)
            self._found.update(more)
            self._gone |= missing | more.keys()
        return {level: names for level, names in self._found.items() if level in goals}
