"""Faulty: the outputs of a run that a test finds wrong, and how each is judged where the program runs on fewer records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from bigdebug.agents.check import Check
from bigdebug.agents.judges import Judge, Judging, truth
from bigdebug.agents.moments import Measured, Moments
from bigdebug.agents.outlines import Outline, outline_if_any
from bigdebug.agents.segments import Map
from bigdebug.errors import LocalizeError
from bigdebug.model import pack
from bigdebug.spark.asking import answers, asking
from bigdebug.spark.predicate import TEST, guarded, told
from bigdebug.spark.rdd.inquiry.satisfying import satisfying
from bigdebug.spark.rdd.positional import by_absence
from bigdebug.spark.rdd.replay import Replay
from bigdebug.trace.places import Places, count, evenly, rids_of
from bigdebug.trace.smallest import smallest

if TYPE_CHECKING:
    from bigdebug.spark.rdd.lineage_rdd import LineageRDD

MOST = 64
"""Of more wrong outputs than these, those are looked at of which counts say that they were made of the fewest records."""

EACH = 8
"""Of so many partitions, so many outputs that are right are looked at, to see what an output holds where nothing is wrong."""


@dataclass(frozen=True)
class Faulty:
    """A wrong output: the trace over it, what it is shown as, and who judges what the program gives up to ``target`` on fewer records.

    If ``keyed``, what it is on fewer records is known by its keys. ``needs_some`` says that no records at all say nothing of it. ``otherwise`` is what to
    look at in its place if nothing is found. What records are not there decide is as it was in the run if ``absent``, else decided anew.
    ``said`` is a sentence about it, for whoever reads the diagnosis. If it is ``nameless``, its keys do not say of several outputs of theirs which it is.
    """

    trace: LineageRDD
    output: Any
    judge: Judging
    target: int
    keyed: bool = True
    needs_some: bool = False
    otherwise: Faulty | None = None
    absent: bool = True
    said: str = ""
    nameless: bool = False

    def ways(self) -> Iterator[Faulty]:
        """The ways to look at it, one after the other until something is found."""
        way: Faulty | None = self
        while way is not None:
            yield way
            way = way.otherwise

    @property
    def replay(self) -> Replay:
        """The program on the records that it was made of."""
        return Replay(self.trace, False, None, None, self.target, self.absent)


@dataclass(frozen=True)
class Found:
    """The wrong outputs of a run, and what cannot be looked for, in sentences. ``more`` are wrong, too, and were made of more records. ``right`` gives outlines of outputs that are."""

    faulty: list[Faulty]
    left: tuple[str, ...] = ()
    more: int = 0
    right: Callable[[], Sequence[Outline]] = tuple


def judged(trace: LineageRDD, judge: Judge) -> Found:
    """Each output that a test finds wrong by itself. Raises LocalizeError if none is, PredicateError where the test raises."""
    target = trace._only("localize()")
    judge = fitted(trace, judge)
    found = satisfying(trace._questions, target, trace.places, judge.wrong, TEST, MOST, judge.test)
    places = {p: np.array(sorted(at), dtype=np.int64) for p, at in found.items() if at}
    if not places:
        raise LocalizeError(
            f"The test finds nothing wrong with any of the {trace.count():,} outputs of {trace.run.graph[target]}{_said(judge)}",
            remedy="It is true of an output that is wrong: localize(report, lambda out: out[1] < 0).",
        )
    chosen = places if count(places) <= MOST else smallest(trace.run.lineage, target, places, MOST)
    wrong = trace._to([target], lambda: {target: chosen})
    records = {rid: found[p][at] for p in sorted(chosen) for rid, at in zip(pack(p, chosen[p]).tolist(), chosen[p].tolist())}
    if any(each is None for each in records.values()):  # what did not come along
        records = by_rid(wrong)
    faulty = [Faulty(wrong.at([rid]), records[rid], judge, target) for rid in rids_of(chosen).tolist()]
    return Found([*map(anew, faulty)], more=count(places) - len(faulty), right=partial(_right, trace, places))


def as_a_whole(trace: LineageRDD, judge: Judge) -> Found:
    """All outputs together. Raises LocalizeError if a test finds nothing wrong with them, PredicateError if it raises."""
    with told(TEST):
        wrong = _whole(trace, guarded(judge.test, truth))
    if not wrong:
        raise LocalizeError(
            f"The test finds nothing wrong with the {trace.count():,} outputs of {trace.run.graph[trace._only('localize()')]} as a whole",
            remedy="It is true of a list of outputs that is wrong: localize(report, whole=lambda outs: sum(outs) < 0).",
        )
    return Found([anew(Faulty(trace, None, judge, trace._only("localize()"), keyed=False))])


def together(trace: LineageRDD, check: Check, raises: bool) -> Found:
    """The outputs that violate a check together, such as those that are alike. Raises LocalizeError if none do, PredicateError if it raises."""
    target = trace._only("localize()")
    check = check.fitted(partial(_measured, trace))
    with told(TEST):
        groups = _whole(trace, guarded(check.groups, list))
    if not groups:
        raise LocalizeError(f"The test finds nothing wrong with the {trace.count():,} outputs of {trace.run.graph[target]} as a whole: {check} of none")
    rids, judge = trace.rids(), Judge(check.wrong_in, None, True, raises)
    few = sorted(groups, key=len)[:MOST]
    records = by_rid(trace.at([int(rids[group[0]]) for group in few]))
    faulty = [anew(Faulty(trace.at(rids[group].tolist()), records[int(rids[group[0]])], judge, target)) for group in few]
    return Found(faulty, more=len(groups) - len(few))


def anew(faulty: Faulty) -> Faulty:
    """What records are not there decide is decided anew, or else as in the run: where others than the candidates keep it from being wrong."""
    graph = faulty.trace.run.graph
    decided = any(by_absence(graph[operator]) for operator in graph.upstream(faulty.target))
    return replace(faulty, absent=False, otherwise=faulty) if decided else faulty


def fitted(trace: LineageRDD, judge: Judge) -> Judge:
    """The judge, with a check's bounds set by all outputs."""
    return replace(judge, test=judge.test.fitted(partial(_measured, trace))) if isinstance(judge.test, Check) else judge


