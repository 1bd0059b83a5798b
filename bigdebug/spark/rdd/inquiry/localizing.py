"""Localizing: which source records of a run make outputs wrong (BigSift; DESIGN 4.4).

Lineage first: an output is tried on the records that it was made of, and on no others. What "the output" is on fewer records, its key says, at the last
operator that groups or joins: some other output that is wrong on these would blame the innocent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from pyroaring import BitMap

from bigdebug.agents.entered import Entered, OfKeys
from bigdebug.agents.operations import Operation
from bigdebug.agents.outlines import Outline
from bigdebug.agents.trials import Tried
from bigdebug.errors import LocalizeError
from bigdebug.graph import Form, OperatorGraph
from bigdebug.localize.candidates import Candidates, together
from bigdebug.localize.causes import State
from bigdebug.localize.diagnosis import Cost, Diagnosis
from bigdebug.localize.faults import OUTPUTS, faults, gone_on
from bigdebug.localize.known import Faults
from bigdebug.localize.oracle import ENDS, Answer, Budget, Oracle, Spent, why
from bigdebug.localize.ordered import Asked, unordered
from bigdebug.localize.progress import Step
from bigdebug.localize.subject import Subject
from bigdebug.localize.verdict import Seen, diagnosis
from bigdebug.model import Outcome, SourceRecord
from bigdebug.shown import shown
from bigdebug.spark.jobs import ending
from bigdebug.spark.rdd.evaluate import Evaluator, evaluable
from bigdebug.spark.rdd.inquiry.faulty import Faulty, Found, by_rid
from bigdebug.spark.rdd.inquiry.trying import OnlySpark, trying
from bigdebug.spark.rdd.positional import by_absence, entries
from bigdebug.spark.rdd.replay import Replay
from bigdebug.trace.places import count
from bigdebug.trace.trace import Standing

if TYPE_CHECKING:
    from bigdebug.spark.rdd.lineage_rdd import LineageRDD

Ask = Callable[..., list[Answer]]

_UNFOUND = (State.NOT_WRONG, State.UNREPAIRED, State.TOO_MANY)
"""How a search ends that says nothing of an output: then it is looked at otherwise, if there is another way."""

_MADE_OF_SEVERAL = (Form.CODES, Form.JOIN, Form.PAIRED, Form.WHOLE, Form.ZIP, Form.CARTESIAN)
"""Operators whose outputs change with what they are made of: so may the keys that these have further on."""

MANY = 20_000
"""Of more candidates, what each adds is put in another order, where it is known, and the program is not run on them for that."""


MOST = 3_000_000
"""Candidates of an output, at most: all of them are in the memory of one task, at some hundred bytes each."""


class Localizing:
    """One question: which records make outputs of the run of ``trace`` wrong, those that were ``found``."""

    def __init__(self, trace: LineageRDD, found: Found, budget: Budget) -> None:
        self._trace, self._budget = trace, budget
        self._run, self._recorder = trace.run, trace._recorder
        self._questions = self._recorder.questions(self._run)
        self._evaluator = Evaluator(self._recorder, self._questions)
        self._left, self._wrong, self._found = list(found.left), len(found.faulty) + found.more, found
        self._right: Sequence[Outline] | None = None
        self._faulty, entered = self._few(found.faulty, found.more)
        others = [[(way, way.replay.cut) for way in list(each.ways())[1:]] for each in self._faulty]
        self._candidates = Candidates(together([*entered, *(cut for ways in others for _, cut in ways)]))
        self._numbers = [self._candidates.numbers(each) for each in entered]
        self._otherwise = [[(way, self._candidates.numbers(cut)) for way, cut in ways] for ways in others]
        self._names = [each.said or shown(each.output) for each in self._faulty]
        budget.course.outputs = len(self._faulty)
        self._asks: dict[int, Ask] = {}
        self._oracles: list[Oracle] = []
        self._runs: Callable[[int], bool] = lambda number: False

    def diagnosis(self) -> Diagnosis:
        """Search, and tell. Raises LocalizeError where there is nothing to look for."""
        known, unordered = Faults(), set[int]()
        subjects = self._searched(known, unordered, range(len(self._faulty)))
        while known.ended is None and (again := [i for i, state in known.strange.items() if state in _UNFOUND and self._otherwise[i]]):
            for i in again:
                self._faulty[i], self._numbers[i] = self._otherwise[i].pop(0)
                del known.strange[i]
            subjects = self._searched(known, unordered, again)
        self._budget.course.step = Step.READING
        graph = self._run.graph
        upstream = {operator for each in self._faulty for operator in graph.upstream(each.target)}
        seen = Seen(
            [each.output for each in self._faulty], frozenset(unordered), "; ".join(self._left) or None, [each.said for each in self._faulty],
            joined=any(by_absence(graph[operator]) for operator in upstream), unkeyed=self._is_unkeyed(), replaced=bool(entries(graph, absent=False) & upstream), wrong=self._wrong,
        )
        return diagnosis(known, subjects, seen, self._sources, Cost(self._budget.tests, self._budget.took))

    def _searched(self, known: Faults, unordered: set[int], numbers: Sequence[int]) -> list[Subject]:
        """Look for what makes some of the outputs wrong. Gives all of these as what is asked about."""
        self._oracles = [Oracle(partial(self._asked, i), self._budget, partial(self._asked, i, folded=True), self._right) for i in range(len(self._numbers))]
        subjects = [Subject(numbers, oracle, name) for numbers, oracle, name in zip(self._numbers, self._oracles, self._names)]
        for program in dict.fromkeys(self._program(i) for i in numbers):
            here = [i for i in numbers if self._program(i) == program]
            try:
                self._budget.check(1)  # before there is a task
            except Spent as spent:
                known.ended = why(spent)
                break
            self._look(known, unordered, here, subjects)
            if known.ended is not None:
                break
        return subjects

    def _look(self, known: Faults, unordered: set[int], here: Sequence[int], subjects: Sequence[Subject]) -> None:
        """Look for what makes outputs of one program wrong."""
        mine = Faults()

        def search() -> None:
            with self._tried(here):
                faults([subjects[i] for i in here], self._budget, known=mine)
                every = Faults()
                every.take(mine, here)
                try:
                    unordered.update(self._unordered(every, here, subjects))
                except ENDS as end:
                    mine.ended = why(end)

        gone_on(search, mine, [subjects[i] for i in here], self._right_outlines)
        known.take(mine, here)

    def _right_outlines(self) -> Sequence[Outline]:
        """What right outputs hold. The task of the trials is gone meanwhile: it may have had the only core."""
        with ending(self._recorder.sc, self._budget.check):
            self._right = self._found.right()
        return self._right

    def _is_unkeyed(self) -> bool:
        """Whether no key says which output is which, though several records may be put together for one."""
        graph = self._run.graph
        judged = {each.target for each in self._faulty if each.nameless or (each.keyed and keyed_by(graph, each.target) is None)}
        return any(graph[operator].form in (Form.CODES, Form.JOIN, Form.SUBTRACT) for target in judged for operator in graph.upstream(target))

    def _program(self, number: int) -> tuple[int, bool]:
        """What outputs have in common that one task can answer for."""
        return self._faulty[number].target, self._faulty[number].absent

    def _few(self, faulty: Sequence[Faulty], more: int) -> tuple[list[Faulty], list[Standing]]:
        """Those of the wrong outputs, ``more`` than these, that were made of the fewest records, and where the program is entered with these."""
        entered = [each.replay.cut for each in faulty]
        sizes = [sum(map(count, each.values())) for each in entered]
        few = [i for i in sorted(range(len(faulty)), key=sizes.__getitem__)[:OUTPUTS] if sizes[i] <= MOST]
        if sizes and not few:
            raise untried(f"the wrong output that was made of the fewest was made of {min(sizes):,}, and one task holds {MOST:,} at most")
        if len(few) < len(faulty) + more:
            self._left.append(f"of {len(faulty) + more:,} wrong outputs, {len(few)} were looked at, those made of the fewest records")
        return [faulty[i] for i in few], [entered[i] for i in few]

    def _keys(self, keyed: int | None, faulty: Sequence[Faulty]) -> list[bytes | None]:
        """By output, the pickled keys that it has at the operator that groups or joins."""
        if all(each.keyed and keyed == each.target and each.trace.count() == 1 for each in faulty):
            return [self._evaluator.wire.dumps([each.output[0]]) for each in faulty]
        known = [each.trace.back_to(keyed) if each.keyed and keyed is not None else None for each in faulty]
        standing = [trace.standing for trace in known if trace is not None]
        if not standing:
            return [None] * len(faulty)
        every = together(standing)
        pairs = by_rid(self._trace._to([keyed], lambda: every))  # type: ignore[list-item]
        return [None if trace is None else self._evaluator.wire.dumps([pairs[rid][0] for rid in trace.rids().tolist()]) for trace in known]

    # ---- trials -----------------------------------------------------------------------------------------------

    def _asked(self, number: int, sets: Sequence[BitMap], order: int = 0, folded: bool = False) -> list[Answer]:
        """What is said of an output on sets of its candidates."""
        said = self._asks[number](sets, order, folded)
        if folded and self._runs(number):
            self._oracles[number].unpushed()
        if not self._faulty[number].needs_some:
            return said
        return [answer if each else Answer(Outcome.UNRESOLVED) for each, answer in zip(sets, said)]

    @contextmanager
    def _tried(self, here: Sequence[int]) -> Iterator[None]:
        """Within: a task answers for outputs of one program."""
        faulty = [self._faulty[i] for i in here]
        keyed, replay = keyed_by(self._run.graph, faulty[0].target), replace(faulty[0], trace=_traced(self._trace, faulty)).replay
        if not evaluable(replay.program, replay.cut, changed=True, any_order=True):
            raise untried("Spark alone decides where its records go, and a place decides what is given: zipWithIndex(), or mapPartitions() behind a sort or a product")
        standing = {operator: self._candidates.at(operator) for operator in replay.cut}
        shipped = replay.shipped(self._evaluator, standing)
        if shipped is None:
            raise untried("some of its records cannot be pickled")
        entered: dict[int, Operation] = {}
        for operator, frames in shipped.items():
            places, width = standing[operator], range(self._run.graph[operator].partitions)
            entered[operator] = Entered(
                tuple(frames.get(p, []) for p in width), tuple(len(places.get(p, ())) for p in width), self._candidates.begins(operator),
            )
        evaluation = self._evaluator.evaluation(
            replay.program, self._questions.definition, entered, replay.within,
            around=lambda operator, operation: OfKeys(operation) if operator == keyed else operation,
        )
        keys = self._keys(keyed, faulty)
        moving = keyed is not None and self._is_moving(keyed, replay)
        tried = [Tried(self._numbers[i].tobytes(), key, each.judge, moving) for i, key, each in zip(here, keys, faulty)]
        try:
            with trying(self._recorder, self._evaluator, evaluation, tried, self._budget) as conversation:
                self._asks = {i: partial(conversation.ask, place) for place, i in enumerate(here)}
                self._runs = lambda number: here.index(number) in conversation.unfolded
                yield
        except OnlySpark as only:
            raise untried(str(only)) from only

    def _is_moving(self, keyed: int, replay: Replay) -> bool:
        """Whether the records that ``keyed`` reads are made of several others each, so that their keys may be others on fewer of them."""
        graph, ran = self._run.graph, {known._definition.operator.id for known in replay.program}.difference(replay.cut)
        return any(graph[operator].form in _MADE_OF_SEVERAL for operator in ran.intersection(graph.upstream(keyed)) if operator != keyed)

    def _unordered(self, known: Faults, here: Sequence[int], subjects: Sequence[Subject]) -> set[int]:
        """The outputs that are right, or stay wrong without their cause, if the records come in another order."""
        def in_order(asked: Asked, order: int) -> dict[int, list[Answer]]:
            return {i: self._asked(i, sets, order, folded=subjects[i].oracle.pushed and len(sets[0]) > MANY) for i, sets in asked.items()}

        return unordered(known, subjects, in_order, here)

    def _sources(self, numbers: Iterable[int]) -> dict[int, tuple[SourceRecord, ...]]:
        """The source records behind candidates: themselves, where the program is entered at its sources."""
        wanted, candidates = sorted(numbers), self._candidates
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


def _traced(trace: LineageRDD, faulty: Sequence[Faulty]) -> LineageRDD:
    """One trace over several outputs, of the run of ``trace``."""
    every = together([each.trace.standing for each in faulty])
    return trace._to(every, lambda: every)
