"""Evidence: what was seen of a fault, in sentences that name its records."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from bigdebug.localize.causes import ALONE, State
from bigdebug.localize.known import Fault
from bigdebug.localize.rivals import DOZENS
from bigdebug.localize.subject import Ids
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
    return [*_of_others(fault, records), *(_of_gone(fault) if not due else []), *([] if due else _of_alone(fault, ranked, records))]


def others(fault: Fault) -> list[Ids]:
    """What might be to blame instead: what would do as well, also for some of the outputs only, what these would not be there without, and what is nothing without the repair."""
    return [*fault.instead, *([] if fault.settled else fault.partly), *(frozenset([each]) for each in sorted(fault.vital)), *([fault.tied] if fault.tied else [])]


def named(fault: Fault) -> set[int]:
    """All candidates that it is told with."""
    return {each for ids in (fault.repair, fault.alone, fault.vital, *fault.instead, *fault.partly, fault.tied) for each in ids}


def _of_others(fault: Fault, records: Records) -> list[str]:
    found = []
    if fault.instead:
        found.append(f"{_other(len(fault.instead), fault.cause.more)} as well: {_sets(fault.instead, records)}.")
    elif fault.cause.more and len(fault.repair) == 1:
        most = fault.cause.size - 1
        found.append(f"Of {most:,} others, {fault.cause.left_out:,} were left out one by one, the rest in blocks, in which one may take back what another one adds.")
    if len(fault.instead) >= DOZENS and not fault.alone:
        found.append("Where so many would do, it is a matter of how many there are, and which of them fail alone was not looked for.")
    if fault.partly and fault.settled:
        found.append(f"Some of these outputs are right, or not there, without {_sets(fault.partly, records, 'or')} as well: these may be at fault besides.")
    elif fault.partly:
        found.append(f"Some of these outputs are right, or not there, without {_sets(fault.partly, records, 'or')} as well.")
    if fault.vital:
        found.append(f"Without {_sets([frozenset([each]) for each in sorted(fault.vital)], records, 'or')} it is not there any more, or not all of it: if what is wrong is what it took from there, the cause is that.")
    if fault.tied:
        found.append(f"Nothing comes of {_names(sorted(fault.tied), records)} without it: if that is wrong, with others of its kind, they are the cause, and not it.")
    return found


def _of_gone(fault: Fault) -> list[str]:
    """What is not there without the repair: a row may be there yet, with NULL where it had a value."""
    if not fault.gone:
        return []
    which, what = ("the output is", "it") if len(fault.explains) == 1 else ("some of these outputs are", "them")
    return [f"Without {'it' if len(fault.repair) == 1 else 'them'}, {which} not there any more, or not all of {what}."]


def _of_alone(fault: Fault, ranked: Ranked, records: Records) -> list[str]:
    if not fault.alone:
        many = fault.cause.state is State.FOUND and len(fault.instead) < DOZENS
        return [f"It is wrong only on more than {ALONE} records together."] if many else []
    if fault.alone <= fault.repair:
        return [f"It is wrong on {_names(ranked(fault.alone), records)} alone."]
    if fault.alone & fault.repair:
        so_many = f"{len(fault.cause.alike):,} other{'s' if len(fault.cause.alike) > 1 else ''}"
        alike = f", as it is with {so_many} in the place of {_names(ranked(fault.alone - fault.repair), records)}" if fault.cause.alike else ""
        return [f"The least on which it is wrong: {_names(ranked(fault.alone), records)} together{alike}."]
    if fault.instead:
        return []
    return [f"It is also wrong on {_names(ranked(fault.alone), records)} alone, but right only without the cause: on few records, an aggregate drifts."]


def _other(sets: int, more: bool) -> str:
    """That other sets repair, which may be not all that do."""
    tried = f" that {'was' if sets == 1 else 'were'} tried" if more else ""
    return f"{sets:,} other set{'' if sets == 1 else 's'}{tried} repair{'s' if sets == 1 else ''} it"


def _sets(several: Sequence[Ids], records: Records, last: str = "and") -> str:
    """Sets of records by their names, each as one."""
    names = [" with ".join(_named(sorted(ids), records)) for ids in several[:TOLD]]
    return _listed([*names, *([f"{len(several) - TOLD} more"] if len(several) > TOLD else [])], last)


def _names(ids: Sequence[int], records: Records) -> str:
    return _listed(_named(ids, records))


def _named(ids: Sequence[int], records: Records) -> list[str]:
    names = [f"{shown(record.record)} ({record.origin})" for each in ids[:TOLD] for record in records[each]]
    return [*names, *([f"{len(ids) - TOLD} more"] if len(ids) > TOLD else [])]


def _listed(names: Sequence[str], last: str = "and") -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {last} {names[-1]}"
