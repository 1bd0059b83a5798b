"""Saved sessions: runs and their lineage in a directory, opened later without Spark and without the program (Titian 4.4).

``session.json`` lists the runs as plain data and all files with their digests, ``blocks/`` has lineage as it was captured, ``lineage/`` the same in files that
are mapped, ``outputs/`` records of results. Nothing in it is executed on opening, and pickles are loaded only if the directory is trusted.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from bigdebug.errors import NotCapturedError, StoreError, UnknownOperatorError
from bigdebug.shown import shown
from bigdebug.store.contained import contained, each_file, reading
from bigdebug.store.directory import LineageStore
from bigdebug.store.formats import check_format
from bigdebug.store.sealed import Problem, Sealed, read_catalog
from bigdebug.trace.across.pipelines import Pipeline
from bigdebug.trace.across.saved_steps import SavedStep
from bigdebug.trace.across.step import Step
from bigdebug.trace.run import Run, runs_table
from bigdebug.trace.saved.checks import check
from bigdebug.trace.saved.runs import SavedRun, load_run
from bigdebug.trace.saved.saving import ACTORS, BLOCKS, FORMAT, UNFINISHED, directory, looking, save
from bigdebug.trace.saved.trace import SavedTrace, standing_at, whole_trace
from bigdebug.trace.table import Table

__all__ = ["FORMAT", "SavedSession", "SavedTrace", "open_session", "save"]


def open_session(path: str | os.PathLike[str], trusted: bool = False) -> SavedSession:
    """The saved session in ``path``. Raises StoreError, StoreVersionError if it cannot be read here.

    Takes time by the runs, not by their associations. ``trusted`` says that pickles may be loaded where records are nothing else: do not say it of a directory that
    somebody else may have written.
    """
    home = directory("a saved session", path)
    with looking(home):
        half = (home / UNFINISHED).exists()
    if half:
        rest = "bigdebug prune removes what is left of it" if home.name.startswith(".") else "remove what is left of it first"
        raise StoreError("This session was not written to its end", value=str(home), remedy=f"Save it again; {rest}.")
    try:
        data = read_catalog(home)
        check_format(data["format"], FORMAT, home, "session was saved", "wrote")
        find, read = _files(home, data)
        store = LineageStore(home / BLOCKS, read)
        runs = tuple(load_run(run, store, find, read, trusted, standing_at) for run in data["runs"])
        steps = tuple(SavedStep(run, listed["step"], find) for run, listed in zip(runs, data["runs"]) if listed.get("step") is not None)
        return SavedSession(home, runs, data, steps)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError, MemoryError, OverflowError, UnknownOperatorError) as problem:
        raise _none_of_ours(path, f"{type(problem).__name__}: {problem}") from problem
    except StoreError as problem:
        if type(problem) is not StoreError:
            raise
        raise _none_of_ours(path, problem.what) from problem


def _none_of_ours(path: Any, why: str) -> StoreError:
    return StoreError(
        f"This is not a saved bigdebug session, or it was altered: {why}", value=str(path),
        remedy="Give a directory made by dbg.save(), or by bigdebug.provenance(..., at=DIR).",
    )


def _files(home: Path, catalog: dict[str, Any]) -> tuple[Callable[[str], Path], Callable[[Path], bytes]]:
    """What finds a file by its name, and what reads one: those that the catalog lists, from format 2 on."""
    if catalog["format"] == 1:
        return partial(contained, home), partial(_read, home)
    files = Sealed.of(home, catalog)
    return files.path, files.read


def _read(home: Path, path: Path) -> bytes:
    with reading(path):
        return contained(home, path.relative_to(home).as_posix()).read_bytes()


class SavedSession:
    """Runs that were saved. Traces answer rids and origins, records of results that were saved, and source records of files that are still there."""

    def __init__(self, path: Path, runs: tuple[SavedRun, ...], catalog: dict[str, Any], steps: tuple[SavedStep, ...] = ()) -> None:
        self.path = path
        self.runs = runs
        self.steps = steps
        """Its runs as steps of a pipeline, those that acted."""
        self.others: list[Callable[[], Iterable[Step]]] = []
        """What gives other steps that its pipeline knows of."""
        listed = catalog.get("files")
        self._listed: Mapping[str, Any] = listed if isinstance(listed, Mapping) else {}
        self.saved: float | None = catalog.get("saved")
        """When, in seconds since 1970; None for format 1."""

    def run(self, name: str) -> SavedRun:
        """The run of this id, else the latest of this name."""
        if not isinstance(name, str):
            raise TypeError(f"a run is given by its name or its id, not {shown(name)}; session.runs are those that there are")
        for known in ({run.id: run for run in self.runs}, {run.name: run for run in self.runs}):
            if name in known:
                return known[name]
        raise NotCapturedError(
            "There is no such run in the saved session", value=name,
            remedy=f"It has {', '.join(repr(r.name) for r in self.runs) or 'no runs'}.",
        )

    def lineage(self, run: Run | str, operator: int | None = None) -> SavedTrace:
        """The trace over all records of an operator of a run, of its action's RDD or DataFrame if None.

        Raises IncompleteLineageError for a DataFrame's run that was saved without lineage.
        """
        if operator is not None and type(operator) is not int:
            raise TypeError(f"an operator is given by its id, not {shown(operator)}; run.graph has those that there are")
        chosen = self._same(run) if isinstance(run, Run) else self.run(run)
        return whole_trace(chosen, chosen.subject if operator is None else chosen.graph[operator].id)

    def _same(self, run: Run) -> SavedRun:
        """The run of another run's id, whatever they are called."""
        for known in self.runs:
            if known.id == run.id:
                return known
        raise NotCapturedError("This run is none of the saved session", value=run.id, remedy="session.runs are those that it has.")

    @property
    def actors(self) -> Path | None:
        """The home of the actors that were saved with it; None if there are none. Raises StoreError where something else is there."""
        with looking(self.path / ACTORS):
            if not (self.path / ACTORS).exists():
                return self.path / ACTORS if self.files_of_actors else None
            strange = [name for name in each_file(self.path / ACTORS) if f"{ACTORS}/{name}" not in self._listed or (self.path / ACTORS / name).is_symlink()]
        if strange or (self.path / ACTORS).is_symlink():
            raise StoreError("This was not saved with the session", value=str(self.path / ACTORS / (strange or [""])[0]), remedy="Remove it, or save the session again.")
        return self.path / ACTORS

    @property
    def files_of_actors(self) -> list[str]:
        """The files of actors that were saved with it, below their home."""
        return [name.removeprefix(f"{ACTORS}/") for name in self._listed if name.startswith(f"{ACTORS}/")]

    def checked(self, path: Path) -> bytes:
        """The bytes of one of its files. Raises CorruptBlockError where they are not those that were saved."""
        return Sealed(self.path, self._listed).read(path)

    @cached_property
    def pipeline(self) -> Pipeline:
        """Its runs as steps, joined by the files between them, with the actors that were saved with it and those of this user: ``pipeline.backward("out.csv", lines=[12])``. No Spark, and no program."""
        return Pipeline(lambda: self.steps, *self.others)

    def problems(self) -> list[Problem]:
        """What is wrong with its files, all of which are read: altered, truncated, longer, missing, foreign, a link. Empty if nothing is."""
        return check(self.path)

    def runs_table(self) -> Table:
        """The runs, and what of each is here."""
        known = runs_table(self.runs)
        rows = [(*row, _size(run)) for row, run in zip(known.rows, self.runs)]
        notes = [f"{run.name}: {run.unsaved}" for run in self.runs if run.unsaved]
        notes += [f"{run.name}: its lineage was not saved; dbg.save(DIR, lineage=True) does" for run in self.runs if run.frame and run.associated is None and not run.unsaved]
        return Table((*known.header, "saved"), rows, (*known.notes, *notes))

    def __repr__(self) -> str:
        return f"<saved session {str(self.path)!r}: {len(self.runs)} runs>"

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        return self.runs_table()._repr_mimebundle_()


def _size(run: SavedRun) -> str:
    """What is here of a run's lineage, in few words."""
    if run.associated is not None:
        return f"{run.associated.pairs:,} associations, {run.associated.bytes / 1e6:.1f} MB"
    return "no lineage" if run.frame else "blocks"
