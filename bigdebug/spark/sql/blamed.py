"""Blamed: the rows that an operator of a query throws on, or that its Python code crashes on, as the culprits of a run."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from bigdebug.agents.guards.crash import Raised
from bigdebug.graph import CallSite, Operator
from bigdebug.shown import shown
from bigdebug.spark.collector import waiting
from bigdebug.spark.raised import OfFunction
from bigdebug.spark.sql.actions import unheard
from bigdebug.spark.sql.behind import Behind
from bigdebug.spark.sql.catalyst import Catalyst
from bigdebug.spark.sql.crashing import MOST, Crashed, functions_of
from bigdebug.spark.sql.expressions import Node
from bigdebug.spark.sql.lineage_frame import LineageFrame, lineage_of
from bigdebug.spark.sql.named import part
from bigdebug.spark.sql.reading import name_of
from bigdebug.spark.sql.runs import FrameRun
from bigdebug.spark.sql.sizes import Sizes, throwing_or_large
from bigdebug.spark.sql.thrown import UNREPEATED, Exceptions, Thrown
from bigdebug.spark.sql.trials import Trial, culpable
from bigdebug.trace.culprits import CrashCulprit, Culprits

if TYPE_CHECKING:
    from bigdebug.spark.sql.recorder import FrameRecorder

T = TypeVar("T")


class Input(NamedTuple):
    """One of the inputs of a node, by their numbers; of a reader, its lines."""

    step: int
    number: int
    whole: bool = True
    """Whether culprits in it are told as another row in their place would have to be: with all columns, and not as a line."""


class Blamed:
    """Makes the culprits of one run, in plans of ``catalyst``. ``step`` is the number of the node in its plan."""

    def __init__(self, recorder: FrameRecorder, run: FrameRun, catalyst: Catalyst, culprits: Culprits, sizes: Sizes) -> None:
        self._recorder = recorder
        self._run = run
        self.catalyst = catalyst
        self._culprits = culprits
        self._sizes = sizes
        self.truncated = False
        """Whether more rows crash in an operator than are told."""

    @cached_property
    def _exceptions(self) -> Exceptions:
        return Exceptions(self.catalyst)

    def throwing(self, step: int, node: Node, trial: Trial) -> list[CrashCulprit]:
        """The culprits of a trial."""
        c = self.catalyst
        held, thrown = self._thrown(trial)
        if not thrown:
            return []
        operator = self.operator(node)
        place = None if trial.input is None else Input(step, trial.input, trial.finding is None)
        with waiting():
            rows = unheard(c.frame(c.local(trial.rows, held)), "collect")
            behind = Behind(lambda: self._recorder.aside(c.frame(culpable(c, trial)), apart=True)) if trial.finding is None and len(rows) > 1 else None
            accounts = [_OfExpression(self, trial, row, what) for row, what in self._bounded(operator, list(zip(rows, thrown)))]
            return [CrashCulprit(account, operator, None, place, behind=behind) for account in accounts]

    def _thrown(self, trial: Trial) -> tuple[Any, list[Thrown]]:
        """The culpable rows of a trial, as the JVM has them, and what throws on each. Another pass finds them if there are numbers that are not small."""
        c = self.catalyst
        bound = [c.bound(expression, trial.rows) for expression in trial.expressions]
        if trial.sized:
            held = c.held(c.frame(trial.rows).filter(throwing_or_large(c, trial.expressions, trial.sized)).limit(MOST + 1))
            thrown = self._exceptions.thrown(bound, held)
            if UNREPEATED not in thrown:
                if len(thrown) <= MOST:
                    self._sizes.saw(trial.sized)
                return held, thrown
        held = c.held(c.frame(culpable(c, trial)).limit(MOST + 1))
        return held, self._exceptions.thrown(bound, held)

    def _bounded(self, operator: Operator, found: list[T]) -> list[T]:
        """As many as are told of an operator."""
        if len(found) > MOST:
            self.truncated = True
            self._culprits.unknown.append(f"More than {MOST:,} rows crash in {operator}: the others are not told.")
        return found[:MOST]

    def crashed(self, step: int, node: Node, crashed: list[Crashed]) -> list[CrashCulprit]:
        """The culprits of Python code."""
        if not crashed:
            return []
        operator = self.operator(node)
        with waiting():
            return [
                CrashCulprit(_OfCode(self, each), operator, None, Input(step, each.side, each.whole) if each.rowwise else None)
                for each in self._bounded(operator, crashed)
            ]

    def trace(self, rows: Node, row: Any) -> LineageFrame | None:
        """The trace over what a row was made of; None if that is no record of a source (SELECT 1/0)."""
        run = self._recorder.aside(self.catalyst.frame(rows), apart=True)
        if not run.questions.leaves:
            return None
        return lineage_of(run).where(row).goBackAll()

    def operator(self, node: Node) -> Operator:
        """The operator of the run that a node of the optimized plan is most of: the one that calls its functions, if any."""
        called = [function.func() for function in functions_of(self.catalyst, node)]
        for operator in self._run.questions.root if called else ():
            if any(function.func() in called for function in functions_of(self.catalyst, operator.node)):
                return self._run.graph[operator.id]
        wanted = {a.exprId().id() for a in self.catalyst.items(node.output())}
        alike = [o for o in self._run.questions.root if o.name == name_of(node)] or [self._run.questions.root]

        def shared(operator: Any) -> int:
            return len(wanted & {a.exprId().id() for a in self.catalyst.items(operator.node.output())})

        return self._run.graph[max(alike, key=shared).id]


class _OfCode(OfFunction):
    """What is told of rows that Python code crashed on."""

    __slots__ = ("_blamed", "_crashed")

    def __init__(self, blamed: Blamed, crashed: Crashed) -> None:
        self._blamed = blamed
        self._crashed = crashed

    @property
    def raised(self) -> Raised:
        return self._crashed.told.raised

    @property
    def record(self) -> Any:
        return self._crashed.rows[-1] if self._crashed.rows else None

    @property
    def met(self) -> str | None:
        others = self._crashed.rows[:-1]
        return shown(others[0] if len(others) == 1 else others) if others else None

    def trace(self) -> LineageFrame | None:
        return self._blamed.trace(self._crashed.plan, self._crashed.where) if self._crashed.rows else None

    def names(self) -> tuple[()]:
        return ()


class _OfExpression:
    """What is told of a row that an expression of Spark's threw on."""

    __slots__ = ("_blamed", "_row", "_thrown", "_trial")

    locals: Mapping[str, str] = MappingProxyType({})
    raised = None

    def __init__(self, blamed: Blamed, trial: Trial, row: Any, thrown: Thrown) -> None:
        self._blamed = blamed
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
        return self._blamed.trace(trial.rows, self._row) if trial.finding is None else trial.finding(self._row)

    def names(self) -> tuple[()]:
        return ()
