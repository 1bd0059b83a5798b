"""The contents of the trace view's messages: where a trace stands in its run, and pages of records. As JSON-ready data.

``labextension/src/tracing.ts`` is their other half; both read and write the files of ``tests/golden/view``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bigdebug.errors import MessageError
from bigdebug.graph import Operator, OperatorGraph
from bigdebug.trace.page import Page
from bigdebug.trace.run import Run
from bigdebug.views.fields import COLUMNS, cells, names
from bigdebug.views.payload import LOOKED_AT, Request, is_count, maybe, number_of, run_details, text

ROWS = 50
"""Records of a page."""


@dataclass(frozen=True)
class Crumb:
    """A trace of the way that somebody took, and how it was come to: by which move, from how many chosen records of which operator.

    ``chosen`` is None where all records of the trace before took part.
    """

    move: str
    trace: Any
    chosen: int | None = None
    source: int | None = None


def standing(run: Run, crumbs: Sequence[Crumb], at: int, change: int) -> dict[str, Any]:
    """A run's operators, the way that was taken over them, and where it can go on. Of a DataFrame, its plan is read."""
    graph = run.graph
    trace = crumbs[at].trace
    details = run_details(run)
    here, known = set(trace.operators), {each["id"] for each in details["operators"]}
    upstream = {u for o in here for u in graph.upstream(o)}
    downstream = {d for o in here for d in graph.downstream(o)}
    culprits = Counter(culprit.operator.id for culprit in run.culprits.known[:LOOKED_AT])
    return {
        **details, "name": text(run.name), "status": run.status, "summary": text(run.summary()), "change": change, "at": at,
        "operators": [
            {**each, "parents": _parents(graph, each["id"]), "does": _does(graph[each["id"]]), "culprits": culprits[each["id"]]}
            for each in details["operators"]
        ],
        "stages": [
            {"operators": list(stage.operators), "bytes": stage.bytes, "seconds": number_of(stage.seconds)} for stage in run.statistics.stages
        ],
        "crumbs": [
            {"move": crumb.move, "chosen": crumb.chosen, "from": crumb.source, "operators": list(crumb.trace.operators)} for crumb in crumbs
        ],
        "back": sorted(upstream & known - here),
        "ahead": sorted(downstream & graph.upstream(run.subject) & known - here),
    }


def _parents(graph: OperatorGraph, operator: int) -> list[int]:
    """Those of which an operator was made that somebody is shown: what is ours has others in its place."""
    found: list[int] = []
    for parent in graph[operator].parents:
        found += _parents(graph, parent) if "internal" in graph[parent].detail else [parent]
    return list(dict.fromkeys(found))


def _does(operator: Operator) -> str | None:
    """What Spark calls an operator of a query, with its expressions."""
    return maybe(operator.detail.get("does"))


def page(at: int, operator: int, start: int, found: Page) -> dict[str, Any]:
    """Records as rows of texts."""
    return {
        "at": at, "operator": operator, "start": start, "columns": names(found.columns), "left": max(0, len(found.columns) - COLUMNS),
        "names": None if found.names is None else [text(name) for name in found.names], "origins": found.origins,
        "numbers": list(found.numbers), "rows": [cells(row) for row in found.rows], "more": found.more, "beyond": found.beyond,
    }


def numbers_in(content: Mapping[str, Any]) -> list[int]:
    """The numbers of chosen records in a request, each once. Raises MessageError if there are none of that kind."""
    found = content.get("numbers")
    if not isinstance(found, list) or not all(map(is_count, found)):
        raise MessageError("This request needs numbers, a list of whole numbers", value=found, remedy="Reload the page.")
    return list(dict.fromkeys(found))


def operator_in(request: Request, run: Run) -> Any:
    """The operator that a request speaks of. Raises UnknownOperatorError if the run has none such."""
    return run.graph[request.number("operator")]
