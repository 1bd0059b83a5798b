"""Standing: which rows at which operators of a query a trace names."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from bigdebug.errors import TooLargeError, UnknownOperatorError
from bigdebug.shown import plain
from bigdebug.spark.interruption import planning
from bigdebug.spark.process import answering
from bigdebug.spark.sql.actions import unheard
from bigdebug.spark.sql.far import Far, together
from bigdebug.spark.sql.records import Found
from bigdebug.spark.sql.runs import FrameRun
from bigdebug.spark.sql.steps import Steps
from bigdebug.trace.names import NOTHING, Names


class Standing:
    """Rows at operators of a query. A row of a source is named by its rid.

    ``others`` are operators inside a segment at which the trace may stand besides. ``towards`` finds the rows at some operators
    alone, these or others on the way here. ``before`` is the trace before a condition that was declared, with what was declared.
    Sources have the columns that their names show; those that they are read with, if ``as_read``.
    """

    def __init__(
        self, run: FrameRun, operators: Iterable[int], standing: Callable[[], Found], others: frozenset[int] = frozenset(),
        whole_result: bool = False, towards: Callable[[frozenset[int]], Found] | None = None, before: Any = None, as_read: bool = False,
    ) -> None:
        self.run = run
        self.operators = tuple(sorted(operators))
        self._others = others
        self._whole = whole_result
        self._towards = towards
        self._before = before
        self._as_read = as_read
        self._find: Callable[[], Found] | None = standing
        self._standing: Found = {}

    @property
    def standing(self) -> Found:
        """The names of the rows, by operator; None for all rows of one. Found on first use."""
        if self._find is not None:
            answering(self.run.frame.sparkSession.sparkContext)
            self._standing = self._find()
            self._find = None
        return self._standing

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the sources that a backward trace from here can reach."""
        graph = self.run.graph
        reachable = {u for operator in self.operators for u in graph.upstream(operator)}
        return tuple(dict.fromkeys(name for source, name in self.run.input_names().items() if source in reachable))

    def rids(self) -> npt.NDArray[np.int64]:
        """The record ids at the sources that the trace stands at, ascending; one source after the other."""
        self._check_sources("rids()")
        found = [self._rids(operator, names, "rids()") for operator, names in self._by_source().items()]
        return np.concatenate(found) if found else np.empty(0, np.int64)

    def count(self) -> int:
        """How many rows the trace names. A source that stands for several occurrences counts each row once."""
        return sum(self._counts().values())

    def _counts(self) -> dict[int, int]:
        """How many rows there are at each operator; equal rows that were made at once have one name."""
        found, steps, catalyst = self._by_source(), self._steps, self.run.questions.catalyst
        return {
            operator: unheard(catalyst.frame(steps.rows(operator, names)[0]), "count")
            if names is None or steps.crowded(operator) else len(names)
            for operator, names in found.items()
        }

    @property
    def distributed(self) -> bool:
        """Whether the trace names more rows than the driver would hold: their names stay in Spark, and so do further steps."""
        return any(isinstance(names, Far) for names in self.standing.values())

    def _by_source(self) -> dict[int, Names]:
        """The names at each operator, None for all; of a source that the query reads several times, together at the first."""
        occurrences: dict[Any, list[int]] = {}
        for operator in self.operators:
            occurrences.setdefault(self.run.questions.one_of(operator), []).append(operator)
        return {operators[0]: together([self._at(o) for o in operators]) for operators in occurrences.values()}

    def _rids(self, operator: int, names: Names, what: str) -> npt.NDArray[np.int64]:
        """Rids, ascending."""
        if names is None:
            names = self._steps.names(*self._steps.rows(operator, None))
        if isinstance(names, Far):
            raise TooLargeError(
                f"{what} would bring {len(names):,} rids to the driver, and they are more than it takes",
                remedy="They stay in Spark: count(), show(), toDF() and further steps work there.",
            )
        return ascending(names)

    def _at(self, operator: int) -> Names:
        return self.standing.get(operator, NOTHING)

    def _names(self, operator: int) -> Names:
        names = self._at(operator)
        if names is None:
            steps = self._steps
            names = steps.names(*steps.rows(operator, None))
        return names

    @property
    def _steps(self) -> Steps:
        return self.run.questions.steps(self._others)

    def _check_sources(self, what: str) -> None:
        strange = [o for o in self.operators if o not in self.run.questions.leaves]
        if strange:
            raise UnknownOperatorError(
                f"{what} is for rows of sources, and this trace stands at {self.run.graph[strange[0]]}",
                remedy="Go back to the sources first: goBackAll().",
            )

    def _one_source(self, what: str) -> int:
        """The operator to read rows at: the only one, or any occurrence of the only source."""
        return self.operators[0] if self._at_one else self._only(what)

    @property
    @planning()
    def _at_one(self) -> bool:
        return len({self.run.questions.one_of(o) for o in self.operators}) == 1

    def _only(self, what: str) -> int:
        if len(self.operators) != 1:
            names = [n for s, n in self.run.input_names().items() if s in self.operators]
            raise UnknownOperatorError(
                f"{what} needs a trace at one operator and this one stands at {len(self.operators)}",
                remedy=f"Choose one first: trace[{names[0]!r}]." if names else "Choose one first.",
            )
        return self.operators[0]

    def __repr__(self) -> str:
        at = ", ".join(str(self.run.graph[o]) for o in self.operators)
        return plain(f"<trace of run {self.run.name!r} at {at}>")


def ascending(names: Names) -> npt.NDArray[np.int64]:
    """Ascending. Those of an index mostly are, and may be millions."""
    rids: npt.NDArray[np.int64] = names.to_numpy(zero_copy_only=False)
    return rids if np.all(rids[1:] > rids[:-1]) else np.sort(rids)
