"""The verdict: what was found, as source records and in sentences. An innocent record is never named as the cause."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bigdebug.errors import LocalizeError
from bigdebug.localize.causes import TOGETHER, State
from bigdebug.localize.diagnosis import AMBIGUOUS, CULPRIT, ORDER, UNSTABLE, Cost, Diagnosis, FaultSet
from bigdebug.localize.evidence import TOLD, Ranked, Records, evidence, named, others
from bigdebug.localize.known import Fault, Faults
from bigdebug.localize.ordered import by_order
from bigdebug.localize.subject import Ids, Subject
from bigdebug.model import SourceRecord
from bigdebug.shown import counted, shown

RANKED = 50
"""Of the candidates, so many are ranked."""

Sources = Callable[[Iterable[int]], Mapping[int, tuple[SourceRecord, ...]]]
"""Gives the source records behind candidates."""

_STRANGE = {
    State.NOT_REPRODUCIBLE: "the same records gave another outcome when they were tried again",
    State.NOT_WRONG: "the records that a wrong output was made of gave no wrong output when the program was run on them alone",
    State.ALWAYS_WRONG: "it is wrong on no records at all, too",
    State.UNREPAIRED: "no records were found without which it is right, so one may be lacking, or a function be wrong",
    State.TOO_MANY: f"it is not right without any {TOGETHER:,} records, so what is wrong is how many there are, or a function",
}
"""What is said of outputs of which no cause was found."""

_UNSTABLE = (State.NOT_REPRODUCIBLE, State.NOT_WRONG)


@dataclass(frozen=True)
class Seen:
    """What else is known of a search: the outputs' records, those outputs that another order repairs, what was not looked at, and by output what is said of it.

    ``replaced`` says that other records may come in the place of some that are left out, as behind a limit: trials do not know these. ``joined`` says that outputs may be there because something else is not, as behind an outer join; ``unkeyed`` that nothing says which output is which on fewer
    records. ``wrong`` is how many outputs are wrong, if not all of them were looked at.
    """

    outputs: Sequence[Any]
    unordered: frozenset[int] = frozenset()
    left: str | None = None
    said: Sequence[str] = ()
    joined: bool = False
    unkeyed: bool = False
    replaced: bool = False
    wrong: int = 0


@dataclass(frozen=True)
class Judged:
    """A fault and its verdict. ``several`` says that something of it was made of several source records, of which any may be innocent."""

    fault: Fault
    verdict: str
    several: bool


def diagnosis(known: Faults, subjects: Sequence[Subject], seen: Seen, sources: Sources, cost: Cost) -> Diagnosis:
    """The diagnosis of some outputs; ``sources`` is asked once, for all that it names. Raises LocalizeError if no records at all are the cause."""
    if not known.found and set(known.strange.values()) == {State.ALWAYS_WRONG}:
        raise LocalizeError(
            "The test fails on what the program gives of no records at all, so no records are the cause", remedy="See that it is false where there is nothing to be wrong.",
        )
    ranking, found = _ranking(known, subjects), by_order(known.found, seen.unordered)
    records = sources(set[int]().union(*map(named, found), (number for number, _ in ranking)))
    judged = [_judged(fault, known.ended is not None, seen, records) for fault in found]
    fault_sets = tuple(_fault_set(each, _by_rank(each.fault, known, subjects), seen, records) for each in judged)
    verdict = _verdict(judged, known)
    return Diagnosis(
        verdict, fault_sets, tuple((record, score) for number, score in ranking for record in records[number]), cost,
        _explained(verdict, judged, known, seen), _left(verdict, known, seen),
    )


# ---- verdicts -----------------------------------------------------------------------------------------------------


def _judged(fault: Fault, ended: bool, seen: Seen, records: Records) -> Judged:
    several = any(len(records[each]) > 1 for each in fault.repair)
    if seen.unordered.intersection(fault.explains):
        return Judged(fault, ORDER, several)
    certain = not (ended or several or seen.unkeyed or seen.replaced) and _is_certain(fault, seen)
    return Judged(fault, CULPRIT if certain else AMBIGUOUS, several)


def _is_certain(fault: Fault, seen: Seen) -> bool:
    """Whether a repair is the cause: nothing else would do, each member is needed, and each output was seen to be right, or was made of that record alone."""
    return not others(fault) and fault.cause.sure and not fault.cause.untried and not fault.unseen and not (fault.gone and seen.joined)


def _verdict(judged: Sequence[Judged], known: Faults) -> str:
    """That of all faults; where they differ, none."""
    if not judged:
        return UNSTABLE if any(state in _UNSTABLE for state in known.strange.values()) else AMBIGUOUS
    verdicts = {each.verdict for each in judged}
    return verdicts.pop() if len(verdicts) == 1 else AMBIGUOUS


# ---- in words -----------------------------------------------------------------------------------------------------


def _explained(verdict: str, judged: Sequence[Judged], known: Faults, seen: Seen) -> str:
    """What was found, in a sentence."""
    if verdict == UNSTABLE:
        return next(_STRANGE[state] for state in _UNSTABLE if state in known.strange.values())
    if not judged:
        return "nothing was found"
    causes = [each for each in judged if each.verdict != ORDER]
    unordered = sum(len(each.fault.explains) for each in judged if each.verdict == ORDER)
    if not causes:
        return f"{_of(unordered, seen)} {_are(unordered)} right on the same records in another order"
    more = f"; and {unordered} more {_are(unordered)} right on the same records in another order" if unordered else ""
    return f"{_caused(causes, known.ended is not None, seen)}{more}"


def _caused(causes: Sequence[Judged], ended: bool, seen: Seen) -> str:
    """What was found of outputs that do not hang on the order of records."""
    faults = [each.fault for each in causes]
    explained = len({number for fault in faults for number in (*fault.explains, *fault.shares)})
    what, of, are = _sized([len(fault.repair) for fault in faults]), _of(explained, seen), _are(explained)
    it_is, gone = "it is" if are == "is" else "they are", any(fault.gone for fault in faults)
    right = "right, or not there any more" if gone else "right"
    if all(each.verdict == CULPRIT for each in causes):
        return f"without {what}, {of} {are} {right}, and without less {it_is} not"
    if ended:
        return f"without {what}, {of} {are} {right}; it may be fewer, or others"
    if any(each.several for each in causes):
        return f"without {what} inside of the program, {of} {are} {right}; but each was made of several source records, and which of these is to blame was not tried"
    if seen.replaced:
        return f"of the records alone that it was made of, {of} {are} {right} without {what}; in the whole program, others may come in their place"
    if any(map(others, faults)):
        return f"without {what}, {of} {are} {right}; but others would do as well, and which is to blame the data alone does not tell"
    if not all(fault.cause.sure for fault in faults):
        return f"without {what}, {of} {are} right; that it is wrong with each one of these was not seen, or not asked of the program itself"
    if any(fault.cause.untried for fault in faults):
        return f"without {what}, {of} {are} {right}; but there are too many to look for others in the place of each"
    if gone:
        some, were = ("it is", "was it") if are == "is" else ("some are", "were they")
        return f"without {what}, {of} {are} not wrong, but {some} not there any more; without no others that were tried {were} there and right"
    return f"without {what}, {of} {are} right; but which output on fewer records is which nothing says, and another one may have been wrong"


def _are(some: int) -> str:
    return "is" if some == 1 else "are"


def _of(some: int, seen: Seen) -> str:
    """So many of the wrong outputs, with how many there are."""
    looked_at = len(seen.outputs)
    if seen.wrong > looked_at:
        return f"{f'{some} of ' if some < looked_at else ''}the {looked_at} that were looked at of {seen.wrong:,} wrong outputs"
    of = f"{some} of {looked_at} wrong outputs" if some < looked_at else "the wrong output" if looked_at == 1 else f"all {looked_at} wrong outputs"
    return f"{of} that were looked at" if seen.left and looked_at > 1 else of


def _sized(sizes: Sequence[int]) -> str:
    if len(sizes) == 1:
        return counted(sizes[0])
    of = f"{', '.join(map(str, sizes[:-1]))} and {sizes[-1]}" if len(sizes) <= TOLD else f"{min(sizes)} to {max(sizes)}"
    return f"{len(sizes)} faults of {of} records"


def _left(verdict: str, known: Faults, seen: Seen) -> str | None:
    """What was not looked at, or not to an end, and the outputs of which no cause was found."""
    left = [each for each in (known.ended, seen.left) if each]
    for state, what in _STRANGE.items():
        numbers = [number for number, known_as in known.strange.items() if known_as is state]
        if numbers and not (verdict == UNSTABLE and state in _UNSTABLE):
            said = [(seen.said[number] if seen.said else "").rstrip(".") or shown(seen.outputs[number]) for number in numbers[:TOLD]]
            more = f", and {len(numbers) - TOLD} more outputs" if len(numbers) > TOLD else ""
            left.append(f"{what}: {', '.join(said)}{more}")
    return "; ".join(left) or None


# ---- as records ---------------------------------------------------------------------------------------------------


def _fault_set(judged: Judged, ranked: Ranked, seen: Seen, records: Records) -> FaultSet:
    fault = judged.fault
    said = [seen.said[number] for number in fault.explains[:TOLD] if seen.said and seen.said[number]]
    return FaultSet(
        _all(ranked(fault.repair), records), tuple(seen.outputs[number] for number in fault.explains),
        (*said, *evidence(fault, ranked, records, bool(said)), *_of_shared(fault, seen)), tuple(_all(ranked(ids), records) for ids in others(fault)), judged.verdict, fault.unseen,
    )


def _of_shared(fault: Fault, seen: Seen) -> list[str]:
    """That other faults are behind some outputs as well."""
    outputs = [shown(seen.outputs[number]) for number in fault.shares[:TOLD]] + ([f"{len(fault.shares) - TOLD} more"] if len(fault.shares) > TOLD else [])
    return [f"Only without other faults as well, these are right: {', '.join(outputs)}."] if outputs else []


def _by_rank(fault: Fault, known: Faults, subjects: Sequence[Subject]) -> Ranked:
    """Puts candidates in the order in which they are suspected in an output of a fault, others behind them."""
    order = [candidate for number in fault.explains if number in known.suspected for candidate in subjects[number].candidates[known.suspected[number].order].tolist()]

    def ranked(ids: Ids) -> list[int]:
        return list(dict.fromkeys([each for each in order if each in ids] + sorted(ids)))

    return ranked


def _ranking(known: Faults, subjects: Sequence[Subject]) -> list[tuple[int, float]]:
    """The candidates most suspected: of causes first, then those that might be, then the others."""
    scores: dict[int, float] = {}
    for number, suspected in known.suspected.items():
        for place in suspected.order[:RANKED].tolist():
            candidate = int(subjects[number].candidates[place])
            scores[candidate] = max(scores.get(candidate, 0.0), float(suspected.scores[place]))
    first = {each for fault in known.found for each in fault.repair}
    second = {each for fault in known.found for ids in (*fault.instead, *fault.partly) for each in ids}
    every = sorted(scores, key=lambda each: (each not in first, each not in second, -scores[each]))
    return [(each, scores[each]) for each in every[:RANKED]]


def _all(ids: Iterable[int], records: Records) -> tuple[SourceRecord, ...]:
    """Each once, whatever it is: lists have no hash."""
    return tuple({(record.source, record.rid, record.origin): record for each in ids for record in records[each]}.values())
