"""A diagnosis: which source records make outputs wrong, as people read it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bigdebug.model import SourceRecord
from bigdebug.shown import by_fields, counted, shown
from bigdebug.trace.table import Table

CULPRIT, AMBIGUOUS, ORDER, UNSTABLE = "culprit", "ambiguous", "order-dependent", "not-reproducible"

_ROWS = 20
"""Of the ranking, so many records are shown."""

_FAULTS, _RECORDS = 5, 5
"""So many fault sets are shown, and so many records of each, the likeliest ones."""


@dataclass(frozen=True, repr=False)
class FaultSet:
    """Source records without which ``outputs`` are right, and without any fewer of which they are wrong (to the last one that was tried).

    ``instead`` are sets that would do as well, by which the verdict is ambiguous; ``evidence`` says in sentences what was seen. ``verdict`` is that of these records
    alone: "culprit", "ambiguous" or "order-dependent", as ``Diagnosis`` has it. ``gone`` says that some of these outputs are not right without the records but not there,
    though they were made of others, too.
    """

    records: tuple[SourceRecord, ...]
    outputs: tuple[Any, ...]
    evidence: tuple[str, ...] = ()
    instead: tuple[tuple[SourceRecord, ...], ...] = ()
    verdict: str = AMBIGUOUS
    gone: bool = False

    def __repr__(self) -> str:
        return by_fields(self)


@dataclass(frozen=True)
class Cost:
    """What a diagnosis took: tests (runs of the program on some records), and seconds."""

    tests: int
    seconds: float

    def __str__(self) -> str:
        return f"{self.tests:,} tests, {self.seconds:.1f} s"


@dataclass(frozen=True, repr=False)
class Diagnosis:
    """Which source records make outputs wrong.

    ``verdict``: "culprit" (without the records of the fault sets outputs are there and right, and no others that were tried might be the cause), "ambiguous" (others
    might be: what the output would not be there without, what would do as well, or the search was ended: ``incomplete`` says why), "order-dependent" (the output is right on the same records in another order), "not-reproducible" (the
    same records gave another outcome, and nothing was found). Where fault sets have verdicts that differ, it is "ambiguous", and each says its own. Of many wrong outputs, 20 are looked at: then
    ``explanation`` says of how many, and a verdict is about these. ``ranking``: records with how far the output moves without them, those of fault sets first, 1 being the farthest.
    """

    verdict: str
    fault_sets: tuple[FaultSet, ...]
    ranking: tuple[tuple[SourceRecord, float], ...]
    cost: Cost
    explanation: str
    incomplete: str | None = None

    def table(self) -> Table:
        """The fault sets, a row for each of their first records."""
        rows = [row for number, fault in enumerate(self.fault_sets[:_FAULTS], 1) for row in self._rows(number, fault)]
        several, differ = len(self.fault_sets) > 1, len({fault.verdict for fault in self.fault_sets}) > 1
        notes = [
            f"{number}: {line}" if several else line
            for number, fault in enumerate(self.fault_sets[:_FAULTS], 1) for line in ([f"{fault.verdict}.".capitalize()] if differ else []) + [*fault.evidence]
        ]
        left = len(self.fault_sets) - _FAULTS
        more = [f"and {left} more faults: fault_sets has them all"] if left > 0 else []
        incomplete = [f"Not all was looked at: {self.incomplete}."] if self.incomplete else []
        caption = f"{self.verdict}: {self.explanation} ({self.cost})"
        return Table(("fault", "origin", "record", "moves", "outputs"), rows, [*more, *notes, *incomplete], caption)

    def _rows(self, number: int, fault: FaultSet) -> list[tuple[str, ...]]:
        outputs = ", ".join(shown(output) for output in fault.outputs[:3]) + (f" and {len(fault.outputs) - 3} more" if len(fault.outputs) > 3 else "")
        rows = [(str(number), str(record.origin), shown(record.record), self._score(record)) for record in fault.records[:_RECORDS]]
        left = len(fault.records) - _RECORDS
        more = [("", "", f"and {counted(left)} more", "")] if left > 0 else []
        return [(*row, "" if i else outputs) for i, row in enumerate([*rows, *more])]

    def suspects(self) -> Table:
        """The ranking."""
        rows = [(f"{score:.2f}", str(record.origin), shown(record.record)) for record, score in self.ranking[:_ROWS]]
        left = len(self.ranking) - len(rows)
        return Table(("moves", "origin", "record"), rows, [f"and {counted(left)} more"] if left > 0 else [])

    def moves(self, record: SourceRecord) -> float | None:
        """How far the outputs move without a record, as the ranking has it; None for one that is not in it."""
        return next((score for known, score in self.ranking if (known.source, known.rid, known.origin) == (record.source, record.rid, record.origin)), None)

    def _score(self, record: SourceRecord) -> str:
        score = self.moves(record)
        return "" if score is None else f"{score:.2f}"

    def __repr__(self) -> str:
        return self.table().text()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self.table().html()}
