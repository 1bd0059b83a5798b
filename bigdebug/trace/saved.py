"""Saved sessions: runs and their blocks in a directory, opened later without Spark and without the program (Titian 4.4).

``session.json`` holds the runs as plain data, ``blocks/`` the lineage blocks. Nothing in it is executed on opening.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Collection, Iterable
from contextlib import nullcontext
from dataclasses import asdict
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from bigdebug.errors import IncompleteLineageError, NotCapturedError, SourceChangedError, StoreError
from bigdebug.graph import FINE, OperatorGraph, Stage
from bigdebug.model import SourceRecord, StageStatistics, Statistics
from bigdebug.store.directory import LineageStore
from bigdebug.store.formats import check_format
from bigdebug.trace.counts import whole
from bigdebug.trace.origins import SourceFacts, Stamp
from bigdebug.trace.page import Page, page_of
from bigdebug.trace.places import places_of
from bigdebug.trace.run import Run
from bigdebug.trace.saved_culprits import Names, dump_culprits, load_culprits
from bigdebug.trace.textlines import TextLines, local_path
from bigdebug.trace.trace import Trace, all_records

FORMAT = 1
_CATALOG, _BLOCKS = "session.json", "blocks"


def save(runs: Iterable[Run], store: LineageStore, path: str | os.PathLike[str]) -> Path:
    """Write ``runs`` and their lineage into a new or empty directory; it is whole or not there at all."""
    target = _directory("where a session is saved", path)
    unfinished: Path | None = None
    try:
        if target.exists() and any(target.iterdir()):
            raise StoreError(
                "The directory to save into is not empty", value=str(target), remedy="Name a new one, or remove it first."
            )
        target.parent.mkdir(parents=True, exist_ok=True)
        unfinished = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
        kept = list(runs)
        catalog = {"format": FORMAT, "runs": [_dump(run) for run in kept]}
        for needed in {run for known in kept for run in (known.id, *known.earlier)}:
            if (store.root / needed).exists():
                shutil.copytree(store.root / needed, unfinished / _BLOCKS / needed, ignore=store.uncounted)
        (unfinished / _CATALOG).write_text(json.dumps(catalog, indent=1, default=repr))
        if target.exists():
            target.rmdir()
        unfinished.rename(target)
    except OSError as problem:
        if unfinished is not None:
            shutil.rmtree(unfinished, ignore_errors=True)
        raise StoreError(
            f"The session cannot be saved: {problem}", value=str(target), remedy="Name a directory that you may write."
        ) from problem
    return target


def open_session(path: str | os.PathLike[str]) -> SavedSession:
    """The saved session in ``path``. Raises StoreError, StoreVersionError if it cannot be read here."""
    home = _directory("a saved session", path)
    store = LineageStore(home / _BLOCKS)
    try:
        data = json.loads((home / _CATALOG).read_text())
        check_format(data["format"], FORMAT, home, "session was saved", "wrote")
        runs = tuple(_load(run, store) for run in data["runs"])
        for run in runs:
            run.lineage.derive = partial(_refuse, run)
        return SavedSession(home, runs)
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as problem:
        raise StoreError(
            f"This is not a saved bigdebug session, or it was altered: {type(problem).__name__}: {problem}", value=str(path),
            remedy="Give a directory made by dbg.save(), or by bigdebug.provenance(..., at=DIR).",
        ) from problem


def _refuse(run: Run, stage: Stage, partitions: Collection[int]) -> None:
    """What a live session derives by running the program again, nobody derives here. A lost block is not named here."""
    lineage = run.lineage
    if stage.id.endswith(FINE):
        raise IncompleteLineageError(
            f"The lineage inside stage {stage.id.removesuffix(FINE)} ({run.graph[stage.ends]}) was not saved with the run",
            remedy="It is derived when a trace first stops there: ask that trace, then save.",
        )
    for partition in partitions:
        block = lineage.store.block(lineage.runs, stage.id, partition)
        if block is not None and block.stub:
            raise IncompleteLineageError(
                f"Of partition {partition} of stage {stage.id} ({run.graph[stage.ends]}) the saved run has counts only",
                remedy='Its tables are derived when a trace first needs them: ask that trace, then save; or capture with '
                'strategy="inject".',
            )


def _directory(what: str, path: Any) -> Path:
    """``path``, independent of the directory that the process is in."""
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"{what} is the path of a directory, not {path!r}")
    return Path(path).absolute()


class SavedSession:
    """Runs that were saved. Traces answer rids and origins, and source records of local text files."""

    def __init__(self, path: Path, runs: tuple[Run, ...]) -> None:
        self.path = path
        self.runs = runs

    def run(self, name: str) -> Run:
        """The latest run of this name or id."""
        for run in reversed(self.runs):
            if name in (run.name, run.id):
                return run
        raise NotCapturedError(
            "There is no such run in the saved session", value=name,
            remedy=f"It has {', '.join(repr(r.name) for r in self.runs) or 'no runs'}.",
        )

    def lineage(self, run: Run | str, operator: int | None = None) -> SavedTrace:
        """The trace over all records of an operator of a run, of its action's RDD if None."""
        chosen = self.run(run) if isinstance(run, str) else run
        at = chosen.subject if operator is None else chosen.graph[operator].id
        return SavedTrace(chosen, [at], lambda: all_records(chosen, at))

    def __repr__(self) -> str:
        return f"<saved session {str(self.path)!r}: {len(self.runs)} runs>"


