"""Blamed: the rows that an operator of a query throws on, or that its Python code crashes on, as the culprits of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterator
from functools import cached_property
from typing import Any, NamedTuple

from bigdebug.graph import Operator
from bigdebug.spark.collector import waiting
from bigdebug.spark.process import answering
from bigdebug.spark.sql.actions import unheard
from bigdebug.spark.sql.crashes.accounts import OfCode, OfExpression
from bigdebug.spark.sql.crashes.behind import Behind
from bigdebug.spark.sql.crashes.crashed import Crashed
from bigdebug.spark.sql.crashes.sizes import Sizes
from bigdebug.spark.sql.crashes.telling import Key, Telling, key_of
from bigdebug.spark.sql.crashes.thrown import UNREPEATED, Exceptions, Thrown
from bigdebug.spark.sql.crashes.trials import Trial, culpable, throwing_or_large
from bigdebug.spark.sql.crashes.unoptimized import unoptimized
from bigdebug.spark.sql.crashes.walk import through
from bigdebug.spark.sql.crashes.waves import MOST, Waves
from bigdebug.spark.sql.frame_runs import FrameRuns
from bigdebug.spark.sql.lineage_frame import LineageFrame, lineage_of
from bigdebug.spark.sql.plans.calls import functions_of
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.expressions import Node
from bigdebug.spark.sql.plans.reading import name_of
from bigdebug.spark.sql.runs import FrameRun
from bigdebug.trace.culprit import CrashCulprit
from bigdebug.trace.culprits import Culprits

_ONE_OF_ONE = ("Project", "Filter", "Sort", "Repartition", "RepartitionByExpression")
"""Nodes of which each row is made of one row, and no two of the same."""


class Input(NamedTuple):
    """One of the inputs of a node, by their numbers; of a reader, its lines."""

    step: int
    number: int
    whole: bool = True
    """Whether culprits in it are told as another row in their place would have to be: with all columns, and not as a line."""


class At(NamedTuple):
    """A node that is looked at: its number in the plan, itself or what it is a part of in Spark's plan, and how its rows are asked for."""

    step: int
    node: Node
    waves: Waves
    telling: Telling


Looking = Generator[list[CrashCulprit], None, Node | None]
"""Gives culprits of a node as they are found, and in the end the node without them, if that can be told."""


