"""Builds an index on disk of triples that need not fit in memory, nor their ids.

Chunks of triples are written as codes into their own distinct ids; merging these gives the dictionary and the codes of the whole
(``chunks``); triples are sorted by dst, merged, and sorted once more by src (``edges``). What is held are chunks, and ranges of what
is merged, of sizes that follow from the memory allowed. On the disk there are, for a while, some 40 bytes for each triple.
"""

from __future__ import annotations

import errno
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bigdebug.errors import ProvenanceError, StoreError
from bigdebug.provgraph.checks import ItemTables, Steps
from bigdebug.provgraph.chunks import Coded, Column
from bigdebug.provgraph.cycles import Cycles, cycles
from bigdebug.provgraph.dictionary import Ids
from bigdebug.provgraph.edges import Packing, Rows, SortedTriples, SparseRows
from bigdebug.provgraph.membership import Columns, Listed
from bigdebug.provgraph.report import LOST, Findings, ImportReport
from bigdebug.provgraph.spilling import Spill
from bigdebug.provgraph.stored import Folder, unfinished
from bigdebug.provgraph.triples import Triples, listed
from bigdebug.provgraph.workflow import Workflow
from bigdebug.shown import shown

LEAST = 128 << 20
"""Bytes of memory below which nothing is built."""

_FIXED = 48 << 20
"""Bytes of memory that are there for readers and buffers."""

_ROW, _PEELED = 160, 256
"""Bytes of memory that a row of a chunk takes, and a triple where cycles are looked for."""
_TEXT, _RANGE = 16, 12
"""Times its size that a chunk of texts takes, and a range that is merged."""
Step = Callable[[str, int], None]
"""Told what is done now, and how many rows further it is."""


def build(
    triples: Triples, target: Path, *, workflow: Workflow | None = None, memory: int = 1 << 30, strict: bool = False,
    replace: bool = False, step: Step = lambda what, rows: None,
) -> None:
    """Builds the index of ``triples`` in the directory ``target``, which is there whole afterwards or not at all.

    Stays below ``memory`` bytes beyond what the process has. Raises ProvenanceError for triples that are none (and if ``strict`` for
    all that are not clean), StoreError where the disk is full or may not be written.
    """
    check_memory(memory)
    try:
        with unfinished(target, replace) as folder:
            _Build(triples, folder, workflow, memory, Findings(strict), step).run()
    except OSError as problem:
        full = problem.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        raise StoreError(
            f"The index cannot be built: {problem}", value=str(target),
            remedy="It takes some 40 bytes for each triple while it is built: name a directory where there is room." if full
            else "Name files that you may read, and a directory that you may write.",
        ) from problem


def check_memory(memory: int) -> None:
    """Raises ProvenanceError for memory that no index is built with."""
    if memory < LEAST:
        raise ProvenanceError("An index is not built with so little memory", value=memory, remedy=f"Allow {LEAST >> 20} MB or more.")


