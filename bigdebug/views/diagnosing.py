"""The contents of the localization view's messages: how far a search is, and its diagnosis. As JSON-ready data.

``labextension/src/diagnosing.ts`` is their other half; both read and write the files of ``tests/golden/diagnosis``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bigdebug.errors import BigdebugError
from bigdebug.localize.diagnosis import Diagnosis, FaultSet
from bigdebug.localize.progress import Point, Progress
from bigdebug.localize.search import Search
from bigdebug.model import SourceRecord
from bigdebug.shown import shown
from bigdebug.trace.page import fields_of
from bigdebug.views.fields import COLUMNS, cells, names, sources
from bigdebug.views.payload import number_of, text

ROWS = 20
"""Records of a fault set that a message has; others are asked for."""

FAULTS, OUTPUTS, SETS, MEMBERS, RANKED = 50, 20, 12, 5, 50
"""Fault sets, outputs of one, sets that would do as well, records of such a set, and records of the ranking that a message has; it says how many there are."""

POINTS = 300
"""Points of a course that a message has."""

LONGEST = 4_000
"""Characters of a sentence, which may name several records."""


def standing(search: Search, at: int) -> dict[str, Any]:
    """How a search stands; ``at`` counts what is said, so that who hears it late knows."""
    state, stopping, progress = search.state, search.stopping, search.progress
    return {
        "at": at, "state": state, "stopping": stopping, "progress": None if progress is None else _progress(progress), "course": course(search.course),
        "error": None if search.error is None else error(search.error), "diagnosis": None if search.diagnosis is None else diagnosis(search.diagnosis),
    }


def _progress(now: Progress) -> dict[str, Any]:
    return {
        "step": now.step.value, "tests": now.tests, "seconds": round(now.seconds, 1), "output": text(now.output), "number": now.looked_at, "outputs": now.outputs,
        "candidates": now.candidates, "left": now.left, "faults": now.faults, "explained": now.explained,
    }


def course(points: Sequence[Point]) -> list[list[float]]:
    """Seconds, candidates left and the output's number, of some of the points: the first, the last, and others evenly between."""
    step = max(1, -(-len(points) // POINTS))
    some = [*points[:-1:step], *points[-1:]]
    return [[round(point.seconds, 3), point.left, point.output] for point in some]


def error(problem: BaseException) -> dict[str, str]:
    """What a search raised, and what to do."""
    if isinstance(problem, KeyboardInterrupt):
        return {"what": "It was interrupted before anything was known.", "remedy": "Run the cell again; Stop ends it with what is known by then."}
    if isinstance(problem, BigdebugError):
        got = "" if problem.value is None else f" (got {shown(problem.value)})"
        return {"what": sentence(f"{problem.what}{got}."), "remedy": sentence(problem.remedy)}
    return {"what": sentence(f"The localization raised {type(problem).__name__}: {problem}"), "remedy": "The cell that ran it has the traceback."}


def diagnosis(known: Diagnosis) -> dict[str, Any]:
    """A diagnosis, with the first records of each fault set."""
    ranking = known.ranking[:RANKED]
    columns, rows = fields_of([record.record for record, _ in ranking])
    return {
        "verdict": known.verdict, "explanation": sentence(known.explanation), "incomplete": None if known.incomplete is None else sentence(known.incomplete),
        "tests": known.cost.tests, "seconds": round(known.cost.seconds, 1),
        "faults": [_fault(known, fault) for fault in known.fault_sets[:FAULTS]], "left": max(0, len(known.fault_sets) - FAULTS),
        "ranking": {
            "columns": _columns(columns), "total": len(known.ranking),
            "rows": [{"origin": text(str(record.origin)), "moves": number_of(score), "cells": cells(row)} for (record, score), row in zip(ranking, rows)],
        },
    }


def _fault(known: Diagnosis, fault: FaultSet) -> dict[str, Any]:
    return {
        "verdict": fault.verdict, "gone": fault.gone, "evidence": [sentence(each) for each in fault.evidence],
        "outputs": [text(shown(output)) for output in fault.outputs[:OUTPUTS]], "explains": len(fault.outputs),
        "records": records(known, fault, 0),
        "instead": [{"records": sources(each[:MEMBERS]), "total": len(each)} for each in fault.instead[:SETS]], "others": len(fault.instead),
    }


def records(known: Diagnosis, fault: FaultSet, start: int) -> dict[str, Any]:
    """Records of a fault set from a number on, by their fields."""
    columns, rows = fields_of([each.record for each in fault.records])
    some, end = fault.records[start: start + ROWS], start + ROWS
    return {
        "start": start, "total": len(fault.records), "columns": _columns(columns),
        "rows": [_row(known, record, row) for record, row in zip(some, rows[start:end])],
    }


def _row(known: Diagnosis, record: SourceRecord, fields: Sequence[Any]) -> dict[str, Any]:
    moves = known.moves(record)
    return {"origin": text(str(record.origin)), "moves": None if moves is None else number_of(moves), "cells": cells(fields)}


def _columns(columns: Sequence[str]) -> list[str]:
    return [*names(columns), *([f"and {len(columns) - COLUMNS:,} columns more"] if len(columns) > COLUMNS else [])]


def sentence(given: str) -> str:
    """A sentence of ours that may have texts of the user's in it."""
    return text(given, LONGEST)