class SavedTrace(Trace):
    """A trace of a saved run."""

    def _to(self, operators: Iterable[int], find: Any) -> SavedTrace:
        return SavedTrace(self.run, operators, find)

    @cached_property
    def _readers(self) -> dict[int, TextLines]:
        return {o: TextLines(facts.splits) for o, facts in self.run.sources.items() if facts.type == "text" and facts.plain}

    def source_records(self) -> list[SourceRecord]:
        """The traced lines of local text files, with rids and origins.

        Raises IncompleteLineageError for other sources, SourceChangedError if a file is not what the run read.
        """
        found: list[Any] = []
        for operator in self.operators:
            for stamp in self.run.sources[operator].stamps if operator in self.run.sources else ():
                path = local_path(stamp.path)
                if path is None or not os.path.exists(path) or Stamp.of(stamp.path, path) != stamp:
                    raise SourceChangedError(
                        "An input of the saved run is no longer what it was", value=stamp.path,
                        remedy="The file has to be the very one that the run read, and no copy; rids and origins are still answered.",
                    )
            known = whole(self.run.lineage, operator)
            for partition, positions in sorted(self.standing.get(operator, {}).items()):
                reader = self._readers.get(operator)
                lines = reader.read(partition, positions, known.get(partition)) if reader else None
                if lines is None:
                    raise IncompleteLineageError(
                        f"The records of {self.run.graph[operator]} are not kept with a saved session",
                        remedy="Trace to a text source on this machine, or ask for rids() and origins().",
                    )
                found.extend(lines)
        return [
            SourceRecord(line, int(rid), origin)
            for line, rid, origin in zip(found, self.rids().tolist(), self.origins(), strict=True)
        ]

    def source_record(self, operator: int, rid: int) -> SourceRecord:
        """One of the records of a source."""
        (found,) = _standing(self.run, [(operator, rid)]).source_records()
        return found

    def collect(self) -> list[Any]:
        return [known.record for known in self.source_records()]

    def page(self, start: int = 0, num: int = 50) -> Page:
        """``num`` records from number ``start`` on. Raises as ``source_records`` does where they are not kept."""
        return page_of(self, start, num)


def _dump(run: Run) -> dict[str, Any]:
    with nullcontext() if run.store is None else run.lineage.at_rest():
        culprits = dump_culprits(run.culprits)
    return {
        "id": run.id, "name": run.name, "action": run.action, "status": run.status, "subject": run.subject,
        "graph": run.graph.dump(), "statistics": asdict(run.statistics), "incomplete": run.incomplete,
        "earlier": run.earlier, "computed": run.computed, "sources": {str(o): facts.dump() for o, facts in run.sources.items()},
        "culprits": culprits, "began": run.began,
    }


def _load(data: dict[str, Any], store: LineageStore) -> Run:
    statistics = data["statistics"]
    stages = tuple(StageStatistics(**{**s, "operators": tuple(s["operators"])}) for s in statistics["stages"])
    records = {int(operator): count for operator, count in statistics["records"].items()}
    # Sessions that were saved before culprits were have none.
    saved = data.get("culprits", {"known": [], "unknown": [] if data["status"] == "succeeded" else ["Culprits were not saved with this run."]})
    run = Run(
        id=data["id"], name=data["name"], action=data["action"], status=data["status"], subject=data["subject"],
        graph=OperatorGraph.load(data["graph"]), statistics=Statistics(**{**statistics, "stages": stages, "records": records}),
        incomplete=tuple(data["incomplete"]), store=store, earlier=tuple(data["earlier"]),
        computed={stage: {int(p): digest for p, digest in known.items()} for stage, known in data["computed"].items()},
        sources={int(o): SourceFacts.load(facts) for o, facts in data["sources"].items()},
        began=data.get("began"),  # sessions that were saved before it was known have none
    )
    run.culprits.known, run.culprits.unknown = load_culprits(saved, run.graph, partial(_standing, run))
    return run


def _standing(run: Run, names: Names) -> SavedTrace:
    """The trace over source records."""
    found = {operator: places_of([rid for of, rid in names if of == operator]) for operator in dict.fromkeys(operator for operator, _ in names)}
    return SavedTrace(run, list(found), lambda: found)