@dataclass
class _Build:
    """An index that is being built in ``folder``: each method is a pass over all of it."""

    triples: Triples
    folder: Folder
    workflow: Workflow | None
    memory: int
    findings: Findings
    step: Step
    rows: int = 0

    def run(self) -> None:
        begun = time.monotonic()
        with ExitStack() as spills:
            chunks, by_dst, by_src = (spills.enter_context(closing(Spill(self.folder.path))) for _ in range(3))
            coded = self._read(chunks)
            kinds = self._number(coded)
            steps = self._steps(kinds)
            backward = SortedTriples(by_dst, Packing.of(coded.ids.count, coded.operations.count + 1))
            for number in range(len(coded)):
                rows = coded.triples(number)
                steps.repeated(backward.add(rows))
                self.step("Sorting triples", len(rows.items))
            chunks.close()
            forward = SortedTriples(by_src, backward.packing)
            edges = self._write("backward", backward, coded, steps, forward)
            by_dst.close()
            self._write("forward", forward, coded, None, None)
        found = Cycles() if steps.acyclic else self._cycles()
        self.findings.add("cycles", found.items, circle(steps.ids, found))
        lost = sum(self.findings.count(kind) for kind in LOST)
        report = ImportReport(
            self.rows + lost, edges, coded.ids.count, coded.operations.count, self.findings.found(), time.monotonic() - begun, self.folder.bytes,
            self.workflow.unlooked if self.workflow else (),
        )
        self.folder.close(
            {
                **kinds, "acyclic": not found.items, "workflow": self.workflow.data() if self.workflow else None,
                "report": report.data(),
            }
        )

    def _read(self, spill: Spill) -> Coded:
        """All triples, and the items of a list of tables, as chunks of codes."""
        coded = Coded(Column(spill), Column(spill))
        items = self.workflow.items if self.workflow else None
        tables = (items.src, items.dst) if isinstance(items, Columns) else None
        for chunk in self.triples.chunks(self._free // _ROW, self._free // _TEXT, self.findings, tables):
            coded.add(chunk, self._place)
            self.rows += len(chunk.src)
            self.step("Reading triples", len(chunk.src))
            del chunk  # while the next one is read
        if isinstance(items, Listed):
            for values, names in listed(items.source, items.item, items.table, self.triples.kind):
                coded.add_items(values, names, self._place)
        return coded

    def _place(self, table: str) -> int:
        assert self.workflow is not None
        return self.workflow.place(table)

    def _number(self, coded: Coded) -> dict[str, str]:
        """The dictionaries, and the table of each item; how each dictionary is held."""
        if self.workflow is None or self.workflow.items is None:
            ids = coded.ids.write("ids", self.folder, self._range)
        else:
            tables = ItemTables(self.workflow, coded.ids, self.folder, self.findings)
            ids = coded.ids.write("ids", self.folder, self._range, tables.add)
        return {"ids": ids, "operations": coded.operations.write("operations", self.folder, self._range)}

    def _steps(self, kinds: dict[str, str]) -> Steps:
        """What looks at triples; tables that are asked about in any order are held, if they are not too large a part of the memory."""
        tables = self.folder.mapped("tables") if self.folder.has("tables") else None
        if tables is not None and tables.nbytes <= self.memory // 4:
            tables = np.array(tables)
        ids, operations = (self.folder.ids(name, kind) for name, kind in kinds.items())
        return Steps(self.workflow, tables, ids, operations, self.findings)

    def _write(self, name: str, triples: SortedTriples, coded: Coded, steps: Steps | None, turned: SortedTriples | None) -> int:
        """Merges triples into the arrays of one direction; what they are shown to, and where they are sorted the other way round."""
        rows = SparseRows(self.folder, name, coded.ids.count, self.rows, coded.operations.count)
        for some, repeated in triples.merged(self._range):
            rows.add(some)
            if steps is not None:
                steps.add(some)
                steps.repeated(repeated)
            if turned is not None:
                turned.add(Rows(some.neighbours, some.items, some.ops))
            self.step(f"Writing {name}", len(some.items))
        rows.close()
        return rows.edges

    def _cycles(self) -> Cycles:
        """Looked for among all triples, where ids and the workflow leave it open whether there are any."""
        backward, forward = self.folder.adjacency("backward"), self.folder.adjacency("forward")
        small = 5 * len(backward.offsets) <= self._free // 2
        return cycles(backward, forward, block=self._free // _PEELED, scratch=None if small else self.folder.path)

    @property
    def _range(self) -> int:
        return self._free // _RANGE

    @property
    def _free(self) -> int:
        return self.memory - _FIXED


def circle(ids: Ids, found: Cycles) -> Iterator[str]:
    """The example of a cycle as text, from what was derived to what it was derived from, and round to it."""
    some = [shown(one) for one in ids.take(np.array(found.example, np.int64)).tolist()]
    more = [f"({found.length - len(some):,} more)"] if found.length > len(some) else []
    yield " <- ".join([*some, *more, *some[:1]])
