"""Cleaning RDD programs: the outputs of a run rated, its suspicious records found and left out (Newt 4.2, 7.3.2). The loop is in mining/cleaning.py."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bigdebug.agents.quality import Below, Quality
from bigdebug.errors import ReplayError
from bigdebug.localize.diagnosis import Diagnosis
from bigdebug.mining.cleaned import Cleaned
from bigdebug.mining.cleaning import TOLD, cleaned, rated
from bigdebug.model import SourceRecord
from bigdebug.spark.rdd.inquiry.explaining import without
from bigdebug.spark.rdd.inquiry.named import named
from bigdebug.spark.rdd.replayed import replayed
from bigdebug.spark.suspecting import check_chosen, suspected
from bigdebug.trace.counts import complete
from bigdebug.trace.places import Places, count, union

if TYPE_CHECKING:
    from bigdebug.spark.rdd.lineage_rdd import LineageRDD
    from bigdebug.spark.rdd.replay import Replay

Localize = Callable[[Any, Callable[[Any], Any]], Diagnosis]


@dataclass(frozen=True)
class Suspects:
    """Records of the original run, by the operator where they stand."""

    standing: Mapping[int, Places]

    def __len__(self) -> int:
        return sum(map(count, self.standing.values()))

    def without(self, others: Suspects) -> Suspects:
        return Suspects({o: without(places, others.standing.get(o, {})) for o, places in self.standing.items()})

    def union(self, others: Suspects) -> Suspects:
        return Suspects({o: union(self.standing.get(o, {}), others.standing.get(o, {})) for o in {*self.standing, *others.standing}})


class Result:
    """A result of the program: its outputs with their qualities, ``trace`` over them, and what leads back to the original run."""

    def __init__(self, trace: LineageRDD, quality: Quality, back: Callable[[LineageRDD], LineageRDD]) -> None:
        located = trace._located()
        self.trace, self.back = trace, back
        self.rids, self.outputs = [rid for _, rid, _ in located], [output for _, _, output in located]
        self.qualities = rated(quality, self.outputs)

    def traced(self, places: Sequence[int]) -> LineageRDD:
        found: LineageRDD = self.trace.at([self.rids[place] for place in places])
        return found


class Cleaning:
    """One loop over the run of ``trace``, which stands at its outputs."""

    def __init__(self, trace: LineageRDD, quality: Quality, suspects: Any, at: Any, edit: Any, localize: Localize) -> None:
        self._trace, self._quality, self._suspects, self._edit, self._localize = trace, quality, suspects, edit, localize
        self._run = trace.run
        self._at = None if at is None else trace._operator(at)
        self._replays = ExitStack()
        operator = trace._only("clean()")
        if operator != self._run.subject or not complete(self._run.lineage, operator):
            raise ReplayError(
                f"{self._run.action}() of run {self._run.name} did not ask for all of {self._run.graph[operator]}, so it cannot be compared with what a replay gives",
                remedy="Run an action on it that asks for all, such as count(), under capture, and clean that.",
            )

    def cleaned(self, enough: float | None, rounds: int) -> Cleaned:
        """Up to so many rounds. Raises what the program raises on fewer records."""
        with self._replays:
            return cleaned(self, enough, rounds, self._edit is not None)

    # ---- the program ------------------------------------------------------------------------------------------

    def result(self) -> Result:
        return Result(self._trace, self._quality, lambda trace: trace)

    def suspected(self, now: Result, worst: Sequence[int], bar: float) -> tuple[Suspects, str]:
        return suspected(self, now, worst, bar, self._suspects)

    def without(self, suspects: Suspects) -> tuple[Result, Replay]:
        replay = self._standing_at(suspects).replay(exclude=True, at=self._at, edit=self._edit)
        ran = self._replays.enter_context(replayed(replay))
        return Result(ran.trace, self._quality, ran.original), replay

    def listed(self, suspects: Suspects) -> tuple[tuple[SourceRecord, ...], int]:
        sources = self._standing_at(suspects).goBackAll()
        return tuple(sources.source_records(TOLD)), sources.count()

    # ---- which records ----------------------------------------------------------------------------------------

    def diagnosed(self, now: Result, places: Sequence[int], bar: float) -> Diagnosis:
        return self._localize(now.traced(places), Below(self._quality, bar))

    def found(self, now: Result, records: Sequence[SourceRecord]) -> Suspects:
        standing = named(now.trace, records)
        return self._aimed(now, now.trace._to(standing, lambda: standing))

    def behind(self, now: Result, places: Sequence[int]) -> Suspects:
        return self._aimed(now, now.traced(places))

    def made_of_only(self, now: Result, place: int, records: Sequence[SourceRecord]) -> bool:
        return not len(Suspects(now.traced([place]).goBackAll().standing).without(Suspects(named(now.trace, records))))

    def chosen(self, now: Result, places: Sequence[int], choose: Callable[[Any], Any]) -> Suspects:
        chosen = choose(now.traced(places).goBackAll())
        check_chosen(now.trace.run, chosen)
        return self._aimed(now, chosen)

    def _aimed(self, now: Result, trace: LineageRDD) -> Suspects:
        """Where in the original run the records stand that some of a result were made of: at its sources, or where they are to be left out."""
        if not trace.count():
            return Suspects({})
        here = now.back(trace)
        if self._at is None:
            return Suspects(here.goBackAll().standing)
        if self._at in here.operators:
            return Suspects({self._at: here.standing.get(self._at, {})})
        ahead = all(self._at not in self._run.graph.upstream(operator) for operator in here.operators)
        return Suspects((here.forward_to(self._at) if ahead else here.back_to(self._at)).standing)

    def _standing_at(self, suspects: Suspects) -> LineageRDD:
        kept = {operator: places for operator, places in suspects.standing.items() if count(places)}
        found: LineageRDD = self._trace._to(kept, lambda: kept)
        return found