def by_rid(trace: LineageRDD) -> dict[int, Any]:
    return {rid: record for _, rid, record in trace._located()}


def _said(judge: Judge) -> str:
    return f": of none {judge.test}" if isinstance(judge.test, Check) else ""


def _right(trace: LineageRDD, wrong: Places) -> list[Outline]:
    """Outlines of some outputs that are right, from all places, by one job."""
    target = trace._only("localize()")
    right = {p: others for p, at in trace.places.items() if len(others := np.setdiff1d(at, wrong.get(p, [])))}
    partitions = sorted(right)
    some = {p: right[p][evenly(len(right[p]), EACH)] for p in map(partitions.__getitem__, evenly(len(partitions), EACH))}
    return list({each for each in _by_partition(trace._to([target], lambda: {target: some}), Map(outline_if_any).apply) if each is not None})


# ---- of all outputs -----------------------------------------------------------------------------------------------


def _measured(trace: LineageRDD, value: Callable[[Any], float]) -> Moments:
    """The moments of what a function makes of each output, by one job."""
    with told(TEST):
        parts = _by_partition(trace, Measured(value))
    return reduce(Moments.with_, parts, Moments())


def _whole(trace: LineageRDD, test: Callable[[list[Any]], Any]) -> Any:
    """What a test says of all outputs, in their order, in a task."""
    outputs = trace.collect()
    recorder = trace._recorder
    with recorder.plain(), asking(recorder.sc, "judging outputs", recorder.progress):
        base = recorder.sc.parallelize([outputs], 1)
        return answers(recorder.sc, base, Map(test).apply, [0])[0]


def _by_partition(trace: LineageRDD, function: Callable[[int, Iterable[Any]], Iterable[Any]]) -> list[Any]:
    recorder = trace._recorder
    with recorder.plain(), asking(recorder.sc, "measuring outputs", recorder.progress):
        records = trace._questions.distributed(trace._only("localize()"), trace.places)
        return answers(recorder.sc, records, function, [p for p, at in trace.places.items() if len(at)])
