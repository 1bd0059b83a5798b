"""What an import found in its triples: how many, what was left out, and the first examples of each."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bigdebug.errors import ProvenanceError
from bigdebug.shown import counted, shown

EXAMPLES = 5
"""Examples that are kept of each kind of finding."""

KINDS = {
    "malformed": ("row that is no triple", "rows that are no triples", False),
    "missing": ("row without src or dst", "rows without src or dst", False),
    "self-loops": ("triple that derives an item from itself", "triples that derive an item from itself", False),
    "duplicates": ("triple that was there before", "triples that were there before", False),
    "cycles": (
        "item that is derived from itself, or stands between such ones", "items that are derived from themselves, or stand between such ones",
        True,
    ),
    "no table": ("item of no table", "items of no table", True),
    "two tables": ("item that is said to be of two tables", "items that are said to be of two tables", True),
    "unmade": (
        "triple between tables of which the workflow does not make the second from the first",
        "triples between tables of which the workflow does not make the second from the first", True,
    ),
    "unknown operations": (
        "triple with an operation that the workflow does not have there", "triples with an operation that the workflow does not have there", True,
    ),
}
"""By name: what one is, and several are, and whether they are kept, in the order in which reports tell of them."""

LOST = ("malformed", "missing", "self-loops")
"""Kinds of rows that are left out with what they have; of a duplicate, the same stays."""


@dataclass(frozen=True)
class Finding:
    """Something wrong with triples: its kind (of ``KINDS``), how many times it came, and the first ones as text."""

    kind: str
    count: int
    examples: tuple[str, ...]

    def __str__(self) -> str:
        one, many, kept = KINDS[self.kind]
        fate = "kept" if kept else "left out"
        found = f"{counted(self.count, one, many)} ({fate})"
        if not self.examples:
            return found
        return f"{found}: {'; '.join(self.examples)}{' ...' if self.count > len(self.examples) and self.kind != 'cycles' else ''}"


@dataclass(frozen=True)
class ImportReport:
    """What was read and what came of it. ``rows`` were read, ``edges`` triples and ``items`` items are in the graph."""

    rows: int
    edges: int
    items: int
    operations: int
    findings: tuple[Finding, ...]
    seconds: float
    bytes: int
    unlooked: tuple[str, ...] = ()
    """What was not looked for, and why."""

    @property
    def clean(self) -> bool:
        """Whether nothing was found, repeated triples aside: these say the same twice."""
        return all(finding.kind == "duplicates" for finding in self.findings)

    def __getitem__(self, kind: str) -> Finding:
        """The finding of a kind, with a count of 0 where there was none."""
        if kind not in KINDS:
            raise KeyError(f"{kind!r} is none of {', '.join(KINDS)}")
        return next((finding for finding in self.findings if finding.kind == kind), Finding(kind, 0, ()))

    @property
    def left_out(self) -> str:
        """What rows were left out that may have had an item which is not there, as the end of a sentence; empty if there were none."""
        lost = [counted(found.count, *KINDS[found.kind][:2]) for found in self.findings if found.kind in LOST]
        return f"; left out {'was' if lost[0].startswith('1 ') and len(lost) == 1 else 'were'} {' and '.join(lost)}, and items that no other has" if lost else ""

    def warn(self, log: logging.Logger) -> None:
        """Tells the log of what is not clean, or was not looked for."""
        if not self.rows:
            log.warning("Provenance was imported from no rows at all: nothing was made of anything, a file was empty, or a stream was gone through before")
        if not self.clean:
            log.warning("Provenance was imported, and is not clean: %s", self)
        elif self.unlooked:
            log.warning("Provenance was imported, and not looked at for all that may be wrong: %s", self)

    def __str__(self) -> str:
        between = f"{counted(self.edges, 'triple')} between {counted(self.items, 'item')}"
        size = f"{between} by {counted(self.operations, 'operation')}, of {counted(self.rows, 'row')}"
        place = f"{self.bytes:,} bytes in {self.seconds:.1f} s"
        return "\n".join([f"{size}; {place}", *(f"  {finding}" for finding in self.findings), *(f"  not looked for: {what}" for what in self.unlooked)])

    def data(self) -> dict[str, Any]:
        """It as JSON."""
        return {**vars(self), "findings": [[one.kind, one.count, list(one.examples)] for one in self.findings]}

    @classmethod
    def of_data(cls, data: Mapping[str, Any]) -> ImportReport:
        """The report that ``data`` told."""
        findings = tuple(Finding(kind, count, tuple(examples)) for kind, count, examples in data["findings"])
        if unknown := [finding.kind for finding in findings if finding.kind not in KINDS]:
            raise ValueError(f"no finding is called {unknown[0]!r}")
        return cls(**{**data, "findings": findings, "unlooked": tuple(data.get("unlooked", ()))})


@dataclass
class Findings:
    """Counts what is wrong while triples are read. Strict ones raise ProvenanceError at the first, repeated triples aside."""

    strict: bool = False
    _counts: dict[str, int] = field(default_factory=dict)
    _examples: dict[str, list[str]] = field(default_factory=dict)

    def add(self, kind: str, count: int, examples: Iterable[str]) -> None:
        """``count`` more of a kind; of ``examples`` as many are looked at as are still wanted."""
        if not count:
            return
        self._counts[kind] = self._counts.get(kind, 0) + count
        some = self._examples.setdefault(kind, [])
        for example in examples:
            if len(some) == EXAMPLES:
                break
            some.append(example)
        if self.strict and kind != "duplicates":
            raise ProvenanceError(
                f"The triples are not clean: {KINDS[kind][1]}: {'; '.join(some)}",
                remedy="Mend them, or import without strict=True: a report tells then what was left out and what was kept.",
            )

    def count(self, kind: str) -> int:
        """How many there were so far."""
        return self._counts.get(kind, 0)

    def found(self) -> tuple[Finding, ...]:
        """All of it, in the order of ``KINDS``."""
        return tuple(Finding(kind, self._counts[kind], tuple(self._examples[kind])) for kind in KINDS if kind in self._counts)


def triple(src: Any, dst: Any, op: Any = None) -> str:
    """A triple as text of a line."""
    return f"{shown(src)} -> {shown(dst)}" + (f" by {shown(op)}" if op is not None else "")
