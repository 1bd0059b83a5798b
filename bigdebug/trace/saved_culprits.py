"""Saved culprits: what a run's culprits are told in, as plain data. Records are texts: nothing of theirs is unpickled by who opens them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, NamedTuple

from bigdebug.errors import IncompleteLineageError
from bigdebug.graph import CallSite, OperatorGraph
from bigdebug.model import Origin, SourceRecord
from bigdebug.shown import masked, shown
from bigdebug.trace.culprits import LOOKED_AT, CrashCulprit, Culprits, Described

Names = Sequence[tuple[int, int]]
"""Operators and rids of source records."""

_NOT_ALL = "Not all of them had been found when the run was saved."


@dataclass(frozen=True)
class Saved:
    """What is told of one crash in a saved session. ``trace`` gives the trace over its source records, or raises why they are not known."""

    record: Described | None
    met: str | None
    exception: str
    message: str
    line: CallSite | None
    locals: Mapping[str, str]
    traceback: str
    named: Names
    trace: Callable[[], Any]
    raised: None = None
    settled: bool = True

    def names(self) -> Names:
        return self.named


class _LookedAt(NamedTuple):
    """The source records of a culprit of a DataFrame as they were when the run was saved."""

    sources: tuple[SourceRecord, ...]

    def source_records(self) -> tuple[SourceRecord, ...]:
        return self.sources


def dump_culprits(culprits: Culprits) -> dict[str, Any]:
    """Those that are known; none is looked for. The source records of the first 1,000 are named, as far as they can be without a job."""
    known = [_dump(culprit, number < LOOKED_AT) for number, culprit in enumerate(culprits.known)]
    return {"known": known, "unknown": [*map(masked, culprits.unknown), *([] if culprits.complete else [_NOT_ALL])]}


def _dump(culprit: CrashCulprit, traced: bool) -> dict[str, Any]:
    line = culprit.told.line
    return {
        "operator": culprit.operator.id, "partition": culprit.partition, "again": culprit.again,
        "record": None if culprit.record is None else shown(culprit.record), "met": None if culprit.met is None else masked(culprit.met),
        "exception": culprit.exception_type, "message": culprit.message, "line": None if line is None else {**asdict(line), "code": masked(line.code)},
        "locals": {name: masked(value) for name, value in culprit.locals.items()},
        "traceback": culprit.traceback, "sources": _names(culprit) if traced else [],
        "looked at": _looked_at(culprit) if culprit.partition is None else [],
    }


def _names(culprit: CrashCulprit) -> list[tuple[int, int]]:
    try:
        return [(int(operator), int(rid)) for operator, rid in culprit.told.names()]
    except Exception:  # whatever it is, the culprit is worth saving without them
        return []


def _looked_at(culprit: CrashCulprit) -> list[dict[str, Any]] | None:
    """The sources of a culprit of a DataFrame, if they were asked for."""
    known = vars(culprit).get("sources")
    return None if known is None else [{"record": shown(source.record), "rid": source.rid, "origin": asdict(source.origin)} for source in known]


def load_culprits(data: Mapping[str, Any], graph: OperatorGraph, tracing: Callable[[Names], Any]) -> tuple[list[CrashCulprit], list[str]]:
    """The culprits of a saved run, and what is not known of them."""
    return [_load(each, graph, tracing) for each in data["known"]], list(data["unknown"])


def _load(data: Mapping[str, Any], graph: OperatorGraph, tracing: Callable[[Names], Any]) -> CrashCulprit:
    named = [(operator, rid) for operator, rid in data["sources"]]
    told = Saved(
        record=None if data["record"] is None else Described(data["record"]), met=data["met"], exception=data["exception"], message=data["message"],
        line=None if data["line"] is None else CallSite(**data["line"]), locals=data["locals"], traceback=data["traceback"], named=named,
        trace=partial(_looked_up, data.get("looked at")) if data["partition"] is None else partial(tracing, named) if named else lambda: None,
    )
    return CrashCulprit(told, graph[data["operator"]], data["partition"], again=data["again"])


def _looked_up(known: Sequence[Mapping[str, Any]] | None) -> _LookedAt:
    """The sources of a culprit of a DataFrame, if they were asked for before it was saved."""
    if known is None:
        raise IncompleteLineageError(
            "Source records of a culprit of a DataFrame are found by a job, and this one's were not asked for when the run was saved",
            remedy="Ask for culprit.sources, and save the run after that.",
        )
    return _LookedAt(tuple(SourceRecord(Described(each["record"]), each["rid"], Origin(**each["origin"])) for each in known))
