"""Mining a query: multiplicities between its levels, suspicious operators, and what rows behind bad ones have in common (Newt 4.1, 7.3.1)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import Row

from bigdebug.errors import LocalizeError, TooLargeError
from bigdebug.mining.mined import Mined, Multiplicity, spread
from bigdebug.mining.multiplicity import Suspect, Way, rank, suspects
from bigdebug.mining.predicates import Separation
from bigdebug.mining.spectrum import Suspicion, suspicious
from bigdebug.spark.rdd.explaining import Names as FieldNames
from bigdebug.spark.sql.explaining import separations
from bigdebug.spark.sql.far import Far
from bigdebug.spark.sql.lineage_frame import LineageFrame
from bigdebug.spark.sql.steps import Steps
from bigdebug.spark.sql.walks import traced, walk
from bigdebug.trace.names import NOTHING, Names, array_of, codes_of, distinct, places, without

Counts = Any


@dataclass(frozen=True)
class Between:
    """How the rows of one level were made of those of a level below: the names of both, and which belong to which, by place."""

    level: int
    below: int
    outputs: Names
    inputs: Names
    made: Counts
    of: Counts

    def counts(self, way: Way) -> Counts:
        """How many outputs each input has, or how many inputs each output."""
        return np.bincount(self.of, minlength=len(self.inputs)) if way is Way.OUTPUTS else np.bincount(self.made, minlength=len(self.outputs))

    def names(self, way: Way) -> Names:
        return self.inputs if way is Way.OUTPUTS else self.outputs

    def at(self, way: Way) -> int:
        return self.below if way is Way.OUTPUTS else self.level


class FrameMining:
    """One question: what is unusual in the query of ``trace``, over its rows ``bad`` and ``good``, if these are known."""

    def __init__(self, trace: LineageFrame, bad: LineageFrame | None, good: LineageFrame | None, names: FieldNames, alpha: float, most: int) -> None:
        self._trace, self._names, self._alpha, self._most = trace, names, alpha, most
        self._root = trace._only("mine()")
        self._graph, self._steps = trace.run.graph, trace._steps
        self._bad_trace, self._good_trace = bad, good
        self._notes: list[str] = []
        self._bad, self._good = (None if each is None else each._names(self._root) for each in (bad, good))

    def mined(self) -> Mined:
        """All of it. Raises LocalizeError where bad rows are none, or are good as well, TooLargeError for more rows than the driver takes."""
        self._check()
        found = self._suspects()
        return Mined(
            tuple(self._looked_up(found)), tuple(self._operators()), self._separations(), tuple(self._multiplicities()),
            0 if self._bad is None else len(self._bad), 0 if self._bad is None else len(self._passing), tuple(self._notes),
        )

    def _check(self) -> None:
        for name, names in (("bad", self._bad), ("good", self._good)):
            if names is not None and not len(names):
                raise LocalizeError(f"None of the {self._trace.count():,} rows of {self._graph[self._root]} is {name}", remedy=f"{name}= is true of some rows; or leave it out.")
        if self._bad is not None and self._good is not None and len(places(self._bad, self._good)):
            raise LocalizeError("Some rows are bad and good at once", remedy="Let bad= and good= hold for different ones.")

    @cached_property
    def _passing(self) -> Names:
        """The rows that are good: all that are not bad, if nobody says which."""
        return self._good if self._good is not None else without(self._trace._names(self._root), self._bad)

    def _behind(self, names: Names) -> Mapping[int, Names]:
        """By level, the names of the rows that some rows of the result were made of."""
        return traced(self._steps, {self._root: names})[0]

    # ---- multiplicities ---------------------------------------------------------------------------------------

    @cached_property
    def _between(self) -> list[Between]:
        """What each level was made of; levels of which lineage says more than what made a row are left out, and told."""
        found: list[Between] = []
        steps = self._steps
        for level in sorted(steps.levels - steps.sources):
            if level in steps.subqueries or steps.peers(level) is not None or steps.broader(level) or (steps.crowded(level) and not steps.association(level).content):
                self._notes.append(f"Not compared: {self._graph[level]}, of which a row depends on others, or is not told from others that were made of the same rows.")
                continue
            try:
                found += _witnessed(steps, level)
            except TooLargeError:
                self._notes.append(f"Not compared: {self._graph[level]}, which has more rows than the driver takes (spark.driver.maxResultSize).")
        return found

    def _suspects(self) -> list[Suspect]:
        found: list[Suspect] = []
        behind = [None if names is None else self._behind(names) for names in (self._bad, self._good)]
        for way in Way:
            counts = {(number, 0): each.counts(way) for number, each in enumerate(self._between)}
            unusual = {at: known for at, known in counts.items() if len(known) and known.min() != known.max()}
            bad, good = (
                None if side is None else {at: _places(self._between[at[0]].names(way), side.get(self._between[at[0]].at(way), NOTHING)) for at in unusual}
                for side in behind
            )
            found += suspects(unusual, bad, good, lambda at: self._label(self._between[at[0]]), self._alpha, self._most, way, together=True, numbered=False)
        found.sort(key=rank)
        if len(found) > self._most:
            self._notes.append(f"{len(found) - self._most:,} more are as unusual as chance does not explain: most= tells so many.")
        return found[: self._most]

    def _label(self, between: Between) -> str:
        return f"{self._graph[between.level]} over {self._called(between.below)}"

    def _called(self, level: int) -> str:
        return self._trace.run.input_names().get(level) or str(self._graph[level])

    def _looked_up(self, found: list[Suspect]) -> Iterator[Suspect]:
        """With their rows, a job for each level."""
        rows: dict[tuple[int, str], Any] = {}
        names = [self._name(each) for each in found]
        for level in sorted({level for level, _ in names}):
            here = distinct(pa.concat_arrays([name for at, name in names if at == level]))
            rows.update({(level, key): row for key, row in self._rows(level, here)})
        for each, (level, name) in zip(found, names):
            origins: tuple[Any, ...] = ()
            if level in self._steps.sources:
                origins = tuple(self._trace.run.questions.leaves[level].origins(self._trace.run.questions.catalyst, name.to_numpy(zero_copy_only=False)))
            known = rows.get((level, repr(name[0])))
            yield replace(each, operator=self._between[each.operator].level, partition=None, records=() if known is None else (known,), origins=origins)

    def _name(self, suspect: Suspect) -> tuple[int, Any]:
        """The level of a suspect's row, and its name, alone in an array."""
        between = self._between[suspect.operator]
        assert suspect.position is not None
        return between.at(suspect.way), between.names(suspect.way).slice(suspect.position, 1)

    def _rows(self, level: int, names: Names) -> Iterator[tuple[str, Row]]:
        """The rows of a level with these names, by the text of the name."""
        trace = self._trace.standing_at({level: names})
        plan, name = trace._shown(level, names)
        columns = trace._columns(level)
        table = trace.run.questions.catalyst.table(plan, {"name": name} | {f"c{i}": column for i, column in enumerate(columns)})
        row_of = Row(*(column.name() for column in columns))
        values = [table[f"c{i}"].to_pylist() for i in range(len(columns))]
        for place, known in enumerate(array_of(table["name"])):
            yield repr(known), row_of(*(column[place] for column in values))

    def _multiplicities(self) -> Iterator[Multiplicity]:
        for each in self._between:
            yield Multiplicity(
                self._label(each), 1, len(each.inputs), len(each.outputs), spread([each.counts(Way.OUTPUTS)]), spread([each.counts(Way.INPUTS)]),
            )

    # ---- operators and records --------------------------------------------------------------------------------

    def _operators(self) -> list[Suspicion[str]]:
        """By suspicion, the levels by the rows of the result that their rows had a part in; a job or two for each."""
        if self._bad is None:
            return []
        elements = {}
        for level in sorted(self._steps.levels - self._steps.subqueries):
            reached = walk(self._steps, {level: None}, frozenset([self._root]), ahead=True).get(self._root, NOTHING) if level != self._root else None
            bad, good = (len(side) if reached is None else len(places(side, reached)) for side in (self._bad, self._passing))
            elements[self._called(level)] = (bad, good)
        return suspicious(elements, len(self._bad), len(self._passing))

    def _separations(self) -> dict[str, Separation]:
        """What holds of source rows that only bad rows were made of, against those of good ones; of all others, if nobody says which are."""
        if self._bad_trace is None:
            return {}
        behind = self._bad_trace.goBackAll()
        if self._good_trace is None:
            return separations(behind, None, self._names)
        healthy = self._good_trace.goBackAll()
        wrong, right = ({o: each._names(o) for o in each.operators} for each in (behind, healthy))
        culprits = {o: without(names, right.get(o, NOTHING)) for o, names in wrong.items()}
        for source, names in culprits.items():
            if len(wrong[source]) and not len(names):
                self._notes.append(f"Good rows were made of all rows of {self._called(source)} that bad ones were made of: nothing sets these apart.")
        others = {o: without(names, wrong.get(o, NOTHING)) for o, names in right.items()}
        return separations(self._trace.standing_at(culprits), self._trace.standing_at(others), self._names)