class Blamed:
    """Makes the culprits of one run, in plans of ``catalyst``; ``original`` gives those over the sources."""

    def __init__(
        self, frames: FrameRuns, run: FrameRun, catalyst: Catalyst, culprits: Culprits, sizes: Sizes, original: Callable[[Node], Node],
    ) -> None:
        self._frames = frames
        self._run = run
        self.catalyst = catalyst
        self._culprits = culprits
        self._sizes = sizes
        self._original = original
        self._behind: dict[tuple[int, int | None, int], Behind] = {}
        """What is behind the culprits of each trial, however often it is made."""
        self._equal: Counter[Key] = Counter()
        self._numbers: dict[int, int] = {}
        """Of what is told of each known culprit, its number among those that are equal."""
        self.untold: list[str] = []
        """Of which operators more rows crash than are told, in sentences."""

    @cached_property
    def _exceptions(self) -> Exceptions:
        return Exceptions(self.catalyst)

    def throwing(self, at: At, trial: Trial) -> Iterator[list[CrashCulprit]]:
        """The culprits of a trial, as they are found."""
        c = self.catalyst
        behind = None if trial.finding is not None else self._behind.setdefault(
            (at.step, trial.input, trial.first), Behind(lambda: self._frames.aside(c.frame(self._sourced(culpable(c, trial))), apart=True)),
        )
        if trial.sized and all(each.deterministic() for each in trial.expressions):
            rows = 0
            for held in at.waves.held(c.plan(c.frame(trial.rows).filter(throwing_or_large(c, trial)))):
                thrown = self._exceptions.thrown(trial.expressions, trial.rows, held)
                if UNREPEATED in thrown:  # some of these numbers may only be large: another pass finds what throws
                    break
                rows += len(thrown)
                yield self._thrown(at, trial, held, thrown, behind)
            else:
                if rows <= MOST and at.waves.whole:
                    self._sizes.saw(at.step, trial.sized)
                return
            at.telling.anew()
        for held in at.waves.held(culpable(c, trial)):
            yield self._thrown(at, trial, held, self._exceptions.thrown(trial.expressions, trial.rows, held), behind)

    def _thrown(self, at: At, trial: Trial, held: Any, thrown: list[Thrown], behind: Behind | None) -> list[CrashCulprit]:
        """The culprits among some rows, as the JVM has them, with what throws on each."""
        if not thrown:
            return []
        c = self.catalyst
        operator = self.operator(at.node)
        place = None if trial.input is None else Input(at.step, trial.input, trial.finding is None)
        with waiting():
            rows = unheard(c.frame(c.local(trial.rows, held)), "collect")
            behind = behind if len(rows) > 1 or at.telling.told else None
            return self._fresh(at, operator, [
                CrashCulprit(OfExpression(self, trial, row, what), operator, None, place, behind=behind)
                for row, what in zip(rows, thrown)
            ])

    def crashed(self, at: At, crashed: list[Crashed]) -> list[CrashCulprit]:
        """The culprits of Python code."""
        if not crashed:
            return []
        operator = self.operator(at.node)
        with waiting():
            return self._fresh(at, operator, [
                CrashCulprit(OfCode(self, each), operator, None, Input(at.step, each.side, each.whole) if each.rowwise else None)
                for each in crashed[: MOST + 1]
            ])

    def _fresh(self, at: At, operator: Operator, found: list[CrashCulprit]) -> list[CrashCulprit]:
        """Those that were not told yet, as many as are told of an operator."""
        fresh, more = at.telling.fresh(found, MOST)
        why = f"More than {MOST:,} rows crash in {operator}: the others are not told."
        if more and why not in self._culprits.unknown:
            self.untold.append(why)
            self._culprits.unknown.append(why)
        return fresh

    def trace(self, rows: Node, row: Any, of: object = None) -> LineageFrame | None:
        """The trace over what a row was made of; None if that is no record of a source (SELECT 1/0).

        Of equal rows, each of which was made of a single record, each has one of these: ``of`` is what is told of the culprit.
        """
        answering(self._frames.spark.sparkContext)
        rows = self._sourced(rows)
        run = self._frames.aside(self.catalyst.frame(rows), apart=True)
        if not run.questions.leaves:
            return None
        found = lineage_of(run).where(row).goBackAll()
        if of is None or len(run.questions.leaves) > 1 or self.catalyst.children(through(self.catalyst, rows, _ONE_OF_ONE)):
            return found
        if len(rids := found.rids()) < 2:
            return found
        number = self._among_equal(of)
        return found.at([rids[number]]) if number < len(rids) else found

    def _sourced(self, plan: Node) -> Node:
        """A plan over the sources, as a trace goes through it."""
        return unoptimized(self.catalyst, self._original(plan))

    def _among_equal(self, told: object) -> int:
        """How many culprits were told of before this one that nothing tells from it. All of them crash, so each is as good as the others."""
        culprits = self._culprits.known
        for culprit in culprits[len(self._numbers) :]:
            self._numbers[id(culprit.told)] = self._equal[key := key_of(culprit)]
            self._equal[key] += 1
        return self._numbers.get(id(told), 0)

    def operator(self, node: Node) -> Operator:
        """The operator of the run that a node of the optimized plan is most of: the one that calls its functions, if any.

        What only observes rows is no operator of a run: it is what gives them.
        """
        node = through(self.catalyst, node, ("CollectMetrics",))
        called = [function.func() for function in functions_of(self.catalyst, node)]
        for operator in self._run.questions.root if called else ():
            if any(function.func() in called for function in functions_of(self.catalyst, operator.node)):
                return self._run.graph[operator.id]
        alike = [o for o in self._run.questions.root if o.name == name_of(node)] or [self._run.questions.root]
        if len(alike) == 1:
            return self._run.graph[alike[0].id]
        wanted = {a.exprId().id() for a in self.catalyst.items(node.output())}

        def shared(operator: Any) -> int:
            return len(wanted & {a.exprId().id() for a in self.catalyst.items(operator.node.output())})

        return self._run.graph[max(alike, key=shared).id]
