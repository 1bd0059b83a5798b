"""Mining a run of an RDD program: multiplicities, suspicious operators, and what bad records have in common (Newt 4.1, 7.3.1)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from bigdebug.errors import BigdebugError, LocalizeError
from bigdebug.mining.mined import Mined, Multiplicity, spread
from bigdebug.mining.multiplicity import Instance, Suspect, Way, rank, suspects
from bigdebug.mining.predicates import Separation
from bigdebug.mining.spectrum import Suspiciousness, suspicious
from bigdebug.spark.rdd.inquiry.explaining import Names, every_source, separations, without
from bigdebug.trace.multiplicities import Crossing, crossings
from bigdebug.trace.passed import arriving_at, passed
from bigdebug.trace.places import Places, count
from bigdebug.trace.positions import Positions, first
from bigdebug.trace.tables import Codes, Kept, Order, Whole
from bigdebug.trace.walk import all_of

if TYPE_CHECKING:
    from bigdebug.spark.rdd.lineage_rdd import LineageRDD

PARTITIONS = 200
"""Up to so many partitions of operators are told apart when suspicious operators are looked for: each takes a trace ahead."""

_ONCE: dict[Way, tuple[type, ...]] = {Way.OUTPUTS: (Codes, Order), Way.INPUTS: (Kept, Order)}
"""Tables by which an input has one output, or an output one input, always."""


class Mining:
    """One question: what is unusual in the run of ``trace``, over its outputs ``bad`` and ``good``, if these are known."""

    def __init__(self, trace: LineageRDD, bad: LineageRDD | None, good: LineageRDD | None, names: Names, alpha: float, most: int) -> None:
        self._trace, self._names, self._alpha, self._most = trace, names, alpha, most
        self._run, self._subject = trace.run, trace._only("mine()")
        self._lineage = trace.run.lineage
        self._bad = None if bad is None else bad.places
        self._good = None if good is None else good.places
        self._within = self._run.graph.upstream(self._subject)
        self._notes: list[str] = []

    def mined(self) -> Mined:
        """All of it. Raises LocalizeError where bad outputs are none, or are good as well."""
        self._check()
        found = self._suspects()
        return Mined(
            tuple(self._looked_up(found)), tuple(self._operators()), self._separations(), tuple(self._multiplicities()),
            count(self._bad or {}), count(self._passing), tuple(self._notes),
        )

    # ---- outputs ----------------------------------------------------------------------------------------------

    @cached_property
    def _passing(self) -> Places:
        """The outputs that are good: all that are not bad, if nobody says which."""
        return self._good if self._good is not None else {} if self._bad is None else without(all_of(self._lineage, self._subject), self._bad)

    def _check(self) -> None:
        for name, places in (("bad", self._bad), ("good", self._good)):
            if places is not None and not count(places):
                raise LocalizeError(
                    f"None of the {self._trace.count():,} outputs of {self._run.graph[self._subject]} is {name}",
                    remedy=f"{name}= is true of some outputs, or names keys of theirs; or leave it out.",
                )
        both = [p for p, at in (self._bad or {}).items() if len(np.intersect1d(at, (self._good or {}).get(p, ()), assume_unique=True))]
        if both:
            raise LocalizeError(f"Some outputs in partition {both[0]} are bad and good at once", remedy="Let bad= and good= hold for different ones.")

    @cached_property
    def _behind_bad(self) -> Mapping[int, Places]:
        """By operator, the records that bad outputs were made of."""
        return passed(self._lineage, self._subject, self._bad or {})

    @cached_property
    def _behind_good(self) -> Mapping[int, Places]:
        return passed(self._lineage, self._subject, self._good or {})

    # ---- multiplicities ---------------------------------------------------------------------------------------

    @cached_property
    def _crossings(self) -> list[Crossing]:
        found = list(crossings(self._lineage, self._within))
        opaque = {o for each in found for o in each.operators if self._run.graph[o].form.opaque}
        if opaque:
            names = ", ".join(str(self._run.graph[o]) for o in sorted(opaque))
            self._notes.append(f"Not compared: {names}; lineage says all that these had read before an output.")
        return found

    def _counted(self, way: Way) -> dict[Instance, Crossing]:
        """The crossings of which something may be unusual, by instance."""
        found: dict[Instance, Crossing] = {}
        for each in self._crossings:
            opaque = any(self._run.graph[o].form.opaque for o in each.operators) or (way is Way.INPUTS and isinstance(each.table, Whole))
            if not (each.trivial or opaque or isinstance(each.table, _ONCE[way])):
                found.setdefault((each.operators, each.partition), each)
        return found

    def _suspects(self) -> list[Suspect]:
        found: list[Suspect] = []
        for way in Way:
            known = self._counted(way)
            counts = {instance: each.outputs_of if way is Way.OUTPUTS else each.inputs_of for instance, each in known.items()}
            bad, good = (
                None if places is None else {instance: self._at(each, way, behind) for instance, each in known.items()}
                for places, behind in ((self._bad, self._behind_bad), (self._good, self._behind_good))
            )
            for merged in (False, True):
                here = {instance for instance, each in known.items() if (each.reads is None) is merged}
                of, wrong, right = (None if each is None else {i: each[i] for i in here} for each in (counts, bad, good))
                found += suspects(of or {}, wrong, right, self._called, self._alpha, self._most, way, together=merged)
        found.sort(key=rank)
        if len(found) > self._most:
            self._notes.append(f"{len(found) - self._most:,} more are as unusual as chance does not explain: most= tells so many.")
        return found[: self._most]

    def _at(self, crossing: Crossing, way: Way, behind: Mapping[int, Places]) -> Positions:
        """The inputs, or the outputs, of a crossing that are among records behind outputs."""
        nothing = np.empty(0, dtype=np.int64)
        if way is Way.OUTPUTS and crossing.reads is not None:
            return first(behind.get(crossing.reads, {}).get(crossing.partition, nothing), crossing.inputs)
        outputs = first(behind.get(crossing.operators[-1], {}).get(crossing.partition, nothing), crossing.outputs)
        return outputs if way is Way.INPUTS else crossing.table.back(outputs)

    def _called(self, instance: Instance) -> str:
        return f"partition {instance[1]} of {self._label(instance[0])}"

    def _label(self, operators: Iterable[int]) -> str:
        return " and ".join(str(self._run.graph[operator]) for operator in operators)

    def _looked_up(self, found: list[Suspect]) -> list[Suspect]:
        """With their records."""
        where = {number: self._where(each) for number, each in enumerate(found) if each.position is not None}
        records: dict[int, Any] = {}
        by_operator: dict[int, list[int]] = defaultdict(list)
        for number, (operator, _, _) in where.items():
            by_operator[operator].append(number)
        for operator, numbers in by_operator.items():
            places: dict[int, Positions] = {}
            for _, partition, position in (where[number] for number in numbers):
                places[partition] = np.union1d(places.get(partition, np.empty(0, dtype=np.int64)), [position]).astype(np.int64)
            try:
                known = self._trace._questions.records(operator, places)
            except BigdebugError as trouble:  # what is unusual of them is known all the same
                self._notes.append(f"The records at {self._run.graph[operator]} cannot be shown: {trouble.what}.")
                continue
            records.update({number: known[where[number][1]][where[number][2]] for number in numbers})
        return [
            replace(each, records=(records[number],), origins=self._origins(*where[number])) if number in records else each
            for number, each in enumerate(found)
        ]

    def _where(self, suspect: Suspect) -> tuple[int, int, int]:
        """The operator, partition and position of a suspect's record; of what arrived from a shuffle, before that."""
        assert suspect.partition is not None
        assert suspect.position is not None
        crossing = self._counted(suspect.way)[suspect.operator, suspect.partition]
        if suspect.way is Way.INPUTS:
            return crossing.operators[-1], suspect.partition, suspect.position
        if crossing.reads is not None:
            return crossing.reads, suspect.partition, suspect.position
        sent = self._lineage.sent(crossing.stage, crossing.partition, np.array([suspect.position], dtype=np.int64))
        return next((operator, p, int(at[0])) for operator, places in sent.items() for p, at in places.items() if len(at))

    def _origins(self, operator: int, partition: int, position: int) -> Any:
        if operator not in self._run.sources:
            return ()
        one = {operator: {partition: np.array([position], dtype=np.int64)}}
        return tuple(self._trace._to([operator], lambda: one).origins())

    def _multiplicities(self) -> Iterable[Multiplicity]:
        by_operators: dict[tuple[int, ...], list[Crossing]] = defaultdict(list)
        for each in self._crossings:
            by_operators[each.operators].append(each)
        for operators, parts in sorted(by_operators.items()):
            opaque = any(self._run.graph[o].form.opaque for o in operators)
            yield Multiplicity(
                self._label(operators), len(parts), sum(int(each.inputs if each.sizes is None else each.sizes.sum()) for each in parts), sum(each.outputs for each in parts),
                None if opaque else spread([each.outputs_of for each in parts]), None if opaque else spread([each.inputs_of for each in parts]),
            )

    # ---- operators --------------------------------------------------------------------------------------------

    def _operators(self) -> list[Suspiciousness[str]]:
        """By suspicion, the operators at which the run's tables begin or end, and partitions of them."""
        if self._bad is None:
            return []
        whole = {operator: all_of(self._lineage, operator) for operator in self._levels()}
        elements = {str(self._run.graph[operator]): self._part_in(operator, places) for operator, places in whole.items()}
        if sum(map(len, whole.values())) <= PARTITIONS:
            for operator, places in whole.items():
                for partition in places if len(places) > 1 else ():
                    elements[f"partition {partition} of {self._run.graph[operator]}"] = self._part_in(operator, {partition: places[partition]})
        else:
            self._notes.append(f"Partitions are not told apart by the outputs that they took part in: they are more than {PARTITIONS}.")
        return suspicious(elements, count(self._bad), count(self._passing))

    def _levels(self) -> list[int]:
        made = {operator for each in self._crossings for operator in (each.reads, each.operators[-1]) if operator is not None}
        return sorted((made | {source.id for source in self._run.graph.sources} | {self._subject}) & self._within)

    def _part_in(self, operator: int, places: Places) -> tuple[int, int]:
        """How many bad and good outputs some records of an operator took part in."""
        within = self._within & self._run.graph.downstream(operator)
        reached = arriving_at(self._lineage, self._subject, operator, places, within)
        bad, good = (
            sum(len(np.intersect1d(at, side[p], assume_unique=True)) for p, at in reached.items() if p in side) for side in (self._bad or {}, self._passing)
        )
        return bad, good

    # ---- records ----------------------------------------------------------------------------------------------

    def _separations(self) -> dict[str, Separation]:
        """What holds of source records that only bad outputs were made of, against those of good ones; of all others, if nobody says which are."""
        if self._bad is None:
            return {}
        every = every_source(self._trace)
        behind = {s: self._behind_bad.get(s, {}) for s in every}
        healthy = {s: self._behind_good.get(s, {}) if self._good is not None else places for s, places in every.items()}
        culprits = {s: without(behind[s], healthy[s]) if self._good is not None else behind[s] for s in every}
        for source, name in self._run.input_names().items():
            if count(behind.get(source, {})) and not count(culprits[source]):
                self._notes.append(f"Good outputs were made of all records of {name} that bad ones were made of: nothing sets these apart.")
        return separations(self._trace, culprits, {s: without(healthy[s], behind[s]) for s in every}, self._names)

