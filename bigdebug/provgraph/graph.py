"""A provenance graph on disk: what was found on import, and the questions that it answers."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Sequence
from contextlib import closing
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from tqdm import tqdm

from bigdebug.errors import ProvenanceError
from bigdebug.provgraph import questions
from bigdebug.provgraph.answer import Answer
from bigdebug.provgraph.building import build
from bigdebug.provgraph.components import Components, components
from bigdebug.provgraph.index import Index
from bigdebug.provgraph.locked import Home
from bigdebug.provgraph.membership import NO_TABLE
from bigdebug.provgraph.paths import Paths, paths
from bigdebug.provgraph.questions import Common
from bigdebug.provgraph.report import ImportReport
from bigdebug.provgraph.sets import THRESHOLD, Sets, sets
from bigdebug.provgraph.stored import open_index, verify
from bigdebug.provgraph.triples import Triples
from bigdebug.provgraph.workflow import Workflow
from bigdebug.shown import counted
from bigdebug.store.named import at_home

_BLOCK = 1 << 20
"""Items that are counted at once."""
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}

_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")

_log = logging.getLogger(__name__)


class ProvenanceGraph:
    """Items, the triples between them, and the workflow they come from. Made by ``bigdebug.provenance``, opened by ``bigdebug.open``.

    Its index is mapped, not read: it opens in milliseconds, and a question reads what its answer has.
    """

    def __init__(self, index: Index, report: ImportReport, path: Path, home: Home | None = None) -> None:
        """``home`` is the temporary directory of its own, if it has one."""
        self.index = index
        self.report = report
        self.path = path
        self.home = home

    @property
    def workflow(self) -> Workflow | None:
        """The workflow, if it says which table an item is of."""
        return self.index.workflow

    def ancestors(self, items: Any, depth: int | None = None, limit: int | None = None) -> Answer:
        """All items that these were derived from, directly or through others: of each up to ``depth`` triples, the nearest ``limit`` in all.

        ``items`` is an id, a list of them, or an answer. Raises UnknownItemError for an id that is not there, with ids near it.
        """
        return questions.ancestors(self.index, items, depth, limit)

    def descendants(self, items: Any, depth: int | None = None, limit: int | None = None) -> Answer:
        """All items that were derived from these, directly or through others; as ``ancestors`` otherwise."""
        return questions.descendants(self.index, items, depth, limit)

    def paths(self, source: Any, target: Any) -> Paths:
        """The paths along triples from one item to one that was derived from it: how many, how long, and the shortest."""
        return paths(self.index, source, target)

    def common(self, items: Any) -> Common:
        """The items that all of these were derived from, and which of them are the lowest."""
        return questions.common(self.index, items)

    def feeds(self, source: Any, besides: Any, depth: int | None = None) -> Answer:
        """What else was derived from ``source``: its descendants without the items ``besides`` and what these were derived from."""
        return questions.feeds(self.index, source, besides, depth)

    def first(self, table: str | None = None, limit: int | None = 10) -> list[Any]:
        """The first ids in their order, of all items or of those of a table: what can be asked about. None: all of them.

        Raises ProvenanceError for a table that the workflow does not have.
        """
        questions.require_count("limit", limit)
        place = None if table is None else questions.place_of(self.workflow, table)
        found: list[Any] = []
        for start in range(0, self.index.items, _BLOCK):
            codes = np.arange(start, min(start + _BLOCK, self.index.items))
            if place is not None:
                codes = codes[:0] if self.index.tables is None else codes[self.index.tables.take(codes) == place]
            found += self.index.named(codes if limit is None else codes[: limit - len(found)]).tolist()
            if limit is not None and len(found) >= limit:
                break
        return found

    def components(self) -> Components:
        """The weakly connected components. Takes time by all triples."""
        return self._components

    def sets(self, threshold: int = THRESHOLD, splits: Any = None) -> Sets:
        """The weakly connected sets that large components fall into along the workflow (CSProv, Algorithm 3), and their dependencies."""
        return sets(self.index, threshold, splits, found=self._components)

    @cached_property
    def _components(self) -> Components:
        return components(self.index)

    def statistics(self) -> pd.DataFrame:
        """By table (the last row is of items of no table; without a workflow it is the only one): columns table, items, sources (items
        that nothing was derived into), results (that nothing was derived from), triples (that lead to them) and fan_in, the largest.
        """
        names = [*self.index.table_names, None]
        counts = np.zeros((5, len(names)), np.int64)
        for start in range(0, self.index.items, _BLOCK):
            codes = np.arange(start, min(start + _BLOCK, self.index.items))
            tables = np.full(len(codes), NO_TABLE) if self.index.tables is None else self.index.tables.take(codes)
            places = np.where(tables == NO_TABLE, len(names) - 1, tables).astype(np.int64)
            into, out = self.index.backward.degrees(codes), self.index.forward.degrees(codes)
            for row, some in enumerate((places, places[into == 0], places[out == 0])):
                counts[row] += np.bincount(some, minlength=len(names))
            np.add.at(counts[3], places, into)
            np.maximum.at(counts[4], places, into)
        columns = dict(zip(("items", "sources", "results", "triples", "fan_in"), counts))
        found = pd.DataFrame({"table": pd.Series(names, dtype=object), **columns})
        return found if counts[0, -1] or len(names) == 1 else found.iloc[:-1]

    def verify(self) -> None:
        """Read all of the index, and raise CorruptBlockError if it is not what was built. Questions look at what they read alone."""
        verify(self.path)

    def close(self) -> None:
        """Take away the index if it is a temporary one, before the graph itself goes; one that was built ``at`` a place stays."""
        if self.home is not None:
            self.home.close()

    def __len__(self) -> int:
        """How many items there are."""
        return self.index.items

    def __repr__(self) -> str:
        found = [f"{finding.kind} ({finding.count:,})" for finding in self.report.findings]
        odd = f"; the import found {', '.join(found)} (see .report)" if found else ""
        tables = f" of {counted(len(self.workflow.tables), 'table')}" if self.workflow else ""
        size = f"{counted(self.index.items, 'item')}{tables}, {counted(self.index.edges, 'triple')}"
        return f"<provenance graph: {size}, in {str(self.path)!r}{odd}>"


def provenance(
    triples: Any, workflow: Workflow | None = None, *, at: str | os.PathLike[str] | None = None, memory: str | int = "1g",
    columns: Sequence[str | None] = ("src", "dst", "op"), ids: Literal["auto", "int", "text"] = "auto", strict: bool = False,
    replace: bool = False, progress: bool = True,
) -> ProvenanceGraph:
    """The provenance graph of triples (src, dst, op): paths of Parquet or CSV files, a pandas DataFrame, an Arrow table or stream.

    ``workflow`` (``Workflow.of``) says which table is made from which, and of which table items are; triples are checked against it. The
    index is built in the directory ``at``, to be opened again by ``bigdebug.open(at)``; without one, in a temporary directory that goes
    with the graph. It takes up to ``memory`` ("512m", "4g", bytes), and about 20 bytes on disk for each triple, twice that while it is
    built. Of Parquet a page is read as a whole, and so is the dictionary of a column: files in which these take many megabytes, which no writer makes
    unless it is told to, take as much beside ``memory``. What is not clean is left out or kept as the report says (``.report``), and told to the log; with ``strict`` it is refused.
    ``columns`` has the names of the three columns, None for op if there are no operations; ``ids`` says what those of CSV files are.
    ``replace`` builds an index anew that is there already.

    Raises ProvenanceError for what has no triples, StoreError where the index cannot be written.
    """
    if type(triples).__module__.startswith("pyspark."):
        raise ProvenanceError("Triples in Spark are asked there", remedy="Call dbg.provenance(df, workflow), where dbg = bigdebug.attach(spark).")
    Workflow.check(workflow)
    given = Triples.of(triples, columns, ids)
    allowed = size_of(memory)
    home = Home() if at is None else None
    path = directory(at) if home is None else home.path / "index"
    try:
        with closing(_Progress(progress)) as step:
            build(given, path, workflow=workflow, memory=allowed, strict=strict, replace=replace, step=step)
        graph = opened(path, home)
    except BaseException:
        if home is not None:
            home.close()
        raise
    graph.report.warn(_log)
    return graph


def directory(at: Any) -> Path:
    """The path of a directory, from home if it begins with a ~. Raises ProvenanceError for what is none, and for one that is elsewhere: an index is mapped."""
    if not isinstance(at, (str, os.PathLike)) or not os.fspath(at):
        raise ProvenanceError("An index is built in a directory, told by its path", value=at, remedy='Give at="flights.provenance", or leave it out.')
    if _URI.match(os.fspath(at)):  # which may have keys in it
        raise ProvenanceError("An index is built in a directory of this machine, and this is a URI", remedy="Build it in a directory, and copy that as a whole.")
    return at_home(at).absolute()


class _Progress:
    """A bar for each thing that is done, one after the other; it appears when that has taken a second."""

    def __init__(self, shown: bool) -> None:
        self._shown = shown
        self._doing = ""
        self._bar: Any = None

    def __call__(self, what: str, rows: int) -> None:
        if what != self._doing:
            self.close()
            self._doing = what
            # Not one bar that is reset: that, and a new description, show it at once.
            self._bar = tqdm(desc=what, unit=" rows", leave=False, delay=1, disable=not self._shown, unit_scale=True)
        self._bar.update(rows)

    def close(self) -> None:
        """Takes the bar away, if there is one."""
        if self._bar is not None:
            self._bar.close()


def opened(path: str | os.PathLike[str], home: Home | None = None) -> ProvenanceGraph:
    """The provenance graph in a directory, as ``bigdebug.open`` gives it. Raises StoreError for a directory that has none, or half of one."""
    place = at_home(path).absolute()
    index, report = open_index(place)
    return ProvenanceGraph(index, report, place, home)


def size_of(memory: str | int) -> int:
    """Bytes, as Spark writes them: "512m", "4g". Raises ProvenanceError for what is no size."""
    if isinstance(memory, int) and not isinstance(memory, bool):
        return memory
    found = re.fullmatch(r"\s*(\d+)\s*([kmgt]?)b?\s*", memory.lower()) if isinstance(memory, str) else None
    if found is None:
        raise ProvenanceError("This is no size of memory", value=memory, remedy='Write "512m", "4g", or a number of bytes.')
    return int(found[1]) * _UNITS[found[2]]
