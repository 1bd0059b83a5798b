"""The contents of the culprit view's messages: causes, culprits, what somebody decided of them, and how a resume went. As JSON-ready data.

``labextension/src/crashing.ts`` is their other half; both read and write the files of ``tests/golden/culprits``.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from bigdebug.errors import BigdebugError, MessageError
from bigdebug.shown import place as line_of
from bigdebug.shown import shown
from bigdebug.trace.culprit import CrashCulprit, code_of
from bigdebug.trace.culprits import LOOKED_AT, Culprits
from bigdebug.trace.reached import outputs_reached
from bigdebug.trace.resumed import Resumed
from bigdebug.trace.run import Run
from bigdebug.views.causes import Cause
from bigdebug.views.decisions import Counts, Decisions
from bigdebug.views.fields import COLUMNS, cells, names
from bigdebug.views.fields import sources as shown_sources
from bigdebug.views.payload import LONGEST, Request, maybe, text
from bigdebug.views.repairing import Field, fields
from bigdebug.views.results import ResultPage

log = logging.getLogger("bigdebug")

CAUSES = 50
"""Causes that a message has; it says how many more there are."""

ROWS = 8
"""Culprits of a page."""

LINES = 60
"""Lines of a traceback, or a message, that a message has: the first half and the last."""

SOURCES = 20
"""Source records of a culprit that a message has; it says how many there are."""

EDITED = 200_000
"""Characters of texts to edit, of all fields of a record."""


# ---- causes -----------------------------------------------------------------------------------------------------


def causes(decisions: Decisions) -> dict[str, Any]:
    """The causes, the most frequent first, with what was decided of their culprits."""
    every = decisions.causes.most
    return {"causes": [_cause(decisions, cause) for cause in every[:CAUSES]], "left": max(0, len(every) - CAUSES)}


def _cause(decisions: Decisions, cause: Cause) -> dict[str, Any]:
    first = decisions.causes.culprit(cause.first)
    return {
        "cause": cause.number, "culprits": cause.culprits, "first": cause.first, "exception": text(first.exception_type), "message": text(_first_line(first.message)),
        "operator": text(str(first.operator)), "line": maybe(first.user_line), **counts(decisions.counts(cause.number)),
    }


def counts(known: Counts) -> dict[str, int]:
    return known._asdict()


def page(decisions: Decisions, cause: int, start: int) -> dict[str, Any]:
    """Some of the culprits of a cause, a line each, in the order in which they were found."""
    members = decisions.causes.members(cause)
    rows = [
        {"number": number, "record": text(shown(_record(decisions, number))), "decided": decisions.of(number)} for number in members[start : start + ROWS]
    ]
    return {"cause": cause, "start": start, "total": len(members), "rows": rows}


def place(decisions: Decisions, number: int) -> dict[str, int]:
    """Where a culprit stands: its cause, and its place among those of that."""
    cause = decisions.causes.of(number)
    return {"number": number, "cause": cause, "at": decisions.causes.members(cause).index(number)}


def _record(decisions: Decisions, number: int) -> Any:
    made = decisions.repair_of(number)
    return decisions.causes.culprit(number).record if made is None else made.record


# ---- one culprit ------------------------------------------------------------------------------------------------


def culprit(decisions: Decisions, number: int, run: Run | None) -> dict[str, Any]:
    """What is known of a culprit without a job."""
    one, made = decisions.causes.culprit(number), decisions.repair_of(number)
    return {
        **place(decisions, number), "operator": text(str(one.operator)), "partition": one.partition,
        "again": one.again, "met": maybe(one.met), "exception": text(one.exception_type), "message": lines(one.message),
        **_record_of(one, None if made is None else made.record, {} if made is None else made.edits),
        "line": _line(one), "locals": [[text(name), text(value)] for name, value in one.locals.items()], "traceback": lines("\n".join(one.frames())),
        "settled": one.told.settled, "decided": decisions.of(number), "fix": fix(decisions, number, run),
    }


def _record_of(one: CrashCulprit, made: Any, edits: Mapping[int, str | None]) -> dict[str, Any]:
    """The record by its fields; of one that was repaired, what they have become."""
    known = fields(one.record)
    now = fields(made) if edits else known
    left, found = EDITED, []
    for number, field in enumerate(known[:COLUMNS]):
        edited = field.text
        left -= len(edited or "")
        why = field.why if edited is None or left >= 0 else "All fields of the record are too long to edit here."
        found.append({
            "name": text(field.name), "value": text(shown(field.value)), "reads": field.reads, "text": None if why is not None else edited,
            "why": maybe(why), "edited": number in edits, "to": edits.get(number), "now": _now(now, number, edits),
        })
    return {"type": text(type(one.record).__name__), "whole": known[0].whole, "fields": found, "left": max(0, len(known) - COLUMNS)}


def _now(now: Sequence[Field], number: int, edits: Mapping[int, str | None]) -> str | None:
    return text(shown(now[number].value)) if number in edits else None


def _line(one: CrashCulprit) -> dict[str, Any] | None:
    """The line of the user's that was running, or the one that made the operator."""
    line = one.user_line
    if line is None:
        return None
    code = code_of(line)
    return {"place": text(str(line)), "code": text(code) or None, "inside": one.told.line is not None}


