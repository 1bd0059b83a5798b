"""The operator graph of a program, and how a run cuts it into stages. Plain data: it can be saved and read anywhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from enum import Enum
from typing import Any

from bigdebug.errors import UnknownOperatorError
from bigdebug.shown import masked, place, plain


class Kind(str, Enum):
    """Operator kinds after Cui & Widom: the kind fixes the tracing procedure."""

    SOURCE = "source"
    DISPATCHER = "dispatcher"
    FILTER = "filter"
    AGGREGATOR = "aggregator"
    JOIN = "join"
    KEY_PRESERVING = "key-preserving"
    BLACK_BOX = "black box"


class Form(str, Enum):
    """How the outputs of an operator relate to the records it reads; it fixes what an agent notes.

    ONE_TO_ONE, OFFSETS: every output belongs to the one record pulled last. PAIRED: an output belongs to all
    that was read before it (Newt 3.2). WHOLE: to the whole partition. CODES: to the records of its group.
    KEPT: a filter's, noted as the positions it keeps.
    JOIN, SUBTRACT: to the pair, or the left record, that made it. SORT: a permutation. SHUFFLE: moved only.
    UNION, ALIGNED_UNION, COALESCE, ZIP, CARTESIAN: the JVM rearranges whole partitions.
    """

    SOURCE = "source"
    ONE_TO_ONE = "one to one"
    OFFSETS = "offsets"
    KEPT = "kept"
    PAIRED = "paired"
    WHOLE = "whole"
    CODES = "codes"
    JOIN = "join"
    SUBTRACT = "subtract"
    SORT = "sort"
    SHUFFLE = "shuffle"
    UNION = "union"
    ALIGNED_UNION = "aligned union"
    COALESCE = "coalesce"
    ZIP = "zip"
    CARTESIAN = "cartesian"

    @property
    def narrow(self) -> bool:
        """True if the operator reads its parent record by record inside one task."""
        return self in (Form.ONE_TO_ONE, Form.OFFSETS, Form.PAIRED, Form.WHOLE)

    @property
    def record_wise(self) -> bool:
        return self in (Form.ONE_TO_ONE, Form.OFFSETS, Form.KEPT)

    @property
    def wide(self) -> bool:
        """True if records cross a shuffle."""
        return self in (Form.CODES, Form.JOIN, Form.SUBTRACT, Form.SORT, Form.SHUFFLE)

    @property
    def stacked(self) -> bool:
        """True if the JVM puts the parents' records one behind the other: they are the operator's own."""
        return self in (Form.UNION, Form.ALIGNED_UNION, Form.COALESCE)

    @property
    def pieced(self) -> bool:
        """True if partitions are made of those of the parents, and have their sizes."""
        return self.stacked or self is Form.ZIP

    @property
    def merges(self) -> bool:
        """True if what arrives from a shuffle is not yet the operator's records."""
        return self.wide and self is not Form.SHUFFLE

    @property
    def opaque(self) -> bool:
        """True if lineage is what paired capture gives: sufficient, not precise."""
        return self is Form.PAIRED


@dataclass(frozen=True, repr=False)
class CallSite:
    """The line of the user's program that made an operator."""

    file: str
    line: int
    code: str = ""

    def __str__(self) -> str:
        return place(self.file, self.line)

    def __repr__(self) -> str:
        return _fields(self)


@dataclass(frozen=True, repr=False)
class Operator:
    """A transformation (or source) of the program; ``parents`` are operator ids in the order of the arguments."""

    id: int
    name: str
    kind: Kind
    form: Form
    parents: tuple[int, ...]
    partitions: int
    call_site: CallSite | None = None
    dataset: str | None = None
    detail: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @property
    def boundary(self) -> bool:
        """True where a stage can begin: sources, wide operators and rearrangements; goBack() stops at these."""
        return not self.form.narrow

    def __str__(self) -> str:
        label = f" {self.dataset}" if self.dataset else ""
        site = f" at {self.call_site}" if self.call_site else ""
        return f"{self.name}#{self.id}{label}{site}"

    def __repr__(self) -> str:
        return _fields(self)


def _fields(value: CallSite | Operator) -> str:
    """As dataclasses show themselves, without what is secret: a line of the program may have it, and what a query does."""
    return masked(f"{type(value).__name__}({', '.join(f'{field.name}={getattr(value, field.name)!r}' for field in fields(value))})")


@dataclass(frozen=True)
class Segment:
    """A run of operators of one stage between two levels whose association is kept as one table of ``form``."""

    operators: tuple[int, ...]
    form: Form


FINE = ".fine"
"""Ends the id of a stage that was derived with an agent after each operator."""


