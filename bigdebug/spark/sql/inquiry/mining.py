"""Mining a query: multiplicities between its levels, suspicious operators, and what rows behind bad ones have in common (Newt 4.1, 7.3.1)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import Row

from bigdebug.errors import LocalizeError
from bigdebug.mining.mined import Mined, Multiplicity, spread
from bigdebug.mining.multiplicity import Suspect, Way, rank, suspects
from bigdebug.mining.predicates import Separation
from bigdebug.mining.spectrum import Suspiciousness, suspicious
from bigdebug.spark.rdd.inquiry.explaining import Names as FieldNames
from bigdebug.spark.sql.inquiry.explaining import separations
from bigdebug.spark.sql.lineage_frame import LineageFrame
from bigdebug.spark.sql.walks import traced, walk
from bigdebug.spark.sql.witnessed import Between, Witnessed, witnessed
from bigdebug.trace.names import NOTHING, Names, array_of, distinct, places, without
from bigdebug.trace.positions import Positions


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

    @cached_property
    def _known(self) -> Witnessed:
        found = witnessed(self._steps)
        self._notes += [f"Not compared: {self._graph[level]}, for {why}." for level, why in found.left_out.items()]
        return found

    @property
    def _whole(self) -> bool:
        """Whether all that lineage says is in the driver."""
        return not self._known.left_out

    def _behind(self, names: Names) -> dict[int, Positions]:
        """By level, the places of the rows that some rows of the result were made of."""
        if self._whole:
            return self._known.back(self._root, self._known.places(self._root, names))
        visited = traced(self._steps, {self._root: names})[0]
        return {level: self._known.places(level, found) for level, found in visited.items() if level in self._known.names}

    @cached_property
    def _behinds(self) -> tuple[dict[int, Positions] | None, ...]:
        """Those behind bad rows, and behind good ones."""
        return tuple(None if names is None else self._behind(names) for names in (self._bad, self._good))

    # ---- multiplicities ---------------------------------------------------------------------------------------

    def _suspects(self) -> list[Suspect]:
        found: list[Suspect] = []
        nothing = np.empty(0, dtype=np.int64)
        for way in Way:
            counts = {(number, 0): each.counts(way) for number, each in enumerate(self._known.between)}
            unusual = {at: known for at, known in counts.items() if len(known) and known.min() != known.max()}
            bad, good = (
                None if side is None else {at: side.get(self._known.between[at[0]].at(way), nothing) for at in unusual} for side in self._behinds
            )
            found += suspects(unusual, bad, good, lambda at: self._label(self._known.between[at[0]]), self._alpha, self._most, way, together=True, numbered=False)
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
            yield replace(each, operator=self._known.between[each.operator].level, partition=None, records=() if known is None else (known,), origins=origins)

    def _name(self, suspect: Suspect) -> tuple[int, Any]:
        """The level of a suspect's row, and its name, alone in an array."""
        between = self._known.between[suspect.operator]
        assert suspect.position is not None
        level = between.at(suspect.way)
        return level, self._known.names[level].slice(suspect.position, 1)

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
        for each in self._known.between:
            yield Multiplicity(
                self._label(each), 1, each.inputs, each.outputs, spread([each.counts(Way.OUTPUTS)]), spread([each.counts(Way.INPUTS)]),
            )

    # ---- operators and records --------------------------------------------------------------------------------

    def _operators(self) -> list[Suspiciousness[str]]:
        """By suspicion, the levels by the rows of the result that their rows had a part in; a job or two for each."""
        if self._bad is None:
            return []
        sides = [self._known.places(self._root, names) for names in (self._bad, self._passing)] if self._root in self._known.names else []
        if not sides:
            self._notes.append("Operators are not told apart by the rows that they took part in: the result has more than the driver takes.")
            return []
        elements = {
            self._called(level): (_common(sides[0], reached), _common(sides[1], reached))
            for level in sorted(self._known.names) for reached in [self._reached(level)]
        }
        return suspicious(elements, len(self._bad), len(self._passing))

    def _reached(self, level: int) -> Positions:
        """The places of the rows of the result that any row of a level had a part in."""
        if self._whole or level == self._root:
            return self._known.ahead(self._root, level)
        return self._known.places(self._root, walk(self._steps, {level: None}, frozenset([self._root]), ahead=True).get(self._root, NOTHING))

    def _sources(self, trace: LineageFrame, behind: dict[int, Positions] | None) -> LineageFrame:
        """The source rows behind some rows of the result."""
        if behind is None or not (self._whole and trace.run.questions.by_steps):
            return trace.goBackAll()
        return trace.standing_at({o: self._known.names[o].take(pa.array(behind.get(o, np.empty(0, dtype=np.int64)))) for o in sorted(self._steps.sources)})

    def _separations(self) -> dict[str, Separation]:
        """What holds of source rows that only bad rows were made of, against those of good ones; of all others, if nobody says which are."""
        if self._bad_trace is None:
            return {}
        behind = self._sources(self._bad_trace, self._behinds[0])
        if self._good_trace is None:
            return separations(behind, None, self._names)
        healthy = self._sources(self._good_trace, self._behinds[1])
        wrong, right = ({o: each._names(o) for o in each.operators} for each in (behind, healthy))
        culprits = {o: without(names, right.get(o, NOTHING)) for o, names in wrong.items()}
        for source, names in culprits.items():
            if len(wrong[source]) and not len(names):
                self._notes.append(f"Good rows were made of all rows of {self._called(source)} that bad ones were made of: nothing sets these apart.")
        others = {o: without(names, wrong.get(o, NOTHING)) for o, names in right.items()}
        return separations(self._trace.standing_at(culprits), self._trace.standing_at(others), self._names)


def _common(places: Positions, others: Positions) -> int:
    return len(np.intersect1d(places, others, assume_unique=True))
