"""Diagnosis of DataFrames: on which rows the expressions of a query that failed throw.

``IsNull(TryEval(IsNull(e)))`` holds exactly where ``e`` throws, so a pass over the rows of an operator finds all of its culprits
(DESIGN 4.3). The plan is the one that Spark optimized: what it pruned or filtered out before did not crash.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from bigdebug.spark.bars import counted
from bigdebug.spark.cancelled import is_cancelled
from bigdebug.spark.crashes import ended
from bigdebug.spark.interruption import planning
from bigdebug.spark.sql.crashes.blamed import At, Blamed, Input, Looking
from bigdebug.spark.sql.crashes.failedquery import FailedQuery
from bigdebug.spark.sql.crashes.glance import Glance
from bigdebug.spark.sql.crashes.grouped import of_values
from bigdebug.spark.sql.crashes.looking import Look, placed
from bigdebug.spark.sql.crashes.placing import check_places
from bigdebug.spark.sql.crashes.scalars import with_values
from bigdebug.spark.sql.crashes.scout import AloneError
from bigdebug.spark.sql.crashes.scouting import Scouting
from bigdebug.spark.sql.crashes.stopping import doubts, sharing
from bigdebug.spark.sql.crashes.telling import Telling
from bigdebug.spark.sql.crashes.unfinished import Failure
from bigdebug.spark.sql.crashes.unlooked import unlikely, unlooked
from bigdebug.spark.sql.crashes.waves import PartitionWaves, Waves, every
from bigdebug.spark.sql.failures import brief
from bigdebug.spark.sql.fitting import fitting
from bigdebug.spark.sql.frame_runs import FrameRuns
from bigdebug.spark.sql.plans.expressions import Node
from bigdebug.spark.sql.plans.guarding import Guarding
from bigdebug.spark.sql.runs import FrameRun
from bigdebug.trace.culprit import CrashCulprit
from bigdebug.trace.culprits import Culprits

_NONE = "No row crashed by itself when the query was run again, an operator after the other."


class FrameDiagnosis:
    """Finds the culprits of a run of a DataFrame, an operator at a time; with ``besides``, more rows in the inputs of some."""

    def __init__(
        self, frames: FrameRuns, run: FrameRun, failure: Failure, culprits: Culprits | None = None, besides: Mapping[Input, Sequence[Any]] | None = None,
    ) -> None:
        self._frames = frames
        self._run = run
        self._culprits = run.culprits if culprits is None else culprits
        self._said = len(self._culprits.unknown)
        """How much was not known before anything was looked at."""
        self._besides = besides or {}
        self._query = FailedQuery(frames.spark, run, failure, self._culprits.unknown, bool(besides))
        self._clean: list[Node | None] = []
        """Nodes without the rows that something throws on, the sources first; None for those that were not looked at."""
        self._looking: Looking | None = None
        self._telling = Telling(self._culprits)
        self._last: list[CrashCulprit] = []
        """What was found last: it is given again where who asked was interrupted before he had it."""
        self._glance: Glance | None = None
        self._glances = culprits is None and not besides
        """Whether a glance is to come yet."""
        self._glanced: list[CrashCulprit] = []
        """What was told at a glance."""
        self._partly = self._everywhere = False
        """Whether what had finished was left out, and whether nothing is to be."""
        self._how = Guarding()
        self._doubts: list[str] = []
        """What is not certain of what was found."""
        self._looks = 0
        """How often all was looked at: what functions give comes second, whether Spark can read that third, for both take longer."""

    @cached_property
    def _blamed(self) -> Blamed:
        return Blamed(self._frames, self._run, self._query.catalyst, self._culprits, self._query.sizes, self._query.finished.original)

    @cached_property
    def _look(self) -> Look:
        return Look(self._frames, self._blamed, self._query.sizes, self._query.asked, self._culprits.unknown)

    @cached_property
    def _scouting(self) -> Scouting:
        return Scouting(self._query.catalyst, self._query.steps, self._query.finished, self._query.sizes)

    @property
    def _may_glance(self) -> bool:
        """Whether a first culprit is worth a job of its own: to start a worker for Python functions takes half a second, which matters less to whom a single one is enough.

        What may give something else, or have effects, when it is called again, is not called for this.
        """
        if self._culprits.known or self._looks or self._everywhere or self._query.stops or self._query.asking.numbered:
            return False
        return (self._culprits.one_will_do or (self._query.unfinished.brief and not self._query.calls)) and all(step.node.deterministic() for step in self._query.steps)

    @property
    def truncated(self) -> bool:
        """Whether more rows crash in an operator than are told."""
        return bool(self._blamed.untold)

    @planning()
    def more(self) -> list[CrashCulprit] | None:
        """Some more culprits, of one operator after the other; None if there are none left.

        Where it was interrupted, the operator is looked at anew, and what was told of it is not told again.
        """
        if self._last and not any(known is self._last[-1] for known in reversed(self._culprits.known)):
            return self._told()
        if self._glance is not None and (self._glance.told or len(self._clean) >= self._glance.end > self._glance.begin):
            self._end_glance(self._glance)
        if self._looking is None and len(self._clean) == len(self._query.steps):
            return self._once_more()
        if self._looking is None:
            self._looking = self._step(self._at())
        try:
            with counted(self._frames.spark.sparkContext, "finding what crashed"):
                found = next(self._looking)
            self._last = found
        except StopIteration as end:
            self._looking, self._partly = None, self._partly or not (self._waves.whole or self._glance)
            self._clean.append(end.value)
            self._telling = Telling(self._culprits, self._glanced)
            return []
        except AloneError:
            self._looking = None
            self._telling.begin()
            self._scouting.leave(len(self._clean))
            return []
        except BaseException as trouble:
            self._looking = None
            self._telling.begin()
            self._scouting.interrupted(len(self._clean))
            if self._glance is not None:
                self._end_glance(self._glance)
                self._glances = True
            if isinstance(trouble, PySparkException | Py4JError) and ended(trouble) and not self._how.confined:
                self._how = self._how._replace(confined=True)
                return []
            raise
        return self._told()

    def _told(self) -> list[CrashCulprit]:
        """What was found last."""
        if self._glance is not None and self._glance.asked:
            self._glance.told = self._last
        return self._last

    def _end_glance(self, glance: Glance) -> None:
        """From here on all rows are looked at; where the glance had one, from the step on at which it began."""
        self._glance = None
        if not glance.asked:
            self._glances = True
            return
        self._glanced = glance.told
        self._looking = None
        del self._clean[glance.begin :], self._culprits.unknown[glance.said :]
        self._telling = Telling(self._culprits, self._glanced)
        self._scouting.again()

    def _at(self) -> At:
        """The node that comes next."""
        number, step = len(self._clean), self._query.steps[len(self._clean)]
        below = self._clean[step.inputs[0]] if len(step.inputs) == 1 else None
        if self._glances and self._may_glance and self._query.unfinished.known:
            self._glance, self._glances = Glance(self._query.asking, self._query.unfinished.of, number, len(self._culprits.unknown)), False
        scouted = below is not None and not self._besides and not self._query.asking.numbered and not self._looks and self._how == Guarding()
        self._waves = self._scouting.waves(number, below, self._asked_of) if scouted else self._asked_of([step.node])
        if self._glance is not None and self._glance.begin == number:
            self._glance.end = max(number + 1, self._scouting.end)
        return At(number, step.written, self._waves, self._telling)

    def _asked_of(self, nodes: Sequence[Node]) -> Waves:
        """Asks for the rows of plans of nodes, in the partitions of which these were not all computed."""
        pruned = not self._everywhere and not self._query.stops and all(map(self._query.unfinished.runs_there, nodes))
        return self._glance if pruned and self._glance is not None else PartitionWaves(self._query.asking, self._query.unfinished.of if pruned else every)

    def _step(self, at: At) -> Looking:
        """What is found at a node, as it is; gives the node without that, None where not all of it is known."""
        step = self._query.steps[at.step]
        below = [self._fed(Input(at.step, number), self._clean[i]) for number, i in enumerate(step.inputs)]
        if None in below:
            return None
        try:
            asked = with_values(self._query.catalyst, step.node, (self._clean[i] for i in step.asked)) if step.asked else step.node
            if at.step in self._query.finished and not self._everywhere:
                _, made = placed(self._query.catalyst, asked or step.node, below)
                if self._has_ended(at.step, made):
                    self._partly = True
                    return self._query.finished.rows(at.step, made)
            if asked is None:
                self._culprits.unknown.append(f"{self._blamed.operator(step.written)} asks a subquery whose one value is not known, so its own rows were not looked at.")
                return None
            return (yield from self._look.of(at, asked, below, self._how, reads=self._looks == 2))
        except (PySparkException, Py4JError) as trouble:
            if is_cancelled(trouble) or (ended(trouble) and not self._how.confined):
                raise
            self._culprits.unknown.append(f"The rows of {self._blamed.operator(step.written)} could not be computed again: {brief(trouble)}")
            return None

    @property
    def frame(self) -> Any:
        """The query without the rows that crash, once all of them are known; None if something of it could not be looked at."""
        if not self._clean or len(self._clean) != len(self._query.steps):
            return None
        counted = self._query.counts and self._query.steps[-1].node.nodeName() == "Aggregate"
        root = self._clean[self._query.steps[-1].inputs[0] if counted else -1]
        return None if root is None else self._frames.apart(self._query.catalyst.frame(self._query.finished.original(root)))

    def check_places(self, where: Iterable[Input]) -> None:
        """Raises ReplayError where it matters that other rows come behind all others of these inputs."""
        check_places(self._query.catalyst, self._run.action, self._query.steps, where)

    def _fed(self, where: Input, node: Node | None) -> Node | None:
        rows = self._besides.get(where)
        if node is None or not rows:
            return node
        schema = self._query.catalyst.frame(node).schema
        return self._query.catalyst.union([node, self._query.catalyst.plan(self._query.catalyst.spark.createDataFrame([fitting(row, schema) for row in rows], schema))])

    def _once_more(self) -> list[CrashCulprit] | None:
        """Where nothing crashed, what had finished is looked at, too; then what functions give, which may not fit their types, or be nothing that Spark can read."""
        culprits = self._culprits
        if culprits.known:
            self._doubts = [*doubts(self._query.catalyst, self._query.steps, self._query.stops, culprits.known)]
            culprits.unknown += [*self._doubts, *sharing(self._query.catalyst, self._query.steps), *self._unlooked]
        if self._partly and not culprits.known:
            del culprits.unknown[self._said:]
            self._partly, self._everywhere, self._clean = False, True, []
            self._scouting.again()
            return []
        if culprits.known or culprits.unknown:
            return None
        if self._looks == 2 or not self._query.calls:
            culprits.unknown += [*self._unlooked, *self._unlikely] or [_NONE]
            culprits.unknown += sharing(self._query.catalyst, self._query.steps)
            return None
        self._looks, self._how, self._clean = self._looks + 1, self._how._replace(strict=True), []
        return []

    @property
    def _unlooked(self) -> list[str]:
        return [*unlooked(self._query.catalyst, self._query.steps, self._blamed.operator)]

    @property
    def _unlikely(self) -> list[str]:
        return [*unlikely(self._query.catalyst, self._query.steps, self._blamed.operator, self._run.action)]

    @property
    def elsewhere(self) -> list[str]:
        """What else may be why the query fails, if it does without what was found. What is doubtful of that is no reason: it says that fewer rows crashed, not more."""
        return [*(said for said in self._culprits.unknown if said not in self._doubts and said not in self._blamed.untold), *self._unlikely]

    def _has_ended(self, step: int, made: Node) -> bool:
        """Whether nothing was thrown by a node that stages had computed, or begun: what ends it may throw."""
        return not self._query.finished.begun(step) or of_values(self._query.catalyst, made, partial(self._query.sizes.small, step)) is None or self._query.finished.ends(step, made)