def _witnessed(steps: Steps, level: int) -> Iterable[Between]:
    """A level over each of those below it. Raises TooLargeError."""
    known, catalyst = steps.association(level), steps.catalyst
    table = catalyst.table(known.plan, {"key": catalyst.struct(known.told)} | {f"n{name.level}": name.column for name in known.names})
    keys = array_of(table["key"])
    made, outputs = codes_of(keys)
    _, first = np.unique(made, return_index=True)
    for name in known.names:
        if name.level in steps.subqueries:
            continue
        inputs = steps.every(name.level)
        if isinstance(inputs, Far):
            raise TooLargeError(f"{steps.operator(name.level)} has more rows than the driver takes", remedy="Set spark.driver.maxResultSize higher.")
        below = array_of(table[f"n{name.level}"])
        there = np.flatnonzero(below.is_valid().to_numpy(zero_copy_only=False))
        of = _matched(inputs, below.take(pa.array(there)))
        pairs = np.unique(made[there] * max(len(inputs), 1) + of)
        yield Between(level, name.level, keys.take(pa.array(first)), inputs, pairs // max(len(inputs), 1), pairs % max(len(inputs), 1))
    assert outputs == len(first)


def _matched(names: Names, wanted: Names) -> Counts:
    """Where each of ``wanted`` stands in ``names``, which has each once."""
    codes, size = codes_of(pa.concat_arrays([names, wanted.cast(names.type)]))
    place = np.zeros(size, dtype=np.int64)
    place[codes[: len(names)]] = np.arange(len(names))
    return place[codes[len(names):]]


def _places(names: Names, wanted: Names) -> Counts:
    """Where those of ``names`` stand that are among ``wanted``; all if that is None."""
    return np.arange(len(names)) if wanted is None else places(names, wanted)
