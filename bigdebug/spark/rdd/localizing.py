"""Localizing: which source records of a run make outputs wrong (BigSift; DESIGN 4.4).

Lineage first: an output is tried on the records that it was made of, and on no others. What "the output" is on fewer records, its key says, at the last
operator that groups or joins: some other output that is wrong on these would blame the innocent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from pyroaring import BitMap

from bigdebug.agents.judges import Judge
from bigdebug.agents.operations import Operation
from bigdebug.agents.trials import Entered, OfKeys, Tried
from bigdebug.errors import LocalizeError
from bigdebug.graph import Form, OperatorGraph
from bigdebug.localize.candidates import Candidates
from bigdebug.localize.causes import State
from bigdebug.localize.diagnosis import Cost, Diagnosis
from bigdebug.localize.faults import Faults, Subject, faults
from bigdebug.localize.oracle import Answer, Budget, Oracle
from bigdebug.localize.verdict import Seen, diagnosis
from bigdebug.model import SourceRecord
from bigdebug.spark.predicate import guarded, told
from bigdebug.spark.rdd.evaluate import Evaluator, evaluable
from bigdebug.spark.rdd.replay import Replay
from bigdebug.spark.rdd.trying import OnlySpark, trying
from bigdebug.trace.places import count, rids_of, union
from bigdebug.trace.trace import Standing

if TYPE_CHECKING:
    from bigdebug.spark.rdd.lineage_rdd import LineageRDD

Ask = Callable[..., list[Answer]]

OUTPUTS = 20
"""Of so many wrong outputs the causes are looked for, those made of the fewest records."""


class Localizing:
    """One question: which records make outputs of ``trace`` wrong, as ``judge`` has it."""

    def __init__(self, trace: LineageRDD, judge: Judge, budget: Budget) -> None:
        self._trace, self._judge, self._budget = trace, judge, budget
        self._run, self._recorder = trace.run, trace._recorder
        self._questions = self._recorder.questions(self._run)
        self._evaluator = Evaluator(self._recorder, self._questions)
        self._target = trace._only("localize()")

    def diagnosis(self) -> Diagnosis:
        """Search, and tell. Raises LocalizeError where there is nothing to look for."""
        wrong = self._wrong()
        traces = [wrong] if self._judge.whole else [wrong.at([rid]) for rid in rids_of(wrong.places).tolist()]
        entered = [Replay(trace, False, None, None, self._target).cut for trace in traces]
        few = sorted(range(len(traces)), key=lambda i: sum(map(count, entered[i].values())))[:OUTPUTS]
        left = f"of {len(traces):,} wrong outputs, {len(few)} were looked at, those made of the fewest records" if len(few) < len(traces) else None
        records = {} if self._judge.whole else _by_rid(wrong)
        outputs = [None] if self._judge.whole else [records[int(traces[i].rids()[0])] for i in few]
        candidates = Candidates(_together([entered[i] for i in few]))
        numbers = [candidates.numbers(entered[i]) for i in few]
        keyed = keyed_by(self._run.graph, self._target) if not self._judge.whole else None
        keys = self._keys(keyed, wrong, [traces[i] for i in few], records)
        replay = Replay(wrong, False, None, None, self._target)
        with self._tried(replay, candidates, keyed, [Tried(n.tobytes(), k) for n, k in zip(numbers, keys)]) as ask:
            subjects = [Subject(n, Oracle(partial(ask, i), self._budget)) for i, n in enumerate(numbers)]
            known = faults(subjects, self._budget)
            _check(known)
            unordered = self._unordered(known, subjects, ask)
        seen = Seen(outputs, unordered, left)
        return diagnosis(known, subjects, seen, partial(self._sources, candidates), Cost(self._budget.tests, self._budget.took))

    # ---- which outputs ----------------------------------------------------------------------------------------

    def _wrong(self) -> LineageRDD:
        """The trace over the wrong outputs; over all, if they are judged as a whole."""
        if self._judge.whole:
            return self._trace
        with told("The test of localize()"):
            found = self._questions.records(self._target, self._trace.places, guarded(self._judge.wrong, around=1))
        places = {p: np.array(sorted(at), dtype=np.int64) for p, at in found.items() if at}
        if not places:
            raise LocalizeError(
                f"The test finds nothing wrong with any of the {self._trace.count():,} outputs of {self._run.graph[self._target]}",
                remedy="It is true of an output that is wrong: localize(report, lambda out: out[1] < 0).",
            )
        return self._trace._to([self._target], lambda: {self._target: places})

    def _keys(self, keyed: int | None, wrong: LineageRDD, chosen: Sequence[LineageRDD], records: dict[int, Any]) -> list[bytes | None]:
        """By output, the pickled keys that it has at the operator that groups or joins; ``records`` are the wrong outputs."""
        if keyed is None:
            return [None] * len(chosen)
        pairs = records if keyed == self._target else _by_rid(wrong.back_to(keyed))
        return [self._evaluator.wire.dumps([pairs[rid][0] for rid in trace.back_to(keyed).rids().tolist()]) for trace in chosen]

    # ---- trials -----------------------------------------------------------------------------------------------

    @contextmanager
    def _tried(self, replay: Replay, candidates: Candidates, keyed: int | None, subjects: Sequence[Tried]) -> Iterator[Ask]:
        """Within: a task answers for sets of the candidates of an output, named by its number."""
        if not evaluable(replay.program, replay.cut, changed=True):
            raise untried("Spark alone decides where its records go, or in which order they come: repartition(), a sort, a product")
        standing = {operator: candidates.at(operator) for operator in replay.cut}
        shipped = replay.shipped(self._evaluator, standing)
        if shipped is None:
            raise untried("some of its records cannot be pickled")
        entered: dict[int, Operation] = {}
        for operator, frames in shipped.items():
            places, width = standing[operator], range(self._run.graph[operator].partitions)
            entered[operator] = Entered(
                tuple(frames.get(p, []) for p in width), tuple(len(places.get(p, ())) for p in width), candidates.begins(operator),
            )
        evaluation = self._evaluator.evaluation(
            replay.program, self._questions.definition, entered, replay.within,
            around=lambda operator, operation: OfKeys(operation) if operator == keyed else operation,
        )
        try:
            with trying(self._recorder, self._evaluator, evaluation, subjects, self._judge) as conversation:
                yield conversation.ask
        except OnlySpark as only:
            raise untried(str(only)) from only

    def _unordered(self, known: Faults, subjects: Sequence[Subject], ask: Ask) -> frozenset[int]:
        """The outputs that are right, or stay wrong without their cause, if the records come in another order."""
        found = set()
        for fault in known.found if known.ended is None else ():
            number = fault.explains[0]
            every = BitMap(range(len(subjects[number].candidates)))
            whole, repaired = ask(number, [every, every - subjects[number].places(fault.repair)], backwards=True)
            if not whole.fails or not repaired.passes:
                found.add(number)
        return frozenset(found)

    def _sources(self, candidates: Candidates, numbers: Iterable[int]) -> dict[int, tuple[SourceRecord, ...]]:
        """The source records behind candidates: themselves, where the program is entered at its sources."""
        wanted = sorted(numbers)
        found: dict[int, tuple[SourceRecord, ...]] = {}
        sources = {source.id for source in self._run.graph.sources}
        standing = candidates.standing(wanted)
        direct = {operator: places for operator, places in standing.items() if operator in sources}
        known = [n for n in wanted if candidates.operator(n) in sources]
        records = self._trace._to(direct, lambda: direct).source_records() if direct else []
        found.update({number: (record,) for number, record in zip(known, records, strict=True)})
        for number in set(wanted).difference(known):
            one = candidates.standing([number])
            found[number] = tuple(self._trace._to(one, one.copy).goBackAll().source_records())
        return found


def _by_rid(trace: LineageRDD) -> dict[int, Any]:
    return {rid: record for _, rid, record in trace._located()}


def keyed_by(graph: OperatorGraph, target: int) -> int | None:
    """The operator that groups or joins by keys, from which each record goes its way alone to ``target``; None if there is none."""
    operator = graph[target]
    while operator.form not in (Form.CODES, Form.JOIN, Form.SUBTRACT):
        moves = operator.form.record_wise or operator.form in (Form.SORT, Form.SHUFFLE, Form.COALESCE)
        if not moves or len(operator.parents) != 1:
            return None
        operator = graph[operator.parents[0]]
    return operator.id


def untried(why: str) -> LocalizeError:
    """The error of a program that one task cannot try."""
    return LocalizeError(
        f"This program cannot be tried on fewer records: {why}",
        remedy="The records that a wrong output was made of are trace.goBackAll(); trace.replay(exclude=True) runs the program without some of them.",
    )


def _check(known: Faults) -> None:
    """Raise LocalizeError if no records at all are the cause."""
    if not known.found and set(known.strange.values()) == {State.ALWAYS_WRONG}:
        raise LocalizeError(
            "The test fails on the output of no records at all, so no records are the cause",
            remedy="See that it is false where there is nothing to be wrong.",
        )


def _together(standings: Sequence[Standing]) -> Standing:
    operators = {operator for standing in standings for operator in standing}
    return {operator: union(*(standing[operator] for standing in standings if operator in standing)) for operator in operators}
