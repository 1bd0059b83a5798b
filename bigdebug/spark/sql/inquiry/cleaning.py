"""Cleaning queries: the rows of a result rated, suspicious source records found and left out (Newt 4.2, 7.3.2). The loop is in mining/cleaning.py.

A round traces the query over the records that are left, which have the names that they have in the run: what is suspected in it is left out of the query itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from bigdebug.errors import LocalizeError, NondeterminismError, ReplayError, UnknownOperatorError
from bigdebug.localize.diagnosis import Diagnosis
from bigdebug.mining.cleaned import Cleaned
from bigdebug.mining.cleaning import TOLD, cleaned
from bigdebug.model import SourceRecord
from bigdebug.spark.sql.far import Far, together
from bigdebug.spark.sql.inquiry.rating import FrameQuality
from bigdebug.spark.sql.lineage_frame import LineageFrame, lineage_of
from bigdebug.spark.sql.replay import FrameReplay
from bigdebug.spark.suspecting import check_chosen, suspected
from bigdebug.trace.names import NOTHING, Names, distinct, merged, without

Localize = Callable[[Any, Any], Diagnosis]


@dataclass(frozen=True)
class Suspects:
    """Names of rows of the original run, by operator; those of a source that the query reads several times are at the first place."""

    standing: Mapping[int, Names]

    def __len__(self) -> int:
        return sum(map(len, self.standing.values()))

    def without(self, others: Suspects) -> Suspects:
        return Suspects({o: without(names, others.standing.get(o, NOTHING)) for o, names in self.standing.items()})

    def union(self, others: Suspects) -> Suspects:
        return Suspects({o: merged(self.standing.get(o, NOTHING), others.standing.get(o, NOTHING)) for o in {*self.standing, *others.standing}})


class FrameResult:
    """A result of the query: its rows with their qualities, and the trace over them."""

    def __init__(self, trace: LineageFrame, quality: FrameQuality) -> None:
        known, self.qualities = quality.rated(trace)
        self.trace, self.outputs, self._names = trace, known.rows, known.names

    def traced(self, places: Sequence[int]) -> LineageFrame:
        return self.trace.named(distinct(self._names.take(pa.array(places, pa.int64()))))


class FrameCleaning:
    """One loop over the run of ``trace``, which stands at its whole result."""

    def __init__(self, trace: LineageFrame, quality: Any, suspects: Any, at: Any, edit: Any, localize: Localize) -> None:
        self._trace, self._quality, self._suspects, self._at, self._edit, self._localize = trace, FrameQuality(quality), suspects, at, edit, localize
        self._questions = trace.run.questions
        self._goals = frozenset[int]() if at is None else self._questions.occurrences(at)
        if not trace._whole or trace.run.status == "failed":
            raise ReplayError("The result of a query is cleaned as a whole", value=trace, remedy="Clean df, or a run of it that succeeded: dbg.clean(df, ...).")

    def cleaned(self, enough: float | None, rounds: int) -> Cleaned:
        """Up to so many rounds. Raises what the query raises on fewer records, ReplayError where it cannot run on them."""
        return cleaned(self, enough, rounds, self._edit is not None)

    # ---- the program ------------------------------------------------------------------------------------------

    def result(self) -> FrameResult:
        return FrameResult(self._trace, self._quality)

    def suspected(self, now: FrameResult, worst: Sequence[int], bar: float) -> tuple[Suspects, str]:
        if not self._questions.leaves:
            raise LocalizeError("the query reads no source")
        return suspected(self, now, worst, bar, self._suspects)

    def without(self, suspects: Suspects) -> tuple[FrameResult, FrameReplay]:
        replay = self._standing_at(suspects).replay(exclude=True, at=self._at, edit=self._edit)
        try:
            return FrameResult(lineage_of(replay.run), self._quality), replay
        except NondeterminismError as problem:
            raise ReplayError(
                f"The query without these records cannot be traced: {problem.what}", remedy="In a subquery, read them from Parquet, whose rows have numbers; or write it as a join.",
            ) from problem

    def listed(self, suspects: Suspects) -> tuple[tuple[SourceRecord, ...], int]:
        sources, found = self._sources(self._standing_at(suspects).goBackAll()), list[SourceRecord]()
        for operator, names in sources.standing.items():
            if few := min(len(names), TOLD - len(found)):
                found += self._trace.standing_at({operator: names.take(pa.array(names.to_numpy(zero_copy_only=False).argsort()[:few]))}).source_records()
        return tuple(found), len(sources)

    # ---- which records ----------------------------------------------------------------------------------------

    def diagnosed(self, now: FrameResult, places: Sequence[int], bar: float) -> Diagnosis:
        if now.trace is not self._trace and not self._goals <= self._questions.leaves.keys():
            raise LocalizeError("rows were left out inside of the query, and trials leave out source records only")
        return self._localize(now.traced(places), self._quality.below(bar))

    def found(self, now: FrameResult, records: Sequence[SourceRecord]) -> Suspects:
        return self._aimed(self._standing_at(self._named(records)))

    def behind(self, now: FrameResult, places: Sequence[int]) -> Suspects:
        return self._aimed(now.traced(places))

    def made_of_only(self, now: FrameResult, place: int, records: Sequence[SourceRecord]) -> bool:
        return not len(self._sources(now.traced([place]).goBackAll()).without(self._named(records)))

    def chosen(self, now: FrameResult, places: Sequence[int], choose: Callable[[Any], Any]) -> Suspects:
        chosen = choose(self._standing_at(self._sources(now.traced(places).goBackAll())).goBackAll())
        check_chosen(self._trace.run, chosen)
        return self._aimed(chosen)

    def _named(self, records: Sequence[SourceRecord]) -> Suspects:
        """Source records of a diagnosis, by their rids: those of this run, in whatever round."""
        found: dict[int, list[int]] = {}
        for record in records:
            found.setdefault(self._first(record.origin.dataset), []).append(record.rid)
        return Suspects({source: pa.array(sorted(rids), pa.int64()) for source, rids in found.items()})

    def _aimed(self, trace: LineageFrame) -> Suspects:
        """Where the records stand that rows were made of: at the sources, or where they are to be left out."""
        if self._at is None:
            return self._sources(trace.goBackAll())
        if self._goals.issuperset(trace.operators):
            return Suspects({o: _near(trace._names(o)) for o in trace.operators})
        graph = trace.run.graph
        behind = any(not self._goals.isdisjoint(graph.upstream(operator)) for operator in trace.operators)
        try:
            aimed = trace.back_to_any(self._goals) if behind else trace.forward_to(self._at)
        except UnknownOperatorError as problem:
            raise LocalizeError(problem.what, remedy=problem.remedy) from problem
        return Suspects({o: _near(aimed._names(o)) for o in aimed.operators if o in self._goals})

    def _sources(self, trace: LineageFrame) -> Suspects:
        """The records of a trace that stands at sources, or where a replay is entered."""
        datasets, found = trace.run.datasets(), dict[int, list[Names]]()
        for operator in trace.operators:
            found.setdefault(operator if operator in self._goals else self._first(datasets[operator]), []).append(trace._names(operator))
        return Suspects({operator: _near(together(names)) for operator, names in found.items()})

    def _first(self, dataset: str) -> int:
        """Of the places where the query reads a source, the first."""
        return min(operator for operator, leaf in self._questions.leaves.items() if leaf.dataset == dataset)

    def _standing_at(self, suspects: Suspects) -> LineageFrame:
        return self._trace.standing_at({operator: names for operator, names in suspects.standing.items() if len(names)})


def _near(names: Names) -> Names:
    """Names that are in the driver."""
    if isinstance(names, Far):
        raise LocalizeError(f"they were made of {len(names):,} records, and the driver does not take so many", remedy="Choose records by yourself: suspects=lambda src: src.where(...).")
    return names
