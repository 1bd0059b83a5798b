"""Runs of DataFrames: captured actions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from bigdebug.graph import OperatorGraph
from bigdebug.model import Statistics
from bigdebug.spark.sql.questions import Questions
from bigdebug.trace.culprits import Culprits
from bigdebug.trace.run import NO_ACTION, Run

_COLUMNS, _LETTERS = 4, 40
"""So many columns of such a DataFrame, in so many letters, are its name."""


def called(frame: Any) -> str:
    """A name for a DataFrame that was only asked about, by which somebody may tell it from others: its first columns."""
    columns = frame.columns
    name = ", ".join([*columns[:_COLUMNS], *["…"][: len(columns) - _COLUMNS]])
    return (name if len(name) <= _LETTERS else f"{name[: _LETTERS - 1]}…") or "lineage"


class FrameRun(Run):
    """A captured action of a DataFrame. Its plan is read when something is asked: the action pays for nothing.

    ``rows`` are those that the action gave, if it gave rows of the whole result and not too many. ``crossing`` knows where RDDs
    begin and end.
    """

    def __init__(
        self, number: str, name: str, action: str, status: str, frame: Any, questions: Questions,
        statistics: Statistics, crossing: Any, incomplete: Sequence[str] = (), rows: tuple[Any, ...] | None = None,
        began: float | None = None,
    ) -> None:
        # A frozen dataclass takes no assignment, and graph and subject wait.
        vars(self).update(
            id=number, name=name, action=action, status=status, statistics=statistics, incomplete=tuple(incomplete),
            culprits=Culprits(), resuming=[], store=None, earlier=(), sources={}, computed={}, began=began, frame=frame, questions=questions, rows=rows, crossing=crossing,
        )

    frame: Any
    questions: Questions
    rows: tuple[Any, ...] | None
    crossing: Any

    __eq__ = object.__eq__
    __hash__ = object.__hash__

    @cached_property
    def graph(self) -> OperatorGraph:
        return self.questions.graph

    @cached_property
    def subject(self) -> int:
        return self.questions.root.id

    def datasets(self) -> dict[int, str]:
        return {operator: leaf.dataset for operator, leaf in self.questions.leaves.items()}

    def input_names(self) -> dict[int, str]:
        """As for any run; a source that was read once, and is needed twice, keeps its name."""
        return {operator: leaf.name for operator, leaf in self.questions.leaves.items()}

    def summary(self) -> str:
        return f"{self.name}: {self._acted()}{';' if self.action == NO_ACTION else ','} lineage derived when asked"
