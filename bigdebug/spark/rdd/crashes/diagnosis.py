"""Diagnosis: which records the functions of a failed run crash on, by running what had not finished of it under guard.

Nothing guards a run. PySpark stops at the first crash, so of the stage that failed those partitions are run once more that did not
finish, first the one that Spark names, and every crash in them is noted (DESIGN 4.3). Of the first ones, the first
crash is told as soon as it is noted, for partitions may take long.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, wait
from contextlib import nullcontext, suppress
from functools import partial
from typing import TYPE_CHECKING

from py4j.protocol import Py4JError
from pyspark.cloudpickle import dumps
from pyspark.errors import PySparkException

from bigdebug.agents.guards.diagnose import Diagnose, Diagnosed
from bigdebug.agents.guards.early import Early
from bigdebug.agents.guards.inflight import KEPT_BYTES
from bigdebug.graph import Operator, Stage
from bigdebug.spark.asking import answers, asking
from bigdebug.spark.collector import waiting
from bigdebug.spark.crashes import ended
from bigdebug.spark.failing import NOTHING, failed_stages
from bigdebug.spark.interruption import cancelling
from bigdebug.spark.jobs import beside, impatient, tagged
from bigdebug.spark.process import running
from bigdebug.spark.rdd.crashes.blamed import Blamed, iterators, not_told, told_once
from bigdebug.spark.rdd.crashes.endings import Endings
from bigdebug.spark.rdd.sent import working_for
from bigdebug.trace.culprit import CrashCulprit
from bigdebug.trace.culprits import Culprits
from bigdebug.trace.run import Run

if TYPE_CHECKING:
    from bigdebug.spark.rdd.action import Action
    from bigdebug.spark.rdd.recorder import Recorder

MOST = 10_000
"""Culprits of one partition that are kept in full."""

_LOOK = 0.05
"""Seconds between two looks at whether a first culprit is known."""

_NONE = (
    "No record crashed when what had not finished was run again under guard: what it came to may depend on time or chance, on what other tasks did, "
    "or on the kind of iterator that a function was given."
)


class CrashDiagnosis:
    """Finds the culprits of a run of which an action was made that failed, some partitions at a time."""

    def __init__(self, recorder: Recorder, run: Run, action: Action) -> None:
        self._recorder = recorder
        self._run = run
        self._blamed = Blamed(recorder, run)
        self._todo = self._unfinished(action)
        self._at_once = max(1, recorder.sc.defaultParallelism)
        self._found = False
        self._wave: Future[list[Diagnosed]] | None = None
        """What the first partitions are about to tell."""
        self._tag = ""
        """The tag of the jobs that do."""
        self._failed = action.problem is not None
        """Whether something is known to crash; suspects may be innocent."""
        self._policy = action.policy
        self._endings = Endings(recorder, run, ended(action.problem))
        # Where workers end, partitions run more than once; a speculative copy that is killed sees the end of its input, and functions may crash on that.
        once = not self._endings.expected and recorder.sc.getConf().get("spark.speculation") != "true"
        self._early: list[CrashCulprit] | None = None if once else []
        """The culprits that were told before these partitions had come to their ends; None as long as some may be."""
        self._below: list[tuple[Operator, Culprits]] = []
        """DataFrames whose rows the program reads, and that may crash themselves, with the culprits of their queries."""
        self._last: list[CrashCulprit] = []
        """What was found last: it is given again where who asked was interrupted before he had it."""

    def more(self) -> list[CrashCulprit] | None:
        """The culprits of the partitions that come next; None if there are none left."""
        if self._last and not any(known is self._last[-1] for known in reversed(self._run.culprits.known)):
            return self._last
        if self._below:
            return self._more_below()
        if not self._todo:
            if self._failed and not self._run.culprits.failed_of and not self._run.culprits.unknown:
                self._run.culprits.unknown.append(_NONE)
            return None
        stage, partitions = self._todo[0]
        try:
            seen = self._first(stage, partitions[: self._at_once]) if self._early is None else self._gone_on(stage, partitions[: self._at_once])
        except (PySparkException, Py4JError) as problem:  # what is guarded raises nothing
            self._below = [] if self._recorder.crossing is None else self._recorder.crossing.crashed_below(self._run, problem)
            if not self._below:
                raise
            return []
        if seen is None:
            return self._early or []
        with waiting():
            found = [culprit for each in seen for culprit in self._blamed.culprits(stage, each.partition, each.crashes, each.failed)]
            found = told_once(not_told(found, self._early or []), self._run.culprits.known)
        # Who is interrupted before this asks anew.
        self._last = found
        del partitions[: self._at_once]
        self._early = []  # of these partitions of this stage alone
        self._at_once *= 4
        self._found = self._found or any(each.total if each.failed is None else each.failed for each in seen)
        if not partitions:
            self._todo = self._others(stage) if self._found else self._todo[1:]
            self._found = False
        self._run.culprits.unknown += [
            f"{each.total:,} records of partition {each.partition} crashed; {len(each.crashes):,} of them are told."
            for each in seen if each.total > len(each.crashes)
        ]
        self._run.culprits.unknown += [
            f"In partition {each.partition} a function had read more than {KEPT_BYTES >> 20} MB since it gave something, when it crashed: what it had read before was not looked at."
            for each in seen if each.lost
        ] + [
            f"Partition {each.partition} gave other records when it was run again, so that on which of them its Python worker ended cannot be told."
            for each in seen if each.changed
        ] + iterators([each.crashes for each in seen])
        return found

    def _others(self, stage: Stage) -> list[tuple[Stage, list[int]]]:
        """What is left to do without what reads of a stage that has culprits: it has not run, or not on all."""
        graph = self._run.graph
        reading = [other for other, _ in self._todo[1:] if stage.ends in graph.upstream(other.reads)]
        if reading and self._certain:
            self._run.culprits.unknown.append(f"What reads of {graph[stage.ends]} was not looked at, for some of that crashed.")
        return [(other, left) for other, left in self._todo[1:] if other not in reading]

    def _first(self, stage: Stage, partitions: Sequence[int]) -> list[Diagnosed] | None:
        """What the first partitions tell; None, if a culprit is known before they have come to their ends: then they go on beside."""
        folder = self._recorder.store.root / self._run.id / "early" / stage.id
        with suppress(OSError):  # then it is told in the end
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        early = Early(str(folder))
        try:
            with tagged(self._recorder.sc) as self._tag:
                self._wave = beside(partial(self._diagnosed, stage, partitions, early))
                while not wait([self._wave], _LOOK).done:
                    told = [(partition, crashes) for partition in partitions if (crashes := early.told(partition)) is not None]
                    if told:
                        self._last = self._early = [self._blamed.early(stage, *each, self._run.culprits) for each in told]
                        return None
        except BaseException:
            self._wave = None
            raise
        seen = self._seen(stage, partitions)
        self._early = []
        return seen

    def _seen(self, stage: Stage, partitions: Sequence[int]) -> list[Diagnosed]:
        """What partitions tell, when they have come to their ends."""
        wave, self._wave = self._wave, None
        if wave is None:
            return self._diagnosed(stage, partitions)
        with cancelling(self._recorder.sc, self._tag):
            return wave.result()

    def _gone_on(self, stage: Stage, partitions: Sequence[int]) -> list[Diagnosed]:
        """The same, where a culprit of theirs may have been told already. Whoever asked for that had little time, and may have had these jobs cancelled."""
        try:
            return self._seen(stage, partitions)
        except (PySparkException, Py4JError) as problem:
            if not (self._early and impatient(problem)):
                raise
            return self._diagnosed(stage, partitions)

    def _more_below(self) -> list[CrashCulprit]:
        """Culprits of a query below. The program above has not all that it reads, so that nothing is known of it."""
        (operator, culprits), *others = self._below
        known = len(culprits.known)
        if not culprits.more():
            self._below = others
            self._todo = self._todo if others else []
            self._run.culprits.unknown += [*culprits.unknown, f"What is above {operator} was not looked at: it reads rows that cannot all be computed."]
        return culprits.known[known:]

    def _unfinished(self, action: Action) -> list[tuple[Stage, list[int]]]:
        """The stages that may have failed, with the partitions that did not finish: those first that Spark names."""
        stages = [stage for stage in self._run.graph.stages if not stage.adopted or not action.ran]
        compiler = self._recorder.compiler
        rdd_of = compiler.rdd_id if action.ran else compiler.plain_id
        known = {stage.id: rdd_of(stage.id) for stage in stages}
        failed = next((f for f in failed_stages(self._recorder.sc, action.began) if f.rdds.intersection(known.values())), NOTHING)
        # What Spark runs as a part of another stage has no RDD of its own there.
        self._certain = bool(failed.rdds)
        certain = [stage for stage in stages if known[stage.id] in failed.rdds or known[stage.id] is None] if failed.rdds else []
        found = []
        for stage in certain or stages:
            wanted = action.asked.get(stage.id, range(self._run.graph[stage.ends].partitions))
            # Where a policy went on from crashes, what has finished without having told of them has to be looked at.
            done = {*self._run.computed.get(stage.id, ()), *(failed.finished if len(certain) == 1 and action.policy is None else ())}
            found.append((stage, sorted(set(wanted) - done, key=lambda p: (p != failed.first, p))))
        return [(stage, left) for stage, left in found if left]

    def _diagnosed(self, stage: Stage, partitions: Sequence[int], early: Early | None = None) -> list[Diagnosed]:
        again = self._recorder.compiler.again(stage.id)
        diagnose = Diagnose(again.function, self._run.id, MOST, dumps, str(self._recorder.store.root), early=early, policy=self._policy)
        sc = running(self._recorder.sc)
        # What is below is computed as in the run: else it would crash on what that had gone on from.
        governed = nullcontext() if self._policy is None else self._recorder.policies[self._run.id].jobs(sc)
        with self._recorder.plain(), asking(sc, "finding what crashed", self._recorder.progress), working_for(sc, self._run.id), governed:
            found = self._endings.told(lambda function, asked: answers(sc, again.base, function, asked), diagnose, partitions)
        self._run.culprits.unknown += self._recorder.runs.keep_guarded(self._run, stage.id, found)
        return found
