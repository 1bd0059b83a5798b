"""Replay and ex-replay: the program of a run once more, on the records of a trace or on all others (Newt 3.4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from pyspark import RDD

from bigdebug.agents.likeness import likeness
from bigdebug.agents.recompute import Without
from bigdebug.errors import ReplayError
from bigdebug.graph import Form
from bigdebug.spark.jobs import progress
from bigdebug.spark.rdd.comparison import Comparison, compared
from bigdebug.spark.rdd.definition import definitions
from bigdebug.spark.rdd.evaluate import Partitions, evaluable, evaluate, flat
from bigdebug.trace.places import Places, count

if TYPE_CHECKING:
    from bigdebug.spark.rdd.lineage_rdd import LineageRDD

Edit = Callable[[Any], Any]

IN_PROCESS = 20_000
"""Up to so many input records a replay runs in this process: a Spark job costs more."""


class Replay:
    """A program about to run again; made by ``trace.replay(...)``. Lazy: it runs when its records are asked for.

    Few records are computed in this process, many by Spark: the answers are the same. ``rdd`` is the program on
    Spark, a captured RDD like the one that the user wrote, so that a replay can be captured and traced in its turn.
    """

    def __init__(self, trace: LineageRDD, exclude: bool, at: Any, edit: Edit | None) -> None:
        self._trace = trace
        self._exclude = exclude
        self._edit = edit
        self._run = trace.run
        self._questions = trace._questions
        self._subject = self._questions.rdd(self._run.subject)
        self._at = None if at is None else trace._operator(at)

    # ---- results ----------------------------------------------------------------------------------------------

    @cached_property
    def rdd(self) -> Any:
        """The program on Spark, with the records of the trace restricted, dropped or changed."""
        made: dict[int, Any] = {}
        for known in sorted(definitions(self._subject), key=lambda r: r._definition.operator.id):
            operator = known._definition.operator.id
            if operator in self._cut:
                made[operator] = self._changed(operator)
            elif all(p._definition.operator.id in made for p in known._definition.parents):
                again = self._questions.definition(operator).again
                made[operator] = again([made[p._definition.operator.id] for p in known._definition.parents])
            if operator in self._filtered and operator in made:
                made[operator] = _only(made[operator], self._traced_values(operator))
        return made[self._run.subject]

    def collect(self) -> list[Any]:
        """The records that the program gives now."""
        partitions = self._in_process()
        return flat(partitions) if partitions is not None else self._on_spark("collect")

    def count(self) -> int:
        partitions = self._in_process()
        return len(flat(partitions)) if partitions is not None else self._on_spark("count")

    def take(self, num: int) -> list[Any]:
        partitions = self._in_process()
        return flat(partitions)[:num] if partitions is not None else self._on_spark("take", num)

    def _on_spark(self, action: str, *arguments: Any) -> Any:
        recorder = self._questions.recorder
        with progress(recorder.sc, "replaying", recorder.progress):
            return getattr(self.rdd, action)(*arguments)

    def toPandas(self) -> Any:
        import pandas as pd

        return pd.DataFrame({"record": self.collect()})

    def compare(self) -> Comparison:
        """What is different from the run: for a replay of traced records, from the outputs that were traced."""
        if self._exclude:
            before = self._trace._to([self._run.subject], lambda: {self._run.subject: self._everything(self._run.subject)})
        else:
            before = self._trace if self._trace.operators == (self._run.subject,) else self._trace.goNextAll()
        return compared(before.collect(), self.collect())

    # ---- which records ----------------------------------------------------------------------------------------

    @cached_property
    def _cut(self) -> dict[int, Places]:
        """Where the program is entered, and with which records of the run."""
        traced = self._aimed()
        if not self._exclude:
            cut = dict(self._sources_of_trace())
            if self._at is not None:
                upstream = self._run.graph.upstream(self._at)
                cut = {o: places for o, places in cut.items() if o not in upstream or self._needed_otherwise(o)}
                cut[self._at] = traced[self._at]
            return {**{s.id: {} for s in self._run.graph.sources if s.id not in cut and self._reachable(s.id, cut)}, **cut}
        return {o: self._everything(o) if self._edit else _minus(self._everything(o), p) for o, p in traced.items()} | {
            s.id: self._everything(s.id) for s in self._run.graph.sources
            if s.id not in traced and self._reachable(s.id, traced)
        }

    def _aimed(self) -> Mapping[int, Places]:
        """The traced records at the operator where they are restricted, dropped or changed."""
        trace = self._trace
        if self._at is None:
            sources: Mapping[int, Places] = trace.goBackAll().standing
            return sources
        graph = self._run.graph
        ahead = not any(self._at in graph.upstream(o) for o in trace.operators)
        aimed: Mapping[int, Places] = (trace.forward_to(self._at) if ahead else trace.back_to(self._at)).standing
        return aimed

    def _sources_of_trace(self) -> Mapping[int, Places]:
        sources: Mapping[int, Places] = self._trace.goBackAll().standing
        return sources

    def _needed_otherwise(self, source: int) -> bool:
        return self._reachable(source, {self._at: {}})

    def _reachable(self, source: int, cut: Mapping[Any, Any]) -> bool:
        """Whether the subject still reads ``source`` when the program is cut at ``cut``."""
        todo, seen = [self._run.subject], set()
        while todo:
            operator = todo.pop()
            if operator == source:
                return True
            if operator not in seen and operator not in cut:
                seen.add(operator)
                todo.extend(self._run.graph[operator].parents)
        return False

    def _everything(self, operator: int) -> dict[int, Any]:
        sizes = dict(self._trace._sizes(operator, list(range(self._run.graph[operator].partitions))))
        return {p: np.arange(n, dtype=np.int64) for p, n in sizes.items()}

    # ---- non-monotonic operators ------------------------------------------------------------------------------

    @cached_property
    def _filtered(self) -> frozenset[int]:
        """Operators that can give more from less: a replay keeps only what the trace has there (Newt 3.4)."""
        if self._exclude or self._edit is not None:
            return frozenset()
        on_the_way = {u for o in self._trace.operators for u in self._run.graph.upstream(o)}
        return frozenset(
            o.id for o in self._run.graph
            if o.id in on_the_way and (o.form is Form.SUBTRACT or o.detail.get("outer_left") or o.detail.get("outer_right"))
        )

    def _traced_values(self, operator: int) -> frozenset[bytes]:
        """What the traced records at ``operator`` are like; read where the records are, for they may be unable to travel."""
        places = self._trace.back_to(operator).standing.get(operator, {})
        with self._trace._recorder.plain():
            found = self._questions.distributed(operator, places).map(_likeness_or_why_not).collect()
        for refused in found:
            if isinstance(refused, ReplayError):
                raise refused
        return frozenset(value for value in found if isinstance(value, bytes))

    # ---- how --------------------------------------------------------------------------------------------------

    def _changed(self, operator: int) -> Any:
        """An RDD of what the program reads at ``operator`` instead."""
        rdd = self._questions.rdd(operator)
        places = self._cut[operator]
        made: RDD[Any]
        with self._trace._recorder.plain():
            if not self._exclude:
                made = self._questions.distributed(operator, places)
                made = made if self._edit is None or not self._edits(operator) else made.map(self._edit)
            elif operator not in self._aimed():
                return rdd
            else:
                chosen = Without(dict(self._aimed()[operator]), self._edit)
                made = self._questions.distributed(operator, self._everything(operator), chosen)
        return self._trace._recorder.captured(made)

    def _edits(self, operator: int) -> bool:
        return operator == self._at if self._at is not None else True

    def _in_process(self) -> Partitions | None:
        """The result by partition if it can be computed here, else None."""
        total = sum(count(places) for places in self._cut.values())
        if total > IN_PROCESS or self._filtered or not evaluable(self._subject, self._questions.definition):
            return None
        given: dict[int, Partitions] = {}
        aimed = self._aimed() if self._edit is not None else {}
        for operator, places in self._cut.items():
            found = self._questions.records(operator, places)
            edited = aimed.get(operator, {}) if self._edits(operator) else {}
            given[operator] = [
                [self._one(r, p, edited.get(split)) for p, r in sorted(found.get(split, {}).items())]
                for split in range(self._run.graph[operator].partitions)
            ]
        return evaluate(self._subject, self._questions.definition, given)

    def _one(self, record: Any, position: int, edited: Any) -> Any:
        if edited is None or self._edit is None:
            return record
        at = np.searchsorted(edited, position)
        return self._edit(record) if at < len(edited) and edited[at] == position else record


def _only(rdd: Any, values: frozenset[bytes]) -> Any:
    return rdd.filter(lambda record: likeness(record) in values)


def _likeness_or_why_not(record: Any) -> bytes | ReplayError:
    try:
        return likeness(record)
    except ReplayError as refused:
        return refused


def _minus(everything: Mapping[int, Any], places: Places) -> dict[int, Any]:
    return {p: np.setdiff1d(at, places[p], assume_unique=True) if p in places else at for p, at in everything.items()}

