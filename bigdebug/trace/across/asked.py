"""Asked: what a user asks a pipeline about, as records that steps read or wrote: lines, rows, whole files and directories, traces, culprits."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from operator import index
from typing import Any

import numpy as np

from bigdebug.errors import (
    BigdebugError,
    PipelineError,
    SourceChangedError,
    UnknownRecordError,
    UnknownStepError,
    UntraceableError,
)
from bigdebug.shown import shown
from bigdebug.trace.across.counted import counted_alike, counted_by
from bigdebug.trace.across.dataflow import Dataflow, may_be_of
from bigdebug.trace.across.located import FOLDER, ITEMS, Extent, Located, Unit
from bigdebug.trace.across.meant import known_paths, may_be_there, unknown
from bigdebug.trace.across.notes import Note, notes_of
from bigdebug.trace.across.paths import key_of, short
from bigdebug.trace.across.stamps import same_content, stamp_of
from bigdebug.trace.across.step import Step, failed_in, named, traced
from bigdebug.trace.across.units import FIRST, Units
from bigdebug.trace.textlines import local_path


@dataclass(frozen=True, eq=False)
class Asked:
    """Where a flow starts: at records that steps read, and at such that they wrote. ``notes`` say what is not certain of it."""

    inputs: list[tuple[Step, Located]] = field(default_factory=list)
    outputs: list[tuple[Step, Located]] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    own: bool = False
    """Whether the records are those of a step itself, and not of a file."""
    held: dict[str, object] = field(default_factory=dict)
    """By step, what a user holds of it, and asks about."""
    steps: tuple[Step, ...] = ()
    """The steps that have had the records, whether or not they read or wrote a file."""


@dataclass(frozen=True)
class Chosen:
    """Records of a file as a user names them: lines from 1, rows from 0, all of it if neither."""

    lines: tuple[int, ...] | None = None
    rows: tuple[int, ...] | None = None

    @classmethod
    def of(cls, lines: object, rows: object) -> Chosen:
        """Raises TypeError for what are no numbers, UnknownRecordError for line 0."""
        if lines is not None and rows is not None:
            raise TypeError("lines or rows: a file is counted in one way at a time")
        return cls(_numbers("lines", lines, 1), _numbers("rows", rows, 0))

    def of_file(self, path: str) -> Located:
        if self.lines is not None:
            return Located.of(path, Unit.LINE, np.array(self.lines) - 1)
        return Located(path, Unit.WHOLE, FIRST) if self.rows is None else Located.of(path, Unit.ROW, self.rows)


def _numbers(what: str, given: object, least: int) -> tuple[int, ...] | None:
    if given is None:
        return None
    every: list[Any] = list(given) if isinstance(given, Iterable) and not isinstance(given, str | bytes) else [given]
    if any(isinstance(n, bool) or not hasattr(n, "__index__") for n in every):
        raise TypeError(f"{what} takes whole numbers, not {shown(given)}")
    numbers = tuple(index(n) for n in every)
    if any(n < least for n in numbers):
        raise UnknownRecordError(f"{what} count from {least}", value=min(numbers), remedy="As editors show them." if least else "The header of a CSV is no row.")
    return numbers


def asked(flow: Dataflow, units: Units, what: object, chosen: Chosen, step: Step | None, ahead: bool) -> Asked:
    """Where a flow from ``what`` starts. ``step`` says whose version of a file is meant, else it is the file as it is now.

    Raises UnknownStepError for a file or records that no step has, SourceChangedError if a file is not what a step read or wrote.
    """
    if isinstance(what, str | os.PathLike):
        return _file(flow, units, os.fspath(what), chosen, step, ahead)
    if isinstance(what, Located):
        return _located(flow, units, [what], step, ahead)
    if isinstance(what, list | tuple) and what and all(isinstance(one, Located) for one in what):
        return _located(flow, units, list(what), step, ahead)
    if chosen != Chosen():
        raise TypeError("lines and rows are of a file, which is named by its path")
    whole = next((known for known in flow.steps if known is what), None)
    return _held(flow, what, ahead) if whole is None else _step(whole)


def _step(step: Step) -> Asked:
    """From all that a step wrote; what it read, if it wrote nothing: that it may not know all of, which nobody asks it behind this."""
    every = [(step, Located(extent.path, Unit.WHOLE, FIRST)) for extent in step.writes or step.reads]
    return Asked(outputs=every, own=True) if step.writes else Asked(inputs=every, notes=[*notes_of(step, ())], own=True)


def _held(flow: Dataflow, what: object, ahead: bool) -> Asked:
    """From records that a step alone can name: a trace, rows, a culprit."""
    for step in reversed(flow.steps):
        holds = traced(step)
        if holds is not None:
            found = holds.outputs_of(what) if ahead else holds.inputs_of(what)
            if found is not None:
                records = [(step, one) for one in found if len(one)]
                # Of one that failed nothing is told but where its culprits stand, and that is known.
                notes = [] if failed_in(step) else [*notes_of(step, found)]
                if ahead:
                    return Asked(outputs=records, notes=notes, own=True, held={step.id: what}, steps=(step,))
                return Asked(inputs=records, notes=notes, own=True, held={step.id: what}, steps=(step,))
    raise UnknownStepError(
        "No step of the pipeline knows these records", value=what,
        remedy="Give the path of a file with lines=[...] or rows=[...], a trace over a captured run, or a culprit of one.",
    )


def _located(flow: Dataflow, units: Units, found: Sequence[Located], step: Step | None, ahead: bool) -> Asked:
    every = []
    for one in found:
        key = key_of(one.path)
        every.append(_versions(flow, units, key, one, step, ahead) if flow.knows(key) else _of_folder(flow, one.path))
    return _together(every)


def _together(parts: Iterable[Asked]) -> Asked:
    """From all records that these start at."""
    every = list(parts)
    return Asked([one for part in every for one in part.inputs], [one for part in every for one in part.outputs], [note for part in every for note in part.notes])


def _of_folder(flow: Dataflow, path: str) -> Asked:
    """From a file that no step is known to have read or written, in a folder where nobody knows which files are whose. Raises UnknownStepError for another."""
    writers = flow.unlisted(path) if may_be_there(path) else []
    if not writers:
        raise unknown(flow, path)
    note = Note(may_be_of([writer for writer, _ in writers], writers[0][1], path))
    return Asked(outputs=[(writer, Located(folder.path, Unit.WHOLE, FIRST)) for writer, folder in writers], notes=[note])


def _file(flow: Dataflow, units: Units, name: str, chosen: Chosen, step: Step | None, ahead: bool) -> Asked:
    """From a file, or from all that a directory has."""
    paths = known_paths(flow, name)
    if len(paths) > 1 and chosen != Chosen():
        raise PipelineError(f"{short(name)} has {len(paths)} files, and lines and rows are of one", value=name, remedy=f"Name one: {', '.join(map(short, paths[:3]))}.")
    return _located(flow, units, [chosen.of_file(path) for path in paths], step, ahead)


def _versions(flow: Dataflow, units: Units, path: str, found: Located, step: Step | None, ahead: bool) -> Asked:
    """Records of a file as it is now, or as ``step`` had it."""
    writers, readers = flow.writers(path), flow.readers(path)
    rows = list(dict.fromkeys(extent for _, extent in (*writers, *readers) if extent.unit is Unit.ROW))
    if step is not None:
        writers = [use for use in writers if use[0].id == step.id]
        readers = [use for use in readers if use[0].id == step.id]
        # Of a file that it changed in place: what it wrote was made of records, what it read others are made of.
        writers, readers = ([] if readers and ahead else writers), ([] if writers and not ahead else readers)
        if not (writers or readers):
            raise UnknownStepError(f"{named(step)} neither read nor wrote this file", value=path, remedy="pipeline.table() lists steps and their files.")
    if writers and (step is not None or not ahead):
        every = [use for use in writers if use[1].form == FOLDER]
        return _together(_written(units, use, found, rows, now=step is None) for use in every or writers[-1:])
    uses = readers if step is not None or not ahead else _of_now(path, readers)
    if not uses and not readers:
        return _written(units, writers[-1], found, rows, now=step is None)
    others = [Note(f"{named(reader)} read {short(path)} when it was not what it is now.") for reader, extent in readers if (reader, extent) not in uses]
    return _together([_read(units, uses, found, rows), Asked(notes=others)])


def _read(units: Units, uses: Sequence[tuple[Step, Extent]], found: Located, rows: Sequence[Extent]) -> Asked:
    """What steps read. Who has no record there, or cannot tell which it is, is no hindrance to the others: of the one a note says so, of the other all is taken.

    Raises for what is a record to none of them: what one of them says, one by whom it is beyond the end of the file before all others.
    """
    inputs: list[tuple[Step, Located]] = []
    failed: list[tuple[Step, Extent, BigdebugError]] = []
    notes: list[Note] = []
    for reader, extent in uses:
        try:
            there = counted_by(units, reader, found, extent, rows)
        except BigdebugError as problem:
            failed.append((reader, extent, problem))
            continue
        if len(found) and not len(there):
            notes.append(Note(f"What is asked of {short(extent.path)} are no records for {named(reader)}: a header, or blank lines.", True))
        else:
            inputs.append((reader, there))
    if not counted_alike(units, found, [extent for _, extent in uses]):
        notes.append(Note(f"Those who read {short(found.path)} count its rows in several ways, and each has those that have these numbers to it; ask by lines=[...], or of one: step=..."))
    beyond = [(reader, problem) for reader, _, problem in failed if isinstance(problem, UnknownRecordError)]
    untold = [each for each in failed if not isinstance(each[2], UnknownRecordError)]
    if uses and not inputs:
        if beyond:
            raise beyond[0][1]
        if not untold:
            raise _no_records(uses[0][1])
        if not any(isinstance(problem, UntraceableError) for _, _, problem in untold):
            raise untold[0][2]
    notes += [Note(f"What is asked of {short(found.path)} are no records for {named(reader)}: {problem}", True) for reader, problem in beyond]
    notes += [_all_taken(*one) for one in untold]
    return Asked([*inputs, *((reader, Located(extent.path, Unit.WHOLE, FIRST)) for reader, extent, _ in untold)], notes=notes)


def _all_taken(step: Step, extent: Extent, problem: BigdebugError) -> Note:
    return Note(f"All of {short(extent.path)} is taken for {named(step)}, for which of its records these are cannot be told: {problem}")


def _no_records(extent: Extent) -> UnknownRecordError:
    return UnknownRecordError("These lines are no records: a header, or blank", value=extent.path, remedy="Ask for lines behind the header that have something in them.")


def _written(units: Units, use: tuple[Step, Extent], found: Located, rows: Sequence[Extent], now: bool) -> Asked:
    """What a step wrote, if that is still there; ``rows`` are the ways in which steps count its rows."""
    step, extent = use
    notes: list[Note] = []
    here = stamp_of(extent.path, digest=False) if now else None
    if here is not None and extent.stamp is not None:
        left = stamp_of(extent.path) if extent.stamp.digest else here
        if left is None or not same_content(left, extent.stamp):
            raise SourceChangedError(
                f"{short(extent.path)} was changed since {named(step)} wrote it", value=extent.path,
                remedy=f"To ask about what was written then: step={step.id!r}.",
            )
    if here is not None and extent.stamp is None:
        notes.append(Note(f"Nobody looked at {short(extent.path)} when {named(step)} had written it: it may have been changed since."))
    if now and here is None and not extent.path.startswith(ITEMS) and not os.path.isdir(local_path(extent.path) or ""):
        notes.append(Note(f"{short(extent.path)} is not here to look at; what is told is of what {named(step)} wrote."))
    try:
        there = counted_by(units, step, found, extent, rows)
    except UntraceableError as problem:
        return Asked(outputs=[(step, Located(extent.path, Unit.WHOLE, FIRST))], notes=[*notes, _all_taken(step, extent, problem)])
    if len(found) and not len(there):
        raise _no_records(extent)
    return Asked(outputs=[(step, there)], notes=notes)


def _of_now(path: str, readers: Sequence[tuple[Step, Extent]]) -> list[tuple[Step, Extent]]:
    """Those who read the file as it is now; if it is not there, those who read what the last one did."""
    now = stamp_of(path)
    latest = next((extent.stamp for _, extent in reversed(readers) if extent.stamp is not None), None)
    wanted = latest if now is None else now
    return [use for use in readers if use[1].stamp is None or wanted is None or same_content(use[1].stamp, wanted)]
