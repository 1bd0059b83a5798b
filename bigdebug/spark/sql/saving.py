"""Saving queries: what is kept of a DataFrame's run in a directory: its lineage by levels, where its sources' rows stand, and its rows."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from bigdebug.errors import UntraceableError
from bigdebug.spark.sql.far import Far
from bigdebug.spark.sql.formats import ORC, PARQUET, TEXT, format_of, option, reader_of
from bigdebug.spark.sql.leaf import Leaf, local
from bigdebug.spark.sql.levelled import Levelled, derived_levels, indexed_levels
from bigdebug.spark.sql.paged import rows_of
from bigdebug.spark.sql.runs import FrameRun
from bigdebug.spark.sql.seen import columns_of, read_as, seen
from bigdebug.spark.unsaved import TROUBLE, why_of
from bigdebug.trace.across.stored import tabular
from bigdebug.trace.names import array_of, matched
from bigdebug.trace.numbering import Numbering
from bigdebug.trace.saved.associated import write
from bigdebug.trace.saved.outputs import MOST, encode_rows
from bigdebug.trace.saved.runs import Beside
from bigdebug.trace.saved.saving import LINEAGE, keep_outputs
from bigdebug.trace.textlines import local_path
from bigdebug.trace.whereabouts import Whereabouts


def query(run: FrameRun, home: Path, name: str, *, derive: bool = False) -> tuple[Beside, Levelled | None]:
    """Keeps the lineage of a DataFrame's run if it is indexed; else, if it is to ``derive``, by jobs that take about as long as the query. And its rows, up to 100,000
    of them: those that the action gave, else those that such a job gives. The second answer is that lineage, None if there is none.
    """
    beside, known = Beside(frame=True), None
    try:
        known = _levels(run, derive)
        if known is None and run.questions.built:
            beside.unsaved = "what dbg.index built leaves out records that the result was not made of, or does not count equal ones; dbg.save(DIR, lineage=True) keeps all, and takes about as long as the query"
        if known is not None:
            beside.sources = {source: _whereabouts(run, leaf, known.levels[source]) for source, leaf in run.questions.leaves.items() if source in known.levels}
            beside.lineage = write(home, f"{LINEAGE}/{name}", known.levels, known.pairs)
    except TROUBLE as why:
        shutil.rmtree(home / LINEAGE / name, ignore_errors=True)
        beside.sources, beside.lineage, beside.unsaved, known = {}, None, why_of(why), None
    beside.outputs = _outputs(run, home, name, known)
    return beside, known


def _levels(run: FrameRun, derive: bool) -> Levelled | None:
    if run.status == "failed":
        if derive:
            raise UntraceableError(f"The action of {run.name!r} failed, so it gave nothing", remedy="Its culprits were saved, as far as they were found.")
        return None
    return indexed_levels(run) or (derived_levels(run) if derive else None)


def _whereabouts(run: FrameRun, leaf: Leaf, numbering: Numbering) -> Whereabouts:
    """Where the rows of a source stand, with the stamps of its files."""
    known = leaf.whereabouts(run.questions.catalyst, max(numbering.sizes(), default=0))
    files = {local(file) for file in leaf.files}
    stamps = tuple(stamp for path, stamp in run.questions.stamps.items() if local_path(path) in files)
    form, fields = _form(leaf), read_as(run.questions.catalyst, leaf, reader_of(leaf.node))
    if fields is not None and not tabular(form):  # nothing is found by the names
        fields = fields.masked()
    return Whereabouts(known.dataset, known.name, known.unit, known.places, stamps if len(stamps) == len(files) else (), form, fields)


def _form(leaf: Leaf) -> str:
    """The format, if its records can be read again by anybody: of text, lines that are cut as everybody does."""
    reader = reader_of(leaf.node)
    if reader is None:
        return ""
    if format_of(reader) in (PARQUET, ORC):
        return "parquet" if format_of(reader) == PARQUET else "orc"
    return "text" if format_of(reader) == TEXT and leaf.lines and not option(reader, "lineSep") and not option(reader, "encoding") else ""


def _outputs(run: FrameRun, home: Path, name: str, known: Levelled | None) -> dict[str, Any] | None:
    """The rows in the order of their numbers; None if they are not known, or too many."""
    columns: Sequence[pa.Array] | None
    if known is None or _in_order(run, known):
        columns = _given(run)
        count = len(run.rows or ())
    else:
        columns, count = _computed(run, known), known.multiples.count
    return None if columns is None else keep_outputs(home, name, encode_rows(seen(run.frame.schema, columns), columns, count), count)


def _in_order(run: FrameRun, known: Levelled) -> bool:
    """Whether numbers count the rows that the run kept."""
    return run.rows is not None and known.in_order


def _given(run: FrameRun) -> list[pa.Array] | None:
    """The rows that the action gave, by columns."""
    return None if run.rows is None or len(run.rows) > MOST else columns_of(run.rows, run.frame.schema)


def _computed(run: FrameRun, known: Levelled) -> list[pa.Array] | None:
    """The rows by a job, by columns; None if there are others than those that have numbers, or too many."""
    if isinstance(known.names, Far) or known.multiples.count > MOST:
        return None
    questions = run.questions
    try:
        plan, name = questions.steps().rows(run.subject, None)
        columns = questions.shown(run.subject)[1] if run.subject in questions.leaves else questions.catalyst.items(questions.root.node.output())
        table = questions.catalyst.table(plan, {"name": name} | {f"c{i}": column for i, column in enumerate(columns)}).combine_chunks()
    except TROUBLE:  # the lineage is there all the same
        return None
    at = matched(known.names, array_of(table["name"]))
    every = np.arange(len(known.names))
    if (at < 0).any() or (np.bincount(at, minlength=len(every)) != known.multiples.each(every)).any():
        return None
    order = pa.array(np.argsort(known.multiples.first[at], kind="stable"))
    return columns_of(rows_of(table.drop_columns("name").take(order), run.frame.schema), run.frame.schema)

