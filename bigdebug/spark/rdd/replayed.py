"""Replayed: a replay that ran under a capture of our own, so that its outputs lead back to the records of the run that it replays."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from bigdebug.spark.asking import asking
from bigdebug.spark.predicate import EDIT, told
from bigdebug.spark.rdd.lineage_rdd import LineageRDD, trace_of
from bigdebug.trace.places import Places, union

if TYPE_CHECKING:
    from bigdebug.spark.rdd.replay import Replay


class Replayed:
    """The outputs of a replay, in ``records``, and the ``trace`` over all of them."""

    def __init__(self, replay: Replay, trace: LineageRDD, records: list[Any]) -> None:
        self.trace, self.records = trace, records
        self._original, self._cut = replay._trace, replay.cut
        self._stands_for = {made._definition.operator.id: operator for operator, made in replay.made.items()}

    def original(self, trace: LineageRDD) -> LineageRDD:
        """The records of the original run behind a trace of the replay, where the replay began: at sources, or at the operator where it was cut."""
        found: dict[int, Places] = {}
        for source, places in trace.goBackAll().standing.items():
            operator = self._stands_for[source]
            if operator != source:  # the records of a cut: those that it left, in their order
                places = {p: self._cut[operator][p][at] for p, at in places.items() if len(at)}
            found[operator] = union(found.get(operator, {}), places)
        standing = {operator: places for operator, places in found.items() if places}
        here: LineageRDD = self._original._to(standing, lambda: standing)
        return here

    def sources(self, trace: LineageRDD) -> LineageRDD:
        """The source records of the original run behind a trace of the replay."""
        here = self.original(trace)
        found: LineageRDD = here.goBackAll() if here.operators else here
        return found


@contextmanager
def replayed(replay: Replay) -> Iterator[Replayed]:
    """Run a replay under capture; its run is forgotten at the end. Raises what the program raises."""
    recorder, made = replay._trace._recorder, list[Any]()
    rdd = replay.rdd
    try:
        with told(EDIT), recorder.captures.alone("replay", "auto", made.append), asking(recorder.sc, "replaying", recorder.progress):
            records = rdd.collect()
        yield Replayed(replay, trace_of(recorder, made[-1], rdd._definition.operator.id), records)
    finally:
        for run in made:
            recorder.forget(run)
