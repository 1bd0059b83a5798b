"""Functional dependencies: the values that violate A -> B, and the rows that are responsible (Smoke 6.5.2, both forms).

A value of A violates the dependency if rows that have it have more than one value of B. As SQL counts distinct values, a row
with NULL in B has no value of B; NULL in A is a value like any other.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from bigdebug.shown import counted, shown
from bigdebug.spark.sql.called import called
from bigdebug.spark.sql.chosen import quoted
from bigdebug.spark.sql.frame_runs import FrameRuns
from bigdebug.spark.sql.lineage_frame import LineageFrame, lineage_of
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.trace.names import Codes, codes_of
from bigdebug.trace.table import Table

FORMS = ("ug", "cd")

_PIECE = re.compile(r"(->|,)|\s*`((?:[^`]|``)+)`\s*|((?!\s*`)(?:(?!->)[^,])+|`)")
"""An arrow or a comma; or a name, in backticks or not."""

_FORM = re.compile(r"n(,n)*->n(,n)*")


@dataclass(frozen=True)
class Dependency:
    """The columns on the left decide those on the right."""

    left: tuple[str, ...]
    right: tuple[str, ...]

    @classmethod
    def read(cls, text: str, users: Catalyst, columns: Sequence[str]) -> Dependency:
        """From ``"zip, state -> city"``; a name in backticks may hold anything.

        Raises UnknownColumnError for what is no column or several, ValueError for what is no dependency, TypeError for what is no text.
        """
        if not isinstance(text, str):
            raise TypeError(f"a dependency is a text: violations(df, 'A -> B', 'B -> C'), not {shown(text)}")
        pieces = [piece for piece in _PIECE.findall(text) if any(part.strip() for part in piece)]
        form = "".join(mark or "n" for mark, *_ in pieces)
        if not _FORM.fullmatch(form):
            raise ValueError(f"a dependency is written 'A, B -> C', not {text!r}; a name with a comma or an arrow in it stands in backticks")
        names = called(users, [within.replace("``", "`") or plain.strip() for mark, within, plain in pieces if not mark], columns)
        at = form.partition("->")[0].count("n")
        return cls(names[:at], names[at:])

    def __str__(self) -> str:
        return f"{', '.join(self.left)} -> {', '.join(self.right)}"


@dataclass(frozen=True)
class Violation:
    """A value that violates a dependency: how many values it stands with, and the rows that have it."""

    dependency: Dependency
    value: tuple[Any, ...]
    alternatives: int
    rows: LineageFrame

    def __repr__(self) -> str:
        return f"<{self.dependency} violated by {shown(self.value)}: {self.alternatives} values>"


class Violations(Sequence[Violation]):
    """The violations of one or several dependencies, in the order of the dependencies. Rows are traces: toDF(), goBackAll() ..."""

    def __init__(self, found: Sequence[Violation]) -> None:
        self._found = tuple(found)

    def __len__(self) -> int:
        return len(self._found)

    def __getitem__(self, at: Any) -> Any:
        return self._found[at]

    @cached_property
    def graph(self) -> Any:
        """The bipartite graph as a pandas frame: a line for each dependency, violating value and row, by its rid or place."""
        import pandas as pd

        lines = [
            (str(v.dependency), v.value, name) for v in self._found for name in v.rows.standing[v.rows.operators[0]].to_pylist()
        ]
        return pd.DataFrame(lines, columns=["dependency", "value", "row"])

    def table(self, n: int = 20) -> Table:
        """The first violations."""
        rows = [
            (str(v.dependency), shown(v.value[0] if len(v.value) == 1 else v.value), f"{v.alternatives:,}", f"{v.rows.count():,}")
            for v in self._found[:n]
        ]
        notes = (f"{len(self):,} violations" + (f", the first {n} shown" if len(self) > n else ""),)
        return Table(("dependency", "value", "values it stands with", "rows"), rows, notes)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        return self.table()._repr_mimebundle_()

    def __repr__(self) -> str:
        return f"<{counted(len(self)).replace('record', 'violation')}>"


def violations(frames: FrameRuns, frame: DataFrame, texts: Sequence[str], form: str) -> Violations:
    """The violations of dependencies among the rows of ``frame``.

    "ug" reads the columns once, numbers the values of each side and looks in these indexes for values that stand with several,
    so that dependencies share them; "cd" asks Spark for the values with COUNT(DISTINCT) > 1 and traces those back.
    """
    form = form.lower() if isinstance(form, str) else form
    if form not in FORMS:
        raise ValueError(f"form is one of {', '.join(FORMS)}, not {form!r}")
    dependencies = [Dependency.read(text, frames.users, frame.columns) for text in texts]
    if not dependencies:
        raise ValueError("violations() takes dependencies, as 'zip -> city'")
    found = _indexed if form == "ug" else _counted
    return Violations(found(frames, frame, dependencies))


def _indexed(frames: FrameRuns, frame: DataFrame, dependencies: Sequence[Dependency]) -> list[Violation]:
    trace = lineage_of(frames.asked(frame))
    columns = sorted({name for d in dependencies for name in (*d.left, *d.right)})
    names, values, keys = trace.values(columns)
    index = _Index(keys)
    found = []
    for dependency in dependencies:
        left, size = index.codes(dependency.left)
        right, width = index.codes(dependency.right)
        known = index.present(dependency.right)
        pairs = np.unique(left[known] * np.int64(width) + right[known])
        alternatives = np.bincount(pairs // width, minlength=size)
        order = np.argsort(left, kind="stable")
        starts = np.searchsorted(left[order], np.arange(size + 1))
        for code in np.flatnonzero(alternatives > 1):
            rows = order[starts[code]: starts[code + 1]]
            value = tuple(values[name][int(rows[0])].as_py() for name in dependency.left)
            found.append(Violation(dependency, value, int(alternatives[code]), trace.named(names.take(pa.array(np.sort(rows))))))
    return found


class _Index:
    """The values of sets of columns as numbers, each set once."""

    def __init__(self, values: Mapping[str, pa.Array]) -> None:
        self._values = values
        self._codes: dict[tuple[str, ...], tuple[Codes, int]] = {}

    def codes(self, columns: tuple[str, ...]) -> tuple[Codes, int]:
        if columns not in self._codes:
            arrays = [self._values[name] for name in columns]
            self._codes[columns] = codes_of(pa.StructArray.from_arrays(arrays, [f"_{i}" for i in range(len(arrays))]))
        return self._codes[columns]

    def present(self, columns: tuple[str, ...]) -> Any:
        """The rows without NULL in these columns."""
        missing = [self._values[name].is_null().to_numpy(zero_copy_only=False) for name in columns]
        return ~np.logical_or.reduce(missing)


def _counted(frames: FrameRuns, frame: DataFrame, dependencies: Sequence[Dependency]) -> list[Violation]:
    found = []
    for dependency in dependencies:
        left = [F.col(quoted(name)) for name in dependency.left]
        right = [F.col(quoted(name)) for name in dependency.right]
        asked = frame.groupBy(*left).agg(F.count_distinct(*right).alias("__bigdebug_count")).where("__bigdebug_count > 1")
        trace = lineage_of(frames.aside(asked))
        for row in trace.collect():
            value = tuple(row[: len(left)])
            rows = trace.where({**dict(zip(dependency.left, value)), "__bigdebug_count": row[-1]}).back_to(frame)
            found.append(Violation(dependency, value, int(row[-1]), rows))
    return found


