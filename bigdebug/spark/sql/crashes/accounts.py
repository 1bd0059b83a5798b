"""Accounts: what is told of a row that an expression of Spark's threw on, or that Python code crashed on."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pyspark.sql.types import StructType

from bigdebug.agents.guards.crash import Raised
from bigdebug.graph import CallSite
from bigdebug.shown import shown
from bigdebug.spark.raised import OfFunction
from bigdebug.spark.sql.crashes.crashed import Crashed
from bigdebug.spark.sql.crashes.named import part
from bigdebug.spark.sql.crashes.thrown import Thrown
from bigdebug.spark.sql.crashes.trials import Trial
from bigdebug.spark.sql.lineage_frame import LineageFrame
from bigdebug.spark.sql.plans.expressions import Node
from bigdebug.trace.culprit import CrashCulprit

if TYPE_CHECKING:
    from bigdebug.spark.sql.crashes.blamed import Blamed


class OfCode(OfFunction):
    """What is told of rows that Python code crashed on."""

    __slots__ = ("_crashed", "blamed")

    def __init__(self, blamed: Blamed, crashed: Crashed) -> None:
        self.blamed = blamed
        self._crashed = crashed

    @property
    def raised(self) -> Raised:
        return self._crashed.told.raised

    @property
    def record(self) -> Any:
        return self._crashed.record

    @property
    def met(self) -> str | None:
        others = self._crashed.rows[:-1]
        return shown(others[0] if len(others) == 1 else others) if others else None

    def trace(self) -> LineageFrame | None:
        crashed = self._crashed
        if not crashed.rows:
            return None
        if crashed.where is not None:
            return self.blamed.trace(crashed.plan, crashed.where)
        return self.blamed.trace(crashed.plan, crashed.record, of=self if crashed.rowwise else None)

    def names(self) -> tuple[()]:
        return ()

    @property
    def rows(self) -> Node:
        return self._crashed.plan


class OfExpression:
    """What is told of a row that an expression of Spark's threw on."""

    __slots__ = ("_row", "_thrown", "_trial", "blamed")

    locals: Mapping[str, str] = MappingProxyType({})
    raised = None
    settled = True

    def __init__(self, blamed: Blamed, trial: Trial, row: Any, thrown: Thrown) -> None:
        self.blamed = blamed
        self._trial = trial
        self._row = row
        self._thrown = thrown

    @property
    def record(self) -> Any:
        return part(self._row, 0, self._trial.first) if self._trial.first else self._row

    @property
    def met(self) -> str | None:
        return shown(part(self._row, self._trial.first)) if self._trial.first and self._trial.finding is None else None

    @property
    def exception(self) -> str:
        return self._thrown.exception

    @property
    def message(self) -> str:
        return self._thrown.message

    @property
    def line(self) -> CallSite | None:
        return self._thrown.line

    @property
    def traceback(self) -> str:
        return self._thrown.place

    def trace(self) -> LineageFrame | None:
        trial = self._trial
        return self.blamed.trace(trial.rows, self._row, of=self) if trial.finding is None else trial.finding(self._row)

    def names(self) -> tuple[()]:
        return ()

    @property
    def rows(self) -> Node:
        return self._trial.rows


def type_of(culprit: CrashCulprit) -> StructType | None:
    """What another row in the place of a culprit's has to be; None if that is not known before it is put there. Asks the JVM."""
    told = culprit.told
    names = getattr(culprit.record, "__fields__", None)
    if names is None or not isinstance(told, OfCode | OfExpression):
        return None
    fields = told.blamed.catalyst.frame(told.rows).schema.fields[: len(names)]
    return StructType(fields) if [field.name for field in fields] == [*names] else None
