"""The verdict: what was found, as source records and in sentences. An innocent record is never named as the cause."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bigdebug.localize.causes import State
from bigdebug.localize.diagnosis import AMBIGUOUS, CULPRIT, ORDER, UNSTABLE, Cost, Diagnosis, FaultSet
from bigdebug.localize.faults import Fault, Faults, Ids, Subject
from bigdebug.model import SourceRecord
from bigdebug.shown import counted, shown

RANKED = 50
"""Of the candidates, so many are ranked."""

_TOLD = 4
"""Records that a sentence names at most."""

Sources = Callable[[Iterable[int]], Mapping[int, tuple[SourceRecord, ...]]]
"""Gives the source records behind candidates."""


@dataclass(frozen=True)
class Seen:
    """What else is known of a search: the outputs' records, those outputs that another order repairs, what was not looked at, and by output what is said of it.

    ``replaced`` says that other records may come in the place of some that are left out, as behind a limit: trials do not know these. ``joined`` says that outputs may be there because something else is not, as behind an outer join; ``unkeyed`` that nothing says which output is which on fewer
    records.
    """

    outputs: Sequence[Any]
    unordered: frozenset[int] = frozenset()
    left: str | None = None
    said: Sequence[str] = ()
    joined: bool = False
    unkeyed: bool = False
    replaced: bool = False


def diagnosis(known: Faults, subjects: Sequence[Subject], seen: Seen, sources: Sources, cost: Cost) -> Diagnosis:
    """The diagnosis of some outputs; ``sources`` is asked once, for all that it names."""
    ranking = _ranking(known, subjects)
    named = {each for fault in known.found for ids in (fault.repair, fault.alone, fault.vital, *fault.instead, *fault.partly) for each in ids}
    records = sources(named.union(number for number, _ in ranking))
    fault_sets = tuple(_fault_set(fault, _by_rank(fault, known, subjects), seen, records) for fault in known.found)
    several = any(len(records[each]) > 1 for fault in known.found for each in fault.repair)
    verdict = _verdict(known, seen, several)
    return Diagnosis(
        verdict, fault_sets, tuple((record, score) for number, score in ranking for record in records[number]), cost,
        _explained(verdict, known, len(subjects), several, seen), _left(known, seen),
    )


def _left(known: Faults, seen: Seen) -> str | None:
    """What was not looked at, or not to an end."""
    left = [each for each in (known.ended, seen.left) if each]
    unrepaired = [number for number, state in known.strange.items() if state is State.UNREPAIRED]
    if unrepaired:
        said = [(seen.said[number] if seen.said else "").rstrip(".") or shown(seen.outputs[number]) for number in unrepaired[:_TOLD]]
        more = f", and {len(unrepaired) - _TOLD} more outputs" if len(unrepaired) > _TOLD else ""
        left.append(f"no records were found without which it is right, so one may be lacking, or a function be wrong: {', '.join(said)}{more}")
    return "; ".join(left) or None


def _verdict(known: Faults, seen: Seen, several: bool) -> str:
    """``several``: something that was found was made of several source records, of which any may be innocent."""
    if State.NOT_REPRODUCIBLE in known.strange.values() or State.NOT_WRONG in known.strange.values():
        return UNSTABLE
    if seen.unordered:
        return ORDER
    certain = known.found and known.ended is None and not several and not (seen.unkeyed or seen.replaced) and all(_is_certain(fault, seen) for fault in known.found)
    return CULPRIT if certain else AMBIGUOUS


def _is_certain(fault: Fault, seen: Seen) -> bool:
    """Whether a repair is the cause: nothing else would do, each member is needed, and the output was seen to be right, or was made of that record alone."""
    alone = fault.cause.size == 1 and not seen.joined
    return not (fault.instead or fault.partly or fault.vital) and fault.cause.sure and (not fault.cause.gone or alone)


def _explained(verdict: str, known: Faults, outputs: int, several: bool, seen: Seen) -> str:
    explained = sum(len(fault.explains) for fault in known.found)
    of = f"{explained} of {outputs} wrong outputs" if explained != outputs else "the wrong output" if outputs == 1 else f"all {outputs} wrong outputs"
    of += " that were looked at" if seen.left and outputs > 1 else ""
    if verdict == UNSTABLE and State.NOT_REPRODUCIBLE in known.strange.values():
        return "the same records gave another outcome when they were tried again"
    if verdict == UNSTABLE:
        return "the records that a wrong output was made of gave no wrong output when the program was run on them alone"
    if verdict == ORDER:
        return "the output is right on the same records in another order"
    if not known.found:
        return "nothing was found"
    are, they_are = ("is", "it is") if outputs == 1 else ("are", "they are")
    what = _sized([len(fault.repair) for fault in known.found])
    if verdict == CULPRIT:
        return f"without {what}, {of} {are} right, and without less {they_are} not"
    if known.ended is not None:
        return f"{of} {are} right without {what}; it may be fewer, or others"
    if several:
        return f"without {what} inside of the program, {of} {are} right; but each was made of several source records, and which of these is to blame was not tried"
    if seen.replaced:
        return f"of the records alone that it was made of, {of} {are} right without {what}; in the whole program, others may come in their place"
    if any(fault.instead or fault.partly or fault.vital for fault in known.found):
        right = "right" if not any(fault.cause.gone for fault in known.found) else "not wrong, or not there any more"
        return f"without {what}, {of} {are} {right}; but others would do as well, and which is to blame the data alone does not tell"
    if all(fault.cause.sure for fault in known.found):
        if any(fault.cause.gone for fault in known.found):
            return f"without {what}, {of} {are} not wrong, but {'it is' if outputs == 1 else 'some are'} not there any more; without no others that were tried {'was it' if outputs == 1 else 'were they'} there and right"
        return f"without {what}, {of} {are} right; but which output on fewer records is which nothing says, and another one may have been wrong"
    return f"without {what}, {of} {are} right; that each of these is needed was not asked of the program itself"


def _sized(sizes: Sequence[int]) -> str:
    if len(sizes) == 1:
        return counted(sizes[0])
    of = f"{', '.join(map(str, sizes[:-1]))} and {sizes[-1]}" if len(sizes) <= _TOLD else f"{min(sizes)} to {max(sizes)}"
    return f"{len(sizes)} faults of {of} records"


def _fault_set(fault: Fault, ranked: Callable[[Ids], list[int]], seen: Seen, records: Mapping[int, tuple[SourceRecord, ...]]) -> FaultSet:
    said = [seen.said[number] for number in fault.explains[:_TOLD] if seen.said and seen.said[number]]
    return FaultSet(
        _all(ranked(fault.repair), records), tuple(seen.outputs[number] for number in fault.explains),
        (*said, *_evidence(fault, ranked, records, bool(said))), tuple(_all(ranked(ids), records) for ids in _others(fault)),
    )


def _evidence(fault: Fault, ranked: Callable[[Ids], list[int]], records: Mapping[int, tuple[SourceRecord, ...]], due: bool) -> list[str]:
    """What was seen; of an output that was ``due`` to be something, it says nothing that it is not so on few records."""
    found = []
    if fault.instead:
        found.append(f"{len(fault.instead)} other sets of {len(fault.repair)} repair it as well: {_names(_new(fault.instead, fault), records)}.")
    if fault.partly:
        found.append(f"{len(fault.partly)} others repair some of these outputs as well: {_names(_new(fault.partly, fault), records)}.")
    if fault.vital:
        found.append(f"Without {_names(sorted(fault.vital), records)} it is not there any more: if what is wrong is what it took from there, the cause is that.")
    if fault.cause.gone and not due:
        found.append("Without it, the output is not there any more.")
    if due or not fault.alone:
        return found
    if fault.alone <= fault.repair:
        found.append(f"It is wrong on {_names(ranked(fault.alone), records)} alone.")
    elif fault.alone & fault.repair:
        others = f", as it is with {len(fault.cause.alike)} others in the place of the innocent one" if fault.cause.alike else ""
        found.append(f"The least on which it is wrong: {_names(ranked(fault.alone), records)} together{others}.")
    elif not fault.instead:
        found.append(f"It is also wrong on {_names(ranked(fault.alone), records)} alone, but right only without the cause: on few records, an aggregate drifts.")
    return found


def _others(fault: Fault) -> list[Ids]:
    """What might be to blame instead: what would do as well, also for some of the outputs only, and what these would not be there without."""
    return [*fault.instead, *fault.partly, *(frozenset([each]) for each in sorted(fault.vital))]


def _new(several: Iterable[Ids], fault: Fault) -> list[int]:
    """What is in some sets, and not in the repair."""
    return list(dict.fromkeys(each for ids in several for each in ids if each not in fault.repair))


def _by_rank(fault: Fault, known: Faults, subjects: Sequence[Subject]) -> Callable[[Ids], list[int]]:
    """Puts candidates in the order in which they are suspected in the first output of a fault."""
    first = fault.explains[0]
    order = subjects[first].candidates[known.suspected[first].order].tolist()

    def ranked(ids: Ids) -> list[int]:
        return [each for each in order if each in ids]

    return ranked


def _ranking(known: Faults, subjects: Sequence[Subject]) -> list[tuple[int, float]]:
    """The candidates most suspected: of causes first, then those that might be, then the others."""
    scores: dict[int, float] = {}
    for number, suspected in known.suspected.items():
        for place in suspected.order[:RANKED].tolist():
            candidate = int(subjects[number].candidates[place])
            scores[candidate] = max(scores.get(candidate, 0.0), float(suspected.scores[place]))
    first = {each for fault in known.found for each in fault.repair}
    second = {each for fault in known.found for ids in fault.instead for each in ids}
    every = sorted(scores, key=lambda each: (each not in first, each not in second, -scores[each]))
    return [(each, scores[each]) for each in every[:RANKED]]


def _all(ids: Iterable[int], records: Mapping[int, tuple[SourceRecord, ...]]) -> tuple[SourceRecord, ...]:
    """Each once, whatever it is: lists have no hash."""
    return tuple({(record.source, record.rid, record.origin): record for each in ids for record in records[each]}.values())


def _names(ids: Sequence[int], records: Mapping[int, tuple[SourceRecord, ...]]) -> str:
    names = [f"{shown(record.record)} ({record.origin})" for each in ids[:_TOLD] for record in records[each]]
    more = [f"{len(ids) - _TOLD} more"] if len(ids) > _TOLD else []
    every = [*names, *more]
    return every[0] if len(every) == 1 else f"{', '.join(every[:-1])} and {every[-1]}"
