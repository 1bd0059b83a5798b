"""Cleaning: the worst outputs of a run traced, its program run without their suspicious records, again and again while that helps (Newt 4.2, 7.3.2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bigdebug.agents.likeness import likeness
from bigdebug.agents.quality import Below, Quality
from bigdebug.errors import LocalizeError, PredicateError, ReplayError
from bigdebug.localize.diagnosis import AMBIGUOUS, CULPRIT, Diagnosis, FaultSet
from bigdebug.mining.cleaned import Cleaned, Rating, Round, stands_out
from bigdebug.model import SourceRecord
from bigdebug.shown import shown
from bigdebug.spark.rdd.explaining import without
from bigdebug.spark.rdd.named import named
from bigdebug.spark.rdd.replayed import replayed
from bigdebug.trace.counts import complete
from bigdebug.trace.places import Places, count, union

if TYPE_CHECKING:
    from bigdebug.spark.rdd.lineage_rdd import LineageRDD

WORST = 20
"""Of so many outputs, the worst, the records are suspected in a round."""

TOLD = 50
"""Removed records that a round lists."""

Localize = Callable[[Any, Callable[[Any], Any]], Diagnosis]
Standing = Mapping[int, Places]


@dataclass(frozen=True)
class Choice:
    """Records of the original run that are suspected, and by what."""

    standing: Standing
    by: str


class Result:
    """A result of the program: its outputs with their qualities, ``trace`` over them, and what leads back to the original run."""

    def __init__(self, trace: LineageRDD, quality: Quality, back: Callable[[LineageRDD], LineageRDD]) -> None:
        located = trace._located()
        self.trace, self.back = trace, back
        self.rids, self.outputs = [rid for _, rid, _ in located], [output for _, _, output in located]
        self.qualities = [_rated(quality, output) for output in self.outputs]

    def worst(self, bar: float) -> list[int]:
        """The places of the outputs below the bar, the worst first."""
        below = [place for place, quality in enumerate(self.qualities) if quality < bar]
        return sorted(below, key=lambda place: self.qualities[place])[:WORST]

    def traced(self, places: Sequence[int]) -> LineageRDD:
        found: LineageRDD = self.trace.at([self.rids[place] for place in places])
        return found


class Cleaning:
    """One loop over the run of ``trace``, which stands at its outputs."""

    def __init__(self, trace: LineageRDD, quality: Quality, suspects: Any, at: Any, edit: Any, localize: Localize) -> None:
        self._trace, self._quality, self._suspects, self._edit, self._localize = trace, quality, suspects, edit, localize
        self._run = trace.run
        self._at = None if at is None else trace._operator(at)
        operator = trace._only("clean()")
        if operator != self._run.subject or not complete(self._run.lineage, operator):
            raise ReplayError(
                f"{self._run.action}() of run {self._run.name} did not ask for all of {self._run.graph[operator]}, so it cannot be compared with what a replay gives",
                remedy="Run an action on it that asks for all, such as count(), under capture, and clean that.",
            )

    def cleaned(self, enough: float | None, rounds: int) -> Cleaned:
        """Up to so many rounds. Raises what the program raises on fewer records."""
        with ExitStack() as stack:
            now = Result(self._trace, self._quality, lambda trace: trace)
            bar = stands_out(now.qualities) if enough is None else enough
            if bar is None:
                lowest = min(now.qualities, default=0.0)
                reason = f"the quality of none of the {len(now.outputs):,} outputs is unusually low: say which is good enough (enough=)"
                return Cleaned((), reason, lowest, tuple(now.outputs), edited=self._edit is not None)
            told: list[Round] = []
            removed: Standing = {}
            replay: Any = None
            reason = f"{rounds} rounds were asked for"
            while len(told) < rounds:
                if not (worst := now.worst(bar)):
                    reason = "no output is below the bar any more"
                    break
                try:
                    choice = self._chosen(now, worst, bar)
                except LocalizeError as trouble:
                    reason = _sentence(trouble.what)
                    break
                fresh = {o: without(places, removed.get(o, {})) for o, places in choice.standing.items()}
                if not sum(map(count, fresh.values())):
                    reason = "the records that are suspected now have been changed already"
                    break
                tried = {o: union(removed.get(o, {}), choice.standing.get(o, {})) for o in {*removed, *choice.standing}}
                attempt = self._standing_at(tried).replay(exclude=True, at=self._at, edit=self._edit)
                ran = stack.enter_context(replayed(attempt))
                after = Result(ran.trace, self._quality, ran.original)
                ratings = Rating.of(now.qualities, bar), Rating.of(after.qualities, bar)
                better = ratings[1].better(ratings[0])
                told.append(Round(*ratings, *self._listed(fresh), choice.by, better))
                if not better:
                    reason = f"round {len(told)} improved nothing, and was undone"
                    break
                now, removed, replay = after, tried, attempt
            else:
                if not now.worst(bar):
                    reason = "no output is below the bar any more"
            return Cleaned(tuple(told), reason, bar, tuple(now.outputs), replay, self._edit is not None)

    # ---- which records ----------------------------------------------------------------------------------------

    def _chosen(self, now: Result, worst: Sequence[int], bar: float) -> Choice:
        """The records suspected for the worst outputs. Raises LocalizeError if there are none."""
        bad = now.traced(worst)
        if callable(self._suspects):
            chosen = self._suspects(bad.goBackAll())
            if getattr(chosen, "run", None) is not bad.run:
                raise TypeError(f"suspects= gives those of the traced records that are suspected, as a trace, not {shown(chosen)}; suspects=lambda src: src.where(...)")
            return self._some(Choice(self._aimed(now, chosen), "you"))
        if self._suspects == "localize":
            try:
                return self._some(self._localized(now, bad, bar))
            except LocalizeError as trouble:
                return self._some(self._by_lineage(now, bad, bar, f"lineage, for localization says: {_sentence(trouble.what)}"))
        return self._some(self._by_lineage(now, bad, bar, "lineage"))

    def _localized(self, now: Result, bad: LineageRDD, bar: float) -> Choice:
        """Those without which outputs are good enough; if nothing would be left of an output, the one of its records without which it moves farthest."""
        found = self._localize(bad, Below(self._quality, bar))
        if found.verdict not in (CULPRIT, AMBIGUOUS) or not found.fault_sets:
            raise LocalizeError(f"{found.verdict}: {found.explanation}")
        chosen, by = list[SourceRecord](), f"localization ({found.verdict})"
        for fault in found.fault_sets:
            if len(fault.records) == 1 or not self._takes_all(now, bad, fault):
                chosen += fault.records
                continue
            ours = {(record.source, record.rid) for record in fault.records}
            chosen += [record for record, _ in found.ranking if (record.source, record.rid) in ours][:1]
            by = f"localization ({found.verdict}), and by influence where it takes all that an output was made of"
        standing = named(bad, chosen)
        return Choice(self._aimed(now, bad._to(standing, lambda: standing)), by)

    @staticmethod
    def _takes_all(now: Result, bad: LineageRDD, fault: FaultSet) -> bool:
        """Whether a fault set is all that some output which it explains was made of."""
        gone, explained = named(bad, fault.records), {likeness(output) for output in fault.outputs}
        for place, output in enumerate(now.outputs):
            if likeness(output) in explained:
                behind = now.traced([place]).goBackAll().standing
                if not any(count(without(places, gone.get(source, {}))) for source, places in behind.items()):
                    return True
        return False

    def _by_lineage(self, now: Result, bad: LineageRDD, bar: float, by: str) -> Choice:
        """All that only outputs which are not good enough were made of (Newt 7.3.2)."""
        good = now.traced([place for place, quality in enumerate(now.qualities) if quality >= bar])
        behind, others = self._aimed(now, bad), self._aimed(now, good)
        found = {o: without(places, others.get(o, {})) for o, places in behind.items()}
        if not sum(map(count, found.values())):
            raise LocalizeError(
                "Outputs that are good enough were made of all records that the worst ones were made of",
                remedy="Name an operator where they go apart (at=), or choose records by yourself (suspects=).",
            )
        return Choice(found, by)

    def _aimed(self, now: Result, trace: LineageRDD) -> Standing:
        """Where in the original run the records stand that some of a result were made of: at its sources, or where they are to be left out."""
        if not trace.count():
            return {}
        here = now.back(trace)
        if self._at is None:
            found: Standing = here.goBackAll().standing
            return found
        if self._at in here.operators:
            return {self._at: here.standing.get(self._at, {})}
        ahead = all(self._at not in self._run.graph.upstream(operator) for operator in here.operators)
        standing: Standing = (here.forward_to(self._at) if ahead else here.back_to(self._at)).standing
        return standing

    @staticmethod
    def _some(choice: Choice) -> Choice:
        if not sum(map(count, choice.standing.values())):
            raise LocalizeError("no records are suspected")
        return choice

    def _standing_at(self, standing: Standing) -> LineageRDD:
        kept = {operator: places for operator, places in standing.items() if count(places)}
        found: LineageRDD = self._trace._to(kept, lambda: kept)
        return found

    def _listed(self, fresh: Standing) -> tuple[Any, int]:
        """The source records of what a round removes, the first of them, and how many."""
        sources = self._standing_at(fresh).goBackAll()
        return tuple(sources.source_records(TOLD)), sources.count()


def check(quality: Any, suspects: Any, edit: Any) -> None:
    """Raise TypeError or ValueError for what cannot be cleaned with."""
    if not callable(quality):
        raise TypeError(f"quality is a function of an output that gives a number, higher for better ones, not {shown(quality)}; quality=lambda out: -abs(out[1])")
    if not callable(suspects) and suspects not in ("localize", "lineage"):
        raise ValueError(f"suspects is 'localize', 'lineage', or a function of the trace over source records, not {shown(suspects)}")
    if edit is not None and not callable(edit):
        raise TypeError(f"edit is a function that gives a record in place of another, not {shown(edit)}; edit=lambda r: ...")


def _rated(quality: Quality, output: Any) -> float:
    try:
        return quality(output)
    except Exception as error:  # it is the user's code that runs here
        raise PredicateError(
            f"quality= raised {type(error).__name__}: {error}, on the output {shown(output)}",
            remedy="It is called with each output: see that it takes them all, and gives a number, or None for the worst.",
        ) from error


def _sentence(text: str) -> str:
    """As a part of a sentence."""
    return text[:1].lower() + text[1:]
