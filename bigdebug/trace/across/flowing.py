"""Flowing: the records that others were made of, or that were made of them, through step after step (Newt's Trace, 3.3). Each step is asked once."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from weakref import ref

import numpy as np

from bigdebug.errors import BigdebugError
from bigdebug.trace.across.attempts import Attempts
from bigdebug.trace.across.dataflow import Dataflow
from bigdebug.trace.across.links import Joined, Link
from bigdebug.trace.across.located import ITEMS, Extent, Located, Unit
from bigdebug.trace.across.notes import Note, notes_of
from bigdebug.trace.across.paths import key_of, short
from bigdebug.trace.across.stamps import stamp_of
from bigdebug.trace.across.step import Step, counting, hashed, moving, named, partial
from bigdebug.trace.across.units import FIRST, Units, same_count
from bigdebug.trace.across.ways import Ways, severally
from bigdebug.trace.positions import distinct


@dataclass(frozen=True, eq=False)
class Reached:
    """Records of one file that a flow came through, as ``extent`` counts them. ``writer`` wrote them, here or where this is a copy of, and ``readers`` read them,
    as far as the flow went.
    """

    located: Located
    extent: Extent
    writer: Step | None = None
    readers: tuple[Step, ...] = ()
    counted_by: str = ""
    """The step that counts so; empty if they are counted by lines for several."""


@dataclass(eq=False)
class Flowing:
    """A question on its way. ``backward`` and ``forward`` take where it starts, and fill what is found."""

    dataflow: Dataflow
    units: Units
    inputs: dict[str, dict[str, Located]] = field(default_factory=dict)
    """By step and file: the records that a step read, as it counts them (Newt's tracing tables)."""
    outputs: dict[str, dict[str, Located]] = field(default_factory=dict)
    """By step and file: the records that it wrote."""
    reached: dict[tuple[str, str, object], Reached] = field(default_factory=dict)
    """By file, who wrote it, and, if no known step did, what it held."""
    passed: list[Step] = field(default_factory=list)
    notes: dict[str, Note] = field(default_factory=dict)
    held: dict[str, object] = field(default_factory=dict)
    """By step: the trace, or the culprit, that the question started from."""
    asked: dict[str, Sequence[Located]] = field(default_factory=dict)
    """By step: what it was asked about last, as it counts these records."""
    _queue: list[tuple[int, str]] = field(default_factory=list)
    _ways: Ways = field(default_factory=Ways)

    # ---- both ways --------------------------------------------------------------------------------------------

    def backward(self, outputs: Sequence[tuple[Step, Located]], inputs: Sequence[tuple[Step, Located]] = (), own: bool = False) -> None:
        """From records that steps wrote, or read, to all that they were made of, as far as steps are known. The records are a step's ``own``, or those of a file that it read."""
        for step, found in outputs:
            self._came(step, found, self.outputs, -1)
            self._note_reached(found, self._ways.wrote(step, found), step, None, step)
        for step, found in inputs:
            if own:
                self._came(step, found, self.inputs, -1)
            elif len(found):
                self._up(step, found)
        for step in self._in_turn(-1):
            asked = self.outputs.get(step.id)
            if asked:
                for found in self._made_of(step, list(asked.values()), step.backward, ahead=False):
                    _add(self.inputs.setdefault(step.id, {}), self._certain(step, found, written=False))
            for found in list(self.inputs.get(step.id, {}).values()):
                self._up(step, found)

    def forward(self, inputs: Sequence[tuple[Step, Located]], outputs: Sequence[tuple[Step, Located]] = (), own: bool = False) -> None:
        """From records that steps read, or wrote, to all that were made of them."""
        for step, found in inputs:
            self._came(step, found, self.inputs, 1)
            self._note_reached(found, self._ways.read(step, found), None, step, step)
            self._tell(self._attempts.that_took(found.path))
        for step, found in outputs:
            if own:
                self._came(step, found, self.outputs, 1)
            elif len(found):
                self._down(step, found)
        for step in self._in_turn(1):
            asked = self.inputs.get(step.id)
            if asked:
                for found in self._made_of(step, list(asked.values()), step.forward, ahead=True):
                    _add(self.outputs.setdefault(step.id, {}), self._certain(step, found, written=True))
            for found in list(self.outputs.get(step.id, {}).values()):
                self._down(step, found)

    # ---- from file to file ------------------------------------------------------------------------------------

    def _up(self, step: Step, found: Located) -> None:
        """To who wrote what the step read."""
        for read in self._ways.versions(step, found):
            self._up_to(step, found, read)

    def _up_to(self, step: Step, found: Located, read: Extent) -> None:
        joined = self.dataflow.into(step, read)
        self._told(joined)
        for link in joined.links:
            there = self._over(link, found, read, ahead=False)
            if len(there):
                self._came(link.writer, there, self.outputs, -1)
                if key_of(read.path) != key_of(link.wrote.path):
                    self._note_reached(found, read, link.writer, step, step)
                self._note_reached(there, link.wrote, link.writer, step, link.writer)
        if not joined.links:
            self._note_reached(found, read, None, step, step)
            self._tell(self._attempts.that_left(step, read))

    def _down(self, step: Step, found: Located) -> None:
        """To all who read what the step wrote."""
        wrote = self._ways.wrote(step, found)
        self._note_reached(found, wrote, step, None, step)
        self._tell(self._attempts.that_took(wrote.path))
        for reader, read, joined in self.dataflow.out_of(step, wrote):
            self._told(joined)
            for link in joined.links:
                there = self._over(link, found, replace(wrote, unit=found.unit), ahead=True)
                if len(there):
                    self._came(reader, there, self.inputs, 1)
                    self._note_reached(found, wrote, step, reader, step)
                    if key_of(read.path) != key_of(wrote.path):
                        self._note_reached(there, read, step, reader, reader)
        for later in self.dataflow.later_writers(step, wrote):
            part = partial(later)
            if part is not None and found.unit is not Unit.WHOLE and part.leaves(replace(found, path=wrote.path)):
                self._note(f"{named(later)} wrote a part of {short(found.path)} later, and may have left these records there: who read them then is not followed.")

    def _over(self, link: Link, found: Located, counted: Extent, ahead: bool) -> Located:
        """The records of a link as the step at its other end counts them; the whole file where that cannot be told exactly."""
        target = link.read if ahead else link.wrote
        if found.unit is Unit.WHOLE and target.path.startswith(ITEMS) and not link.hashed:
            return Located(target.path, Unit.WHOLE, FIRST)
        try:
            if link.hashed:
                there = _by_hash(link, found, ahead)
            else:  # two names of one content: one of them is here, as it was
                one = replace(counted, path=target.path, stamp=target.stamp) if _gone(counted) else counted
                there = self.units.translate(found, one, replace(target, path=one.path, stamp=one.stamp))
                there = Located(target.path, there.unit, there.positions)
        except BigdebugError as problem:
            self._note(f"All of {short(target.path)} is taken, for which of its records they are cannot be told: {problem}")
            return Located(target.path, Unit.WHOLE, FIRST)
        if len(found) and not len(there) and not link.hashed:
            to = link.reader if ahead else link.writer
            self._note(f"What is traced of {short(found.path)} are no records for {named(to)}: a header, or blank lines.", True)
        return there

    # ---- one step ---------------------------------------------------------------------------------------------

    def _made_of(self, step: Step, given: list[Located], ask: Callable[[Sequence[Located]], Sequence[Located]], ahead: bool) -> list[Located]:
        """What a step answers; if it cannot, all that it read or wrote."""
        try:
            asked = [self._counted(step, found, extent) for found in given for extent in self._ways.names(step, not ahead, found)]
            self.asked[step.id] = asked
            self._told_of(step, asked, ahead)
            if (follows := moving(step)) is not None:
                follows.follow(_moved(self.dataflow))
            found = [one for one in ask(asked) if len(one)]
            self._tell(notes_of(step, found))
        except BigdebugError as problem:
            self._note(f"All that {named(step)} {'wrote' if ahead else 'read'} is taken, for it cannot tell which records of it: {problem}")
            for reason in step.incomplete:
                if reason not in str(problem):
                    self._note(f"{named(step)} is incomplete: {reason}")
            return [Located(extent.path, Unit.WHOLE, FIRST) for extent in (step.writes if ahead else step.reads)]
        return found

    def _told_of(self, step: Step, asked: Sequence[Located], ahead: bool) -> None:
        """Say so where a step wrote a part of a file alone, and others are asked about."""
        part = partial(step)
        if ahead or part is None:
            return
        for found in asked:
            if found.unit is not Unit.WHOLE and not found.path.startswith(ITEMS) and part.untold(found):
                self._note(f"{named(step)} wrote {short(found.path)}, and did not say so of some of these records: what they were made of is not followed.")

    def _counted(self, step: Step, found: Located, extent: Extent) -> Located:
        """In the unit that the step counts in. Raises if what is all of a file cannot be counted."""
        if found.unit is extent.unit:
            return replace(found, path=extent.path)
        known = counting(step) if extent.path.startswith(ITEMS) else None
        if found.unit is Unit.WHOLE and known is not None:
            return Located(extent.path, extent.unit, np.arange(known.count(extent.path)))
        return self.units.translate(found, replace(extent, unit=found.unit), extent)

    # ---- what was found ---------------------------------------------------------------------------------------

    def _came(self, step: Step, found: Located, table: dict[str, dict[str, Located]], way: int) -> None:
        if not len(found):
            return
        _add(table.setdefault(step.id, {}), self._certain(step, found, written=table is self.outputs))
        heapq.heappush(self._queue, (way * self.dataflow.rank[step.id], step.id))

    def _certain(self, step: Step, found: Located, written: bool) -> Located:
        """The records as the step has them; all of the file, where it has that in ways that differ."""
        if found.unit is Unit.WHOLE or not self._ways.several(step, written, found):
            return found
        self._note(f"All of {short(found.path)} is taken: {severally(step, written, found)}; a step behind each reading keeps them apart.")
        return Located(found.path, Unit.WHOLE, FIRST)

    def _in_turn(self, way: int) -> Iterable[Step]:
        """Steps in order, each once: all that leads to one comes before it."""
        done = set()
        while self._queue:
            rank, name = heapq.heappop(self._queue)
            if name not in done:
                done.add(name)
                step = self.dataflow.steps[way * rank]
                self.passed.append(step)
                yield step

    def _told(self, joined: Joined) -> None:
        """What is not certain of a link: also that equal content is a copy, for files may be equal by chance."""
        self._note(joined.broken)
        self._note(joined.note)

    @cached_property
    def _attempts(self) -> Attempts:
        return Attempts(self.dataflow.steps)

    def _tell(self, notes: Iterable[Note]) -> None:
        for note in notes:
            self._note(note.text, note.harmless)

    def _note(self, text: str, harmless: bool = False) -> None:
        if text:
            self.notes.setdefault(text, Note(text, harmless))

    def _note_reached(self, found: Located, extent: Extent, writer: Step | None, reader: Step | None, by: Step) -> None:
        """Records of a file are one, however often they are reached; counted as ``by``, or whoever came first, counts them, or by lines."""
        if not len(found):
            return
        version = writer.id if writer is not None else None if extent.stamp is None else (extent.stamp.size, extent.stamp.digest or extent.stamp.modified)
        name = (key_of(extent.path), "" if writer is None else writer.id, version)
        known = self.reached.get(name)
        if known is None:
            self.reached[name] = Reached(found, replace(extent, unit=found.unit), writer, () if reader is None else (reader,), by.id)
            return
        readers = known.readers if reader is None or reader in known.readers else (*known.readers, reader)
        self.reached[name] = replace(self._together(known, found, replace(extent, unit=found.unit), by), readers=readers)

    def _together(self, known: Reached, found: Located, extent: Extent, by: Step) -> Reached:
        """The records of both; by lines, where two readers count in different ways."""
        counted = replace(known.extent, unit=Unit.LINE, options=tuple(o for o in known.extent.options if o[0].lower() in ("encoding", "charset")))
        try:
            if (known.counted_by == by.id and known.extent == extent) or same_count(known.extent, extent):
                return replace(known, located=_union(known.located, found))
            one, other = (self.units.translate(records, way, counted) for records, way in ((known.located, known.extent), (found, extent)))
            return replace(known, located=_union(one, other), extent=counted, counted_by="")
        except BigdebugError as problem:
            self._note(f"All of {short(extent.path)} is shown, for what its readers read cannot be counted alike: {problem}")
            return replace(known, located=Located(found.path, Unit.WHOLE, FIRST), extent=replace(counted, unit=Unit.WHOLE), counted_by="")


def _moved(dataflow: Dataflow) -> Callable[[Step, str], Sequence[str]]:
    """What a step may keep to ask: it holds no pipeline, whose runs may be let go of."""
    known = ref(dataflow)

    def moved(step: Step, path: str) -> Sequence[str]:
        here = known()
        return () if here is None else here.moved(step, path)

    return moved


def _gone(extent: Extent) -> bool:
    return stamp_of(extent.path, digest=False) is None


def _add(table: dict[str, Located], found: Located) -> None:
    key = key_of(found.path)
    table[key] = _union(table[key], found) if key in table else found


def _union(one: Located, other: Located) -> Located:
    """The records of both; of which one is all of the file, if either is."""
    if Unit.WHOLE in (one.unit, other.unit):
        return Located(one.path, Unit.WHOLE, FIRST)
    return Located(one.path, one.unit, distinct(np.concatenate((one.positions, other.positions))))


def _by_hash(link: Link, found: Located, ahead: bool) -> Located:
    """The records of the same value (Newt 3.2)."""
    here, there = (link.writer, link.reader) if ahead else (link.reader, link.writer)
    own, other = (link.wrote, link.read) if ahead else (link.read, link.wrote)
    by_value, other_by_value = hashed(here), hashed(there)
    mine = None if by_value is None else by_value.hashes(own.path)
    others = None if other_by_value is None else other_by_value.hashes(other.path)
    if mine is None or others is None:
        raise BigdebugError(f"{named(here if mine is None else there)} has kept no hashes of what it passed on", remedy="Let it keep them, or pass the data on in a file.")
    asked = mine if found.unit is Unit.WHOLE else mine[found.positions]
    return Located(other.path, other.unit, np.flatnonzero(np.isin(others, asked)))