def fix(decisions: Decisions, number: int, run: Run | None) -> dict[str, Any]:
    """How another function is called on the records that crashed: a browser sends no code, so the user edits it in its cell, or runs this code."""
    one = decisions.causes.culprit(number)
    code = why = defined = None
    if one.partition is None:
        why = "A function in a DataFrame is not replaced: repair the rows, or define it anew and run the query again."
    elif not one.operator.form.record_wise:
        why = f"{text(str(one.operator))} takes more than a record at a time, so no function of one record comes in the place of its own."
    elif run is None or not run.resuming:
        why = "This run did not crash in this session."
    else:
        defined = _named(decisions.defined(number))
        code = f'run = next(run for run in dbg.runs if run.id == "{run.id}")\nrun.resume(fix={{run.graph[{one.operator.id}]: lambda record: ...}})'
    return {"code": code, "why": why, "defined": defined, "by": _named(decisions.fix_of(number))}


def _named(function: Any) -> str | None:
    """A function by its name and its place."""
    if function is None:
        return None
    code = function.__code__
    return text(f"{function.__qualname__}, {line_of(code.co_filename, code.co_firstlineno)}")


def sources(one: CrashCulprit) -> dict[str, Any]:
    """The source records that a culprit was made of. The first time it may cost a job, or wait until its partition was looked at."""
    found = one.sources
    return {"records": shown_sources(found[:SOURCES]), "total": len(found)}


def common(culprits: Culprits) -> dict[str, Any]:
    """What several of the known culprits have in common. The first time it may cost some jobs."""
    known = len(culprits.known)
    shared = culprits.common()
    return {
        "known": known, "looked": min(known, LOOKED_AT),
        "records": [{**each, "culprits": count} for each, (_, count) in zip(shown_sources(record for record, _ in shared), shared, strict=True)],
        "met": [{"what": text(what), "culprits": count} for what, count in culprits.met()],
    }


# ---- resuming ---------------------------------------------------------------------------------------------------


def ended(done: Resumed, seconds: float, reached: int | None) -> dict[str, Any]:
    """How a resume went, and how many of its outputs hang on the source records of what was repaired."""
    known = done.run.culprits.known
    again = [one for one in known if one.again]
    return {
        "run": done.run.id, "seconds": round(seconds, 1), "ran": done.ran if done.ran >= 0 else None, "reused": done.reused if done.ran >= 0 else None,
        "reached": reached, "crashed": len(known) - len(again), "again": [text(f"{shown(one.record)}: {one.exception_type}: {_first_line(one.message)}") for one in again[:SOURCES]],
        "more": max(0, len(again) - SOURCES), "notes": [text(why) for why in done.run.culprits.unknown],
    }


def reached(run: Run, replaced: Sequence[CrashCulprit]) -> int | None:
    """How many outputs of a run hang on the source records of culprits that something was put in the place of; None where its tables do not tell it at once."""
    if run.store is None or not replaced:
        return None
    try:
        return outputs_reached(run, [name for one in replaced for name in one.told.names()])
    except Exception:  # the result is there all the same, whatever it is
        log.debug("bigdebug could not tell what the repaired records reach", exc_info=True)
        return None


def problem(why: BigdebugError) -> dict[str, Any]:
    """Why a resume ended without a result."""
    what = f"{why.what.rstrip('.')}{'' if why.value is None else f' (got {shown(why.value)})'}."
    return {"what": lines(what), "remedy": text(why.remedy)}


def result(found: ResultPage) -> dict[str, Any]:
    """Rows of what the action gives, as texts."""
    return {
        "columns": names(found.columns), "left": max(0, len(found.columns) - COLUMNS), "start": found.start, "total": found.total,
        "rows": [cells(row) for row in found.rows],
    }


# ---- texts ------------------------------------------------------------------------------------------------------


def lines(given: str) -> list[str]:
    """The lines of a text; of many, the first and the last."""
    every = given[: 200 * LONGEST].splitlines()
    some = every if len(every) <= LINES else [*every[: LINES // 2], f"… {len(every) - LINES:,} lines …", *every[-LINES // 2 :]]
    return [text(line) for line in some]


def _first_line(given: str) -> str:
    return next((line for line in given[: 10 * LONGEST].splitlines() if line.strip()), "")


def edits_in(request: Request) -> dict[int, str | None]:
    """The texts of edited fields in a request, by their numbers. Raises MessageError if there are none of that kind."""
    found = request.content.get("edits")
    if not isinstance(found, list) or not found or not all(_is_edit(each) for each in found):
        raise MessageError("This request needs edits, a list of fields and their texts", value=found, remedy="Reload the page.")
    return {each["field"]: each["text"] for each in found}


def _is_edit(given: Any) -> bool:
    return isinstance(given, dict) and type(given.get("field")) is int and given["field"] >= 0 and isinstance(given.get("text", 0), str | None)