class Emission(str, Enum):
    """How the last level of a stage leaves it: as it is, bucketed by key, or combined by key and bucketed."""

    RECORDS = "records"
    SHUFFLED = "shuffled"
    COMBINED = "combined"


@dataclass(frozen=True)
class Stage:
    """One compiled partition function: reads the records of operator ``reads`` and runs ``segments`` over them.

    A stage that ``fetches`` reads the frames of which ``reads`` is made, not its records: if ``reads`` is wide, the first
    segment is then its merge, unless it only moves records. A stage that feeds a shuffle names the wide operator it
    feeds and which of its parents it stands for (``feeds``, ``branch``). An ``adopted`` stage did not run in the run: its
    result was there already, from before capture, and its tables are derived when they are asked for.
    """

    id: str
    reads: int
    segments: tuple[Segment, ...]
    emission: Emission
    feeds: int | None = None
    branch: int = 0
    fetches: bool = False
    adopted: bool = False

    @property
    def ends(self) -> int:
        """The operator at the last level."""
        return self.segments[-1].operators[-1] if self.segments else self.reads

    @property
    def operators(self) -> tuple[int, ...]:
        return tuple(o for s in self.segments for o in s.operators)


class OperatorGraph:
    """The operators that the targets of a run's jobs were made from, and the stages compiled for them; read-only."""

    def __init__(self, operators: Iterable[Operator], targets: Iterable[int], stages: Iterable[Stage] = ()) -> None:
        self._operators = {o.id: o for o in sorted(operators, key=lambda o: o.id)}
        self.targets = tuple(targets)
        self.stages = tuple(stages)

    def __iter__(self) -> Iterator[Operator]:
        return iter(self._operators.values())

    def __len__(self) -> int:
        return len(self._operators)

    def __contains__(self, operator: object) -> bool:
        return getattr(operator, "id", operator) in self._operators

    def __getitem__(self, operator: int) -> Operator:
        try:
            return self._operators[operator]
        except KeyError:
            raise UnknownOperatorError(
                "This operator is not part of the run", value=operator,
                remedy=f"The run has the operators {', '.join(map(str, self))}.",
            ) from None

    def __repr__(self) -> str:
        made = (f"{o}{' of ' if o.parents else ''}{', '.join(f'#{p}' for p in o.parents)}" for o in self)
        return plain(f"<graph of {len(self):,} operators: {'; '.join(made)}>")

    @property
    def sources(self) -> tuple[Operator, ...]:
        return tuple(o for o in self if not o.parents)

    def children(self, operator: int) -> tuple[Operator, ...]:
        return tuple(o for o in self if operator in o.parents)

    def upstream(self, operator: int) -> set[int]:
        """The operator and all that it was made from."""
        seen, todo = set(), [operator]
        while todo:
            current = todo.pop()
            if current not in seen:
                seen.add(current)
                todo.extend(self[current].parents)
        return seen

    def directly(self, operator: int) -> set[int]:
        """The operator and those whose records the JVM makes its records of, without a stage between."""
        seen, todo = set(), [operator]
        while todo:
            current = todo.pop()
            seen.add(current)
            if self[current].form.stacked:
                todo.extend(self[current].parents)
        return seen

    def downstream(self, operator: int) -> set[int]:
        """The operator and all that was made from it. Ids grow along the program, so one sweep is enough."""
        seen = {operator}
        for other in self:
            if seen.intersection(other.parents):
                seen.add(other.id)
        return seen

    def dump(self) -> dict[str, Any]:
        """As JSON-ready data; ``load`` is its inverse."""
        return {"targets": self.targets, "operators": [asdict(o) for o in self], "stages": [asdict(s) for s in self.stages]}

    @classmethod
    def load(cls, data: Mapping[str, Any]) -> OperatorGraph:
        operators = [
            Operator(
                id=o["id"], name=o["name"], kind=Kind(o["kind"]), form=Form(o["form"]), parents=tuple(o["parents"]),
                partitions=o["partitions"], call_site=CallSite(**o["call_site"]) if o["call_site"] else None,
                dataset=o["dataset"], detail=o["detail"],
            )
            for o in data["operators"]
        ]
        stages = [
            Stage(
                id=s["id"], reads=s["reads"], emission=Emission(s["emission"]), feeds=s["feeds"], branch=s["branch"],
                fetches=s["fetches"], adopted=s["adopted"],
                segments=tuple(Segment(tuple(g["operators"]), Form(g["form"])) for g in s["segments"]),
            )
            for s in data["stages"]
        ]
        return cls(operators, data["targets"], stages)
