"""Comparing: two results side by side, with the inputs behind each output that changed, from the lineage of both."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, Protocol

from bigdebug.errors import UnknownColumnError
from bigdebug.localize.comparison import Change, Comparison, Key, difference, paired, unmatched
from bigdebug.model import SourceRecord
from bigdebug.shown import shown
from bigdebug.spark.predicate import unchanging
from bigdebug.spark.rdd.lineage_rdd import LineageRDD
from bigdebug.spark.rdd.replay import Replay
from bigdebug.spark.rdd.replayed import replayed
from bigdebug.spark.sql.lineage_frame import LineageFrame, lineage_of
from bigdebug.spark.sql.replay import FrameReplay
from bigdebug.trace.names import merged
from bigdebug.trace.places import count, rids_of, union

MOST_INPUTS = 2_000
"""Of an output that was made of more, the inputs are not compared: to read them all would take longer than the run."""

Behind = list[list[SourceRecord] | None]


class Side(Protocol):
    """One of the results."""

    records: list[Any]

    def behind(self, places: Sequence[int]) -> Behind:
        """The source records behind some of the records, each; None where they are too many."""


def compare(before: Any, after: Any, lineage: Callable[[Any], Any], key: Any, most: int) -> Comparison:
    """Two results compared; ``lineage`` gives the trace over one, and ``most`` changes are looked behind."""
    named = _key(key)
    with ExitStack() as stack:
        old, new = (stack.enter_context(_side(each, lineage)) for each in (before, after))
        if named is not None:
            for record in (*old.records[:1], *new.records[:1]):
                named(record)  # also where nothing changed
        removed, added = unmatched(old.records, new.records, named)
        gone, come = [old.records[i] for i in removed], [new.records[i] for i in added]
        pairs = [(removed[i], added[j]) for i, j in paired(gone, come, named)]
        paired_old, paired_new = {i for i, _ in pairs}, {j for _, j in pairs}
        every: list[tuple[int | None, int | None]] = [
            *pairs, *((i, None) for i in removed if i not in paired_old), *((None, j) for j in added if j not in paired_new),
        ]
        looked_at = every[:most]
        sides = [_behind(old, [i for i, _ in looked_at]), _behind(new, [j for _, j in looked_at])]
    changes, large = [], 0
    for at, (i, j) in enumerate(every):
        inputs = None
        if at < len(looked_at):
            behind = sides[0][at], sides[1][at]
            large += None in behind
            inputs = None if behind[0] is None or behind[1] is None else difference(behind[0], behind[1])
        changes.append(Change(() if i is None else (old.records[i],), () if j is None else (new.records[j],), inputs))
    notes = [f"Behind {len(every) - most:,} more changes nobody has looked: most= says behind how many."] if len(every) > most else []
    notes += [f"{large:,} changed outputs were made of more than {MOST_INPUTS:,} inputs, which are not compared."] if large else []
    return Comparison(tuple(come), tuple(gone), len(old.records) - len(gone), tuple(changes), tuple(notes))


def _behind(side: Side, places: Sequence[int | None]) -> Behind:
    """The inputs of each; of an output that is not there, none."""
    found = iter(side.behind([place for place in places if place is not None]))
    return [[] if place is None else next(found) for place in places]


def _key(given: Any) -> Key | None:
    """A function of a record that gives its key: itself, or one or several fields by name or number."""
    if given is None:
        return None
    if callable(given):
        return unchanging(given, "key=")
    if isinstance(given, str | int):
        return lambda record: _field(record, given)
    if isinstance(given, list | tuple) and all(isinstance(each, str | int) for each in given):
        return lambda record: tuple(_field(record, each) for each in given)
    raise TypeError(f"key is a function of an output, or fields of it by name or number, not {shown(given)}; key='city'")


def _field(record: Any, field: str | int) -> Any:
    try:
        return record[field]
    except (LookupError, TypeError, ValueError) as problem:
        raise UnknownColumnError(f"The output {shown(record)} has no field {shown(field)}", remedy="key= names columns, counts fields from 0, or is a function of an output.") from problem


# ---- sides --------------------------------------------------------------------------------------------------------------


@contextmanager
def _side(given: Any, lineage: Callable[[Any], Any]) -> Iterator[Side]:
    if isinstance(given, Replay):
        with replayed(given) as ran:
            # Edited records are not those of the run, and are shown as they are.
            yield _Records(ran.trace, ran.sources if given._edit is None else lambda each: each.goBackAll())
        return
    trace = lineage_of(given.run) if isinstance(given, FrameReplay) else lineage(given)
    yield _Rows(trace) if isinstance(trace, LineageFrame) else _Records(trace, lambda each: each.goBackAll())


class _Records:
    """The records of a trace over RDDs; ``sources`` gives those of the input behind some."""

    def __init__(self, trace: LineageRDD, sources: Callable[[Any], LineageRDD]) -> None:
        operator = trace._only("compare()")
        self._trace, self._sources, self._operator = trace, sources, operator
        located = trace._located()
        self._rids, self.records = [rid for _, rid, _ in located], [record for _, _, record in located]

    def behind(self, places: Sequence[int]) -> Behind:
        traces = [self._sources(self._trace.at([self._rids[place]])) for place in places]
        few = [trace for trace in traces if sum(map(count, trace.standing.values())) <= MOST_INPUTS]
        if not few:
            return [None for _ in traces]
        operators = {operator for trace in few for operator in trace.operators}
        standing = {o: union(*(trace.standing.get(o, {}) for trace in few)) for o in sorted(operators)}
        together = few[0]._to(standing, lambda: standing)
        known = {
            (operator, rid): SourceRecord(record, rid, origin, operator)
            for (operator, rid, record), origin in zip(together._located(), together.origins(), strict=True)
        }
        named = {id(trace): [known[o, rid] for o, places in trace.standing.items() for rid in rids_of(places).tolist()] for trace in few}
        return [named.get(id(trace)) for trace in traces]


class _Rows:
    """The rows of the result of a query. Equal ones are traced together."""

    def __init__(self, trace: LineageFrame) -> None:
        trace._only("compare()")
        self._trace, self.records = trace, trace.collect()

    def behind(self, places: Sequence[int]) -> Behind:
        found: list[dict[int, Any] | None] = []
        for place in places:
            trace = self._trace.equal_to([self.records[place]]).goBackAll()
            found.append({o: trace._names(o) for o in trace.operators} if trace.count() <= MOST_INPUTS else None)
        together: dict[int, Any] = {}
        for few in found:
            for operator, names in (few or {}).items():
                together[operator] = merged(together[operator], names) if operator in together else names
        records = self._trace.standing_at(together).source_records() if together else []
        datasets = self._trace.run.datasets()
        known = {(record.origin.dataset, record.rid): record for record in records}
        return [
            None if few is None else [known[at] for at in dict.fromkeys((datasets[o], rid) for o, rids in few.items() for rid in rids.to_pylist())]
            for few in found
        ]
