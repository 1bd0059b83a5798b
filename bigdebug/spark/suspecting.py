"""Suspecting: which records of a run make some of its outputs bad, by localization, by lineage, or by the user."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

from pyspark.sql import Column

from bigdebug.agents.likeness import likeness
from bigdebug.errors import LocalizeError
from bigdebug.localize.diagnosis import AMBIGUOUS, CULPRIT, Diagnosis, FaultSet
from bigdebug.mining.cleaning import Result, Suspects, sentence
from bigdebug.model import SourceRecord
from bigdebug.shown import shown

R = TypeVar("R", bound=Result)
R_contra = TypeVar("R_contra", bound=Result, contravariant=True)
S = TypeVar("S", bound=Suspects)
S_co = TypeVar("S_co", bound=Suspects, covariant=True)


class Sources(Protocol[R_contra, S_co]):
    """What a wing tells of the records behind outputs of a result."""

    def diagnosed(self, now: R_contra, places: Sequence[int], bar: float) -> Diagnosis:
        """Which source records make them worse than the bar. Raises LocalizeError."""

    def found(self, now: R_contra, records: Sequence[SourceRecord]) -> S_co:
        """Records of a diagnosis, where they are to be left out."""

    def behind(self, now: R_contra, places: Sequence[int]) -> S_co:
        """All that some outputs were made of, where it is to be left out."""

    def made_of_only(self, now: R_contra, place: int, records: Sequence[SourceRecord]) -> bool:
        """Whether records of a diagnosis are all that an output was made of."""

    def chosen(self, now: R_contra, places: Sequence[int], choose: Callable[[Any], Any]) -> S_co:
        """Those that a function chooses of the trace over the source records behind outputs."""


def suspected(sources: Sources[R, S], now: R, worst: Sequence[int], bar: float, suspects: Any) -> tuple[S, str]:
    """The records suspected for the ``worst`` outputs, and by what they were chosen. Raises LocalizeError if there are none."""
    if callable(suspects):
        return _some(sources.chosen(now, worst, suspects)), "you"
    if suspects == "lineage":
        return _by_lineage(sources, now, worst, bar), "lineage"
    try:
        return _localized(sources, now, worst, bar)
    except LocalizeError as trouble:
        return _by_lineage(sources, now, worst, bar), f"lineage, for localization says: {sentence(trouble.what)}"


def _localized(sources: Sources[R, S], now: R, worst: Sequence[int], bar: float) -> tuple[S, str]:
    """Those without which outputs are good enough; if nothing would be left of an output, the one of its records without which it moves farthest.

    Where an output goes with the one row that all else of it is joined with, it is of these others that one is chosen.
    """
    found = sources.diagnosed(now, worst, bar)
    if found.verdict not in (CULPRIT, AMBIGUOUS) or not found.fault_sets:
        raise LocalizeError(f"{found.verdict}: {found.explanation}")
    chosen, by = list[SourceRecord](), f"localization ({found.verdict})"
    for fault in found.fault_sets:
        if fault.verdict not in (CULPRIT, AMBIGUOUS):
            continue
        if fault.gone and (kept := _kept(sources, now, found, fault)):
            chosen += kept
        elif len(fault.records) == 1 or not _takes_all(sources, now, fault.outputs, fault.records):
            chosen += fault.records
            continue
        else:
            chosen += [record for record, _ in found.ranking if _name(record) in set(map(_name, fault.records))][:1]
        by = f"localization ({found.verdict}), and by influence where it takes all that an output was made of"
    return _some(sources.found(now, chosen)), by


def _kept(sources: Sources[R, S], now: R, found: Diagnosis, fault: FaultSet) -> list[SourceRecord]:
    """The record beside a fault without which outputs move farthest, if something is left of them without both."""
    ours = set(map(_name, fault.records))
    beside = [record for record, _ in found.ranking if _name(record) not in ours][:1]
    return [] if _takes_all(sources, now, fault.outputs, [*fault.records, *beside]) else beside


def _name(record: SourceRecord) -> tuple[object, ...]:
    return record.source, record.rid, record.origin


def _takes_all(sources: Sources[R, S], now: R, outputs: Sequence[Any], records: Sequence[SourceRecord]) -> bool:
    """Whether records are all that one of some outputs was made of."""
    explained = {likeness(output) for output in outputs}
    places = [place for place, output in enumerate(now.outputs) if likeness(output) in explained]
    return any(sources.made_of_only(now, place, records) for place in places)


def _by_lineage(sources: Sources[R, S], now: R, worst: Sequence[int], bar: float) -> S:
    """All that only outputs which are not good enough were made of (Newt 7.3.2)."""
    good = [place for place, quality in enumerate(now.qualities) if quality >= bar]
    behind: S = sources.behind(now, worst)
    found: S = behind.without(sources.behind(now, good)) if good else behind
    if not len(found):
        raise LocalizeError(
            "Outputs that are good enough were made of all records that the worst ones were made of",
            remedy="Name an operator where they go apart (at=), or choose records by yourself (suspects=).",
        )
    return found


def _some(suspects: S) -> S:
    if not len(suspects):
        raise LocalizeError("no records are suspected")
    return suspects


def check_chosen(run: Any, chosen: Any) -> None:
    """Raise TypeError if what the user's function gave is no trace of a run."""
    if getattr(chosen, "run", None) is not run:
        raise TypeError(f"suspects= gives those of the traced records that are suspected, as a trace, not {shown(chosen)}; suspects=lambda src: src.where(...)")


def check(quality: Any, suspects: Any, edit: Any, of_rows: bool) -> None:
    """Raise TypeError or ValueError for what cannot be cleaned with."""
    if of_rows and not callable(quality) and not isinstance(quality, Column | str):
        raise TypeError(f"quality is a function of a Row that gives a number, a Column or SQL, higher for better rows, not {shown(quality)}; quality='-abs(total)'")
    if not of_rows and not callable(quality):
        raise TypeError(f"quality is a function of an output that gives a number, higher for better ones, not {shown(quality)}; quality=lambda out: -abs(out[1])")
    if not callable(suspects) and suspects not in ("localize", "lineage"):
        raise ValueError(f"suspects is 'localize', 'lineage', or a function of the trace over source records, not {shown(suspects)}")
    if edit is not None and not callable(edit):
        raise TypeError(f"edit is a function that gives a record in place of another, not {shown(edit)}; edit=lambda r: ...")
