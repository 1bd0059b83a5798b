"""Saved steps: runs of a saved session as steps of a pipeline: what they wrote leads to what they read, record by record, without Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from bigdebug.errors import CorruptBlockError, IncompleteLineageError, SourceChangedError
from bigdebug.trace.across import facts as of_facts
from bigdebug.trace.across.located import FOLDER, Extent, Located, Unit, load_extent
from bigdebug.trace.across.step import all_taken, changed_since
from bigdebug.trace.counts import records
from bigdebug.trace.places import Places, union
from bigdebug.trace.positions import Positions
from bigdebug.trace.saved.associated import Associated
from bigdebug.trace.saved.runs import SavedRun, not_saved
from bigdebug.trace.saved.trace import SavedTrace, numbering_of
from bigdebug.trace.sourced import Sourced

RESULT = 0
"""The level of the result among those of what was written; file n of ``writes`` is level n + 1."""


class SavedStep:
    """A saved run as a step. What it wrote is known by place, if that was saved; else its ``incomplete`` says why, and it refuses."""

    def __init__(self, run: SavedRun, data: Mapping[str, Any], find: Callable[[str], Path]) -> None:
        """``data`` is what the catalog lists of it. Raises ValueError, LookupError or TypeError for what is no list of ours."""
        self.run = run
        self.id = str(data["id"])
        self.kind = str(data["kind"])
        self.ended = None if data["ended"] is None else float(data["ended"])
        self._own: Sequence[Extent] = tuple(map(load_extent, data["reads"]))
        given = tuple(map(load_extent, data.get("given", ())))  # sessions that were saved before do not list them
        self.reads: Sequence[Extent] = tuple(dict.fromkeys((*self._own, *given)))
        self.writes: Sequence[Extent] = tuple(map(load_extent, data["writes"]))
        self.incomplete: Sequence[str] = tuple(map(str, data["incomplete"]))
        self.lost = str(data.get("lost", ""))
        self._given = frozenset(extent.path for extent in given)
        self._changed = frozenset(map(str, data.get("changed", ())))
        self._alike = str(data.get("alike", ""))
        self._unsaved, self._damaged = str(data["unsaved"]), False
        try:
            self._written = None if data["written"] is None else _of_result(run, Associated.load(data["written"], find))
        except CorruptBlockError as damaged:  # other steps can be read
            self._written, self._unsaved, self._damaged = None, str(damaged), True
            self.incomplete = (*self.incomplete, self._unsaved)

    @property
    def name(self) -> str:
        return self.run.name

    @property
    def began(self) -> float | None:
        return self.run.began

    def backward(self, outputs: Sequence[Located]) -> Sequence[Located]:
        numbers = {extent.path: number + 1 for number, extent in enumerate(self.writes) if extent.form != FOLDER}
        self._check_listed(outputs)
        found: Places = {}
        alike = ""
        for one in outputs:
            if one.path in numbers and len(one):
                if one.path in self._changed:
                    raise SourceChangedError(f"{changed_since(one.path, self.name)}, and the session was saved after that", remedy="Run the job again under capture.")
                level, known = numbers[one.path], self._known
                alike = alike or self._alike_at(level, one.positions)
                found = union(found, known.back(level, RESULT, 0, known.levels[level].known({0: one.positions})))
        read = self._read_of(SavedTrace(self.run, [self.run.subject], lambda: {self.run.subject: found})) if found else ()
        return tuple(replace(one, why=alike) for one in read)

    def forward(self, inputs: Sequence[Located]) -> Sequence[Located]:
        if not self.writes:
            return ()
        for one in inputs:
            if one.path in self._given:
                raise self._untold(one.path)
        _ = self.run.lineage  # raises, where it was not saved: of such a query no source is known either
        standing = {source: places for source in self.run.sources if any(map(len, (places := self._standing(source, inputs)).values()))}
        return self._wrote_of(SavedTrace(self.run, list(standing), lambda: standing).goNextAll()) if standing else ()

    def count(self, path: str) -> int:
        """How many records an extent has that is no file: nobody knows. Raises IncompleteLineageError."""
        raise self._untold(path)

    def _untold(self, path: str) -> IncompleteLineageError:
        """The error of asking for records of a file that it did not read itself."""
        return IncompleteLineageError(
            f"Another step read it, or gave it, and which of its records run {self.name!r} was given in memory was not saved", value=path, remedy="Ask the live session.",
        )

    def _check_listed(self, outputs: Sequence[Located]) -> None:
        """Raise IncompleteLineageError where a folder is asked about of which it is not known which files in it are this step's: ``incomplete`` says why."""
        folders = {extent.path for extent in self.writes if extent.form == FOLDER}
        if asked := sorted(folders & {one.path for one in outputs}):
            raise IncompleteLineageError(
                f"Which files of a folder run {self.name!r} wrote is not known: {'; '.join(self.incomplete)}".rstrip("."), value=asked[0],
                remedy="So whatever it read may have been made into these files.",
            )

    # ---- records that people hold -----------------------------------------------------------------------------

    def inputs_of(self, records: object) -> Sequence[Located] | None:
        """The records of ``reads`` that those of a trace, or of a culprit, were made of; None if they are not this run's."""
        trace = self._mine(records)
        return None if trace is None else self._read_of(trace)

    def outputs_of(self, records: object) -> Sequence[Located] | None:
        """The records of ``writes`` that were made of them; None if they are not this run's."""
        trace = self._mine(records)
        return None if trace is None else self._wrote_of(trace.goNextAll())

    def _mine(self, records: object) -> SavedTrace | None:
        trace = records.trace if isinstance(records, Sourced) else records
        return trace if isinstance(trace, SavedTrace) and trace.run is self.run else None

    # ---- between files and records ------------------------------------------------------------------------------

    @property
    def _known(self) -> Associated:
        if self._damaged:
            raise IncompleteLineageError(f"Which record of its result run {self.name!r} wrote where cannot be read: {self._unsaved}", remedy="Restore the file, or save the session again.")
        if self._written is None:
            raise not_saved(f"Which record of its result run {self.name!r} wrote where was not saved", self._unsaved or self.run.unsaved, "Save it with dbg.save(DIR, lineage=True).")
        return self._written

    def _wrote_of(self, trace: SavedTrace) -> Sequence[Located]:
        """Where records of the result stand in what was written; all of the files that had been changed when it was saved, if they may have had some, and so of folders."""
        if not self.writes:
            return ()
        found = []
        places = trace.standing.get(self.run.subject, {})
        for number, extent in enumerate(self.writes):
            if extent.form == FOLDER:
                found.extend([Located.of(extent.path, Unit.WHOLE, [0])] if any(map(len, places.values())) else [])
                continue
            positions = self._known.ahead(number + 1, RESULT, 0, places).get(0, np.empty(0, np.int64))
            if len(positions) and extent.path in self._changed:
                found.append(Located.of(extent.path, Unit.WHOLE, [0], all_taken(extent.path, self.name)))
            elif len(positions):
                found.append(Located(extent.path, extent.unit, positions, self._alike_at(number + 1, positions)))
        return found

    def _alike_at(self, level: int, positions: Positions) -> str:
        """What there is to say of equal rows, if records of a file may be of several rows of the result each; empty if they are not."""
        if not self._alike:
            return ""
        numbering = self._known.levels[level]
        asked, _ = self._known.pairs_of(level, RESULT, 0, numbering.numbers(numbering.known({0: positions})))
        return self._alike if len(asked) > len(np.unique(asked)) else ""

    def _read_of(self, trace: SavedTrace) -> Sequence[Located]:
        """Where the records stand that a trace was made of."""
        found: dict[str, Located] = {}
        for source, places in trace.goBackAll().standing.items():
            for one in self._located(source, places):
                known = found.get(one.path)
                found[one.path] = one if known is None else Located.of(one.path, one.unit, np.concatenate([known.positions, one.positions]))
        return tuple(found.values())

    @cached_property
    def _units(self) -> dict[str, Unit]:
        return {extent.path: extent.unit for extent in self._own}

    def _located(self, source: int, places: Places) -> Iterator[Located]:
        facts: Any = self.run.sources.get(source)
        if facts is None or not any(map(len, places.values())):
            return
        if not self.run.frame:
            yield from (one for one in of_facts.located(facts, places, lambda ps: self._sizes(source, ps)) if one.path in self._units)
            return
        parts: dict[str, list[Positions]] = {}
        for partition, positions in places.items():
            path, first = facts.place(partition)
            if path is not None:
                parts.setdefault(path, []).append(positions + first)
        yield from (Located.of(path, self._units[path], np.concatenate(found)) for path, found in parts.items() if path in self._units)

    def _standing(self, source: int, inputs: Sequence[Located]) -> Places:
        """The records of a source that stand there."""
        facts: Any = self.run.sources[source]
        numbering = numbering_of(self.run, source)
        wanted = {one.path: one.positions for one in inputs if one.path in self._units}
        if not wanted or not (self.run.frame or of_facts.paths(facts) & wanted.keys()):
            return {}
        known = self._counted(source) if numbering is None else numbering.sizes()
        if not self.run.frame:
            found: Places = of_facts.standing(facts, inputs, known, lambda ps: self._sizes(source, ps))
        else:
            found = {}
            for partition, (path, first) in enumerate(facts.places):
                if path in wanted and (size := known.get(partition, 0)):
                    here = wanted[path]
                    start, end = np.searchsorted(here, [first, first + size])
                    found = union(found, {partition: here[start:end] - first})
        return found if numbering is None else numbering.known(found)

    def _counted(self, source: int) -> Mapping[int, int]:
        """The records of a source that the run read, by partition. Raises IncompleteLineageError where nobody counted them."""
        known = self.run.counted(source)
        return known if len(known) == self.run.graph[source].partitions else {**records(self.run.lineage, source), **known}

    def _sizes(self, source: int, partitions: Sequence[int]) -> Mapping[int, int]:
        known = self.run.counted(source)
        missing = [partition for partition in partitions if partition not in known]
        if missing:
            raise IncompleteLineageError(f"How many records partition {missing[0]} of {self.run.graph[source]} has was not saved", remedy="Save a run that reads all of it, with dbg.save(DIR, lineage=True).")
        return known


def _of_result(run: SavedRun, written: Associated) -> Associated:
    """What was written, by the records of the run's result. A query's were saved by number alone; where its result is a source itself, they are those of its files."""
    known = run.associated if run.frame else None
    return written if known is None else written.numbered(RESULT, known.levels[run.subject])
