"""The contents of the datasets view's messages: the graph, and one dataset with its columns and its history. As JSON-ready data.

``labextension/src/feeding.ts`` is their other half; both read and write the files of ``tests/golden/datasets``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bigdebug.datasets.answers import Answer
from bigdebug.datasets.drawing import DatasetNode, Drawing, JobNode
from bigdebug.datasets.model import Dataset
from bigdebug.datasets.naming import last_part
from bigdebug.views.payload import text

COLUMNS = 300
"""Columns of a dataset that a message has."""

HISTORY = 20
"""Processes of a page of its history."""

REACHED = 200
"""Columns that a message says are made of one, or that it is made of."""

_SHORT = 60
"""Characters of a name within the graph."""


def graph(drawn: Drawing, trouble: str) -> dict[str, Any]:
    """The graph, laid out."""
    return {
        "nodes": [_node(node) for node in drawn.nodes],
        "links": [{"from": link.near, "to": link.far, "same": link.same, "way": [list(place) for place in link.way]} for link in drawn.links],
        "focus": drawn.focus, "left": drawn.left, "notes": [text(trouble)] if trouble else [],
    }


def short(dataset: Dataset) -> str:
    """A dataset as people call it."""
    return last_part(dataset.name) or str(dataset)


def dataset(number: int, of: Dataset, columns: Answer, history: Answer, start: int) -> dict[str, Any]:
    """A dataset: its columns, and a page of what was done to it and with it."""
    return {
        "dataset": number, "name": text(str(of)), "short": text(short(of), _SHORT), "kind": of.kind, "format": text(of.format),
        "columns": [
            {"name": text(row["column"]), "type": text(row["type"]), "made": [text(each) for each in row["made of"][:9]]} for row in list(columns)[:COLUMNS]
        ],
        "left": max(0, len(columns) - COLUMNS), "start": start, "history": [_done(row) for row in list(history)[start : start + HISTORY]],
        "more": len(history) > start + HISTORY, "notes": [text(note) for note in columns.notes],
    }


def column(name: str, up: Answer, down: Answer, reached: Iterable[int]) -> dict[str, Any]:
    """What a column is made of, and what is made of it; ``reached`` are the datasets of these by their numbers."""
    return {
        "column": text(name), "up": [_reached(row) for row in list(up)[:REACHED]], "down": [_reached(row) for row in list(down)[:REACHED]],
        "left": max(0, len(up) - REACHED) + max(0, len(down) - REACHED), "reached": sorted(set(reached)), "notes": [text(note) for note in (*up.notes, *down.notes)],
    }


def _node(node: DatasetNode | JobNode) -> dict[str, Any]:
    if isinstance(node, DatasetNode):
        named = {"dataset": node.id, "name": text(short(node.dataset), _SHORT), "full": text(str(node.dataset)), "kind": node.dataset.kind}
        return {**named, "facts": text(" ".join(filter(None, (node.dataset.kind, node.dataset.format))), _SHORT), "failed": False, "layer": node.layer, "place": node.place}
    failed = node.status in ("failed", "lost")
    runs = "1 run" if node.runs == 1 else f"{node.runs:,} runs"
    return {
        "dataset": None, "name": text(node.job, _SHORT), "full": text(node.job), "kind": node.sort, "facts": f"{runs}, the last {'failed' if node.status == 'failed' else 'was lost'}" if failed else runs,
        "failed": failed, "layer": node.layer, "place": node.place,
    }


def _done(row: dict[str, Any]) -> dict[str, Any]:
    rows = "" if row["rows"] is None else f"{row['rows']:,}"
    return {
        "when": row["when"].timestamp(), "what": row["what"], "job": text(row["job"]), "rows": rows, "schema": text(row["schema"]), "status": row["status"],
        "error": text(row["error"]), "cell": text(row["cell"]), "run": text(row["run"]),
    }


def _reached(row: dict[str, Any]) -> dict[str, Any]:
    return {"steps": row["steps"], "dataset": text(row["dataset"]), "column": text(row["column"]), "influence": row["influence"], "how": text(row["how"])}
