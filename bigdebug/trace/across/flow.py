"""Flow: what a question about a pipeline found: steps in their order, and at each file the records (Newt's tracing dataflow and tables, 3.3)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from bigdebug.errors import BigdebugError, UnknownStepError
from bigdebug.shown import shown
from bigdebug.trace.across.containment import Came, check_level, passed
from bigdebug.trace.across.flowing import Flowing, Reached
from bigdebug.trace.across.located import ITEMS, Located, Unit
from bigdebug.trace.across.paths import key_of, short
from bigdebug.trace.across.step import Step, named
from bigdebug.trace.table import Table

_SHOWN = 12
"""Positions, files and records that a table shows of each."""


class Flow:
    """Records that others were made of (``backward``), or that were made of them (``forward``), at every file between. Frozen.

    What is not exact is said in ``notes``, and ``exact`` is False then: files that were changed between steps, steps that cannot tell, records that cannot be counted.
    """

    def __init__(self, flowing: Flowing, ahead: bool) -> None:
        self.ahead = ahead
        self.steps: tuple[Step, ...] = tuple(sorted(flowing.passed, key=lambda step: flowing.dataflow.rank[step.id]))
        """The steps that processed the records, in an order in which data went."""
        self.files: tuple[Reached, ...] = tuple(flowing.reached.values())
        """The records at each file, nearest first."""
        self.exact = all(note.harmless for note in flowing.notes.values())
        self.notes: tuple[str, ...] = tuple(flowing.notes)
        self._inputs, self._outputs, self._units, self._held, self._asked = flowing.inputs, flowing.outputs, flowing.units, flowing.held, flowing.asked

    @property
    def sources(self) -> tuple[Reached, ...]:
        """Files that no known step wrote, or that were changed since: where the pipeline begins, as far as it is known."""
        return tuple(file for file in self.files if file.writer is None)

    @property
    def results(self) -> tuple[Reached, ...]:
        """Files that were written and that the flow did not go on from."""
        return tuple(file for file in self.files if file.writer is not None and not file.readers)

    def read(self, step: Step | str) -> tuple[Located, ...]:
        """The records that a step read, as it counts them (Newt's tracing table)."""
        return tuple(self._inputs.get(self.step(step).id, {}).values())

    def wrote(self, step: Step | str) -> tuple[Located, ...]:
        """The records that a step wrote."""
        return tuple(self._outputs.get(self.step(step).id, {}).values())

    def step(self, step: Step | str) -> Step:
        """A step of this flow by its name or id. Raises UnknownStepError if there is none, or several."""
        name = step if isinstance(step, str) else step.id
        return one_step(name, self.steps, "flow")

    def __getitem__(self, name: str) -> Reached:
        """The records at a file, named by its path or the end of it. Raises UnknownStepError for a file that the flow did not come through, or several."""
        if not isinstance(name, str):
            raise TypeError(f"a flow is asked for a file by its path, or the end of it, not {shown(name)}")
        found = [file for file in self.files if ends_with(file.extent.path, name)]
        exactly = [file for file in found if key_of(file.extent.path) == key_of(name)] or found
        if len(exactly) == 1:
            return exactly[0]
        paths = sorted({file.extent.path for file in exactly or self.files})
        if not exactly:
            near = get_close_matches(name, [short(path) for path in paths], n=3) or [short(path) for path in paths[:3]]
            raise UnknownStepError("The flow came through no such file", value=name, remedy=f"There are {', '.join(near) or 'none'}.")
        if len(paths) == 1:
            raise UnknownStepError("The flow came through this file more than once", value=name, remedy=f"Ask for it by who wrote it: {', '.join(_each(exactly))}.")
        raise UnknownStepError("Several files have this name", value=name, remedy=f"Name one by more of its path: {', '.join(paths[:3])}.")

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and any(ends_with(file.extent.path, name) for file in self.files)

    def __iter__(self) -> Iterator[Reached]:
        return iter(self.files)

    def records(self, file: str | Reached) -> list[Any]:
        """The records there, read from the file: lines, rows of a CSV or of JSON lines as they stand in it, rows of Parquet and ORC as dicts.

        Raises SourceChangedError if the file is not what it was, UntraceableError for what is not read here.
        """
        reached = file if isinstance(file, Reached) else self[file]
        return self._units.records(reached.located, reached.extent)

    def up(self, level: str) -> tuple[Any, ...]:
        """What contains the records. Of data: paths of a "file" or "dataset" (the directory of part files). Of what was done: each "job" (a step), "stage", "task" or "operator".

        Parts of steps (``Part``) are those in which records were made that this flow's records at the step's end were made of, whether or not these were written; a step of which no
        stages are known is one part. Costs the steps of a trace through each. Raises UnknownStepError for another level.
        """
        if level == "file":
            return tuple(dict.fromkeys(key_of(file.extent.path) for file in self.files))
        if level == "dataset":
            return tuple(dict.fromkeys(dataset_of(file.extent.path) for file in self.files))
        if check_level(level) == "job":
            return self.steps
        return tuple(part for step in self.steps for part in passed(step, level, self._came(step)))

    def _came(self, step: Step) -> Came:
        return Came(self.ahead, self.wrote(step), self._asked.get(step.id) if self.ahead else None, self._held.get(step.id))

    def toPandas(self) -> Any:  # noqa: N802 (PySpark's name)
        """A pandas DataFrame with a line for each record: path, unit, its number (lines from 1, as editors count), who wrote and who read it."""
        import pandas as pd  # half a second

        parts = [
            pd.DataFrame({
                "path": file.extent.path, "unit": file.located.unit.value, "number": file.located.positions + (file.located.unit is Unit.LINE),
                "writer": None if file.writer is None else file.writer.name, "readers": ", ".join(step.name for step in file.readers),
            })
            for file in self.files
        ]
        columns = ["path", "unit", "number", "writer", "readers"]
        return pd.concat(parts, ignore_index=True)[columns] if parts else pd.DataFrame(columns=columns)

    # ---- display ----------------------------------------------------------------------------------------------

    def show(self, file: str | Reached | None = None, n: int = 20) -> None:
        """Print the flow, or the first ``n`` records of a file."""
        print(self.table() if file is None else self.record_table(file, n))  # noqa: T201

    def table(self) -> Table:
        """A line for each file, in the order in which the records went, and the notes."""
        files = self.files if self.ahead else tuple(reversed(self.files))
        rows = [
            (_name(file), "" if file.writer is None else file.writer.name, ", ".join(step.name for step in file.readers), _count(file.located), numbers(file.located), _folder(file))
            for file in files
        ]
        every = self.notes if len(self.notes) <= _SHOWN else (*self.notes[:_SHOWN], f"And {len(self.notes) - _SHOWN} more notes.")
        way = " -> ".join(f"{step.name} ({step.kind})" for step in self.steps)
        return Table(("file", "written by", "read by", "records", "which", "in"), rows, every, caption=way)

    def record_table(self, file: str | Reached, n: int = 20) -> Table:
        """The first ``n`` records at a file with their numbers."""
        reached = file if isinstance(file, Reached) else self[file]
        some = Located(reached.located.path, reached.located.unit, reached.located.positions[:n])
        try:
            records, problems = self.records(Reached(some, reached.extent)), list[str]()
        except BigdebugError as problem:
            records, problems = [""] * len(some), [str(problem)]
        left = len(reached.located) - len(some)
        more = (f"And {left:,} more.",) if left else ()
        lines = reached.located.unit is Unit.LINE
        cells = [r if isinstance(r, str) else shown(r) for r in records]
        return Table((reached.located.unit.value, "record"), [(str(p + lines), cell) for p, cell in zip(some.positions.tolist(), cells, strict=True)], (*more, *problems), reached.extent.path)

    def __repr__(self) -> str:
        return f"<flow {'forward' if self.ahead else 'backward'} through {len(self.steps)} steps and {len(self.files)} files{'' if self.exact else ', not exact: see notes'}>"

    def _repr_mimebundle_(self, **kwargs: object) -> dict[str, str]:
        return self.table()._repr_mimebundle_()


def _each(files: Sequence[Reached]) -> Iterator[str]:
    """How to ask for each version of a file: by the name of who wrote it, or his id where others are called so, too."""
    names = [file.writer.name for file in files if file.writer is not None]
    yield from (f"flow.wrote({named(file.writer) if names.count(file.writer.name) == 1 else repr(file.writer.id)})" for file in files if file.writer is not None)
    if len(names) < len(files):
        yield "flow.sources, for what no step wrote"


def numbers(located: Located) -> str:
    """Which records, as people count: lines from 1, rows and bytes from 0."""
    if located.unit is Unit.WHOLE:
        return "whole file"
    some = (located.positions[:_SHOWN] + (located.unit is Unit.LINE)).tolist()
    return f"{located.unit.value}{'s' if len(located) > 1 else ''} {', '.join(map(str, some))}{', …' if len(located) > _SHOWN else ''}"


def _count(located: Located) -> str:
    return "all" if located.unit is Unit.WHOLE else f"{len(located):,}"


def _name(file: Reached) -> str:
    return "(no file)" if file.extent.path.startswith(ITEMS) else short(file.extent.path)


def _folder(file: Reached) -> str:
    return "" if file.extent.path.startswith(ITEMS) else key_of(file.extent.path).rpartition("/")[0]


def dataset_of(path: str) -> str:
    """What a file is a part of: the directory that a job wrote, above those of partitions (``day=1``); else the file itself."""
    parent, _, name = key_of(path).rpartition("/")
    if not name.startswith(("part-", "part_")):
        return key_of(path)
    while "=" in parent.rpartition("/")[2]:
        parent = parent.rpartition("/")[0]
    return parent


def ends_with(path: str, name: str) -> bool:
    """Whether a file is meant by a name: its path, or the last parts of it."""
    key, wanted = key_of(path), name.rstrip("/")
    return key == key_of(wanted) or key.endswith(f"/{wanted}") or path == wanted


def one_step(name: str, steps: Sequence[Step], of: str) -> Step:
    """The step of this id, or the only one of this name. Raises UnknownStepError."""
    found = [step for step in steps if step.id == name] or [step for step in steps if step.name == name]
    if len(found) == 1:
        return found[0]
    if found:
        raise UnknownStepError(f"{len(found)} steps have this name", value=name, remedy=f"Give an id: {', '.join(step.id for step in found[:5])}.")
    names: Mapping[str, None] = dict.fromkeys([step.name for step in steps] + [step.id for step in steps])
    near = get_close_matches(name, list(names), n=3) or list(names)[:3]
    raise UnknownStepError(f"The {of} has no such step", value=name, remedy=f"There are {', '.join(near) or 'none'}.")
