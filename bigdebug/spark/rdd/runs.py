"""Runs: what becomes of captured actions, and which task of which run computed a partition last."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from bigdebug.agents.guards.diagnose import Diagnosed
from bigdebug.agents.stage import ADDING, Report, ReportList
from bigdebug.errors import NotCapturedError, StoreError
from bigdebug.graph import Operator, OperatorGraph
from bigdebug.spark.rdd.action import Action
from bigdebug.spark.rdd.compiler import Compiled
from bigdebug.spark.rdd.definition import definitions, resolved
from bigdebug.spark.rdd.recipe import Recipe
from bigdebug.spark.rdd.summary import summary
from bigdebug.store.directory import LineageStore
from bigdebug.trace.origins import SourceFacts, settled
from bigdebug.trace.run import Run

if TYPE_CHECKING:
    from pyspark import SparkContext

    from bigdebug.spark.rdd.recorded import Recorded as Captured


class LatestTask(NamedTuple):
    """The last task that computed a partition of a stage: its run, and the digest of what it gave."""

    run: str
    digest: int


class Kept(NamedTuple):
    """What a run needs for questions to be answered: what its jobs computed, and how its stages were compiled."""

    run: Run
    targets: list[Captured]
    recipes: tuple[Recipe, ...]


class Runs:
    """The runs of one session, oldest first. Thread-safe."""

    def __init__(self, sc: SparkContext, store: LineageStore) -> None:
        self.reports: Any = sc.accumulator([], ReportList())  # type: ignore[arg-type]
        self._store = store
        self._kept: dict[str, Kept] = {}
        self._tasks: dict[str, dict[int, LatestTask]] = {}
        self._sources: dict[str, Mapping[int, SourceFacts]] = {}
        self._stored: set[str] = set()
        self._running: dict[int, str] = {}
        """What each thread has begun last. Who is interrupted may not come to say that it has ended."""
        self._crashes: dict[str, list[Report]] = {}
        self._watched: dict[str, list[Report]] = {}
        self._counts: dict[str, int] = {}
        self.unsettled: set[str] = set()
        """Stages of which an action has failed before all of their tasks had told. What these have cached since is read by others, and nobody knows what it was made of."""
        self._alone = threading.RLock()

    def __iter__(self) -> Iterator[Run]:
        return iter([kept.run for kept in self._kept.values()])

    def __len__(self) -> int:
        return len(self._kept)

    def __contains__(self, run: Run) -> bool:
        return run.id in self._kept and self._kept[run.id].run is run

    def targets(self, run: Run) -> list[Captured]:
        """The RDDs that the jobs of a run computed."""
        return self._kept[run.id].targets

    def begin(self, run: str) -> None:
        """From here on tasks may write as ``run``. What they wrote goes with the next run that is forgotten, where none is made of the action."""
        with self._alone:
            self._running[threading.get_ident()] = run
            self._stored.add(run)

    def add(self, action: Action, status: str) -> Run:
        """Make a run of an action whose jobs have ended."""
        with self._alone:
            self._stored.add(action.run)
            self._running = {thread: run for thread, run in self._running.items() if run != action.run}
            targets = action.targets or [action.subject]
            reports = self.reports_of(action.run)
            # Who is interrupted, or fails, has made no run: then nobody knows of these tasks, and what they gave is derived.
            tasks = self._told_by(action.run, reports)
            run = self._made(action, status, targets, reports, {**self._tasks, **tasks})
            self._counts[run.id] = len(reports)
            self._crashes[run.id] = [report for report in reports if report.crashes]
            self._watched[run.id] = [report for report in reports if report.watched is not None]
            self._sources[run.id] = run.sources
            self._kept[run.id] = Kept(run, targets, tuple(action.recipes.values()))
            self._tasks.update(tasks)
        for target in targets:
            if "internal" in target._definition.operator.detail:
                target._compiled = Compiled()  # only this action could run it
        action.capture.note(run)
        return run

    def forget(self, *runs: Run, compiled: Callable[[str], bool]) -> None:
        """Let go of runs, of the lineage that no other run needs, and of what is known of stages that nobody has ``compiled`` any more."""
        with self._alone:
            for run in runs:
                for known in (self._kept, self._counts, self._crashes, self._watched):
                    known.pop(run.id, None)
            needed = {known for kept in self._kept.values() for known in (kept.run.id, *kept.run.earlier)}
            needed |= {run for thread, run in self._running.items() if thread != threading.get_ident()}  # this thread has nothing that runs: it is here
            # What its tasks gave, shuffled or cached, is read again, while its RDD is there: then a new run asks what they had read.
            self._tasks = {stage: tasks for stage, tasks in self._tasks.items() if compiled(stage)}
            self.unsettled = {*filter(compiled, self.unsettled)}
            read = {task.run for known in self._tasks.values() for task in known.values()}
            self._sources = {known: sources for known, sources in self._sources.items() if known in self._kept or known in read}
            gone = self._stored - needed
            self._stored -= gone
        with ADDING:  # what tasks told late, of stages that ran once more, nobody takes any more
            reports: list[Report] = self.reports.value
            reports[:] = [r for r in reports if r.run not in gone and not self._store.is_removed(r.run)]
        self._store.remove(*gone)  # which may wait for a server that does not answer; jobs that end meanwhile do not

    def sweep(self) -> None:
        """Remove what is still there of runs that were let go of: what could not be removed then, and what questions derived that were not done yet."""
        self._store.sweep()

    def reports_of(self, run: str) -> list[Report]:
        """Take what the tasks of ``run`` have reported: of each partition the first attempt that has no error."""
        with ADDING:
            reports: list[Report] = self.reports.value
            mine = [r for r in reports if r.run == run]
            reports[:] = [r for r in reports if r.run != run]
        self._store.count(run, [(r.stage, r.partition, r.attempt) for r in mine if r.error is None])
        mine = list(self._written(mine))
        latest: dict[tuple[str, int], Report] = {}
        for report in mine:
            known = latest.get((report.stage, report.partition))
            if known is None or known.error:
                latest[report.stage, report.partition] = report
        return list(latest.values())

    def _written(self, reports: Iterable[Report]) -> Iterator[Report]:
        """Write the blocks of tasks that could not do so into the store; their reports, or such that say why there are none."""
        error: str | None = None
        for report in reports:
            if report.block and error is None:  # of a store that is gone nobody waits twice
                error = self._unkept(report.run, report.stage, report.partition, report.attempt, report.block)
            yield replace(report, block=b"", error=error) if report.block else report

    def _unkept(self, *block: Any) -> str | None:
        """Write a block into the store; why that could not be done."""
        try:
            self._store.keep(*block)
        except (StoreError, NotCapturedError) as problem:
            return f"{type(problem).__name__}: {problem}"
        return None

    def hear(self, run: Run) -> None:
        """Take what tasks of ``run`` have reported since it was made: stages that a question needed and that had not run."""
        reports = self.reports_of(run.id)
        with self._alone:
            for report in reports:
                if report.error is None and report.partition not in self._tasks.get(report.stage, {}):
                    self._tasks.setdefault(report.stage, {})[report.partition] = LatestTask(run.id, report.digest)
        self._store.forget(run.id)

    def keep_guarded(self, run: Run, stage: str, seen: Sequence[Diagnosed]) -> list[str]:
        """Have the blocks of partitions count that were looked at under guard; why some are not there."""
        trouble = []
        for each in seen:
            why: str | None = each.unwritten
            if each.block:
                why = self._unkept(run.id, stage, each.partition, each.attempt, each.block)
            if why:
                trouble.append(f"Where the culprits of partition {each.partition} came from cannot be told, for its lineage could not be written: {why}")
        self._store.count(run.id, [(stage, each.partition, each.attempt) for each in seen if each.total])
        self.hear(run)
        return trouble

    def crashes_of(self, run: Run) -> list[Report]:
        """The reports of tasks of a run that went on from crashes, in the order of their stages and partitions; told once."""
        order = [stage.id for stage in run.graph.stages]
        return sorted(self._crashes.pop(run.id, []), key=lambda report: (order.index(report.stage), report.partition))

    def watched_of(self, run: Run) -> list[Report]:
        """The reports of tasks of a run that were watched; told once."""
        return self._watched.pop(run.id, [])

    def let_go(self, stages: Collection[str]) -> None:
        """Nothing is there any more of what tasks of these stages gave; runs that were made keep their lineage."""
        with self._alone:
            for stage in stages:
                self._tasks.pop(stage, None)

    def held(self, stages: Iterable[str]) -> dict[str, frozenset[int]]:
        """The partitions of these stages that tasks computed, and of which Spark was not told to let go."""
        with self._alone:
            return {stage: frozenset(self._tasks.get(stage, ())) for stage in stages}

    def computed_by(self, run: Run) -> int:
        """How many partitions of stages the tasks of a run itself computed."""
        return self._counts[run.id]

    def _told_by(self, run: str, reports: Iterable[Report]) -> dict[str, dict[int, LatestTask]]:
        """Of the stages that tasks of ``run`` tell of, which task computed each partition last."""
        found: dict[str, dict[int, LatestTask]] = {}
        for report in reports:
            found.setdefault(report.stage, {**self._tasks.get(report.stage, {})})[report.partition] = LatestTask(run, report.digest)
        return found

    def _made(self, action: Action, status: str, targets: list[Captured], reports: Sequence[Report], known: Mapping[str, Mapping[int, LatestTask]]) -> Run:
        subject = action.subject._definition.operator.id
        self._store.forget(action.run)
        tasks = {stage: dict(sorted(known[stage].items())) for stage in action.recipes if stage in known}
        graph = graph_of(targets, [
            replace(recipe.stage, adopted=stage not in action.runs and stage not in tasks)
            for stage, recipe in action.recipes.items()
        ])
        earlier = {task.run for each in tasks.values() for task in each.values()} - {action.run}
        trouble = list(action.trouble)
        trouble += [f"stage {r.stage}, partition {r.partition}: {r.error}" for r in reports if r.error]
        if trouble and status == "succeeded":
            status = "partial"
        return Run(
            id=action.run, name=action.capture.name or action.name, action=action.name, status=status,
            subject=subject, graph=graph, statistics=summary(graph, subject, reports),
            incomplete=(*trouble, *sorted(action.notes)), store=self._store,
            earlier=tuple(run for run in reversed(self._kept) if run in earlier), sources=self._settled(graph, action, known),
            computed={stage: {p: task.digest for p, task in each.items()} for stage, each in tasks.items()},
            began=action.began / 1e9,
        )

    def _settled(self, graph: OperatorGraph, action: Action, known: Mapping[str, Mapping[int, LatestTask]]) -> dict[int, SourceFacts]:
        """The facts of the sources as the tasks found them that read them: of this run, or of earlier ones."""
        mine, found = action.facts.result(), {}
        for source, facts in mine.items():
            readers = {
                task.run for stage in graph.stages if source in graph.directly(stage.reads)
                for task in known.get(stage.id, {}).values()
            }
            found[source] = settled(facts, [mine[source] if r == action.run else self._sources[r][source] for r in sorted(readers)])
        return found


def graph_of(targets: Sequence[Captured], stages: Any = ()) -> OperatorGraph:
    """What ``targets`` were made from. Partitions are counted now: to ask earlier would list files too early."""
    operators = [_counted(known) for known in definitions(*targets)]
    return OperatorGraph(operators, [target._definition.operator.id for target in targets], stages)


def _counted(rdd: Captured) -> Operator:
    try:
        return resolved(rdd)
    except Exception:  # its files are not there, of which the job has failed
        return rdd._definition.operator
