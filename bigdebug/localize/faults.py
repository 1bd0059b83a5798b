"""Faults: the causes of several wrong outputs put together, so that one fault is told once, with all the outputs that it explains (BigSift 4.3)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass
from functools import partial

from pyroaring import BitMap

from bigdebug.agents.outlines import Outline
from bigdebug.localize.causes import CONFIRMED, Cause, State, cause
from bigdebug.localize.known import Fault, Faults
from bigdebug.localize.oracle import ENDS, Budget, Spent, why
from bigdebug.localize.progress import Step
from bigdebug.localize.rivals import instead
from bigdebug.localize.subject import Ids, Subject
from bigdebug.localize.suspicion import EACH, Ranking, suspicion, unsuspected
from bigdebug.localize.usual import Overruled, Unusual

OUTPUTS = 20
"""Of so many wrong outputs the causes are looked for, those made of the fewest records."""

SEARCH = 300
"""Tests that a search of a single record may take behind a ranking."""

BESIDE = 256
"""Of an output that a fault explains, up to so many candidates are left out one by one, to see whether it has a fault of its own."""


@dataclass(frozen=True)
class Effort:
    """How much is worth its tests: so many sets are asked about ``at_once``, of up to ``each_of`` candidates each is left out once, and a ranking takes what it ``affords``."""

    at_once: int
    each_of: int
    affords: Callable[[Callable[[], int]], bool]


def faults(subjects: Sequence[Subject], budget: Budget, at_once: int = 1, each_of: int = EACH, known: Faults | None = None) -> Faults:
    """The faults behind several outputs; those of few candidates come first, and what repairs one is tried on the others.

    ``at_once`` is how many sets are worth asking about together; up to ``each_of`` candidates of an output, each is left out once. Where several candidates might
    as well be the cause of an output, those come first that explain the most outputs. First it is looked for what an output is there and right without; of
    outputs that nothing repairs so, then for what they are gone without: the only record that corrupt ones are joined with is none that they are right without.

    Raises nothing where the search is ended; Unusual where it has to be known what right outputs hold: then what is ``known`` by then is added to, and given again it goes on from there.
    """
    known = Faults() if known is None else known
    effort = Effort(at_once, each_of, partial(_spares, budget))
    smallest = sorted(range(len(subjects)), key=lambda i: len(subjects[i].candidates))
    for there in (True, False):
        for number in smallest:
            if known.ended is None and not known.is_done(number, there, subjects[number]):
                _look(known, number, subjects[number], budget, effort, there)
                known.done.add((number, there))
    return known


def _look(known: Faults, number: int, subject: Subject, budget: Budget, effort: Effort, there: bool) -> None:
    """Look at one output, again where what was taken for right turns out not to be. Raises Unusual, with nothing changed in what is known."""
    strange = known.strange.pop(number, None)
    subject.oracle.there = there and len(subject.candidates) > 1
    while True:
        budget.course.look(subject.name, len(subject.candidates))
        before = deepcopy(known.found)
        try:
            if not (_explained(known, number, subject, effort) or _shared(known, number, subject, effort)):
                _searched(known, number, subject, effort)
            budget.course.explained += any(number in (*fault.explains, *fault.shares) for fault in known.found)
        except ENDS as end:
            known.ended = why(end)
        except (Unusual, Overruled) as more:
            known.found = before
            budget.course.look_again()
            if isinstance(more, Unusual):
                if strange is not None:
                    known.strange[number] = strange
                raise
            continue
        return


def gone_on(search: Callable[[], object], known: Faults, subjects: Sequence[Subject], right: Callable[[], Sequence[Outline]]) -> None:
    """A search that adds to what is ``known``; where it has to be known what ``right`` outputs hold, that is looked at, and it goes on. Raises nothing where that is ended."""
    with suppress(Unusual):
        search()
        return
    try:
        outlines = right()
    except ENDS as end:
        known.ended = why(end)
        return
    for subject in subjects:
        subject.oracle.usual.right = outlines
    search()


def _explained(known: Faults, number: int, subject: Subject, effort: Effort) -> bool:
    """Whether a fault that is known explains an output, too; of what might be the cause, that comes first which explains all.

    What has others than its candidates explains nothing: a part of it would do. Where that leaves others behind, it is the cause of both only if nothing else is of this one. What else this one is right without is noted: it may have a fault of its own.
    """
    for fault in known.found:
        options = [fault.repair, *fault.instead]
        own = [option for option in options if subject.has(option)]
        able = [option for option, repairs in zip(own, subject.repaired_by(own)) if repairs]
        if able:
            fault.repair, *fault.instead = able
            fault.explains.append(number)
            if not subject.oracle.there and subject.loses(fault.repair):
                fault.lost.append(len(subject.candidates))
            fault.add_partly(option for option in options if option not in able)
            others = [each for each in _besides(known, number, subject, fault.repair, effort) if each not in able]
            fault.add_partly(others)
            if fault.partly and not (fault.instead or fault.settled or others):
                only = _cause(known, number, subject, effort)
                if _is_only(only) and only.repair is not None and subject.ids(only.repair) == fault.repair:
                    fault.cause, fault.vital, fault.tied, fault.settled = only, frozenset(), frozenset(), True
            return True
    return False


def _shared(known: Faults, number: int, subject: Subject, effort: Effort) -> bool:
    """Whether faults that are known explain an output together: it is there and right without all of them, and not without any fewer."""
    sharing = [fault for fault in known.found if subject.has(fault.repair)]
    while len(sharing) > 1 and subject.oracle.there:
        fewer = [_together(fault for fault in sharing if fault is not left) for left in sharing]
        right, *unneeded = subject.repaired_by([_together(sharing), *fewer])
        if not right:
            return False
        if not any(unneeded):
            others = _besides(known, number, subject, _together(sharing), effort)
            for fault in sharing:
                fault.shares.append(number)
                fault.add_partly(others)
            return True
        del sharing[unneeded.index(True)]
    return False


def _together(some: Iterable[Fault]) -> Ids:
    """The candidates of all of some faults."""
    return frozenset[int]().union(*(fault.repair for fault in some))


def _besides(known: Faults, number: int, subject: Subject, repair: Ids, effort: Effort) -> list[Ids]:
    """What else an output that ``repair`` repairs is right without, or not there without."""
    size, oracle = len(subject.candidates), subject.oracle
    every, places = BitMap(range(size)), subject.places(repair)
    if size == len(places):
        return []
    oracle.compare(oracle.answers([every])[0])
    suspected = known.suspected[number] = suspicion(oracle, size, min(effort.each_of, BESIDE))
    found = [*instead(oracle, suspected, every, places), *(BitMap([each]) for each in suspected.vital if each not in places)]
    if oracle.pushed:  # what each record adds has said so, and not the program
        found = [each for each, answer in zip(found, oracle.anew([every - each for each in found[: CONFIRMED // size]])) if answer.passes or answer.gone]
    return [subject.ids(each) for each in dict.fromkeys(map(frozenset, found))]


def _is_only(cause_of: Cause) -> bool:
    """Whether nothing else is known that might be the cause."""
    return cause_of.state is State.FOUND and cause_of.sure and not (cause_of.untried or cause_of.instead or cause_of.vital or cause_of.tied or cause_of.gone)


def _searched(known: Faults, number: int, subject: Subject, effort: Effort) -> None:
    subject.oracle.narrow(len(subject.candidates))
    cause_of = _cause(known, number, subject, effort)
    if subject.oracle.pushed and not _stands(cause_of.state, subject):
        subject.oracle.distrust()
        cause_of = _cause(known, number, subject, effort)
    if cause_of.state is State.ENDED:
        known.ended = cause_of.why
    elif cause_of.state is not State.FOUND:
        known.strange[number] = cause_of.state
    if cause_of.repair is not None and cause_of.state in (State.FOUND, State.ENDED):
        subject.oracle.course.faults += 1
        repair, alone, others = subject.ids(cause_of.repair), subject.ids(cause_of.alone or ()), [subject.ids(each) for each in cause_of.instead]
        known.found.append(Fault(repair, [number], cause_of, alone, others, vital=subject.ids(cause_of.vital), tied=subject.ids(cause_of.tied), settled=_is_only(cause_of)))


def _cause(known: Faults, number: int, subject: Subject, effort: Effort) -> Cause:
    size = len(subject.candidates)
    known.suspected[number] = unsuspected(size)
    whole, nothing = subject.oracle.answers([BitMap(range(size)), BitMap()])
    subject.oracle.compare(whole)
    subject.oracle.course.step = Step.SUSPECTING
    if whole.fails and not nothing.fails:  # else there is nothing to be suspected of
        ranking = Ranking(subject.oracle, size, effort.each_of, effort.affords)
        try:
            known.suspected[number] = ranking.suspicion()
        except ENDS as end:
            return Cause(repair=ranking.enough, why=why(end), size=size)
    return cause(subject.oracle, known.suspected[number], effort.at_once)


def _spares(budget: Budget, tests: Callable[[], int]) -> bool:
    """Whether so many leave enough for a search: a ranking that leaves nothing for it finds nothing."""
    if not budget.counts:
        return True
    many = tests()
    try:
        budget.check(many + min(many, SEARCH))
    except Spent:
        return False
    return True


def _stands(state: State, subject: Subject) -> bool:
    """Whether a search by tests that were pushed down ended as one by the program itself would."""
    match state:
        case State.ALWAYS_WRONG:
            return subject.oracle.anew([BitMap()])[0].fails
        case State.NOT_WRONG:
            return not subject.oracle.anew([BitMap(range(len(subject.candidates)))])[0].fails
        case _:
            return state in (State.FOUND, State.ENDED)
