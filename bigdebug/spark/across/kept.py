"""Kept: what is kept of a step beside its run's lineage, so that a saved session is a part of pipelines: its files, and which record stands where in them."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from bigdebug.errors import IncompleteLineageError, NondeterminismError
from bigdebug.shown import counted as told
from bigdebug.spark.across.frames import FrameStep
from bigdebug.spark.across.lines import counted
from bigdebug.spark.across.saved import RDDStep
from bigdebug.spark.sql.levelled import Levelled
from bigdebug.spark.unsaved import TROUBLE, why_of
from bigdebug.trace.across.located import Extent, Unit, dump_extent
from bigdebug.trace.across.saved_steps import RESULT
from bigdebug.trace.multiples import Multiples, paired
from bigdebug.trace.names import matched
from bigdebug.trace.numbering import Numbering, whole
from bigdebug.trace.positions import distinct
from bigdebug.trace.saved.associated import Pairs, write

WRITTEN = "written"
_READ = 64 << 20
"""Bytes of text that an RDD's action wrote, and that are read to be sure that each record is a line."""


def keep_step(step: Any, home: Path, name: str, known: Levelled | None, *, derive: bool) -> dict[str, Any] | None:
    """What the catalog lists of a step; None for a run that is none. ``known`` is the lineage that was kept of a DataFrame's, None if none was.

    Of an RDD's, texts that it wrote are read for ends of lines, up to 64 MiB of them; more, and a job where records have such, only if it is to ``derive``. So is what a
    DataFrame's wrote: a job over that and one like its query find the rows by what is in them.
    """
    if not isinstance(step, FrameStep | RDDStep):
        return None
    kept: dict[str, Any] = {
        "id": step.id, "kind": step.kind, "ended": step.ended, "reads": [], "given": [], "writes": [], "written": None, "changed": [], "alike": "", "unsaved": "", "incomplete": [], "lost": "",
    }
    try:
        given = _given(step)
        kept["reads"], kept["given"], kept["writes"] = (list(map(dump_extent, files)) for files in (step.own_reads, given, step.stored))
        through = _through(step, given)
    except TROUBLE as why:  # a flow says that it may miss what this one made
        kept["unsaved"] = kept["lost"] = why_of(why)
        return {**kept, "incomplete": [*step.incomplete]}
    try:
        if isinstance(step, RDDStep):
            kept["written"] = _of_program(step, home, f"{WRITTEN}/{name}", derive) if step.files else None
        elif step.files and derive and known is not None:
            kept["written"], kept["changed"], kept["alike"] = _of_query(step, home, f"{WRITTEN}/{name}", known)
    except TROUBLE as why:
        shutil.rmtree(home / WRITTEN / name, ignore_errors=True)
        kept["unsaved"] = why_of(why)
    kept["incomplete"] = [*step.incomplete, *through]
    return kept


def _given(step: Any) -> list[Extent]:
    """What others read, or gave without a file, and gave it the records of in memory."""
    more = ({extent.path for extent in step.reads} - {extent.path for extent in step.own_reads}) | step.given
    return [extent for extent in step.reads if extent.path in more]


def _through(step: Any, given: list[Extent]) -> list[str]:
    """What a live step goes through, and a saved one does not."""
    handed = any(extent not in step.stored for extent in step.writes)
    return [
        *(f"{path}: it was read by another step, whose records this one was given in memory; ask the live session" for path in sorted({extent.path for extent in given})),
        *(["which rows it gave in memory to other steps was not saved; ask the live session"] if handed else []),
    ]


def _of_program(step: RDDStep, home: Path, folder: str, derive: bool) -> dict[str, Any]:
    sizes = step.result_sizes()
    if not derive:
        _check_cheap(step, sizes)
    levels = {RESULT: Numbering.of_counts(sizes)}
    pairs = []
    for number, (partition, lines) in enumerate(step.written()):
        size = sizes.get(partition, 0)
        owners = np.arange(size) if lines is None else lines.owners()
        levels[number + 1] = whole(len(owners))
        first = levels[RESULT].numbers({partition: np.arange(min(size, 1))})
        pairs.append(Pairs(number + 1, RESULT, 0, np.arange(len(owners)), owners + (first[0] if len(first) else 0)))
    return write(home, folder, levels, pairs)


def _check_cheap(step: RDDStep, sizes: Mapping[int, int]) -> None:
    """Raise IncompleteLineageError where it takes a job, or much reading, to know which line is which record."""
    texts = [extent for extent in step.files if extent.unit is Unit.LINE]
    if sum(extent.stamp.size for extent in texts if extent.stamp is not None) > _READ:
        raise IncompleteLineageError(f"What it wrote are more than {_READ >> 20} MiB of text", remedy="Save it with dbg.save(DIR, lineage=True), which reads them.")
    written = zip(step.files, step.partitions())
    if any(counted(extent.path) != sizes.get(partition, 0) for extent, partition in written if extent.unit is Unit.LINE):
        raise IncompleteLineageError("It wrote records that have ends of lines in them", remedy="Save it with dbg.save(DIR, lineage=True), which asks a job for them.")


def _of_query(step: FrameStep, home: Path, folder: str, known: Levelled) -> tuple[dict[str, Any], list[str], str]:
    """What the catalog lists of which record stands where; the files of which it is not known, for they have been changed since; and what there is to say of equal rows."""
    written, rows, places, chosen, elsewhere, alike = step.written(standing=True)
    every = matched(known.names, written)
    names = every[rows]
    met = every[np.unique(np.concatenate([rows, elsewhere.every]).astype(np.int64))]
    if (met < 0).any():
        raise NondeterminismError(
            f"{told(int((met < 0).sum()))} that {step.name!r} wrote are not among those of its result", value=step.name,
            remedy="Its order or its functions do not settle the result: write what does not change, df.localCheckpoint() before.",
        )
    levels = {RESULT: whole(known.multiples.count)}
    pairs = []
    by_path = {path: number for number, path in enumerate(places.paths)}
    for number, extent in enumerate(step.files):
        if extent.path in elsewhere:  # one record, which is all of the file
            levels[number + 1], may_be = whole(1), distinct(every[elsewhere.rows(extent.path)])
            pairs.append(Pairs(number + 1, RESULT, 0, *paired(Multiples(np.zeros(1, np.int64)), np.zeros(len(may_be), np.int64), known.multiples, may_be)))
            continue
        here = places.numbers[chosen] == by_path.get(extent.path, -1)
        positions = places.positions[chosen][here]
        there = distinct(positions)
        levels[number + 1] = Numbering.of_rids(there)
        # Of equal rows that were made of the same, each is written as often as there are of them: one name and one place are a pair once.
        at, of = np.divmod(distinct(np.searchsorted(there, positions) * len(known.names) + names[here]), max(len(known.names), 1))
        pairs.append(Pairs(number + 1, RESULT, 0, *paired(Multiples(np.arange(len(there))), at, known.multiples, of)))
    return write(home, folder, levels, pairs), list(elsewhere.folders), alike
