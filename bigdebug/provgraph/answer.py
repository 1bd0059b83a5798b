"""What a question about a provenance graph found: items with their tables, and the triples between them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bigdebug.provgraph.codes import Codes
from bigdebug.provgraph.index import Index
from bigdebug.provgraph.walking import Triples, Walked
from bigdebug.shown import LONGEST, counted, masked

_SHOWN = 10
"""Items that a printed answer names."""
_LONGEST = 60
"""Characters of an id that it shows."""


@dataclass(frozen=True, eq=False)
class Answer:
    """Items that were reached, nearest first, and the triples of their lineage. Iterating gives the items' ids.

    ``kind`` says what they are of ``asked``: "ancestors" or "descendants". ``stopped`` says why there is no more of it, where a limit
    ended the search; it is empty if this is all there is. ``besides_codes`` are items that were left out, with what made them.
    """

    index: Index
    kind: str
    asked_codes: Codes
    walked: Walked
    besides_codes: Codes | None = field(default=None, kw_only=True)

    @property
    def stopped(self) -> str:
        return self.walked.stopped

    @property
    def asked(self) -> NDArray[Any]:
        """The ids that were asked about."""
        return self.index.named(self.asked_codes)

    @cached_property
    def items(self) -> NDArray[Any]:
        """The ids of the items: int64, or Python's str."""
        return self.index.named(self.walked.items)

    @property
    def depths(self) -> Codes:
        """How many triples away each item is from the nearest one that was asked about."""
        return self.walked.depths

    @cached_property
    def tables(self) -> NDArray[Any]:
        """The table of each item; None where none is known."""
        return self.index.tables_of(self.walked.items)

    @cached_property
    def triples(self) -> pd.DataFrame:
        """Columns src, dst and op: each triple whose dst (for descendants: src) is one of the items asked about or found."""
        return frame_of(self.index, self.walked.triples)

    def toPandas(self) -> pd.DataFrame:  # noqa: N802 (as PySpark's is)
        """Columns item, table (if the graph has a workflow) and depth: nearest items first."""
        columns = {"item": self.items, "table": self.tables, "depth": self.depths}
        return pd.DataFrame({name: column for name, column in columns.items() if name != "table" or self.index.workflow})

    def by_table(self) -> pd.DataFrame:
        """How many items there are of each table, and how near the nearest is: columns table, items, depth; in the order of the workflow."""
        frame = pd.DataFrame({"table": self.tables, "depth": self.depths})
        found = frame.groupby("table", sort=False, dropna=False)["depth"].agg(items="size", depth="min").reset_index()
        order = {name: place for place, name in enumerate(self.index.table_names)}
        return found.sort_values("table", key=lambda names: names.map(order), kind="stable", na_position="last", ignore_index=True)

    def __len__(self) -> int:
        return len(self.walked.items)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.items.tolist())

    def __repr__(self) -> str:
        found = f"{counted(len(self), self.kind.removesuffix('s'))} of {_few(self.index, self.asked_codes)}{self._besides}"
        found += f", by {counted(len(self.walked.triples.src), 'triple')}"
        if len(self):
            found += f": {named_few(self.index.named(self.walked.items[:_SHOWN]), len(self))}"
        elif not self.stopped and self.besides_codes is None:
            them = "it" if len(self.asked_codes) == 1 else "them"
            found += f": nothing in this graph {'made' if self.kind == 'ancestors' else 'was made of'} {them}"
        return found + (f" (not all: {self.stopped})" if self.stopped else "")

    @property
    def _besides(self) -> str:
        if self.besides_codes is None:
            return ""
        return f" besides {_few(self.index, self.besides_codes)} and what made {'it' if len(self.besides_codes) == 1 else 'them'}"


def frame_of(index: Index, triples: Triples) -> pd.DataFrame:
    """Triples by their ids, as pandas has them."""
    return pd.DataFrame({
        "src": index.named(triples.src), "dst": index.named(triples.dst), "op": index.operations_of(triples.op),
    })  # fmt: skip


def named_few(ids: NDArray[Any], count: int) -> str:
    """The first ids as a line of text, cut where they are long; ``count`` is how many there are."""
    some = ", ".join(_short(value) for value in ids[:_SHOWN].tolist())
    return some + (f" and {count - _SHOWN:,} more" if count > _SHOWN else "")


def _few(index: Index, codes: Codes) -> str:
    return named_few(index.named(codes[:_SHOWN]), len(codes))


def _short(value: Any) -> str:
    if not isinstance(value, str):
        return masked(repr(value))
    # What is secret is found before the text is cut, for half of it would not be.
    text = masked(value[:LONGEST])
    return repr(text) if len(text) <= _LONGEST else f"{text[:_LONGEST]!r}..."


def distinct_ids(codes: Codes) -> Codes:
    """The codes in the order given, each once."""
    _, first = np.unique(codes, return_index=True)
    return codes[np.sort(first)]
