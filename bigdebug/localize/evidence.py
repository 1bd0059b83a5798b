"""Evidence: what was seen of a fault, in sentences that name its records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from bigdebug.localize.causes import ALONE, DOZENS, State
from bigdebug.localize.faults import Fault, Ids
from bigdebug.model import SourceRecord
from bigdebug.shown import shown

TOLD = 4
"""Records that a sentence names at most."""

Ranked = Callable[[Ids], list[int]]
"""Puts candidates in the order in which they are suspected."""

Records = Mapping[int, tuple[SourceRecord, ...]]
"""The source records behind candidates."""


def evidence(fault: Fault, ranked: Ranked, records: Records, due: bool) -> list[str]:
    """What was seen; of an output that was ``due`` to be something, it says nothing that it is not so on few records."""
    return [*_of_others(fault, records), *(["Without it, the output is not there any more."] if fault.cause.gone and not due else []), *([] if due else _of_alone(fault, ranked, records))]


def others(fault: Fault) -> list[Ids]:
    """What might be to blame instead: what would do as well, also for some of the outputs only, what these would not be there without, and what is nothing without the repair."""
    return [*fault.instead, *([] if fault.settled else fault.partly), *(frozenset([each]) for each in sorted(fault.vital)), *([fault.tied] if fault.tied else [])]


def named(fault: Fault) -> set[int]:
    """All candidates that it is told with."""
    return {each for ids in (fault.repair, fault.alone, fault.vital, *fault.instead, *fault.partly, fault.tied) for each in ids}


def _of_others(fault: Fault, records: Records) -> list[str]:
    found = []
    if fault.instead:
        tried = " that were tried" if fault.cause.more else ""
        found.append(f"{len(fault.instead):,} other sets of {len(fault.repair)}{tried} repair it as well: {_names(_new(fault.instead, fault), records)}.")
    if len(fault.instead) >= DOZENS and not fault.alone:
        found.append("Where so many would do, it is a matter of how many there are, and which of them fail alone was not looked for.")
    if fault.partly and fault.settled:
        found.append(f"Some of these outputs are right, or not there, without {_names(_new(fault.partly, fault), records)} as well: these may be at fault besides.")
    elif fault.partly:
        found.append(f"{len(fault.partly):,} others repair some of these outputs as well: {_names(_new(fault.partly, fault), records)}.")
    if fault.vital:
        found.append(f"Without {_names(sorted(fault.vital), records)} it is not there any more: if what is wrong is what it took from there, the cause is that.")
    if fault.tied:
        found.append(f"Nothing comes of {_names(sorted(fault.tied), records)} without it: if that is wrong, with others of its kind, they are the cause, and not it.")
    return found


def _of_alone(fault: Fault, ranked: Ranked, records: Records) -> list[str]:
    if not fault.alone:
        many = fault.cause.state is State.FOUND and len(fault.instead) < DOZENS
        return [f"It is wrong only on more than {ALONE} records together."] if many else []
    if fault.alone <= fault.repair:
        return [f"It is wrong on {_names(ranked(fault.alone), records)} alone."]
    if fault.alone & fault.repair:
        alike = f", as it is with {len(fault.cause.alike)} others in the place of the innocent one" if fault.cause.alike else ""
        return [f"The least on which it is wrong: {_names(ranked(fault.alone), records)} together{alike}."]
    if fault.instead:
        return []
    return [f"It is also wrong on {_names(ranked(fault.alone), records)} alone, but right only without the cause: on few records, an aggregate drifts."]


def _new(several: Iterable[Ids], fault: Fault) -> list[int]:
    """What is in some sets, and not in the repair."""
    return list(dict.fromkeys(each for ids in several for each in ids if each not in fault.repair))


def _names(ids: Sequence[int], records: Records) -> str:
    names = [f"{shown(record.record)} ({record.origin})" for each in ids[:TOLD] for record in records[each]]
    more = [f"{len(ids) - TOLD} more"] if len(ids) > TOLD else []
    every = [*names, *more]
    return every[0] if len(every) == 1 else f"{', '.join(every[:-1])} and {every[-1]}"
