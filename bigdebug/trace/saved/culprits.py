"""Saved culprits: what a run's culprits are told in, as plain data. Records are texts: nothing of theirs is unpickled by who opens them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, NamedTuple

from bigdebug.errors import BigdebugError, IncompleteLineageError
from bigdebug.graph import CallSite, OperatorGraph
from bigdebug.model import SourceRecord
from bigdebug.shown import masked, shown
from bigdebug.trace.culprit import CrashCulprit, Described
from bigdebug.trace.culprits import LOOKED_AT, Culprits
from bigdebug.trace.saved import told

Names = Sequence[tuple[int, int]]
"""Operators and rids of source records."""

_NOT_NAMED = f"Source records are saved of the first {LOOKED_AT:,} culprits of a run"
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
        "traceback": culprit.traceback, **_named(culprit, traced),
        "looked at": _looked_at(culprit) if culprit.partition is None else [],
    }


def _named(culprit: CrashCulprit, traced: bool) -> dict[str, Any]:
    """Its source records; or why they are not known, for it is worth saving without them."""
    if not traced:
        return {"sources": [], "unnamed": _NOT_NAMED}
    if not culprit.told.settled:
        return {"sources": [], "unnamed": "Its partition had not been looked at to the end when the run was saved"}
    try:
        return {"sources": [(int(operator), int(rid)) for operator, rid in culprit.told.names()], "unnamed": ""}
    except Exception as error:  # whatever it is
        return {"sources": [], "unnamed": masked(error.what if isinstance(error, BigdebugError) else f"{type(error).__name__}: {error}")}


def _looked_at(culprit: CrashCulprit) -> list[dict[str, Any]] | None:
    """The sources of a culprit of a DataFrame, if they were asked for."""
    known = vars(culprit).get("sources")
    return None if known is None else [{"record": shown(source.record), "rid": source.rid, "origin": asdict(source.origin)} for source in known]


def load_culprits(data: Mapping[str, Any], graph: OperatorGraph, tracing: Callable[[Names], Any]) -> tuple[list[CrashCulprit], list[str]]:
    """The culprits of a saved run, and what is not known of them."""
    return [_load(each, graph, tracing, number < LOOKED_AT) for number, each in enumerate(data["known"])], list(told.each(told.text, data["unknown"]))


def _load(data: Mapping[str, Any], graph: OperatorGraph, tracing: Callable[[Names], Any], traced: bool) -> CrashCulprit:
    named = list(told.each(_named_one, data["sources"]))
    partition, looked = told.maybe(told.partition, data["partition"]), data.get("looked at")
    account = Saved(
        record=told.maybe(_described, data["record"]), met=told.maybe(told.text, data["met"]), exception=told.text(data["exception"]), message=told.text(data["message"]),
        line=told.maybe(told.line, data["line"]), locals=told.by_text(told.text, data["locals"]), traceback=told.text(data["traceback"]), named=named,
        trace=partial(_looked_up, told.maybe(partial(told.each, _source), looked)) if partition is None
        else partial(_traced, named, tracing, str(data.get("unnamed", "" if traced else _NOT_NAMED))),
    )
    return CrashCulprit(account, graph[data["operator"]], partition, again=told.flag(data["again"]))


def _named_one(given: Sequence[Any]) -> tuple[int, int]:
    operator, rid = given
    return told.count(operator), told.count(rid)


def _described(given: Any) -> Described:
    return Described(told.text(given))


def _source(given: Mapping[str, Any]) -> SourceRecord:
    return SourceRecord(_described(given["record"]), told.count(given["rid"]), told.origin(given["origin"]))


def _traced(named: Names, tracing: Callable[[Names], Any], unnamed: str) -> Any:
    """The trace over the source records of a culprit of a program; None if it has none."""
    if unnamed:
        raise IncompleteLineageError(f"It was not saved where this culprit came from: {unnamed}", remedy="Ask the live session for culprit.sources, or run the job again.")
    return tracing(named) if named else None


def _looked_up(known: tuple[SourceRecord, ...] | None) -> _LookedAt:
    """The sources of a culprit of a DataFrame, if they were asked for before it was saved."""
    if known is None:
        raise IncompleteLineageError(
            "Source records of a culprit of a DataFrame are found by a job, and this one's were not asked for when the run was saved",
            remedy="Ask for culprit.sources, and save the run after that.",
        )
    return _LookedAt(known)
