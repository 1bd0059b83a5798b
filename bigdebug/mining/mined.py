"""What was mined of a run: suspects, suspicious operators, and what bad records have in common, as people read it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from bigdebug.mining.multiplicity import Suspect
from bigdebug.mining.predicates import Separation
from bigdebug.mining.spectrum import Suspiciousness
from bigdebug.shown import shown
from bigdebug.trace.table import Table


@dataclass(frozen=True)
class Multiplicity:
    """How many inputs an operator had, or several that are fused, how many outputs, and how they belong together: (least, mean, most) of each.

    ``outputs_of`` are the outputs of an input, ``inputs_of`` the inputs of an output; None where there was none to count.
    """

    operator: str
    partitions: int
    inputs: int
    outputs: int
    outputs_of: tuple[int, float, int] | None
    inputs_of: tuple[int, float, int] | None


def spread(counts: list[npt.NDArray[Any]]) -> tuple[int, float, int] | None:
    """The least, the mean and the most of counts by partition."""
    known = [each for each in counts if len(each)]
    if not known:
        return None
    mean = sum(int(each.sum()) for each in known) / sum(map(len, known))
    return int(min(each.min() for each in known)), mean, int(max(each.max() for each in known))


@dataclass(frozen=True, repr=False)
class Mined:
    """What is unusual in a run (Newt 4.1), and what is behind outputs that are said to be bad.

    ``suspects`` are inputs, outputs and partitions of operators whose multiplicity is an outlier, the most suspicious first. ``operators`` says of operators
    and their partitions how many bad and good outputs they took part in, by suspicion; ``separations``, by source, what holds of records
    that only bad outputs were made of, and of few others. ``multiplicities`` are those of all operators. ``notes`` say what was left out.
    """

    suspects: tuple[Suspect, ...]
    operators: tuple[Suspiciousness[str], ...] = ()
    separations: Mapping[str, Separation] = field(default_factory=dict)
    multiplicities: tuple[Multiplicity, ...] = ()
    bad: int = 0
    good: int = 0
    notes: tuple[str, ...] = ()

    @property
    def chance(self) -> float:
        """The suspicion of what took part in all outputs: it says nothing, and neither does less."""
        return float(np.sqrt(self.bad / (self.bad + self.good))) if self.bad else 0.0

    def table(self) -> Table:
        """The suspects."""
        rows = [
            (str(number), f"{each.score:.2f}", f"{each.multiplicity:,.4g} {each.way.value[1]}s", _where(each), ", ".join(map(shown, each.records)))
            for number, each in enumerate(self.suspects, 1)
        ]
        notes = [f"{number}. {each.evidence}" for number, each in enumerate(self.suspects, 1)]
        notes = notes or ["No operator made unusually many or few outputs of an input, nor an output of unusually many inputs."]
        caption = f"{len(rows)} suspects" + (f", by {self.bad:,} bad and {self.good:,} good outputs" if self.bad else "")
        return Table(("", "score", "has", "where", "record"), rows, [*notes, *self.notes], caption)

    def spectrum(self) -> Table:
        """The operators, and partitions of them, that took part in bad outputs more than in good ones."""
        told = [each for each in self.operators if each.score > self.chance + 1e-9]
        rows = [(each.element, f"{each.score:.2f}", f"{each.failing:,} of {self.bad:,}", f"{each.passing:,} of {self.good:,}") for each in told]
        notes = [] if rows else ["All operators took part in bad and good outputs alike: which of them is to blame, these do not tell."]
        return Table(("operator", "Ochiai", "bad outputs", "good outputs"), rows, notes, "Operators by the outputs that they took part in")

    def counts(self) -> Table:
        """How many outputs the inputs of each operator have, and how many inputs the outputs."""
        rows = [
            (each.operator, f"{each.partitions:,}", f"{each.inputs:,}", f"{each.outputs:,}", _three(each.outputs_of), _three(each.inputs_of))
            for each in self.multiplicities
        ]
        return Table(
            ("operator", "partitions", "inputs", "outputs", "outputs of an input", "inputs of an output"), rows, (), "Multiplicities: least, mean, most",
        )

    def tables(self) -> list[Table]:
        """All of it."""
        separations = [_about(name, each) for name, each in self.separations.items()]
        return [self.table(), *([self.spectrum()] if self.bad else []), *separations, self.counts()]

    def __repr__(self) -> str:
        return "\n\n".join(table.text() for table in self.tables())

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": "".join(table.html() for table in self.tables())}


@dataclass(frozen=True, repr=False)
class Explanation:
    """What some records have in common against others of the same source: ``separations`` by source."""

    separations: Mapping[str, Separation]

    @property
    def best(self) -> str | None:
        """The clause that separates best, in words; None if nothing does."""
        clauses = [clause for each in self.separations.values() for clause in each.clauses]
        return max(clauses, key=lambda clause: clause.score).text if clauses else None

    def tables(self) -> list[Table]:
        """A table for each source."""
        return [_about(name, each) for name, each in self.separations.items()]

    def __repr__(self) -> str:
        return "\n\n".join(table.text() for table in self.tables())

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": "".join(table.html() for table in self.tables())}


def _about(name: str, separation: Separation) -> Table:
    table = separation.table()
    return Table(table.header, table.rows, table.notes, f"{name}: {table.caption}")


def _where(suspect: Suspect) -> str:
    if suspect.origins:
        return str(suspect.origins[0])
    if suspect.partition is None:
        return ""
    place = f"partition {suspect.partition}"
    return place if suspect.position is None else f"{place}, {suspect.way.value[0]} {suspect.position:,}"


def _three(known: tuple[int, float, int] | None) -> str:
    return "" if known is None else f"{known[0]:,}, {known[1]:,.4g}, {known[2]:,}"
