"""What cleaning came to: rounds in which suspicious records were left out, and what that did to the quality of the outputs (Newt 4.2)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bigdebug.mining.grubbs import ALPHA, critical, outliers
from bigdebug.model import SourceRecord
from bigdebug.shown import counted, shown
from bigdebug.trace.table import Table


@dataclass(frozen=True)
class Rating:
    """The quality of a result: how many outputs it has, how many of them are ``below`` the bar, the ``lowest`` quality, and the mean of those that are numbers."""

    outputs: int
    below: int
    lowest: float
    mean: float

    @classmethod
    def of(cls, qualities: Sequence[float], bar: float) -> Rating:
        known = [each for each in qualities if math.isfinite(each)]
        return cls(
            len(qualities), sum(1 for each in qualities if each < bar), min(qualities, default=math.nan), math.fsum(known) / len(known) if known else math.nan,
        )

    def better(self, other: Rating) -> bool:
        """Whether fewer outputs are below the bar, or as many and the lowest is less low; and no good ones were lost for that."""
        if self.loses(other):
            return False
        return self.below < other.below or (self.below == other.below and self.below > 0 and self.lowest > other.lowest)

    def loses(self, other: Rating) -> int:
        """How many good outputs it has less: bad ones may go, but where good ones do, a record that they need was left out."""
        return max(0, (other.outputs - other.below) - (self.outputs - self.below))


def stands_out(qualities: Sequence[float], alpha: float = ALPHA) -> float | None:
    """The bar below which qualities are unusually low: outliers by Grubbs' test, and what is no number. None if there are none.

    It is the lowest that chance allows where the others are as they are, or the lowest of these. Of fewer than three numbers, none is unusual.
    """
    finite = np.array([each for each in qualities if math.isfinite(each)])
    middle = float(np.median(finite)) if len(finite) else math.nan
    low = {each.index for each in outliers(finite, alpha) if each.value < middle}
    others = np.delete(finite, sorted(low))
    if not len(others) or (not low and -math.inf not in qualities):
        return None
    allowed = others.mean() - critical(len(others), alpha) * others.std(ddof=1) if len(others) > 2 else math.inf
    return float(min(others.min(), allowed))


@dataclass(frozen=True)
class Round:
    """One round: the records that it left out, or changed, the first of ``removals``; by what they were chosen (``by``), and the quality before and after.

    A round that was not an improvement is not ``kept``: its records are in the result after all.
    """

    before: Rating
    after: Rating
    removed: tuple[SourceRecord, ...]
    removals: int
    by: str
    kept: bool


@dataclass(frozen=True, repr=False)
class Cleaned:
    """The rounds, and why there are no more (``reason``); ``bar`` is the quality that is good enough.

    ``outputs`` is the result without what the rounds that were kept removed, ``replay`` the program on the others, to go on with. ``edited`` says that records
    were changed, not removed. Nothing of the user's data is touched.
    """

    rounds: tuple[Round, ...]
    reason: str
    bar: float
    outputs: tuple[Any, ...]
    replay: Any = None
    edited: bool = False

    @property
    def removed(self) -> tuple[SourceRecord, ...]:
        """The source records that the rounds removed, or changed, as far as they are listed."""
        return tuple(record for each in self.rounds if each.kept for record in each.removed)

    def table(self) -> Table:
        """A row for each round."""
        rows = [
            (
                str(number), _change(each.before.below, each.after.below), _change(each.before.lowest, each.after.lowest), _change(each.before.mean, each.after.mean),
                _change(each.before.outputs, each.after.outputs), _records(each), each.by, "" if each.kept else "undone",
            )
            for number, each in enumerate(self.rounds, 1)
        ]
        header = ("round", f"below {self.bar:,.6g}", "lowest", "mean", "outputs", "changed" if self.edited else "removed", "chosen by", "")
        every = sum(each.removals for each in self.rounds if each.kept)
        kept = sum(each.kept for each in self.rounds)
        caption = f"{counted(every)} {'changed' if self.edited else 'removed'} in {kept} round{'s' if kept != 1 else ''}"
        return Table(header, rows, [f"It ended because {self.reason}."], caption)

    def __repr__(self) -> str:
        return self.table().text()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        return self.table()._repr_mimebundle_()


def _change(before: float, after: float) -> str:
    return f"{before:,.6g} -> {after:,.6g}" if before != after else f"{after:,.6g}"


def _records(told: Round) -> str:
    some = ", ".join(f"{record.origin}: {shown(record.record)}" for record in told.removed[:3])
    return some + (f" and {told.removals - 3:,} more" if told.removals > 3 else "")
