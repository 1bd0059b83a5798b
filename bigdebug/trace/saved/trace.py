"""Saved traces: over a saved run, answered without Spark and without the program."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property, partial
from typing import Any

import numpy as np

from bigdebug.errors import IncompleteLineageError, UnknownColumnError, UnknownOperatorError, UnknownRecordError
from bigdebug.model import NO_RIDS, Origin, Rids, SourceRecord
from bigdebug.shown import counted, shown
from bigdebug.trace.counts import sizes
from bigdebug.trace.given import rids_given
from bigdebug.trace.numbering import Numbering, whole
from bigdebug.trace.page import Page, check_numbers, numbers_given, page_of
from bigdebug.trace.places import Places, count, places_of, rids_of, union
from bigdebug.trace.rows import SavedRow
from bigdebug.trace.saved.runs import SavedRun, not_saved
from bigdebug.trace.saved.sources import SavedSource, not_kept
from bigdebug.trace.table import Table
from bigdebug.trace.trace import Standing, Trace, all_records


class SavedTrace(Trace):
    """A trace of a saved run.

    Of an RDD program it goes where a live one does, as far as lineage is here. Of a DataFrame it stands at sources, boundaries, and the result, whose rows have
    numbers for rids; a source that the query reads several times counts each of its rows once.
    """

    run: SavedRun

    def __init__(self, run: SavedRun, operators: Iterable[int], standing: Callable[[], Standing], numbering: Numbering | None = None) -> None:
        """``numbering`` is that of the only operator, if the trace is over all of its records: then they need not be listed."""
        super().__init__(run, operators, standing)
        self._all = numbering

    def _to(self, operators: Iterable[int], find: Any) -> SavedTrace:
        return SavedTrace(self.run, operators, find)

    # ---- where it stands --------------------------------------------------------------------------------------

    def count(self) -> int:
        return self._all.count if self._all is not None else sum(map(count, self._parts().values()))

    def rids(self) -> Rids:
        found = [rids_of(places) for places in self._parts().values()]
        return np.concatenate(found) if found else NO_RIDS

    def origins(self) -> list[Origin]:
        found: list[Origin] = []
        for operator, places in self._parts().items():
            facts = self.run.sources.get(operator)
            if facts is None:
                raise UnknownOperatorError(
                    f"{self.run.graph[operator]} is not a source, so its records have no origin", remedy="Go back to the sources first: goBackAll().",
                )
            for partition, positions in sorted(places.items()):
                found.extend(facts.origins(partition, positions, lambda ps, o=operator: self._sizes(o, ps)))  # type: ignore[misc]
        return found

    def _parts(self) -> dict[int, Places]:
        """The records by operator; those of a source that a query reads several times are together at the first."""
        if not self.run.frame:
            return {operator: self.standing.get(operator, {}) for operator in self.operators}
        datasets = self.run.datasets()
        first: dict[Any, int] = {}
        found: dict[int, Places] = {}
        for operator in self.operators:
            at = first.setdefault(datasets.get(operator, operator), operator)
            found[at] = union(found.get(at, {}), self.standing.get(operator, {}))
        return found

    def _sizes(self, operator: int, partitions: list[int]) -> Mapping[int, int]:
        known = self.run.whole.get(operator, {})
        return known if all(partition in known for partition in partitions) else sizes(self.run.lineage, operator, partitions)

    # ---- narrowing --------------------------------------------------------------------------------------------

    def at(self, rids: Iterable[int]) -> Any:
        if self._all is None:
            return super().at(rids)
        wanted, numbering, operator = places_of(rids_given(rids)), self._all, self._only("at()")

        def find() -> Standing:
            try:
                numbering.numbers(wanted)
            except UnknownRecordError as unknown:
                raise UnknownRecordError(f"{self.run.graph[operator]} has no such record in this trace", value=unknown.value, remedy=unknown.remedy) from None
            return {operator: wanted}

        return self._to([operator], find)

    def numbered(self, numbers: Iterable[int]) -> Any:
        if self._all is None:
            return super().numbered(numbers)
        wanted, numbering, operator = numbers_given(numbers), self._all, self._only("numbered()")

        def find() -> Standing:
            check_numbers(wanted, numbering.count, self.run.graph[operator])
            return {operator: numbering.places(wanted)}

        return self._to([operator], find)

    def where(self, condition: Callable[[Any], Any] | Mapping[str, Any]) -> Any:
        """The records for which a function holds, or that have these values in columns: ``where({"city": "Oslo"})``. Reads all that are traced."""
        if not callable(condition) and not isinstance(condition, Mapping):
            raise TypeError(f"where() takes a function of a record, or values by column, not {shown(condition)}; conditions of Spark's need Spark")
        test = condition if callable(condition) else partial(_has, condition)
        operator = self._only("where()")

        def find() -> Standing:
            rids = self.rids()
            chosen = [bool(test(record)) for record in self.collect()]
            return {operator: places_of(rids[np.array(chosen, dtype=bool)])}

        return self._to([operator], find)

    # ---- steps ------------------------------------------------------------------------------------------------

    def goBackAll(self) -> Any:  # noqa: N802
        goals = {s.id for s in self.run.graph.sources} & self._levels
        if not goals:
            raise UnknownOperatorError("This query reads no source", remedy="There is nothing to trace back to.")
        return self._step(goals, ahead=False)

    def _steps(self, n: int, ahead: bool) -> Any:
        if not self.run.frame:
            return super()._steps(n, ahead)
        trace = self
        for _ in range(n):
            trace = trace._step(self._levels, ahead)
        return trace

    @cached_property
    def _levels(self) -> set[int]:
        """Where a trace may stand."""
        if not self.run.frame:
            return {operator.id for operator in self.run.graph}
        return set(self.run.lineage.associated.levels)

    def _step(self, goals: set[int], ahead: bool) -> Any:
        strange = goals - self._levels - set(self.operators)
        if strange:
            here = ", ".join(str(self.run.graph[level]) for level in sorted(self._levels))
            raise IncompleteLineageError(
                f"The lineage of {self.run.graph[min(strange)]} was not saved: it is inside of a step of the query", remedy=f"Stop at one of {here}; or ask the live session.",
            )
        return super()._step(goals, ahead)

    # ---- records ----------------------------------------------------------------------------------------------

    def source_records(self) -> list[SourceRecord]:
        """The traced records of local text and Parquet files, with rids and origins.

        Raises IncompleteLineageError for other sources, SourceChangedError if a file is not what the run read.
        """
        found: list[Any] = []
        for operator, places in self._parts().items():
            source = self._source(operator)
            if source is not None:
                source.check()
            for partition, positions in sorted(places.items()):
                records = None if source is None else source.read(partition, positions)
                if records is None:
                    raise not_kept(self.run.graph[operator])
                found.extend(records)
        return [SourceRecord(record, int(rid), origin) for record, rid, origin in zip(found, self.rids(), self.origins(), strict=True)]

    def _source(self, operator: int) -> SavedSource | None:
        facts = self.run.sources.get(operator)
        if facts is None:
            return None
        return SavedSource(facts, self.run.counted(operator))

    def source_record(self, operator: int, rid: int) -> SourceRecord:
        """One of the records of a source."""
        (found,) = standing_at(self.run, [(operator, rid)]).source_records()
        return found

    def collect(self) -> list[Any]:
        """The records: of the result, if they were saved, be it a source itself, or of sources as ``source_records`` has them."""
        outputs = self.run.outputs
        if outputs is None or self.operators != (self.run.subject,):
            return [known.record for known in self.source_records()]
        numbering = numbering_of(self.run, self.run.subject)
        if numbering is None and self.run.damaged:
            raise IncompleteLineageError(
                f"Which of the saved outputs of run {self.run.name!r} these are cannot be read: {self.run.unsaved}", remedy="Restore the file, or save the session again.",
            )
        if numbering is None:
            raise not_saved(
                f"Which of the saved outputs of run {self.run.name!r} these are was not saved", self.run.unsaved, "Save the run with dbg.save(DIR, lineage=True).",
            )
        return outputs.records(numbering.numbers(self.places))

    def page(self, start: int = 0, num: int = 50) -> Page:
        """``num`` records from number ``start`` on. Raises as ``source_records`` does where they are not kept."""
        return page_of(self, start, num)

    def record_table(self, n: int = 20) -> Table:
        """The first records with their origins or rids; these alone where the records are not kept."""
        total = self.count()
        part = self.numbered(range(min(n, total))) if len(self._parts()) == 1 and len(self.operators) == 1 else self
        at_sources = all(operator in self.run.sources for operator in self.operators)
        names = list(map(str, part.origins() if at_sources else part.rids().tolist()))[:n]
        notes = [] if total <= n else [f"{counted(total - n)} more are not shown"]
        try:
            records = [shown(record) for record in part.collect()[:n]]
        except (IncompleteLineageError, UnknownOperatorError) as why:
            return Table(["origin" if at_sources else "rid"], [[name] for name in names], [*notes, str(why)])
        return Table(["origin" if at_sources else "rid", "record"], [list(row) for row in zip(names, records)], notes)

    def show(self, n: int = 20) -> None:
        """Print the first records."""
        print(self.record_table(n).text())  # noqa: T201 (as PySpark's show does)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        return self.record_table()._repr_mimebundle_()


def _has(values: Mapping[str, Any], row: Any) -> bool:
    if not isinstance(row, SavedRow):
        raise TypeError(f"values by column are for rows, and this record is none: {shown(row)}; where(lambda record: ...)")
    unknown = [name for name in values if name not in row.__fields__]
    if unknown:
        raise UnknownColumnError("The rows have no such column", value=unknown[0], remedy=f"They have {', '.join(row.__fields__)}.")
    return all(row[name] == value for name, value in values.items())


def whole_trace(run: SavedRun, operator: int) -> SavedTrace:
    """The trace over all records of an operator of a run."""
    numbering = numbering_of(run, operator)
    if numbering is not None:
        known = numbering
        return SavedTrace(run, [operator], lambda: {operator: known.every()}, known)
    if run.frame:
        _ = run.lineage  # raises, where it is not known
        raise IncompleteLineageError(
            f"The lineage of {run.graph[operator]} was not saved: it is inside of a step of the query", remedy="Begin at a source, a boundary or the result.",
        )
    return SavedTrace(run, [operator], lambda: all_records(run, operator))


def numbering_of(run: SavedRun, operator: int) -> Numbering | None:
    """The numbers of an operator's records, if they are known without looking at blocks."""
    if run.associated is not None and operator in run.associated.levels:
        return run.associated.levels[operator]
    return whole(run.outputs.count) if run.frame and run.outputs is not None and operator == run.subject else None


def standing_at(run: SavedRun, names: Iterable[tuple[int, int]]) -> SavedTrace:
    """The trace over records by operator and rid."""
    given = list(names)
    found = {operator: places_of([rid for of, rid in given if of == operator]) for operator in dict.fromkeys(operator for operator, _ in given)}
    return SavedTrace(run, list(found), lambda: found)
